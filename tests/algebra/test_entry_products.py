"""Products of rows of factors at some entries, against dense NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill.algebra import entry_products
from tensorfill.algebra.entry_products import contracted, entry_chunks, products_of_others
from tests.strategies import generators, observed, scatter, shapes

LETTERS = "abcdef"


@pytest.fixture(params=[2**12, 3], ids=["one chunk", "many chunks"], autouse=True)
def chunk(request, monkeypatch):
    monkeypatch.setattr(entry_products, "CHUNK", request.param)


@given(data=st.data(), rng=generators)
def test_the_product_with_all_vectors_but_one(data, rng):
    shape = data.draw(shapes(max_order=5, max_entries=300))
    coords = data.draw(observed(shape))
    rank, mode = data.draw(st.integers(0, 3)), data.draw(st.integers(0, len(shape) - 1))
    weights = rng.standard_normal(len(coords))
    factors = [rng.standard_normal((size, rank)) for size in shape]
    chunks = entry_chunks(coords, shape, weights.dtype)
    letters = LETTERS[: len(shape)]
    others = [
        (letter, factor) for place, (letter, factor) in enumerate(zip(letters, factors, strict=True)) if place != mode
    ]
    formula = ",".join([letters, *(f"{letter}r" for letter, _ in others)]) + f"->{letters[mode]}r"
    expected = np.einsum(formula, scatter(coords, weights, shape), *(factor for _, factor in others))
    np.testing.assert_allclose(contracted(chunks, weights, factors, mode), expected, atol=1e-10)


@given(data=st.data())
def test_every_entry_is_in_one_chunk(data):
    shape = data.draw(shapes(max_order=4, max_entries=300))
    coords = data.draw(observed(shape))
    chunks = entry_chunks(coords, shape, np.dtype(np.float64))
    places = np.concatenate([np.arange(len(coords))[chunk.where] for chunk in chunks])
    np.testing.assert_array_equal(places, np.arange(len(coords)))


@given(count=st.integers(2, 6), rng=generators)
def test_products_of_others(count, rng):
    arrays = list(rng.standard_normal((count, 4, 2)))
    for place, product in enumerate(products_of_others(arrays)):
        expected = np.prod([array for other, array in enumerate(arrays) if other != place], axis=0)
        np.testing.assert_allclose(product, expected)


def test_float32_stays_float32():
    shape, coords = (3, 4), np.array([[0, 1], [2, 3]])
    factors = [np.ones((size, 2), np.float32) for size in shape]
    product = contracted(entry_chunks(coords, shape, np.dtype(np.float32)), np.ones(2, np.float32), factors, 0)
    assert product.dtype == np.float32
