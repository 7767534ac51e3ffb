"""Components that are known at some columns: what they say elsewhere, and what stays of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill.algebra.component import Component
from tensorfill.algebra.unfolding import columns, fold, unfold
from tensorfill.models import Centred, FoldedColumns
from tensorfill.models.additive import Additive
from tests.strategies import dense_component, generators, random_component, shapes


def partly_known(shape, rng):
    """Return a model with components at some columns, and the dense tensor and mask of each of them."""
    chosen = sorted(rng.choice(len(shape), rng.integers(1, len(shape) + 1), replace=False).tolist())
    whole = [random_component(rng, shape, mode, 2) for mode in chosen]
    kept = [np.flatnonzero(rng.random(columns(shape, mode)) < 0.4) for mode in chosen]
    parts = [type(part)(part.mode, part.u, part.s, part.v[own]) for part, own in zip(whole, kept, strict=True)]
    masks = []
    for part, own in zip(whole, kept, strict=True):
        known = np.isin(np.arange(columns(shape, part.mode)), own)
        masks.append(fold(np.repeat(known[None], shape[part.mode], axis=0), part.mode, shape))
    weights = rng.dirichlet(np.ones(len(parts)))
    return FoldedColumns(shape, parts, weights, kept), [dense_component(part, shape) for part in whole], masks


def mean_of_known(model, tensors, masks):
    total = sum(w * m * x for w, m, x in zip(model.weights, masks, tensors, strict=True))
    weight = sum(w * m for w, m in zip(model.weights, masks, strict=True))
    return np.divide(total, weight, out=np.zeros(total.shape), where=weight > 0)


@settings(max_examples=30, deadline=None)
@given(shape=shapes(min_order=3, max_order=4, max_entries=300), rng=generators)
def test_an_entry_is_the_mean_of_the_components_that_know_its_columns(shape, rng):
    model, *formula = partly_known(shape, rng)
    expected = mean_of_known(model, *formula)
    np.testing.assert_allclose(model.to_dense(), expected, atol=1e-12)
    np.testing.assert_allclose(model.norm(), np.linalg.norm(expected), atol=1e-9)
    np.testing.assert_allclose(model.orthonormal().to_dense(), expected, atol=1e-9)
    np.testing.assert_allclose(model.margin(1), unfold(expected, 1).sum(axis=1), atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(shape=shapes(min_order=3, max_order=4, max_entries=300), rng=generators)
def test_chosen_slices_in_any_order_and_more_than_once(shape, rng):
    model, *formula = partly_known(shape, rng)
    expected = mean_of_known(model, *formula)
    indices = [rng.integers(size, size=rng.integers(1, 2 * size + 1)) for size in shape]
    np.testing.assert_allclose(model.restrict(indices).to_dense(), expected[np.ix_(*indices)], atol=1e-12)
    mode = int(rng.integers(len(shape)))
    chosen = rng.integers(shape[mode], size=4)
    picked = model.multiplied(mode, np.eye(shape[mode])[chosen])
    np.testing.assert_allclose(picked.to_dense(), expected.take(chosen, axis=mode), atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(shape=shapes(min_order=3, max_order=4, max_entries=300), rng=generators, data=st.data())
def test_combined_slices_are_known_where_all_of_them_are(shape, rng, data):
    model, tensors, masks = partly_known(shape, rng)
    mode = data.draw(st.integers(0, len(shape) - 1))
    matrix = rng.standard_normal((3, shape[mode])) * (rng.random((3, shape[mode])) < 0.5)

    def combined(tensor):
        return np.moveaxis(np.tensordot(matrix, tensor, axes=(1, mode)), 0, mode)

    used = (matrix != 0).astype(float)
    known = [
        # Its own mode is that of its rows: every combination of them is known at the same columns.
        np.repeat(mask.take([0], axis=mode), 3, axis=mode)
        if part.mode == mode
        else (np.moveaxis(np.tensordot(used, ~mask, axes=(1, mode)), 0, mode) == 0)
        & (used.sum(axis=1) > 0).reshape([-1 if axis == mode else 1 for axis in range(len(shape))])
        for part, mask in zip(model.components, masks, strict=True)
    ]
    expected = mean_of_known(model, [combined(tensor) for tensor in tensors], known)
    np.testing.assert_allclose(model.multiplied(mode, matrix).to_dense(), expected, atol=1e-9)


def test_at_other_columns_it_is_zero_where_it_was_not_known():
    rng = np.random.default_rng(0)
    part = random_component(rng, (4, 3, 2), 0, 2)
    part = type(part)(0, part.u, part.s, part.v[[1, 4]])
    model = FoldedColumns((4, 3, 2), [part], [1.0], [np.array([1, 4])])
    matrix = unfold(model.to_dense(), 0)
    moved = model.at_columns({0: np.array([0, 4, 5])})
    expected = np.zeros((4, 6))
    expected[:, 4] = matrix[:, 4]
    np.testing.assert_allclose(unfold(moved.to_dense(), 0), expected, atol=1e-12)
    v = moved.components[0].v
    np.testing.assert_allclose(v.T @ v, np.eye(v.shape[1]), atol=1e-12)
    np.testing.assert_allclose(unfold(model.expanded().to_dense(), 0), matrix, atol=1e-12)


def test_it_comes_back_from_its_arrays_also_beside_effects():
    model, *_ = partly_known((4, 5, 6), np.random.default_rng(3))
    for each in (model, Centred(model, Additive(2.0, tuple(np.arange(float(size)) for size in (4, 5, 6))))):
        again = type(each).from_arrays(each.shape, each.to_arrays())
        np.testing.assert_array_equal(again.to_dense(), each.to_dense())


def test_a_huge_one_is_predicted_but_not_summed():
    shape = (10**6, 10**6, 10**3)
    rng = np.random.default_rng(0)
    part = random_component(rng, (3, 2, 2), 1, 1)
    part = type(part)(1, np.ones((10**6, 1)), part.s, part.v[:2])
    model = FoldedColumns(shape, [part], [1.0], [np.array([5, 10**9 - 1])])
    found = model.predict([[0, 7, 5], [10**6 - 1, 7, 999], [0, 7, 6]])
    np.testing.assert_allclose(found[:2], part.s * part.v[:, 0])
    assert found[2] == 0
    assert model.nbytes < math.prod(shape[::2])
    with pytest.raises(ValueError, match=r"the norm of FoldedColumns.* predict the entries"):
        model.norm()


@pytest.mark.parametrize("wrong", [[0, 2, 1], [0, 1, 10_000], [-1, 0, 1], [1, 1, 2]])
def test_columns_of_a_file_that_are_no_places_in_order_are_refused(wrong):
    rng = np.random.default_rng(0)
    part = Component(0, rng.standard_normal((4, 1)), np.ones(1), rng.standard_normal((3, 1)))
    arrays = FoldedColumns((4, 5, 6), [part], [1.0], [np.array([0, 3, 7])]).to_arrays()
    assert FoldedColumns.from_arrays((4, 5, 6), arrays).ranks == (1,)
    with pytest.raises(ValueError, match="the columns of mode 0"):
        FoldedColumns.from_arrays((4, 5, 6), arrays | {"columns0": np.array(wrong)})
