"""A model of an unfolded mode against the dense array."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill.models import CPModel, Dense, Tucker, Unfolded
from tensorfill.models.unfolded import Folding
from tests.refusal import refuses
from tests.strategies import generators, shapes


@st.composite
def unfoldings(draw):
    """Draw a model of dense entries, and its array."""
    shape = draw(shapes(max_order=4, max_entries=300))
    mode = draw(st.integers(0, len(shape) - 1))
    period = draw(st.integers(1, shape[mode]))
    folding, rng = Folding(shape, mode, period), draw(generators)
    inner = rng.standard_normal(folding.folded_shape)
    dense = inner.reshape(*shape[:mode], -1, *shape[mode + 1 :])[(slice(None),) * mode + (slice(shape[mode]),)]
    return Unfolded(Dense(inner), mode, shape[mode]), dense, rng


@settings(max_examples=80, deadline=None)
@given(drawn=unfoldings())
def test_what_is_selected_and_combined_is_that_of_the_array(drawn):
    model, dense, rng = drawn
    np.testing.assert_array_equal(model.to_dense(), dense)
    assert math.isclose(model.inner(model), np.vdot(dense, dense), rel_tol=1e-9, abs_tol=1e-9)
    for mode in range(dense.ndim):
        others = tuple(axis for axis in range(dense.ndim) if axis != mode)
        np.testing.assert_allclose(model.margin(mode), dense.sum(axis=others), atol=1e-11)
    indices = [rng.integers(0, size, size=rng.integers(1, 5)) for size in dense.shape]
    part, expected = model.restrict(indices), dense[np.ix_(*indices)]
    np.testing.assert_allclose(part.to_dense(), expected)
    for mode, size in enumerate(expected.shape):
        matrix = rng.standard_normal((int(rng.integers(1, 4)), size))
        product = np.moveaxis(np.tensordot(matrix, expected, axes=(1, mode)), 0, mode)
        for form in (matrix, scipy.sparse.csr_array(matrix)):
            combined = part.multiplied(mode, form)
            np.testing.assert_allclose(combined.to_dense(), product, atol=1e-12)
            coords = np.argwhere(np.ones(product.shape))
            np.testing.assert_allclose(combined.predict(coords), product.ravel(), atol=1e-12)
        assert math.isclose(combined.norm() ** 2, np.vdot(product, product), rel_tol=1e-9, abs_tol=1e-9)
        again = Unfolded.from_arrays(combined.shape, combined.to_arrays())
        np.testing.assert_array_equal(again.to_dense(), combined.to_dense())
        for other in range(dense.ndim):
            others = tuple(axis for axis in range(dense.ndim) if axis != other)
            np.testing.assert_allclose(combined.margin(other), product.sum(axis=others), atol=1e-11)
    whole = model.restrict([np.arange(size) for size in model.shape])
    assert whole.weights is None


@settings(max_examples=40, deadline=None)
@given(drawn=unfoldings())
def test_coordinates_there_and_back(drawn):
    model, dense, _ = drawn
    folding = Folding(model.shape, model.mode, model.period)
    coords = np.argwhere(np.ones(dense.shape))
    folded = folding.folded(coords)
    positions = np.ravel_multi_index(tuple(folded.T), folding.folded_shape)
    assert (np.diff(positions) > 0).all()
    np.testing.assert_array_equal(folding.unfolded(folded), coords)


def test_models_that_do_not_fit_are_refused():
    inner = Dense(np.zeros((4, 3, 5)))
    for mode, size, weights in [(1, 16, None), (2, 5, None), (-1, 5, None), (1, 3, np.ones((3, 14)))]:
        refuses(ValueError, ["rows and slots", f"{size:,} indices of mode {mode}"],
                lambda mode=mode, size=size, weights=weights: Unfolded(inner, mode, size, weights))  # fmt: skip
    refuses(ValueError, ["unfolded itself"], lambda: Unfolded(Unfolded(Dense(np.zeros((2, 2, 2, 2))), 0, 4), 0, 3))
    refuses(ValueError, ["2 indices of mode 0"], lambda: Unfolded(Dense(np.zeros((2, 2))), 0, 2))


def test_models_of_another_period_or_mode_have_no_inner_product():
    one, other = Unfolded(Dense(np.ones((2, 6, 2))), 1, 12), Unfolded(Dense(np.ones((2, 3, 4))), 1, 12)
    refuses(TypeError, ["same period", "from 2 and 4"], lambda: one.inner(other))
    square = [Unfolded(Dense(np.ones(shape)), mode, 4) for shape, mode in (((2, 2, 4), 0), ((4, 2, 2), 1))]
    refuses(TypeError, ["same mode", "modes 0 and 1"], lambda: square[0].inner(square[1]))


@pytest.mark.parametrize("change", [
    {"inner": np.array("unfolded")}, {"inner": np.array("none")}, {"grid": np.array([1, 3])},
    {"grid": np.array([2, 3, 2])}, {"grid": np.array([1.0, 3.0, 2.0])}, {"grid": np.array([1, 2, 2])},
    {"columns": np.array([0, 1, 6])}, {"starts": np.array([0, 2, 1, 3])}, {"starts": np.array([0, 3])},
    {"weights": np.array([1, 1, 1])},
])  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(change):
    model = Unfolded(Dense(np.ones((2, 3, 2))), 1, 5).restrict([np.arange(2), np.array([0, 3, 4])])
    plain = Unfolded(Dense(np.ones((2, 3, 2))), 1, 5)
    arrays = plain.to_arrays() if set(change) <= {"inner", "grid"} else model.to_arrays()
    shape = plain.shape if set(change) <= {"inner", "grid"} else model.shape
    with pytest.raises(ValueError, match=r"unfolded|kind|weights|shape|rows"):
        Unfolded.from_arrays(shape, arrays | change)


def test_nothing_of_the_size_of_a_huge_tensor_is_made():
    rng = np.random.default_rng(0)
    shape = (300, 20_000, 400)
    folded = (300, 834, 24, 400)
    model = Unfolded(CPModel(folded, [1.0], [rng.standard_normal((size, 1)) for size in folded]), 1, 20_000)
    coords = rng.integers(0, shape, size=(1000, 3))
    tracemalloc.start()
    try:
        model.predict(coords)
        model.margin(0), model.margin(1), model.norm()
        fibre = model[3, :, 5]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    a, b, c, d = model.model.factors
    np.testing.assert_allclose(fibre, a[3, 0] * d[5, 0] * (b * c.T).ravel()[:20_000], rtol=1e-9)
    np.testing.assert_allclose(model.margin(1), a.sum() * d.sum() * (b * c.T).ravel()[:20_000], rtol=1e-9)
    assert peak < 2e7


def test_orthonormal_and_scaled_are_the_same_tensor():
    rng = np.random.default_rng(0)
    factors = [rng.standard_normal((size, 2)) for size in (3, 4, 5)]
    model = Unfolded(Tucker((3, 4, 5), rng.standard_normal((2, 2, 2)), factors), 1, 18)
    np.testing.assert_allclose(model.orthonormal().to_dense(), model.to_dense())
    np.testing.assert_array_equal(model.scaled(4.0).to_dense(), 4 * model.to_dense())
