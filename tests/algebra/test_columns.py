"""Components at some columns: every product equals that of dense tensors with masks."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill.algebra.columns import ColumnStorage, meeting, observed_columns
from tensorfill.algebra.component import Component
from tensorfill.algebra.storage import SparseStorage
from tensorfill.algebra.unfolding import columns, fold, unfold
from tensorfill.observations import Observations
from tests.strategies import blocks, generators, observed, scatter, shapes


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


@st.composite
def stored(draw):
    """Draw observations and a storage of some modes."""
    shape = draw(shapes(min_order=3, max_order=5, max_entries=400))
    coords = draw(observed(shape))
    modes = sorted(draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
    observations = Observations(coords, draw(generators).standard_normal(len(coords)), shape)
    return observations, ColumnStorage(observations, modes)


def random_part(rng, storage, mode):
    rows, cols = storage.shape[mode], len(storage.kept[mode])
    rank = min(int(rng.integers(4)), rows, cols)
    u, v = (np.linalg.qr(rng.standard_normal((size, rank)))[0] for size in (rows, cols))
    return Component(mode, u, np.sort(rng.uniform(0.5, 5, rank))[::-1].copy(), v)


def dense_and_mask(storage, part):
    """Return a component as a tensor, zero where it is not known, and the mask of where it is."""
    kept, size = storage.kept[part.mode], columns(storage.shape, part.mode)
    matrix, known = np.zeros((len(part.u), size)), np.zeros((len(part.u), size), dtype=bool)
    matrix[:, kept], known[:, kept] = (part.u * part.s) @ part.v.T, True
    return fold(matrix, part.mode, storage.shape), fold(known, part.mode, storage.shape)


def random_point(rng, storage):
    parts = [random_part(rng, storage, mode) for mode in storage.kept]
    return storage.point(parts, rng.dirichlet(np.ones(len(parts))))


class TestColumnStorage:
    @settings(max_examples=40, deadline=None)
    @given(given_=stored(), rng=generators, width=blocks)
    def test_its_matrices_are_those_of_the_formula(self, given_, rng, width):
        observations, storage = given_
        point = random_point(rng, storage)
        change = rng.standard_normal(len(observations))
        tensors, masks = zip(*(dense_and_mask(storage, part) for part in point.components), strict=True)
        for here, part in enumerate(point.components):
            z = tensors[here] + scatter(observations.coords, change, storage.shape)
            for weight, other, mask in zip(point.weights, tensors, masks, strict=True):
                z += weight * masks[here] * mask * (other - tensors[here])
            expected = unfold(z, part.mode)[:, storage.kept[part.mode]]
            with storage.unfoldings(point, change) as at:
                matrix = at(part.mode)
                assert matrix.shape == expected.shape
                a, b = (rng.standard_normal((size, width)) for size in expected.shape)
                close(matrix.left(a), expected.T @ a)
                close(matrix.right(b), expected @ b)
                there = matrix.round_trip(a)
            close(there.gram, there.block.T @ there.block)
            close(there.product, expected @ (expected.T @ a))

    @settings(max_examples=40, deadline=None)
    @given(given_=stored(), rng=generators)
    def test_values_and_squares_are_those_of_the_formula(self, given_, rng):
        observations, storage = given_
        point = random_point(rng, storage)
        tensors, masks = zip(*(dense_and_mask(storage, part) for part in point.components), strict=True)
        mean = sum(weight * tensor for weight, tensor in zip(point.weights, tensors, strict=True))
        close(point.seen, mean[tuple(observations.coords.T)])
        square = sum(weight * np.vdot(tensor, tensor) for weight, tensor in zip(point.weights, tensors, strict=True))
        for (v, x, m), (w, y, n) in itertools.combinations(zip(point.weights, tensors, masks, strict=True), 2):
            square -= v * w * np.sum((m * n * (x - y)) ** 2)
        close(storage.square(point), square)

    @settings(max_examples=15, deadline=None)
    @given(shape=shapes(min_order=3, max_order=4, max_entries=200), rng=generators)
    def test_with_all_columns_it_is_the_sparse_storage(self, shape, rng):
        # Every column of every mode has one of these entries.
        coords = np.argwhere(np.indices(shape).sum(axis=0) % min(shape) == 0)
        observations = Observations(coords, np.ones(len(coords)), shape)
        modes = range(len(shape))
        storage, usual = ColumnStorage(observations, modes), SparseStorage(observations, modes)
        point = random_point(rng, storage)
        same = usual.point(point.components, point.weights)
        close(point.seen, same.seen)
        close(storage.square(point), usual.square(same))
        change = rng.standard_normal(len(coords))
        with storage.unfoldings(point, change) as at, usual.unfoldings(same, change) as usually:
            for mode in modes:
                a = rng.standard_normal((shape[mode], 3))
                close(at(mode).left(a), usually(mode).left(a))


def test_columns_meet_where_all_other_indices_agree():
    coords = np.array([[0, 1, 2], [1, 1, 2], [2, 0, 0], [0, 2, 1]])
    shape = (3, 4, 5)
    kept = {mode: observed_columns(coords, shape, mode) for mode in (0, 1)}
    near, far = meeting(kept, shape, 0, 1)
    assert near.starts.tolist() == [0, 1, 2, 3]
    assert near.across.tolist() == [0, 2, 1]  # along mode 1, for the last index 0, 1 and 2
    assert far.starts.tolist() == [0, 1, 2, 4]
    assert far.across.tolist() == [2, 0, 0, 1]
