"""Quantiles of predictions from neighbours, compiled and in NumPy, against numpy.quantile."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill.algebra.compiled import quantiles as compiled
from tensorfill.algebra.plain import quantiles as plain
from tests.strategies import generators

SHARES = np.array([0.25, 0.5, 0.75])


def example(rng, kinds, known):
    values = np.where(rng.random(60) < known, rng.integers(0, 9, 60).astype(float), np.nan)
    steps = rng.integers(-9, 10, (kinds, 3))
    steps[::2, 1:] = 0
    return values, np.arange(10, 50), steps


@pytest.mark.parametrize("module", [compiled, plain])
@given(rng=generators, kinds=st.integers(0, 7), known=st.sampled_from([0.0, 0.4, 1.0]))
def test_quantiles_of_what_is_known(module, rng, kinds, known):
    values, places, steps = example(rng, kinds, known)
    out = np.empty((len(SHARES), len(places)))
    counts = module.quantiles_of_predictions(values, places, steps, SHARES, out)
    for place, count, found in zip(places, counts, out.T, strict=True):
        # A kind whose last two steps are equal is a single value, however these are.
        each = [values[place + a] + (values[place + b] - values[place + c] if b != c else 0) for a, b, c in steps]
        each = [value for value in each if not np.isnan(value)]
        assert count == len(each)
        expected = np.sort(each)[np.minimum((SHARES * len(each)).astype(int), len(each) - 1)] if each else np.nan
        np.testing.assert_array_equal(found, np.broadcast_to(expected, 3))
