"""Compiled products of mixtures of the slices of a sparse tensor, with three modes left, with many vectors.

Vector k belongs to the mixture with the entries ``values[p] * weights[cells[p], k]``, stored column by column of an
unfolding. Those of column c go from ``starts[c]`` to ``starts[c + 1]``, in the rows `rows`. Its coordinates in the
other two modes are ``places[c]``. Entries at the same place add up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled


@compiled(fastmath=True)
def contract(
    rows: NDArray[Any],
    starts: NDArray[Any],
    places: NDArray[Any],
    values: NDArray[Any],
    cells: NDArray[Any],
    weights: NDArray[Any],
    vectors: NDArray[Any],
    matrices: NDArray[Any],
) -> None:
    """Set ``matrices[k]`` to the product with column k of `vectors` along the rows, where there are entries."""
    count = vectors.shape[1]
    sums = np.empty(count, vectors.dtype)
    for column in range(len(places)):
        sums[:] = 0.0
        for p in range(starts[column], starts[column + 1]):
            row, value, cell = rows[p], values[p], cells[p]
            for k in range(count):
                sums[k] += value * weights[cell, k] * vectors[row, k]
        for k in range(count):
            matrices[k, places[column, 0], places[column, 1]] = sums[k]


@compiled(fastmath=True)
def add_to_rows(
    rows: NDArray[Any],
    starts: NDArray[Any],
    places: NDArray[Any],
    values: NDArray[Any],
    cells: NDArray[Any],
    weights: NDArray[Any],
    left: NDArray[Any],
    right: NDArray[Any],
    sums: NDArray[Any],
    squares: NDArray[Any],
) -> None:
    """Add what least squares for a vector of the rows needs, beside pairs of columns of `left` and `right`.

    With x the product of the numbers of an entry in the pair and its weight, that is ``value * x`` and ``x^2``.
    """
    count = left.shape[1]
    product = np.empty(count, left.dtype)
    for column in range(len(places)):
        for k in range(count):
            product[k] = left[places[column, 0], k] * right[places[column, 1], k]
        for p in range(starts[column], starts[column + 1]):
            row, value, cell = rows[p], values[p], cells[p]
            for k in range(count):
                x = weights[cell, k] * product[k]
                sums[row, k] += value * x
                squares[row, k] += x * x
