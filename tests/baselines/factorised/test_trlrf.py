"""TRLRF: its core step against least squares, its shrinking against its definition, and what it recovers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill import Observations, Problem, Trlrf, complete
from tensorfill.algebra.ring import merged, ring_of
from tensorfill.baselines.factorised.trlrf import nuclear_norm, shrunken, swept_cores
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.metrics import rmse
from tensorfill.models import CPModel, TensorRing
from tests.refusal import refuses
from tests.strategies import generators, shapes


@st.composite
def rings(draw):
    """Draw the cores of a ring, a tensor of its shape, and something for each core to be near to."""
    shape, rng = draw(shapes(max_order=4, max_entries=120, max_size=6)), draw(generators)
    ranks = [draw(st.integers(1, 3)) for _ in shape]
    sizes = list(zip(ranks, shape, [*ranks[1:], ranks[0]], strict=True))
    cores, wanted = ([rng.standard_normal(size) for size in sizes] for _ in range(2))
    return cores, rng.standard_normal(shape), wanted


@settings(max_examples=40, deadline=None)
@given(drawn=rings(), lam=st.sampled_from([0.3, 5.0]))
def test_each_core_is_the_solution_of_a_least_squares_problem(drawn, lam):
    cores, x, wanted = drawn
    ridge = 0.7
    found = swept_cores(x, cores, wanted, lam, ridge)
    now = list(cores)
    for mode, core in enumerate(cores):
        # The ring is linear in one core: a column of the matrix for each of its numbers.
        columns = []
        for number in range(core.size):
            unit = np.zeros(core.size)
            unit[number] = 1
            columns.append(ring_of([*now[:mode], unit.reshape(core.shape), *now[mode + 1 :]]).ravel())
        matrix = np.stack(columns, axis=1)
        # lam/2 |x - M g|^2 + ridge/2 |g|^2 - <wanted, g>, as one sum of squares.
        stacked = np.vstack([np.sqrt(lam) * matrix, np.sqrt(ridge) * np.eye(core.size)])
        target = np.concatenate([np.sqrt(lam) * x.ravel(), wanted[mode].ravel() / np.sqrt(ridge)])
        expected = np.linalg.lstsq(stacked, target, rcond=None)[0]
        np.testing.assert_allclose(found[mode].ravel(), expected, rtol=1e-6, atol=1e-7)
        now[mode] = found[mode]


@given(drawn=rings())
def test_the_ring_of_merged_neighbours_is_the_same(drawn):
    cores, _, _ = drawn
    tensor = ring_of(cores)
    if len(cores) > 2:
        joined = ring_of([merged(cores[:2]), *cores[2:]])
        np.testing.assert_allclose(joined.reshape(tensor.shape), tensor, atol=1e-9)


@given(drawn=rings(), mode=st.integers(0, 2), threshold=st.floats(0.01, 2))
def test_shrinking_lowers_singular_values(drawn, mode, threshold):
    core = drawn[0][0]
    moved = np.moveaxis(core, mode, 0).reshape(core.shape[mode], -1)
    lower = np.maximum(np.linalg.svd(moved, compute_uv=False) - threshold, 0)
    result = np.moveaxis(shrunken(core, mode, threshold), mode, 0).reshape(moved.shape)
    np.testing.assert_allclose(np.linalg.svd(result, compute_uv=False), lower, atol=1e-9)
    assert np.vdot(result, moved) >= 0
    assert nuclear_norm(moved) == pytest.approx(np.linalg.norm(moved, "nuc"), rel=1e-6)


def random_ring(shape, rank, rng):
    return ring_of([rng.standard_normal((rank, size, rank)) / rank for size in shape])


@pytest.mark.slow
def test_a_ring_is_recovered():
    rng = np.random.default_rng(0)
    truth = random_ring((12, 11, 10, 9), 2, rng)
    seen = rng.random(truth.shape) < 0.3
    fit = complete(np.where(seen, truth, np.nan), method="trlrf", smooth=None, centre=False, rng=0)
    assert isinstance(fit.model, TensorRing)
    assert rmse(fit.to_dense()[~seen], truth[~seen]) < 0.05 * truth.std()


def test_the_objective_is_that_of_the_formula():
    rng = np.random.default_rng(0)
    truth = random_ring((6, 5, 4), 2, rng)
    seen = rng.random(truth.shape) < 0.6
    problem = Problem(Observations.from_dense(truth, seen), Square())
    result = Trlrf(rank=2, lam=3.0, max_iter=7, tol=0).solve(problem, rng=0)
    scale = np.sqrt(np.mean(truth[seen] ** 2))
    norms = sum(
        np.linalg.norm(np.moveaxis(core / scale ** (1 / 3), i, 0).reshape(core.shape[i], -1), "nuc")
        for core in result.model.cores
        for i in range(3)
    )
    left = (result.model.to_dense() - truth)[seen] / scale
    assert result.history[-1].objective == pytest.approx(norms + 1.5 * left @ left)


def test_a_smaller_lambda_makes_cores_of_lower_rank():
    data = synthetic((14, 13, 12), rank=1, rng=0)
    problem = Problem(data.observations, Square())

    def shares(lam):
        cores = Trlrf(rank=3, lam=lam, max_iter=300).solve(problem, rng=0).model.cores
        values = [np.linalg.svd(core.reshape(3, -1), compute_uv=False) for core in cores]
        return np.mean([value[1:].sum() / value.sum() for value in values])

    assert shares(0.03) < shares(100.0)


def test_ranks_and_starts():
    data = synthetic((9, 8, 7), rank=2, rng=0)
    problem = Problem(data.observations, Square())
    small = Trlrf(rank=(2, 3, 1), lam=1.0, max_iter=2).solve(problem, rng=0).model
    assert small.ranks == (2, 3, 1)
    grown = Trlrf(rank=3, lam=1.0, max_iter=1).solve(problem, start=small, rng=0)
    assert grown.model.ranks == (3, 3, 3)
    refuses(ValueError, ["rank", "each of the 3 modes"], lambda: Trlrf(rank=(3, 2), lam=1.0).solve(problem))
    wrong = CPModel((9, 8, 7), np.ones(1), [np.ones((size, 1)) for size in (9, 8, 7)])
    refuses(ValueError, ["start", "tensor ring", "'trlrf'"], lambda: Trlrf(rank=2, lam=1.0).solve(problem, start=wrong))


@pytest.mark.slow
def test_a_given_large_lambda_is_reached_through_smaller_ranks_and_a_moderate_one():
    rng = np.random.default_rng(0)
    i, j, k = np.meshgrid(*(np.linspace(0, 1, size) for size in (15, 20, 12)), indexing="ij")
    truth = np.exp(-8 * ((i - j) ** 2 + (j - k) ** 2))
    seen = rng.random(truth.shape) < 0.35
    data = Observations.from_dense(truth + 0.01 * rng.standard_normal(truth.shape), seen)
    fit = complete(data, method=Trlrf(rank=6, lam=100.0), smooth=None, centre=False, rng=0)
    assert rmse(fit.to_dense()[~seen], truth[~seen]) < 0.15 * truth.std()
