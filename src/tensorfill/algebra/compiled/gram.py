"""Compiled Gram matrices of sparse unfoldings, without their diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled


@compiled(fastmath=True)
def off_diagonal_gram(rows: NDArray[Any], starts: NDArray[Any], values: NDArray[Any], size: int) -> NDArray[np.float64]:
    """Return ``A A^T`` with zeros on its diagonal, for a matrix A with `size` rows that is stored column by column.

    The entries of column c are ``values[starts[c]:starts[c + 1]]``, in the rows `rows`. Only pairs of distinct
    entries of a column contribute.
    """
    gram = np.zeros((size, size))
    for column in range(len(starts) - 1):
        for p in range(starts[column], starts[column + 1]):
            i, value = rows[p], values[p]
            for q in range(starts[column], p):
                gram[i, rows[q]] += value * values[q]
    for i in range(size):
        for j in range(i):
            both = gram[i, j] + gram[j, i]
            gram[i, j] = both
            gram[j, i] = both
        gram[i, i] = 0.0
    return gram


@compiled(fastmath=True)
def add_grams_of_pairs(
    rows: NDArray[Any],
    starts: NDArray[Any],
    values: NDArray[Any],
    kinds: NDArray[Any],
    places: NDArray[Any],
    first: int,
    last: int,
    grams: NDArray[Any],
    squares: NDArray[Any],
) -> None:
    """Add the rows `first` to `last` of ``A A^T`` without its diagonal, separately for each pair of kinds of entries.

    The product of an entry of kind k in row i with one of kind l in row j is added to the Gram matrix at
    ``places[k, l]``, and its square to the number there. The matrix A is stored as for `off_diagonal_gram`.
    """
    for column in range(len(starts) - 1):
        for p in range(starts[column], starts[column + 1]):
            i = rows[p]
            if i < first or i >= last:
                continue
            for q in range(starts[column], starts[column + 1]):
                j = rows[q]
                if i != j:
                    place, product = places[kinds[p], kinds[q]], values[p] * values[q]
                    grams[place, i - first, j] += product
                    squares[place] += product * product
