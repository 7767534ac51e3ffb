"""Compiled loops over the observed entries and over the columns of an unfolding.

The entries are sorted in C order, and the loops of all modes use the same residual array. A loop runs over the entries
``runs[q, 0]`` to ``runs[q, 1]`` for each q. numba compiles a loop at its first call and caches it on disk. The loops
release the interpreter lock, so other threads can run. Functions import this module only when they call it, so
fits of small tensors, which are stored densely, do not wait for numba.

A term of a sum is ``(u, panels, before)``: the columns of the unfolding are an array (before, rows of u, after), and
the term's part of the column (b, j, a) is

    sum over r of u[j, r] * panels[(b, a), r],

with one row of `panels` for each (b, a, r); the columns of `panels` are those of a block. See `crossmode`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled
from .simd import lane_count, lane_sum, load, nothing, number, plus, plus_product, plus_scaled, store

ROWS_AT_A_TIME = 128
"""The rows of a term that are read together; all their products are computed before the next rows are read."""

Term = tuple[NDArray[Any], NDArray[Any], int]
"""``(u, panels, before)``."""


@compiled(fastmath=True)
def add_entries(
    rows: NDArray[Any],
    cols: NDArray[Any],
    u: NDArray[Any],
    v: NDArray[Any],
    runs: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Add ``(u v^T)[row, col]`` of every entry to `out`; this is Algorithm 1 of the paper for one mode.

    If the rows of u fill two registers, they are those of `pattern.in_registers`: the second register of a row of v
    ends with the row, and u has zeros for the numbers that it shares with the first.
    """
    rank, lanes = v.shape[1], lane_count(v)
    # Indices that may be negative would be tested in every pass; with unsigned ones the loop is a third faster.
    if lanes < rank <= 2 * lanes:
        last = rank - lanes
        for q in range(runs.shape[0]):
            for p in range(np.uint64(runs[q, 0]), np.uint64(runs[q, 1])):
                i, c = rows[p], cols[p]
                sums = plus_product(nothing(v), load(u, i, 0), load(v, c, 0))
                out[p] += lane_sum(plus_product(sums, load(u, i, lanes), load(v, c, last)))
        return
    for q in range(runs.shape[0]):
        for p in range(np.uint64(runs[q, 0]), np.uint64(runs[q, 1])):
            i, c = rows[p], cols[p]
            total = out[p]
            for k in range(np.uint64(rank)):
                total += u[i, k] * v[c, k]
            out[p] = total


@compiled(inline="always")
def ends(inward: bool, row: int, column: int) -> tuple[Any, Any]:
    """Return the row and the column of an entry; inward, the column and the row."""
    return (np.uint64(column), np.uint64(row)) if inward else (np.uint64(row), np.uint64(column))


