"""Names of modes and of their indices."""

import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill import Observations
from tensorfill._support.moments import duration_of, written_label
from tensorfill.labels import Labelled, Labels

from .adapters.examples import KINDS, distinct_keys
from .refusal import refuses

LABELS = Labels(("station", "month"), (np.array(["Aspen", "Vail"]), None))


@given(st.sampled_from(KINDS), st.integers(1, 30), st.integers(0, 1000), st.booleans())
def test_labels_are_found_in_any_order_and_number(kind, size, seed, as_list):
    rng = np.random.default_rng(seed)
    keys = distinct_keys(rng, kind, size)
    wanted = rng.integers(len(keys), size=40)
    given_keys = keys[wanted].tolist() if as_list else keys[wanted]
    np.testing.assert_array_equal(Labels(("a",), (keys,)).positions("a", given_keys), wanted)


def test_texts_and_numbers_can_stand_together():
    labels = Labels(("a",), (np.array([1, "1", 2.5, (3, "x")], dtype=object),))
    assert labels.positions(0, ["1", 1, (3, "x"), 2.5]).tolist() == [1, 0, 3, 2]


def test_dates_are_found_by_whatever_stands_for_them():
    labels = Labels(("day",), ([datetime.date(2024, 2, 28), datetime.date(2024, 3, 1)],))
    assert labels.keys[0].dtype == "datetime64[D]"
    stands = ["2024-03-01", datetime.date(2024, 3, 1), datetime.datetime(2024, 3, 1), pd.Timestamp("2024-03-01")]
    assert labels.positions("day", stands).tolist() == [1] * 4
    assert labels.positions("day", "2024-02-28").tolist() == [0]
    refuses(ValueError, ["'day'", "'2024-03-01 12:00'", "'2024-02-28', '2024-03-01'"],
            lambda: labels.positions("day", np.array(["2024-03-01T12:00"], dtype="datetime64[m]")))  # fmt: skip
    refuses(ValueError, ["no label 'soon'"], lambda: labels.positions("day", ["2024-03-01", "soon"]))


def test_modes_by_name_and_number():
    assert (LABELS.mode("month"), LABELS.mode(0), LABELS.called(0), Labels.plain(2).called(1)) == (1, 0, "station", 1)
    assert Labels.plain(3).are_plain
    assert not LABELS.are_plain
    assert LABELS.positions("month", [3, 0]).tolist() == [3, 0]


@pytest.mark.parametrize(
    ("kind", "words", "action"),
    [
        (ValueError, ["no mode 'year'", "'station', 'month'"], lambda: LABELS.mode("year")),
        (ValueError, ["'station' has no label 'Vial'", "'Aspen', 'Vail'"],
         lambda: LABELS.positions(0, ["Vail", "Vial"])),
        (ValueError, ["no label 3"], lambda: LABELS.positions(0, np.array([3]))),
        (ValueError, ["no label [1]"], lambda: LABELS.positions(0, [[1]])),
        (ValueError, ["0, 1, 2 and 7 more"], lambda: Labels(("a",), (np.arange(10),)).positions("a", [11])),
        (TypeError, ["'month' has no labels", "'May'"], lambda: LABELS.positions("month", ["May"])),
        (ValueError, ["different names", "('a', 'a')"], lambda: Labels(("a", "a"), (None, None))),
        (ValueError, ["different names", "1"], lambda: Labels((1, 2), (None, None))),
        (ValueError, ["each of the 2 modes"], lambda: Labels(("a", "b"), (None,))),
        (ValueError, ["'a'", "different labels", "2 is there more than once"], lambda: Labels(("a",), ([1, 2, 2],))),
        (ValueError, ["'a'", "'x' is there more than once"], lambda: Labels(("a",), (np.array(["x", "x"]),))),
        (ValueError, ["'a'", "index 1 is missing"], lambda: Labels(("a",), (["x", None],))),
        (ValueError, ["'a'", "index 0 is missing"], lambda: Labels(("a",), (np.array([np.nan, 1.0]),))),
        (ValueError, ["'a'", "index 1 is missing"], lambda: Labels(("a",), (["x", pd.NA],))),
        (ValueError, ["'a'", "index 0 is missing"], lambda: Labels(("a",), (np.array(["NaT"], "datetime64[D]"),))),
        (TypeError, ["labels of 'a'", "[1] is a list"], lambda: Labels(("a",), (["x", [1]],))),
        (ValueError, ["a name for each mode"], lambda: Labelled(Observations.from_dense(np.ones((2, 2, 2))), LABELS)),
        (ValueError, ["'station'", "3 indices", "has 2"],
         lambda: Labelled(Observations.from_dense(np.ones((3, 2))), LABELS)),
    ],
)  # fmt: skip
def test_bad_labels_get_one_sentence(kind, words, action):
    refuses(kind, words, action)


