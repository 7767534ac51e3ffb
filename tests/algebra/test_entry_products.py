"""Sums of outer products at some entries, and sums over these entries, against dense NumPy; with several threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill._support import parallel
from tensorfill.algebra.entry_products import TermEntries
from tests.strategies import generators, observed, scatter, shapes

pytestmark = pytest.mark.usefixtures("both_kinds_of_loops")

LETTERS = "abcdef"


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"], autouse=True)
def few_entries_are_shared(request, monkeypatch):
    monkeypatch.setattr(parallel, "LEAST_PART", 4)
    with parallel.threads(request.param):
        yield


@st.composite
def problems(draw):
    """Draw entries in C order or in any order, numbers at them, and factors."""
    shape = draw(shapes(max_order=5, max_entries=300))
    coords, rng = draw(observed(shape)), draw(generators)
    if draw(st.booleans()):
        coords = rng.permutation(coords)
    rank = draw(st.integers(0, 3))
    return shape, coords, rng.standard_normal(len(coords)), [rng.standard_normal((size, rank)) for size in shape]


def joined(factors):
    return np.concatenate([factor.ravel() for factor in factors])


def products(coords, values, shape, factors, mode):
    """Return the product of the sparse tensor with all factors but one, column by column."""
    letters = LETTERS[: len(shape)]
    others = [
        (letter, factor) for place, (letter, factor) in enumerate(zip(letters, factors, strict=True)) if place != mode
    ]
    formula = ",".join([letters, *(f"{letter}r" for letter, _ in others)]) + f"->{letters[mode]}r"
    return np.einsum(formula, scatter(coords, values, shape), *(factor for _, factor in others))


@given(problem=problems())
def test_values_are_sums_of_products_of_rows(problem):
    shape, coords, _, factors = problem
    expected = np.prod([factor[coords[:, mode]] for mode, factor in enumerate(factors)], axis=0).sum(axis=1)
    found = TermEntries(coords, shape).values(joined(factors), factors[0].shape[1])
    np.testing.assert_allclose(found, expected, atol=1e-10)


@given(problem=problems())
def test_the_gradient_is_the_product_with_all_factors_but_one(problem):
    shape, coords, values, factors = problem
    entries = TermEntries(coords, shape)
    expected = [products(coords, values, shape, factors, mode) for mode in range(len(shape))]
    found = entries.gradient(values, joined(factors), factors[0].shape[1])
    np.testing.assert_allclose(found, joined(expected), atol=1e-10)
    for mode, product in enumerate(expected):
        np.testing.assert_allclose(entries.contracted(values, factors, mode), product, atol=1e-10)


def test_float32_stays_float32():
    shape, coords = (3, 4), np.array([[0, 1], [2, 3]])
    factors = [np.ones((size, 2), np.float32) for size in shape]
    entries, ones = TermEntries(coords, shape), np.ones(2, np.float32)
    assert entries.values(joined(factors), 2).dtype == np.float32
    assert entries.gradient(ones, joined(factors), 2).dtype == np.float32
    assert entries.contracted(ones, factors, 0).dtype == np.float32
