"""Every stage looks at the clock, at least once in each of its iterations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tensorfill import CP, Choice, Clock, Grow, Nort, Observations, Status, complete
from tensorfill._support.clock import TimeUp
from tensorfill.algebra.field import MOST_ITERATIONS, smooth_field
from tensorfill.algebra.sparse_unfoldings import MOST_DENSE, SparseUnfoldings
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
from tests.refusal import refuses


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
    "quartiles": lambda clock: NEAR.upper_quartile(DENSE, np.arange(DENSE.size), clock),
    "the width of a kernel": lambda clock: best_width(PLACES, ENTRIES, 0, np.random.default_rng(0), clock),
    "directions": lambda clock: (lambda growth: growth.directions(growth.zero()))(
        Growth(Problem(CUBE, Square()), np.random.default_rng(0), clock)
    ),
    "terms": lambda clock: (lambda growth: growth.terms(growth.zero()))(
        Growth(Problem(CUBE, Square()), np.random.default_rng(0), clock)
    ),
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
    complete(counts, loss="poisson", method="nort", time_limit=1e-9, choose=Choice(splits=2), rng=0)
    assert len(calls) == 2


class TestDirections:
    """Directions of long modes, whose Gram matrix is never built."""

    LONG = Observations(np.argwhere(np.ones((MOST_DENSE + 200, 3)))[::5], RNG.standard_normal(720), (1200, 3))

    def unfoldings(self, clock=None):
        return SparseUnfoldings(self.LONG.coords, self.LONG.shape, [0], clock)

    def test_looks_at_the_clock_in_every_product(self):
        with pytest.raises(TimeUp):
            self.unfoldings(over()).leading(0, self.LONG.values, 2, np.random.default_rng(0))
        clock = Countdown(10**6)
        self.unfoldings(clock).leading(0, self.LONG.values, 2, np.random.default_rng(0))
        assert clock.left < 10**6 - 5

    def test_asks_for_no_more_directions_than_columns(self):
        # Further eigenvalues are those of minus the diagonal, crowded together, and take forever.
        clock = Countdown(10**6)
        strength, vectors = self.unfoldings(clock).leading(0, self.LONG.values, 20, np.random.default_rng(0))
        assert 10**6 - clock.left < 100
        dense = np.zeros(self.LONG.shape)
        dense[tuple(self.LONG.coords.T)] = self.LONG.values
        gram = dense @ dense.T
        expected = np.linalg.eigvalsh(gram - np.diag(np.diag(gram)))[::-1][:3]
        np.testing.assert_allclose(strength, expected, rtol=1e-3)
        assert vectors.shape == (1200, 3)


SOLVERS = {
    "nort": Nort(lam=0.1, svd="subspace", storage="sparse"),
    "grow": Grow(rank=2, form="tucker"),
    "terms": Grow(rank=2, form="cp"),
}


@pytest.mark.parametrize("method", SOLVERS.values(), ids=SOLVERS)
def test_a_step_that_goes_on_long_after_the_end_is_given_up(method, monkeypatch):
    problem = Problem(CUBE, Square())
    replace(method, max_iter=1).solve(problem, start=None, rng=0)  # compiling may take longer than the grace
    # Without any grace, the first part of the first step is too much; with it, the first step ends.
    one = method.solve(problem, start=None, rng=0, clock=Clock(1e-9))
    assert (one.status, one.history[-1].iteration) == (Status.TIME_LIMIT, 1)
    monkeypatch.setattr("tensorfill._support.clock.GRACE", 0.0)
    none = method.solve(problem, start=one.model, rng=0, clock=Clock(1e-9))
    assert (none.status, none.history[-1].iteration) == (Status.TIME_LIMIT, 0)
    # Terms are brought to the same length again, which rounds.
    np.testing.assert_allclose(none.model.predict(CUBE.coords), one.model.predict(CUBE.coords), rtol=1e-10)


def test_terms_are_appended_while_there_is_time():
    few = CP(rank=5, ridge=0.1).solve(Problem(CUBE, Square()), rng=0, clock=over())
    assert few.model.ranks == (1,)
    assert few.status is Status.TIME_LIMIT


@pytest.mark.parametrize("method", [CP(rank=111), Grow(rank=111, form="cp")], ids=repr)
def test_more_terms_than_the_data_can_hold_are_refused(method):
    refuses(ValueError, ["rank", "at most 110", "111"], lambda: complete(CUBE, method=method))
    method.check(Problem(Observations.from_dense(np.ones((12, 11, 12))), Square()))


def test_the_latest_of_nested_clocks_is_overdue():
    inner = Clock(1e9, within=over())
    assert inner.overdue > 0
    assert Clock().overdue == -np.inf
