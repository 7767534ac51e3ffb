"""MATLAB's .mat files, up to version 7."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from ..adapters.registry import take_in
from ..labels import Labelled
from .atomic import written_beside
from .common import Content, Mask, chosen_array, dense_labelled, read_as, warn_of_lost_labels

VARIABLE = "tensor"
"""The name of the variable that is written."""

LARGEST = 2**32
"""The size of a variable is a number of 32 bits in the file."""


def read(path: Path, *, missing: str | None = None, name: str | None = None, mask: Mask | None = None) -> Labelled:
    """Read an array of a .mat file; NaN is missing, and zeros only if `missing` says so.

    Parameters
    ----------
    path
        The file.
    missing
        ``"nan"``, the default; ``"zero"`` if zeros are missing too. For a sparse matrix as in `take_in`.
    name
        The variable, if several can be a tensor.
    mask
        An array that is not zero where entries were observed.
    """
    from scipy import io, sparse

    with path.open("rb") as file:
        try:
            with read_as(path, "a .mat file", ValueError, TypeError, OSError, io.matlab.MatReadError):
                held = io.loadmat(file)
        except NotImplementedError:
            raise ValueError(
                f"{path} is a MATLAB v7.3 file, which cannot be read; save it again with save(..., '-v7')."
            ) from None
    numbers = {each: array for each, array in held.items() if not each.startswith("__") and _is_numeric(array)}
    sizes = {each: array.shape for each, array in numbers.items()}
    # MATLAB stores numbers and vectors as matrices too.
    tensors = [each for each, shape in sizes.items() if sum(size > 1 for size in shape) > 1]
    found = numbers[chosen_array(path, sizes, name, tensors)]
    if sparse.issparse(found):
        if mask is not None:
            raise ValueError(f"mask is for arrays that hold every entry, but {path} holds a sparse matrix.")
        return take_in(found, missing=missing)
    return dense_labelled(found, missing=missing, mask=mask)


def _is_numeric(array: Any) -> bool:
    from scipy import sparse

    return (isinstance(array, np.ndarray) or bool(sparse.issparse(array))) and array.dtype.kind in "biuf"


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
        The variable.
    """
    from scipy import io

    warn_of_lost_labels(content.labels, "a .mat file")
    with written_beside(path) as file:
        io.savemat(file, {name: content.dense()}, do_compression=True)
