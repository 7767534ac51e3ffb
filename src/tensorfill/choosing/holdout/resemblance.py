"""How much each held-out entry resembles the missing ones, for intervals that are valid at missing entries.

Held-out entries may be distributed differently from the missing ones: nearer to observed entries, in slices with more
of them, or where values are smaller. A logistic regression separates the two kinds by

- the distance to the nearest fitted entry, along each mode,
- the share of fitted entries in the slice of each mode,
- the prediction and its square, and
- how many standard deviations the prediction is above the mean of the slice of each mode, and its square: a
  value that is large for one sensor may be small for another.

The weight of a held-out entry is its predicted odds of being a missing one. With these weights, quantiles of the
held-out errors are valid for the missing entries, if errors depend only on these features (weighted conformal
prediction).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from ..._support.ordering import fibre_keys, joint_keys
from ..._support.types import Floats, Integers
from ...models import Model
from ...observations import Observations

MISSING = 5_000
"""The largest number of missing entries in the sample."""

FEWEST = 50
"""With fewer held-out or missing entries than this, all held-out entries have the same weight."""

RIDGE = 1.0
"""The weight of the squared coefficients, for features with a standard deviation of one."""

STEPS = 20
"""The largest number of steps of Newton's method."""

FARTHEST = 5.0
"""The limit of the distance of a prediction from the mean of a slice, in standard deviations."""

MOST_ALIKE = 5
"""Where hardly any held-out entry is like the missing ones, one in this many, those most alike, count."""

NEGLIGIBLE = 1e-6
"""The weight of the others, relative to theirs."""

LARGEST_ODDS = 20.0
"""The largest weight of an entry, relative to equal weights."""


def weights_of(
    parts: Sequence[tuple[Integers, Observations]],
    missing: Integers,
    model: Model,
    *,
    only_alike: bool = False,
) -> Floats:
    """Return the weight of each held-out entry, which is how many missing entries it represents, with a mean of one.

    Parameters
    ----------
    parts
        The coordinates of the held-out entries of each split, and the entries of the fit without them.
    missing
        The coordinates of a sample of missing entries.
    model
        The model of the fit without the held-out entries.
    only_alike
        Whether only the entries count that are most like the missing ones, because most are not like them at all.
    """
    count = sum(len(coords) for coords, _ in parts)
    if min(count, len(missing)) < FEWEST:
        return np.ones(count)
    # Every split is compared with its own share of the missing entries, beside the entries that it fits.
    shares = np.array_split(missing, len(parts))
    held_out = [_features(coords, fitted, model) for coords, fitted in parts]
    features = np.vstack(
        [*held_out, *(_features(each, fitted, model) for each, (_, fitted) in zip(shares, parts, strict=True))]
    )
    spread = features.std(axis=0)
    features = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    is_missing = (np.arange(len(features)) >= count).astype(np.float64)
    scores = logistic_scores(features, is_missing)[:count]
    if only_alike:
        scores = np.where(scores >= np.sort(scores)[-max(FEWEST, count // MOST_ALIKE)], 0.0, math.log(NEGLIGIBLE))
    return bounded(np.exp(scores - scores.max()))


def bounded(odds: Floats) -> Floats:
    """Return weights with a mean of one, with a few extreme odds clipped to the largest weight."""
    weights: Floats = odds / odds.mean()
    for _ in range(STEPS):
        weights = np.minimum(weights, LARGEST_ODDS)
        weights = weights / weights.mean()
    return weights


def sample_of_missing(
    observed: Observations, count: int, rng: np.random.Generator, over: Collection[int] = ()
) -> Integers:
    """Return coordinates of missing entries drawn at random, outside slices without any observed entry.

    Along the modes `over`, empty slices are gaps like others.
    """
    present = [
        np.arange(observed.shape[mode]) if mode in over else np.unique(column)
        for mode, column in enumerate(observed.coords.T)
    ]
    cells = math.prod(map(len, present))
    if cells <= 4 * len(observed):
        # Few entries are missing, so that random draws would seldom hit one.
        open_cells = np.ones([len(each) for each in present], dtype=bool)
        open_cells[
            tuple(np.searchsorted(each, column) for each, column in zip(present, observed.coords.T, strict=True))
        ] = False
        found = np.argwhere(open_cells)
        found = found[rng.permutation(len(found))[:count]]
    else:
        found = np.stack([rng.integers(len(each), size=2 * count) for each in present], axis=1)
    coords = np.stack([each[column] for each, column in zip(present, found.T, strict=True)], axis=1)
    keys, seen = joint_keys(observed.shape, coords, observed.coords)
    # Observed entries are in order, and so are their keys.
    near = seen[np.searchsorted(seen, keys).clip(max=len(seen) - 1)]
    missing: Integers = coords[near != keys][:count]
    return missing


def _features(coords: Integers, fitted: Observations, model: Model) -> Floats:
    """Return the features of each entry that may make it hard to predict, one row per entry."""
    prediction = model.predict(coords).astype(np.float64)
    centred = prediction - prediction.mean()
    columns = [prediction, centred**2]
    for mode in range(fitted.ndim):
        counts, above = _within_slices(prediction, coords[:, mode], fitted, mode)
        columns += [np.log(distances(coords, fitted, mode)), np.log1p(counts), above, above**2]
    return np.stack(columns, axis=1)


def _within_slices(prediction: Floats, indices: Integers, fitted: Observations, mode: int) -> tuple[Floats, Floats]:
    """Return, for the slice of each prediction, its number of fitted entries, and the prediction in standard units."""
    present, slices = np.unique(fitted.coords[:, mode], return_inverse=True)
    # Slices without a fitted entry come last, as one of no entries.
    size = len(present) + 1
    place = np.searchsorted(present, indices).clip(max=len(present) - 1)
    own = np.where(present[place] == indices, place, len(present))
    values = fitted.values.astype(np.float64)
    counts = np.bincount(slices, minlength=size)
    means = np.bincount(slices, values, size) / np.maximum(counts, 1)
    spreads = np.sqrt(np.bincount(slices, (values - means[slices]) ** 2, size) / np.maximum(counts, 1))
    above = (prediction - means[own]) / np.where(spreads > 0, spreads, np.inf)[own]
    return counts[own].astype(np.float64), np.clip(above, -FARTHEST, FARTHEST)


def distances(coords: Integers, fitted: Observations, mode: int) -> Floats:
    """Return the distance along a mode to the nearest fitted entry, or the size of the mode if its fibre has none."""
    size = fitted.shape[mode]
    own, sought = fibre_keys(fitted.shape, mode, fitted.coords, coords)
    # Only fibres of the entries count, which is cheaper than sorting all.
    keys = np.sort(own[np.isin(own // size, sought // size)])
    if len(keys) == 0:
        return np.full(len(coords), float(size))
    after = np.searchsorted(keys, sought)
    nearest = np.full(len(coords), size, dtype=np.int64)
    for place in (after - 1, after):
        found = keys[np.clip(place, 0, len(keys) - 1)]
        same = (found // size == sought // size) & (place >= 0) & (place < len(keys))
        nearest = np.where(same, np.minimum(nearest, np.abs(found - sought)), nearest)
    return np.maximum(nearest, 1).astype(np.float64)


def logistic_scores(features: Floats, labels: Floats) -> Floats:
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
