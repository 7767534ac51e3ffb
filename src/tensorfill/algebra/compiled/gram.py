"""Compiled Gram matrices of sparse unfoldings, without their diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled
from .simd import lane_count, load, nothing, plus_scaled, store


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
def add_gram_times(
    rows: NDArray[Any], starts: NDArray[Any], values: NDArray[Any], block: NDArray[Any], out: NDArray[Any]
) -> None:
    """Add ``A A^T block``, without the diagonal of ``A A^T``, to `out`.

    The matrix A is stored as for `off_diagonal_gram`.
    """
    width, lanes = block.shape[1], lane_count(block)
    paired, whole = width - width % (2 * lanes), width - width % lanes
    for column in range(len(starts) - 1):
        first, last = starts[column], starts[column + 1]
        if last - first < 2:
            continue
        for k in range(0, paired, 2 * lanes):
            h = k + lanes
            low, high = nothing(block), nothing(block)
            for p in range(first, last):
                i, value = rows[p], values[p]
                low, high = plus_scaled(low, value, load(block, i, k)), plus_scaled(high, value, load(block, i, h))
            for p in range(first, last):
                i, value = rows[p], values[p]
                others = plus_scaled(low, -value, load(block, i, k))
                store(out, i, k, plus_scaled(load(out, i, k), value, others))
                others = plus_scaled(high, -value, load(block, i, h))
                store(out, i, h, plus_scaled(load(out, i, h), value, others))
        for k in range(paired, whole, lanes):
            total = nothing(block)
            for p in range(first, last):
                total = plus_scaled(total, values[p], load(block, rows[p], k))
            for p in range(first, last):
                i, value = rows[p], values[p]
                others = plus_scaled(total, -value, load(block, i, k))
                store(out, i, k, plus_scaled(load(out, i, k), value, others))
        for k in range(whole, width):
            number = block.dtype.type(0)
            for p in range(first, last):
                number += values[p] * block[rows[p], k]
            for p in range(first, last):
                i, value = rows[p], values[p]
                out[i, k] += value * (number - value * block[i, k])


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