@compiled(fastmath=True)
def add_products(
    inward: bool,
    rows: NDArray[Any],
    cols: NDArray[Any],
    values: NDArray[Any],
    block: NDArray[Any],
    runs: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Add ``value * block[row]`` of every entry to ``out[column]``; inward, ``value * block[column]`` to ``out[row]``.

    For an unfolding S this is ``S^T block``, and inward ``S block``.
    """
    width, lanes = block.shape[1], lane_count(block)
    # The usual widths fit in one or two registers, which is twice as fast as the loop below.
    if width == lanes:
        for q in range(runs.shape[0]):
            for p in range(np.uint64(runs[q, 0]), np.uint64(runs[q, 1])):
                i, c = ends(inward, rows[p], cols[p])
                value = values[p]
                store(out, c, 0, plus_scaled(load(out, c, 0), value, load(block, i, 0)))
        return
    if width == 2 * lanes:
        for q in range(runs.shape[0]):
            for p in range(np.uint64(runs[q, 0]), np.uint64(runs[q, 1])):
                i, c = ends(inward, rows[p], cols[p])
                value = values[p]
                store(out, c, 0, plus_scaled(load(out, c, 0), value, load(block, i, 0)))
                store(out, c, lanes, plus_scaled(load(out, c, lanes), value, load(block, i, lanes)))
        return
    for q in range(runs.shape[0]):
        for p in range(np.uint64(runs[q, 0]), np.uint64(runs[q, 1])):
            i, c = ends(inward, rows[p], cols[p])
            value = values[p]
            for k in range(width):
                out[c, k] += value * block[i, k]


@compiled(fastmath=True)
def add_in_turns(
    inward: bool,
    rows: NDArray[Any],
    cols: NDArray[Any],
    values: NDArray[Any],
    block: NDArray[Any],
    runs: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Do the same as `add_products` for two registers and consecutive entries that often have the same target.

    Each of them would wait until the previous one is stored. So the entries of the two halves of a run alternate.
    """
    lanes = lane_count(block)
    for q in range(runs.shape[0]):
        first, half = runs[q, 0], (runs[q, 1] - runs[q, 0]) // 2
        middle = first + half
        near_rows, near_cols, near_values = rows[first:], cols[first:], values[first:]
        far_rows, far_cols, far_values = rows[middle:], cols[middle:], values[middle:]
        for p in range(np.uint64(half)):
            i, c = ends(inward, near_rows[p], near_cols[p])
            value = near_values[p]
            store(out, c, 0, plus_scaled(load(out, c, 0), value, load(block, i, 0)))
            store(out, c, lanes, plus_scaled(load(out, c, lanes), value, load(block, i, lanes)))
            i, c = ends(inward, far_rows[p], far_cols[p])
            value = far_values[p]
            store(out, c, 0, plus_scaled(load(out, c, 0), value, load(block, i, 0)))
            store(out, c, lanes, plus_scaled(load(out, c, lanes), value, load(block, i, lanes)))
        for p in range(np.uint64(middle + half), np.uint64(runs[q, 1])):
            i, c = ends(inward, rows[p], cols[p])
            for k in range(np.uint64(2 * lanes)):
                out[c, k] += values[p] * block[i, k]


@compiled(fastmath=True)
def add_sums(
    rows: NDArray[Any],
    cols: NDArray[Any],
    values: NDArray[Any],
    block: NDArray[Any],
    runs: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Do the same as `add_products` inward, for runs whose entries are all in the same row.

    The sum of a run stays in registers. `add_products` would wait at every entry until the previous one is stored.
    """
    width, lanes = block.shape[1], lane_count(block)
    paired, whole = width - width % (2 * lanes), width - width % lanes
    for q in range(runs.shape[0]):
        first, last = runs[q, 0], runs[q, 1]
        i = rows[first]
        for k in range(0, paired, 2 * lanes):
            low, high = load(out, i, k), load(out, i, k + lanes)
            for p in range(first, last):
                c, value = cols[p], values[p]
                low = plus_scaled(low, value, load(block, c, k))
                high = plus_scaled(high, value, load(block, c, k + lanes))
            store(out, i, k, low)
            store(out, i, k + lanes, high)
        for k in range(paired, whole, lanes):
            total = load(out, i, k)
            for p in range(first, last):
                total = plus_scaled(total, values[p], load(block, cols[p], k))
            store(out, i, k, total)
        for p in range(first, last):
            for k in range(whole, width):
                out[i, k] += values[p] * block[cols[p], k]


@compiled(fastmath=True)
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

    The numbers of X are in the array x, read in C order from `x_first` on: `x_down` apart between rows and `x_along`
    apart within a row. The rows of Y start at `y_first` and are `y_step` apart, those of the result start at
    `out_first` and are `out_step` apart. The loop works on tiles of four rows and two registers of columns. A tile
    stays in registers while it is summed, and every number that is read is used in several products.
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
    # The rows beyond a multiple of four. Each has two sums, because additions to a single sum would wait for each
    # other.
    half = depth // 2
    for t in range(tiled, count):
        x0, o = x_first + t * x_down, out_first + t * out_step
        for k in range(0, whole, 2 * lanes):
            h = min(k + lanes, whole - lanes)  # the same register twice, if only one is left
            a0, b0, a1, b1 = load(out, o, k), load(out, o, h), nothing(out), nothing(out)
            for r in range(half):
                at, row = x0 + r * x_along, y_first + r * y_step
                a0 = plus_scaled(a0, number(x, at), load(y, row, k))
                b0 = plus_scaled(b0, number(x, at), load(y, row, h))
                at, row = at + half * x_along, row + half * y_step
                a1 = plus_scaled(a1, number(x, at), load(y, row, k))
                b1 = plus_scaled(b1, number(x, at), load(y, row, h))
            for r in range(2 * half, depth):
                at, row = x0 + r * x_along, y_first + r * y_step
                a0 = plus_scaled(a0, number(x, at), load(y, row, k))
                b0 = plus_scaled(b0, number(x, at), load(y, row, h))
            store(out, o, k, plus(a0, a1))
            store(out, o, h, plus(b0, b1))
    # The columns beyond whole registers.
    for t in range(count if whole < width else 0):
        x0, o = x_first + t * x_down, out_first + t * out_step
        for k in range(whole, width):
            single = out[o, k]
            for r in range(depth):
                single += number(x, x0 + r * x_along) * y[y_first + r * y_step, k]
            out[o, k] = single


@compiled(fastmath=True)
def walk_term(
    inward: bool, u: NDArray[Any], panels: NDArray[Any], before: int, first: int, last: int, block: NDArray[Any]
) -> None:
    """Add a term to the columns `first` to `last` of a block; inward, add their contribution to the panels.

    The range covers whole indices of the leading mode. If `before` is 1, the leading mode is that of the rows of u, and
    the range selects some of these rows. Otherwise the range selects some of the places before them, and all rows of u
    are used.
    """
    size, rank = u.shape
    if rank == 0:
        return
    after = panels.shape[0] // (before * rank)
    b_first, b_last, j_first, j_last = first // (size * after), last // (size * after), 0, size
    if before == 1:
        b_first, b_last, j_first, j_last = 0, 1, first // after, last // after
    # There is one call for both directions, because the whole product is compiled again with each call.
    given, sums = (block, panels) if inward else (panels, block)
    u_down, u_along = (1, rank) if inward else (rank, 1)
    step, sums_step = (after, 1) if inward else (1, after)
    # A few rows of u and of the block at a time stay in the cache while all their products are computed.
    for start in range(j_first, j_last, ROWS_AT_A_TIME):
        rows = min(ROWS_AT_A_TIME, j_last - start)
        count, depth = (rank, rows) if inward else (rows, rank)
        for b in range(b_first, b_last):
            for a in range(after):
                column, panel = (b * size + start) * after + a, (b * after + a) * rank
                at, sums_at = (column, panel) if inward else (panel, column)
                add_product(u, start * rank, u_down, u_along, given, at, step, sums, sums_at, sums_step, count, depth)


@compiled(fastmath=True)
def contract(inward: bool, v: NDArray[Any], a: NDArray[Any], before: int, panels: NDArray[Any]) -> None:
    """Add the sum over i of ``v[(b, i, a), r] * a[i]`` to ``panels[(b, a), r]``.

    Inward, add the sum over b, a and r of ``v[(b, i, a), r] * panels[(b, a), r]`` to ``a[i]``.
    """
    size, row = a.shape[0], panels.shape[0] // before
    one = min(1, size)  # a literal would make numba compile `add_product` again
    given, sums = (panels, a) if inward else (a, panels)
    v_down, v_along = (row, 1) if inward else (1, row)
    count, depth = (size, row) if inward else (row, size)
    for b in range(before):
        at, sums_at = (b * row, 0) if inward else (0, b * row)
        add_product(v, b * size * row, v_down, v_along, given, at, one, sums, sums_at, one, count, depth)


@compiled(fastmath=True)
def add_gram(block: NDArray[Any], first: int, last: int, gram: NDArray[Any]) -> None:
    """Add the Gram matrix of the rows `first` to `last` of a block to `gram`.

    Rows are summed a few at a time: one long sum would lose two digits of single precision.
    """
    width = block.shape[1]
    one, zero = min(1, width), min(0, width)  # literals would make numba compile `add_product` again
    part = np.empty_like(gram)
    for start in range(first, last, ROWS_AT_A_TIME):
        at, count = start * width, min(ROWS_AT_A_TIME, last - start)
        for k in range(width):
            for m in range(width):
                part[k, m] = 0
        add_product(block, at, one, width, block, start, one, part, zero, one, width, count)
        for k in range(width):
            for m in range(width):
                gram[k, m] += part[k, m]


@compiled(fastmath=True)
def walk_columns(
    outward: bool,
    is_first: bool,
    is_last: bool,
    outward_terms: tuple[Term, ...],
    inward_terms: tuple[Term, ...],
    rows: NDArray[Any],
    cols: NDArray[Any],
    values: NDArray[Any],
    pieces: NDArray[Any],
    bounds: NDArray[Any],
    runs: NDArray[Any],
    a: NDArray[Any],
    block: NDArray[Any],
    gram: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Multiply with an unfolding, a sum of terms and a sparse matrix, one piece of its columns after the other.

    Outward, `block` becomes ``unfold^T a``, and ``block^T block`` is added to `gram`; otherwise the block is given.
    Then the contributions of the block to ``unfold block`` are added to the panels of `inward_terms`, and to `out`. A
    piece serves all these products while it is in the cache. Piece q has the columns ``pieces[q, 0]`` to
    ``pieces[q, 1]`` and the runs ``bounds[q]`` to ``bounds[q + 1]``.

    Entries are in C order. So if the mode `is_first`, all entries of a run are in one row; if it `is_last`, neighbours
    share their column, and otherwise often their row.
    """
    # Literals would make numba compile `walk_term` once for each.
    paired = block.shape[1] == 2 * lane_count(block)
    no, yes = pieces.shape[0] < 0, pieces.shape[0] >= 0
    for q in range(pieces.shape[0]):
        first, last, entries = pieces[q, 0], pieces[q, 1], runs[bounds[q] : bounds[q + 1]]
        if outward:
            for c in range(first, last):
                for k in range(block.shape[1]):
                    block[c, k] = 0
            for u, panels, before in outward_terms:
                walk_term(no, u, panels, before, first, last, block)
            if is_last and paired:
                add_in_turns(no, rows, cols, values, a, entries, block)
            else:
                add_products(no, rows, cols, values, a, entries, block)
            add_gram(block, first, last, gram)
        for u, panels, before in inward_terms:
            walk_term(yes, u, panels, before, first, last, block)
        if is_first:
            add_sums(rows, cols, values, block, entries, out)
        elif is_last or not paired:
            add_products(yes, rows, cols, values, block, entries, out)
        else:
            add_in_turns(yes, rows, cols, values, block, entries, out)
