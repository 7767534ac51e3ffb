"""Kernel graphs against distances and neighbours by brute force; what is refused, and how."""

from __future__ import annotations

import dataclasses
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill.graphs import (
    EARTH_RADIUS_KM,
    KernelGraph,
    check_laplacian,
    from_adjacency,
    great_circle,
    haversine,
    knn,
    largest_eigenvalue,
)

from ..refusal import refuses
from ..strategies import generators
from .examples import is_laplacian, random_places


def brute_force_edges(distances, neighbours):
    """Return, as a matrix of truth values, the edges to the nearest neighbours of either end."""
    beyond = distances + np.diag(np.full(len(distances), np.inf))
    near = np.zeros(distances.shape, dtype=bool)
    np.put_along_axis(near, np.argsort(beyond, axis=1)[:, :neighbours], True, axis=1)
    return near | near.T


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


def test_the_stations_of_ccds():
    folder = Path(os.environ.get("TENSORFILL_DATA", Path(__file__).parents[3] / "shared" / "data"))
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
