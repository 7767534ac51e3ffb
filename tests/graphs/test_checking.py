"""Checks of Laplacians, and their largest eigenvalue, against dense matrices; what is refused, and how."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tensorfill.graphs import (
    chain,
    check_laplacian,
    checking,
    from_adjacency,
    great_circle,
    grid,
    haversine,
    knn,
    largest_eigenvalue,
    ring,
)

from ..refusal import refuses
from ..strategies import generators
from .examples import SPARSE, is_laplacian, random_places, random_weights


class TestCheckLaplacian:
    @pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist, *SPARSE])
    def test_takes_any_kind_of_matrix_and_leaves_it_alone(self, kind):
        dense = from_adjacency(random_weights(np.random.default_rng(0), 6)).toarray()
        given = kind(dense)
        checked = check_laplacian(given, 6, 1)
        np.testing.assert_array_equal(is_laplacian(checked), dense)
        checked.data[:] = 0
        np.testing.assert_array_equal(given.toarray() if sparse.issparse(given) else given, dense)

    @given(generators, st.integers(1, 10))
    def test_takes_any_positive_semidefinite_matrix(self, rng, size):
        factor = rng.standard_normal((size, rng.integers(1, size + 1)))
        matrix = factor @ factor.T
        np.testing.assert_allclose(check_laplacian(matrix, size, 0).toarray(), matrix, rtol=1e-12)

    @given(generators, st.integers(2, 10))
    def test_refuses_indefinite_matrices(self, rng, size):
        basis = np.linalg.qr(rng.standard_normal((size, size)))[0]
        matrix = basis @ np.diag([-0.01, *rng.uniform(0.5, 1, size - 1)]) @ basis.T
        refuses(ValueError, ["laplacian[2]", "positive semidefinite"], lambda: check_laplacian(matrix, size, 2))

    def test_the_identity_zero_and_the_smallest(self):
        np.testing.assert_array_equal(check_laplacian(np.eye(4), 4, 0).toarray(), np.eye(4))
        assert check_laplacian(np.zeros((3, 3)), 3, 0).nnz == 0
        assert check_laplacian([[2]], 1, 0).toarray() == [[2.0]]
        assert check_laplacian([[0]], 1, 0).nnz == 0

    def test_rounding_is_no_reason_to_refuse(self):
        graph = haversine(random_places(np.random.default_rng(0), 30), 0.5).toarray()
        for matrix in (graph.astype(np.float32), graph * (1 + 1e-12 * np.arange(30)), graph - 1e-12 * np.eye(30)):
            checked = check_laplacian(matrix, 30, 0)
            assert abs(checked - checked.T).max() == 0
            np.testing.assert_allclose(checked.toarray(), graph, atol=1e-5)

    def test_large_matrices_that_are_not_diagonally_dominant(self):
        size = checking.ALL_EIGENVALUES_UP_TO + 100
        bent = chain(size) @ chain(size)
        assert check_laplacian(bent, size, 0).nnz == bent.nnz
        lowered = bent - 0.01 * sparse.diags_array(np.ones(size))
        refuses(
            ValueError, ["positive semidefinite", "eigenvalue near -0.0"], lambda: check_laplacian(lowered, size, 0)
        )

    def test_a_large_laplacian_is_taken_as_it_is(self):
        assert check_laplacian(grid(300, 300), 90_000, 0).nnz == grid(300, 300).nnz

    @pytest.mark.parametrize("size", [2, 5])
    @pytest.mark.parametrize("diagonal", [0.0, 1.0])
    def test_weights_in_place_of_a_laplacian(self, size, diagonal):
        weights = np.exp(-2 * great_circle(random_places(np.random.default_rng(size), size)))
        np.fill_diagonal(weights, diagonal)
        for matrix in (weights, sparse.csr_array(weights), np.triu(weights, 1) + diagonal * np.eye(size)):
            refuses(
                ValueError,
                ["laplacian[1]", "adjacency", "from_adjacency"],
                lambda matrix=matrix: check_laplacian(matrix, size, 1),
            )

    def test_refusals(self):
        good = chain(3).toarray()
        refuses(
            ValueError, ["laplacian[1]", "(4, 4)", "mode 1 has size 4", "(3, 3)"], lambda: check_laplacian(good, 4, 1)
        )
        refuses(ValueError, ["must be a matrix", "(3,)"], lambda: check_laplacian(np.ones(3), 3, 0))
        refuses(ValueError, ["(3, 3)", "(3, 2)"], lambda: check_laplacian(good[:, :2], 3, 0))
        refuses(
            ValueError,
            ["positive semidefinite", "laplacian[0][1, 1] is -2", "W - D"],
            lambda: check_laplacian(-good, 3, 0),
        )
        refuses(
            ValueError,
            ["symmetric", "laplacian[0][0, 1] is -1", "laplacian[0][1, 0] is 0"],
            lambda: check_laplacian([[1, -1], [0, 1]], 2, 0),
        )
        refuses(ValueError, ["finite", "[0, 1] is nan"], lambda: check_laplacian([[1, math.nan], [-1, 1]], 2, 0))
        refuses(TypeError, ["real numbers"], lambda: check_laplacian(good * 1j, 3, 0))
        refuses(TypeError, ["real numbers"], lambda: check_laplacian("chain", 3, 0))
        refuses(TypeError, ["laplacian[0]", "real numbers"], lambda: check_laplacian(None, 3, 0))
        refuses(
            TypeError,
            ["KernelGraph", "laplacian(width)"],
            lambda: check_laplacian(haversine([(0, 0), (0, 1)]), 2, 0),
        )


class TestLargestEigenvalue:
    @given(generators, st.integers(1, 15), st.floats(1e-200, 1e200))
    def test_is_a_tight_bound(self, rng, size, scale):
        graph = from_adjacency(random_weights(rng, size) * scale)
        exact = np.linalg.eigvalsh(graph.toarray() / scale)[-1] * scale
        assert exact * (1 - 1e-12) <= largest_eigenvalue(graph) <= exact * (1 + 2e-9)

    @pytest.mark.parametrize("build", [chain, ring])
    @pytest.mark.parametrize("size", [1, 2, 3, 10, 1500, 2000])
    def test_in_closed_form(self, build, size):
        steps = np.arange(size) * (2 if build is ring and size > 2 else 1)
        exact = np.max(2 - 2 * np.cos(np.pi * steps / size))
        assert exact * (1 - 1e-14) <= largest_eigenvalue(build(size)) <= exact * (1 + 1.01e-5)

    def test_large_graphs(self):
        rng = np.random.default_rng(0)
        for graph in (knn(rng.standard_normal((1200, 3)), 5, 0.3), haversine(random_places(rng, 1200), 0.1)):
            exact = np.linalg.eigvalsh(graph.toarray())[-1]
            assert exact <= largest_eigenvalue(graph) <= exact * (1 + 1.01e-5)

    def test_no_edges(self):
        for size in (1, 2, 2000):
            assert largest_eigenvalue(sparse.csr_array((size, size))) == 0.0

    def test_is_a_float_and_always_the_same(self):
        graph = grid(40, 40)
        first = largest_eigenvalue(graph)
        assert type(first) is float
        assert largest_eigenvalue(graph) == first

    def test_falls_back_to_a_bound(self, monkeypatch):
        monkeypatch.setattr(checking, "_extreme_eigenvalue", lambda matrix: None)
        assert largest_eigenvalue(chain(2000)) == 4.0
