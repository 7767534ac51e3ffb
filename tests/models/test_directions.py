"""More and fewer directions of a Tucker model, more terms of a CP model, and entries of both, against dense arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill.algebra.unfolding import unfold
from tensorfill.models import CPModel, Tucker, tucker
from tests.strategies import generators, shapes


def random_tucker(rng, shape, ranks, dtype=np.float64):
    factors = [np.linalg.qr(rng.standard_normal((size, rank)))[0] for size, rank in zip(shape, ranks, strict=True)]
    return Tucker(shape, rng.standard_normal(ranks).astype(dtype), [factor.astype(dtype) for factor in factors])


def is_orthonormal(factor, atol=1e-10):
    return np.allclose(factor.T @ factor, np.eye(factor.shape[1]), atol=atol)


@given(shape=shapes(max_order=4, max_size=8), rng=generators, data=st.data())
def test_more_directions_keep_the_tensor_and_span_what_was_given(shape, rng, data):
    ranks = [data.draw(st.integers(0, size)) for size in shape]
    model = random_tucker(rng, shape, ranks)
    more = {mode: data.draw(st.integers(1, 3)) for mode in range(len(shape)) if data.draw(st.booleans())}
    directions = {mode: rng.standard_normal((shape[mode], count)) for mode, count in more.items()}
    larger = model.with_directions(directions)
    expected = [min(rank + more.get(mode, 0), shape[mode]) for mode, rank in enumerate(ranks)]
    if all(rank < size for rank, size in zip(ranks, shape, strict=True)):
        assert larger.ranks == tuple(expected)
    np.testing.assert_allclose(larger.to_dense(), model.to_dense(), atol=1e-12)
    for mode, factor in enumerate(larger.factors):
        assert is_orthonormal(factor)
        np.testing.assert_array_equal(factor[:, : ranks[mode]], model.factors[mode])
        if mode in directions and larger.ranks[mode] == ranks[mode] + more[mode]:
            np.testing.assert_allclose(factor @ (factor.T @ directions[mode]), directions[mode], atol=1e-8)


@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_directions_within_the_span_are_left_out(dtype, atol):
    rng = np.random.default_rng(0)
    model = random_tucker(rng, (9, 8, 7), (2, 3, 2), dtype)
    inside = model.factors[0] @ rng.standard_normal((2, 2)).astype(dtype)
    new = rng.standard_normal((9, 1)).astype(dtype)
    # What was given twice counts once.
    larger = model.with_directions({0: np.hstack([inside, new, 2 * new, new + inside[:, :1]])})
    assert larger.ranks == (3, 3, 2)
    assert larger.dtype == dtype
    assert all(factor.dtype == dtype for factor in larger.factors)
    assert is_orthonormal(larger.factors[0], atol)
    np.testing.assert_allclose(larger.to_dense(), model.to_dense(), atol=atol)
    assert model.with_directions({1: np.zeros((8, 2), dtype)}).ranks == model.ranks


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_directions_that_are_all_within_the_span_add_none(dtype):
    rng = np.random.default_rng(0)
    model = random_tucker(rng, (9, 8, 7), (2, 3, 2), dtype)
    inside = model.factors[0] @ rng.standard_normal((2, 2)).astype(dtype)
    assert model.with_directions({0: inside}).ranks == (2, 3, 2)


def test_a_mode_takes_no_more_directions_than_it_has_indices():
    rng = np.random.default_rng(0)
    model = random_tucker(rng, (6, 7, 3), (5, 2, 2))
    larger = model.with_directions({0: rng.standard_normal((6, 4)), 2: rng.standard_normal((3, 3))})
    assert larger.ranks == (6, 2, 3)
    assert all(is_orthonormal(factor) for factor in larger.factors)


@given(shape=shapes(min_order=2, max_order=4, max_size=8), rng=generators, data=st.data())
def test_the_strongest_directions_stay(shape, rng, data):
    ranks = [data.draw(st.integers(1, size)) for size in shape]
    model, mode = random_tucker(rng, shape, ranks), data.draw(st.integers(0, len(shape) - 1))
    kept = data.draw(st.integers(0, ranks[mode]))
    smaller = model.truncated({mode: kept})
    left, values, right = np.linalg.svd(unfold(np.asarray(model.to_dense()), mode), full_matrices=False)
    best = (left[:, :kept] * values[:kept]) @ right[:kept]
    np.testing.assert_allclose(unfold(np.asarray(smaller.to_dense()), mode), best, atol=1e-8)
    assert all(is_orthonormal(factor) for factor in smaller.factors)
    # The directions of a mode are no more than all those of the others together.
    assert smaller.ranks[mode] == min(kept, int(np.prod(np.delete(ranks, mode))))
    assert np.delete(smaller.ranks, mode).tolist() == np.delete(ranks, mode).tolist()


def test_several_modes_are_cut_at_once():
    rng = np.random.default_rng(0)
    model = random_tucker(rng, (9, 8, 7), (4, 4, 4), np.float32)
    smaller = model.truncated({0: 2, 2: 3})
    assert smaller.ranks == (2, 4, 3)
    assert smaller.dtype == np.float32
    one_by_one = model.truncated({0: 2}).truncated({2: 3})
    np.testing.assert_allclose(smaller.to_dense(), one_by_one.to_dense(), atol=1e-5)


@pytest.mark.parametrize("chunk", [2**20, 7])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_entries_in_any_order_and_layout(monkeypatch, chunk, dtype):
    monkeypatch.setattr(tucker, "CHUNK", chunk)
    rng = np.random.default_rng(0)
    model = random_tucker(rng, (6, 7, 5, 3), (2, 3, 2, 3), dtype)
    dense = model.to_dense()
    coords = rng.permutation(np.argwhere(np.ones(model.shape)))[:100]
    fixed = np.asfortranarray(coords.astype(np.int32))
    fixed.setflags(write=False)
    for given_ in (coords, fixed, coords[::2]):
        found = model.predict(given_)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, dense[tuple(given_.T)], atol=1e-5 if dtype == np.float32 else 1e-12)


def test_the_entries_of_a_core_that_is_not_contiguous():
    rng = np.random.default_rng(0)
    model = random_tucker(rng, (6, 7, 5), (2, 3, 2))
    turned = Tucker((5, 7, 6), model.core.transpose(), model.factors[::-1])
    coords = np.argwhere(np.ones((5, 7, 6)))
    np.testing.assert_allclose(turned.predict(coords), model.to_dense().transpose().ravel(), atol=1e-12)


def test_a_sum_of_cp_models_has_the_terms_of_both():
    rng = np.random.default_rng(0)
    one, other = (
        CPModel((6, 5, 4), rng.standard_normal(terms), [rng.standard_normal((size, terms)) for size in (6, 5, 4)])
        for terms in (2, 3)
    )
    both = one.plus(other)
    assert both.ranks == (5,)
    np.testing.assert_allclose(both.to_dense(), one.to_dense() + other.to_dense(), atol=1e-12)
    none = CPModel((6, 5, 4), np.zeros(0), [np.zeros((size, 0)) for size in (6, 5, 4)])
    np.testing.assert_allclose(none.plus(one).to_dense(), one.to_dense(), atol=1e-12)
