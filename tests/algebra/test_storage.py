"""The two storages answer alike, and the sparse one never makes anything of the size of the tensor."""

from __future__ import annotations

import dataclasses
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tensorfill.algebra.storage import DenseStorage, SparseStorage
from tensorfill.algebra.unfolding import columns, unfold
from tensorfill.observations import Observations
from tests.strategies import (
    blocks,
    dense_sum,
    generators,
    observed,
    random_component,
    random_components,
    scatter,
    shapes,
)


def close(actual, expected, tolerance=1e-9):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def both(observations):
    modes = range(len(observations.shape))
    return SparseStorage(observations, modes), DenseStorage(observations)


def random_weights(rng, shape):
    return tuple(rng.dirichlet(np.ones(len(shape))).tolist())


@st.composite
def observations(draw):
    shape = draw(shapes(max_entries=600))
    assume(math.prod(shape) > 1)
    coords = draw(observed(shape, min_count=2))
    values = draw(generators).standard_normal(len(coords))
    if draw(st.booleans()):
        return Observations(coords, values, shape)
    return Observations.from_dense(scatter(coords, values, shape), scatter(coords, 1, shape) == 1)


class TestBothStorages:
    @settings(max_examples=25, deadline=None)
    @given(obs=observations(), rng=generators)
    def test_points_have_their_values_at_the_observed_entries(self, obs, rng):
        parts, weights = random_components(rng, obs.shape), random_weights(rng, obs.shape)
        expected = dense_sum(parts, weights, obs.shape)
        sparse, dense = (storage.point(parts, weights) for storage in both(obs))
        for point in (sparse, dense):
            close(point.seen, expected[tuple(obs.coords.T)])
            assert point.components == tuple(parts)
            assert point.weights == weights
            assert point.ranks == tuple(part.rank for part in parts)
        assert sparse.full is None
        close(dense.full, expected)

    @settings(max_examples=25, deadline=None)
    @given(obs=observations(), rng=generators)
    def test_squares(self, obs, rng):
        parts, weights = random_components(rng, obs.shape), random_weights(rng, obs.shape)
        for storage in both(obs):
            close(
                storage.square(storage.point(parts, weights)), np.sum(dense_sum(parts, weights, obs.shape) ** 2), 1e-8
            )

    @settings(max_examples=25, deadline=None)
    @given(obs=observations(), rng=generators, block=blocks)
    def test_unfoldings(self, obs, rng, block):
        shape, change = obs.shape, rng.standard_normal(len(obs))
        parts, weights = random_components(rng, shape), random_weights(rng, shape)
        tensor = scatter(obs.coords, change, shape) + dense_sum(parts, weights, shape)
        for storage in both(obs):
            with storage.unfoldings(storage.point(parts, weights), change) as at:
                for mode in range(len(shape)):
                    matrix = unfold(tensor, mode)
                    assert at(mode).shape == matrix.shape
                    a, b = (rng.standard_normal((size, block)) for size in matrix.shape)
                    close(at(mode).round_trip(a).block, matrix.T @ a)
                    close(at(mode).right(b), matrix @ b)

    @settings(max_examples=25, deadline=None)
    @given(obs=observations(), rng=generators, side=st.sampled_from("uv"))
    def test_points_beyond_two_that_share_their_rows_or_columns(self, obs, rng, side):
        now, weights = random_components(rng, obs.shape), random_weights(rng, obs.shape)
        before = [
            dataclasses.replace(part, s=part.s * rng.uniform(0.5, 2, part.rank), **{side: -getattr(part, side)})
            for part in now
        ]
        gamma = rng.uniform(0.1, 1)
        expected = (1 + gamma) * dense_sum(now, weights, obs.shape) - gamma * dense_sum(before, weights, obs.shape)
        for storage in both(obs):
            point = storage.extrapolated(storage.point(now, weights), storage.point(before, weights), gamma)
            close(point.seen, expected[tuple(obs.coords.T)])
            with storage.unfoldings(point, np.zeros(len(obs))) as at:
                for mode, size in enumerate(obs.shape):
                    close(at(mode).round_trip(np.eye(size)).block.T, unfold(expected, mode))

    def test_making_unfoldings_changes_neither_the_points_nor_the_change(self):
        shape, rng = (4, 5, 6), np.random.default_rng(0)
        obs = Observations.from_dense(np.where(rng.random(shape) < 0.5, 1.0, np.nan))
        for storage in both(obs):
            point = storage.point(random_components(rng, shape), (0.2, 0.3, 0.5))
            seen, full, change = point.seen.copy(), np.copy(point.full), np.ones(len(obs))
            with storage.unfoldings(point, change) as at:
                at(1).round_trip(np.ones((5, 1)))
                at(1).right(np.ones((24, 1)))
            storage.release(point)
            np.testing.assert_array_equal(change, 1)
            np.testing.assert_array_equal(point.seen, seen)
            if point.full is not None:
                np.testing.assert_array_equal(point.full, full)

    def test_float32_stays_float32(self):
        shape, rng = (4, 5, 6), np.random.default_rng(0)
        obs = Observations.from_dense(np.where(rng.random(shape) < 0.5, 1.0, np.nan)).astype(np.float32)
        parts = [random_component(rng, shape, mode, 2, np.float32) for mode in range(3)]
        for storage in both(obs):
            point = storage.point(parts, (0.2, 0.3, 0.5))
            assert point.seen.dtype == np.float32
            with storage.unfoldings(point, np.ones(len(obs), dtype=np.float32)) as at:
                assert at(1).round_trip(np.ones((5, 2), dtype=np.float32)).block.dtype == np.float32
                assert at(1).right(np.ones((24, 2), dtype=np.float32)).dtype == np.float32


