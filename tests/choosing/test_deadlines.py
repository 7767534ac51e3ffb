"""Every stage looks at the clock, at least once in each of its iterations."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Clock, Observations, complete
from tensorfill._support.clock import TimeUp
from tensorfill.algebra.field import MOST_ITERATIONS, smooth_field
from tensorfill.choosing.neighbours import Neighbourhood
from tensorfill.choosing.stages.graphs import FOLDS, best_width
from tensorfill.choosing.stages.smooth_field import STIFFNESSES, SmoothField
from tensorfill.graphs import haversine
from tensorfill.losses import Logistic, Poisson, Square
from tensorfill.methods.effects.scores import FEWEST_SWEEPS, fit_score_effects
from tensorfill.methods.grow.growth import Growth
from tensorfill.methods.grow.mixtures import mixtures_of
from tensorfill.methods.problem import Problem
from tensorfill.models.folded import nothing


class Countdown(Clock):
    """A clock that expires after it was looked at so many times."""

    def __init__(self, looks):
        super().__init__()
        self.left = looks

    @property
    def remaining(self):
        self.left -= 1
        return 1.0 if self.left >= 0 else 0.0


def over():
    clock = Clock()
    clock.end()
    return clock


RNG = np.random.default_rng(0)
FIELD = RNG.standard_normal((12, 10))
SEEN = RNG.random(FIELD.shape) < 0.5
ENTRIES = Observations.from_dense(np.where(SEEN, FIELD, np.nan))
CUBE = Observations.from_dense(RNG.standard_normal((12, 11, 10)))
SLICES = Observations.from_dense(np.random.default_rng(0).standard_normal((9, 9, 9, 2)))
TABLES = Observations.from_dense(np.random.default_rng(0).standard_normal((9, 9, 2)))
PLACES = haversine(RNG.uniform(0, 20, (12, 2)))
NEAR = Neighbourhood(FIELD.shape, [0, 1])
DENSE = np.where(SEEN, FIELD, np.nan).ravel()

WORK = {
    "a smooth field": lambda clock: SmoothField({0: 1.0}, STIFFNESSES[2], True).improve(
        Problem(ENTRIES, Square()), nothing(ENTRIES.shape), clock
    ),
    "neighbours": lambda clock: NEAR.predict(DENSE, np.random.default_rng(0), clock),
    "quartiles": lambda clock: NEAR.upper_quartile(DENSE, clock),
    "the width of a kernel": lambda clock: best_width(PLACES, ENTRIES, 0, np.random.default_rng(0), clock),
    "directions": lambda clock: (lambda growth: growth.directions(growth.zero()))(
        Growth(CUBE, np.random.default_rng(0), clock)
    ),
    "terms": lambda clock: (lambda growth: growth.terms(growth.zero()))(Growth(CUBE, np.random.default_rng(0), clock)),
    "mixtures with three modes": lambda clock: mixtures_of(SLICES.coords, SLICES.shape, [0, 1, 2], clock).starts(
        SLICES.values, np.random.default_rng(0)
    ),
    "mixtures with two modes": lambda clock: mixtures_of(TABLES.coords, TABLES.shape, [0, 1], clock).starts(
        TABLES.values, np.random.default_rng(0)
    ),
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_work_ends_with_the_time(work):
    with pytest.raises(TimeUp):
        work(over())
    work(Clock())


@pytest.mark.parametrize("looks", [0, 1, 5])
def test_a_smooth_field_looks_at_the_clock_in_every_iteration(looks, monkeypatch):
    clock = Countdown(looks)
    with pytest.raises(TimeUp):
        smooth_field(np.where(SEEN, FIELD, 0), SEEN, {0: 1.0, 1: 1.0}, 1e-3, clock=clock)
    assert clock.left == -1
    counted = Countdown(MOST_ITERATIONS + 1)
    smooth_field(np.where(SEEN, FIELD, 0), SEEN, {0: 1.0, 1: 1.0}, 1e-3, clock=counted)
    assert counted.left < MOST_ITERATIONS - looks


def test_the_width_of_a_kernel_looks_at_the_clock_for_every_part():
    clock = Countdown(10**6)
    best_width(PLACES, ENTRIES, 0, np.random.default_rng(0), clock)
    assert 10**6 - clock.left == FOLDS * len(PLACES.widths)


@pytest.mark.parametrize("loss", [Logistic(), Poisson()], ids=repr)
def test_effects_of_scores_are_an_answer_when_the_time_is_over(loss):
    values = RNG.integers(0, 2, (9, 8, 7)).astype(float)
    problem = Problem(Observations.from_dense(values if isinstance(loss, Poisson) else 2 * values - 1), loss)
    soon, few = fit_score_effects(problem, clock=over()), fit_score_effects(problem, sweeps=FEWEST_SWEEPS)
    assert soon.mean == few.mean
    for one, other in zip(soon.effects, few.effects, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_effects_of_a_split_are_fitted_once(monkeypatch):
    import tensorfill.choosing.stages.centre as centre

    fitted, calls = centre.fit_score_effects, []

    def counted(problem, **options):
        calls.append(problem)
        return fitted(problem, **options)

    monkeypatch.setattr(centre, "fit_score_effects", counted)
    counts = np.where(RNG.random((9, 8, 7)) < 0.7, RNG.poisson(3.0, (9, 8, 7)), np.nan)
    complete(counts, loss="poisson", method="nort", time_limit=1e-9, rng=0)
    assert len(calls) == 1
