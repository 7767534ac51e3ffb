"""Compiled loops over the observed entries and over the columns of an unfolding.

The entries are sorted in C order, and every loop walks them with one residual array, whatever the mode. What it walks
is given as `runs`: the entries ``runs[q, 0]`` to ``runs[q, 1]`` for each q. numba compiles a loop at its first call and
keeps it on disk; while one runs, other threads of Python go on. This module is imported by the functions that call it,
so that who fits small tensors, which are stored densely, does not wait for numba.

A term of a sum, seen from the mode of an unfolding, is ``(u, panels, before)``: the columns are the places of an array
(before, rows of u, after), and the part of the column (b, j, a) is

    sum over r of u[j, r] * panels[(b, a), r],

with one row of `panels` for each (b, a, r), and in it the columns of a block; see `crossmode`.
"""

from __future__ import annotations

from typing import Any

import numba
from numpy.typing import NDArray

from .lanes import lane_count, load, number, plus_scaled, store

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
def add_product(
    x: NDArray[Any],
    x_first: int,
    x_down: int,
    x_along: int,
    y: NDArray[Any],
    y_first: int,
    y_step: int,
    out: NDArray[Any],
    out_first: int,
    out_step: int,
    count: int,
    depth: int,
) -> None:
    """Add to `count` rows of `out` a matrix X of so many rows and `depth` columns, times as many rows of y.

    X has its numbers in the flat array x: `x_down` apart from one row to the next, and `x_along` within a row. The rows
    of y and of `out` begin with the given one and are a step apart. Four rows and two registers of columns are added to
    at a time, which stay in registers meanwhile, and every number that is read serves several products.
    """
    width, lanes = out.shape[1], lane_count(out)
    tiled, paired, whole = count - count % 4, width - width % (2 * lanes), width - width % lanes
    for t in range(0, tiled, 4):
        x0 = x_first + t * x_down
        o0 = out_first + t * out_step
        o1, o2, o3 = o0 + out_step, o0 + 2 * out_step, o0 + 3 * out_step
        for k in range(0, paired, 2 * lanes):
            h = k + lanes
            a0, a1, a2, a3 = load(out, o0, k), load(out, o1, k), load(out, o2, k), load(out, o3, k)
            b0, b1, b2, b3 = load(out, o0, h), load(out, o1, h), load(out, o2, h), load(out, o3, h)
            for r in range(depth):
                at, row = x0 + r * x_along, y_first + r * y_step
                low, high = load(y, row, k), load(y, row, h)
                a0, b0 = plus_scaled(a0, number(x, at), low), plus_scaled(b0, number(x, at), high)
                at += x_down
                a1, b1 = plus_scaled(a1, number(x, at), low), plus_scaled(b1, number(x, at), high)
                at += x_down
                a2, b2 = plus_scaled(a2, number(x, at), low), plus_scaled(b2, number(x, at), high)
                at += x_down
                a3, b3 = plus_scaled(a3, number(x, at), low), plus_scaled(b3, number(x, at), high)
            store(out, o0, k, a0)
            store(out, o1, k, a1)
            store(out, o2, k, a2)
            store(out, o3, k, a3)
            store(out, o0, h, b0)
            store(out, o1, h, b1)
            store(out, o2, h, b2)
            store(out, o3, h, b3)
        if paired < whole:
            k = paired
            a0, a1, a2, a3 = load(out, o0, k), load(out, o1, k), load(out, o2, k), load(out, o3, k)
            for r in range(depth):
                at, low = x0 + r * x_along, load(y, y_first + r * y_step, k)
                a0, a1 = plus_scaled(a0, number(x, at), low), plus_scaled(a1, number(x, at + x_down), low)
                at += 2 * x_down
                a2, a3 = plus_scaled(a2, number(x, at), low), plus_scaled(a3, number(x, at + x_down), low)
            store(out, o0, k, a0)
            store(out, o1, k, a1)
            store(out, o2, k, a2)
            store(out, o3, k, a3)
    # What four rows, or whole registers, leave over.
    for t in range(count):
        x0, o = x_first + t * x_down, out_first + t * out_step
        for k in range(whole if t < tiled else 0, whole, lanes):
            total = load(out, o, k)
            for r in range(depth):
                total = plus_scaled(total, number(x, x0 + r * x_along), load(y, y_first + r * y_step, k))
            store(out, o, k, total)
        for k in range(whole, width):
            single = out[o, k]
            for r in range(depth):
                single += number(x, x0 + r * x_along) * y[y_first + r * y_step, k]
            out[o, k] = single


