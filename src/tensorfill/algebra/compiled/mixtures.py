"""Compiled products of many vectors with mixtures of the slices of a sparse tensor, which have three modes.

Vector k belongs to the mixture with the entries ``values[p] * weights[cells[p], k]``, stored column by column of an
unfolding. Those of column c go from ``starts[c]`` to ``starts[c + 1]``, in the rows `rows`. Its coordinates in the
other two modes are ``places[c]``. Entries at the same place are summed.
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
    products: NDArray[Any],
) -> None:
    """Add to ``products[:, :, k]`` the product with column k of `vectors` along the rows."""
    count = vectors.shape[1]
    for column in range(len(places)):
        product = products[places[column, 0], places[column, 1]]
        for p in range(starts[column], starts[column + 1]):
            value, weight, vector = values[p], weights[cells[p]], vectors[rows[p]]
            for k in range(count):
                product[k] += value * weight[k] * vector[k]


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
    """Add the least-squares sums for a vector along the rows, given pairs of columns of `left` and `right`.

    With x the product of the numbers of an entry in the pair and its weight, these are ``value * x`` and ``x^2``.
    """
    count = left.shape[1]
    product = np.empty(count, left.dtype)
    for column in range(len(places)):
        one, other = left[places[column, 0]], right[places[column, 1]]
        for k in range(count):
            product[k] = one[k] * other[k]
        for p in range(starts[column], starts[column + 1]):
            value, weight, row_sums, row_squares = values[p], weights[cells[p]], sums[rows[p]], squares[rows[p]]
            for k in range(count):
                x = weight[k] * product[k]
                row_sums[k] += value * x
                row_squares[k] += x * x
