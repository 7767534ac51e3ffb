"""NORT with a polish: the objective still falls, the answer is the same or better, and a refusal changes nothing."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorfill
from tensorfill import Choice, Nort, Observations, Status
from tensorfill.datasets import synthetic
from tensorfill.losses import Huber, Square
from tensorfill.methods.nort import polishing
from tensorfill.methods.nort.polishing import AFTER_KEPT, AFTER_REFUSED, FIRST_POLISH, PolishingSolver, TuckerPolish
from tensorfill.methods.problem import Problem
from tensorfill.metrics import rmse
from tensorfill.penalties import LSP, MCP, SCAD, TNN, CappedL1, Nuclear
from tests.refusal import refuses

from .test_nort import problem

PENALTIES = [Nuclear(), CappedL1(0.8), LSP(0.5), TNN(2), SCAD(3.0), MCP(1.5)]


@pytest.fixture
def tried(monkeypatch):
    """Return a list that grows by one with every polish."""
    calls = []
    polished = TuckerPolish.__call__

    def counted(self, model, **options):
        calls.append(model.ranks)
        return polished(self, model, **options)

    monkeypatch.setattr(TuckerPolish, "__call__", counted)
    return calls


@settings(max_examples=25, deadline=None)
@given(
    shape=st.lists(st.integers(3, 8), min_size=2, max_size=4).map(tuple),
    penalty=st.sampled_from(PENALTIES),
    lam=st.floats(0.01, 0.5),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_f_tau_never_rises_whatever_the_shape_and_modes(shape, penalty, lam, seed, data):
    modes = data.draw(st.sets(st.sampled_from(range(len(shape))), min_size=1).map(sorted))
    method = Nort(
        lam=lam, penalty=penalty, modes=modes, max_rank=2, polish=True, svd="exact", storage="dense", tol=0, max_iter=40
    )
    f_tau = method.solve(problem(shape, seed=seed), rng=0).history["f_tau"]
    assert np.diff(f_tau).max() <= 1e-10 * f_tau[0]


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: type(penalty).__name__)
def test_the_objective_is_that_of_nort_alone(penalty, tried):
    task = problem((14, 13, 12), noise=0.05)
    with_polish, alone = (
        Nort(lam=0.3, penalty=penalty, max_rank=2, polish=polish, tol=1e-9, max_iter=2000).solve(task, rng=0)
        for polish in (True, False)
    )
    assert tried
    assert with_polish.status is Status.CONVERGED
    assert with_polish.history[-1].f_tau == pytest.approx(alone.history[-1].f_tau, rel=1e-6)
    np.testing.assert_allclose(with_polish.model.to_dense(), alone.model.to_dense(), atol=1e-3)


def paper_settings(data, **options):
    """Return the paper's settings, with the threshold just below the largest singular value of the noise."""
    edge = data.noise * np.sqrt(len(data.observations) / data.observations.shape[0])
    return {"lam": 0.28 * edge, "penalty": CappedL1(1.7 * edge), "max_rank": 5, "storage": "sparse", **options}


def test_fewer_iterations_lead_to_the_same_answer():
    data = synthetic((60, 60, 60), rng=3)
    task = Problem(data.observations, Square())
    quick, slow = (
        Nort(**paper_settings(data, tol=1e-6), polish=polish).solve(task, held_out=data.test, rng=0)
        for polish in (True, False)
    )
    assert len(quick.history) < 0.6 * len(slow.history)
    assert quick.history[-1].f_tau <= (1 + 1e-5) * slow.history[-1].f_tau
    assert quick.history[FIRST_POLISH + 1].held_out < 1.1 * slow.history[-1].held_out
    assert quick.history["iteration"].tolist() == list(range(len(quick.history)))


