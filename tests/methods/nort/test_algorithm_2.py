"""Algorithm 2 beside the same in plain NumPy, its extrapolation and constants, and what a block of directions has."""

from __future__ import annotations

import functools
import itertools
import weakref

import numpy as np
import pytest

from tensorfill import Nort, Observations
from tensorfill.algebra.roughness import Roughness, explicit
from tensorfill.algebra.storage import DenseStorage, SparseStorage
from tensorfill.graphs import chain
from tensorfill.losses import Square
from tensorfill.methods.nort.descent import approached, largest_cut, room_for, with_room
from tensorfill.methods.nort.momentum import make_momentum
from tensorfill.methods.nort.solver import NortSolver
from tensorfill.methods.problem import Problem
from tensorfill.penalties import LSP, Nuclear, cut

SHAPE, LAM, THETA = (9, 10, 8), np.array([0.5, 0.9, 0.6]), 0.4


def task(shape=SHAPE, density=0.35, noise=0.1, rank=2, seed=0):
    rng = np.random.default_rng(seed)
    parts = [functools.reduce(np.multiply.outer, [rng.standard_normal(size) for size in shape]) for _ in range(rank)]
    data = np.sum(parts, axis=0) + noise * rng.standard_normal(shape)
    return Problem(Observations.from_dense(data, rng.random(shape) < density), Square())


def with_graph(problem, mu):
    """Return the problem with the roughness of a chain along the second mode, mu Tr(Y^T G Y)."""
    graph = chain(SHAPE[1])
    part, curvature = explicit(graph, mu, float(np.linalg.eigvalsh(graph.toarray())[-1]))
    return problem.with_roughness(Roughness({1: part}, curvature))


class Reference:
    """Algorithm 2 with dense arrays: the penalty is LSP with theta, and a graph costs mu Tr(Y^T G Y)."""

    def __init__(self, problem, tau, mu):
        self.values, self.seen = problem.observations.to_dense(fill=0.0), np.zeros(SHAPE, dtype=bool)
        self.seen.ravel()[problem.observations.positions] = True
        self.tau, self.weights, self.total = tau, LAM / LAM.sum(), LAM.sum()
        self.rough = 2 * mu * chain(SHAPE[1]).toarray()

    def gradient(self, x):
        return np.where(self.seen, x - self.values, 0.0) + np.einsum("jl,ilk->ijk", self.rough, x)

    def step(self, v):
        """Return the components X_d after a step from V, each folded."""
        z, found = v - self.gradient(v) / self.tau, []
        for mode, size in enumerate(SHAPE):
            turned = np.moveaxis(z, mode, 0)
            u, s, vt = np.linalg.svd(turned.reshape(size, -1), full_matrices=False)
            folded = ((u * LSP(THETA).prox(s, self.total / self.tau)) @ vt).reshape(turned.shape)
            found.append(np.moveaxis(folded, 0, mode))
        return found

    def sum_of(self, parts):
        return sum(weight * part for weight, part in zip(self.weights, parts, strict=True))

    def f_tau(self, parts):
        x = self.sum_of(parts)
        spectra = [
            np.linalg.svd(np.moveaxis(part, mode, 0).reshape(SHAPE[mode], -1), compute_uv=False)
            for mode, part in enumerate(parts)
        ]
        loss = 0.5 * np.sum((x - self.values)[self.seen] ** 2) + 0.5 * np.vdot(x, np.einsum("jl,ilk", self.rough, x))
        penalty = sum(lam * np.log1p(s / THETA).sum() for lam, s in zip(LAM, spectra, strict=True))
        squares = sum(weight * np.sum(part**2) for weight, part in zip(self.weights, parts, strict=True))
        return loss + penalty + self.tau / 2 * (squares - np.sum(x**2))

    def run(self, count, momentum):
        """Return F_tau, the extrapolation that was tried in each step, and whether it was accepted."""
        before = now = np.zeros(SHAPE)
        value, steps, gamma = self.f_tau([now] * 3), 1, 0.1
        values, gammas, kept = [value], [], []
        for _ in range(count):
            # (k - 1) / (k + 2) in the k-th step since a restart; or gamma_1 = 0.1 and p = 0.5 of Algorithm 2.
            extrapolation = {"restart": (steps - 1) / (steps + 2), "adaptive": gamma, False: 0.0}[momentum]
            parts = self.step(now + extrapolation * (now - before))
            accepted = extrapolation > 0 and self.f_tau(parts) <= value
            if extrapolation > 0 and not accepted:
                parts = self.step(now)
            # After a rejection, a first step without extrapolation has been made already.
            steps = steps + 1 if accepted else 2
            gamma = min(gamma / 0.5, 1.0) if accepted else gamma * 0.5
            before, now, value = now, self.sum_of(parts), self.f_tau(parts)
            values.append(value)
            gammas.append(extrapolation)
            kept.append(accepted)
        return np.array(values), gammas, kept, now


