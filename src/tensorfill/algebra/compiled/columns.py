"""Compiled loops over the groups of stored columns in which two components intersect; see `algebra.columns`.

One side of an intersection is ``(starts, places, across)``: group g has the columns ``places[starts[g] : starts[g +
1]]`` of one component, and `across` has their index along the mode of the other one. In a group, the difference of the
component of the first side and that of the second is a matrix of low rank,

    [v[places], -other_u[across]] [u[other_across], other_v[other_places]]^T,

with a row for each column of the first side and a column for each of the second; u and `other_u` have the singular
values in them. A loop makes the small matrix between the two factors, the panel, for one group after the other. So no
array grows with the number of groups. Columns are gathered a few at a time, so that fast loops can multiply them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled
from .kernels import ROWS_AT_A_TIME, add_product

Side = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""``(starts, places, across)``."""


@compiled(fastmath=True)
def add_difference(
    side: Side,
    v: NDArray[Any],
    u: NDArray[Any],
    other_side: Side,
    other_v: NDArray[Any],
    other_u: NDArray[Any],
    factor: float,
    block: NDArray[Any],
    out: NDArray[Any],
    by_column: bool,
) -> None:
    """Add `factor` times the difference, summed over the columns of the first side with a block, to `out`.

    Parameters
    ----------
    side, v, u
        The first side, and the component of its columns.
    other_side, other_v, other_u
        The same for the second side, which has the columns of the result.
    factor
        The factor of the result.
    block
        What the difference is multiplied with: a row for each column of the first component if `by_column` is true, and
        a row for each index of the mode of the second component otherwise.
    out
        What is added to: a row for each index of the mode of the first component if `by_column` is true, and a row for
        each column of the second one otherwise.
    by_column
        Whether the rows of the block are columns.
    """
    starts, places, across = side
    other_starts, other_places, other_across = other_side
    width, rank, other_rank = block.shape[1], v.shape[1], other_u.shape[1]
    both = rank + other_rank
    panel = np.empty((both, width), dtype=block.dtype)
    factors, rows = np.empty((ROWS_AT_A_TIME, both), block.dtype), np.empty((ROWS_AT_A_TIME, width), block.dtype)
    one, zero = min(1, width), min(0, width)  # literals would make numba compile `add_product` again
    for g in range(len(starts) - 1):
        panel[:] = 0
        for start in range(starts[g], starts[g + 1], ROWS_AT_A_TIME):
            count = min(ROWS_AT_A_TIME, starts[g + 1] - start)
            for t in range(count):
                column, along = places[start + t], across[start + t]
                row = column if by_column else along
                for r in range(rank):
                    factors[t, r] = v[column, r]
                for r in range(other_rank):
                    factors[t, rank + r] = -other_u[along, r]
                for k in range(width):
                    rows[t, k] = block[row, k]
            add_product(factors, zero, one, both, rows, zero, one, panel, zero, one, both, count)
        for start in range(other_starts[g], other_starts[g + 1], ROWS_AT_A_TIME):
            count = min(ROWS_AT_A_TIME, other_starts[g + 1] - start)
            for t in range(count):
                column, along = other_places[start + t], other_across[start + t]
                for r in range(rank):
                    factors[t, r] = factor * u[along, r]
                for r in range(other_rank):
                    factors[t, rank + r] = factor * other_v[column, r]
            rows[:count] = 0
            add_product(factors, zero, both, one, panel, zero, one, rows, zero, one, count, both)
            for t in range(count):
                row = other_across[start + t] if by_column else other_places[start + t]
                for k in range(width):
                    out[row, k] += rows[t, k]


@compiled(fastmath=True)
def square_of_difference(
    side: Side,
    v: NDArray[Any],
    u: NDArray[Any],
    other_side: Side,
    other_v: NDArray[Any],
    other_u: NDArray[Any],
) -> float:
    """Return the squared norm of the difference: the inner product of the Gram matrices of its two factors."""
    starts, places, across = side
    other_starts, other_places, other_across = other_side
    rank, other_rank = v.shape[1], other_u.shape[1]
    both = rank + other_rank
    left, right, row = np.empty((both, both)), np.empty((both, both)), np.empty(both)
    total = 0.0
    for g in range(len(starts) - 1):
        left[:] = 0
        right[:] = 0
        for t in range(starts[g], starts[g + 1]):
            row[:rank] = v[places[t]]
            row[rank:] = -other_u[across[t]]
            for r in range(both):
                for k in range(r + 1):
                    left[r, k] += row[r] * row[k]
        for t in range(other_starts[g], other_starts[g + 1]):
            row[:rank] = u[other_across[t]]
            row[rank:] = other_v[other_places[t]]
            for r in range(both):
                for k in range(r + 1):
                    right[r, k] += row[r] * row[k]
        for r in range(both):
            total += left[r, r] * right[r, r]
            for k in range(r):
                total += 2 * left[r, k] * right[r, k]
    return total
