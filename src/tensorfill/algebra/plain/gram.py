"""`compiled.gram` in NumPy, for few entries."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..._support.types import Floats, Integers

DENSE = 32
"""Where one place in this many has an entry, the product of a sparse and a dense matrix is faster than of two sparse
ones."""


def off_diagonal_gram(rows: Integers, starts: Integers, values: Floats, size: int) -> NDArray[np.float64]:
    """Return ``A A^T`` with zeros on its diagonal, for a matrix A with `size` rows that is stored column by column."""
    matrix: Any = scipy.sparse.csc_array((values, rows, starts), shape=(size, len(starts) - 1))
    dense = size * matrix.shape[1] <= DENSE * len(values)
    gram: NDArray[np.float64] = matrix @ matrix.T.toarray() if dense else (matrix @ matrix.T).toarray()
    np.fill_diagonal(gram, 0.0)
    return gram


def add_gram_times(rows: Integers, starts: Integers, values: Floats, block: Floats, out: Floats) -> None:
    """Add ``A A^T block`` to `out`, without the diagonal of ``A A^T``."""
    shape = (len(block), len(starts) - 1)
    numbers = values.astype(np.float64)
    matrix: Any = scipy.sparse.csc_array((numbers, rows, starts), shape=shape)
    diagonal = np.bincount(rows, weights=numbers**2, minlength=len(block))
    out += matrix @ (matrix.T @ block) - diagonal[:, None] * block
