"""Least squares for sums of outer products: each step against NumPy, and what is left when terms vanish."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Observations
from tensorfill.methods import cp_least_squares
from tensorfill.methods.cp_least_squares import CPLeastSquares
from tensorfill.models import CPModel

pytestmark = pytest.mark.usefixtures("both_kinds_of_loops")

SHAPES = [(12, 9), (9, 8, 7), (6, 7, 5, 6)]
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def example(seed, shape, terms=2, noise=0.1, density=0.7):
    """Return a noisy low-rank tensor with holes, and a start near it."""
    rng = np.random.default_rng(seed)
    factors = [rng.standard_normal((size, terms)) for size in shape]
    truth = CPModel(shape, np.ones(terms), factors).to_dense()
    seen = rng.random(shape) < density
    observations = Observations(np.argwhere(seen), truth[seen] + noise * rng.standard_normal(seen.sum()), shape)
    near = [factor + 0.3 * rng.standard_normal(factor.shape) for factor in factors]
    return observations, CPModel.normalised(near), truth


def left_of(observations, model):
    return float(np.sum((observations.values - model.predict(observations.coords)) ** 2))


def features(coords, factors, mode):
    """Return the product of the rows of all factors but that of `mode`, for each entry."""
    return np.prod([factor[coords[:, d]] for d, factor in enumerate(factors) if d != mode], axis=0)


def swept_by_numpy(observations, start):
    """Return the factors after a sweep of ridge regressions, row by row."""
    coords, values = observations.coords, observations.values
    factors = [factor.copy() for factor in start.balanced_factors()]
    terms = factors[0].shape[1]
    unknowns = sum(factor.size for factor in factors)
    for mode, factor in enumerate(factors):
        w = features(coords, factors, mode)
        squares = np.sum((values - np.sum(w * factor[coords[:, mode]], axis=1)) ** 2)
        variance = squares / max(len(values) - unknowns, 0.1 * len(values))
        ridge = np.diag(np.sqrt(variance / np.mean(factor**2, axis=0)))
        for i in range(len(factor)):
            own = coords[:, mode] == i
            rows, sides = np.vstack([w[own], ridge]), np.concatenate([values[own], np.zeros(terms)])
            factors[mode][i] = np.linalg.lstsq(rows, sides, rcond=None)[0]
    return factors


@each_shape
def test_a_sweep_is_a_ridge_regression_for_each_row(shape):
    observations, start, _ = example(0, shape)
    squares = CPLeastSquares(observations, start)
    squares.sweep()
    expected = CPModel(shape, np.ones(2), swept_by_numpy(observations, start)).to_dense()
    np.testing.assert_allclose(squares.model().to_dense(), expected, rtol=1e-6, atol=1e-7)


def test_without_noise_a_factor_is_that_of_lstsq():
    observations, _, truth = example(1, (9, 8, 7), noise=0.0)
    rng = np.random.default_rng(1)
    factors = [rng.standard_normal((size, 2)) for size in (9, 8, 7)]
    # The same draws as those of the example: all factors are right but the last, which the sweep solves for.
    np.testing.assert_allclose(CPModel((9, 8, 7), np.ones(2), factors).to_dense(), truth)
    squares = CPLeastSquares(observations, CPModel((9, 8, 7), np.ones(2), factors))
    squares.sweep()
    np.testing.assert_allclose(squares.model().to_dense(), truth, atol=1e-6)
    assert squares.sum_of_squares < 1e-10 * np.sum(truth**2)


@each_shape
def test_the_sum_of_squares_is_that_of_the_residuals(shape):
    observations, start, _ = example(2, shape)
    squares = CPLeastSquares(observations, start)
    assert squares.sum_of_squares == pytest.approx(left_of(observations, start))
    for _ in range(3):
        before = squares.sum_of_squares
        squares.sweep()
        assert squares.sum_of_squares == pytest.approx(left_of(observations, squares.model()))
        assert squares.sum_of_squares < before
    free = len(observations) - 2 * sum(shape)
    assert squares.variance == pytest.approx(squares.sum_of_squares / max(free, 0.1 * len(observations)))


@each_shape
def test_sweeps_end_near_the_truth(shape):
    observations, start, truth = example(3, shape, noise=0.01)
    squares = CPLeastSquares(observations, start)
    for _ in range(60):
        squares.sweep()
    near, far = (np.sqrt(np.mean((model.to_dense() - truth) ** 2)) for model in (squares.model(), start))
    assert near < 0.015
    assert far > 10 * near


def test_the_unit_of_the_values_does_not_matter():
    observations, start, _ = example(4, (9, 8, 7))
    large = CPModel(start.shape, 1e6 * start.weights, start.factors)
    small, other = (
        CPLeastSquares(observations, start),
        CPLeastSquares(observations.with_values(1e6 * observations.values), large),
    )
    small.sweep()
    other.sweep()
    np.testing.assert_allclose(other.model().to_dense(), 1e6 * small.model().to_dense(), rtol=1e-7, atol=1e-3)


def test_a_row_without_any_entry_is_zero():
    observations, start, _ = example(5, (9, 8, 7))
    squares = CPLeastSquares(observations.select(observations.coords[:, 1] != 3), start)
    squares.sweep()
    dense = squares.model().to_dense()
    np.testing.assert_array_equal(dense[:, 3], 0)
    assert np.isfinite(dense).all()
    assert dense.any()


def test_terms_that_have_vanished_stay_zero():
    observations, _, _ = example(6, (9, 8, 7))
    nothing = CPModel((9, 8, 7), np.zeros(2), [np.zeros((size, 2)) for size in (9, 8, 7)])
    squares = CPLeastSquares(observations.with_values(100 * observations.values), nothing)
    squares.sweep()
    np.testing.assert_array_equal(squares.model().to_dense(), 0)


def test_no_terms_stay_none():
    observations, _, _ = example(6, (9, 8, 7))
    squares = CPLeastSquares(observations, CPModel((9, 8, 7), np.zeros(0), [np.zeros((size, 0)) for size in (9, 8, 7)]))
    squares.sweep()
    assert squares.model().ranks == (0,)
    assert squares.sum_of_squares == pytest.approx(np.sum(observations.values**2))


def test_float32_stays_float32():
    observations, start, _ = example(7, (9, 8, 7))
    wide, narrow = CPLeastSquares(observations, start), CPLeastSquares(observations.astype(np.float32), start)
    for each in (wide, narrow):
        each.sweep()
    model = narrow.model()
    assert model.weights.dtype == np.float32
    assert all(factor.dtype == np.float32 for factor in model.factors)
    np.testing.assert_allclose(model.to_dense(), wide.model().to_dense(), atol=1e-4)


def test_rows_solved_for_in_several_rounds_are_the_same(monkeypatch):
    observations, start, _ = example(8, (9, 8, 7))
    once, piecewise = CPLeastSquares(observations, start), CPLeastSquares(observations, start)
    once.sweep()
    monkeypatch.setattr(cp_least_squares, "MOST_AT_A_TIME", 10)
    piecewise.sweep()
    np.testing.assert_allclose(piecewise.model().to_dense(), once.model().to_dense(), rtol=1e-10)
    assert piecewise.sum_of_squares == pytest.approx(once.sum_of_squares)