def test_settings_may_name_modes():
    assert LABELS.numbers(["month", 0]) == [1, 0]
    assert LABELS.numbers(("month",)) == [1]
    assert LABELS.numbered({"station": 7, 1: 8}, "laplacian") == {0: 7, 1: 8}
    assert LABELS.holdout(["slice", "station"]) == ("slice", 0)
    assert LABELS.holdout(("fibre", 1)) == ("fibre", 1)
    assert LABELS.holdout((2, 3)) == (2, 3)


@pytest.mark.parametrize("odd", ["auto", None, 3])
def test_settings_without_modes_stay_as_they_are(odd):
    assert (LABELS.numbers(odd), LABELS.numbered(odd, "laplacian"), LABELS.holdout(odd)) == (odd,) * 3


def test_unknown_and_repeated_modes_get_one_sentence():
    refuses(ValueError, ["laplacian", "twice"], lambda: LABELS.numbered({0: 1, "station": 2}, "laplacian"))
    refuses(ValueError, ["no mode 'year'"], lambda: LABELS.numbers(["year"]))
    refuses(ValueError, ["no mode 'year'"], lambda: LABELS.numbered({"year": 1}, "laplacian"))
    refuses(ValueError, ["no mode 'year'"], lambda: LABELS.holdout(("slice", "year")))


# Times of day and durations

HOURS = np.arange(0, 24, 4) * np.timedelta64(1, "h")


@pytest.mark.parametrize(
    "keys",
    [
        HOURS,
        HOURS.astype("timedelta64[ns]"),
        [datetime.timedelta(hours=hour) for hour in range(0, 24, 4)],
        [datetime.time(hour) for hour in range(0, 24, 4)],
        [f"{hour:02d}:00:00" for hour in range(0, 24, 4)],
    ],
    ids=["hours", "nanoseconds", "timedelta", "time", "text"],
)
def test_times_of_day_and_durations_are_asked_for_as_text(keys):
    labels = Labels(("time",), (keys,))
    assert labels.positions("time", ["08:00", "8:00", "0 days 08:00:00", "08:00:00", "8 hours"]).tolist() == [2] * 5
    assert labels.positions("time", list(labels.keys[0][[3, 1]])).tolist() == [3, 1]
    for wrong in ("09:00", "soon", "08:61", ""):
        refuses(
            ValueError, ["'time' has no label", repr(wrong), "'00:00"], lambda wrong=wrong: labels.positions(0, [wrong])
        )


def test_texts_that_say_no_time_are_texts():
    labels = Labels(("a",), (np.array(["08:00", "late"]),))
    refuses(ValueError, ["no label '08:00:00'"], lambda: labels.positions("a", ["08:00:00"]))


@given(st.integers(-(10**16), 10**16))
def test_a_duration_is_read_as_it_is_written(nanoseconds):
    length = np.timedelta64(nanoseconds, "ns")
    assert duration_of(written_label(length)) == length
    assert duration_of(str(pd.Timedelta(nanoseconds, "ns"))) == length


def test_dates_are_written_without_a_time_of_zero():
    day = datetime.datetime(2024, 3, 1, 8, 30)
    assert [written_label(each) for each in (np.datetime64("2024-03"), day, day.date(), day.time(), ("a", day))] == [
        "2024-03", "2024-03-01 08:30", "2024-03-01", "08:30", "a, 2024-03-01 08:30"]  # fmt: skip
