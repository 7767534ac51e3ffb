"""Sparse arrays, of which it must be said what the unstored entries are."""

import numpy as np
import pytest
import scipy.sparse
import sparse
from hypothesis import given

from tensorfill import Observations
from tensorfill.adapters import take_in

from ..refusal import refuses
from .examples import labelled_arrays, same_observations


def stored(array):
    """Return the coordinates and values of the entries that are there, zeros among them."""
    there = ~np.isnan(array)
    return np.stack(np.nonzero(there)), array[there]


def without_zeros(array):
    return Observations.from_dense(np.where(array == 0, np.nan, array))


@given(labelled_arrays())
def test_what_coo_does_not_store_is_missing_and_stored_zeros_are_not(drawn):
    array, _ = drawn
    coords, values = stored(array)
    zero = sparse.COO(coords, values, shape=array.shape)
    nan = sparse.COO(coords, values, shape=array.shape, fill_value=np.nan)
    for data, missing in [(zero, "absent"), (nan, None), (nan, "nan"), (nan, "absent")]:
        same_observations(take_in(data, missing=missing).observations, Observations.from_dense(array))
    for data in (zero, nan, sparse.GCXS(zero) if array.ndim > 1 else zero, sparse.DOK(zero)):
        same_observations(take_in(data, missing="zero").observations, without_zeros(array))


@given(labelled_arrays(max_order=2))
def test_what_scipy_does_not_store_is_missing_and_stored_zeros_are_not(drawn):
    array, _ = drawn
    coords, values = stored(array)
    held = scipy.sparse.coo_array((values, tuple(coords)), shape=array.shape)
    for data in (held, held.tocsr(), held.tocsc(), scipy.sparse.coo_matrix(held)):
        same_observations(take_in(data, missing="absent").observations, Observations.from_dense(array))
        same_observations(take_in(data, missing="zero").observations, without_zeros(array))


def test_scipy_takes_any_order_and_adds_up_what_is_stored_twice():
    held = scipy.sparse.coo_array(([1.0, 2.0, 5.0, -5.0], ([0, 0, 1, 1], [0, 0, 1, 1])), shape=(2, 3))
    assert take_in(held, missing="absent").observations.values.tolist() == [3.0, 0.0]
    assert take_in(held, missing="zero").observations.values.tolist() == [3.0]
    assert held.nnz == 4
    array = np.arange(24.0).reshape(2, 3, 4)
    seen = take_in(scipy.sparse.coo_array(array), missing="absent").observations
    same_observations(seen, without_zeros(array))


# The first array of sparse compiles for a second, so that none is made on import.
def zero():
    return sparse.COO(np.eye(3))


def five():
    return sparse.COO([[0], [1]], [2.0], shape=(3, 3), fill_value=5.0)


@pytest.mark.parametrize(
    ("words", "action"),
    [
        (["'absent'", "'zero'", "missing=None", "data.toarray()"], lambda: take_in(scipy.sparse.eye_array(3))),
        (["'absent'", "missing='nan'"], lambda: take_in(scipy.sparse.eye_array(3), missing="nan")),
        (["'absent'", "'zero'", "data.todense()"], lambda: take_in(zero())),
        (["fill value 5", "missing='zero'", "'absent'"], lambda: take_in(five(), missing="zero")),
        (["fill value 5", "missing=None"], lambda: take_in(five())),
        (["at least one"], lambda: take_in(scipy.sparse.coo_array((3, 3)), missing="absent")),
        (["at least one", "missing='zero'"],
         lambda: take_in(scipy.sparse.coo_array(([0.0], ([1], [1])), shape=(3, 3)), missing="zero")),
        (["value", "table"], lambda: take_in(zero(), value="rain")),
    ],
)  # fmt: skip
def test_zeros_that_may_be_missing_get_one_sentence(words, action):
    refuses(ValueError, words, action)


def test_another_fill_value_is_missing_where_that_is_said():
    assert take_in(five(), missing="absent").observations.values.tolist() == [2.0]
