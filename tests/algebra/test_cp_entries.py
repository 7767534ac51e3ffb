"""Sums over the entries of each index for sums of outer products, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill._support import parallel
from tensorfill.algebra import cp_entries
from tensorfill.algebra.cp_entries import EntriesByIndex
from tests.strategies import generators, modes, observed, shapes

pytestmark = pytest.mark.usefixtures("both_kinds_of_loops")


def sums(coords, values, factors, mode):
    """Return the sums of ``w w^T`` and ``o w`` over the entries of each index of a mode."""
    w = np.prod([factor[coords[:, d]] for d, factor in enumerate(factors) if d != mode], axis=0)
    rows, (size, terms) = coords[:, mode], factors[mode].shape
    gram, rhs = np.zeros((size, terms, terms)), np.zeros((size, terms))
    np.add.at(rhs, rows, values[:, None] * w)
    np.add.at(gram, rows, w[:, :, None] * w[:, None, :])
    return gram, rhs


def check(shape, coords, terms, mode, rng):
    values, factors = rng.standard_normal(len(coords)), [rng.standard_normal((size, terms)) for size in shape]
    entries, (gram, rhs) = EntriesByIndex(coords, shape), sums(coords, values, factors, mode)
    found = entries.normal_equations(values, factors, mode)
    np.testing.assert_allclose(np.tril(found[0]), np.tril(gram), atol=1e-10)
    np.testing.assert_allclose(found[1], rhs, atol=1e-10)
    separate = entries.separate_normal_equations(values, factors, mode)
    np.testing.assert_allclose(separate[0], np.diagonal(gram, axis1=1, axis2=2), atol=1e-10)
    np.testing.assert_allclose(separate[1], rhs, atol=1e-10)
    return *found, *separate


@pytest.mark.parametrize("threads", [1, 3])
@settings(max_examples=30)
@given(data=st.data(), rng=generators)
def test_sums_of_each_index(threads, data, rng):
    shape = data.draw(shapes(max_order=4, max_entries=300, max_size=8))
    coords = data.draw(observed(shape)).astype(np.int32)
    with pytest.MonkeyPatch.context() as patch, parallel.threads(threads):
        patch.setattr(parallel, "LEAST_PART", 4)
        patch.setattr(cp_entries, "FEWEST_TOGETHER", 1)
        patch.setattr(cp_entries, "MOST_TOGETHER", data.draw(st.integers(1, 9)))
        patch.setattr(cp_entries, "NUMBERS_EACH", 2**20)
        check(shape, coords, data.draw(st.integers(1, 5)), data.draw(modes(shape)), rng)


@pytest.mark.parametrize("terms", range(1, 18))
def test_any_number_of_terms(terms):
    rng = np.random.default_rng(terms)
    shape = (5, 4, 6)
    coords = np.argwhere(rng.random(shape) < 0.7)
    for mode in range(3):
        check(shape, coords, terms, mode, rng)


def test_the_number_of_threads_does_not_matter(monkeypatch):
    monkeypatch.setattr(parallel, "LEAST_PART", 50)
    monkeypatch.setattr(cp_entries, "MOST_TOGETHER", 16)
    monkeypatch.setattr(cp_entries, "NUMBERS_EACH", 2**20)
    shape = (12, 9, 14)
    coords = np.argwhere(np.random.default_rng(0).random(shape) < 0.7)
    found = []
    for threads in (1, 2, 5):
        with parallel.threads(threads):
            found.append(check(shape, coords, 6, 1, np.random.default_rng(1)))
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            # Above the diagonal is what no one reads.
            np.testing.assert_array_equal(*((np.tril(each) if each.ndim == 3 else each) for each in (one, same)))


def test_entries_are_ordered_once_for_a_mode():
    coords = np.argwhere(np.random.default_rng(0).random((5, 4, 6)) < 0.7)
    entries = EntriesByIndex(coords, (5, 4, 6))
    assert entries.places(2) is entries.places(2)
    np.testing.assert_array_equal(coords[np.argsort(entries.places(2)), 2], np.sort(coords[:, 2]))
