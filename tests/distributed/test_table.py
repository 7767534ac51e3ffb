"""A table on Dask has the labels and entries that the same table in memory has."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorfill
from tensorfill.adapters.registry import take_in
from tensorfill.distributed.assembly import check_duplicates
from tensorfill.distributed.table import SpreadTable
from tensorfill.io import open as open_files
from tensorfill.labels import Labels

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")


def long_table(rows: int = 40, seed: int = 0) -> pd.DataFrame:
    """Return a table of distinct entries in no order, with keys of several kinds; some values are missing."""
    rng = np.random.default_rng(seed)
    places = rng.choice(6 * 5 * 4, rows, replace=False)
    user, item, day = np.unravel_index(places, (6, 5, 4))
    values = rng.normal(size=rows)
    values[::7] = np.nan
    return pd.DataFrame(
        {
            "user": np.array(["eve", "bob", "ann", "Zoe", "dan", "cat"])[user],
            "item": 10 * item - 20,
            "day": np.datetime64("2024-03-01", "us") + 7 * day.astype("timedelta64[D]"),
            "stars": values,
        }
    )


def entries(table: SpreadTable, mode: int = 0, parts: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return all entries of a table, split along a mode and brought together, in C order."""
    bounds = np.linspace(0, table.shape[mode], parts + 1).astype(int)
    found = table.pieces(mode, bounds, range(parts))
    pieces = [future.result() for futures in found.values() for future in futures]
    for part, futures in found.items():
        for coords, _ in (future.result() for future in futures):
            assert coords.dtype == np.int32
            assert np.all((bounds[part] <= coords[:, mode]) & (coords[:, mode] < bounds[part + 1]))
    coords, values = (np.concatenate(each) for each in zip(*pieces, strict=True))
    order = np.lexsort(coords.T[::-1])
    return coords[order], values[order]


def check_alike(spread: SpreadTable, table: pd.DataFrame, value: str | None = None) -> None:
    """Check that a table on Dask is the same as one in memory."""
    taken = take_in(table, value=value, layout="long")
    observed = taken.observations
    assert spread.labels.names == taken.labels.names
    assert spread.labels.value == taken.labels.value
    for own, expected in zip(spread.labels.keys, taken.labels.keys, strict=True):
        assert own.dtype == expected.dtype
        assert own.tolist() == expected.tolist()
    assert spread.shape == observed.shape
    assert spread.count == len(observed)
    for mode in range(observed.ndim):
        expected = np.bincount(observed.coords[:, mode], minlength=observed.shape[mode])
        assert spread.counts(mode).tolist() == expected.tolist()
        coords, values = entries(spread, mode)
        assert np.array_equal(coords, observed.coords)
        assert np.array_equal(values, observed.values)


def in_partitions(*tables: pd.DataFrame):
    """Return a table of Dask with these partitions, just as they are."""
    return dd.from_map(lambda table: table, tables, meta=tables[0].iloc[:0])


