"""A model of merged modes against the dense array, for any groups of modes."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill.models import CPModel, Dense, Merged, Tucker
from tensorfill.models.merged import LONGEST, Grouping
from tests.refusal import refuses
from tests.strategies import generators, shapes


@st.composite
def groupings(draw, min_order=2):
    """Draw a shape, and groups of its modes, in any order and possibly none."""
    shape = draw(shapes(min_order=min_order, max_order=5, max_entries=300))
    left = draw(st.permutations(range(len(shape))))
    groups = []
    while len(left) >= 2 and draw(st.booleans()):
        count = draw(st.integers(2, len(left)))
        groups.append(tuple(left[:count]))
        left = left[count:]
    return shape, groups


def merged_by_hand(dense, groups):
    """Return an array with its modes merged, entry by entry from the definition."""
    groups = {min(group): sorted(group) for group in groups}
    later = {mode for group in groups.values() for mode in group[1:]}
    parts = [groups.get(mode, [mode]) for mode in range(dense.ndim) if mode not in later]
    out = np.full([math.prod(dense.shape[mode] for mode in part) for part in parts], np.nan)
    for place in np.ndindex(*dense.shape):
        index = []
        for part in parts:
            number = 0
            for mode in part:
                number = number * dense.shape[mode] + place[mode]
            index.append(number)
        out[tuple(index)] = dense[place]
    return out


def made(shape, groups, rng):
    dense = rng.standard_normal(shape)
    return Merged(Dense(merged_by_hand(dense, groups)), shape, groups), dense


@settings(max_examples=60, deadline=None)
@given(drawn=groupings(), rng=generators)
def test_predictions_slices_and_dense_values(drawn, rng):
    model, dense = made(*drawn, rng)
    np.testing.assert_array_equal(model.to_dense(), dense)
    assert model.to_dense().flags.c_contiguous
    coords = rng.integers(0, dense.shape, size=(20, dense.ndim))
    np.testing.assert_array_equal(model.predict(coords), dense[tuple(coords.T)])
    for mode, size in enumerate(dense.shape):
        index = int(rng.integers(size))
        key = (slice(None),) * mode + (index,)
        np.testing.assert_array_equal(model[key], dense[key])


@settings(max_examples=60, deadline=None)
@given(drawn=groupings(), rng=generators)
def test_restricted_multiplied_and_summed(drawn, rng):
    model, dense = made(*drawn, rng)
    indices = [rng.integers(0, size, size=rng.integers(1, 4)) for size in dense.shape]
    np.testing.assert_array_equal(model.restrict(indices).to_dense(), dense[np.ix_(*indices)])
    for mode, size in enumerate(dense.shape):
        matrix = rng.standard_normal((int(rng.integers(1, 4)), size))
        expected = np.moveaxis(np.tensordot(matrix, dense, axes=(1, mode)), 0, mode)
        for form in (matrix, scipy.sparse.csr_array(matrix)):
            np.testing.assert_allclose(model.multiplied(mode, form).to_dense(), expected, atol=1e-12)
        others = tuple(axis for axis in range(dense.ndim) if axis != mode)
        np.testing.assert_allclose(model.margin(mode), dense.sum(axis=others), atol=1e-11)
    assert math.isclose(model.inner(model), np.vdot(dense, dense), rel_tol=1e-12)


@settings(max_examples=60, deadline=None)
@given(drawn=groupings(), rng=generators)
def test_coordinates_there_and_back(drawn, rng):
    shape, groups = drawn
    grouping = Grouping(shape, groups)
    coords = np.indices(shape).reshape(len(shape), -1).T
    merged = grouping.merged(coords)
    positions = np.ravel_multi_index(tuple(merged.T), grouping.merged_shape)
    assert sorted(positions) == list(range(math.prod(shape)))
    np.testing.assert_array_equal(grouping.apart(merged), coords)


@settings(max_examples=30, deadline=None)
@given(drawn=groupings(), rng=generators)
def test_a_file_keeps_any_groups(drawn, rng):
    model, dense = made(*drawn, rng)
    again = Merged.from_arrays(model.shape, model.to_arrays())
    assert again.groups == model.groups
    np.testing.assert_array_equal(again.to_dense(), dense)


def test_groups_in_any_order_are_the_same():
    shape, rng = (2, 3, 4, 5), np.random.default_rng(0)
    dense = rng.standard_normal((10, 12))
    first, second = (Merged(Dense(dense), shape, groups) for groups in ([(0, 3), (1, 2)], [(2, 1), (3, 0)]))
    assert first.groups == second.groups == ((0, 3), (1, 2))
    np.testing.assert_array_equal(first.to_dense(), second.to_dense())


@pytest.mark.parametrize("groups", [[(0,)], [(0, 0)], [(0, 1), (1, 2)], [(0, -1)], [("a", "b")], [0, 1], 3, [(0, 1.0)]])
def test_bad_groups_are_refused(groups):
    refuses(ValueError, ["two or more different modes", repr(groups)], lambda: Grouping((2, 3, 4), groups))


def test_models_that_do_not_fit_are_refused():
    inner = Dense(np.zeros((6, 4)))
    refuses(ValueError, ["from 0 to 2", "(2, 3)"], lambda: Merged(inner, (2, 3, 4), [(2, 3)]))
    refuses(ValueError, ["(2, 12)", "(6, 4)"], lambda: Merged(inner, (2, 3, 4), [(1, 2)]))
    once = Merged(inner, (2, 3, 4), [(0, 1)])
    refuses(ValueError, ["merged itself"], lambda: Merged(once, (2, 3, 4), []))
    refuses(ValueError, [f"{LONGEST:,}", "10,000,000,000"], lambda: Grouping((10**5, 10**5, 2), ((0, 1),)))


def test_models_with_other_groups_have_no_inner_product():
    one = Merged(Dense(np.ones((2, 4))), (2, 2, 2), [(1, 2)])
    other = Merged(Dense(np.ones((4, 2))), (2, 2, 2), [(0, 2)])
    refuses(TypeError, ["same modes merged", "((1, 2),)", "((0, 2),)"], lambda: one.inner(other))


@pytest.mark.parametrize("change", [{"inner": np.array("merged")}, {"inner": np.array("none")},
                                    {"places": np.array([0, 0])}, {"places": np.array([1, 1, 0])},
                                    {"places": np.array([0.0, 1.0, 1.0])}])  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(change):
    arrays = Merged(Dense(np.ones((2, 4))), (2, 2, 2), [(1, 2)]).to_arrays()
    with pytest.raises(ValueError, match=r"merged|kind|place"):
        Merged.from_arrays((2, 2, 2), arrays | change)


def test_nothing_of_the_size_of_a_huge_tensor_is_made():
    shape, rng = (300, 400, 500, 600), np.random.default_rng(0)
    factors = [rng.standard_normal((size, 2)) for size in (300 * 600, 400, 500)]
    model = Merged(CPModel((300 * 600, 400, 500), [1.0, 1.0], factors), shape, [(0, 3)])
    coords = rng.integers(0, shape, size=(1000, 4))
    matrix = scipy.sparse.csr_array(np.ones((1, 300)))
    tracemalloc.start()
    try:
        model.predict(coords), model.norm(), model.margin(0), model[0, 0, 0], model.orthonormal()
        combined = model.multiplied(0, matrix)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert combined.shape == (1, 400, 500, 600)
    assert peak < 50e6
    rows = coords[:, 0] * 600 + coords[:, 3]
    expected = (factors[0][rows] * factors[1][coords[:, 1]] * factors[2][coords[:, 2]]).sum(axis=1)
    np.testing.assert_allclose(model.predict(coords), expected)


def test_the_ranks_and_the_words_are_those_of_the_inner_model():
    inner = Tucker((6, 4), np.ones((2, 3)), [np.ones((6, 2)), np.ones((4, 3))])
    model = Merged(inner, (2, 3, 4), [(0, 1)])
    assert model.ranks == (2, 3)
    assert model.nbytes == inner.nbytes
    assert repr(model) == "Merged(Tucker(shape=(6, 4), ranks=(2, 3)), shape=(2, 3, 4), groups=((0, 1),))"
