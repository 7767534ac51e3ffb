"""Compiled loops over the observed entries.

The entries are sorted in C order, and every loop walks them with one residual array, whatever the mode. What it walks
is given as `runs`: the entries ``runs[q, 0]`` to ``runs[q, 1]`` for each q. numba compiles a loop at its first call and
keeps it on disk; while one runs, other threads of Python go on.
"""

from __future__ import annotations

from typing import Any

import numba
from numpy.typing import NDArray


@numba.njit(fastmath=True, cache=True, nogil=True)
def add_entries(
    rows: NDArray[Any],
    cols: NDArray[Any],
    u: NDArray[Any],
    v: NDArray[Any],
    runs: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Add ``(u v^T)[row, col]`` of every entry to `out`; Algorithm 1 of the paper for one mode."""
    rank = u.shape[1]
    for q in range(runs.shape[0]):
        for p in range(runs[q, 0], runs[q, 1]):
            i, c = rows[p], cols[p]
            total = out[p]
            for k in range(rank):
                total += u[i, k] * v[c, k]
            out[p] = total


@numba.njit(fastmath=True, cache=True, nogil=True)
def add_products(
    sources: NDArray[Any],
    targets: NDArray[Any],
    values: NDArray[Any],
    block: NDArray[Any],
    runs: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Add ``value * block[source]`` of every entry to ``out[target]``.

    With the rows of an unfolding S as sources and its columns as targets this is ``S^T block``, the other way round
    ``S block``.
    """
    for q in range(runs.shape[0]):
        for p in range(runs[q, 0], runs[q, 1]):
            i, c, value = sources[p], targets[p], values[p]
            for k in range(block.shape[1]):
                out[c, k] += value * block[i, k]