def test_a_point_of_the_sparse_storage_is_refused_by_the_dense_one():
    shape, rng = (4, 5, 6), np.random.default_rng(0)
    sparse, dense = both(Observations([[0, 0, 0], [1, 2, 3]], [1.0, 2.0], shape))
    point = sparse.point(random_components(rng, shape), (0.2, 0.3, 0.5))
    with pytest.raises(ValueError, match="dense storage must have all its values, but one of the sparse storage"):
        dense.square(point)


def test_the_values_of_a_released_point_make_room_for_the_next_one():
    shape, rng = (4, 5, 6), np.random.default_rng(0)
    obs = Observations.from_dense(np.where(rng.random(shape) < 0.5, 1.0, np.nan))
    storage, weights = SparseStorage(obs, range(3)), (0.2, 0.3, 0.5)
    points = [storage.point(random_components(rng, shape), weights) for _ in range(2)]
    seen = [point.seen.copy() for point in points]
    beyond = storage.extrapolated(*points, 0.5)
    assert np.shares_memory(beyond.seen, points[1].seen)
    close(beyond.seen, 1.5 * seen[0] - 0.5 * seen[1])
    np.testing.assert_array_equal(points[0].seen, seen[0])
    storage.release(beyond)
    again = storage.point(points[0].components, weights)
    assert np.shares_memory(again.seen, beyond.seen)
    np.testing.assert_array_equal(again.seen, seen[0])
    storage.release(again)
    single = [part.astype(np.dtype(np.float32)) for part in points[0].components]
    assert storage.point(single, weights).seen.dtype == np.float32


def test_no_step_beyond_a_point_leaves_it_as_it_is():
    shape, rng = (4, 5, 6), np.random.default_rng(0)
    obs = Observations.from_dense(np.where(rng.random(shape) < 0.5, 1.0, np.nan))
    for storage in both(obs):
        point = storage.point(random_components(rng, shape), (0.2, 0.3, 0.5))
        seen = point.seen.copy()
        beyond = storage.extrapolated(point, point, 0.5)
        close(beyond.seen, seen)
        beyond.seen[:] = np.nan
        np.testing.assert_array_equal(point.seen, seen)


def use_once(shape, count):
    """Ask the sparse storage of a tensor every question that a method asks, in every mode."""
    rng = np.random.default_rng(0)
    obs = Observations(rng.integers(0, shape, (count, 3)), rng.standard_normal(count), shape, duplicates="last")
    storage = SparseStorage(obs, range(3))
    point = storage.point([random_component(rng, shape, mode, 2) for mode in range(3)], (0.2, 0.3, 0.5))
    storage.square(point)
    with storage.unfoldings(storage.extrapolated(point, point, 0.3), obs.values - point.seen) as at:
        for mode in range(3):
            at(mode).round_trip(rng.standard_normal((shape[mode], 2)))
            at(mode).right(rng.standard_normal((columns(shape, mode), 2)))


def test_the_sparse_storage_makes_nothing_of_the_size_of_the_tensor():
    use_once((10, 10, 10), 50)  # compiles the loops, which takes memory of its own
    shape = (300, 300, 300)
    dense_size = math.prod(shape) * 8
    tracemalloc.start()
    try:
        use_once(shape, 5_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < dense_size / 10
