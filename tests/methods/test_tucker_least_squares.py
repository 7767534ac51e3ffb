"""Least squares for Tucker models that shrinks by the noise: ridge regressions, and conjugate gradients for the core.

`test_tucker_als` has the steps that hold to the solution before.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tensorfill import Observations
from tensorfill.methods import tucker_least_squares
from tensorfill.methods.tucker_least_squares import LeastSquares
from tensorfill.models import Tucker

pytestmark = pytest.mark.usefixtures("both_kinds_of_loops")

# Shape, and the rank of each free mode; the other modes keep the identity.
CASES = [
    ((12, 9), {0: 3, 1: 2}),
    ((9, 8, 7), {0: 3, 1: 2, 2: 2}),
    ((9, 3, 8), {0: 2, 2: 3}),
    ((6, 7, 5, 6), {0: 2, 1: 2, 2: 2, 3: 1}),
    ((6, 3, 7, 2), {0: 2, 2: 3}),
]
each_case = pytest.mark.parametrize(("shape", "ranks"), CASES, ids=str)


def example(seed, shape, ranks, density=0.7):
    """Return entries that are partly explained by a model, and a model near it."""
    rng = np.random.default_rng(seed)
    factors = [
        np.linalg.qr(rng.standard_normal((size, ranks[mode])))[0] if mode in ranks else np.eye(size)
        for mode, size in enumerate(shape)
    ]
    core = 10 * rng.standard_normal([factor.shape[1] for factor in factors])
    truth = Tucker(shape, core, factors).to_dense() + 0.3 * rng.standard_normal(shape)
    seen = rng.random(shape) < density
    start = Tucker(shape, core + 4 * rng.standard_normal(core.shape), factors)
    return Observations(np.argwhere(seen), truth[seen], shape), start


def left_of(observations, model):
    return float(np.sum((observations.values - model.predict(observations.coords)) ** 2))


def variance_of(observations, model, free):
    inside = sum(model.ranks[mode] * (model.shape[mode] - model.ranks[mode]) for mode in free)
    entries = len(observations)
    return left_of(observations, model) / max(entries - model.core.size - inside, 0.1 * entries)


def ridge_regression(features, values, ridge):
    """Return the minimum of |features z - values|^2 + ridge |z|^2, as least squares with rows more."""
    unknowns = features.shape[1]
    rows = np.vstack([features, np.sqrt(ridge) * np.eye(unknowns)])
    return np.linalg.lstsq(rows, np.concatenate([values, np.zeros(unknowns)]), rcond=None)[0]


def core_features(model, coords):
    """Return the rows kron(A_1[i_1], A_2[i_2], ..), from the definition alone."""
    return np.array(
        [functools.reduce(np.kron, [factor[i] for factor, i in zip(model.factors, row, strict=True)]) for row in coords]
    )


def row_features(model, coords, mode):
    """Return the core times the rows of all factors but that of `mode`, for each entry."""
    factors = [np.eye(model.ranks[mode]) if d == mode else factor for d, factor in enumerate(model.factors)]
    whole = Tucker([len(factor) for factor in factors], model.core, factors).to_dense()
    return np.moveaxis(whole, mode, -1)[tuple(np.delete(coords, mode, axis=1).T)]


@pytest.fixture(params=["direct", "gradients", "direct after all"])
def core_solver(request, monkeypatch):
    """Solve for the core with a normal matrix, by conjugate gradients to the end, or with the matrix after a step."""
    if request.param != "direct":
        monkeypatch.setattr(tucker_least_squares, "MOST_DIRECT", 0)
        monkeypatch.setattr(tucker_least_squares, "GRADIENT_TOLERANCE", 1e-10)
    if request.param == "gradients":
        monkeypatch.setattr(tucker_least_squares, "MOST_IN_NORMAL", 0)
        monkeypatch.setattr(tucker_least_squares, "MOST_STEPS", 500)
    if request.param == "direct after all":
        monkeypatch.setattr(tucker_least_squares, "FEW_STEPS", 1)


@pytest.mark.usefixtures("core_solver")
@each_case
def test_the_core_is_that_of_a_ridge_regression(shape, ranks):
    observations, start = example(0, shape, ranks)
    squares = LeastSquares(observations, start, list(ranks), shrink=True)
    squares.fit_core()
    # The variance before the step, over the mean square of the core: neither of its bounds is met here.
    ridge = variance_of(observations, start, ranks) / np.mean(start.core**2)
    expected = ridge_regression(core_features(start, observations.coords), observations.values, ridge)
    plain = ridge_regression(core_features(start, observations.coords), observations.values, 0.0)
    np.testing.assert_allclose(squares.model().core.ravel(), expected, atol=1e-5)
    assert np.abs(expected - plain).max() > 1e-3


@pytest.mark.usefixtures("core_solver")
def test_a_core_of_zeros_counts_as_large_as_the_entries_ask_for():
    shape, ranks = (9, 8, 7), {0: 3, 1: 2, 2: 2}
    observations, start = example(1, shape, ranks)
    zero = Tucker(shape, np.zeros_like(start.core), start.factors)
    squares = LeastSquares(observations, zero, list(ranks), shrink=True)
    squares.fit_core()
    square = np.mean(observations.values**2) * np.prod(shape) / zero.core.size
    ridge = variance_of(observations, zero, ranks) / square
    expected = ridge_regression(core_features(zero, observations.coords), observations.values, ridge)
    np.testing.assert_allclose(squares.model().core.ravel(), expected, atol=1e-5)


@each_case
def test_rows_are_those_of_a_ridge_regression(shape, ranks):
    observations, start = example(2, shape, ranks)
    for mode in ranks:
        squares = LeastSquares(observations, start, list(ranks), shrink=True)
        squares.fit_rows(mode)
        ridge, factor = variance_of(observations, start, ranks) * shape[mode], np.zeros_like(start.factors[mode])
        features = row_features(start, observations.coords, mode)
        for i in range(shape[mode]):
            own = observations.coords[:, mode] == i
            factor[i] = ridge_regression(features[own], observations.values[own], ridge)
        wanted = Tucker(shape, start.core, [factor if d == mode else each for d, each in enumerate(start.factors)])
        np.testing.assert_allclose(squares.model().to_dense(), wanted.to_dense(), atol=1e-5)
        found = squares.model().factors[mode]
        np.testing.assert_allclose(found.T @ found, np.eye(ranks[mode]), atol=1e-10)


@pytest.mark.parametrize("shrink", [False, True])
@each_case
def test_conjugate_gradients_end_where_the_normal_equations_do(monkeypatch, shape, ranks, shrink):
    observations, start = example(3, shape, ranks)

    def core():
        squares = LeastSquares(observations, start, list(ranks), shrink=shrink)
        squares.fit_core()
        return squares.model().core

    direct = core()
    monkeypatch.setattr(tucker_least_squares, "MOST_DIRECT", 0)
    monkeypatch.setattr(LeastSquares, "_solved", None)
    np.testing.assert_allclose(core(), direct, atol=2e-3 * np.abs(direct).max())
    assert np.abs(direct - start.core).max() > 0.1 * np.abs(direct).max()


@pytest.mark.usefixtures("core_solver")
@pytest.mark.parametrize("shrink", [False, True])
@each_case
def test_the_sum_of_squares_is_that_of_the_residuals(shape, ranks, shrink):
    observations, start = example(4, shape, ranks)
    squares = LeastSquares(observations, start, list(ranks), shrink=shrink)
    steps = [squares.fit_core, *(functools.partial(squares.fit_rows, mode) for mode in ranks)]
    assert squares.sum_of_squares == pytest.approx(left_of(observations, start))
    for step in [*steps, squares.sweep]:
        step()
        assert squares.sum_of_squares == pytest.approx(left_of(observations, squares.model()), rel=1e-8)
        assert squares.variance == pytest.approx(variance_of(observations, squares.model(), ranks), rel=1e-8)


def test_a_start_of_zeros_leaves_the_entries():
    observations, start = example(5, (9, 8, 7), {0: 2, 1: 2, 2: 2})
    squares = LeastSquares(observations, Tucker(start.shape, 0 * start.core, start.factors), range(3), shrink=True)
    assert squares.sum_of_squares == pytest.approx(np.sum(observations.values**2))


def test_rows_without_any_entry_become_zero():
    observations, start = example(6, (10, 9, 3), {0: 2, 1: 2})
    squares = LeastSquares(observations.select(observations.coords[:, 0] != 4), start, [0, 1], shrink=True)
    squares.sweep()
    dense = squares.model().to_dense()
    np.testing.assert_allclose(dense[4], 0, atol=1e-12)
    assert np.abs(dense[5]).max() > 0.1


def test_the_unit_of_the_values_does_not_matter():
    observations, start = example(7, (9, 8, 7), {0: 2, 1: 2, 2: 2})
    small = LeastSquares(observations, start, range(3), shrink=True)
    large = LeastSquares(
        observations.with_values(1e6 * observations.values),
        Tucker(start.shape, 1e6 * start.core, start.factors),
        range(3),
        shrink=True,
    )
    for each in (small, large):
        each.sweep()
        each.sweep()
    np.testing.assert_allclose(large.model().to_dense(), 1e6 * small.model().to_dense(), rtol=1e-6, atol=1e-2)


def test_shrinking_keeps_many_new_directions_of_noise_small():
    rng = np.random.default_rng(8)
    shape = (20, 20, 20)
    seen = rng.random(shape) < 0.1
    observations = Observations(np.argwhere(seen), rng.standard_normal(seen.sum()), shape)
    factors = [np.linalg.qr(rng.standard_normal((20, 6)))[0] for _ in shape]
    norms = {}
    for shrink in (False, True):
        squares = LeastSquares(observations, Tucker(shape, np.zeros((6, 6, 6)), factors), range(3), shrink=shrink)
        squares.sweep()
        squares.sweep()
        norms[shrink] = squares.model().norm()
    assert norms[True] < 0.2 * norms[False]


def test_a_model_without_directions_stays():
    observations, _ = example(9, (9, 8, 7), {0: 2, 1: 2, 2: 2})
    nothing = Tucker((9, 8, 7), np.zeros((0, 0, 0)), [np.zeros((size, 0)) for size in (9, 8, 7)])
    squares = LeastSquares(observations, nothing, range(3), shrink=True)
    squares.sweep()
    assert squares.model().ranks == (0, 0, 0)
    assert squares.sum_of_squares == pytest.approx(np.sum(observations.values**2))
