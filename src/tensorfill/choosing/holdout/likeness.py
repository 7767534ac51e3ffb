"""How alike held-out and missing entries are: the probability that a classifier tells them apart (AUC).

An entry is hard to predict if it is far from fitted entries, or in slices with few of them. So the features of an entry
are, along each mode,

- the distance to the nearest fitted entry, and
- the number of fitted entries in its slice, relative to that of a mean slice,

both in powers of two. Missing entries are seen beside all observed entries, as the last fit has them, and held-out ones
beside the fitted entries of their split. A gap that is laid upon another one thus shows, since little is left in
its slice.

The AUC is the probability that a logistic regression gives a missing entry a higher score than a held-out one: 0.5 if
they are alike, and 1 if they have nothing in common. Normal noise is added to the features first, because a small
difference, however regular, does not matter.
"""

from __future__ import annotations

import math

import numpy as np

from ..._support.types import Booleans, Floats, Integers
from ...observations import Observations
from .resemblance import bounded, distances, logistic_scores

SAMPLE = 5_000
"""The largest number of entries of each kind whose features are computed."""

FEWEST = 10
"""With fewer held-out or missing entries than this, nothing is said of how alike they are."""

TOLERANCE = 1.0
"""The standard deviation of the noise, in powers of two: entries that differ by a factor of two in one feature have an
AUC of 0.76, and those that differ by one of 1.2 have 0.57."""

ROWS = 1_000
"""Fewer entries are repeated up to this number, each time with other noise, so that the noise does not decide."""

CHUNK = 2**20
"""The largest number of cells of fibres that are looked at together."""


def auc(held_out: Floats, missing: Floats, *, weighted: bool = False) -> float | None:
    """Return the AUC of telling held-out from missing entries by their features, at least 0.5; None if there are few.

    Parameters
    ----------
    held_out, missing
        The features of the entries, one row per entry.
    weighted
        Whether held-out entries are weighted, as they are for intervals, by their odds of being missing. The AUC is
        then 1 only if nothing alike is held out, and near 0.5 if some of them stand for all missing entries.

    Examples
    --------
    >>> near, far = np.zeros((50, 2)), np.full((50, 2), 3.0)
    >>> auc(near, far) > 0.95, auc(near, near) < 0.55
    (True, True)
    >>> some = np.vstack([near, far[:10]])
    >>> auc(some, far) > 0.85, auc(some, far, weighted=True) < 0.6
    (True, True)
    """
    if min(len(held_out), len(missing)) < FEWEST:
        return None
    # Its own generator, so that a comparison does not change the answer.
    rng = np.random.default_rng(0)
    if weighted:
        scores = _scores(held_out, missing)[: len(held_out)]
        weights = bounded(np.exp(scores - scores.max()))
        held_out = held_out[rng.choice(len(held_out), max(len(held_out), ROWS), p=weights / weights.sum())]
    first, second = (
        each + TOLERANCE * rng.standard_normal(each.shape)
        for each in (np.tile(part, (math.ceil(ROWS / len(part)), 1)) for part in (held_out, missing))
    )
    ranks = _ranks(_scores(first, second))[len(first) :]
    found = (float(ranks.sum()) - len(second) * (len(second) + 1) / 2) / (len(first) * len(second))
    return max(found, 0.5)


def _ranks(values: Floats) -> Floats:
    """Return the place of each value in increasing order, counted from 1; equal values share the mean of theirs.

    >>> _ranks(np.array([0.3, 0.1, 0.3])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks


def _scores(held_out: Floats, missing: Floats) -> Floats:
    """Return the log odds of being missing, of held-out and then of missing entries."""
    features = np.vstack([held_out, missing])
    spread = features.std(axis=0)
    features = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return logistic_scores(features, (np.arange(len(features)) >= len(held_out)).astype(np.float64))


def sampled(numbers: Integers, count: int) -> Integers:
    """Return at most `count` of some numbers, drawn at random."""
    return numbers if len(numbers) <= count else np.random.default_rng(0).choice(numbers, count, replace=False)


def features_among(coords: Integers, fitted: Observations) -> Floats:
    """Return the features of entries beside fitted ones, one row per entry, without an array of the tensor's size."""
    columns = []
    for mode, size in enumerate(fitted.shape):
        indices, place = np.unique(coords[:, mode], return_inverse=True)
        own = np.searchsorted(indices, fitted.coords[:, mode]).clip(max=len(indices) - 1)
        counts = np.bincount(own[indices[own] == fitted.coords[:, mode]], minlength=len(indices))
        columns += _pair(distances(coords, fitted, mode), counts[place], size, len(fitted))
    return np.stack(columns, axis=1)


def features_in(coords: Integers, fitted: Booleans) -> Floats:
    """Return the features of entries beside those that a mask says are fitted, one row per entry."""
    columns = []
    for mode, size in enumerate(fitted.shape):
        others = tuple(other for other in range(fitted.ndim) if other != mode)
        counts = np.count_nonzero(fitted, axis=others)
        columns += _pair(_distances_in(coords, fitted, mode), counts[coords[:, mode]], size, int(counts.sum()))
    return np.stack(columns, axis=1)


def _pair(far: Floats, counts: Integers, size: int, total: int) -> list[Floats]:
    """Return the two features of a mode: the distance, and the number of entries in a slice over that in a mean one."""
    return [np.log2(far), np.log2(np.maximum(counts, 0.5) * size / max(total, 1))]


def _distances_in(coords: Integers, fitted: Booleans, mode: int) -> Floats:
    """Return what `distances` does, from a mask."""
    size = fitted.shape[mode]
    lines, steps = np.moveaxis(fitted, mode, -1), np.arange(size)
    found = np.empty(len(coords))
    others = [other for other in range(fitted.ndim) if other != mode]
    step = max(1, CHUNK // size)
    for start in range(0, len(coords), step):
        some = coords[start : start + step]
        far = np.abs(steps - some[:, [mode]])
        found[start : start + step] = np.where(lines[tuple(some[:, others].T)], far, size).min(axis=1)
    return np.maximum(found, 1.0)
