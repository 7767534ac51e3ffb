"""The mode of time: found by labels and names, its step, its periods, and the labels that follow."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from tensorfill import Observations
from tensorfill.labels import Labels
from tensorfill.times import TimeAxis, continued, time_axis
from tensorfill.times.seasons import seasonal_periods


def ones(*shape):
    return Observations.from_dense(np.ones(shape))


def axis_of(keys, name="when", **how):
    return time_axis(Labels(("place", name), (None, np.asarray(keys))), ones(2, len(keys)), **how)


def axis_by_name(asked="auto", **sizes):
    labels = Labels(tuple(sizes), (None,) * len(sizes))
    return time_axis(labels, ones(*sizes.values()), asked)


def following(keys, steps, name="when"):
    labels = Labels((name,), (np.asarray(keys),))
    return continued(labels, TimeAxis((0,), (), ""), steps).keys[0].tolist()


def dates(start, stop, unit):
    return np.arange(start, stop, dtype=f"M8[{unit}]")


# What labels say


@pytest.mark.parametrize(
    ("keys", "step", "periods"),
    [
        (dates("2024-03-01", "2024-03-22", "h"), "1 hour", (24, 168)),
        (dates("2024-03-01", "2024-03-03", "h"), "1 hour", (24,)),
        (dates("2024-03-01", "2024-03-20", "h")[::2].astype("M8[ns]"), "2 hours", (12, 84)),
        (np.datetime64("2024-03-01") + np.arange(800) * np.timedelta64(30, "m"), "30 minutes", (48, 336)),
        (dates("2024-03-01", "2024-03-16", "m"), "1 minute", (1440,)),
        (np.datetime64("2024-03-01T00:00:00") + np.arange(40) * np.timedelta64(1, "s"), "1 second", ()),
        (dates("2024-03-01", "2024-04-01", "D"), "1 day", (7,)),
        (dates("2020-03-01", "2024-04-01", "D"), "1 day", (7, 365)),
        (dates("2020-03-05", "2024-04-01", "D")[::7], "1 week", (52,)),
        (dates("2020-01", "2024-01", "M"), "1 month", (12,)),
        (dates("2020-01", "2024-01", "M").astype("M8[D]"), "1 month", (12,)),
        (dates("2020-02", "2024-01", "M").astype("M8[ns]") - np.timedelta64(1, "D"), "1 month", (12,)),
        (dates("2010-01", "2024-01", "M")[::3], "1 quarter", (4,)),
        (dates("1990", "2024", "Y"), "1 year", ()),
        (dates("1990", "2024", "Y").astype("M8[D]"), "1 year", ()),
        (np.arange(48) * np.timedelta64(1, "h"), "1 hour", (24,)),
        ([f"2024-{month:02d}" for month in range(1, 13)], "1 month", ()),
        ([f"2024-03-{day:02d} 08:00" for day in range(1, 30)], "1 day", (7,)),
        ([f"{hour:02d}:00" for hour in range(24)], "1 hour", ()),
        ([datetime.time(hour) for hour in range(24)], "1 hour", ()),
    ],
)
def test_labels_say_the_step_and_the_periods(keys, step, periods):
    for asked in ("auto", "when", 1, -1):
        assert axis_of(keys, asked=asked) == TimeAxis((1,), periods, step)


def test_business_days_are_equally_spaced():
    days = dates("2024-01-01", "2024-03-01", "D")
    assert axis_of(days[np.is_busday(days)], asked="when") == TimeAxis((1,), (5,), "1 business day")


@pytest.mark.parametrize(
    ("name", "step", "periods"),
    [("Hour", "1 hour", (24, 168)), ("hours", "1 hour", (24, 168)), ("day", "1 day", (7,)), ("week", "1 week", (52,)),
     ("MONTH", "1 month", (12,)), ("quarter", "1 quarter", (4,)), ("year", "1 year", ()), ("slot", "", ())],
)  # fmt: skip
def test_a_name_says_that_a_counted_or_numbered_mode_is_time_and_what_its_steps_are(name, step, periods):
    assert axis_by_name(place=3, **{name: 400}) == TimeAxis((1,), periods, step)
    assert axis_of(np.arange(2000, 2400), name) == TimeAxis((1,), periods, step)


def test_numbers_are_steps_of_the_unit_that_the_name_is():
    assert axis_of(np.arange(0, 3000, 5), "minute") == TimeAxis((1,), (288,), "5 minutes")
    assert axis_of(np.arange(0.0, 60.0, 0.5), "hour") == TimeAxis((1,), (48,), "30 minutes")


def test_without_such_labels_or_names_there_is_no_time():
    assert axis_by_name(place=30, sensor=40) is None
    assert axis_by_name(place=30, hour=7) is None
    assert axis_by_name(place=30, hour=24, asked=None) is None
    assert axis_of([f"sensor {number}" for number in range(20)], "time") is None
    assert axis_of([2000, 2001, 2003, 2010, 2011, 2020, 2040, 2050, 2051], "year") is None
    assert axis_of(np.arange(20)) is None
    assert axis_of([f"2024-13-{day:02d}" for day in range(10, 30)]) is None


def test_dates_come_before_names_and_then_the_longest():
    labels = Labels(("hour", "when"), (None, dates("2024-03-01", "2024-03-15", "D")))
    assert time_axis(labels, ones(100, 14)).modes == (1,)
    assert axis_by_name(time=20, step=50).modes == (1,)


def test_auto_allows_a_few_missing_times_and_no_more():
    hours = dates("2024-03-01", "2024-03-05", "h")
    assert axis_of(np.delete(hours, 30)) == TimeAxis((1,), (24,), "1 hour")
    assert axis_of(np.delete(hours, np.arange(5, 90, 4))) is None
    assert axis_of(hours[::-1]) is None


# Two modes


@pytest.mark.parametrize(
    ("sizes", "modes", "periods", "step"),
    [
        ({"place": 5, "day": 30, "hour": 24}, (1, 2), (24, 168), "1 hour"),
        ({"slot": 288, "date": 10}, (1, 0), (288,), "5 minutes"),
        ({"day": 30, "hour": 10}, (0, 1), (10, 70), "1 hour"),
        ({"day": 30, "minute": 1440, "place": 2}, (0, 1), (1440, 10080), "1 minute"),
        ({"day": 30, "slot": 10}, (0, 1), (10, 70), ""),
        ({"year": 9, "month": 12}, (0, 1), (12,), "1 month"),
        ({"year": 9, "week": 53}, (0, 1), (53,), "1 week"),
        ({"week": 9, "day": 7}, (0, 1), (7,), "1 day"),
        ({"week": 9, "weekday": 7}, (0, 1), (7,), "1 day"),
        ({"day": 30, "hour": 24, "minute": 60}, (0, 1), (24, 168), "1 hour"),
    ],
)
def test_two_modes_are_one_time(sizes, modes, periods, step):
    assert axis_by_name(**sizes) == TimeAxis(modes, periods, step)
    names = list(sizes)
    assert axis_by_name(tuple(names[mode] for mode in modes), **sizes) == TimeAxis(modes, periods, step)
    with pytest.raises(ValueError, match="slow mode first"):
        axis_by_name(tuple(names[mode] for mode in reversed(modes)), **sizes)


@pytest.mark.parametrize(
    "clock",
    [np.arange(24) * np.timedelta64(60, "m"), [f"{hour:02d}:00" for hour in range(24)],
     [datetime.time(hour) for hour in range(24)], np.arange(24)],
)  # fmt: skip
def test_dates_by_day_and_times_of_day_are_one_time(clock):
    labels = Labels(("when", "hour", "place"), (dates("2024-03-01", "2024-03-21", "D"), np.asarray(clock), None))
    assert time_axis(labels, ones(20, 24, 3)) == TimeAxis((0, 1), (24, 168), "1 hour")


def test_times_of_day_that_do_not_span_the_day_are_not_half_of_a_time():
    clock = np.arange(6, 22) * np.timedelta64(60, "m")
    labels = Labels(("when", "clock"), (dates("2024-03-01", "2024-03-21", "D"), clock))
    assert time_axis(labels, ones(20, 16)).modes == (0,)
    assert time_axis(labels, ones(20, 16), ("when", "clock")) == TimeAxis((0, 1), (16, 112), "1 hour")


def test_months_and_weekdays_may_be_named():
    months = words("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec")
    labels = Labels(("year", "month"), (np.arange(2001, 2010), months))
    assert time_axis(labels, ones(9, 12)) == TimeAxis((0, 1), (12,), "1 month")
    by_alphabet = Labels(("year", "month"), (np.arange(2001, 2010), np.sort(months)))
    assert time_axis(by_alphabet, ones(9, 12)).modes == (0,)
    weekdays = words("Sunday Monday Tuesday Wednesday Thursday Friday Saturday")
    labels = Labels(("week", "weekday"), (dates("2024-03-03", "2024-06-03", "D")[::7], weekdays))
    assert time_axis(labels, ones(14, 7)) == TimeAxis((0, 1), (7,), "1 day")


# What is refused


@pytest.mark.parametrize("asked", [True, 1.5, ("a", "b", "c"), (), {"place"}, ("place", True)])
def test_what_is_no_mode_is_refused(asked):
    with pytest.raises(ValueError, match=r"^time must be 'auto', None, a mode or two modes .* was given\.$"):
        axis_by_name(asked, place=3, hour=30)


@pytest.mark.parametrize(
    ("asked", "words"),
    [("hours", "There is no mode 'hours'"), (5, "time must be"), (("hour", "hour"), "time must name two different"),
     ("one", "time 'one' must have 2 or more steps, but it has 1; name another mode.")],
)  # fmt: skip
def test_modes_that_cannot_be_time_are_refused(asked, words):
    with pytest.raises(ValueError, match=words):
        axis_by_name(asked, hour=30, one=1)


def test_irregular_labels_of_an_asked_mode_are_refused_with_the_first_place():
    hours = np.delete(dates("2024-03-01", "2024-03-03", "m")[::60], [6, 7, 8, 20])
    with pytest.raises(ValueError) as refused:
        axis_of(hours, "hour", asked="hour")
    assert str(refused.value) == (
        "time 'hour' must have equally spaced labels, but after '2024-03-01 05:00' comes '2024-03-01 09:00' where most "
        "steps are 1 hour; add the missing times as empty rows, or leave time out."
    )


def test_unsorted_labels_of_an_asked_mode_are_refused():
    days = dates("2024-03-01", "2024-03-20", "D")
    days[[3, 4]] = days[[4, 3]]
    with pytest.raises(ValueError, match="increasing order, but after '2024-03-05' comes '2024-03-04'; sort"):
        axis_of(days, asked="when")


def test_texts_that_are_no_times_are_refused_if_asked_for():
    with pytest.raises(ValueError, match=r"time 'when' must have labels that are dates, times or numbers.*'Aspen'"):
        axis_of(["Aspen", "Vail"], asked="when")


# The labels that follow


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["2024-02-28", "2024-02-29"], ["2024-03-01", "2024-03-02"]),
        (["2024-10", "2024-11"], ["2024-12", "2025-01"]),
        (["2024-02-29", "2024-03-31"], ["2024-04-30", "2024-05-31"]),
        (["2024-03-01 22:00", "2024-03-01 23:00"], ["2024-03-02 00:00", "2024-03-02 01:00"]),
        (["2024-03-01T22:00:30", "2024-03-01T23:00:30"], ["2024-03-02T00:00:30", "2024-03-02T01:00:30"]),
        (["2024-03-01T22:00:00.50", "2024-03-01T22:00:00.75"], ["2024-03-01T22:00:01.00", "2024-03-01T22:00:01.25"]),
        (["2024-03-01T22:00Z", "2024-03-01T23:00Z"], ["2024-03-02T00:00Z", "2024-03-02T01:00Z"]),
        (["2024-03-01 22:00+02:00", "2024-03-01 23:00+02:00"], ["2024-03-02 00:00+02:00", "2024-03-02 01:00+02:00"]),
        (["22:00", "23:00"], ["24:00", "25:00"]),
        (["22:30:00", "23:00:00"], ["23:30:00", "24:00:00"]),
        ([2020, 2021], [2022, 2023]),
        ([0.5, 1.0], [1.5, 2.0]),
        ([datetime.time(8), datetime.time(9)], [datetime.time(10), datetime.time(11)]),
        ([datetime.date(2024, 1, 31), datetime.date(2024, 2, 29)],
         [datetime.date(2024, 3, 31), datetime.date(2024, 4, 30)]),
    ],
)  # fmt: skip
def test_labels_are_continued_in_their_own_form(keys, expected):
    assert following(keys, 2) == expected


def test_dates_keep_their_type_and_go_on_by_their_frequency():
    months = dates("2023-10", "2024-01", "M").astype("M8[ns]")
    labels = continued(Labels(("when",), (months,)), TimeAxis((0,), (), ""), 2)
    assert labels.keys[0].dtype == months.dtype
    assert labels.keys[0].astype("M8[D]").astype(str).tolist() == ["2024-01-01", "2024-02-01"]
    ends = np.array(["2024-01-31", "2024-03-31", "2024-05-31", "2024-07-31"], "M8[D]")
    assert np.array(following(ends, 2), "M8[D]").astype(str).tolist() == ["2024-09-30", "2024-11-30"]
    friday = np.array(["2024-03-06", "2024-03-07", "2024-03-08", "2024-03-11", "2024-03-12"], "M8[D]")
    found = np.array(following(friday, 4), "M8[D]").astype(str).tolist()
    assert found == ["2024-03-13", "2024-03-14", "2024-03-15", "2024-03-18"]


def test_the_usual_step_continues_labels_of_which_some_are_missing():
    assert following(["08:00", "09:00", "10:00", "12:00"], 1) == ["13:00"]


def test_dates_with_a_time_zone_go_on_by_the_clock_or_by_the_hour():
    zone = ZoneInfo("Europe/Berlin")
    days = [datetime.datetime(2024, 3, day, tzinfo=zone) for day in range(28, 32)]
    assert axis_of(np.array(days * 1, dtype=object), asked="when").step == "1 day"
    assert following(np.array(days, dtype=object), 1) == [datetime.datetime(2024, 4, 1, tzinfo=zone)]
    start = datetime.datetime(2024, 3, 30, 23, tzinfo=datetime.UTC)
    hours = np.array([(start + datetime.timedelta(hours=hour)).astimezone(zone) for hour in range(3)], dtype=object)
    assert axis_of(hours, asked="when").step == "1 hour"
    assert following(hours, 1) == [start + datetime.timedelta(hours=3)]


@pytest.mark.filterwarnings("ignore:Period:FutureWarning")
def test_periods_of_pandas_are_time_and_go_on_as_periods():
    pandas = pytest.importorskip("pandas")
    for frequency, step, periods in (("M", "1 month", (12,)), ("Q", "1 quarter", (4,)), ("h", "1 hour", (24,)),
                                     ("W", "1 week", ()), ("B", "1 business day", (5,))):  # fmt: skip
        given = pandas.period_range("2020-01-01", periods=60, freq=frequency)
        keys = np.array([*given[:50]], dtype=object)
        assert axis_of(keys) == TimeAxis((1,), periods, step)
        assert following(keys, 10) == list(given[50:])


def test_stamps_of_pandas_with_a_time_zone_go_on():
    pandas = pytest.importorskip("pandas")
    stamps = pandas.date_range("2024-03-01", periods=20, freq="h", tz="America/New_York")
    assert axis_of(np.array([*stamps[:10]], dtype=object)).step == "1 hour"
    assert following(np.array([*stamps[:10]], dtype=object), 10) == list(stamps[10:])


def test_counted_modes_stay_counted_and_two_modes_get_rows():
    days = dates("2024-03-01", "2024-03-11", "D")
    for hours in (None, np.arange(24)):
        labels = Labels(("day", "hour"), (days, hours))
        axis = time_axis(labels, ones(10, 24))
        further = continued(labels, axis, 25)
        assert further.keys[0].astype(str).tolist() == ["2024-03-11", "2024-03-12"]
        assert further.keys[1] is labels.keys[1]
    counted = Labels(("time", "place"), (None, None))
    assert continued(counted, TimeAxis((0,), (), ""), 5).keys == (None, None)


@pytest.mark.parametrize(
    ("keys", "words"),
    [(["b", "a"], "cannot be continued"), ([2, 1], "cannot be continued"), (["08:00"], "cannot be continued"),
     ([datetime.time(22), datetime.time(23)], "past midnight")],
)  # fmt: skip
def test_labels_that_have_no_next_are_refused(keys, words):
    with pytest.raises(ValueError, match=words):
        following(keys, 1)


# Periods that only the data says


def table(signal, noise, missing, series=12, seed=0):
    """Return series of one signal with amplitudes and noise of their own."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.5, 2, (series, 1)) * signal + noise * rng.standard_normal((series, len(signal)))
    values[rng.random(values.shape) < missing] = np.nan
    return values


