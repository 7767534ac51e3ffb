"""Laplacians against sums over edges, closed forms and dense matrices; what is refused, and how."""

from __future__ import annotations

import dataclasses
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tensorfill import graphs
from tensorfill.graphs import (
    EARTH_RADIUS_KM,
    KernelGraph,
    chain,
    check_laplacian,
    from_adjacency,
    great_circle,
    grid,
    haversine,
    knn,
    largest_eigenvalue,
    ring,
)

from .refusal import refuses
from .strategies import generators

SPARSE = [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.lil_array, sparse.csr_matrix, sparse.dok_array]


def random_weights(rng, size, density=0.5):
    """Return a symmetric matrix of weights, with something on the diagonal."""
    upper = np.triu(rng.exponential(size=(size, size)) * (rng.random((size, size)) < density))
    return upper + upper.T


def random_places(rng, count):
    return np.stack([np.degrees(np.arcsin(rng.uniform(-1, 1, count))), rng.uniform(-180, 180, count)], axis=1)


def quadratic_form(weights, x):
    """Return the sum over edges of w_ij (x_i - x_j)^2."""
    return sum(weights[i, j] * (x[i] - x[j]) ** 2 for i in range(len(x)) for j in range(i + 1, len(x)) if weights[i, j])


def is_laplacian(graph):
    """Check what every Laplacian of the module is."""
    assert type(graph) is sparse.csr_array
    assert graph.dtype == np.float64
    assert graph.has_canonical_format
    assert np.count_nonzero(graph.data) == graph.nnz
    dense = graph.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    scale = max(dense.max(initial=0), np.finfo(float).tiny)
    np.testing.assert_allclose(dense.sum(axis=1), 0, atol=1e-13 * scale * len(dense))
    assert (dense[~np.eye(len(dense), dtype=bool)] <= 0).all()
    assert np.linalg.eigvalsh(dense / scale)[0] >= -1e-12 * len(dense)
    return dense


def brute_force_edges(distances, neighbours):
    """Return, as a matrix of truth values, the edges to the nearest neighbours of either end."""
    beyond = distances + np.diag(np.full(len(distances), np.inf))
    near = np.zeros(distances.shape, dtype=bool)
    np.put_along_axis(near, np.argsort(beyond, axis=1)[:, :neighbours], True, axis=1)
    return near | near.T


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


class TestGreatCircle:
    @pytest.mark.parametrize(
        ("here", "there", "expected"),
        [
            ((90, 0), (0, 0), math.pi / 2),
            ((90, 77), (0, -20), math.pi / 2),
            ((90, 0), (-90, 0), math.pi),
            ((90, 10), (90, -130), 0),
            ((0, 0), (0, 180), math.pi),
            ((0, 350), (0, 10), math.radians(20)),
            ((0, -179.5), (0, 179.5), math.radians(1)),
            ((30, 20), (-30, -160), math.pi),
            ((10, 20), (10 + 1e-9, 20), math.radians(1e-9)),
        ],
    )
    def test_known_arcs(self, here, there, expected):
        np.testing.assert_allclose(great_circle([here, there]), [[0, expected], [expected, 0]], rtol=1e-6, atol=1e-15)

    def test_berlin_to_paris(self):
        kilometres = EARTH_RADIUS_KM * great_circle([(52.5200, 13.4050), (48.8566, 2.3522)])[0, 1]
        assert kilometres == pytest.approx(878, abs=1)

    @given(generators, st.integers(1, 12))
    def test_is_the_angle_between_points_on_the_sphere(self, rng, count):
        places = random_places(rng, count)
        latitude, longitude = np.radians(places).T
        points = np.stack(
            [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)]
        )
        distances = great_circle(places)
        np.testing.assert_allclose(np.cos(distances), points.T @ points, atol=1e-12)
        np.testing.assert_array_equal(distances, distances.T)
        assert (np.diag(distances) == 0).all()
        assert distances.max() <= math.pi

    @pytest.mark.parametrize("build", [great_circle, haversine])
    def test_refusals(self, build):
        refuses(
            ValueError,
            ["-90 to 90", "row 1", "-114.75", "swapped"],
            lambda: build([(30.475, -80.0), (-114.75, 30.475)]),
        )
        refuses(ValueError, ["two columns", "(2, 3)"], lambda: build(np.ones((2, 3))))
        refuses(ValueError, ["two columns", "(2,)"], lambda: build([1.0, 2.0]))
        refuses(ValueError, ["two columns", "(0, 2)"], lambda: build(np.ones((0, 2))))
        refuses(ValueError, ["finite", "row 1", "nan"], lambda: build([(1.0, 2.0), (3.0, math.nan)]))
        refuses(TypeError, ["real numbers"], lambda: build([("north", "east")]))


