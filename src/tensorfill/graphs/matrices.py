"""Square matrices given by the user: converted to sparse float64 matrices and validated."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from .._support.checks import real_array
from .._support.types import Booleans

ROUNDING = 1e-8
"""Relative to the largest entry or eigenvalue, a difference up to this is rounding."""


def as_sparse(given: Any, name: str) -> csr_array:
    """Return a new float64 matrix in canonical form, without stored zeros."""
    if sparse.issparse(given):
        if given.dtype.kind not in "biuf":
            raise TypeError(f"{name} must hold real numbers, but {given.dtype} was given; convert to float first.")
        entries = given
    else:
        entries = real_array(given, name)
    if entries.ndim != 2:
        raise ValueError(f"{name} must be a matrix, but an array of shape {entries.shape} was given.")
    matrix = csr_array(entries, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def rounding_of(given: Any) -> float:
    """Return the rounding error to expect in the entries of a matrix, relative to the largest one."""
    dtype = np.dtype(getattr(given, "dtype", np.float64))
    return max(ROUNDING, 8 * float(np.finfo(dtype).eps)) if dtype.kind == "f" else ROUNDING


def first_marked(matrix: csr_array, marked: Booleans) -> tuple[int, int, float] | None:
    """Return row, column and value of the first stored entry that is marked, or None if none is."""
    if not marked.any():
        return None
    place = int(marked.argmax())
    row = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
    return row, int(matrix.indices[place]), float(matrix.data[place])


def require_finite(matrix: csr_array, name: str) -> None:
    """Raise an error if an entry is NaN or infinite."""
    wrong = first_marked(matrix, ~np.isfinite(matrix.data))
    if wrong is not None:
        raise ValueError(
            f"{name} must be finite, but {name}[{wrong[0]}, {wrong[1]}] is {wrong[2]}; use 0 where there is no edge."
        )


def symmetrised(matrix: csr_array, name: str, rounding: float) -> csr_array:
    """Return the symmetric part of a matrix that is symmetric up to `rounding`, and raise an error if it is not."""
    transposed = matrix.T.tocsr()
    difference = abs(matrix - transposed)
    largest = float(abs(matrix).max()) if matrix.nnz else 0.0
    wrong = first_marked(difference, difference.data > rounding * largest)
    if wrong is not None:
        row, column, _ = wrong
        raise ValueError(
            f"{name} must be symmetric, but {name}[{row}, {column}] is {matrix[row, column]:g} and "
            f"{name}[{column}, {row}] is {matrix[column, row]:g}; use the mean of it and its transpose."
        )
    result = csr_array((matrix + transposed) / 2)
    result.sort_indices()
    return result
