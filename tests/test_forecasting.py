"""Forecasts: bands, weights, labels that go on, types that come back, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from tensorfill import SeasonalAR, complete, load
from tensorfill._support.clock import TimeUp
from tensorfill.forecasting import _left_out, _spread, ahead, forecasts

PERIOD, HORIZON = 12, 18


def planted(seed, series=4, times=300, persistence=0.8, season=3.0):
    """Return seasonal autoregressive series with gaps, and the values after the end."""
    rng = np.random.default_rng(seed)
    moves = rng.standard_normal((series, times + HORIZON)) + rng.standard_normal(times + HORIZON)
    for t in range(1, times + HORIZON):
        moves[:, t] += persistence * moves[:, t - 1]
    place = np.arange(times + HORIZON) * 2 * np.pi / PERIOD
    rows = moves + season * np.sin(place + rng.uniform(0, 6, (series, 1))) + 10 * np.arange(series)[:, None]
    past = np.where(rng.random((series, times)) < 0.2, np.nan, rows[:, :times])
    past[0, 60:90] = np.nan
    past[1, -5:] = np.nan
    # A time without any entry is warned of.
    past[-1] = np.where(np.isnan(past).all(axis=0), rows[-1, :times], past[-1])
    return past, rows[:, times:]


def fitted(data, **given):
    """Return a quick fit, as forecasts need no more of a fit than its data."""
    return complete(data, method="softimpute", lam=1.0, smooth=None, centre=False, rng=0, **given)


def months(count=60):
    return pd.date_range("2020-01-31", periods=count, freq="ME")


def table(count=60, series=3):
    rng = np.random.default_rng(0)
    return 10 + np.sin(np.arange(count) * 2 * np.pi / 12)[:, None] + 0.1 * rng.standard_normal((count, series))


# How good they are


@pytest.mark.slow
def test_bands_cover_what_they_say_at_planted_series():
    inside = []
    for seed in range(12):
        past, future = planted(seed)
        found = ahead(past, HORIZON, (PERIOD,), np.random.default_rng(0))
        place = min(int(np.ceil(0.9 * (len(found.quantiles) + 1))), len(found.quantiles)) - 1
        inside.append(np.abs(found.values - future) <= found.spread * found.quantiles[place])
    assert 0.8 < np.mean(inside) < 0.97
    by_step = np.mean(inside, axis=(0, 1))
    assert by_step.min() > 0.75


def test_bands_become_wider_with_the_horizon():
    past, _ = planted(0)
    value, low, high = fitted(past, time=1).forecast(HORIZON, interval=0.9)
    widths = high - low
    np.testing.assert_allclose((low + high) / 2, value)
    assert (np.diff(widths, axis=1) > -1e-9 * widths[:, 1:]).all()
    assert (widths[:, -1] > widths[:, 0]).all()
    wider = np.subtract(*fitted(past, time=1).forecast(HORIZON, interval=0.98)[:0:-1])
    assert (wider > widths).all()


def test_no_end_chooses_its_own_band():
    errors = np.array([1.0, 1.0, 5.0])[None, :, None, None]
    others = _left_out(errors, lambda others, own: others.ravel())
    np.testing.assert_allclose(others, [[1, 5], [1, 5], [1, 1]])
    sizes = _left_out(errors, lambda others, own: np.abs(own[0]) / _spread(others[0]))
    np.testing.assert_allclose(sizes.ravel(), [1 / np.sqrt(13), 1 / np.sqrt(13), 5])
    # A single end has nothing else to go by.
    np.testing.assert_allclose(_left_out(errors[:, :1], lambda others, own: own[0] / _spread(others[0])), 1)


@pytest.mark.parametrize(
    ("persistence", "season", "seeds"),
    [
        (0.8, 3.0, range(1)),
        pytest.param(0.98, 0.0, range(6), marks=pytest.mark.slow),
        pytest.param(0.0, 3.0, range(6), marks=pytest.mark.slow),
        pytest.param(0.8, 3.0, range(1, 7), marks=pytest.mark.slow),
    ],
)
def test_a_forecast_is_hardly_worse_than_simple_ones(persistence, season, seeds):
    squares = {}
    for seed in seeds:
        past, future = planted(seed, persistence=persistence, season=season)
        rng = np.random.default_rng(0)
        every = forecasts(past, HORIZON, (PERIOD,), rng, {}) | {
            "blend": ahead(past, HORIZON, (PERIOD,), rng).values,
        }
        for name, values in every.items():
            squares.setdefault(name, []).append(np.mean((values - future) ** 2))
    errors = {name: np.sqrt(np.mean(each)) for name, each in squares.items()}
    simple = min(errors["last value"], errors[f"{PERIOD} steps before"])
    assert errors["blend"] < 1.05 * simple, errors


def test_weights_are_positive_and_add_up_to_one():
    past, _ = planted(0)
    found = ahead(past, HORIZON, (PERIOD,), np.random.default_rng(0))
    assert sum(found.weights.values()) == pytest.approx(1)
    assert min(found.weights.values()) > 0
    assert found.errors["blend"] <= 1.02 * min(found.errors.values())


def test_a_series_that_ended_earlier_is_forecast_from_there():
    times = np.arange(240)
    rows = np.sin(times * 2 * np.pi / 12) + np.array([[0.0], [5.0]])
    past = rows[:, :200].copy()
    past[0, 150:] = np.nan
    found = ahead(past, 12, (12,), np.random.default_rng(0))
    np.testing.assert_allclose(found.values, rows[:, 200:212], atol=0.3)


# Labels and types


@pytest.mark.parametrize(
    ("index", "further"),
    [
        (pd.date_range("2024-01-01", periods=60, name="day"), ["2024-03-01", "2024-03-02", "2024-03-03"]),
        (months(), ["2025-01-31", "2025-02-28", "2025-03-31"]),
        (pd.date_range("2024-01-01", periods=60, freq="B"), ["2024-03-25", "2024-03-26", "2024-03-27"]),
        (pd.date_range("2024-03-01 21:00", periods=60, freq="h"), ["2024-03-04 09:00", "2024-03-04 10:00"]),
    ],
    ids=["days", "months", "business days", "hours"],
)
def test_labels_of_time_go_on(index, further):
    frame = pd.DataFrame(table(), index=index.rename("date"), columns=pd.Index(list("abc"), name="shop"))
    found = fitted(frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1)).forecast(len(further))
    assert isinstance(found, pd.DataFrame)
    assert pd.DatetimeIndex(found.index).equals(pd.DatetimeIndex(further))
    assert list(found.columns) == list("abc")


def test_an_array_of_xarray_comes_back():
    dates = np.arange("2024-01-01", "2024-03-01", dtype="M8[D]")
    data = xr.DataArray(table(), {"day": dates, "shop": list("abc")}, ("day", "shop"), "sales")
    value, low, high = fitted(data.where(np.random.default_rng(0).random(data.shape) > 0.1)).forecast(5, interval=0.8)
    for each in (value, low, high):
        assert isinstance(each, xr.DataArray)
        assert (each.dims, each.shape, each.name) == (("day", "shop"), (5, 3), "sales")
        assert each.day.values[0] == np.datetime64("2024-03-01")
        assert list(each.shop.values) == list("abc")


def test_a_plain_array_comes_back():
    found = fitted(table(), time=0).forecast(7)
    assert isinstance(found, np.ndarray)
    assert found.shape == (7, 3)


def test_of_two_modes_of_time_the_last_row_has_no_more_than_was_asked_for():
    past, _ = planted(0, series=2, times=240)
    data = xr.DataArray(past.reshape(2, 10, 24), dims=("sensor", "day", "hour"))
    found = fitted(data, time=("day", "hour")).forecast(30)
    assert found.shape == (2, 2, 24)
    known = found.notnull().values.reshape(2, 48)
    assert known[:, :30].all()
    assert not known[:, 30:].any()
    alone = fitted(past, time=1)
    assert alone.forecast(30).shape == (2, 30)


def test_bounds_hold_for_bands_too():
    value, low, high = fitted(table(), time=0, bounds=(9.5, 10.5)).forecast(12, interval=0.9)
    assert min(each.min() for each in (value, low, high)) >= 9.5
    assert max(each.max() for each in (value, low, high)) <= 10.5


def test_a_forecast_with_the_fit_is_that_of_the_fit():
    past, _ = planted(0, times=120)
    together = fitted(past, time=1, horizon=12)
    np.testing.assert_array_equal(together.forecast(), together.forecast(12))
    np.testing.assert_array_equal(together.forecast(5), together.forecast(12)[:, :5])
    later = fitted(past, time=1).forecast(12)
    # The same data and law, drawn with other random numbers.
    assert np.sqrt(np.mean((together.forecast() - later) ** 2)) < 0.1 * np.nanstd(past)
    np.testing.assert_array_equal(fitted(past, time=1, horizon=12).forecast(), together.forecast())


@pytest.mark.parametrize(("shape", "time"), [((2, 10, 24), ("day", "hour")), ((2, 240), "day")])
def test_the_autoregression_has_the_time_that_is_named(shape, time):
    past, _ = planted(0, series=2, times=240)
    data = xr.DataArray(past.reshape(shape), dims=("sensor", "day", "hour")[: len(shape)])
    along = {3: (1, 2), 2: (1,)}[len(shape)]
    fit = complete(data, time=time, method="seasonal_ar", rng=0)
    assert fit.method.along == along
    assert fit.method.periods in {(), (24,), (12,)}
    given = complete(data, time=time, method=SeasonalAR(periods=(6,)), rng=0)
    assert (given.method.along, given.method.periods) == (along, (6,))


def test_the_periods_of_the_autoregression_are_those_of_the_labels():
    dates = np.arange("2024-01-01", "2024-03-01", dtype="M8[D]")
    # Each shop has its own week, so that the mean of a day says little.
    rng = np.random.default_rng(0)
    week = 10 + np.tile(rng.normal(0, 5, (7, 3)), (9, 1))[:60] + rng.standard_normal((60, 3))
    data = xr.DataArray(week, {"day": dates}, ("day", "shop"))
    data = data.where((rng.random(data.shape) > 0.2) | (np.arange(3) == 0))
    fit = complete(data, method="seasonal_ar", rng=0)
    assert fit.method.periods == (7,)


# Odd data


def test_a_series_with_one_value_and_one_without_any_are_forecast():
    past, _ = planted(0, times=120)
    past[2], past[3] = np.nan, np.nan
    past[2, 7] = 100.0
    found = ahead(past, 6, (PERIOD,), np.random.default_rng(0))
    assert np.isfinite(found.values).all()
    assert np.isfinite(found.spread).all()
    assert np.abs(found.values[2] - 100).max() < 30
    assert np.nanmin(past) < found.values[3].min() <= found.values[3].max() < 100


def test_series_that_do_not_vary_are_continued_as_they_are():
    found = ahead(np.full((2, 50), 3.0), 4, (), np.random.default_rng(0))
    np.testing.assert_allclose(found.values, 3.0, atol=1e-6)


def test_too_few_times_for_bands_are_said():
    fit = fitted(table(30), time=0)
    assert fit.forecast(20).shape == (20, 3)
    with pytest.raises(ValueError, match="it has too few times for any; give more times"):
        fit.forecast(20, interval=0.9)


# What is refused


@pytest.mark.parametrize("horizon", [0, -3, 2.5, "a week", True])
def test_a_horizon_that_is_no_number_of_times_is_refused(horizon):
    with pytest.raises((ValueError, TypeError), match="horizon must be a whole number of at least 1"):
        fitted(table(), time=0).forecast(horizon)
    with pytest.raises((ValueError, TypeError), match="horizon must be a whole number of at least 1"):
        fitted(table(), time=0, horizon=horizon)


def test_no_horizon_at_all_is_refused():
    with pytest.raises(ValueError, match=r"as in forecast\(24\), but none was given"):
        fitted(table(), time=0).forecast()


@pytest.mark.parametrize("interval", [0, 1, 90, "wide"])
def test_an_interval_that_is_no_share_is_refused(interval):
    with pytest.raises((ValueError, TypeError), match="interval must be"):
        fitted(table(), time=0).forecast(3, interval=interval)


def test_data_without_a_mode_of_time_is_refused():
    with pytest.raises(ValueError, match="A forecast needs a mode of time"):
        fitted(table()).forecast(3)
    with pytest.raises(ValueError, match="horizon needs a mode of time"):
        fitted(table(), horizon=3)


def test_another_loss_is_refused():
    counts = np.random.default_rng(0).poisson(0.5, (60, 3)).astype(float)
    fit = complete(counts, loss="poisson", method="cp", rank=1, ridge=1.0, time=0, rng=0)
    with pytest.raises(ValueError, match="A forecast needs loss 'square'"):
        fit.forecast(3)


def test_more_series_than_have_a_covariance_are_refused():
    fit = fitted(np.ones((2001, 4)) + np.arange(4), time=1)
    with pytest.raises(ValueError, match="up to 2,000 series, but this fit has 2,001; forecast some of them"):
        fit.forecast(1)


def test_a_fit_without_its_data_is_refused_and_one_with_it_is_not(tmp_path):
    dates = np.arange("2024-01-01", "2024-03-01", dtype="M8[D]")
    fit = fitted(xr.DataArray(table(), {"day": dates}, ("day", "shop")))
    fit.save(tmp_path / "bare.npz")
    fit.save(tmp_path / "whole.npz", data=True)
    with pytest.raises(ValueError, match="save the fit with data=True"):
        load(tmp_path / "bare.npz").forecast(3)
    found = load(tmp_path / "whole.npz").forecast(3)
    np.testing.assert_allclose(np.asarray(found), np.asarray(fit.forecast(3)), rtol=1e-6)


@pytest.mark.parametrize("times", [50, 72, 336, 340, 359, 361])
def test_a_period_that_no_earlier_end_has_twice_is_left_out(times):
    waves = np.sin(np.arange(times) * 2 * np.pi / 24) + np.arange(2)[:, None]
    found = ahead(waves, 24, (24, 168), np.random.default_rng(0))
    assert found.values.shape == (2, 24)
    assert ("168 steps before" in found.errors) == (times - 24 >= 336)
    assert ("24 steps before" in found.errors) == (times - 24 >= 48)


def test_a_forecast_that_time_does_not_allow_is_made_when_asked_for(monkeypatch):
    days = np.arange("2024-01-01", "2024-03-01", dtype="M8[D]")
    waves = np.sin(np.arange(len(days)) * 2 * np.pi / 7) + np.arange(3)[:, None]
    waves[0, 5] = np.nan
    data = xr.DataArray(waves, {"day": days}, ("series", "day"))

    def late(*given):
        raise TimeUp

    with monkeypatch.context() as slow:
        slow.setattr("tensorfill.completion.forecast_of", late)
        fit = fitted(data, horizon=7)
    assert fit.ahead is None
    assert fit.forecast().shape == (3, 7)