@pytest.mark.slow
def test_without_momentum_too_the_weak_directions_are_found():
    data = synthetic((60, 60, 60), factors="normal", observed=16_000, rng=2)
    task = Problem(data.observations, Square())
    alone, polished = (
        Nort(**paper_settings(data, momentum=False), polish=polish).solve(task, held_out=data.test, rng=0)
        for polish in (False, "auto")
    )
    assert polished.status is Status.CONVERGED
    assert alone.history[-1].held_out > 10 * data.limit
    assert polished.history[-1].held_out < 1.3 * data.limit


def test_a_polish_finds_a_direction_that_the_strong_ones_hid():
    """One direction of each mode is noise; the polish exchanges it for the weakest of the truth."""
    data = synthetic((60, 60, 60), rank=3, rng=0)
    task = Problem(data.observations, Square())
    rng = np.random.default_rng(0)
    exact = Nort(**paper_settings(data, max_rank=3), polish=False).solve(task, rng=0).model
    spoiled = [dataclasses.replace(part, u=part.u.copy()) for part in exact.components]
    for part in spoiled:
        part.u[:, 2] = rng.standard_normal(60) / 60**0.5
    start = type(exact)(exact.shape, spoiled, exact.weights).orthonormal()
    (polished,) = TuckerPolish(task.observations, rng)(start)
    assert polished.ranks == (3, 3, 3)
    assert rmse(polished.predict(data.test.coords), data.test.values) < 1.3 * data.limit


def test_a_lean_polish_leaves_out_the_directions_that_fit_noise():
    """The tensor has rank 2, and the threshold is below what noise has."""
    data = synthetic((60, 60, 60), rank=2, rng=0)
    edge = data.noise * np.sqrt(len(data.observations) / 60)
    method = Nort(lam=0.1 * edge, penalty=CappedL1(0.8 * edge), max_rank=3, polish=False, storage="sparse", max_iter=30)
    model = method.solve(Problem(data.observations, Square()), rng=0).model
    assert model.ranks == (3, 3, 3)
    full, lean = TuckerPolish(data.observations, np.random.default_rng(0))(model, lean=True)
    assert full.ranks == (3, 3, 3)
    assert lean.ranks == (2, 2, 2)
    errors = [rmse(each.predict(data.test.coords), data.test.values) for each in (full, lean)]
    assert errors[1] < min(0.9 * errors[0], 1.1 * data.limit)


def test_there_is_no_lean_polish_if_every_direction_is_strong():
    data = synthetic((40, 40, 40), rank=2, factors="normal", observed=12_000, rng=0)
    model = (
        Nort(**paper_settings(data, max_rank=2), polish=False).solve(Problem(data.observations, Square()), rng=0).model
    )
    assert len(list(TuckerPolish(data.observations, np.random.default_rng(0))(model, lean=True))) == 1


def test_later_polishes_keep_the_fit_that_lowers_f_tau_most(monkeypatch):
    task = problem((10, 11, 12))
    solver = Nort(lam=0.1, max_rank=2, polish=False).prepare(task, None, np.random.default_rng(0))
    asked = []

    def fits(self, model, *, lean=False):
        asked.append(lean)
        return iter([model, model] if lean else [model])

    monkeypatch.setattr(TuckerPolish, "__call__", fits)
    for _ in range(30):
        solver.step()
    ends = iter([0.9, 0.8, 0.5])
    polish = TuckerPolish(task.observations, np.random.default_rng(0))
    polishing_solver = PolishingSolver(Standing(solver, 1.0), lambda model: Standing(solver, next(ends)), polish)
    found = []
    for _ in range(40):
        polishing_solver.step()
        found.append(polishing_solver.progress().f_tau)
    assert asked == [False, True]
    assert sorted(set(found)) == [0.5, 0.9, 1.0]


class Standing:
    """A solver that stands still at a given F_tau."""

    def __init__(self, solver, f_tau):
        self._solver, self._progress = solver, dataclasses.replace(solver.progress(), f_tau=f_tau)

    def progress(self):
        return self._progress

    def model(self):
        return self._solver.model()

    def step(self):
        pass