class TestHaversine:
    @given(generators, st.integers(1, 15))
    def test_the_kernel_as_printed(self, rng, count):
        places = random_places(rng, count)
        weights = np.exp(-2 * great_circle(places))
        expected = from_adjacency(weights).toarray()
        np.testing.assert_allclose(is_laplacian(haversine(places, width=1)), expected, rtol=1e-12)
        np.testing.assert_allclose(haversine(places).laplacian(1).toarray(), expected, rtol=1e-12)

    @given(generators, st.integers(2, 15), st.floats(0.01, 10))
    def test_the_width_scales_distance(self, rng, count, width):
        places = random_places(rng, count)
        expected = from_adjacency(np.exp(-2 * great_circle(places) / width)).toarray()
        np.testing.assert_allclose(is_laplacian(haversine(places, width)), expected, rtol=1e-10)

    def test_limits_of_the_width(self):
        graph = haversine(random_places(np.random.default_rng(0), 10))
        for narrow in (1e-12, 5e-324):
            assert graph.laplacian(narrow).nnz == 0
        np.testing.assert_allclose(graph.laplacian(1e12).toarray(), 10 * np.eye(10) - 1, atol=1e-10)

    @given(generators, st.integers(2, 25), st.data())
    def test_neighbours_of_either_end(self, rng, count, data):
        places = random_places(rng, count)
        neighbours = data.draw(st.integers(1, count - 1))
        distances = great_circle(places)
        weights = np.where(brute_force_edges(distances, neighbours), np.exp(-2 * distances), 0)
        graph = haversine(places, 1.0, neighbours)
        assert graph.nnz == np.count_nonzero(weights) + count
        np.testing.assert_allclose(is_laplacian(graph), from_adjacency(weights).toarray(), rtol=1e-10)

    def test_neighbours_across_the_date_line_and_the_pole(self):
        line = haversine([(0, 179), (0, -179), (0, 150), (0, -150)], neighbours=1)
        assert [0, 1] in line.edges.tolist()
        pole = haversine([(89, 0), (89, 180), (70, 0), (70, 180)], neighbours=1)
        assert [0, 1] in pole.edges.tolist()

    def test_many_places_with_neighbours_stay_sparse(self):
        graph = haversine(random_places(np.random.default_rng(0), 30_000), neighbours=5, width=0.01)
        assert graph.nnz < 30_000 * 11
        assert abs(graph - graph.T).max() == 0

    def test_places_at_one_point(self):
        graph = haversine([(10, 10)] * 6, neighbours=2)
        assert graph.widths == (1.0,)
        dense = is_laplacian(graph.laplacian(0.5))
        assert (np.diag(dense) >= 2).all()

    def test_one_place(self):
        graph = haversine([(10, 10)])
        assert graph.widths == (1.0,)
        np.testing.assert_array_equal(is_laplacian(graph.laplacian(1.0)), [[0.0]])

    def test_refusals(self):
        places = random_places(np.random.default_rng(0), 4)
        for wrong in (0, -1.0, math.nan, math.inf):
            refuses(ValueError, ["width", "above 0"], lambda wrong=wrong: haversine(places, wrong))
        refuses(TypeError, ["width", "'wide'"], lambda: haversine(places, "wide"))
        refuses(ValueError, ["neighbours", "at least 1", "0"], lambda: haversine(places, 1.0, 0))
        refuses(TypeError, ["neighbours", "2.5"], lambda: haversine(places, 1.0, 2.5))
        refuses(ValueError, ["neighbours must be below", "4 was given"], lambda: haversine(places, 1.0, 4))
        refuses(
            ValueError,
            ["at most 10,000 places", "10,001", "neighbours=10"],
            lambda: haversine(np.zeros((10_001, 2)), 1.0),
        )


