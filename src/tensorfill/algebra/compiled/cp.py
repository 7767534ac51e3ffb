"""Compiled sums over the observed entries for models that are sums of outer products.

The factors are one flat array with the same number of columns, the terms, for all: row i of factor m is
``flat[starts[m] + i * terms:][:terms]``. A loop runs over the entries `first` to `last`. If several threads share the
entries, each of them adds to arrays of its own.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath=True, cache=True, nogil=True, inline="always")
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


@numba.njit(fastmath=True, cache=True, nogil=True)
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


@numba.njit(fastmath=True, cache=True, nogil=True)
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
    """Add ``w_p^2`` and ``o_p w_p``, term by term, as for many models of one term each; see `row_normal_equations`."""
    w = np.empty(rhs.shape[1])
    for p in range(first, last):
        product_of_others(coords, p, mode, flat, starts, w)
        i, value = coords[p, mode], values[p]
        for k in range(len(w)):
            rhs[i, k] += value * w[k]
            gram[i, k] += w[k] * w[k]
