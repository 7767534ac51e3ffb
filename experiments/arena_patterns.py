"""Six ways in which entries go missing; each hides known entries, of which the truth is kept."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arena_data import Array, DataSet

Mask = NDArray[np.bool_]

SHARE = 0.3
"""The share of entries that most patterns hide."""

LEFT = 2
"""Every slice keeps at least this many entries: what nothing is known of has to be guessed by any method."""


def at_random(data: Array, meant: DataSet, rng: np.random.Generator) -> Mask:
    """Return single entries, each with the same probability."""
    return rng.random(data.shape) < SHARE


def fibres(data: Array, meant: DataSet, rng: np.random.Generator) -> Mask:
    """Return whole fibres, such as a day of a sensor; of a matrix, whose fibres are slices, half of most rows."""
    if data.ndim > 2:
        shape = [1 if mode == meant.fibre else size for mode, size in enumerate(data.shape)]
        return np.broadcast_to(rng.random(shape) < SHARE, data.shape).copy()
    hidden: Mask = np.moveaxis(np.zeros(data.shape, dtype=bool), meant.fibre, -1)
    half = hidden.shape[1] // 2
    for row in np.flatnonzero(rng.random(len(hidden)) < 2 * SHARE):
        if meant.fibre in meant.ordered:
            start = int(rng.integers(hidden.shape[1] - half + 1))
            hidden[row, start : start + half] = True
        else:
            hidden[row, rng.choice(hidden.shape[1], half, replace=False)] = True
    return np.moveaxis(hidden, -1, meant.fibre)


def blocks(data: Array, meant: DataSet, rng: np.random.Generator) -> Mask:
    """Return runs along the mode of time, of two indices to a quarter of all."""
    hidden: Mask = np.moveaxis(np.zeros(data.shape, dtype=bool), meant.time, 0)
    length, others = hidden.shape[0], hidden.shape[1:]
    longest = max(2, length // 4)
    while hidden.mean() < SHARE:
        start, run = int(rng.integers(1 - longest, length)), int(rng.integers(2, longest + 1))
        fibre: tuple[Any, ...] = tuple(int(rng.integers(size)) for size in others)
        hidden[(slice(max(0, start), max(0, start + run)), *fibre)] = True
    return np.moveaxis(hidden, 0, meant.time)


def slices(data: Array, meant: DataSet, rng: np.random.Generator) -> Mask:
    """Return most entries of a fifth of the slices of the first mode."""
    chosen = rng.choice(len(data), max(1, len(data) // 5), replace=False)
    hidden = np.zeros(data.shape, dtype=bool)
    hidden[chosen] = rng.random(hidden[chosen].shape) < 0.8
    return hidden


def corner(data: Array, meant: DataSet, rng: np.random.Generator) -> Mask:
    """Return all late entries, of the last third, of a fifth of the indices of the first mode that is not time."""
    unit = 1 if meant.time == 0 else 0
    hidden = np.zeros(data.shape, dtype=bool)
    by_unit: Mask = np.moveaxis(hidden, (unit, meant.time), (0, 1))
    chosen = rng.choice(len(by_unit), max(1, len(by_unit) // 5), replace=False)
    by_unit[chosen, by_unit.shape[1] - by_unit.shape[1] // 3 :] = True
    return hidden


def by_value(data: Array, meant: DataSet, rng: np.random.Generator) -> Mask:
    """Return entries with a probability that rises with their rank among all, from 10% to 50%."""
    order = np.argsort(np.argsort(np.nan_to_num(data, nan=np.inf), axis=None)).reshape(data.shape)
    ranks = order / max(1, np.isfinite(data).sum() - 1)
    hidden: Mask = rng.random(data.shape) < 0.1 + 0.4 * np.clip(ranks, 0, 1)
    return hidden


PATTERNS: dict[str, Callable[[Array, DataSet, np.random.Generator], Mask]] = {
    "random": at_random,
    "fibres": fibres,
    "blocks": blocks,
    "slices": slices,
    "corner": corner,
    "value": by_value,
}
"""Every pattern."""


def hide(truth: Array, meant: DataSet, pattern: str, seed: int) -> Mask:
    """Return which known entries a pattern hides; every slice with known entries keeps some.

    Parameters
    ----------
    truth
        The tensor, with NaN where nothing is known.
    meant
        What its modes mean.
    pattern
        A name of `PATTERNS`.
    seed
        What is hidden is the same for the same seed.
    """
    rng = np.random.default_rng([seed, zlib.crc32(pattern.encode())])
    known = np.isfinite(truth)
    hidden = PATTERNS[pattern](truth, meant, rng) & known
    if meant.never is not None:
        hidden |= meant.never(truth) & known
    for mode in range(truth.ndim):
        for gone, there in zip(np.moveaxis(hidden, mode, 0), np.moveaxis(known, mode, 0), strict=True):
            fewest = min(LEFT, int(there.sum()))
            lacking = fewest - int((there & ~gone).sum())
            if lacking > 0:
                gone[tuple(rng.permutation(np.argwhere(gone))[:lacking].T)] = False
    return hidden
