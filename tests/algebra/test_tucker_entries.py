"""Entries in Tucker form, and sums over entries, against NumPy; with groups, and with several threads."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill._support import parallel
from tensorfill.algebra.tucker_entries import FactorRows, gradients, sums_over_blocks, values_at
from tests.strategies import generators

pytestmark = pytest.mark.usefixtures("both_kinds_of_loops")


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"], autouse=True)
def few_entries_are_shared(request, monkeypatch):
    monkeypatch.setattr(parallel, "LEAST_PART", 4)
    with parallel.threads(request.param):
        yield


@st.composite
def problems(draw):
    """Entries in C order within their group, in that order but with groups mixed, or in any order; and factors."""
    rng = draw(generators)
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    ranks = [draw(st.integers(1, 4)) for _ in shape]
    blocks, entries = draw(st.integers(1, 4)), draw(st.integers(1, 60))
    groups = rng.integers(blocks, size=entries)
    coords = np.stack([rng.integers(size, size=entries) for size in shape], axis=1)
    keys = {"sorted": [*coords.T[::-1], groups], "mixed": [*coords.T[::-1]], "any": [rng.random(entries)]}
    order = np.lexsort(keys[draw(st.sampled_from(sorted(keys)))])
    factors = [rng.standard_normal(each) for each in zip(shape, ranks, strict=True)]
    return rng, np.ascontiguousarray(coords[order]), groups[order], factors, (blocks, int(np.prod(ranks)))


def features(coords, factors):
    """Return the rows kron(a_1[i_1], a_2[i_2], ..), from the definition alone."""
    return np.array(
        [functools.reduce(np.kron, [factor[i] for factor, i in zip(factors, row, strict=True)]) for row in coords]
    )


@given(problem=problems())
def test_values_are_the_core_times_the_rows(problem):
    rng, coords, groups, factors, shape = problem
    core = rng.standard_normal(shape)
    expected = np.sum(features(coords, factors) * core[groups], axis=1)
    np.testing.assert_allclose(values_at(coords, groups, core, FactorRows(factors)), expected, atol=1e-10)


@given(problem=problems())
def test_sums_are_those_of_the_features_of_each_group(problem):
    rng, coords, groups, factors, shape = problem
    values = rng.standard_normal(len(coords))
    expected = np.zeros(shape)
    np.add.at(expected, groups, values[:, None] * features(coords, factors))
    np.testing.assert_allclose(
        sums_over_blocks(coords, groups, values, FactorRows(factors), shape), expected, atol=1e-10
    )


@given(problem=problems())
def test_one_is_the_transpose_of_the_other(problem):
    rng, coords, groups, factors, shape = problem
    core, values, rows = rng.standard_normal(shape), rng.standard_normal(len(coords)), FactorRows(factors)
    forth = values @ values_at(coords, groups, core, rows)
    back = np.vdot(core, sums_over_blocks(coords, groups, values, rows, shape))
    assert forth == pytest.approx(back, abs=1e-9)


@given(problem=problems())
def test_gradients_are_those_of_the_formula(problem):
    rng, coords, _, factors, (_, size) = problem
    core, slopes = rng.standard_normal(size), rng.standard_normal(len(coords))
    rows = FactorRows(factors)
    to_core, to_rows = gradients(coords, slopes, core, rows)
    np.testing.assert_allclose(to_core, slopes @ features(coords, factors), atol=1e-10)
    expected = []
    for mode, factor in enumerate(factors):
        total = np.zeros_like(factor)
        for k in range(factor.shape[1]):
            # X is linear in a row: with the unit vector k in its place, X is what its number k is multiplied with.
            units = [
                np.eye(factor.shape[1])[np.full(len(factor), k)] if m == mode else f for m, f in enumerate(factors)
            ]
            np.add.at(total[:, k], coords[:, mode], slopes * (features(coords, units) @ core))
        expected.append(total.ravel())
    np.testing.assert_allclose(to_rows, np.concatenate(expected), atol=1e-10)
