"""Intervals after a real search: how often they hold the missing entries of small data sets of several kinds."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Choice, complete
from tensorfill.metrics import rmse

SETS = 16
"""Data sets of each kind: the share of one has a standard deviation of 0.02 to 0.03, that of all about 0.007."""


def low_rank(rng):
    """Return a tensor of rank two with noise, half of it missing."""
    parts = [rng.standard_normal((size, 2)) for size in (24, 18, 10)]
    data = np.einsum("ir,jr,kr->ijk", *parts)
    return data + 0.3 * rng.standard_normal(data.shape), 0.5


def effects(rng):
    """Return a table of rows and columns with a weak product of both."""
    rows, columns = rng.standard_normal((2, 60)), rng.standard_normal((2, 40))
    data = np.add.outer(rows[0], columns[0]) + 0.5 * np.outer(rows[1], columns[1])
    return data + 0.4 * rng.standard_normal(data.shape), 0.6


def smooth(rng):
    """Return a picture of waves with noise."""
    one, two = np.meshgrid(np.linspace(0, 3, 50), np.linspace(0, 2, 40), indexing="ij")
    data = np.sin(one * two + rng.uniform(0, 3)) + np.cos(3 * one) * two
    return data + 0.2 * rng.standard_normal(data.shape), 0.5


def uneven(rng):
    """Return a tensor of positive values, whose errors grow with them."""
    data = 10 * np.einsum("i,j,k->ijk", *(rng.uniform(0.3, 1.5, size) for size in (30, 20, 6)))
    return data * (1 + 0.1 * rng.standard_normal(data.shape)), 0.6


def outcomes(make, **options):
    """Return, for data sets of a kind, the shares of missing entries in 90% intervals, and claimed by true errors."""
    shares, ratios = [], []
    for seed in range(SETS):
        rng = np.random.default_rng([seed, 7])
        data, kept = make(rng)
        holes = np.where(rng.random(data.shape) < kept, data, np.nan)
        missing = np.isnan(holes)
        fit = complete(holes, rng=seed, **options)
        assert len(fit.path) > 1
        values, low, high = fit.predict(np.argwhere(missing), interval=0.9)
        shares.append(np.mean((low <= data[missing]) & (data[missing] <= high)))
        ratios.append(fit.held_out_error / rmse(values, data[missing]))
    return np.array(shares), np.array(ratios)


@pytest.mark.slow
@pytest.mark.parametrize("make", [low_rank, effects, smooth, uneven])
def test_intervals_hold_what_they_promise_after_a_search(make):
    shares, ratios = outcomes(make)
    assert 0.87 < shares.mean() < 0.95
    # None is far off, as it would be if its errors were those of fitted entries.
    assert shares.min() > 0.78
    # The error that is claimed is that of the missing entries.
    assert 0.85 < ratios.mean() < 1.15


@pytest.mark.slow
@pytest.mark.parametrize("method", ["nort", "grow", "cp", "softimpute"])
def test_intervals_hold_for_every_method_whose_settings_are_searched_for(method):
    make = effects if method == "softimpute" else low_rank
    shares, _ = outcomes(make, method=method)
    assert 0.86 < shares.mean() < 0.95


@pytest.mark.slow
def test_intervals_hold_with_several_splits():
    shares, _ = outcomes(low_rank, choose=Choice(splits=3))
    assert 0.87 < shares.mean() < 0.95
