"""Unfolding, folding and their index arithmetic, against NumPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill.algebra.unfolding import (
    column_index,
    columns,
    fold,
    large_modes,
    sizes_around,
    smallest_index_type,
    times,
    unfold,
)
from tests.strategies import ORDERS, generators, modes, shapes

INT32_MAX = np.iinfo(np.int32).max


def shape_and_mode(order):
    return shapes(order, order).flatmap(lambda shape: st.tuples(st.just(shape), modes(shape)))


def without(items, *places):
    return [item for place, item in enumerate(items) if place not in places]


@pytest.mark.parametrize("order", ORDERS)
class TestAgainstNumpy:
    @settings(max_examples=30, deadline=None)
    @given(data=st.data())
    def test_unfold_puts_the_mode_first_and_the_others_in_c_order(self, order, data):
        shape, mode = data.draw(shape_and_mode(order))
        tensor = np.arange(math.prod(shape)).reshape(shape)
        matrix = unfold(tensor, mode)
        assert matrix.shape == (shape[mode], columns(shape, mode))
        np.testing.assert_array_equal(matrix, np.moveaxis(tensor, mode, 0).reshape(shape[mode], -1))

    @settings(max_examples=30, deadline=None)
    @given(data=st.data())
    def test_fold_undoes_unfold_as_a_view(self, order, data):
        shape, mode = data.draw(shape_and_mode(order))
        tensor = np.arange(math.prod(shape)).reshape(shape)
        matrix = np.ascontiguousarray(unfold(tensor, mode))
        folded = fold(matrix, mode, shape)
        np.testing.assert_array_equal(folded, tensor)
        assert np.shares_memory(folded, matrix)

    @settings(max_examples=30, deadline=None)
    @given(data=st.data(), rng=generators)
    def test_column_index_is_where_unfold_puts_the_entry(self, order, data, rng):
        shape, mode = data.draw(shape_and_mode(order))
        tensor = rng.standard_normal(shape)
        coords = rng.integers(0, shape, size=(30, order))
        index = column_index(coords, shape, mode)
        expected = np.ravel_multi_index(without(coords.T, mode), without(shape, mode))
        np.testing.assert_array_equal(index, expected)
        assert index.dtype == np.int32
        np.testing.assert_array_equal(unfold(tensor, mode)[coords[:, mode], index], tensor[tuple(coords.T)])

    @settings(max_examples=30, deadline=None)
    @given(data=st.data())
    def test_around_counts_the_axes_on_either_side(self, order, data):
        shape, mode = data.draw(shape_and_mode(order))
        before, after = sizes_around(shape, mode)
        assert before == np.prod(shape[:mode], dtype=int)
        assert after == np.prod(shape[mode + 1 :], dtype=int)
        assert before * after == columns(shape, mode)

    @settings(max_examples=30, deadline=None)
    @given(data=st.data())
    def test_around_leaves_an_axis_out(self, order, data):
        shape, mode = data.draw(shape_and_mode(order))
        other = data.draw(modes(shape).filter(lambda axis: axis != mode))
        before, after = sizes_around(shape, mode, without=other)
        assert before == math.prod(without(shape[:mode], other))
        assert before * after == math.prod(without(shape, mode, other))


def test_unfolding_of_the_first_mode_is_a_view():
    tensor = np.zeros((3, 4, 5))
    assert np.shares_memory(unfold(tensor, 0), tensor)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64])
def test_narrow_coordinates_do_not_wrap_around(dtype):
    coords = np.array([[100, 120, 110], [0, 0, 0]], dtype=dtype)
    np.testing.assert_array_equal(column_index(coords, (127, 127, 127), 0), [120 * 127 + 110, 0])


@pytest.mark.parametrize("coordinate_type", [np.int32, np.int64])
def test_columns_of_a_huge_tensor_do_not_overflow(coordinate_type):
    shape = (3_000_000, 3_000_000, 1_000)
    points = [(2_999_999, 2_999_998, 999), (0, 0, 0), (2_147_484, 1, 700), (1, 2_999_999, 0)]
    coords = np.array(points, dtype=coordinate_type)
    expected = [
        [j * 1_000 + k for i, j, k in points],
        [i * 1_000 + k for i, j, k in points],
        [i * 3_000_000 + j for i, j, k in points],
    ]
    for mode in range(3):
        index = column_index(coords, shape, mode)
        assert index.dtype == np.int64
        assert index.tolist() == expected[mode]


def test_columns_are_python_integers_that_do_not_wrap_around():
    assert columns((10**7,) * 6, 2) == 10**35
    assert sizes_around((10**7,) * 6, 2) == (10**14, 10**21)


@pytest.mark.parametrize(
    ("size", "expected"),
    [(1, np.int32), (INT32_MAX, np.int32), (INT32_MAX + 1, np.int64), (2**40, np.int64)],
)
def test_the_index_type_is_as_narrow_as_it_can_be(size, expected):
    assert smallest_index_type(size) is expected


def test_the_width_of_column_index_follows_the_number_of_columns():
    coords = np.array([[1, 46_340, 46_340]])
    narrow = column_index(coords, (2, 46_341, 46_340), 0)
    wide = column_index(coords, (2, 46_341, 46_342), 0)
    assert narrow.dtype == np.int32
    assert wide.dtype == np.int64
    assert wide.tolist() == [46_340 * 46_342 + 46_340]


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((30, 30, 30), (0, 1, 2)),
        ((30, 7, 30), (0, 2)),
        ((30, 8, 30), (0, 1, 2)),
        ((3, 4, 5), (1, 2)),
        ((2, 100, 2), (0, 1)),
        ((5, 20, 5, 9), (1, 3)),
    ],
    ids=str,
)
def test_large_modes(shape, expected):
    assert large_modes(shape) == expected


@pytest.mark.parametrize("last", [3, 0])
def test_a_sparse_matrix_multiplies_as_a_dense_one_also_where_there_is_nothing(last):
    matrix, tensor = np.arange(8.0).reshape(4, 2), np.arange(6.0 * last).reshape(3, 2, last)
    product = times(scipy.sparse.csr_array(matrix), tensor, 1)
    assert product.shape == (3, 4, last)
    np.testing.assert_array_equal(product, times(matrix, tensor, 1))
