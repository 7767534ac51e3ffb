"""Greedy terms: weights by scipy's least squares, falls by the loss itself, and graphs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

from tensorfill import Greedy, Observations, Problem
from tensorfill.algebra.component import Component
from tensorfill.algebra.roughness import Roughness, explicit
from tensorfill.algebra.unfolding import fold
from tensorfill.baselines.latent.terms import LatentSquares, LatentTerms
from tensorfill.graphs import chain
from tensorfill.losses import Square

SHAPE = (7, 6, 5)


def small_problem(seed=0, rough=False):
    rng = np.random.default_rng(seed)
    seen = rng.random(SHAPE) < 0.6
    problem = Problem(Observations.from_dense(rng.standard_normal(SHAPE), seen), Square())
    if not rough:
        return problem
    laplacians = {mode: chain(SHAPE[mode]) for mode in (0, 2)}
    made = {mode: explicit(each, 0.3, 4.0) for mode, each in laplacians.items()}
    return problem.with_roughness(
        Roughness({mode: part for mode, (part, _) in made.items()}, sum(most for _, most in made.values()))
    )


def dense_terms(blocks):
    """Return every term as a whole tensor."""
    return [
        fold(np.outer(block.u[:, r], block.v[:, r]), block.mode, SHAPE) for block in blocks for r in range(block.rank)
    ]


def rough_root(problem):
    """Return a matrix whose product with a tensor has the roughness as its squared length."""
    size = int(np.prod(SHAPE))
    form = np.stack([problem.roughness.of_dense(row.reshape(SHAPE)).ravel() for row in np.eye(size)])
    values, vectors = np.linalg.eigh(form)
    return (vectors * np.sqrt(np.maximum(values, 0))).T


@pytest.mark.parametrize("rough", [False, True])
def test_the_weights_are_those_of_least_squares(rough):
    problem = small_problem(rough=rough)
    solver = Greedy(rank=7, modes=(0, 1, 2)).prepare(problem, None, np.random.default_rng(0))
    for _ in range(7):
        solver.step()
    terms = solver._terms
    where = tuple(problem.observations.coords.T)
    matrix = np.stack([tensor[where] for tensor in dense_terms(terms.blocks)], axis=1)
    right = problem.observations.values
    if rough:
        root = rough_root(problem)
        more = np.stack([root @ tensor.ravel() for tensor in dense_terms(terms.blocks)], axis=1)
        matrix, right = np.vstack([matrix, more]), np.concatenate([right, np.zeros(len(more))])
    found = scipy.optimize.lsq_linear(matrix, right, tol=1e-14)
    np.testing.assert_allclose(terms.weights, found.x, rtol=1e-5, atol=1e-8)
    assert solver.progress().objective == pytest.approx(found.cost)


@pytest.mark.parametrize("rough", [False, True])
def test_the_quadratic_form_is_that_of_the_dense_tensors(rough):
    problem, rng = small_problem(1, rough=rough), np.random.default_rng(1)
    blocks = []
    for mode, rank in ((0, 2), (1, 0), (2, 3)):
        rows, cols = SHAPE[mode], int(np.prod(SHAPE)) // SHAPE[mode]
        blocks.append(
            Component(mode, rng.standard_normal((rows, rank)), rng.random(rank), rng.standard_normal((cols, rank)))
        )
    terms = LatentTerms.of(LatentSquares(problem, (0, 1, 2)), blocks)
    where, dense = tuple(problem.observations.coords.T), dense_terms(blocks)
    expected = np.array([[x[where] @ y[where] for y in dense] for x in dense])
    if rough:
        expected += np.array([[np.vdot(x, problem.roughness.of_dense(y)) for y in dense] for x in dense])
    np.testing.assert_allclose(terms.hessian, expected, atol=1e-9)
    total = sum(weight * tensor for weight, tensor in zip(terms.weights, dense, strict=True))
    value = 0.5 * np.sum((total[where] - problem.observations.values) ** 2)
    if rough:
        value += 0.5 * np.vdot(total, problem.roughness.of_dense(total))
    assert terms.value == pytest.approx(value)


def test_each_term_is_one_more_and_a_start_with_all_terms_begins_anew():
    problem = small_problem(2)
    method = Greedy(rank=4, modes=(0, 1, 2))
    result = method.solve(problem, rng=0)
    assert [sum(record.ranks) for record in result.history][:6] == [0, 1, 2, 3, 4, 4]
    other = small_problem(3)
    again = method.solve(other, start=result.model, rng=0)
    np.testing.assert_allclose(again.model.to_dense(), method.solve(other, rng=0).model.to_dense())
    longer = Greedy(rank=6, modes=(0, 1, 2)).solve(problem, start=result.model, rng=0)
    assert longer.history[0].objective == pytest.approx(result.history[-1].objective)
    assert longer.history[-1].objective < result.history[-1].objective


def test_a_graph_brings_neighbours_together():
    rng = np.random.default_rng(0)
    smooth = np.einsum("i,j,k->ijk", np.sin(np.arange(12) / 3), rng.random(9) + 1, rng.random(8) + 1)
    data = Observations.from_dense(smooth + 0.5 * rng.standard_normal(smooth.shape), rng.random(smooth.shape) < 0.3)
    problem = Problem(data, Square())
    part, most = explicit(chain(12), 0.03, 4.0)
    errors = [
        np.linalg.norm(Greedy(rank=10).solve(each, rng=0).model.to_dense() - smooth)
        for each in (problem, problem.with_roughness(Roughness({0: part}, most)))
    ]
    assert errors[1] < 0.85 * errors[0]
