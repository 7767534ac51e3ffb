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

from .lanes import lane_count, load, plus_scaled, store, zeros

ROWS_AT_A_TIME = 128
"""Rows of a term whose products are all made before the next ones are read."""

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
    size, rank = u.shape
    if rank == 0:
        return
    after, b_first, b_last, j_first, j_last = _reach(u, panels, before, first, last)
    for b in range(b_first, b_last):
        for a in range(after):
            column, panel = (b * size + j_first) * after + a, (b * after + a) * rank
            add_small_product(u, j_first, 1, j_last - j_first, panels, panel, rank, out, column, after)


@numba.njit(fastmath=True, cache=True, nogil=True)
def sum_up(v: NDArray[Any], panels: NDArray[Any], before: int, out: NDArray[Any]) -> None:
    """Add ``v[(b, i, a), r] * panels[(b, a), r]`` of all b, a and r to ``out[i]``."""
    rank, size = v.shape[1], out.shape[0]
    after = len(v) // (size * before)
    for b in range(before):
        for a in range(after):
            row, panel = b * size * after + a, (b * after + a) * rank
            add_small_product(v, row, after, size, panels, panel, rank, out, 0, 1)


@numba.njit(fastmath=True, cache=True, nogil=True)
def add_small_product(
    x: NDArray[Any],
    x_row: int,
    x_step: int,
    count: int,
    y: NDArray[Any],
    y_row: int,
    depth: int,
    out: NDArray[Any],
    out_row: int,
    out_step: int,
) -> None:
    """Add to `count` rows of `out` as many rows of x times `depth` rows of y, each from a row on and in steps.

    Four rows and two registers of columns at a time: what is added to stays in registers meanwhile, and every number
    that is read serves several products.
    """
    width, lanes = out.shape[1], lane_count(out)
    tiled, paired, whole = count - count % 4, width - width % (2 * lanes), width - width % lanes
    for t in range(0, tiled, 4):
        x0 = x_row + t * x_step
        x1, x2, x3 = x0 + x_step, x0 + 2 * x_step, x0 + 3 * x_step
        o0 = out_row + t * out_step
        o1, o2, o3 = o0 + out_step, o0 + 2 * out_step, o0 + 3 * out_step
        for k in range(0, paired, 2 * lanes):
            a0, a1, a2, a3 = load(out, o0, k), load(out, o1, k), load(out, o2, k), load(out, o3, k)
            h = k + lanes
            b0, b1, b2, b3 = load(out, o0, h), load(out, o1, h), load(out, o2, h), load(out, o3, h)
            for r in range(depth):
                low, high = load(y, y_row + r, k), load(y, y_row + r, h)
                a0, b0 = plus_scaled(a0, x[x0, r], low), plus_scaled(b0, x[x0, r], high)
                a1, b1 = plus_scaled(a1, x[x1, r], low), plus_scaled(b1, x[x1, r], high)
                a2, b2 = plus_scaled(a2, x[x2, r], low), plus_scaled(b2, x[x2, r], high)
                a3, b3 = plus_scaled(a3, x[x3, r], low), plus_scaled(b3, x[x3, r], high)
            store(out, o0, k, a0)
            store(out, o1, k, a1)
            store(out, o2, k, a2)
            store(out, o3, k, a3)
            store(out, o0, h, b0)
            store(out, o1, h, b1)
            store(out, o2, h, b2)
            store(out, o3, h, b3)
        for k in range(paired, whole, lanes):
            a0, a1, a2, a3 = load(out, o0, k), load(out, o1, k), load(out, o2, k), load(out, o3, k)
            for r in range(depth):
                low = load(y, y_row + r, k)
                a0, a1 = plus_scaled(a0, x[x0, r], low), plus_scaled(a1, x[x1, r], low)
                a2, a3 = plus_scaled(a2, x[x2, r], low), plus_scaled(a3, x[x3, r], low)
            store(out, o0, k, a0)
            store(out, o1, k, a1)
            store(out, o2, k, a2)
            store(out, o3, k, a3)
    for t in range(tiled, count):
        xt, ot = x_row + t * x_step, out_row + t * out_step
        for k in range(0, whole, lanes):
            total = load(out, ot, k)
            for r in range(depth):
                total = plus_scaled(total, x[xt, r], load(y, y_row + r, k))
            store(out, ot, k, total)
    for t in range(count if whole < width else 0):
        xt, ot = x_row + t * x_step, out_row + t * out_step
        for k in range(whole, width):
            number = out[ot, k]
            for r in range(depth):
                number += x[xt, r] * y[y_row + r, k]
            out[ot, k] = number


@numba.njit(fastmath=True, cache=True, nogil=True)
def gather(u: NDArray[Any], panels: NDArray[Any], before: int, first: int, last: int, block: NDArray[Any]) -> None:
    """Add to the panels of a term what the columns from `first` to `last` give."""
    size, rank = u.shape
    if rank == 0:
        return
    after, b_first, b_last, j_first, j_last = _reach(u, panels, before, first, last)
    # So few rows of u and of the block at a time that they stay in the cache while all their products are made.
    for start in range(j_first, j_last, ROWS_AT_A_TIME):
        count = min(ROWS_AT_A_TIME, j_last - start)
        for b in range(b_first, b_last):
            for a in range(after):
                column, panel = (b * size + start) * after + a, (b * after + a) * rank
                _add_crossed(u, start, count, block, column, after, panels, panel)


