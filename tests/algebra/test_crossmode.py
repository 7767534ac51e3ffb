"""Proposition 1: products with a component folded along one mode and unfolded along another."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill.algebra.compiled import kernels
from tensorfill.algebra.component import Component
from tensorfill.algebra.crossmode import CrossModeProduct, inner_product
from tensorfill.algebra.unfolding import columns, unfold
from tests.strategies import (
    ORDERS,
    blocks,
    dense_component,
    generators,
    modes,
    random_component,
    ranks,
    shapes,
    weights,
)


def left_product(component, weight, shape, mode, a):
    """Return the transposed unfolding of a component along `mode`, times `a`, by its two stages."""
    product = CrossModeProduct(component, weight, shape, mode)
    out = np.zeros((columns(shape, mode), a.shape[1]), dtype=component.u.dtype)
    kernels.walk_term(False, *product.term(product.contract(a)), 0, len(out), out)
    return out


def right_product(component, weight, shape, mode, b):
    """Return the unfolding of a component along `mode`, times `b`, by its two stages."""
    product = CrossModeProduct(component, weight, shape, mode)
    panels = product.zero_panels(b.shape[1])
    kernels.walk_term(True, *product.term(panels), 0, len(b), np.ascontiguousarray(b))
    return product.finish(panels)


@st.composite
def products(draw, order):
    """Draw a component along one mode, another mode, and a block for each side, in either memory order."""
    shape = draw(shapes(order, order))
    mode, rng, block = draw(modes(shape)), draw(generators), draw(blocks)
    component = random_component(rng, shape, draw(modes(shape)), draw(ranks), orthonormal=False)
    layout = draw(st.sampled_from("CF"))
    a = np.asarray(rng.standard_normal((shape[mode], block)), order=layout)
    b = np.asarray(rng.standard_normal((columns(shape, mode), block)), order=layout)
    return shape, mode, component, draw(weights), a, b


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("order", ORDERS)
class TestAgainstDense:
    @settings(max_examples=30, deadline=None)
    @given(data=st.data())
    def test_left_product(self, order, data):
        shape, mode, component, weight, a, _ = data.draw(products(order))
        matrix = unfold(dense_component(component, shape, weight), mode)
        product = left_product(component, weight, shape, mode, a)
        assert product.shape == (matrix.shape[1], a.shape[1])
        close(product, matrix.T @ a)

    @settings(max_examples=30, deadline=None)
    @given(data=st.data())
    def test_right_product(self, order, data):
        shape, mode, component, weight, _, b = data.draw(products(order))
        matrix = unfold(dense_component(component, shape, weight), mode)
        product = right_product(component, weight, shape, mode, b)
        assert product.shape == (matrix.shape[0], b.shape[1])
        close(product, matrix @ b)

    @settings(max_examples=30, deadline=None)
    @given(data=st.data())
    def test_the_two_products_are_adjoint(self, order, data):
        shape, mode, component, weight, a, b = data.draw(products(order))
        left = left_product(component, weight, shape, mode, a)
        right = right_product(component, weight, shape, mode, b)
        close(np.vdot(left, b), np.vdot(a, right))

    @settings(max_examples=30, deadline=None)
    @given(data=st.data(), rng=generators)
    def test_inner_product(self, order, data, rng):
        shape = data.draw(shapes(order, order))
        first, second = (random_component(rng, shape, data.draw(modes(shape)), data.draw(ranks)) for _ in range(2))
        expected = np.vdot(dense_component(first, shape), dense_component(second, shape))
        inner = inner_product(first, second, shape)
        assert isinstance(inner, float)
        close(inner, expected)
        close(inner_product(second, first, shape), expected)
        close(inner_product(first, first, shape), np.sum(dense_component(first, shape) ** 2))

    def test_every_pair_of_modes(self, order):
        shape = (3, 2, 4, 2, 3, 2)[:order]
        rng = np.random.default_rng(order)
        for i, j in itertools.product(range(order), repeat=2):
            component = random_component(rng, shape, j, 2)
            matrix = unfold(dense_component(component, shape, 0.7), i)
            a, b = rng.standard_normal((shape[i], 3)), rng.standard_normal((columns(shape, i), 3))
            close(left_product(component, 0.7, shape, i, a), matrix.T @ a)
            close(right_product(component, 0.7, shape, i, b), matrix @ b)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_float32_stays_float32(mode):
    shape, rng = (4, 5, 6), np.random.default_rng(0)
    component = random_component(rng, shape, 1, 2, np.float32)
    a = rng.standard_normal((shape[mode], 2)).astype(np.float32)
    b = rng.standard_normal((columns(shape, mode), 2)).astype(np.float32)
    assert left_product(component, 0.3, shape, mode, a).dtype == np.float32
    assert right_product(component, 0.3, shape, mode, b).dtype == np.float32


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_the_zero_component_gives_zero(mode):
    shape = (4, 5, 6)
    zero = Component.zero(shape, 1, np.dtype(np.float64))
    left = left_product(zero, 1.0, shape, mode, np.ones((shape[mode], 2)))
    right = right_product(zero, 1.0, shape, mode, np.ones((columns(shape, mode), 2)))
    np.testing.assert_array_equal(left, np.zeros((columns(shape, mode), 2)))
    np.testing.assert_array_equal(right, np.zeros((shape[mode], 2)))
    assert inner_product(zero, zero, shape) == 0.0
