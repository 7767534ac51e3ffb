"""Random arrays with labels, and fits that cost nothing."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tensorfill import Fit, Nort, Status
from tensorfill.choosing.recipe import Recipe
from tensorfill.methods.base import History, Record
from tensorfill.models import Dense

KINDS = ("number", "text", "date", "float", "flag")


def distinct_keys(rng, kind, size):
    """Return different labels of a kind, in no order."""
    if kind == "number":
        return rng.permutation(size * 3)[:size] - size
    if kind == "text":
        return np.array([f"k{number}{'é' * (number % 3)}" for number in rng.permutation(size)], dtype=object)
    if kind == "date":
        return np.datetime64("1999-12-30", "us") + rng.permutation(size).astype("timedelta64[D]")
    if kind == "float":
        return rng.permutation(size) / 4 - 1
    return np.array([True, False])[:size] if size <= 2 else rng.permutation(size)


@st.composite
def labelled_arrays(draw, min_order=2, max_order=4):
    """An array with NaN where an entry is missing, and labels for each of its modes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=min_order, max_size=max_order)))
    array = rng.integers(-2, 3, shape).astype(float)
    array[rng.random(shape) < draw(st.sampled_from([0.0, 0.3, 0.8]))] = np.nan
    array.flat[rng.integers(array.size)] = 1.0
    return array, [distinct_keys(rng, draw(st.sampled_from(KINDS)), size) for size in shape]


def names_of(array):
    return [f"mode {letter}" for letter in "ABCDEF"[: array.ndim]]


def same_observations(one, other):
    assert one.shape == other.shape
    np.testing.assert_array_equal(one.coords, other.coords)
    np.testing.assert_array_equal(one.values, other.values)


def fit_of(taken, dense=None, **more):
    """Return a fit that predicts given entries, without fitting anything."""
    dense = np.arange(float(np.prod(taken.observations.shape))) if dense is None else dense
    return Fit(
        model=Dense(np.reshape(dense, taken.observations.shape)),
        status=Status.CONVERGED,
        history=History([Record(0, 0.0, 0.0, 0.0, (), False)]),
        recipe=Recipe(method=Nort(lam=1.0)),
        observations=taken.observations,
        labels=taken.labels,
        restore=taken.restore,
        **more,
    )
