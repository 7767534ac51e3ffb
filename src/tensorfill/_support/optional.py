"""Optional dependencies."""

from __future__ import annotations

import importlib
from types import ModuleType

EXTRAS: dict[str, tuple[str, ...]] = {
    "plots": ("matplotlib",),
    "report": ("matplotlib", "jinja2", "pillow"),
    "demo": ("matplotlib", "scikit-image"),
    "xarray": ("xarray",),
    "tables": ("pandas", "polars", "pyarrow"),
    "sparse": ("sparse",),
    "sklearn": ("scikit-learn",),
    "files": ("pandas", "pyarrow", "xarray", "netcdf4"),
    "exchange": ("tensorly", "pyttb"),
    "images": ("pillow",),
    "movies": ("pillow", "av"),
    "dask": ("dask[dataframe]", "distributed", "pandas", "polars", "pyarrow"),
}
"""The packages of each extra; messages name these, because tensorfill may have been installed from a folder."""


def how_to_install(extra: str) -> str:
    """Return the command that installs the packages of an extra.

    >>> how_to_install("files"), how_to_install("dask")[:32]
    ('pip install pandas pyarrow xarray netcdf4', 'pip install "dask[dataframe]" di')
    """
    return " ".join(["pip install", *(f'"{name}"' if "[" in name else name for name in EXTRAS[extra])])


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
            f"This needs the package {package}, which is not installed; install it with: {how_to_install(extra)}.",
            name=package,
        ) from None
