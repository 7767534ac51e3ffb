"""The squared latent norm by its dual problem: against dense matrices, finite differences and strong duality."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill import Observations, Problem, Trmm
from tensorfill.algebra.unfolding import fold, unfold
from tensorfill.baselines.latent.terms import LatentSquares
from tensorfill.baselines.latent.trmm import Dual
from tensorfill.losses import Square

SHAPE, MODES = (7, 6, 5), (0, 1, 2)


def small_problem(seed=0):
    rng = np.random.default_rng(seed)
    truth = np.einsum("ir,jr,kr->ijk", *(rng.standard_normal((size, 2)) for size in SHAPE))
    return Problem(Observations.from_dense(truth, rng.random(SHAPE) < 0.6), Square())


def factors_of(seed, rank=3):
    rng = np.random.default_rng(seed)
    made = [rng.standard_normal((size, rank)) for size in SHAPE]
    return [factor / np.linalg.norm(factor) for factor in made]


def dense_value(problem, factors, lam):
    """Return g with the matrix K as a whole, and the solution z."""
    where = tuple(problem.observations.coords.T)
    matrix = np.eye(len(problem.observations))
    for place in range(len(matrix)):
        tensor = np.zeros(SHAPE)
        tensor[tuple(index[place] for index in where)] = 1
        for mode, factor in enumerate(factors):
            matrix[:, place] += fold(factor @ factor.T @ unfold(tensor, mode), mode, SHAPE)[where] / lam
    z = np.linalg.solve(matrix, problem.observations.values)
    return 0.5 * z @ problem.observations.values, z


@given(st.integers(0, 1000), st.sampled_from([0.02, 0.3, 5.0]))
def test_the_dual_is_that_of_the_dense_linear_system(seed, lam):
    problem, factors = small_problem(seed), factors_of(seed)
    dual = Dual(LatentSquares(problem, MODES), lam)
    found = dual.solved(factors, np.zeros(len(problem.observations)))
    value, z = dense_value(problem, factors, lam)
    assert found.value == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(found.z, z, atol=1e-4 * np.linalg.norm(problem.observations.values))
    # The solution is what the answer leaves of the observations.
    seen = dual.squares.seen(dual.parts(factors, found.z))
    np.testing.assert_allclose(seen + found.z, problem.observations.values, atol=1e-4)


@given(st.integers(0, 1000))
@pytest.mark.slow
def test_its_gradient_is_that_of_finite_differences(seed):
    problem, factors, lam = small_problem(seed), factors_of(seed), 0.5
    dual = Dual(LatentSquares(problem, MODES), lam)
    gradient = dual.gradient(dual.solved(factors, np.zeros(len(problem.observations))))
    rng, h = np.random.default_rng(seed), 1e-5
    along = [rng.standard_normal(factor.shape) for factor in factors]
    along = [each - np.vdot(factor, each) * factor for factor, each in zip(factors, along, strict=True)]

    def value(length):
        moved = [factor + length * each for factor, each in zip(factors, along, strict=True)]
        return dense_value(problem, [factor / np.linalg.norm(factor) for factor in moved], lam)[0]

    slope = sum(np.vdot(x, y) for x, y in zip(gradient, along, strict=True))
    assert slope == pytest.approx((value(h) - value(-h)) / (2 * h), rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("lam", [0.1, 1.0])
def test_at_the_end_the_dual_the_primal_and_the_lower_bound_agree(lam):
    problem = small_problem(1)
    solver = Trmm(lam=lam, rank=5, modes=MODES).prepare(problem, None, np.random.default_rng(0))
    for _ in range(80):
        solver.step()
    dual, model, values = solver.progress().objective, solver.model(), problem.observations.values
    residuals = model.predict(problem.observations.coords) - values
    primal = 0.5 * residuals @ residuals + lam / 2 * sum(part.s.sum() ** 2 for part in model.components)
    sparse = np.zeros(SHAPE)
    sparse[tuple(problem.observations.coords.T)] = -residuals
    lower = -residuals @ values - 0.5 * residuals @ residuals
    lower -= sum(np.linalg.norm(unfold(sparse, mode), 2) ** 2 for mode in MODES) / (2 * lam)
    assert primal == pytest.approx(dual, rel=1e-4)
    assert lower == pytest.approx(dual, rel=1e-3)


def test_more_columns_than_the_answer_needs_do_not_change_it():
    problem = small_problem(2)
    few, many = (
        Trmm(lam=1.0, rank=rank, tol=1e-9, modes=MODES).solve(problem, rng=0).history[-1].objective for rank in (5, 7)
    )
    assert few == pytest.approx(many, rel=1e-4)


def test_it_starts_from_an_answer_of_its_own_with_room_for_more():
    problem = small_problem(3)
    small = Trmm(lam=0.1, rank=1).solve(problem, rng=0)
    large = Trmm(lam=0.1, rank=3).solve(problem, start=small.model, rng=0)
    assert large.history[-1].objective < small.history[-1].objective
    assert max(large.model.ranks) > max(small.model.ranks)
