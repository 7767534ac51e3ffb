"""The scaled latent norm by Frank-Wolfe steps: its minimum by another method, and its own certificate."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Ffw, Observations, Problem
from tensorfill.algebra.unfolding import fold, unfold
from tensorfill.baselines.latent.ffw import LatentSquares
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tests.slow import slow_except


def small_problem(seed=0, shape=(7, 6, 5)):
    rng = np.random.default_rng(seed)
    truth = np.einsum("ir,jr,kr->ijk", *(rng.standard_normal((size, 2)) for size in shape))
    return Problem(Observations.from_dense(truth, rng.random(shape) < 0.6), Square())


def reference(problem, lam, modes, steps=4000):
    """Return the minimum by proximal gradient steps on dense components, with every decomposition complete."""
    values = problem.observations.to_dense()
    seen, values = ~np.isnan(values), np.nan_to_num(values)
    shape = values.shape
    parts = before = np.zeros((len(modes), *shape))
    for step in range(steps):
        ahead = parts + step / (step + 3) * (parts - before)
        residual = np.where(seen, ahead.sum(axis=0) - values, 0)
        before, parts = parts, np.empty_like(parts)
        norm = 0.0
        for place, mode in enumerate(modes):
            u, s, vt = np.linalg.svd(unfold(ahead[place] - residual / len(modes), mode), full_matrices=False)
            s = np.maximum(s - lam / np.sqrt(shape[mode]) / len(modes), 0)
            norm += lam / np.sqrt(shape[mode]) * s.sum()
            parts[place] = fold((u * s) @ vt, mode, shape)
    residual = np.where(seen, parts.sum(axis=0) - values, 0)
    return 0.5 * np.sum(residual**2) + norm


@pytest.mark.parametrize("lam", slow_except([0.5, 2.0], [2.0]))
def test_the_minimum_is_that_of_complete_proximal_steps(lam):
    problem, modes = small_problem(), (0, 1, 2)
    result = Ffw(lam=lam, modes=modes, tol=1e-10, max_iter=300).solve(problem, rng=0)
    assert result.history[-1].objective == pytest.approx(reference(problem, lam, modes), rel=1e-4)


def test_the_objective_is_what_a_few_lines_of_numpy_say():
    problem = small_problem(1)
    result = Ffw(lam=1.5, max_iter=4, tol=0.0).solve(problem, rng=0)
    model = result.model
    residuals = model.predict(problem.observations.coords) - problem.observations.values
    norm = sum(part.s.sum() / np.sqrt(model.shape[part.mode]) for part in model.components)
    assert result.history[-1].objective == pytest.approx(0.5 * residuals @ residuals + 1.5 * norm)
    assert result.history[-1].ranks == model.ranks


@pytest.mark.slow
def test_the_gap_bounds_the_distance_to_the_minimum_and_vanishes():
    problem, lam = small_problem(2), 1.0
    method = Ffw(lam=lam, modes=(0, 1, 2))
    least = reference(problem, lam, (0, 1, 2))
    solver = method.prepare(problem, None, np.random.default_rng(0))
    for _ in range(60):
        before = solver.progress().objective
        solver.step()
        # The singular values are those of a few sweeps, so the bound is nearly one.
        assert solver.gap >= 0.95 * (before - least) - 1e-6
    assert solver.gap < 1e-3 * least


def test_above_the_largest_lambda_the_answer_is_zero_and_below_it_is_not():
    problem = small_problem(3)
    first = Ffw().axes(problem, np.random.default_rng(0))[0].values[0]
    squares = LatentSquares(problem, (0, 1, 2))
    dense = np.zeros(problem.observations.shape)
    dense[tuple(problem.observations.coords.T)] = squares.values
    largest = max(np.sqrt(dense.shape[mode]) * np.linalg.norm(unfold(dense, mode), 2) for mode in (0, 1, 2))
    assert first < largest
    assert not any(Ffw(lam=2 * largest).solve(problem, rng=0).model.ranks)
    assert any(Ffw(lam=first).solve(problem, rng=0).model.ranks)


@pytest.mark.slow
def test_it_is_biased_but_better_than_nothing_on_a_tensor_of_low_rank():
    data = synthetic((20, 18, 16), rank=2, noise=0, rng=0)
    model = Ffw(lam=0.02, max_iter=100).solve(Problem(data.observations, Square()), rng=0).model
    error = np.sqrt(np.mean((model.predict(data.test.coords) - data.test.values) ** 2))
    assert error < 0.4 * data.test.values.std()