def season(steps, period, seed=0):
    """Return a season of random values, smooth enough to have one peak at most lags."""
    shape = np.random.default_rng(seed).standard_normal(period)
    return np.resize((shape - shape.mean()) / shape.std(), steps)


def words(text):
    """Return the words of a text as labels."""
    return np.array(text.split())


def periods_of(values):
    return seasonal_periods(Observations.from_dense(values), 1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("period", [2, 7, 12, 24, 52])
def test_a_planted_season_is_found_under_noise_gaps_and_a_trend(period, seed):
    time = np.arange(400)
    for signal in (season(400, period, seed), 1.4 * np.cos(2 * np.pi * time / period + seed % 2)):
        found = periods_of(table(signal + 0.005 * seed * time, 0.7, 0.5, seed=seed))
        assert found == (period,)


def test_a_season_of_one_series_is_found():
    assert periods_of(table(season(200, 12), 0.5, 0.3, series=2)) == (12,)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["noise", "trend", "curve", "exact trend", "step", "walks"])
def test_without_a_season_none_is_found(kind, seed):
    rng = np.random.default_rng(seed)
    time = np.linspace(0, 1, 200)
    values = {
        "noise": table(np.zeros(200), 1.0, 0.5, seed=seed),
        "trend": table(5 * time, 1.0, 0.5, seed=seed),
        "curve": table(np.exp((1 + seed) * time), 0.05, 0.3, seed=seed),
        "exact trend": table(5 * time, 0.0, 0.5, seed=seed),
        "step": table(1.0 * (time > rng.uniform(0.2, 0.8)), 0.3, 0.5, seed=seed),
        "walks": np.cumsum(rng.standard_normal((12, 200)), axis=1),
    }[kind]
    assert periods_of(values) == ()


