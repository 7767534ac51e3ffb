"""Entries that a robust fit judges corrupt."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill.algebra.component import Component
from tensorfill.choosing.outliers import outliers, predicted_at, without_outliers
from tensorfill.models import FoldedLowRank
from tensorfill.observations import Observations

from ..refusal import refuses


@pytest.mark.parametrize("dense", [False, True])
def test_outliers_are_found_where_they_are(dense):
    rng = np.random.default_rng(0)
    u, v = np.linalg.qr(rng.standard_normal((30, 1)))[0], np.linalg.qr(rng.standard_normal((800, 1)))[0]
    model = FoldedLowRank((30, 40, 20), [Component(0, u, np.array([100.0]), v)], [1.0])
    seen = rng.random(model.shape) < 0.5
    array = model.to_dense() + 0.1 * rng.standard_normal(model.shape)
    bad = np.argwhere(seen)[[5, 77, 4000]]
    array[tuple(bad.T)] += [3.0, -4.0, 5.0]
    observations = Observations.from_dense(array, seen)
    if not dense:
        observations = Observations(observations.coords, observations.values, observations.shape)
    coords, amounts = outliers(observations, predicted_at(observations, model))
    np.testing.assert_array_equal(coords, bad)
    np.testing.assert_allclose(amounts, [3, -4, 5], atol=0.5)
    kept = without_outliers(observations, model)
    assert len(kept) == len(observations) - 3
    assert kept.is_dense == dense
    coords, _ = outliers(observations, predicted_at(observations, model), beyond=3.5)
    np.testing.assert_array_equal(coords, bad[1:])
    assert len(outliers(observations, predicted_at(observations, model), beyond=100)[0]) == 0
    refuses(ValueError, ["beyond must be", "-1"], lambda: outliers(observations, observations.values, beyond=-1))
