"""Roughness: on components, on dense tensors, and what NORT makes of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill import Nort, Observations, graphs
from tensorfill.algebra.crossmode import inner_product_of_sums
from tensorfill.algebra.roughness import Roughness, explicit, resolvent
from tensorfill.losses import Logistic, Square
from tensorfill.methods.problem import Problem
from tensorfill.penalties import LSP, CappedL1
from tests.strategies import dense_sum, generators, random_component, shapes


def laplacian(size, rng):
    weights = np.triu(rng.random((size, size)), 1)
    return graphs.from_adjacency(weights + weights.T)


def make(shape, modes, rng, kind="explicit", mu=0.3):
    """Return a roughness, and S as dense matrices by mode."""
    parts, dense, curvature = {}, {}, 0.0
    for mode in modes:
        graph = laplacian(shape[mode], rng)
        largest = graphs.largest_eigenvalue(graph)
        if kind == "explicit":
            parts[mode], bound = explicit(graph, mu, largest)
            dense[mode] = 2 * mu * graph.toarray()
        else:
            parts[mode], bound = resolvent(graph, mu, largest, 1.0)
            dense[mode] = np.eye(shape[mode]) - np.linalg.inv(np.eye(shape[mode]) + 2 * mu * graph.toarray())
        curvature += bound
    return Roughness(parts, curvature), dense


def applied(tensor, dense):
    return sum(
        np.moveaxis(np.tensordot(matrix, tensor, axes=(1, mode)), 0, mode) for mode, matrix in dense.items()
    ) + np.zeros_like(tensor)


@pytest.mark.parametrize("kind", ["explicit", "resolvent"])
@settings(max_examples=30, deadline=None)
@given(data=st.data(), rng=generators)
def test_components_and_dense_tensors_agree_with_the_matrices(kind, data, rng):
    shape = data.draw(shapes(max_entries=400))
    modes = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True, max_size=len(shape)))
    roughness, dense = make(shape, modes, rng, kind)
    parts = [random_component(rng, shape, mode, 2, np.float64) for mode in range(len(shape))]
    weights = rng.dirichlet(np.ones(len(parts)))
    tensor = dense_sum(parts, weights, shape)
    terms = list(zip(weights, parts, strict=True))
    expected = applied(tensor, dense)
    np.testing.assert_allclose(roughness.of_dense(tensor), expected, atol=1e-9)
    rough = roughness.of_terms(terms, shape)
    whole = dense_sum([part for _, part in rough], [weight for weight, _ in rough], shape) if rough else 0 * tensor
    np.testing.assert_allclose(whole, expected, atol=1e-9)
    stepped = roughness.stepped(terms, shape, 0.2)
    made = dense_sum([part for _, part in stepped], [weight for weight, _ in stepped], shape)
    np.testing.assert_allclose(made, tensor - 0.2 * expected, atol=1e-9)
    energy = inner_product_of_sums(terms, rough, shape)
    assert energy == pytest.approx(np.vdot(tensor, expected), abs=1e-8)
    assert -1e-9 <= energy <= roughness.curvature * np.vdot(tensor, tensor) * (1 + 1e-6) + 1e-9


def holes(seed=0, shape=(8, 7, 6)):
    rng = np.random.default_rng(seed)
    truth = np.einsum("ir,jr,kr->ijk", *(rng.standard_normal((size, 2)) for size in shape))
    seen = rng.random(shape) < 0.4
    return truth, seen, rng


@pytest.mark.parametrize("kind", ["explicit", "resolvent"])
@pytest.mark.parametrize("storage", ["sparse", "dense"])
@pytest.mark.parametrize("loss", [Square(), Logistic()], ids=["square", "logistic"])
@pytest.mark.parametrize("momentum", [False, "restart", "adaptive"])
def test_f_tau_falls_with_two_laplacians(kind, storage, loss, momentum):
    truth, seen, rng = holes()
    values = np.sign(truth) if isinstance(loss, Logistic) else truth
    roughness, _ = make(truth.shape, [0, 2], rng, kind)
    problem = Problem(Observations.from_dense(values, seen), loss, roughness)
    for penalty in (LSP(0.5), CappedL1(0.5)):
        method = Nort(lam=0.1, penalty=penalty, storage=storage, momentum=momentum, max_iter=30, tol=0)
        f_tau = method.solve(problem, rng=0).history["f_tau"]
        assert np.diff(f_tau).max() <= 1e-9 * abs(f_tau[0])
        assert f_tau[-1] < 0.99 * f_tau[0]


def test_sparse_and_dense_storage_agree_and_can_be_resumed():
    truth, seen, rng = holes()
    roughness, _ = make(truth.shape, [1, 2], rng, "resolvent")
    problem = Problem(Observations.from_dense(truth, seen), Square(), roughness)
    settings_ = {"lam": 0.2, "penalty": LSP(0.5), "tol": 0, "momentum": False}
    whole = [Nort(storage=kind, max_iter=200, **settings_).solve(problem, rng=0).model for kind in ("sparse", "dense")]
    np.testing.assert_allclose(whole[0].to_dense(), whole[1].to_dense(), atol=1e-4)
    first = Nort(max_iter=100, **settings_).solve(problem, rng=0)
    rest = Nort(max_iter=100, **settings_).solve(problem, start=first.model, rng=0)
    assert rest.history["f_tau"][0] == pytest.approx(first.history["f_tau"][-1])
    np.testing.assert_allclose(rest.model.to_dense(), whole[0].to_dense(), atol=1e-4)


def test_without_a_penalty_it_is_the_solution_of_the_normal_equations():
    truth, seen, rng = holes(shape=(6, 5, 4))
    roughness, dense = make(truth.shape, [0, 1], rng, mu=0.2)
    problem = Problem(Observations.from_dense(truth, seen), Square(), roughness)
    model = Nort(lam=0.0, modes=[0], storage="dense", svd="exact", max_iter=4000, tol=0).solve(problem, rng=0).model
    identity = np.eye(truth.size).reshape(*truth.shape, -1)
    system = np.diag(seen.ravel().astype(float)) + np.stack(
        [applied(identity[..., column], dense).ravel() for column in range(truth.size)], axis=1
    )
    expected = np.linalg.lstsq(system, np.where(seen, truth, 0).ravel(), rcond=None)[0]
    touched = np.abs(expected) > 0
    np.testing.assert_allclose(model.to_dense().ravel()[touched], expected[touched], atol=1e-4)


@pytest.mark.parametrize("mu", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("steepest", [0.25, 1.0])
def test_the_curvature_is_the_largest_eigenvalue_and_that_of_a_resolvent_is_below_its_limit(mu, steepest):
    """With more, steps would be shorter than they need be, however stiff the graph is."""
    graph = laplacian(9, np.random.default_rng(0))
    largest = np.linalg.eigvalsh(graph.toarray())[-1]
    for part, curvature in (explicit(graph, mu, largest), resolvent(graph, mu, largest, steepest)):
        assert curvature == pytest.approx(np.linalg.eigvalsh(part(np.eye(9)))[-1])
    assert curvature < steepest
