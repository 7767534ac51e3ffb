"""Points beyond two iterates keep the rank of the last one, and lose only what is of second order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill.algebra.component import Component
from tensorfill.algebra.extrapolation import extrapolated, extrapolated_into
from tests.strategies import dense_component, generators, random_component, shapes

SHAPE = (8, 7, 6)


def beyond(now, before, gamma, shape=SHAPE):
    return (1 + gamma) * dense_component(now, shape) - gamma * dense_component(before, shape)


def moved(component, distance, rng):
    """Return a component at about this distance, orthonormal again."""
    left, right = (rng.standard_normal(each.shape) for each in (component.u, component.v))
    matrix = (component.u * component.s + distance * left) @ (component.v + distance * right).T
    u, s, vt = np.linalg.svd(matrix, full_matrices=False)
    rank = component.rank
    return Component(component.mode, u[:, :rank], s[:rank], vt[:rank].T)


@pytest.mark.parametrize("mode", range(3))
def test_what_is_left_out_is_of_second_order_in_the_distance(mode):
    rng = np.random.default_rng(mode)
    now = random_component(rng, SHAPE, mode, 2)
    errors = []
    for distance in (1e-2, 1e-3, 1e-4):
        before = moved(now, distance, np.random.default_rng(5))
        found = extrapolated(now, before, 0.7)
        assert found.rank == now.rank
        errors.append(np.linalg.norm(dense_component(found, SHAPE) - beyond(now, before, 0.7)))
    assert errors[0] < 0.05
    for larger, smaller in itertools.pairwise(errors):
        assert smaller < larger / 50


@settings(max_examples=40, deadline=None)
@given(shape=shapes(2, 4), rng=generators, ranks=st.tuples(st.integers(0, 3), st.integers(0, 3)), data=st.data())
def test_it_is_the_part_in_the_rows_of_its_right_factor(shape, rng, ranks, data):
    """Any two components, of any ranks: the answer is E projected onto the rows that it keeps."""
    mode = data.draw(st.integers(0, len(shape) - 1))
    now, before = (random_component(rng, shape, mode, rank) for rank in ranks)
    found = extrapolated(now, before, 0.5)
    unfolded = 1.5 * (now.u * now.s) @ now.v.T - 0.5 * (before.u * before.s) @ before.v.T
    kept = unfolded @ found.v @ np.linalg.pinv(found.v, rcond=1e-10)
    np.testing.assert_allclose((found.u * found.s) @ found.v.T, kept, atol=1e-6)
    assert found.rank == (now.rank or before.rank)


@pytest.mark.parametrize("rank", [1, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_right_factors_of_any_width(rank, dtype):
    rng, shape = np.random.default_rng(0), (12, 9, 3)
    now, before = (random_component(rng, shape, 0, rank, dtype) for _ in range(2))
    unfolded = 1.4 * (now.u * now.s) @ now.v.T - 0.4 * (before.u * before.s) @ before.v.T
    wanted = unfolded.T @ now.u / (1.4 * now.s)
    np.testing.assert_allclose(extrapolated(now, before, 0.4).v, wanted, atol=1e3 * np.finfo(dtype).eps)


def test_a_singular_value_of_zero():
    rng = np.random.default_rng(0)
    now, before = (random_component(rng, SHAPE, 0, 2) for _ in range(2))
    now.s[1] = 0
    found = extrapolated(now, now, 0.5)
    np.testing.assert_allclose(dense_component(found, SHAPE), dense_component(now, SHAPE), atol=1e-10)
    assert np.isfinite(dense_component(extrapolated(now, before, 0.5), SHAPE)).all()


def test_single_precision_stays_single():
    rng = np.random.default_rng(0)
    now, before = (random_component(rng, SHAPE, 1, 3).astype(np.dtype(np.float32)) for _ in range(2))
    found = extrapolated(now, before, 0.4)
    assert {found.u.dtype, found.s.dtype, found.v.dtype} == {np.dtype(np.float32)}


@pytest.mark.parametrize("ranks", [(1, 4), (3, 3), (5, 4), (7, 7), (9, 5), (13, 2)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pieces_of_the_rows_give_the_same_as_all(ranks, dtype):
    """Whatever the widths are, and with fewer rows in the last piece."""
    rng, shape = np.random.default_rng(0), (13, 139, 151)
    now, before = (random_component(rng, shape, 0, rank, dtype) for rank in ranks)
    kept = now.v.copy(), before.v.copy()
    one, other = extrapolated(now, before, 0.4), extrapolated_into(np.full_like(now.v, np.nan), now, before, 0.4)
    for first, second in zip((one.u, one.s, one.v), (other.u, other.s, other.v), strict=True):
        np.testing.assert_allclose(first, second, atol=1e3 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(kept[0], now.v)
    np.testing.assert_array_equal(kept[1], before.v)