@pytest.mark.parametrize("mu", [0.0, 0.3])
@pytest.mark.parametrize("momentum", [False, "restart", "adaptive"])
def test_every_iteration_is_that_of_algorithm_2(momentum, mu):
    problem = with_graph(task(), mu) if mu else task()
    tau = 1.01 * problem.curvature
    method = Nort(
        lam=LAM,
        penalty=LSP(THETA),
        modes=[0, 1, 2],
        momentum=momentum,
        svd="exact",
        storage="dense",
        tol=0,
        max_iter=50,
    )
    found = method.solve(problem, rng=0)
    values, gammas, kept, answer = Reference(problem, tau, mu).run(50, momentum)
    np.testing.assert_allclose(found.history["f_tau"], values, rtol=1e-9)
    np.testing.assert_allclose(found.model.to_dense(), answer, atol=1e-8)
    assert found.history["momentum"].tolist() == [False, *kept]
    if momentum:
        assert len(set(gammas)) > 4
    if momentum and not mu:
        # The run has what it tests: rejections, and steps after them.
        assert 0 < sum(not accepted for accepted in kept[2:]) < 40


@pytest.mark.parametrize(
    ("momentum", "expected"),
    [
        ("restart", [0, 1 / 4, 2 / 5, 3 / 6, 4 / 7, 1 / 4, 2 / 5]),
        (True, [0, 1 / 4, 2 / 5, 3 / 6, 4 / 7, 1 / 4, 2 / 5]),
        ("adaptive", [0.1, 0.2, 0.4, 0.8, 1.0, 0.5, 1.0]),
        (False, [0.0] * 7),
    ],
)
def test_the_sequence_of_extrapolations(momentum, expected):
    """The first step of the restart rule is not extrapolated, so it is not accepted; the fifth is rejected."""
    rule, found = make_momentum(momentum), []
    for accepted in (momentum == "adaptive", True, True, True, False, True, True):
        found.append(rule.gamma)
        rule.update(accepted)
    assert found == pytest.approx(expected)


def test_an_extrapolation_is_along_the_last_step(monkeypatch):
    asked = []

    def noted(self, now, before, gamma):
        asked.append((now, before, gamma))
        return extrapolated(self, now, before, gamma)

    extrapolated = DenseStorage.extrapolated
    monkeypatch.setattr(DenseStorage, "extrapolated", noted)
    Nort(lam=1.0, penalty=LSP(THETA), storage="dense", tol=0, max_iter=6).solve(task(), rng=0)
    assert [gamma for *_, gamma in asked][:3] == pytest.approx([1 / 4, 2 / 5, 3 / 6])
    for (now, *_), (_, before, _) in itertools.pairwise(asked):
        np.testing.assert_array_equal(now.full, before.full)


def test_no_more_than_two_points_are_held(monkeypatch):
    """X_t and the extrapolated point during a step, also one made again, and X_t alone while X_{t+1} is made."""
    alive, held = [], {"step": [], "end": []}

    def noted(make):
        def made(*given):
            if make is point:
                held["end"].append(sum(each() is not None for each in alive))
            found = make(*given)
            alive.append(weakref.ref(found))
            return found

        return made

    def proximal(*given):
        held["step"].append(sum(each() is not None for each in alive))
        return step(*given)

    point, step = SparseStorage.point, NortSolver._proximal
    monkeypatch.setattr(SparseStorage, "point", noted(point))
    monkeypatch.setattr(SparseStorage, "extrapolated", noted(SparseStorage.extrapolated))
    monkeypatch.setattr(NortSolver, "_proximal", proximal)
    method = Nort(lam=LAM, penalty=LSP(THETA), modes=[0, 1, 2], storage="sparse", momentum="adaptive", tol=0)
    history = method.solve(task(), rng=0).history
    assert not history["momentum"][1:].all()
    assert max(held["step"]) == 2
    assert max(held["end"]) == 1


