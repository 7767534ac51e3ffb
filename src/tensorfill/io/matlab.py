"""MATLAB's .mat files, up to version 7."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from ..adapters.registry import take_in
from ..labels import Labelled
from .atomic import written_beside
from .common import Content, Mask, chosen_array, dense_labelled, warn_of_lost_labels
from .matlab_file import MatlabFile, read_old
from .source import Source

VARIABLE = "tensor"
"""The default name of the variable."""

LARGEST = 2**32
"""The size of a variable is stored in 32 bits."""


def read(source: Source, *, missing: str | None = None, name: str | None = None, mask: Mask | None = None) -> Labelled:
    """Read an array of a .mat file; NaN is missing, and zeros are missing only with ``missing="zero"``.

    Parameters
    ----------
    source
        The file.
    missing
        ``"nan"``, the default; ``"zero"`` if zeros are missing too. For a sparse matrix as in `take_in`.
    name
        The variable, if several can be a tensor.
    mask
        An array that is nonzero where entries were observed.
    """
    from scipy import sparse

    with source.read_as("a .mat file"):
        found = _found(source, name)
    if sparse.issparse(found):
        if mask is not None:
            raise ValueError(f"mask is for arrays that hold every entry, but {source.path} holds a sparse matrix.")
        return take_in(found, missing=missing)
    return dense_labelled(found, missing=missing, mask=mask)


def _found(source: Source, name: str | None) -> Any:
    """Return the requested array or sparse matrix."""
    with source.path.open("rb") as file:
        # A file of version 4 begins with numbers, one byte of which is 0; later versions begin with a text.
        if 0 in file.read(4):
            file.seek(0)
            arrays = read_old(source, file)
            return arrays[_chosen(source, {each: array.shape for each, array in arrays.items()}, name)]
        file.seek(0)
        held = MatlabFile(source, file)
        variables = {each.name: each for each in held.variables() if each.is_numeric}
        return held.read(variables[_chosen(source, {each: own.shape for each, own in variables.items()}, name)])


def _chosen(source: Source, sizes: dict[str, tuple[int, ...]], name: str | None) -> str:
    # MATLAB stores scalars and vectors as matrices too.
    tensors = [each for each, shape in sizes.items() if sum(size > 1 for size in shape) > 1]
    return chosen_array(source.path, sizes, name, tensors)


def check(path: Path, content: Content) -> None:
    """Raise an error if a .mat file cannot hold such a tensor."""
    needed = math.prod(content.shape) * content.dtype.itemsize
    if needed >= LARGEST:
        raise ValueError(
            f"an array in a .mat file must have less than {LARGEST:,} bytes, but shape {content.shape} takes "
            f"{needed:,}; write .npy or .nc."
        )


def write(path: Path, content: Content, *, name: str = VARIABLE) -> None:
    """Write an array, with NaN for missing entries.

    Parameters
    ----------
    path
        The file.
    content
        What to write.
    name
        The name of the variable.
    """
    from scipy import io

    warn_of_lost_labels(content.labels, "a .mat file")
    with written_beside(path) as file:
        io.savemat(file, {name: content.dense()}, do_compression=True)