@numba.njit(fastmath=True, cache=True, nogil=True)
def _add_crossed(
    x: NDArray[Any],
    x_row: int,
    count: int,
    y: NDArray[Any],
    y_row: int,
    y_step: int,
    out: NDArray[Any],
    out_row: int,
) -> None:
    """Add to rows of `out`, one for each column of x, the transposed `count` rows of x times as many rows of y."""
    rank, width, lanes = x.shape[1], out.shape[1], lane_count(out)
    tiled, paired, whole = rank - rank % 4, width - width % (2 * lanes), width - width % lanes
    for r in range(0, tiled, 4):
        o0, o1, o2, o3 = out_row + r, out_row + r + 1, out_row + r + 2, out_row + r + 3
        for k in range(0, paired, 2 * lanes):
            a0, a1, a2, a3 = load(out, o0, k), load(out, o1, k), load(out, o2, k), load(out, o3, k)
            h = k + lanes
            b0, b1, b2, b3 = load(out, o0, h), load(out, o1, h), load(out, o2, h), load(out, o3, h)
            for t in range(count):
                i, c = x_row + t, y_row + t * y_step
                low, high = load(y, c, k), load(y, c, h)
                a0, b0 = plus_scaled(a0, x[i, r], low), plus_scaled(b0, x[i, r], high)
                a1, b1 = plus_scaled(a1, x[i, r + 1], low), plus_scaled(b1, x[i, r + 1], high)
                a2, b2 = plus_scaled(a2, x[i, r + 2], low), plus_scaled(b2, x[i, r + 2], high)
                a3, b3 = plus_scaled(a3, x[i, r + 3], low), plus_scaled(b3, x[i, r + 3], high)
            store(out, o0, k, a0)
            store(out, o1, k, a1)
            store(out, o2, k, a2)
            store(out, o3, k, a3)
            store(out, o0, h, b0)
            store(out, o1, h, b1)
            store(out, o2, h, b2)
            store(out, o3, h, b3)
        for k in range(paired, whole, lanes):
            a0, a1, a2, a3 = load(out, o0, k), load(out, o1, k), load(out, o2, k), load(out, o3, k)
            for t in range(count):
                i, low = x_row + t, load(y, y_row + t * y_step, k)
                a0, a1 = plus_scaled(a0, x[i, r], low), plus_scaled(a1, x[i, r + 1], low)
                a2, a3 = plus_scaled(a2, x[i, r + 2], low), plus_scaled(a3, x[i, r + 3], low)
            store(out, o0, k, a0)
            store(out, o1, k, a1)
            store(out, o2, k, a2)
            store(out, o3, k, a3)
    for r in range(tiled, rank):
        for k in range(0, whole, lanes):
            total = load(out, out_row + r, k)
            for t in range(count):
                total = plus_scaled(total, x[x_row + t, r], load(y, y_row + t * y_step, k))
            store(out, out_row + r, k, total)
    for r in range(rank if whole < width else 0):
        for k in range(whole, width):
            number = out[out_row + r, k]
            for t in range(count):
                number += x[x_row + t, r] * y[y_row + t * y_step, k]
            out[out_row + r, k] = number


@numba.njit(fastmath=True, cache=True, nogil=True)
def combine_rows(
    x: NDArray[Any],
    x_mix: NDArray[Any],
    y: NDArray[Any],
    y_mix: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Put ``x x_mix + y y_mix`` in `out`."""
    (count, width), lanes = out.shape, lane_count(out)
    groups = -(-width // lanes) if width >= lanes else 0
    tiled = count - count % 4 if groups else 0
    for i in range(0, tiled, 4):
        for group in range(groups):
            # The last registers overlap those before, where the width does not fill them.
            k = min(group * lanes, width - lanes)
            a0, a1, a2, a3 = zeros(out), zeros(out), zeros(out), zeros(out)
            for r in range(x.shape[1]):
                row = load(x_mix, r, k)
                a0, a1 = plus_scaled(a0, x[i, r], row), plus_scaled(a1, x[i + 1, r], row)
                a2, a3 = plus_scaled(a2, x[i + 2, r], row), plus_scaled(a3, x[i + 3, r], row)
            for r in range(y.shape[1]):
                row = load(y_mix, r, k)
                a0, a1 = plus_scaled(a0, y[i, r], row), plus_scaled(a1, y[i + 1, r], row)
                a2, a3 = plus_scaled(a2, y[i + 2, r], row), plus_scaled(a3, y[i + 3, r], row)
            store(out, i, k, a0)
            store(out, i + 1, k, a1)
            store(out, i + 2, k, a2)
            store(out, i + 3, k, a3)
    for i in range(tiled, count):
        for k in range(width):
            number = x[i, 0] * x_mix[0, k]
            for r in range(1, x.shape[1]):
                number += x[i, r] * x_mix[r, k]
            for r in range(y.shape[1]):
                number += y[i, r] * y_mix[r, k]
            out[i, k] = number


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