@pytest.mark.parametrize("storage", ["sparse", "dense"])
def test_the_energy_of_a_graph_is_a_part_of_the_objective(storage):
    """From the components of an answer, by the formula of Section 4.2: mu Tr(Y^T G Y), not half of it."""
    problem = with_graph(task(), 0.3)
    method = Nort(lam=LAM, penalty=LSP(THETA), modes=[0, 1, 2], storage=storage, max_iter=30, tol=0)
    result = method.solve(problem, rng=0)
    x, last = result.model.to_dense(), result.history[-1]
    turned = np.moveaxis(x, 1, 0).reshape(SHAPE[1], -1)
    energy = 0.3 * np.trace(turned.T @ chain(SHAPE[1]).toarray() @ turned)
    loss = 0.5 * np.sum((result.model.predict(problem.observations.coords) - problem.observations.values) ** 2)
    penalty = sum(lam * np.log1p(part.s / THETA).sum() for lam, part in zip(LAM, result.model.components, strict=True))
    assert energy > 0.01 * last.objective
    assert last.objective == pytest.approx(loss + energy + penalty, rel=1e-9)
    squares = sum(w * np.sum(part.s**2) for w, part in zip(LAM / LAM.sum(), result.model.components, strict=True))
    tau = 1.01 * problem.curvature
    assert last.f_tau == pytest.approx(last.objective + tau / 2 * (squares - np.sum(x**2)), rel=1e-8)


# Blocks of directions


def full(rank, size=48, seed=0):
    """Return a complete matrix with this many large singular values; all others are 0.1."""
    rng = np.random.default_rng(seed)
    u, v = (np.linalg.qr(rng.standard_normal((size, size)))[0] for _ in range(2))
    values = np.where(np.arange(size) < rank, np.linspace(60, 50, size), 0.1)
    return Problem(Observations.from_dense((u * values) @ v.T), Square())


def test_a_rank_that_fills_its_block_may_double():
    """Five directions and three extra ones fill two registers, and each block that is full is followed by twice it."""
    result = Nort(
        lam=1.0, penalty=Nuclear(), svd="subspace", storage="sparse", momentum=False, tol=0, max_iter=5
    ).solve(full(40), rng=0)
    assert [record.ranks[0] for record in result.history] == [0, 8, 16, 32, 40, 40]


@pytest.mark.parametrize("rank", [1, 2, 4, 5, 6, 8])
def test_three_directions_beyond_the_rank_are_followed(rank):
    """Without them, a singular value that grows above the threshold would not be seen."""
    method = Nort(lam=1.0, penalty=Nuclear(), svd="subspace", storage="sparse", momentum=False)
    solver = method.solver(full(rank), None, np.random.default_rng(0))
    for _ in range(6):
        solver.step()
    now = solver.state()["now"]
    assert now["model"].ranks == (rank,)
    assert rank + 3 <= now["bases"][0].shape[1] < rank + 3 + 4


@pytest.mark.parametrize("limit", [1, 4, 8])
def test_a_rank_limit_leaves_room_for_extra_directions(limit):
    method = Nort(lam=1.0, penalty=Nuclear(), max_rank=limit, svd="subspace", storage="sparse", momentum=False)
    solver = method.solver(full(20), None, np.random.default_rng(0))
    for _ in range(6):
        solver.step()
    now = solver.state()["now"]
    assert now["model"].ranks == (limit,)
    assert limit + 3 <= now["bases"][0].shape[1] < limit + 3 + 4


def test_the_first_directions_have_converged():
    """Twenty sweeps from random vectors: the first step is that of an exact decomposition."""
    rng = np.random.default_rng(0)
    u, v = (np.linalg.qr(rng.standard_normal((60, 12)))[0] for _ in range(2))
    problem = Problem(Observations.from_dense((u * 40.0 * 0.8 ** np.arange(12)) @ v.T), Square())
    settings = {"lam": 15.0, "penalty": Nuclear(), "momentum": False, "max_iter": 1, "tol": 0}
    exact = Nort(svd="exact", storage="dense", **settings).solve(problem, rng=0).model
    found = Nort(svd="subspace", storage="dense", **settings).solve(problem, rng=0).model
    assert exact.ranks == found.ranks
    np.testing.assert_allclose(found.to_dense(), exact.to_dense(), atol=1e-5)


