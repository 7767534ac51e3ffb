"""Compiled loops over the observed entries.

The entries are sorted in C order, and every loop walks them in that order with one residual array, whatever the
mode. Each takes its share of the work as `tiles`: thread t runs over the entries ``tiles[b, t]`` to
``tiles[b, t + 1]`` of every row b, shares that never write to the same place. numba compiles a loop at its
first call and keeps it on disk.
"""

from __future__ import annotations

from typing import Any

import numba
from numpy.typing import NDArray


def thread_count() -> int:
    """Return how many threads the loops run on."""
    return int(numba.get_num_threads())


@numba.njit(parallel=True, fastmath=True, cache=True, nogil=True)
def add_entries(
    rows: NDArray[Any],
    cols: NDArray[Any],
    u: NDArray[Any],
    v: NDArray[Any],
    tiles: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Add ``(u v^T)[row, col]`` of every entry to `out`; Algorithm 1 of the paper for one mode."""
    rank = u.shape[1]
    for t in numba.prange(tiles.shape[1] - 1):
        for b in range(tiles.shape[0]):
            for p in range(tiles[b, t], tiles[b, t + 1]):
                i, c = rows[p], cols[p]
                total = out[p]
                for k in range(rank):
                    total += u[i, k] * v[c, k]
                out[p] = total


@numba.njit(parallel=True, fastmath=True, cache=True, nogil=True)
def add_left(
    rows: NDArray[Any],
    cols: NDArray[Any],
    values: NDArray[Any],
    a: NDArray[Any],
    tiles: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Add ``S^T a`` to `out` for the sparse matrix S of the entries; no two threads share a column of S."""
    block = a.shape[1]
    for t in numba.prange(tiles.shape[1] - 1):
        for b in range(tiles.shape[0]):
            for p in range(tiles[b, t], tiles[b, t + 1]):
                i, c, value = rows[p], cols[p], values[p]
                for k in range(block):
                    out[c, k] += value * a[i, k]


@numba.njit(parallel=True, fastmath=True, cache=True, nogil=True)
def add_right(
    rows: NDArray[Any],
    cols: NDArray[Any],
    values: NDArray[Any],
    b: NDArray[Any],
    tiles: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Add ``S b`` to the sum of ``out[t]`` over the threads: rows are shared, so each thread has its own."""
    block = b.shape[1]
    for t in numba.prange(tiles.shape[1] - 1):
        for q in range(tiles.shape[0]):
            for p in range(tiles[q, t], tiles[q, t + 1]):
                i, c, value = rows[p], cols[p], values[p]
                for k in range(block):
                    out[t, i, k] += value * b[c, k]
