"""Trials that are given up, and the entries that they do not see."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Clock, Nort, Status
from tensorfill.choosing.context import Context
from tensorfill.choosing.holdout.splits import Choice, make_splits
from tensorfill.choosing.search.base import are_better
from tensorfill.choosing.search.table import search_for
from tensorfill.choosing.search.trials import CHECKED_EVERY, FIRST_CHECK, LEAST_PART, Ahead, Trials, search_through
from tensorfill.datasets import synthetic
from tensorfill.graphs import chain
from tensorfill.losses import Square
from tensorfill.methods.registry import METHODS

SMALL = synthetic((20, 18, 16), rank=2, rng=0).observations
DATA = SMALL.with_values(SMALL.values / SMALL.values.std())


@pytest.fixture(scope="module")
def splits():
    return make_splits(DATA, Square(), Choice(splits=1), np.random.default_rng(0), {})[0]


def trials_on(splits, callback=None):
    return Trials(splits, Context(np.random.default_rng(0), callback=callback))


def test_a_variation_that_loses_is_given_up_and_counts_as_finished(splits):
    trials = trials_on(splits)
    good = trials.run(Nort(lam=0.5, tol=1e-6), None, tried={})
    worse = Nort(lam=2.0, penalty="nuclear", max_iter=60, tol=0.0)
    whole = trials.run(worse, good, tried={})
    given_up = trials.run(worse, good, tried={}, variation=True)
    assert whole.point.iterations > FIRST_CHECK + CHECKED_EVERY
    assert given_up.point.iterations in (FIRST_CHECK, FIRST_CHECK + CHECKED_EVERY)
    assert given_up.results[0].status is Status.MAX_ITER
    assert trials.best is good


def test_a_variation_that_gains_goes_to_its_end(splits):
    trials = trials_on(splits)
    poor = trials.run(Nort(lam=2.0, penalty="nuclear"), None, tried={})
    better = Nort(lam=0.5, max_iter=40, tol=0.0)
    assert trials.run(better, poor, tried={}, variation=True).point.iterations == 40


def test_a_caller_who_stops_a_variation_stops_the_run(splits):
    from tensorfill.methods.base import Stopped

    first = trials_on(splits).run(Nort(lam=0.5), None, tried={})
    trials = trials_on(splits, callback=lambda record, model: record.iteration == 2)
    with pytest.raises(Stopped):
        trials.run(Nort(lam=20.0), first, tried={}, variation=True)


def test_unseen_entries_are_in_the_terms_of_the_problem(splits):
    (split,) = splits
    assert split.unseen is split.held_out
    beyond = split.centred(Clock())
    values = beyond.unseen.values + beyond.lifts[0].offset.predict(split.held_out.coords)
    np.testing.assert_allclose(values, split.held_out.values)
    np.testing.assert_array_equal(beyond.unseen.coords, split.held_out.coords)
    assert trials_on([beyond]).unseen[0].shape == beyond.problem.observations.shape


def test_there_are_no_unseen_entries_where_slices_are_left_out():
    present = DATA.select(DATA.coords[:, 0] != 3)
    split = make_splits(present, Square(), Choice(splits=1), np.random.default_rng(0), {0: chain(20)})[0][0]
    assert split.problem.observations.shape[0] < 20
    assert split.unseen is None


@pytest.mark.parametrize("size", [0.05, 0.3, 0.9, 1.1, 3.0])
@pytest.mark.parametrize("alike", [-0.5, 0.0, 0.5, 0.95, 1.0])
def test_a_trial_matters_if_a_mean_with_the_best_of_others_is_clearly_better(size, alike, splits):
    trials = trials_on(splits)
    trial = trials.run(Nort(lam=0.5, max_iter=3), None, tried={})
    errors = trials.predictions(trial.models) - trials.held_out_values
    others = np.random.default_rng(0).permutation(errors)
    best = size * (alike * errors + np.sqrt(1 - alike**2) * others)
    trials.ahead = Ahead(best**2 / 2, best)
    means = [np.mean((weight * errors + (1 - weight) * best) ** 2) for weight in np.linspace(0, 1, 10_001)]
    assert trials.may_matter(trial) == (min(means) < (1 - LEAST_PART) * means[0])


@pytest.mark.parametrize("method", [Nort(), METHODS["lrtc"]()])
def test_a_search_pauses_after_its_first_path(method, splits):
    alone, paused = trials_on(splits), trials_on(splits)
    search_through(search_for(method), alone)
    next(search_for(method).run(paused))
    first = [point.tried["q"] for point in paused.points]
    assert len(set(first)) == 1
    assert first == [point.tried["q"] for point in alone.points][: len(first)]
    assert len(paused.points) < len(alone.points)


def test_a_path_that_turned_and_cannot_matter_goes_no_further(splits):
    alone, behind = trials_on(splits), trials_on(splits)
    nothing = np.zeros(len(behind.held_out_values))
    behind.ahead = Ahead(nothing, nothing)
    for trials in (alone, behind):
        next(search_for(Nort()).run(trials))
    assert len(behind.points) < len(alone.points)
    errors = [point.held_out for point in behind.points]
    assert errors[-1] > min(errors)


def test_scores_matter_unless_they_are_worse_beyond_doubt(splits):
    trials = trials_on(splits)
    trial = trials.run(Nort(lam=0.5, max_iter=3), None, tried={})
    for others, matters in ((trial.losses, True), (0.99 * trial.losses, False), (1.01 * trial.losses, True)):
        trials.ahead = Ahead(others, None)
        assert trials.may_matter(trial) == matters


def gains(certainty, mean=0.1, count=400):
    """Return gains whose mean is this many standard errors above zero."""
    noise = np.random.default_rng(0).standard_normal(count)
    noise = (noise - noise.mean()) / noise.std()
    return mean * np.sign(certainty) + noise * mean * np.sqrt(count) / abs(certainty)


@pytest.mark.parametrize(("certainty", "better"), [(-2.0, False), (0.5, False), (0.9, False), (1.1, True), (2.0, True)])
def test_one_standard_error_is_needed_to_be_better(certainty, better):
    """Otherwise the earlier trial stays, which is the simpler one."""
    others = np.full(400, 50.0)
    assert are_better(others - gains(certainty), others, clipped=False) is better


def test_a_gain_that_hardly_matters_is_none_however_certain():
    others = np.full(400, 50.0)
    for share, better in ((1e-4, False), (3e-4, True)):
        assert are_better((1 - share) * others, others) is better


def test_few_large_losses_do_not_decide():
    """Entries that no model predicts cost one answer a little more, and all others less."""
    rng = np.random.default_rng(0)
    others = rng.chisquare(1, 1000)
    losses = 0.9 * others
    others[:5], losses[:5] = 1e4, 1.2e4
    assert are_better(losses, others)
    assert not are_better(losses, others, clipped=False)
