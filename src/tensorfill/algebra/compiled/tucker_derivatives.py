"""Compiled derivatives of the entries of a Tucker model: all gradients in one pass, and directional derivatives.

In C order, an entry shares most of its coordinates with the entry before it. Part l is the core contracted with the
rows of the first l modes, and sum l is the sum over the entries that share their first l coordinates of
``values[p] * kron(a_l[i_l], a_{l+1}[i_{l+1}], ..)``. Both have the shape (r_l, r_{l+1}, ..). The contraction of part l
with sum l + 1 is the gradient of a row of mode l. So the gradients of the core and of every factor cost r for an
entry, r^2 for a fibre and r^3 for a slice.

The factors are one flat array, as in `tucker`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled
from .tucker import contract, first_change


@compiled(fastmath=True)
def add_gradients(
    coords: NDArray[Any],
    values: NDArray[Any],
    core: NDArray[Any],
    flat: NDArray[Any],
    starts: NDArray[Any],
    ranks: NDArray[Any],
    bounds: NDArray[Any],
    first: int,
    last: int,
    rows_out: NDArray[Any],
    core_out: NDArray[Any],
) -> None:
    """Add the gradients of ``sum_p values[p] X_p``: for the factors to `rows_out`, for the core to `core_out`.

    `rows_out` has the layout of `flat`, and the core is flat.
    """
    lowest, block = len(ranks) - 1, len(core)
    parts, sums = np.empty(bounds[lowest + 1]), np.zeros(bounds[lowest + 1])
    for x in range(block):
        parts[x] = core[x]
    for p in range(first, last):
        begin = 0 if p == first else first_change(coords, p)
        contract(parts, bounds, coords, p, begin, lowest, flat, starts, ranks)
        start, part = starts[lowest] + coords[p, lowest] * ranks[lowest], bounds[lowest]
        for k in range(ranks[lowest]):
            sums[part + k] += values[p] * flat[start + k]
            rows_out[start + k] += values[p] * parts[part + k]
        done = 0 if p + 1 == last else first_change(coords, p + 1)
        for level in range(lowest, done, -1):
            mode, inner, size = level - 1, bounds[level], bounds[level + 1] - bounds[level]
            start = starts[mode] + coords[p, mode] * ranks[mode]
            for k in range(ranks[mode]):
                outer, a, total = bounds[mode] + k * size, flat[start + k], 0.0
                for x in range(size):
                    total += parts[outer + x] * sums[inner + x]
                    sums[outer + x] += a * sums[inner + x]
                rows_out[start + k] += total
            for x in range(size):
                sums[inner + x] = 0.0
    for x in range(block):
        core_out[x] += sums[x]


@compiled(fastmath=True)
def changes_at(
    coords: NDArray[Any],
    core: NDArray[Any],
    core_change: NDArray[Any],
    flat: NDArray[Any],
    flat_change: NDArray[Any],
    starts: NDArray[Any],
    ranks: NDArray[Any],
    bounds: NDArray[Any],
    first: int,
    last: int,
    out: NDArray[Any],
) -> None:
    """Set ``out[p]`` to the derivative of entry p along a direction of the core and all factors."""
    lowest, block = len(ranks) - 1, len(core)
    parts, changes = np.empty(bounds[lowest + 1]), np.empty(bounds[lowest + 1])
    for x in range(block):
        parts[x], changes[x] = core[x], core_change[x]
    for p in range(first, last):
        begin = 0 if p == first else first_change(coords, p)
        contract(parts, bounds, coords, p, begin, lowest, flat, starts, ranks)
        for mode in range(begin, lowest):
            contract(changes, bounds, coords, p, mode, mode + 1, flat, starts, ranks)
            before, after, size = bounds[mode], bounds[mode + 1], bounds[mode + 2] - bounds[mode + 1]
            start = starts[mode] + coords[p, mode] * ranks[mode]
            for k in range(ranks[mode]):
                a = flat_change[start + k]
                for x in range(size):
                    changes[after + x] += a * parts[before + k * size + x]
        start, part, value = starts[lowest] + coords[p, lowest] * ranks[lowest], bounds[lowest], 0.0
        for k in range(ranks[lowest]):
            value += flat[start + k] * changes[part + k] + flat_change[start + k] * parts[part + k]
        out[p] = value
