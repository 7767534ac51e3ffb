"""How much each held-out entry resembles the missing ones, for intervals that hold where entries are missing.

Held-out entries may lie otherwise than the missing ones: nearer to observed entries, in slices with more of them, or
where values are smaller. A logistic regression tells the two kinds apart by

- the distance to the nearest entry that was fitted, along each mode,
- the share of entries that was fitted in the slice of each mode,
- the prediction and its square, and
- how many standard deviations the prediction is above the mean of the slice of each mode, and the square of it: what is
  much for one sensor is little for another.

The odds that it gives a held-out entry of being a missing one are its weight. With these weights, quantiles of the
held-out errors are those of the missing entries, if what they depend on is among the above (weighted conformal
prediction).
"""

from __future__ import annotations

import math

import numpy as np

from ..._support.types import Floats, Integers
from ...models import Model
from ...observations import Observations

MISSING = 5_000
"""At most this many missing entries are looked at."""

FEWEST = 50
"""With fewer held-out or missing entries than this, all held-out entries count alike."""

RIDGE = 1.0
"""The weight of the squared coefficients, for features with a standard deviation of one."""

STEPS = 20
"""The most steps of Newton's method."""

FARTHEST = 5.0
"""A prediction counts as at most this many standard deviations from the mean of a slice."""

LARGEST_ODDS = 20.0
"""No entry counts more than this many times as much as it would without weights."""


def weights_of(
    held_out: Integers, fitted: Observations, observed: Observations, model: Model, rng: np.random.Generator
) -> Floats:
    """Return how many missing entries each held-out entry stands for, with a mean of one.

    Parameters
    ----------
    held_out
        The coordinates of the held-out entries.
    fitted
        The entries that were fitted without them.
    observed
        All observed entries.
    model
        The answer without the held-out entries.
    rng
        Decides which missing entries are looked at.
    """
    missing = sample_of_missing(observed, MISSING, rng)
    if min(len(held_out), len(missing)) < FEWEST:
        return np.ones(len(held_out))
    features = np.vstack([_features(coords, fitted, model) for coords in (held_out, missing)])
    spread = features.std(axis=0)
    features = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    is_missing = (np.arange(len(features)) >= len(held_out)).astype(np.float64)
    scores = _logistic_scores(features, is_missing)[: len(held_out)]
    return _bounded(np.exp(scores - scores.max()))


def _bounded(odds: Floats) -> Floats:
    """Return weights with a mean of one, none of them above the largest, which a few extreme odds are lowered to."""
    weights: Floats = odds / odds.mean()
    for _ in range(STEPS):
        weights = np.minimum(weights, LARGEST_ODDS)
        weights = weights / weights.mean()
    return weights


def sample_of_missing(observed: Observations, count: int, rng: np.random.Generator) -> Integers:
    """Return coordinates of missing entries drawn at random, none of them in a slice without any observed entry."""
    present = [np.unique(column) for column in observed.coords.T]
    cells = math.prod(map(len, present))
    if cells <= 4 * len(observed):
        # Few are missing, so that draws would seldom hit one.
        open_cells = np.ones([len(each) for each in present], dtype=bool)
        open_cells[
            tuple(np.searchsorted(each, column) for each, column in zip(present, observed.coords.T, strict=True))
        ] = False
        found = np.argwhere(open_cells)
        found = found[rng.permutation(len(found))[:count]]
    else:
        found = np.stack([rng.integers(len(each), size=2 * count) for each in present], axis=1)
    coords = np.stack([each[column] for each, column in zip(present, found.T, strict=True)], axis=1)
    positions = np.ravel_multi_index(tuple(coords.T), observed.shape)
    place = np.minimum(np.searchsorted(observed.positions, positions), len(observed) - 1)
    missing: Integers = coords[observed.positions[place] != positions][:count]
    return missing


def _features(coords: Integers, fitted: Observations, model: Model) -> Floats:
    """Return what may make an entry hard to predict, a row for each."""
    prediction = model.predict(coords).astype(np.float64)
    centred = prediction - prediction.mean()
    columns = [prediction, centred**2]
    for mode in range(fitted.ndim):
        counts, above = _within_slices(prediction, coords[:, mode], fitted, mode)
        columns += [np.log(distances(coords, fitted, mode)), np.log1p(counts), above, above**2]
    return np.stack(columns, axis=1)


def _within_slices(prediction: Floats, indices: Integers, fitted: Observations, mode: int) -> tuple[Floats, Floats]:
    """Return, for the slice of each prediction, its number of fitted entries, and the prediction in standard units."""
    slices, size = fitted.coords[:, mode], fitted.shape[mode]
    values = fitted.values.astype(np.float64)
    counts = np.bincount(slices, minlength=size)
    means = np.bincount(slices, values, size) / np.maximum(counts, 1)
    spreads = np.sqrt(np.bincount(slices, (values - means[slices]) ** 2, size) / np.maximum(counts, 1))
    above = (prediction - means[indices]) / np.where(spreads > 0, spreads, np.inf)[indices]
    return counts[indices].astype(np.float64), np.clip(above, -FARTHEST, FARTHEST)


def distances(coords: Integers, fitted: Observations, mode: int) -> Floats:
    """Return the distance along a mode to the nearest fitted entry, or the size of the mode if its fibre has none."""
    size = fitted.shape[mode]
    keys = np.sort(_along(fitted.coords, fitted.shape, mode))
    sought = _along(coords, fitted.shape, mode)
    after = np.searchsorted(keys, sought)
    nearest = np.full(len(coords), size, dtype=np.int64)
    for place in (after - 1, after):
        found = keys[np.clip(place, 0, len(keys) - 1)]
        same = (found // size == sought // size) & (place >= 0) & (place < len(keys))
        nearest = np.where(same, np.minimum(nearest, np.abs(found - sought)), nearest)
    return np.maximum(nearest, 1).astype(np.float64)


def _along(coords: Integers, shape: tuple[int, ...], mode: int) -> Integers:
    """Return numbers for entries that count along the fibres of a mode."""
    order = [*(other for other in range(len(shape)) if other != mode), mode]
    number: Integers = np.ravel_multi_index(tuple(coords[:, order].T), tuple(shape[other] for other in order))
    return number


def _logistic_scores(features: Floats, labels: Floats) -> Floats:
    """Return the log odds that a ridge-regularised logistic regression gives each row."""
    rows = np.column_stack([np.ones(len(features)), features])
    ridge = RIDGE * np.eye(rows.shape[1])
    ridge[0, 0] = 0.0
    coefficients = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(rows @ coefficients, -30, 30)))
        slope = rows.T @ (chance - labels) + ridge @ coefficients
        curvature = (rows * (chance * (1 - chance))[:, None]).T @ rows + ridge
        step = np.linalg.solve(curvature + 1e-9 * np.eye(len(curvature)), slope)
        coefficients -= step
        if np.abs(step).max() < 1e-6:
            break
    scores: Floats = rows @ coefficients
    return scores
