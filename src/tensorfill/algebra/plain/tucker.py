"""`compiled.tucker` in NumPy, for few entries.

Level l has one row for each run of entries that share their group and their first l coordinates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._support.types import Floats, Integers
from .grouping import factor_rows, grams_by_group, products_by_run


def core_normal_equations(
    coords: Integers,
    values: Floats,
    flat: Floats,
    starts: Integers,
    ranks: Integers,
    first: int,
    last: int,
    features: Floats,
    pairs: Floats,
    gram_bounds: Integers,
    sum_bounds: Integers,
    gram: Floats,
    total: Floats,
) -> None:
    """Add ``sum_p x_p x_p^T`` and ``sum_p o_p x_p``, where ``x_p = kron(a_1[i_1], a_2[i_2], ..)`` for entry p."""
    if first == last:
        return
    index, lowest = coords[first:last], len(ranks) - 1
    levels, within = _levels(index[:, :lowest]), ranks[lowest] * (ranks[lowest] + 1) // 2
    grams = np.take(pairs[:, :within], index[:, lowest], axis=0, mode="clip")
    sums = values[first:last, None] * np.take(features[:, : ranks[lowest]], index[:, lowest], axis=0, mode="clip")
    grams, sums = (np.add.reduceat(each, levels[lowest].starts) for each in (grams, sums))
    for level in range(lowest, 0, -1):
        here = levels[level]
        a = factor_rows(flat, starts[level - 1], ranks[level - 1], index[here.starts, level - 1])
        k, m = np.tril_indices(ranks[level - 1])
        edges = np.append(here.labels[levels[level - 1].starts], len(a))
        grams = products_by_run(a[:, k] * a[:, m], grams, edges).reshape(len(edges) - 1, -1)
        sums = products_by_run(a, sums, edges).reshape(len(edges) - 1, -1)
    # The last mode of the results is padded.
    gram[0, : gram_bounds[1]].reshape(-1, pairs.shape[1])[:, :within] += grams.reshape(-1, within)
    total[0, : sum_bounds[1]].reshape(-1, features.shape[1])[:, : ranks[lowest]] += sums.reshape(-1, ranks[lowest])


def row_normal_equations(
    rows: Integers,
    groups: Integers,
    coords: Integers,
    values: Floats,
    core: Floats,
    flat: Floats,
    starts: Integers,
    ranks: Integers,
    bounds: Integers,
    first: int,
    last: int,
    rank: int,
    sums: Floats,
) -> None:
    """Add ``w_p w_p^T`` and ``o_p w_p`` of every entry p to the sums of its row i.

    The feature w_p is block ``groups[p]`` of the core, contracted with the row of each other factor.
    """
    blocks = core[:, :rank].reshape(-1, bounds[1] * rank)
    w = _contracted(coords[first:last], groups[first:last], blocks, flat, starts, ranks)
    products = grams_by_group(rows[first:last], np.column_stack([w, values[first:last]]), len(sums) // (rank + 1))
    sums[:, :rank] += products[:, :, :-1].reshape(-1, rank)


def values_at(
    coords: Integers,
    groups: Integers,
    core: Floats,
    flat: Floats,
    starts: Integers,
    ranks: Integers,
    bounds: Integers,
    first: int,
    last: int,
    out: Floats,
) -> None:
    """Set ``out[p]`` to block ``groups[p]`` of the core, contracted with the row of every factor."""
    out[first:last] = _contracted(coords[first:last], groups[first:last], core, flat, starts, ranks)[:, 0]


def _contracted(
    coords: Integers, groups: Integers, core: Floats, flat: Floats, starts: Integers, ranks: Integers
) -> Floats:
    """Return the block of every entry, contracted with the rows of the entry: a row for each."""
    labels = groups
    for mode, level in enumerate(_levels_of_groups(groups, coords)):
        parts = core.reshape(len(core), ranks[mode], -1)[labels[level.starts]]
        rows = factor_rows(flat, starts[mode], ranks[mode], coords[level.starts, mode])
        core, labels = np.einsum("pk,pkx->px", rows, parts), level.labels
    result: Floats = core[labels]
    return result


class _Level(NamedTuple):
    """Sets of entries: an entry of each, and the number of the set of each entry."""

    starts: Integers
    labels: Integers


def _levels(coords: Integers) -> list[_Level]:
    """Return the runs of entries that share their first l coordinates, for l = 0, 1, .."""
    fresh = np.zeros(len(coords), dtype=bool)
    fresh[:1] = True
    levels = []
    for mode in range(coords.shape[1] + 1):
        if mode:
            fresh[1:] |= coords[1:, mode - 1] != coords[:-1, mode - 1]
        levels.append(_Level(np.flatnonzero(fresh), np.cumsum(fresh) - 1))
    return levels


def _levels_of_groups(groups: Integers, coords: Integers) -> list[_Level]:
    """Return the runs of entries that share their group and their first l coordinates, for l = 1, 2, ..

    For l = 1, all entries that share these are in one set: there are few sets, and each costs most.
    """
    if not coords.shape[1]:
        return []
    keys = groups * (int(coords[:, 0].max(initial=0)) + 1) + coords[:, 0]
    labels = (np.cumsum(np.bincount(keys) > 0) - 1)[keys]
    starts = np.zeros(labels.max(initial=-1) + 1, dtype=np.int64)
    starts[labels] = np.arange(len(labels))
    return [_Level(starts, labels), *_levels(np.column_stack([keys, coords[:, 1:]]))[2:]]
