"""Full decompositions of unfoldings by Gram matrices, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill.algebra.spectral import rescaled_unfolding, shrunk_component, singular_values
from tensorfill.algebra.unfolding import fold, unfold
from tests.strategies import generators, shapes


def dense_function(tensor, mode, function):
    u, s, vt = np.linalg.svd(unfold(tensor, mode), full_matrices=False)
    return fold((u * function(s)) @ vt, mode, tensor.shape), s


@given(data=st.data(), rng=generators)
def test_they_are_those_of_numpy_for_wide_and_tall_unfoldings(data, rng):
    shape = data.draw(shapes(max_order=4, max_entries=300, max_size=20))
    mode = data.draw(st.integers(0, len(shape) - 1))
    dtype = data.draw(st.sampled_from([np.float64, np.float32]))
    tensor = rng.standard_normal(shape).astype(dtype)
    close = {"atol": 1e-6 if dtype == np.float64 else 1e-4}
    shrunk, s = dense_function(tensor.astype(float), mode, lambda s: np.maximum(s - 0.5, 0))
    np.testing.assert_allclose(singular_values(tensor, mode), s, **close)
    found = shrunk_component(tensor, mode, lambda s: np.maximum(s - 0.5, 0))
    assert found.u.dtype == found.v.dtype == found.s.dtype == dtype
    np.testing.assert_allclose(fold((found.u * found.s) @ found.v.T, mode, shape), shrunk, **close)
    np.testing.assert_allclose(found.u.T @ found.u, np.eye(found.rank), **close)
    np.testing.assert_allclose(found.v.T @ found.v, np.eye(found.rank), **close)
    full, _ = rescaled_unfolding(tensor, mode, lambda s: 1 / np.maximum(s, 1.0))
    np.testing.assert_allclose(
        full, dense_function(tensor.astype(float), mode, lambda s: s / np.maximum(s, 1.0))[0], **close
    )
    assert full.dtype == dtype


@pytest.mark.parametrize("mode", [0, 1])
def test_small_singular_values_that_are_kept_are_accurate(mode):
    rng = np.random.default_rng(0)
    u, v = (np.linalg.qr(rng.standard_normal((size, 4)))[0] for size in (6, 9))
    s = np.array([1.0, 1e-4, 1e-9, 1e-12])
    matrix = (u * s) @ v.T
    found = shrunk_component(matrix, mode, lambda s: np.where(s > 1e-13, s, 0))
    np.testing.assert_allclose(found.s[:4], s, rtol=1e-2)
