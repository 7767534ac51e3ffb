"""LATC against a direct implementation with full matrices, and on series with a daily pattern."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Latc, Observations, Problem, complete
from tensorfill.baselines.series.latc import forecast, zeta_unit
from tensorfill.losses import Square
from tensorfill.metrics import rmse
from tensorfill.models import Dense
from tests.refusal import refuses

from .test_autoregression import banded


def daily(series=8, days=12, period=12, seed=0):
    """Return series with two daily patterns, each with a weekly change of its size."""
    rng = np.random.default_rng(seed)
    slot, day = np.arange(period), np.arange(days)
    patterns = np.stack([np.sin(2 * np.pi * slot / period), np.cos(4 * np.pi * slot / period)], axis=1)
    sizes = 1.0 + 0.4 * np.sin(2 * np.pi * day[:, None] / 7 + np.array([0.0, 1.0]))
    own = rng.uniform(0.5, 2.0, (series, 2))
    return np.einsum("ir,dr,sr->ids", own, sizes, patterns).reshape(series, -1) + 3.0


def low(unfolded, rank, cut):
    """Return a matrix with all singular values but the first ones shrunk."""
    u, s, vh = np.linalg.svd(unfolded, full_matrices=False)
    s[rank:] = np.maximum(s[rank:] - cut, 0)
    return (u * s) @ vh


def coefficients(x, lags):
    last = max(lags)
    return [
        np.linalg.lstsq(np.stack([row[last - lag : len(row) - lag] for lag in lags], axis=1), row[last:], rcond=None)[0]
        for row in x
    ]


def directly(table, folded, rank, lam, lags, zeta, steps):
    """Return X after some steps, with dense linear systems; `table` has series as rows, and NaN in added steps too."""
    missing, x = np.isnan(table), np.nan_to_num(table)
    dual, bands = np.zeros_like(x), None
    for _ in range(steps):
        bands = [banded(lags, each, x.shape[1]) for each in coefficients(x, lags)]
        for _ in range(3):
            zeta *= 1.05
            target = (x - dual / zeta).reshape(folded)
            mean = np.zeros(folded)
            modes = range(len(folded)) if len(folded) == 3 else [0]
            for mode in modes:
                moved = np.moveaxis(target, mode, 0)
                shrunk = low(moved.reshape(len(moved), -1), rank, 1 / len(modes) / zeta).reshape(moved.shape)
                mean += np.moveaxis(shrunk, 0, mode) / len(modes)
            mean = mean.reshape(x.shape)
            x = x.copy()
            for row, band in enumerate(bands):
                system = lam * band.T @ band + zeta * np.eye(x.shape[1])
                right = zeta * mean[row] + dual[row]
                free = missing[row]
                known = system[np.ix_(free, ~free)] @ x[row, ~free]
                x[row, free] = np.linalg.solve(system[np.ix_(free, free)], right[free] - known)
            dual += zeta * (mean - x)
    return x


@pytest.mark.parametrize(("period", "lags"), [(1, (1, 2)), (5, (1, 3)), (7, (2, 7))])
def test_iterations_are_those_of_a_direct_implementation(period, lags):
    rng = np.random.default_rng(1)
    table = np.where(rng.random((5, 20)) < 0.6, rng.standard_normal((5, 20)).cumsum(axis=1), np.nan)
    problem = Problem(Observations.from_dense(table), Square())
    zeta, lam = 0.3, 0.2
    method = Latc(rank=1, lam=lam, lags=lags, along=1, period=period, zeta=zeta, max_iter=4, tol=0.0)
    found = method.solve(problem).model.to_dense()
    days = -(-20 // period)
    padded = np.concatenate([table, np.full((5, days * period - 20), np.nan)], axis=1)
    folded = (5, 20) if period == 1 else (5, days, period)
    np.testing.assert_allclose(found, directly(padded, folded, 1, lam, lags, zeta, 4)[:, :20], atol=1e-5)


def test_the_objective_is_that_of_the_answer():
    table = daily(5, 6, 8)
    table[np.random.default_rng(0).random(table.shape) < 0.4] = np.nan
    method = Latc(rank=2, lam=0.3, lags=(1, 2), along=1, period=8, max_iter=20, tol=0.0)
    result = method.solve(Problem(Observations.from_dense(table), Square()))
    x = result.model.to_dense()
    tensor = x.reshape(5, 6, 8)
    tails = [
        np.linalg.svd(np.moveaxis(tensor, m, 0).reshape(tensor.shape[m], -1), compute_uv=False)[2:].sum()
        for m in range(3)
    ]
    errors = [banded((1, 2), a, 48) @ row for a, row in zip(coefficients(x, (1, 2)), x, strict=True)]
    assert result.history[-1].objective == pytest.approx(np.mean(tails) + 0.15 * np.sum(np.square(errors)), rel=1e-6)


def test_the_mode_of_time_may_be_any_and_all_others_are_the_series():
    truth = daily(6, 8, 6).reshape(2, 3, 48)
    seen = np.random.default_rng(0).random(truth.shape) < 0.6
    given = {"rank": 1, "lam": 0.01, "lags": (1, 2), "period": 6, "max_iter": 10, "tol": 0.0}
    answers = []
    for order in ((0, 1, 2), (2, 0, 1), (0, 2, 1)):
        data = Observations.from_dense(truth.transpose(order), seen.transpose(order))
        answer = Latc(along=order.index(2), **given).solve(Problem(data, Square())).model.to_dense()
        answers.append(answer.transpose(np.argsort(order)))
    np.testing.assert_allclose(answers[1], answers[0], atol=1e-9)
    np.testing.assert_allclose(answers[2], answers[0], atol=1e-9)
    np.testing.assert_array_equal(answers[0][seen], truth[seen])


def test_days_that_are_missing_as_a_whole_are_filled_by_the_fold():
    truth = daily()
    seen = np.repeat(np.random.default_rng(0).random((8, 12)) < 0.7, 12, axis=1)
    assert seen.any(axis=0).all()
    problem = Problem(Observations.from_dense(truth, seen), Square())
    errors = {}
    for period in (1, 12):
        method = Latc(rank=2, lam=0.1 * zeta_unit(problem), lags=(1, 2), along=1, period=period)
        errors[period] = rmse(method.solve(problem).model.to_dense()[~seen], truth[~seen])
    assert errors[12] < 0.01 * truth.std()
    assert errors[1] > 0.2 * truth.std()


def test_the_autoregression_carries_through_a_gap_of_all_series():
    truth = daily()
    seen = np.random.default_rng(0).random(truth.shape) < 0.8
    seen[:, 60:64] = False
    problem = Problem(Observations.from_dense(truth, seen), Square())
    lam = zeta_unit(problem)
    errors = [
        rmse(
            Latc(rank=3, lam=weight * lam, lags=(1, 2, 3, 4, 5), along=1).solve(problem).model.to_dense()[:, 60:64],
            truth[:, 60:64],
        )
        for weight in (0.0, 1.0)
    ]
    assert errors[1] < 0.1 * errors[0]


@pytest.mark.slow
def test_held_out_entries_choose():
    truth = daily()
    seen = np.random.default_rng(0).random(truth.shape) < 0.5
    seen[0] |= ~seen.any(axis=0)
    data = Observations.from_dense(truth, seen)
    fit = complete(data, method="latc", along=1, period=12, centre=False, smooth=None, rng=0)
    assert {"rank", "lam", "lags_0"} <= set(fit.path.best.tried)
    assert rmse(fit.to_dense()[~seen], truth[~seen]) < 0.02 * truth.std()


def test_the_mode_of_time_may_be_named():
    xarray = pytest.importorskip("xarray")
    array = xarray.DataArray(daily().T, dims=("hour", "road")).where(np.arange(8) != np.arange(144)[:, None] % 8)
    settings = {"rank": 1, "lam": 0.1, "lags": (1, 2), "max_iter": 3}
    for given in ({"method": "latc"}, {"method": "trmf", "lam_time": 1.0}):
        for name, mode in (("hour", 0), ("road", 1)):
            assert complete(array, along=name, **settings, **given).method.along == mode
    refuses(
        ValueError, ["no mode 'day'"], lambda: complete(array, method="latc", along="day", rank=1, lam=0.1, lags=(1,))
    )


def test_the_next_steps_of_series_with_an_autoregression():
    steps = np.arange(60)
    truth = np.stack([np.sin(steps / 4), 2 * np.cos(steps / 6) + 0.5 * np.sin(steps / 3)])
    model = Dense(truth[:, None, :50].astype(np.float32))
    method = Latc(lags=(1, 2, 3, 4), along=-1)
    ahead = forecast(model, 10, method)
    assert ahead.shape == (2, 1, 10)
    assert ahead.dtype == np.float32
    np.testing.assert_allclose(ahead.to_dense()[:, 0], truth[:, 50:], atol=0.05)
    refuses(ValueError, ["steps", "at least 1"], lambda: forecast(model, 0, method))


def test_a_period_that_does_not_fit_twice_is_refused():
    problem = Problem(Observations.from_dense(np.ones((3, 20))), Square())
    words = ["period must be at most half of the 20 steps of mode 1", "11", "give 1"]
    refuses(ValueError, words, lambda: Latc(rank=1, lam=1.0, lags=(1,), period=11).solve(problem))
    Latc(period=10).check(problem)
    refuses(ValueError, ["growth", "at least 1"], lambda: Latc(growth=0.9))
    refuses(ValueError, ["zeta", "above 0"], lambda: Latc(zeta=0.0))