def polish_iterations(task, f_tau_of_polished, count, tried):
    """Return the iterations at which a polish was tried, if its steps end at this F_tau."""
    solver = Nort(lam=0.1, max_rank=2, polish=False).prepare(task, None, np.random.default_rng(0))
    for _ in range(30):
        solver.step()
    standing = Standing(solver, 1.0)
    polish = TuckerPolish(task.observations, np.random.default_rng(0))
    polishing_solver = PolishingSolver(standing, lambda model: Standing(solver, next(f_tau_of_polished)), polish)
    found = []
    for iteration in range(1, count + 1):
        before = len(tried)
        polishing_solver.step()
        if len(tried) > before:
            found.append(iteration)
    return found


def test_polishes_come_at_growing_distances_and_after_a_refusal_much_later(tried):
    task = problem((10, 11, 12))
    first = FIRST_POLISH + 1
    kept = polish_iterations(task, iter([0.9, 0.8, 0.7]), 60, tried)
    assert kept == [first, first + AFTER_KEPT * FIRST_POLISH + 1]
    refused = polish_iterations(task, iter([1.1, 1.1, 1.1]), 60, tried)
    assert refused == [first, first + AFTER_REFUSED * FIRST_POLISH + 1]


def test_an_interruption_of_a_polish_loses_nothing(monkeypatch):
    task = problem((10, 11, 12))
    method = Nort(lam=0.1, max_rank=2, polish=True, tol=0, max_iter=20)

    def interrupted(self, model, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(TuckerPolish, "__call__", interrupted)
    result = method.solve(task, rng=0)
    assert result.status is Status.INTERRUPTED
    alone = dataclasses.replace(method, polish=False, max_iter=FIRST_POLISH).solve(task, rng=0)
    assert len(result.history) == len(alone.history)
    np.testing.assert_array_equal(result.model.to_dense(), alone.model.to_dense())


def test_it_is_automatic_for_sparse_least_squares_with_a_nonconvex_penalty_only(tried):
    large, small = (synthetic((size,) * 3, rank=2, observed=5000, rng=0).observations for size in (50, 25))
    for options, data, loss, expected in [
        ({}, large, Square(), True),
        ({"polish": False}, large, Square(), False),
        ({"penalty": Nuclear()}, large, Square(), False),
        ({}, large, Huber(1.0), False),
        ({}, small, Square(), False),
        ({"polish": True}, small, Square(), True),
    ]:
        tried.clear()
        method = Nort(**{"lam": 0.005, "penalty": LSP(0.1), "max_rank": 2, "tol": 0, "max_iter": 10, **options})
        method.solve(Problem(data, loss), rng=0)
        assert bool(tried) is expected, options


def test_large_cores_are_left_alone(tried, monkeypatch):
    monkeypatch.setattr(polishing, "MOST_UNKNOWNS", 7)
    Nort(lam=0.1, max_rank=2, polish=True, tol=0, max_iter=10).solve(problem((10, 11, 12)), rng=0)
    assert not tried


def test_a_search_polishes_only_if_the_caller_says_so(tried):
    data = synthetic((50, 50, 50), rank=2, observed=5000, rng=0).observations
    options = {"smooth": None, "centre": False, "rng": 0, "choose": Choice(), "theta": 0.1}
    fit = tensorfill.complete(data, **options)
    assert fit.method.polish is False
    assert not tried
    small = synthetic((12, 11, 10), rank=1, observed=500, rng=0).observations
    assert tensorfill.complete(small, polish=True, **options).method.polish is True
    assert tried


def test_what_cannot_be_polished_is_refused_in_one_sentence():
    task = problem((10, 11, 12))
    refuses(ValueError, ["polish", "'auto'", "'often'"], lambda: Nort(polish="often"))
    method = Nort(lam=0.1, polish=True)
    refuses(ValueError, ["polish=True", "'square'", "Huber"], lambda: method.solve(task.with_loss(Huber(1.0))))


# Ranks that run away


def noisy(shape=(48, 48, 48), count=10_000):
    rng = np.random.default_rng(0)
    places = np.sort(rng.choice(int(np.prod(shape)), count, replace=False))
    coords = np.stack(np.unravel_index(places, shape), axis=1)
    factors = [rng.standard_normal(size) for size in shape]
    truth = 3 * np.prod([factor[coords[:, mode]] for mode, factor in enumerate(factors)], axis=0)
    return Observations(coords, truth + 0.1 * rng.standard_normal(count), shape)


SMALL = {"lam": 0.35, "penalty": "capped_l1", "theta": 2.1, "rng": 0}
"""The threshold is at 1.04, and the singular values of the noise lie between 1.2 and 1.7."""


def test_a_threshold_below_the_noise_is_refused_in_one_sentence():
    words = ["lam=0.35", "CappedL1(theta=2.1)", "above 1.04", "raise lam", "max_rank", "lam='auto'"]
    refuses(ValueError, words, lambda: tensorfill.complete(noisy(), **SMALL))


@pytest.mark.parametrize("options", [{"max_rank": 25}, {"penalty": "nuclear", "theta": "auto"}])
def test_a_threshold_below_the_noise_is_allowed_if_it_was_meant(options):
    fit = tensorfill.complete(noisy(), **{**SMALL, "max_iter": 15, **options})
    assert min(fit.ranks) > 20


def test_a_threshold_above_the_noise_is_not_refused():
    fit = tensorfill.complete(noisy(), **{**SMALL, "lam": 0.7, "theta": 4.2})
    assert max(fit.ranks) <= 2


class Falling(Standing):
    """A solver whose F_tau falls by 0.1 in each step, and whose ranks are given."""

    def __init__(self, solver, f_tau, ranks=()):
        super().__init__(solver, f_tau)
        self._ranks = iter(ranks)

    def step(self):
        now = self._progress
        self._progress = dataclasses.replace(now, f_tau=now.f_tau - 0.1, ranks=next(self._ranks, now.ranks))


def solved():
    solver = Nort(lam=0.1, max_rank=2, polish=False).prepare(problem((10, 11, 12)), None, np.random.default_rng(0))
    for _ in range(30):
        solver.step()
    return solver


@pytest.mark.parametrize(("gain", "kept"), [(0.05, False), (0.25, True)])
def test_a_polish_must_gain_more_than_an_ordinary_step(gain, kept, tried):
    """Steps lower F_tau by 0.1 each, and the step after the polish by that, too."""
    solver, polish = solved(), TuckerPolish(problem((10, 11, 12)).observations, np.random.default_rng(0))
    before = 10.0 - 0.1 * FIRST_POLISH
    polishing_solver = PolishingSolver(
        Falling(solver, 10.0), lambda model: Falling(solver, before - gain + 0.1), polish
    )  # fmt: skip
    for _ in range(FIRST_POLISH + 1):
        polishing_solver.step()
    assert tried
    assert polishing_solver.progress().f_tau == pytest.approx(before - (gain if kept else 0.1))


@pytest.mark.parametrize(("changes", "first"), [(0, FIRST_POLISH + 1), (5, 9), (10, 14)])
def test_a_polish_waits_until_ranks_were_the_same_three_times(changes, first, tried):
    solver, polish = solved(), TuckerPolish(problem((10, 11, 12)).observations, np.random.default_rng(0))
    ranks = [(number, 1, 1) for number in range(3, 3 + changes)]
    polishing_solver = PolishingSolver(
        Falling(solver, 10.0, ranks), lambda model: Falling(solver, 100.0), polish
    )  # fmt: skip
    iteration = 0
    while not tried:
        polishing_solver.step()
        iteration += 1
    assert iteration == first