@numba.njit(fastmath=True, cache=True, nogil=True)
def walk_term(
    inward: bool, u: NDArray[Any], panels: NDArray[Any], before: int, first: int, last: int, block: NDArray[Any]
) -> None:
    """Add a term to the columns of a block from `first` to `last`; inward, what these columns give to the panels.

    The range has whole indices of the leading mode. That is where the rows of u are, if nothing comes before them; else
    it is in what comes before them, and all the rows of u are reached.
    """
    size, rank = u.shape
    if rank == 0:
        return
    one = min(1, rank)  # written out, it would have `add_product` compiled anew for every place where it is
    after = panels.shape[0] // (before * rank)
    b_first, b_last, j_first, j_last = first // (size * after), last // (size * after), 0, size
    if before == 1:
        b_first, b_last, j_first, j_last = 0, 1, first // after, last // after
    # So few rows of u and of the block at a time that they stay in the cache while all their products are made.
    for start in range(j_first, j_last, ROWS_AT_A_TIME):
        count = min(ROWS_AT_A_TIME, j_last - start)
        for b in range(b_first, b_last):
            for a in range(after):
                column, panel, at = (b * size + start) * after + a, (b * after + a) * rank, start * rank
                if inward:
                    add_product(u.reshape(-1), at, one, rank, block, column, after, panels, panel, one, rank, count)
                else:
                    add_product(u.reshape(-1), at, rank, one, panels, panel, one, block, column, after, count, rank)


@numba.njit(fastmath=True, cache=True, nogil=True)
def sum_up(v: NDArray[Any], panels: NDArray[Any], before: int, out: NDArray[Any]) -> None:
    """Add ``v[(b, i, a), r] * panels[(b, a), r]`` of all b, a and r to ``out[i]``."""
    rank, size = v.shape[1], out.shape[0]
    one, zero = min(1, rank), min(0, rank)
    after = len(v) // (size * before)
    for b in range(before):
        for a in range(after):
            row, panel = b * size * after + a, (b * after + a) * rank
            add_product(v.reshape(-1), row * rank, after * rank, one, panels, panel, one, out, zero, one, size, rank)


@numba.njit(fastmath=True, cache=True, nogil=True)
def walk_columns(
    inward: bool,
    terms: tuple[Term, ...],
    sources: NDArray[Any],
    targets: NDArray[Any],
    values: NDArray[Any],
    given: NDArray[Any],
    pieces: NDArray[Any],
    bounds: NDArray[Any],
    runs: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Walk the columns of an unfolding, a sum of terms and a sparse matrix S, piece by piece.

    Outward, `out` gets the columns of ``unfold^T given``, from the panels of the terms and with the rows of S as
    sources. Inward, the panels get what the columns of ``unfold given`` give to them, and `out` gets ``S given``, with
    the columns of S as sources. The q-th piece has the columns ``pieces[q, 0]`` to ``pieces[q, 1]`` and the runs
    ``bounds[q]`` to ``bounds[q + 1]``.
    """
    for q in range(pieces.shape[0]):
        first, last = pieces[q, 0], pieces[q, 1]
        if not inward:
            out[first:last] = 0
        for u, panels, before in terms:
            walk_term(inward, u, panels, before, first, last, given if inward else out)
        add_products(sources, targets, values, given, runs[bounds[q] : bounds[q + 1]], out)
