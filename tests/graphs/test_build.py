"""Laplacians from edges against sums over edges and closed forms; what is refused, and how."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tensorfill.graphs import chain, from_adjacency, grid, ring

from ..refusal import refuses
from ..strategies import generators
from .examples import SPARSE, is_laplacian, quadratic_form, random_weights


class TestFromAdjacency:
    @given(generators, st.integers(1, 12), st.floats(0, 1))
    def test_is_the_sum_over_edges(self, rng, size, density):
        weights = random_weights(rng, size, density)
        graph = from_adjacency(weights)
        is_laplacian(graph)
        x = rng.standard_normal(size)
        assert x @ (graph @ x) == pytest.approx(quadratic_form(weights, x), rel=1e-12, abs=1e-12)

    @pytest.mark.parametrize("kind", SPARSE)
    def test_sparse_input_is_the_same_and_left_alone(self, kind):
        weights = random_weights(np.random.default_rng(0), 9)
        given = kind(weights)
        np.testing.assert_array_equal(from_adjacency(given).toarray(), from_adjacency(weights).toarray())
        np.testing.assert_array_equal(given.toarray(), weights)

    @pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.float32])
    def test_other_numbers(self, dtype):
        weights = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=dtype)
        np.testing.assert_array_equal(from_adjacency(weights).toarray(), chain(3).toarray())

    def test_the_diagonal_is_ignored_whatever_it_holds(self):
        np.testing.assert_array_equal(from_adjacency([[math.nan, 1.0], [1.0, -5.0]]).toarray(), chain(2).toarray())

    def test_entries_given_twice_are_added(self):
        twice = sparse.coo_array(([1.0, 1.0, 2.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
        np.testing.assert_array_equal(from_adjacency(twice).toarray(), 2 * chain(2).toarray())
        assert twice.nnz == 3

    def test_rounding_is_not_asymmetry(self):
        weights = random_weights(np.random.default_rng(1), 8, 1.0)
        is_laplacian(from_adjacency(weights * (1 + 1e-12 * np.arange(8))))
        is_laplacian(from_adjacency((weights * (1 + 1e-7 * np.arange(8)[:, None] / 8)).astype(np.float32)))

    def test_a_large_sparse_graph_stays_sparse(self):
        size = 200_000
        nodes = np.arange(size - 1)
        upper = sparse.coo_array((np.ones(size - 1), (nodes, nodes + 1)), shape=(size, size))
        assert from_adjacency(upper + upper.T).nnz == 3 * size - 2

    def test_refusals(self):
        refuses(ValueError, ["square", "(2, 3)"], lambda: from_adjacency(np.ones((2, 3))))
        refuses(ValueError, ["at least one node", "(0, 0)"], lambda: from_adjacency(np.ones((0, 0))))
        refuses(ValueError, ["must be a matrix", "(3,)"], lambda: from_adjacency(np.ones(3)))
        refuses(ValueError, ["weights[0, 1] is nan"], lambda: from_adjacency([[0, math.nan], [1, 0]]))
        refuses(ValueError, ["weights[1, 0] is inf"], lambda: from_adjacency([[0, 1], [math.inf, 0]]))
        refuses(ValueError, ["at least 0", "weights[0, 1] is -1", "Laplacian"], lambda: from_adjacency(chain(3)))
        refuses(
            ValueError,
            ["symmetric", "weights[0, 2] is 3", "weights[2, 0] is 0", "transpose"],
            lambda: from_adjacency([[0, 1, 3], [1, 0, 0], [0, 0, 0]]),
        )
        refuses(TypeError, ["real numbers", "complex128"], lambda: from_adjacency(np.eye(2) * 1j))
        refuses(TypeError, ["real numbers", "complex128"], lambda: from_adjacency(sparse.csr_array(np.eye(2) * 1j)))
        refuses(TypeError, ["real numbers"], lambda: from_adjacency("a graph"))
        refuses(ValueError, ["rows differ in length"], lambda: from_adjacency([[0, 1], [1]]))


class TestGrids:
    @given(st.integers(1, 60))
    def test_eigenvalues_of_a_chain(self, size):
        expected = 2 - 2 * np.cos(np.pi * np.arange(size) / size)
        np.testing.assert_allclose(np.linalg.eigvalsh(is_laplacian(chain(size))), expected, atol=1e-12)

    @given(st.integers(3, 60))
    def test_eigenvalues_of_a_ring(self, size):
        expected = np.sort(2 - 2 * np.cos(2 * np.pi * np.arange(size) / size))
        np.testing.assert_allclose(np.linalg.eigvalsh(is_laplacian(ring(size))), expected, atol=1e-12)

    def test_the_smallest(self):
        for small in (chain(1), ring(1), grid(1), grid(1, 1, 1)):
            np.testing.assert_array_equal(is_laplacian(small), [[0.0]])
        np.testing.assert_array_equal(is_laplacian(ring(2)), [[1.0, -1.0], [-1.0, 1.0]])

    @given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    def test_a_grid_is_a_kronecker_sum_of_chains(self, lengths):
        expected = np.zeros((1, 1))
        for length in lengths:
            expected = np.kron(expected, np.eye(length)) + np.kron(np.eye(len(expected)), chain(length).toarray())
        np.testing.assert_array_equal(is_laplacian(grid(*lengths)), expected)

    def test_a_grid_numbers_its_nodes_as_ravel_does(self):
        picture = np.random.default_rng(0).standard_normal((4, 7))
        expected = np.sum(np.diff(picture, axis=0) ** 2) + np.sum(np.diff(picture, axis=1) ** 2)
        assert picture.ravel() @ (grid(4, 7) @ picture.ravel()) == pytest.approx(expected)

    def test_a_large_grid_stays_sparse(self):
        assert grid(300, 400).nnz < 5 * 120_000

    @pytest.mark.parametrize("build", [chain, ring, grid])
    @pytest.mark.parametrize("wrong", [0, -3])
    def test_too_small(self, build, wrong):
        refuses(ValueError, ["whole number of at least 1", str(wrong)], lambda: build(wrong))

    @pytest.mark.parametrize("build", [chain, ring, grid])
    @pytest.mark.parametrize("wrong", [2.0, "3", True, None])
    def test_no_whole_number(self, build, wrong):
        refuses(TypeError, ["whole number of at least 1", repr(wrong)], lambda: build(wrong))

    def test_no_axis(self):
        refuses(ValueError, ["at least one axis", "grid(rows, columns)"], grid)
