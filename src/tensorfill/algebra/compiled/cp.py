"""Compiled sums over the observed entries for models that are sums of outer products.

The factors are one flat array with the same number of columns, the terms, for all: row i of factor m is
``flat[starts[m] + i * terms:][:terms]``. A loop runs over the entries `first` to `last`. If several threads share the
entries, each of them adds to separate arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled
from .simd import lane_count, load, nothing, plus_product, plus_scaled, store
from .tucker import first_change


@compiled(fastmath=True, inline="always")
def add_lower_gram(block: NDArray[Any], first: int, last: int, height: int, at: int, sums: NDArray[Any]) -> None:
    """Add the lower triangle of the Gram matrix of `height` columns of a block to the rows of `sums` from `at` on.

    A tile of four rows and one or two registers of columns stays in registers while the rows `first` to `last` of the
    block are summed.
    """
    lanes, end = lane_count(sums), at + height - 1
    for t in range(0, height, 4):
        # Behind the last row is that of another index. It is stored last instead, over what such rows would be.
        o0, o1, o2, o3 = at + t, min(at + t + 1, end), min(at + t + 2, end), min(at + t + 3, end)
        whole = (t + 3) // lanes * lanes + lanes
        paired = whole - whole % (2 * lanes)
        for k in range(0, paired, 2 * lanes):
            h = k + lanes
            a0, a1, a2, a3 = load(sums, o0, k), load(sums, o1, k), load(sums, o2, k), load(sums, o3, k)
            b0, b1, b2, b3 = load(sums, o0, h), load(sums, o1, h), load(sums, o2, h), load(sums, o3, h)
            for p in range(first, last):
                low, high = load(block, p, k), load(block, p, h)
                a0, b0 = plus_scaled(a0, block[p, t], low), plus_scaled(b0, block[p, t], high)
                a1, b1 = plus_scaled(a1, block[p, t + 1], low), plus_scaled(b1, block[p, t + 1], high)
                a2, b2 = plus_scaled(a2, block[p, t + 2], low), plus_scaled(b2, block[p, t + 2], high)
                a3, b3 = plus_scaled(a3, block[p, t + 3], low), plus_scaled(b3, block[p, t + 3], high)
            store(sums, o3, k, a3)
            store(sums, o2, k, a2)
            store(sums, o1, k, a1)
            store(sums, o0, k, a0)
            store(sums, o3, h, b3)
            store(sums, o2, h, b2)
            store(sums, o1, h, b1)
            store(sums, o0, h, b0)
        if paired < whole:
            k = paired
            a0, a1, a2, a3 = load(sums, o0, k), load(sums, o1, k), load(sums, o2, k), load(sums, o3, k)
            for p in range(first, last):
                low = load(block, p, k)
                a0, a1 = plus_scaled(a0, block[p, t], low), plus_scaled(a1, block[p, t + 1], low)
                a2, a3 = plus_scaled(a2, block[p, t + 2], low), plus_scaled(a3, block[p, t + 3], low)
            store(sums, o3, k, a3)
            store(sums, o2, k, a2)
            store(sums, o1, k, a1)
            store(sums, o0, k, a0)


@compiled(fastmath=True, inline="always")
def add_squares(block: NDArray[Any], first: int, last: int, terms: int, at: int, sums: NDArray[Any]) -> None:
    """Add the squares of some rows of a block to row `at` of `sums`, and the rows times their values to the next."""
    for c in range(0, terms, lane_count(sums)):
        squares, products = load(sums, at, c), load(sums, at + 1, c)
        for p in range(first, last):
            feature = load(block, p, c)
            squares, products = plus_product(squares, feature, feature), plus_scaled(products, block[p, terms], feature)
        store(sums, at, c, squares)
        store(sums, at + 1, c, products)


@compiled(fastmath=True)
def normal_equations(
    places: NDArray[Any],
    coords: NDArray[Any],
    values: NDArray[Any],
    mode: int,
    flat: NDArray[Any],
    starts: NDArray[Any],
    terms: int,
    together: int,
    separate: bool,
    first: int,
    last: int,
    sums: NDArray[Any],
) -> None:
    """Add ``w_p w_p^T`` and ``o_p w_p`` of every entry p to the sums of its index in `mode`.

    The feature w_p is the product of the rows of the other factors. `places` has the place of each entry among
    `together` entries in the order of their indices. Their features, each with its value behind it, are set down in
    this order, so that those of an index are neighbours. The sums of an index are ``terms + 1`` rows: the lower
    triangle of the matrix, and then the vector. If `separate`, they are two rows: ``w_p^2``, term by term, and the
    vector. The rows are whole registers, and `flat` is a single row, with a register more at its end.
    """
    modes, width, lanes, height = coords.shape[1], sums.shape[1], lane_count(sums), 2 if separate else terms + 1
    block, index = np.empty((together, width)), np.empty(together + 1, dtype=np.int64)
    one = 1 if mode == 0 else 0
    for begin in range(first, last, together):
        count = min(together, last - begin)
        for p in range(begin, begin + count):
            place, start = places[p], starts[one] + coords[p, one] * terms
            for c in range(0, width, lanes):
                store(block, place, c, load(flat, 0, start + c))
            for other in range(one + 1, modes):
                if other != mode:
                    start = starts[other] + coords[p, other] * terms
                    for c in range(0, width, lanes):
                        feature = load(block, place, c)
                        store(block, place, c, plus_product(nothing(block), feature, load(flat, 0, start + c)))
            block[place, terms] = values[p]
            index[place] = coords[p, mode]
        index[count] = -1
        start = 0
        for p in range(count):
            if index[p + 1] != index[p]:
                if separate:
                    add_squares(block, start, p + 1, terms, index[p] * height, sums)
                else:
                    add_lower_gram(block, start, p + 1, height, index[p] * height, sums)
                start = p + 1


@compiled(fastmath=True, inline="always")
def multiply_first(
    parts: NDArray[Any], coords: NDArray[Any], p: int, begin: int, flat: NDArray[Any], starts: NDArray[Any]
) -> None:
    """Set ``parts[l]`` to the product of the rows of entry p in the first l modes, for every l after `begin`."""
    terms = parts.shape[1]
    for mode in range(begin, len(parts) - 1):
        start = starts[mode] + coords[p, mode] * terms
        for k in range(terms):
            parts[mode + 1, k] = parts[mode, k] * flat[start + k]


@compiled(fastmath=True)
def values_at(
    coords: NDArray[Any],
    flat: NDArray[Any],
    starts: NDArray[Any],
    terms: int,
    first: int,
    last: int,
    out: NDArray[Any],
) -> None:
    """Set ``out[p]`` to the sum over the terms of the product of the rows of entry p.

    What depends only on the first coordinates is computed once for consecutive entries that share them.
    """
    lowest = coords.shape[1] - 1
    parts = np.ones((lowest + 1, terms), dtype=flat.dtype)
    for p in range(first, last):
        multiply_first(parts, coords, p, 0 if p == first else first_change(coords, p), flat, starts)
        start, value = starts[lowest] + coords[p, lowest] * terms, flat.dtype.type(0)
        for k in range(terms):
            value += parts[lowest, k] * flat[start + k]
        out[p] = value


@compiled(fastmath=True)
def add_gradients(
    coords: NDArray[Any],
    slopes: NDArray[Any],
    flat: NDArray[Any],
    starts: NDArray[Any],
    terms: int,
    first: int,
    last: int,
    out: NDArray[Any],
) -> None:
    """Add the gradient of ``sum_p slopes[p] * X_p`` for all rows of all factors.

    ``sums[l]`` holds the sum of ``slopes[p]`` times the rows in the modes l, l + 1, .. over the entries that share
    their first l coordinates. When a level is complete, its sum is multiplied by the product of the rows before it.
    """
    lowest = coords.shape[1] - 1
    parts = np.ones((lowest + 1, terms), dtype=flat.dtype)
    sums = np.zeros((lowest + 1, terms), dtype=flat.dtype)
    for p in range(first, last):
        multiply_first(parts, coords, p, 0 if p == first else first_change(coords, p), flat, starts)
        start, slope = starts[lowest] + coords[p, lowest] * terms, slopes[p]
        for k in range(terms):
            sums[lowest, k] += slope * flat[start + k]
            out[start + k] += slope * parts[lowest, k]
        done = 0 if p + 1 == last else first_change(coords, p + 1)
        for level in range(lowest, done, -1):
            mode = level - 1
            start = starts[mode] + coords[p, mode] * terms
            for k in range(terms):
                out[start + k] += parts[mode, k] * sums[level, k]
                sums[mode, k] += flat[start + k] * sums[level, k]
                sums[level, k] = 0


@compiled(fastmath=True)
def add_contracted(
    coords: NDArray[Any],
    values: NDArray[Any],
    mode: int,
    flat: NDArray[Any],
    starts: NDArray[Any],
    first: int,
    last: int,
    out: NDArray[Any],
) -> None:
    """Add ``values[p]`` times the product of the rows in all other factors to the row of entry p in `mode`.

    As in `add_gradients`, with products of rows before the mode and sums of rows after it.
    """
    lowest, terms = coords.shape[1] - 1, out.shape[1]
    parts = np.ones((mode + 1, terms), dtype=flat.dtype)
    sums = np.zeros((lowest + 1, terms), dtype=flat.dtype)
    for p in range(first, last):
        multiply_first(parts, coords, p, 0 if p == first else first_change(coords, p), flat, starts)
        if mode == lowest:
            for k in range(terms):
                out[coords[p, mode], k] += values[p] * parts[mode, k]
            continue
        start = starts[lowest] + coords[p, lowest] * terms
        for k in range(terms):
            sums[lowest, k] += values[p] * flat[start + k]
        done = 0 if p + 1 == last else first_change(coords, p + 1)
        for level in range(lowest, max(done, mode), -1):
            start = starts[level - 1] + coords[p, level - 1] * terms
            for k in range(terms):
                if level - 1 == mode:
                    out[coords[p, mode], k] += parts[mode, k] * sums[level, k]
                else:
                    sums[level - 1, k] += flat[start + k] * sums[level, k]
                sums[level, k] = 0
