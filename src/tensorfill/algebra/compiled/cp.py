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
from .tucker import first_change


@compiled(fastmath=True, inline="always")
def product_of_others(
    coords: NDArray[Any], p: int, mode: int, flat: NDArray[Any], starts: NDArray[Any], out: NDArray[Any]
) -> None:
    """Set `out` to the product of the rows of entry p in all factors but that of `mode`, term by term."""
    terms = len(out)
    one = 1 if mode == 0 else 0
    start = starts[one] + coords[p, one] * terms
    for k in range(terms):
        out[k] = flat[start + k]
    for other in range(one + 1, coords.shape[1]):
        if other != mode:
            start = starts[other] + coords[p, other] * terms
            for k in range(terms):
                out[k] *= flat[start + k]


@compiled(fastmath=True)
def row_normal_equations(
    coords: NDArray[Any],
    values: NDArray[Any],
    mode: int,
    flat: NDArray[Any],
    starts: NDArray[Any],
    first: int,
    last: int,
    gram: NDArray[Any],
    rhs: NDArray[Any],
) -> None:
    """Add ``w_p w_p^T`` and ``o_p w_p`` of every entry p to ``gram[i]`` and ``rhs[i]``, where i is its index in `mode`.

    The feature w_p is the product of the rows of the other factors. Only the lower triangles of `gram` are filled.
    """
    w = np.empty(rhs.shape[1])
    for p in range(first, last):
        product_of_others(coords, p, mode, flat, starts, w)
        i, value = coords[p, mode], values[p]
        for k in range(len(w)):
            rhs[i, k] += value * w[k]
            for m in range(k + 1):
                gram[i, k, m] += w[k] * w[m]


@compiled(fastmath=True)
def separate_normal_equations(
    coords: NDArray[Any],
    values: NDArray[Any],
    mode: int,
    flat: NDArray[Any],
    starts: NDArray[Any],
    first: int,
    last: int,
    gram: NDArray[Any],
    rhs: NDArray[Any],
) -> None:
    """Add ``w_p^2`` and ``o_p w_p``, term by term, for many models with one term each; see `row_normal_equations`."""
    w = np.empty(rhs.shape[1])
    for p in range(first, last):
        product_of_others(coords, p, mode, flat, starts, w)
        i, value = coords[p, mode], values[p]
        for k in range(len(w)):
            rhs[i, k] += value * w[k]
            gram[i, k] += w[k] * w[k]


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