KEYS = {
    "texts": ["b", "a", "c", "a", "d", "B", "b", "e"],
    "whole numbers": [3, -1, 7, -1, 0, 12, 3, 5],
    "numbers": [0.5, -1.0, 7.0, -1.0, 0.0, 12.5, 0.5, 3.0],
    "booleans": [True, False, True, False, True, True, False, True],
    "dates": pd.to_datetime(["2024-03-01", "2023-01-01", "2025-01-01", "2023-01-01"] * 2),
    "dates of a zone": pd.to_datetime(["2024-03-01", "2023-01-01", "2025-01-01", "2023-01-01"] * 2).tz_localize("UTC"),
    "objects": np.array([3, "a", 1, "a", "c", 3, 2.5, "z"], dtype=object),
    "dates of Python": np.array([datetime.date(2024, 1, day) for day in (3, 1, 2, 1, 9, 8, 7, 3)], dtype=object),
    "categories": pd.Categorical(list("bacabdac"), categories=list("dzcba")),
    "ordered categories": pd.Categorical(list("bacabdac"), categories=list("dzcba"), ordered=True),
    "numbers as categories": pd.Categorical([3, 1, 2, 1, 3, 3, 2, 1]),
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("as_text", [True, False])
def test_labels_of_partitions_are_those_of_a_table_in_memory(client, kind, as_text):
    table = pd.DataFrame({"key": KEYS[kind], "row": range(8), "value": np.arange(8.0)})
    # By default, Dask makes texts of all objects.
    with dask.config.set({"dataframe.convert-string": as_text}):
        spread = in_partitions(table[:3], table[3:4], table[4:])
        check_alike(SpreadTable.of(spread, client), spread.compute())


def test_categories_of_partitions_are_united(client):
    first = pd.DataFrame(
        {"key": pd.Categorical(["b", "a"], categories=list("bza")), "row": [0, 1], "value": [1.0, 2.0]}
    )
    second = pd.DataFrame({"key": pd.Categorical(["c", "a"]), "row": [2, 3], "value": [3.0, 4.0]})
    spread = in_partitions(first, second)
    table = SpreadTable.of(spread, client)
    assert table.labels.keys[0].tolist() == ["b", "z", "a", "c"]
    check_alike(table, spread.compute())


@given(rows=st.integers(1, 60), partitions=st.integers(1, 12), seed=st.integers(0, 100))
@settings(max_examples=10)
def test_a_table_of_dask_is_numbered_like_one_in_memory(client, rows, partitions, seed):
    table = long_table(rows, seed)
    table.loc[0, "stars"] = 1.0
    check_alike(SpreadTable.of(dd.from_pandas(table, npartitions=partitions), client), table)


def test_parquet_files_are_numbered_like_one_table(client, tmp_path):
    table = long_table()
    table[:25].to_parquet(tmp_path / "0.parquet", row_group_size=10)
    table[25:].to_parquet(tmp_path / "1.parquet", row_group_size=10)
    check_alike(SpreadTable.of(open_files(tmp_path), client), table)


@pytest.mark.parametrize("kind", [kind for kind in KEYS if kind != "objects"])
def test_labels_of_row_groups_are_those_of_the_file(client, tmp_path, kind, monkeypatch):
    monkeypatch.setattr("tensorfill.io.parquet_files.ROWS_OF_A_CHUNK", 3)
    table = pd.DataFrame({"key": KEYS[kind], "row": range(8), "value": np.arange(8.0)})
    table.to_parquet(tmp_path / "0.parquet", row_group_size=3)
    opened = open_files(tmp_path / "0.parquet")
    assert len(opened.chunks) == 3
    check_alike(SpreadTable.of(opened, client), pd.read_parquet(tmp_path / "0.parquet"))


def test_an_index_of_keys_has_the_first_modes(client, tmp_path):
    table = long_table().set_index(["day", "user"])
    table.to_parquet(tmp_path / "0.parquet", row_group_size=9)
    check_alike(SpreadTable.of(open_files(tmp_path), client), table)
    table = long_table().sort_values("item").set_index("item")
    check_alike(SpreadTable.of(dd.from_pandas(table, npartitions=3), client), table)


def test_the_columns_of_values_and_modes_can_be_named(client):
    table = long_table().assign(note=1.0)[["stars", "note", "day", "item", "user"]]
    spread = SpreadTable.of(dd.from_pandas(table, npartitions=2), client, value="stars", names=["user", "item", "day"])
    check_alike(spread, long_table())
    with pytest.raises(ValueError, match="names must be two or more different columns of keys"):
        SpreadTable.of(dd.from_pandas(table, npartitions=2), client, value="stars", names=["user", "stars"])


def test_lost_parts_are_read_again(client):
    spread = SpreadTable.of(dd.from_pandas(long_table(), npartitions=3), client)
    first = spread.pieces(1, [0, 2, 3, 5], [0, 1, 2])
    again = spread.pieces(1, [0, 2, 3, 5], [1])
    assert list(again) == [1]
    for one, other in zip(first[1], again[1], strict=True):
        for mine, yours in zip(one.result(), other.result(), strict=True):
            assert np.array_equal(mine, yours)


def test_values_are_narrowed_and_zeros_may_be_missing(client):
    table = long_table()
    table.loc[:9, "stars"] = 0.0
    spread = SpreadTable.of(dd.from_pandas(table, npartitions=3), client, dtype=np.float32, missing="zero")
    _, values = entries(spread)
    assert values.dtype == spread.dtype == np.float32
    assert spread.count == len(values) == np.count_nonzero(table["stars"].fillna(0.0))
    table.loc[20, "stars"] = 1e300
    with pytest.raises(
        ValueError, match=r"within the range of float32, but 'stars' is 1e\+300 in row 6 of partition 1"
    ):
        SpreadTable.of(dd.from_pandas(table, npartitions=3), client, dtype=np.float32)


def test_the_answer_comes_back_as_a_table(client):
    table = dd.from_pandas(long_table(), npartitions=3)
    spread, taken = SpreadTable.of(table, client), take_in(table.compute())
    dense = np.random.default_rng(0).normal(size=spread.shape)
    pd.testing.assert_frame_equal(spread.restore(dense), taken.restore(dense))


@pytest.mark.parametrize(
    ("column", "wrong", "sentence"),
    [
        ("stars", np.inf, r"values must be finite, but 'stars' is inf in row 3 of \S+1.parquet; leave out"),
        ("user", None, r"every row must have all its keys, but 'user' has none in row 3 of \S+1.parquet; leave"),
        ("day", pd.NaT, r"every row must have all its keys, but 'day' has none in row 3 of \S+1.parquet; leave"),
    ],
)
def test_a_bad_row_is_named_by_its_file(client, tmp_path, column, wrong, sentence):
    table = long_table()
    table.loc[[28, 33], column] = wrong
    table[:25].to_parquet(tmp_path / "0.parquet", row_group_size=2)
    table[25:].to_parquet(tmp_path / "1.parquet", row_group_size=2)
    with pytest.raises(ValueError, match=sentence):
        SpreadTable.of(open_files(tmp_path), client)


def test_a_text_among_numbers_is_named_by_its_partition(client):
    table = long_table()
    table["stars"] = table["stars"].astype(object)
    table.loc[33, "stars"] = "many"
    with (
        dask.config.set({"dataframe.convert-string": False}),
        pytest.raises(ValueError, match="values must be numbers, but 'stars' is 'many' in row 13 of partition 1"),
    ):
        SpreadTable.of(in_partitions(table[:20], table[20:]), client)


def test_what_is_no_long_table_is_refused(client):
    table = long_table()
    with pytest.raises(TypeError, match="'user' does not"):
        SpreadTable.of(dd.from_pandas(table, npartitions=2), client, value="user")
    with pytest.raises(ValueError, match="value must be a column of the table"):
        SpreadTable.of(dd.from_pandas(table, npartitions=2), client, value="moons")
    with pytest.raises(ValueError, match="the table has no rows"):
        SpreadTable.of(dd.from_pandas(table[:0], npartitions=1), client)
    with pytest.raises(ValueError, match="none of 40 rows has a value"):
        SpreadTable.of(dd.from_pandas(table.assign(stars=np.nan), npartitions=2), client)
    with pytest.raises(TypeError, match=r"must be a dask.dataframe.DataFrame or what tensorfill.io.open returns"):
        SpreadTable.of(table, client)
    with pytest.raises(TypeError, match="dtype must be float32 or float64, but int64"):
        SpreadTable.of(dd.from_pandas(table, npartitions=2), client, dtype=np.int64)
    ordered = [
        table.assign(user=pd.Categorical(table["user"], categories=own, ordered=True))
        for own in (["eve", "bob", "ann", "Zoe", "dan", "cat"], ["bob", "eve", "ann", "Zoe", "dan", "cat"])
    ]
    with pytest.raises(TypeError, match="ordered categories must be the same"):
        SpreadTable.of(in_partitions(*ordered), client)


def test_repeated_entries_of_a_tensor_with_more_places_than_int64_has():
    labels = Labels(("a", "b", "c"), (None, None, None))
    far = 2**31 - 2
    coords = np.array([[0, 1, far], [far, 0, 1], [1, far, 0]])
    check_duplicates(coords, labels)
    with pytest.raises(ValueError, match="1 of 4 rows are repeats"):
        check_duplicates(np.concatenate([coords, coords[1:2]]), labels)


def test_repeated_entries_are_named():
    labels = Labels(("user", "item"), (np.array(["ann", "bob"]), np.array([7, 8, 9])), "stars")
    check_duplicates(np.array([[0, 1], [1, 1]]), labels)
    check_duplicates(np.zeros((0, 2), dtype=np.int64), labels)
    with pytest.raises(ValueError, match="2 rows have user='bob', item=9, and 1 of 3 rows are repeats"):
        check_duplicates(np.array([[1, 2], [0, 1], [1, 2]]), labels)


def test_a_comparison_needs_a_table_in_memory(tmp_path):
    table = long_table()
    table.to_parquet(tmp_path / "0.parquet")
    for data in (dd.from_pandas(table, npartitions=2), open_files(tmp_path)):
        with pytest.raises(TypeError, match=r"give .* tensorfill\.complete"):
            tensorfill.compare(data)