class TestKnn:
    @given(generators, st.integers(2, 25), st.integers(1, 4), st.floats(0.1, 10), st.data())
    def test_is_the_kernel_on_the_edges(self, rng, count, columns, width, data):
        features = rng.standard_normal((count, columns))
        neighbours = data.draw(st.integers(1, count - 1))
        distances = np.linalg.norm(features[:, None] - features[None], axis=2)
        weights = np.where(brute_force_edges(distances, neighbours), np.exp(-2 * distances / width), 0)
        graph = knn(features, neighbours, width)
        np.testing.assert_allclose(is_laplacian(graph), from_adjacency(weights).toarray(), rtol=1e-9, atol=1e-300)
        np.testing.assert_array_equal(knn(features, neighbours).laplacian(width).toarray(), graph.toarray())

    def test_every_node_has_its_neighbours_even_among_equal_rows(self):
        features = np.repeat(np.arange(3.0), 7)[:, None]
        degrees = np.diff(knn(features, 2, 1.0).indptr) - 1
        assert (degrees >= 2).all()

    def test_many_rows_stay_sparse(self):
        graph = knn(np.random.default_rng(0).standard_normal((30_000, 2)), 6, 0.1)
        assert graph.nnz < 30_000 * 13

    def test_refusals(self):
        features = np.ones((3, 2))
        refuses(ValueError, ["features[:, None]", "(3,)"], lambda: knn(np.ones(3), 1))
        refuses(ValueError, ["one column for each feature", "(3, 0)"], lambda: knn(np.ones((3, 0)), 1))
        refuses(ValueError, ["finite", "row 0", "inf"], lambda: knn([[math.inf], [1.0]], 1))
        refuses(ValueError, ["neighbours must be below", "3", "5 was given"], lambda: knn(features, 5))
        refuses(TypeError, ["neighbours", "None"], lambda: knn(features, None))
        refuses(ValueError, ["width", "above 0", "-1"], lambda: knn(features, 1, -1))


class TestKernelGraph:
    @given(generators, st.integers(3, 30))
    def test_widths_rise_from_the_nearest_to_the_farthest(self, rng, count):
        places = random_places(rng, count)
        graph = haversine(places)
        widths = np.array(graph.widths)
        assert all(type(width) is float for width in graph.widths)
        distances = great_circle(places)
        nearest = np.min(distances + np.diag(np.full(count, np.inf)), axis=1)
        assert len(widths) == 8
        assert widths[0] == pytest.approx(np.median(nearest) / 2)
        assert widths[-1] == pytest.approx(distances.max())
        np.testing.assert_allclose(widths[1:] / widths[:-1], widths[1] / widths[0])
        assert widths[1] > widths[0]

    def test_places_given_twice_do_not_make_a_width_of_zero(self):
        graph = haversine([(0, 0), (0, 0), (0, 1), (0, 1)])
        assert graph.widths[0] == pytest.approx(math.radians(0.5))

    def test_is_frozen(self):
        graph = knn(np.arange(4.0)[:, None], 1)
        with pytest.raises(dataclasses.FrozenInstanceError):
            graph.size = 5
        for array in (graph.edges, graph.distances):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
        assert (graph.size, graph.neighbours) == (4, 1)
        assert repr(graph) == "KernelGraph(size=4, neighbours=1)"

    def test_arrays_that_were_given_stay_writable(self):
        edges, distances = np.array([[0, 1]]), np.array([1.0])
        KernelGraph(2, edges, distances)
        assert edges.flags.writeable
        assert distances.flags.writeable

    @pytest.mark.parametrize("wrong", [0, -1.0, math.nan, math.inf])
    def test_width_out_of_range(self, wrong):
        refuses(ValueError, ["width", "above 0"], lambda: knn([[0.0], [1.0]], 1).laplacian(wrong))


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
        size = graphs._SMALL + 100
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
        monkeypatch.setattr(graphs, "_extreme_eigenvalue", lambda matrix: None)
        assert largest_eigenvalue(chain(2000)) == 4.0


def test_the_stations_of_ccds():
    folder = Path(os.environ.get("TENSORFILL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    file = folder / "climate" / "ccds_125x156x17.npz"
    if not file.exists():
        pytest.skip(f"{file} is not there; set TENSORFILL_DATA to the folder with the data.")
    with np.load(file) as data:
        places = data["locations"]
    graph = haversine(places)
    assert graph.size == 125
    # The stations are on a grid of 2.5 degrees, and one twenty-fifth of the Earth's radius is a good width.
    assert graph.widths[0] < 1 / 25 < graph.widths[-1] < 1
    for width in (1.0, 1 / 25, *graph.widths):
        laplacian = graph.laplacian(width)
        is_laplacian(laplacian)
        assert check_laplacian(laplacian, 125, 0).nnz == laplacian.nnz == 125**2
        assert np.linalg.eigvalsh(laplacian.toarray())[-1] <= largest_eigenvalue(laplacian)
    near = haversine(places, 1 / 25, neighbours=4)
    is_laplacian(near)
    assert near.nnz < 125 * 10
