"""Compiled normal equations of the Tucker model over the observed entries.

In C order, an entry shares most of its coordinates with the entry before it. So the parts that depend only on the first
coordinates are computed once for all entries that share them. With x_p = kron(a_1, a_2, a_3) for order 3,

    sum_p x_p x_p^T = sum_i (a_1 a_1^T) kron sum_j (a_2 a_2^T) kron sum_k (a_3 a_3^T),

which costs r^2 for an entry, (r^2)^2 for a fibre and (r^3)^2 for a slice, while a sum over single entries costs (r^3)^2
for each entry. Each a a^T is symmetric, so the sum is symmetric in the two indices of each mode, and only the
h = r (r + 1) / 2 pairs (k, m) with m <= k are stored for each mode.

Loops over the last mode of what is summed work on whole SIMD registers, so this mode is padded with zeros.

The factors are one flat array: row i of factor m is ``flat[starts[m] + i * ranks[m]:][:ranks[m]]``. Part l, a block of
the core contracted with the rows of the first l modes, goes from ``bounds[l]`` to ``bounds[l + 1]``. A loop runs over
the entries `first` to `last`. If several threads share the entries, each of them adds to separate arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled
from .simd import lane_count, load, nothing, number, plus_scaled, store


@compiled()
def first_change(coords: NDArray[Any], p: int) -> int:
    """Return the first mode in which entry p differs from entry p - 1, or the number of modes if none differs."""
    for mode in range(coords.shape[1]):
        if coords[p, mode] != coords[p - 1, mode]:
            return mode
    return int(coords.shape[1])


@compiled(fastmath=True)
def add_scaled(scale: float, sums: NDArray[Any], source: int, target: int, length: int) -> None:
    """Add `scale` times `length` numbers of ``sums[0]``, from `source` on, to those from `target` on."""
    for x in range(0, length, lane_count(sums)):
        store(sums, 0, target + x, plus_scaled(load(sums, 0, target + x), scale, load(sums, 0, source + x)))


@compiled(fastmath=True)
def core_normal_equations(
    coords: NDArray[Any],
    values: NDArray[Any],
    flat: NDArray[Any],
    starts: NDArray[Any],
    ranks: NDArray[Any],
    first: int,
    last: int,
    features: NDArray[Any],
    pairs: NDArray[Any],
    gram_bounds: NDArray[Any],
    sum_bounds: NDArray[Any],
    gram: NDArray[Any],
    total: NDArray[Any],
) -> None:
    """Add ``sum_p x_p x_p^T`` and ``sum_p o_p x_p``, where ``x_p = kron(a_1[i_1], a_2[i_2], ..)`` for entry p.

    The rows of the last factor are in `features` and their pairs in `pairs`, both padded to whole registers. The result
    is in the first h_1 * h_2 * .. places of ``gram[0]``, with the pairs of mode 1 running slowest, and in the first
    r_1 * r_2 * .. places of ``total[0]``. The other places hold the sums over the modes l, l + 1, .., which start at
    ``gram_bounds[l]`` and ``sum_bounds[l]``.
    """
    lowest, lanes = len(ranks) - 1, lane_count(gram)
    inner_gram, inner_sum = gram_bounds[lowest], sum_bounds[lowest]
    # Level l holds the sums over the modes l, l + 1, .. of the entries that share their first l coordinates.
    for p in range(first, last):
        i, value = coords[p, lowest], values[p]
        for x in range(0, pairs.shape[1], lanes):
            store(gram, 0, inner_gram + x, plus_scaled(load(gram, 0, inner_gram + x), 1.0, load(pairs, i, x)))
        for x in range(0, features.shape[1], lanes):
            store(total, 0, inner_sum + x, plus_scaled(load(total, 0, inner_sum + x), value, load(features, i, x)))
        done = 0 if p + 1 == last else first_change(coords, p + 1)
        for level in range(lowest, done, -1):
            start = starts[level - 1] + coords[p, level - 1] * ranks[level - 1]
            g, h = gram_bounds[level], sum_bounds[level]
            pair, feature = gram_bounds[level - 1], sum_bounds[level - 1]
            pair_size, size = gram_bounds[level + 1] - g, sum_bounds[level + 1] - h
            for k in range(start, start + ranks[level - 1]):
                a = number(flat, k)
                add_scaled(a, total, h, feature, size)
                feature += size
                for m in range(start, k + 1):
                    add_scaled(a * number(flat, m), gram, g, pair, pair_size)
                    pair += pair_size
            for x in range(0, pair_size, lanes):
                store(gram, 0, g + x, nothing(gram))
            for x in range(0, size, lanes):
                store(total, 0, h + x, nothing(total))


@compiled(fastmath=True, inline="always")
def contract(
    parts: NDArray[Any],
    bounds: NDArray[Any],
    coords: NDArray[Any],
    p: int,
    begin: int,
    end: int,
    flat: NDArray[Any],
    starts: NDArray[Any],
    ranks: NDArray[Any],
) -> None:
    """Contract a block with the rows of entry p from mode `begin` to `end`, given the parts before."""
    for mode in range(begin, end):
        before, after, size = bounds[mode], bounds[mode + 1], bounds[mode + 2] - bounds[mode + 1]
        start = starts[mode] + coords[p, mode] * ranks[mode]
        for x in range(size):
            parts[after + x] = flat[start] * parts[before + x]
        for k in range(1, ranks[mode]):
            for x in range(size):
                parts[after + x] += flat[start + k] * parts[before + k * size + x]


@compiled(fastmath=True)
def row_normal_equations(
    rows: NDArray[Any],
    groups: NDArray[Any],
    coords: NDArray[Any],
    values: NDArray[Any],
    core: NDArray[Any],
    flat: NDArray[Any],
    starts: NDArray[Any],
    ranks: NDArray[Any],
    bounds: NDArray[Any],
    first: int,
    last: int,
    rank: int,
    sums: NDArray[Any],
) -> None:
    """Add ``w_p w_p^T`` and ``o_p w_p`` of every entry p to the sums of its row i.

    The feature w_p is block ``groups[p]`` of the core, contracted with the row of each other factor. The block b of the
    core has its mode d last, padded to whole registers, and follows block b - 1 in the rows of `core`.
    `coords`, `starts` and `ranks` are those of the other modes. The sums of row i are ``rank + 1`` rows of `sums`: the
    matrix, and then the vector.
    """
    order, width, lanes = len(ranks), core.shape[1], lane_count(core)
    block, w = bounds[1], bounds[order]
    parts = np.empty((bounds[order + 1], width))
    for p in range(first, last):
        fresh = p == first or groups[p] != groups[p - 1]
        if fresh:
            for x in range(block):
                for c in range(width):
                    parts[x, c] = core[groups[p] * block + x, c]
        for mode in range(0 if fresh else first_change(coords, p), order):
            before, after, size = bounds[mode], bounds[mode + 1], bounds[mode + 2] - bounds[mode + 1]
            start = starts[mode] + coords[p, mode] * ranks[mode]
            for x in range(size):
                for c in range(0, width, lanes):
                    part = nothing(parts)
                    for k in range(ranks[mode]):
                        part = plus_scaled(part, number(flat, start + k), load(parts, before + k * size + x, c))
                    store(parts, after + x, c, part)
        i = rows[p] * (rank + 1)
        for c in range(0, width, lanes):
            feature = load(parts, w, c)
            for k in range(rank):
                store(sums, i + k, c, plus_scaled(load(sums, i + k, c), number(parts, w * width + k), feature))
            store(sums, i + rank, c, plus_scaled(load(sums, i + rank, c), values[p], feature))


@compiled(fastmath=True)
def values_at(
    coords: NDArray[Any],
    groups: NDArray[Any],
    core: NDArray[Any],
    flat: NDArray[Any],
    starts: NDArray[Any],
    ranks: NDArray[Any],
    bounds: NDArray[Any],
    first: int,
    last: int,
    out: NDArray[Any],
) -> None:
    """Set ``out[p]`` to block ``groups[p]`` of the core, contracted with the row of every factor.

    `core` has shape (groups, size of a block). What depends only on the first coordinates is computed once for all
    consecutive entries that share them: in C order, an entry costs about one rank.
    """
    lowest, block = len(ranks) - 1, core.shape[1]
    parts = np.empty(bounds[lowest + 1])
    for p in range(first, last):
        fresh = p == first or groups[p] != groups[p - 1]
        if fresh:
            for x in range(block):
                parts[x] = core[groups[p], x]
        contract(parts, bounds, coords, p, 0 if fresh else first_change(coords, p), lowest, flat, starts, ranks)
        start, part, value = starts[lowest] + coords[p, lowest] * ranks[lowest], bounds[lowest], 0.0
        for k in range(ranks[lowest]):
            value += flat[start + k] * parts[part + k]
        out[p] = value


@compiled(fastmath=True)
def add_to_core(
    coords: NDArray[Any],
    groups: NDArray[Any],
    values: NDArray[Any],
    flat: NDArray[Any],
    starts: NDArray[Any],
    ranks: NDArray[Any],
    bounds: NDArray[Any],
    first: int,
    last: int,
    out: NDArray[Any],
) -> None:
    """Add ``values[p] * kron(a_1[i_1], a_2[i_2], ..)`` to ``out[groups[p]]`` for every entry p.

    This is the transpose of `values_at`.
    """
    # Level l holds the sums over the modes l, l + 1, .. of the entries that share their first l coordinates.
    lowest = len(ranks) - 1
    sums = np.zeros(bounds[lowest + 1])
    for p in range(first, last):
        start = starts[lowest] + coords[p, lowest] * ranks[lowest]
        for k in range(ranks[lowest]):
            sums[bounds[lowest] + k] += values[p] * flat[start + k]
        ends = p + 1 == last or groups[p + 1] != groups[p]
        done = 0 if ends else first_change(coords, p + 1)
        for level in range(lowest, done, -1):
            mode = level - 1
            start, size = starts[mode] + coords[p, mode] * ranks[mode], bounds[level + 1] - bounds[level]
            for k in range(ranks[mode]):
                a = flat[start + k]
                for x in range(size):
                    sums[bounds[mode] + k * size + x] += a * sums[bounds[level] + x]
            for x in range(size):
                sums[bounds[level] + x] = 0.0
        if ends:
            for x in range(bounds[1]):
                out[groups[p], x] += sums[x]
                sums[x] = 0.0
