"""Weights of held-out entries: those that lie as the missing ones do count more, and intervals hold there."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Observations
from tensorfill.choosing.error_bars import ErrorBars
from tensorfill.choosing.holdout.resemblance import (
    MISSING,
    bounded,
    distances,
    logistic_scores,
    sample_of_missing,
    weights_of,
)
from tensorfill.models import Dense


def some_missing(observed, rng):
    return sample_of_missing(observed, MISSING, rng)


def test_distances_against_a_loop():
    rng = np.random.default_rng(0)
    seen = rng.random((6, 7, 5)) < 0.3
    data = Observations.from_dense(np.ones(seen.shape), seen)
    coords = np.argwhere(np.ones(seen.shape, dtype=bool))
    for mode in range(3):
        found = distances(coords, data, mode).reshape(seen.shape)
        for place in coords[::7]:
            key = [*place]
            key[mode] = slice(None)
            line = np.flatnonzero(seen[tuple(key)])
            nearest = np.abs(line - place[mode]).min() if len(line) else seen.shape[mode]
            assert found[tuple(place)] == max(nearest, 1)


@pytest.mark.parametrize("density", [0.02, 0.5, 0.97])
def test_missing_entries_are_missing_and_none_is_in_an_empty_slice(density):
    rng = np.random.default_rng(0)
    seen = rng.random((30, 20, 10)) < density
    seen[4] = False
    coords = sample_of_missing(Observations.from_dense(np.ones(seen.shape), seen), 500, rng)
    assert not seen[tuple(coords.T)].any()
    assert 4 not in coords[:, 0]
    assert len(np.unique(coords, axis=0)) > 100


def test_logistic_regression_finds_the_odds():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((20_000, 2))
    labels = rng.random(20_000) < 1 / (1 + np.exp(-(0.5 + 1.5 * features[:, 0])))
    scores = logistic_scores(features, labels.astype(float))
    np.testing.assert_allclose(scores, 0.5 + 1.5 * features[:, 0], atol=0.2)


def halves(rng, inside):
    """Return a table of which more is missing in its upper rows, with noise three times as large there."""
    scale = np.where(np.arange(200) < 100, 3.0, 1.0)[:, None]
    truth = np.outer(np.linspace(1, 2, 200), np.ones(60))
    values = truth + scale * rng.standard_normal(truth.shape)
    seen = rng.random(truth.shape) < np.where(scale > 1, inside, 0.9)
    return truth, values, seen


def test_weights_turn_held_out_errors_into_those_of_missing_entries():
    rng = np.random.default_rng(0)
    truth, values, seen = halves(rng, 0.2)
    observed = Observations.from_dense(values, seen)
    fitted, held_out = observed.split(0.2, rng=0)
    residuals = np.abs(held_out.values - truth[tuple(held_out.coords.T)])
    weights = weights_of([(held_out.coords, fitted)], some_missing(observed, rng), Dense(truth))
    errors = np.abs(values - truth)[~seen]
    plain, weighted = (ErrorBars(residuals, each).half_width(0.9) for each in (None, weights))
    assert np.mean(errors <= plain) < 0.8
    assert 0.87 < np.mean(errors <= weighted) < 0.93


def test_weights_are_even_where_entries_are_missing_at_random():
    rng = np.random.default_rng(0)
    truth, values, seen = halves(rng, 0.9)
    observed = Observations.from_dense(values, seen)
    fitted, held_out = observed.split(0.2, rng=0)
    weights = weights_of([(held_out.coords, fitted)], some_missing(observed, rng), Dense(truth))
    assert weights.mean() == pytest.approx(1.0)
    assert np.quantile(weights, 0.05) > 0.7
    assert np.quantile(weights, 0.95) < 1.4


def test_too_few_entries_count_alike():
    data = Observations.from_dense(np.ones((10, 10)), np.random.default_rng(0).random((10, 10)) < 0.9)
    fitted, held_out = data.split(0.1, rng=0)
    weights = weights_of(
        [(held_out.coords, fitted)], some_missing(data, np.random.default_rng(0)), Dense(np.ones((10, 10)))
    )
    np.testing.assert_array_equal(weights, 1.0)


def test_no_few_entries_decide_alone():
    residuals, weights = np.arange(1000.0), np.ones(1000)
    weights[0] = 1e9
    with pytest.raises(ValueError, match=r"1000 held-out entries, worth 1 that lie as the missing ones do, but 0\.9"):
        ErrorBars(residuals, weights).half_width(0.9)


def test_equal_weights_are_no_weights():
    residuals = np.random.default_rng(0).exponential(size=157)
    for share in (0.5, 0.8, 0.9, 0.99):
        assert ErrorBars(residuals, np.ones(157)).half_width(share) == ErrorBars(residuals).half_width(share)
        place = int(np.ceil(158 * share))
        assert ErrorBars(residuals).half_width(share) == np.sort(residuals)[place - 1]


def test_entries_that_are_large_for_their_own_slice_resemble_each_other():
    rng = np.random.default_rng(0)
    standard = rng.standard_normal((40, 300))
    # What is much in one row is little in another.
    truth = np.geomspace(1, 1000, 40)[:, None] * (5 + standard)
    missing = rng.random(truth.shape) < 1 / (1 + np.exp(1 - 1.5 * standard))
    observed = Observations.from_dense(truth, ~missing)
    some = rng.random(len(observed)) < 0.2
    held_out, fitted = observed.select(some).coords, observed.select(~some)
    weights = weights_of([(held_out, fitted)], some_missing(observed, rng), Dense(truth))
    like, wanted = standard[tuple(held_out.T)], standard[missing].mean()
    assert abs(like.mean() - wanted) > 0.5
    assert abs(np.average(like, weights=weights) - wanted) < 0.2


def test_no_weight_exceeds_twenty_times_the_mean():
    """Odds of a million for one entry: the others keep their share, and the mean stays one."""
    odds = np.ones(1000)
    odds[3] = 1e6
    odds[4] = 2.0
    weights = bounded(odds)
    assert weights.mean() == pytest.approx(1.0)
    assert weights.max() == weights[3] == pytest.approx(20.0, rel=1e-3)
    assert weights[4] / weights[0] == pytest.approx(2.0)
    np.testing.assert_allclose(weights[5:], weights[0])
    even = np.random.default_rng(0).uniform(1, 5, 1000)
    np.testing.assert_allclose(bounded(even), even / even.mean())


def test_entries_that_nothing_held_out_resembles_leave_intervals_that_can_be_asked_for():
    """All but a few missing entries have values far beyond those that were held out."""
    rng = np.random.default_rng(0)
    truth = np.exp(rng.standard_normal((80, 60)))
    missing = rng.random(truth.shape) < 1 / (1 + np.exp(8 - 4 * truth))
    observed = Observations.from_dense(truth, ~missing)
    some = rng.random(len(observed)) < 0.2
    weights = weights_of(
        [(observed.select(some).coords, observed.select(~some))], some_missing(observed, rng), Dense(truth)
    )
    assert weights.max() == pytest.approx(20.0, rel=1e-3)
    assert np.isfinite(ErrorBars(np.ones(len(weights)), weights).half_width(0.9))


def weighted(seen, truth, seed=0):
    """Return held-out coordinates and their weights, for single entries held out at random."""
    rng = np.random.default_rng(seed)
    observed = Observations.from_dense(truth, seen)
    some = rng.random(len(observed)) < 0.2
    fitted, held_out = observed.select(~some), observed.select(some).coords
    return held_out, weights_of([(held_out, fitted)], some_missing(observed, rng), Dense(truth)), fitted


def test_entries_far_from_fitted_ones_count_more_where_gaps_are_long():
    rng = np.random.default_rng(1)
    seen = rng.random((40, 300)) < 0.7
    for row in range(40):
        start = rng.integers(280)
        seen[row, start : start + 20] = False
    held_out, weights, fitted = weighted(seen, np.ones(seen.shape))
    far = distances(held_out, fitted, 1)
    assert weights[far >= 4].mean() > 2 * weights[far == 1].mean()


def test_entries_of_slices_with_few_entries_count_more_where_those_have_most_holes():
    """Each row is observed in one piece, so that the neighbours of an entry do not tell how many others there are."""
    rng = np.random.default_rng(2)
    seen = np.zeros((60, 100), dtype=bool)
    for row, length in enumerate(np.linspace(10, 95, 60).astype(int)):
        start = rng.integers(100 - length)
        seen[row, start : start + length] = True
    held_out, weights, _ = weighted(seen, np.ones(seen.shape))
    rows = held_out[:, 0]
    assert weights[rows < 20].mean() > 3 * weights[rows >= 40].mean()


def test_entries_with_large_predictions_count_more_where_large_values_are_missing():
    rng = np.random.default_rng(3)
    truth = rng.uniform(0, 1, (70, 60))
    held_out, weights, _ = weighted(rng.random(truth.shape) < 0.95 - 0.6 * truth, truth)
    values = truth[tuple(held_out.T)]
    assert weights[values > 0.8].mean() > 3 * weights[values < 0.2].mean()
