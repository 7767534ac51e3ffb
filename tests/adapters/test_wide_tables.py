"""Wide tables: labels of rows and columns, in and out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tensorfill
from tensorfill.adapters.registry import take_in
from tensorfill.io import read, write

from ..refusal import refuses
from .examples import fit_of

TIMES = pd.date_range("2024-03-01", periods=12, freq="h", name="time")
CELLS = np.outer(np.arange(1.0, 13.0), [1.0, 2.0, 3.5, 4.0])
CELLS[2, 1] = CELLS[5, 0] = np.nan


def sensors(**more):
    return pd.DataFrame(CELLS, index=TIMES, columns=pd.Index(["s10", "s2", "s3", "s1"], **more))


def test_times_by_sensors_come_back_with_the_same_index_and_columns():
    table = sensors(name="sensor")
    taken = take_in(table)
    assert taken.labels.names == ("time", "sensor")
    assert taken.observations.shape == (12, 4)
    assert taken.labels.keys[1].tolist() == ["s10", "s2", "s3", "s1"]
    np.testing.assert_array_equal(taken.observations.to_dense(), CELLS)
    filled = fit_of(taken, np.arange(48.0)).filled()
    pd.testing.assert_index_equal(filled.index, table.index)
    pd.testing.assert_index_equal(filled.columns, table.columns)
    assert filled.loc["2024-03-01 02:00", "s2"] == 9.0
    assert filled.loc["2024-03-01 02:00", "s3"] == table.loc["2024-03-01 02:00", "s3"]


def test_a_wide_table_is_completed():
    filled = tensorfill.complete(sensors(), rng=0).filled()
    assert filled.loc[TIMES[2], "s2"] == pytest.approx(6.0, rel=0.05)


def test_rows_in_any_order_are_ordered_for_the_fit_and_come_back_as_they_were():
    table = sensors().iloc[[3, 0, 7, 1, 2, 4, 5, 6, 8, 9, 10, 11]]
    taken = take_in(table)
    np.testing.assert_array_equal(taken.observations.to_dense(), CELLS)
    pd.testing.assert_frame_equal(taken.restore(CELLS), table, check_freq=False)


def test_every_level_is_a_mode():
    header = pd.MultiIndex.from_product([["north", "south"], ["no2", "o3", "pm"]], names=["site", "gas"])
    rows = pd.MultiIndex.from_product([["mon", "tue"], [6, 12, 18]], names=["day", "hour"])
    cells = np.arange(36.0).reshape(6, 6)
    cells[1, 2] = np.nan
    # Not every combination is there.
    table = pd.DataFrame(cells, index=rows, columns=header).iloc[:5, :5]
    taken = take_in(table)
    assert taken.labels.names == ("day", "hour", "site", "gas")
    assert taken.observations.shape == (2, 3, 2, 3)
    assert len(taken.observations) == 24
    dense = np.arange(36.0).reshape(2, 3, 2, 3)
    expected = table.copy()
    expected.iloc[1, 2] = 8.0
    pd.testing.assert_frame_equal(taken.restore(dense), expected)


@pytest.mark.parametrize("table", [
    sensors(name="sensor"),
    sensors().T,
    pd.DataFrame(CELLS, index=pd.MultiIndex.from_product([list("abc"), range(4)], names=["a", "b"])),
    sensors().reset_index(),
    pl.DataFrame({"time": list("abcdefghijkl"), "x": CELLS[:, 0], "y": CELLS[:, 1]}),
], ids=["named", "columns of times", "levels", "first column", "polars"])  # fmt: skip
def test_a_fit_that_was_saved_gives_back_the_table(table, tmp_path):
    taken = take_in(table)
    fit = fit_of(taken)
    fit.save(tmp_path / "fit.npz")
    again, once = tensorfill.load(tmp_path / "fit.npz").to_dense(), fit.to_dense()
    if isinstance(table, pl.DataFrame):
        assert again.equals(once)
        assert again.columns == table.columns
    else:
        pd.testing.assert_frame_equal(again, once, check_freq=False)
        pd.testing.assert_index_equal(once.columns, table.columns)


@pytest.mark.parametrize("rows", [range(12), [0, 1, 2, 5, 7, 8, 9, 10, 12, 13, 20, 21]], ids=["all", "some"])
def test_labels_in_the_first_columns_stay_there(rows):
    table = sensors().reset_index().set_axis(list(rows))
    taken = take_in(table)
    assert taken.labels.names == ("time", "column")
    pd.testing.assert_frame_equal(taken.restore(CELLS), table)


def test_rows_without_labels_are_numbered_if_the_layout_is_said():
    table = pd.DataFrame({"a": [0.5, np.nan, 1.5], "b": [1.0, 2.0, 3.0]})
    taken = take_in(table, layout="wide")
    assert taken.labels.names == ("row", "column")
    assert taken.labels.keys[0] is None
    pd.testing.assert_frame_equal(taken.restore(np.array([[0.5, 1.0], [7.0, 2.0], [1.5, 3.0]])), table.fillna(7.0))


def test_zeros_and_objects_that_are_numbers():
    table = pd.DataFrame({"a": [1, None, 3], "b": [0.0, 2.0, 5.0]}, index=list("xyz"), dtype=object)
    assert len(take_in(table, layout="wide").observations) == 5
    assert len(take_in(table, missing="zero", layout="wide").observations) == 4


def test_long_tables_stay_long():
    users = np.repeat(np.arange(30), 5)
    long = pd.DataFrame({"user": users, "item": np.tile(np.arange(5), 30), "stars": np.arange(150) % 5 + 1.0})
    assert take_in(long).observations.shape == (30, 5)
    assert take_in(long[long.stars > 1]).labels.names == ("user", "item")
    assert take_in(long.set_index("user")).labels.names == ("user", "item")
    assert take_in(long.set_index(["user", "item"])).labels.names == ("user", "item")


def test_what_could_be_either_is_asked_about():
    counts = pd.DataFrame(
        np.arange(40).reshape(20, 2), columns=["red", "blue"], index=pd.Index(np.arange(20), name="hour")
    )
    refuses(ValueError, ["'red', 'blue'", "layout='wide'", "layout='long'"], lambda: take_in(counts))
    assert take_in(counts, layout="wide").observations.shape == (20, 2)
    assert take_in(counts, layout="long").observations.shape[0] == 20


@pytest.mark.parametrize(("words", "kind", "action"), [
    (["'name', 'colour'", "hold numbers"], TypeError,
     lambda: take_in(sensors().assign(name="x", colour="red"), layout="wide")),
    (["rows", "different labels", "time='2024-03-01'"], ValueError,
     lambda: take_in(sensors().set_axis(TIMES[[0, 0, *range(2, 12)]]), layout="wide")),
    (["columns", "different names"], TypeError,
     lambda: take_in(sensors().set_axis(["s1", "s1", "s3", "s2"], axis=1), layout="wide")),
    (["rows", "different labels", "row='p'"], ValueError,
     lambda: take_in(pd.DataFrame({"a": [np.nan, 1.0, 2.0], "b": [1.0, 2.0, 3.0]}, index=list("ppq")))),
    (["rows", "different labels", "site='p'"], ValueError,
     lambda: take_in(pd.DataFrame({"a": [np.nan, 1, 2], "b": [1, 2, 3]}, index=pd.Index(list("ppq"), name="site")))),
    (["all its keys", "'place' has none in row 1"], ValueError,
     lambda: take_in(sensors().reset_index(drop=True).assign(place=["p", "", *"cdefghijkl"]).set_index("place"))),
    (["layout", "'tall'", "'wide'"], ValueError, lambda: take_in(sensors(), layout="tall")),
    (["value must be left out"], ValueError, lambda: take_in(sensors(), layout="wide", value="s1")),
    (["layout must be left out", "ndarray"], ValueError, lambda: take_in(CELLS, layout="wide")),
    (["every cell"], ValueError, lambda: take_in(sensors() * np.nan)),
])  # fmt: skip
def test_bad_wide_tables_get_one_sentence(words, kind, action):
    refuses(kind, words, action)


def test_the_ends_of_intervals_stand_beside_each_column():
    header = pd.MultiIndex.from_product([["north"], ["no2", "o3"]], names=["site", "gas"])
    table = pd.DataFrame([[1.0, np.nan], [3.0, 4.0]], index=list("ab"), columns=header)
    taken = take_in(table)
    dense = np.arange(4.0).reshape(2, 1, 2)
    ends = taken.restore.with_ends(dense, dense - 1, dense + 1)
    assert [gas for _, gas in ends.columns] == ["no2", "no2_low", "no2_high", "o3", "o3_low", "o3_high"]
    assert ends.loc["b", ("north", "o3_high")] == 4.0
    first = take_in(sensors().reset_index()).restore.with_ends(CELLS, CELLS - 1, CELLS + 1)
    assert list(first.columns[:4]) == ["time", "s10", "s10_low", "s10_high"]


# Files


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz", ".parquet"])
def test_a_wide_file_is_recognised_and_written_as_it_was(ending, tmp_path):
    path = tmp_path / f"wide{ending}"
    write(path, sensors())
    taken = read(path)
    assert taken.labels.names == ("time", "column")
    assert taken.observations.shape == (12, 4)
    np.testing.assert_array_equal(taken.observations.to_dense(), CELLS)
    write(tmp_path / f"again{ending}", taken.restore(CELLS))
    np.testing.assert_array_equal(read(tmp_path / f"again{ending}").observations.to_dense(), CELLS)


def test_a_text_that_means_a_missing_value_is_a_label_in_the_first_column(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("country,x,y,z\nNA,1.5,NA,3\nDE,,2.5,1\nFR,1,2,null\n")
    taken = read(path)
    assert taken.labels.keys[0].tolist() == ["NA", "DE", "FR"]
    assert len(taken.observations) == 6