# Settings that are left out


@pytest.mark.parametrize("penalty", ["lsp", "capped_l1", "mcp", "scad"])
@pytest.mark.parametrize("lam", [0.2, 3.0])
def test_a_penalty_without_a_theta_bends_at_its_threshold(penalty, lam):
    found = Nort(lam=lam, penalty=penalty, modes=[0, 1, 2]).regulariser(task())
    weight = 3 * lam / 1.01
    (made,) = set(found.penalties)
    bends_at = made.unit if penalty == "scad" else made.theta
    assert bends_at == pytest.approx(np.sqrt(weight) if penalty == "lsp" else weight)
    assert cut(made, weight, largest=100.0) == pytest.approx(bends_at, rel=1e-6)


def test_tau_is_just_above_the_curvature():
    assert Nort(lam=1.0).regulariser(task()).tau == pytest.approx(1.01)
    rough = with_graph(task(), 0.3)
    assert Nort(lam=1.0).regulariser(rough).tau == pytest.approx(1.01 * rough.curvature)
    assert rough.curvature == pytest.approx(1 + 2 * 0.3 * np.linalg.eigvalsh(chain(SHAPE[1]).toarray())[-1])


# The way down to a lambda


def test_a_lambda_is_reached_through_thresholds_that_fall_by_a_quarter(monkeypatch):
    problem, asked = task(density=0.9), []
    method = Nort(lam=0.2, penalty=LSP(THETA), modes=[0, 1, 2])
    solve = Nort.solve

    def noted(self, *given, **options):
        asked.append((self, options["start"]))
        return solve(self, *given, **options)

    monkeypatch.setattr(Nort, "solve", noted)
    result = approached(method, problem, rng=np.random.default_rng(0), callback=None, clock=None)
    largest = largest_cut(method, problem, np.random.default_rng(0))
    cuts = [cut(LSP(THETA), sum(each.lam) / 1.01, largest=largest) for each, _ in asked]
    np.testing.assert_allclose(cuts, largest * 0.75 ** np.arange(1, len(cuts) + 1), rtol=1e-6)
    wanted = cut(LSP(THETA), 0.6 / 1.01, largest=largest)
    # All are above the threshold that was asked for, and one more would not be by a whole step.
    assert wanted / 0.75 < cuts[-1] <= wanted / 0.75**2
    assert len(cuts) > 5
    # Each starts from the answer of the last, whose ranks may double, plus five.
    assert asked[0][1] is None
    assert asked[0][0].max_rank == (5, 5, 5)
    for each, start in asked[1:]:
        most = zip(start.ranks, SHAPE, strict=True)
        assert each.max_rank == tuple(min(2 * rank + 5, size) for rank, size in most)
    assert all(each.max_iter <= 50 for each, _ in asked)
    assert max(result.model.ranks) > 1


def test_the_threshold_of_a_whole_answer_is_that_of_its_step():
    """The largest singular value of grad f(0) / tau: a tau that is twice as large halves it."""
    problem = task()
    found = [
        largest_cut(Nort(lam=1.0, tau=tau, modes=[0, 1, 2]), problem, np.random.default_rng(0)) for tau in (1.1, 2.2)
    ]
    zeros = problem.observations.to_dense(fill=0.0)
    norms = [np.linalg.norm(np.moveaxis(zeros, mode, 0).reshape(size, -1), 2) for mode, size in enumerate(SHAPE)]
    assert found == pytest.approx([max(norms) / 1.1, max(norms) / 2.2], rel=1e-3)


def test_room_doubles_and_some_is_spare():
    assert room_for((100, 100, 7), (0, 10, 3)) == (5, 25, 7)
    problem = task()
    assert with_room(Nort(lam=1.0, modes=[0, 1, 2]), problem, None).max_rank == (5, 5, 5)
    model = Nort(lam=0.5, modes=[0, 1, 2], max_rank=1).solve(problem, rng=0).model
    assert with_room(Nort(lam=1.0, modes=[0, 1, 2]), problem, model).max_rank == (7, 7, 7)
