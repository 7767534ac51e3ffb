"""Optional dependencies."""

from __future__ import annotations

import importlib
from types import ModuleType


def need(module: str, extra: str) -> ModuleType:
    """Import an optional module, or raise an error that says how to install it.

    Parameters
    ----------
    module
        The name to import, such as ``"xarray"`` or ``"scipy.io"``.
    extra
        The extra of tensorfill that installs it.

    Examples
    --------
    >>> need("json", "tables").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        # If an installed package lacks one of its dependencies, its error is the more helpful one.
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise ImportError(
            f"This needs the package {package}, which is not installed; install it with: "
            f'pip install "tensorfill[{extra}]".',
            name=package,
        ) from None
