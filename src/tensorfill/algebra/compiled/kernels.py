"""Compiled loops over the observed entries and over the columns of an unfolding.

The entries are sorted in C order, and the loops of all modes use the same residual array. A loop runs over the entries
``runs[q, 0]`` to ``runs[q, 1]`` for each q. numba compiles a loop at its first call and caches it on disk. The loops
release the interpreter's lock, so other threads run meanwhile. Functions import this module only when they call it, so
fits of small tensors, which are stored densely, do not wait for numba.

A term of a sum is ``(u, panels, before)``: the columns of the unfolding are an array (before, rows of u, after), and
the term's part of the column (b, j, a) is

    sum over r of u[j, r] * panels[(b, a), r],

with one row of `panels` for each (b, a, r); the columns of `panels` are those of a block. See `crossmode`.
"""

from __future__ import annotations

from typing import Any

import numba
from numpy.typing import NDArray

from .simd import lane_count, load, number, plus_scaled, store

ROWS_AT_A_TIME = 128
"""The rows of a term that are read together; all their products are computed before the next rows are read."""

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

    With the rows of an unfolding S as sources and its columns as targets this computes ``S^T block``, and with the two
    exchanged ``S block``.
    """
    width, lanes = block.shape[1], lane_count(block)
    if width == 2 * lanes:
        # The usual width fits in two registers; this is twice as fast as the loop below.
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
    """Add the product X Y to `count` rows of `out`, with X of shape (count, depth) and Y made of `depth` rows of y.

    The numbers of X are in the flat array x, from `x_first` on: `x_down` apart between rows and `x_along` apart within
    a row. The rows of Y start at `y_first` and are `y_step` apart, those of the result start at `out_first` and are
    `out_step` apart. The loop works on tiles of four rows and two registers of columns. A tile stays in registers while
    it is summed, and every number that is read serves several products.
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
    # The rows beyond a multiple of four, and the columns beyond whole registers.
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
    """Add a term to the columns `first` to `last` of a block; inward, add what these columns contribute to the panels.

    The range covers whole indices of the leading mode. If `before` is 1, the leading mode is that of the rows of u, and
    the range selects some of these rows. Otherwise the range selects some of the places before them, and all rows of u
    are used.
    """
    size, rank = u.shape
    if rank == 0:
        return
    one = min(1, rank)  # a literal 1 would make numba compile `add_product` again for each call that has one
    after = panels.shape[0] // (before * rank)
    b_first, b_last, j_first, j_last = first // (size * after), last // (size * after), 0, size
    if before == 1:
        b_first, b_last, j_first, j_last = 0, 1, first // after, last // after
    # A few rows of u and of the block at a time stay in the cache while all their products are computed.
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
    """Add the sum over b, a and r of ``v[(b, i, a), r] * panels[(b, a), r]`` to ``out[i]``."""
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
    """Multiply with an unfolding, a sum of terms and a sparse matrix S, one piece of its columns after the other.

    Outward, `out` becomes ``unfold^T given``, computed from the panels of the terms and from S, with the rows of S as
    sources. Inward, ``S given`` is added to `out`, with the columns of S as sources, and the columns' contributions to
    ``unfold given`` are added to the panels. Piece q has the columns ``pieces[q, 0]`` to ``pieces[q, 1]`` and the runs
    ``bounds[q]`` to ``bounds[q + 1]``.
    """
    for q in range(pieces.shape[0]):
        first, last = pieces[q, 0], pieces[q, 1]
        if not inward:
            out[first:last] = 0
        for u, panels, before in terms:
            walk_term(inward, u, panels, before, first, last, given if inward else out)
        add_products(sources, targets, values, given, runs[bounds[q] : bounds[q + 1]], out)