def test_a_random_walk_of_all_series_has_no_short_period():
    """It may look as if it had three or four cycles."""
    for seed in range(20):
        walk = np.cumsum(np.random.default_rng(seed).standard_normal(200))
        assert all(period > 200 / 6 for period in periods_of(table(walk, 0.3, 0.3, seed=seed)))


def test_a_week_is_a_second_period_only_if_it_says_more_than_the_day():
    day = season(24 * 7 * 6, 24)
    week = np.repeat(np.resize([1.0, 1, 1, 1, 1, 0.2, 0.1], 42), 24)
    assert periods_of(table(day, 0.5, 0.5)) == (24,)
    assert periods_of(table(day * week, 0.3, 0.5)) == (24, 168)
    assert periods_of(table((day * week)[:300], 0.3, 0.5)) == (24,)


def test_two_peaks_a_day_are_a_day():
    time = np.arange(24 * 20)
    signal = np.cos(2 * np.pi * time / 12) + 0.7 * np.cos(2 * np.pi * time / 24)
    assert periods_of(table(signal, 0.3, 0.4)) == (24,)


def test_periods_of_sparse_data_are_those_of_the_same_dense_data():
    values = table(season(300, 12), 0.5, 0.5, series=40).reshape(8, 5, 300)
    dense = Observations.from_dense(values)
    sparse = Observations(dense.coords, dense.values, dense.shape)
    assert seasonal_periods(dense, 2) == seasonal_periods(sparse, 2) == (12,)


