"""Compiled loops over the observed entries and over the columns of an unfolding.

The entries are sorted in C order, and every loop walks them with one residual array, whatever the mode. What it walks
is given as `runs`: the entries ``runs[q, 0]`` to ``runs[q, 1]`` for each q. numba compiles a loop at its first call and
keeps it on disk; while one runs, other threads of Python go on.

A term of a sum, seen from the mode of an unfolding, is ``(u, panels, before)``: the columns are the places of an array
(before, rows of u, after), and the part of the column (b, j, a) is

    sum over r of u[j, r] * panels[(b, a), r],

with one row of `panels` for each (b, a, r), and in it the columns of a block; see `crossmode`.
"""

from __future__ import annotations

from typing import Any

import numba
from numpy.typing import NDArray

from .lanes import lane_count, load, plus_scaled, store

Term = tuple[NDArray[Any], NDArray[Any], int]
"""``(u, panels, before)``."""


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
    width, lanes = block.shape[1], lane_count(block)
    if width == 2 * lanes:
        # The usual width, which two registers hold: twice as fast as the loop below.
        for q in range(runs.shape[0]):
            for p in range(runs[q, 0], runs[q, 1]):
                i, c, value = sources[p], targets[p], values[p]
                low, high = load(out, c, 0), load(out, c, lanes)
                store(out, c, 0, plus_scaled(low, value, load(block, i, 0)))
                store(out, c, lanes, plus_scaled(high, value, load(block, i, lanes)))
        return
    for q in range(runs.shape[0]):
        for p in range(runs[q, 0], runs[q, 1]):
            i, c, value = sources[p], targets[p], values[p]
            for k in range(width):
                out[c, k] += value * block[i, k]


@numba.njit(fastmath=True, cache=True, nogil=True)
def _reach(u: NDArray[Any], panels: NDArray[Any], before: int, first: int, last: int) -> tuple[int, int, int, int, int]:
    """Return how many places come after the rows of u, and the ranges of b and of j, for columns of a piece.

    A piece has whole ranges of the leading mode. That is where the rows of u are, if nothing comes before them; else
    it is in what comes before them, and all the rows of u are reached.
    """
    size, rank = u.shape
    after = panels.shape[0] // max(1, before * rank)
    if before == 1:
        return after, 0, 1, first // after, last // after
    return after, first // (size * after), last // (size * after), 0, size


@numba.njit(fastmath=True, cache=True, nogil=True)
def spread(u: NDArray[Any], panels: NDArray[Any], before: int, first: int, last: int, out: NDArray[Any]) -> None:
    """Add a term to the columns from `first` to `last`."""
    (size, rank), width, lanes = u.shape, out.shape[1], lane_count(out)
    if rank == 0:
        return
    after, b_first, b_last, j_first, j_last = _reach(u, panels, before, first, last)
    whole = width - width % lanes
    for b in range(b_first, b_last):
        for j in range(j_first, j_last):
            for a in range(after):
                column, panel = (b * size + j) * after + a, (b * after + a) * rank
                if width == 2 * lanes:
                    low, high = load(out, column, 0), load(out, column, lanes)
                    for r in range(rank):
                        low = plus_scaled(low, u[j, r], load(panels, panel + r, 0))
                        high = plus_scaled(high, u[j, r], load(panels, panel + r, lanes))
                    store(out, column, 0, low)
                    store(out, column, lanes, high)
                    continue
                for k in range(0, whole, lanes):
                    total = load(out, column, k)
                    for r in range(rank):
                        total = plus_scaled(total, u[j, r], load(panels, panel + r, k))
                    store(out, column, k, total)
                for k in range(whole, width):
                    for r in range(rank):
                        out[column, k] += u[j, r] * panels[panel + r, k]


@numba.njit(fastmath=True, cache=True, nogil=True)
def gather(u: NDArray[Any], panels: NDArray[Any], before: int, first: int, last: int, block: NDArray[Any]) -> None:
    """Add to the panels of a term what the columns from `first` to `last` give."""
    (size, rank), width, lanes = u.shape, block.shape[1], lane_count(block)
    if rank == 0:
        return
    after, b_first, b_last, j_first, j_last = _reach(u, panels, before, first, last)
    whole = width - width % lanes
    for b in range(b_first, b_last):
        for j in range(j_first, j_last):
            for a in range(after):
                column, panel = (b * size + j) * after + a, (b * after + a) * rank
                for k in range(0, whole, lanes):
                    given = load(block, column, k)
                    for r in range(rank):
                        store(panels, panel + r, k, plus_scaled(load(panels, panel + r, k), u[j, r], given))
                for k in range(whole, width):
                    for r in range(rank):
                        panels[panel + r, k] += u[j, r] * block[column, k]


@numba.njit(fastmath=True, cache=True, nogil=True)
def sum_up(v: NDArray[Any], panels: NDArray[Any], before: int, out: NDArray[Any]) -> None:
    """Add ``v[(b, i, a), r] * panels[(b, a), r]`` of all b, a and r to ``out[i]``."""
    rank, (size, width), lanes = v.shape[1], out.shape, lane_count(out)
    after = len(v) // (size * before)
    whole = width - width % lanes
    for b in range(before):
        for i in range(size):
            for k in range(0, whole, lanes):
                total = load(out, i, k)
                for a in range(after):
                    row, panel = (b * size + i) * after + a, (b * after + a) * rank
                    for r in range(rank):
                        total = plus_scaled(total, v[row, r], load(panels, panel + r, k))
                store(out, i, k, total)
            for k in range(whole, width):
                for a in range(after):
                    row, panel = (b * size + i) * after + a, (b * after + a) * rank
                    for r in range(rank):
                        out[i, k] += v[row, r] * panels[panel + r, k]


@numba.njit(fastmath=True, cache=True, nogil=True)
def fill_columns(
    terms: tuple[Term, ...],
    rows: NDArray[Any],
    cols: NDArray[Any],
    values: NDArray[Any],
    a: NDArray[Any],
    pieces: NDArray[Any],
    bounds: NDArray[Any],
    runs: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Put in `out` the columns of an unfolding, a sum of terms and a sparse matrix S, times `a`: piece by piece.

    The q-th piece has the columns ``pieces[q, 0]`` to ``pieces[q, 1]`` and the runs ``bounds[q]`` to ``bounds[q + 1]``.
    """
    for q in range(pieces.shape[0]):
        first, last = pieces[q, 0], pieces[q, 1]
        out[first:last] = 0
        for u, panels, before in terms:
            spread(u, panels, before, first, last, out)
        add_products(rows, cols, values, a, runs[bounds[q] : bounds[q + 1]], out)


@numba.njit(fastmath=True, cache=True, nogil=True)
def gather_columns(
    terms: tuple[Term, ...],
    rows: NDArray[Any],
    cols: NDArray[Any],
    values: NDArray[Any],
    b: NDArray[Any],
    pieces: NDArray[Any],
    bounds: NDArray[Any],
    runs: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Add to the panels of the terms what the columns of these pieces give, and to `out` what S times `b` gives."""
    for q in range(pieces.shape[0]):
        for u, panels, before in terms:
            gather(u, panels, before, pieces[q, 0], pieces[q, 1], b)
        add_products(cols, rows, values, b, runs[bounds[q] : bounds[q + 1]], out)
