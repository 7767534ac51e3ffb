"""Riemannian preconditioned completion: its geometry by its defining equations, its slopes by finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill import RP, Problem
from tensorfill.algebra.tucker_entries import FactorRows, changes_at, gradients, values_at
from tensorfill.baselines.riemannian.tucker_manifold import Direction, TuckerPoint
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.metrics import rmse

SHAPES = (((5, 4), (2, 2)), ((5, 4, 6), (2, 3, 2)), ((4, 3, 5, 3), (2, 2, 3, 1)))


@st.composite
def points(draw):
    """Return a random point, a random direction and the generator of both."""
    shape, ranks = draw(st.sampled_from(SHAPES))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    factors = tuple(np.linalg.qr(rng.standard_normal(size))[0] for size in zip(shape, ranks, strict=True))
    return TuckerPoint(factors, rng.standard_normal(ranks)), random_direction(shape, ranks, rng), rng


def random_direction(shape, ranks, rng):
    changes = tuple(rng.standard_normal(size) for size in zip(shape, ranks, strict=True))
    return Direction(changes, rng.standard_normal(ranks))


def dense(point):
    """Return the whole tensor of a point."""
    tensor = point.core
    for mode, factor in enumerate(point.factors):
        tensor = np.moveaxis(np.tensordot(factor, tensor, axes=(1, mode)), 0, mode)
    return tensor


def some_entries(shape, rng):
    """Return half of all coordinates, in C order."""
    return np.argwhere(rng.random(shape) < 0.5).astype(np.int64)


@given(points())
def test_a_tangent_direction_keeps_factors_orthonormal_and_differs_by_what_is_at_right_angles(made):
    point, ambient, rng = made
    tangent = point.tangent(ambient)
    for factor, change in zip(point.factors, tangent.factors, strict=True):
        along = factor.T @ change
        np.testing.assert_allclose(along, -along.T, atol=1e-10)
    other = point.tangent(random_direction([len(u) for u in point.factors], point.core.shape, rng))
    assert point.inner(ambient.plus(-1.0, tangent), other) == pytest.approx(0, abs=1e-9)


@given(points())
@pytest.mark.slow
def test_a_horizontal_direction_is_at_right_angles_to_every_vertical_one(made):
    point, ambient, rng = made
    tangent = point.tangent(ambient)
    horizontal = point.horizontal(tangent)
    skew = [each - each.T for each in (rng.standard_normal(gram.shape) for gram in point.grams)]
    vertical = point.vertical(skew)
    size = np.sqrt(point.inner(tangent, tangent) * point.inner(vertical, vertical))
    assert abs(point.inner(horizontal, vertical)) <= 1e-6 * size
    # A vertical direction changes the form and not the tensor; taking it away leaves the change of the tensor.
    entries = np.argwhere(np.ones([len(u) for u in point.factors]))
    rows = FactorRows(point.factors)
    for first, second in ((vertical, None), (tangent, horizontal)):
        changes = [
            changes_at(entries, point.core, rows, each.core, FactorRows(each.factors)) if each is not None else 0.0
            for each in (first, second)
        ]
        np.testing.assert_allclose(changes[0], changes[1], atol=1e-9)


@given(points())
@pytest.mark.slow
def test_the_gradient_is_the_slope_of_the_loss_along_retractions(made):
    point, ambient, rng = made
    shape = tuple(len(u) for u in point.factors)
    coords, values = some_entries(shape, rng), rng.standard_normal(shape)

    def loss(where):
        return 0.5 * np.sum((dense(where) - values)[tuple(coords.T)] ** 2)

    residuals = (dense(point) - values)[tuple(coords.T)]
    rows = FactorRows(point.factors)
    core_slope, slopes = gradients(coords, residuals, point.core.ravel(), rows)
    gradient = point.gradient(rows.split(slopes), core_slope.reshape(point.core.shape))
    tangent, h = point.tangent(ambient), 1e-5
    numerical = (loss(point.retracted(tangent, h)) - loss(point.retracted(tangent, -h))) / (2 * h)
    assert point.inner(gradient, tangent) == pytest.approx(numerical, rel=1e-5, abs=1e-5)
    # The loss depends on the tensor only.
    for part in point.against_vertical(gradient):
        np.testing.assert_allclose(part, 0, atol=1e-7 * max(1.0, np.abs(core_slope).max()))
    changes = changes_at(coords, point.core, FactorRows(point.factors), tangent.core, FactorRows(tangent.factors))
    assert residuals @ changes == pytest.approx(numerical, rel=1e-5, abs=1e-5)


@given(points())
@pytest.mark.slow
def test_gradients_are_the_transpose_of_changes(made):
    point, ambient, rng = made
    coords = some_entries([len(u) for u in point.factors], rng)
    weights, rows = rng.standard_normal(len(coords)), FactorRows(point.factors)
    changes = changes_at(coords, point.core, rows, ambient.core, FactorRows(ambient.factors))
    core_slope, slopes = gradients(coords, weights, point.core.ravel(), rows)
    parts = zip(rows.split(slopes), ambient.factors, strict=True)
    back = sum(np.vdot(x, y) for x, y in parts) + np.vdot(core_slope, ambient.core)
    assert weights @ changes == pytest.approx(back)
    seen = values_at(coords, np.zeros(len(coords), dtype=np.int64), point.core.reshape(1, -1), rows)
    np.testing.assert_allclose(seen, dense(point)[tuple(coords.T)], atol=1e-10)


def test_it_recovers_a_tensor_of_low_rank_to_the_limit_of_least_squares():
    data = synthetic((40, 30, 20), rank=2, rng=0)
    result = RP(rank=2, tol=1e-8).solve(Problem(data.observations, Square()), rng=0)
    assert rmse(result.model.predict(data.test.coords), data.test.values) < 1.3 * data.limit


def test_a_larger_rank_starts_from_the_answer_of_a_smaller_one():
    data = synthetic((20, 18, 16), rank=3, rng=0)
    problem = Problem(data.observations, Square())
    small = RP(rank=2).solve(problem, rng=0)
    large = RP(rank=(3, 3, 3)).solve(problem, start=small.model, rng=0)
    assert large.model.ranks == (3, 3, 3)
    assert large.history[0].objective < small.history[-1].objective
    assert large.history[-1].objective < 0.6 * small.history[-1].objective