def test_few_series_of_a_huge_sparse_tensor_are_looked_at():
    rng = np.random.default_rng(0)
    steps, signal = 400, season(400, 12)
    coords = np.stack([rng.integers(0, 50, 20_000) * 10**8, rng.integers(0, steps, 20_000)], axis=1)
    coords = np.unique(coords, axis=0)
    values = signal[coords[:, 1]] + 0.3 * rng.standard_normal(len(coords))
    assert seasonal_periods(Observations(coords, values, (10**10, steps)), 1) == (12,)


def test_series_that_are_short_constant_or_nearly_empty_have_no_period():
    assert periods_of(np.ones((3, 50))) == ()
    assert periods_of(np.random.default_rng(0).random((3, 5))) == ()
    sparse = np.full((3, 50), np.nan)
    sparse[:, ::20] = 1.0
    assert periods_of(sparse) == ()


def test_an_axis_without_a_unit_has_the_periods_of_the_data():
    values = table(season(300, 12), 0.5, 0.5)
    labels = Labels(("place", "time"), (None, None))
    assert time_axis(labels, Observations.from_dense(values)) == TimeAxis((1,), (12,), "")
    assert time_axis(labels, Observations.from_dense(values), "place") == TimeAxis((0,), (), "")


def test_times_that_every_day_has_go_on_the_next_day():
    days = np.arange("2024-03-01", "2024-03-29", dtype="M8[D]")
    opened = (days[:, None] + np.arange(16, 34) * np.timedelta64(30, "m")).ravel()
    labels = Labels(("park", "time"), (None, opened))
    axis = time_axis(labels, Observations.from_dense(np.ones((2, len(opened)))))
    assert axis == TimeAxis((1,), (18, 126), "18 times a day")
    further = continued(labels, axis, 20).keys[1]
    assert further[[0, 17, 18]].astype(str).tolist() == [
        "2024-03-29T08:00",
        "2024-03-29T16:30",
        "2024-03-30T08:00",
    ]


def test_times_of_business_days_skip_the_weekend():
    days = np.arange("2024-03-04", "2024-03-30", dtype="M8[D]")
    days = days[np.is_busday(days)]
    opened = (days[:, None] + np.arange(9, 17) * np.timedelta64(1, "h")).ravel()
    labels = Labels(("time", "stock"), (opened, None))
    axis = time_axis(labels, Observations.from_dense(np.ones((len(opened), 2))))
    assert axis.step == "8 times a business day"
    assert axis.periods == (8, 40)
    assert str(continued(labels, axis, 1).keys[0][0]) == "2024-04-01T09"
