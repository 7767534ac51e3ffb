"""A polish by least squares goes on only while held-out entries gain."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Nort
from tensorfill._support.clock import Clock
from tensorfill.choosing.contest import Contest
from tensorfill.choosing.context import Context
from tensorfill.choosing.finishing import improved
from tensorfill.choosing.holdout.splits import Choice, losses_of, make_splits
from tensorfill.choosing.recipe import Recipe
from tensorfill.choosing.scored import Scored
from tensorfill.choosing.search.trials import Trials
from tensorfill.choosing.stages import polish as module
from tensorfill.choosing.stages.polish import MOST_SWEEPS, Polish
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.methods.problem import Problem
from tensorfill.methods.tucker_als import TuckerAls


def solved(data, lam):
    """Return a split, and the answer of NORT on it."""
    splits, _ = make_splits(data, Square(), Choice(splits=1), np.random.default_rng(0))
    return splits, [Nort(lam=lam, max_rank=3, tol=1e-3).solve(splits[0].problem, rng=0).model]


@pytest.fixture
def sweeps(monkeypatch):
    """Return the numbers of sweeps that were asked for."""
    asked = []

    def counted(**settings):
        asked.append(settings["max_iter"])
        return TuckerAls(**settings)

    monkeypatch.setattr(module, "TuckerAls", counted)
    return asked


def polished(observations, splits, models):
    """Return the answer of NORT, polished if held-out entries gain."""
    contest = Contest(Problem(observations, Square()), splits, None, {}, {"refine": "tucker"}, Context())
    trials = Trials(splits, Context())
    losses = losses_of(splits, models)
    scored = Scored(Recipe(method=Nort(lam=0.5)), splits, models, losses, trials, None, None)
    return improved(contest, scored, Polish, Clock())


def test_a_first_sweep_that_does_harm_is_the_last(sweeps):
    rng = np.random.default_rng(0)
    noise = synthetic((12, 11, 10), rank=1, noise=0.0, rng=0).observations
    noise = noise.with_values(rng.standard_normal(len(noise)))
    splits, models = solved(noise, lam=0.5)
    best = polished(noise, splits, models)
    assert best.recipe.after == ()
    assert best.models is models
    assert set(sweeps) == {1}


def test_sweeps_go_on_while_they_help(sweeps):
    data = synthetic((20, 18, 16), rank=2, rng=0)
    splits, models = solved(data.observations, lam=0.05)
    before = splits[0].losses(models[0]).sum()
    best = polished(data.observations, splits, models)
    (how,) = best.recipe.after
    assert max(sweeps) > 1
    assert how.sweeps <= MOST_SWEEPS
    assert best.losses.sum() < before
    again = Polish(how.to_the_gap, how.sweeps).improve(splits[0].problem, models[0], Clock())
    np.testing.assert_allclose(again.predict(data.test.coords), best.models[0].predict(data.test.coords))
