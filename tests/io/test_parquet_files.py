"""``tensorfill.io.open``: Parquet files that are opened and not read."""

from __future__ import annotations

import pickle
import shutil

import numpy as np
import pytest

import tensorfill.io

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def table(first: int = 0, rows: int = 10):
    return pd.DataFrame(
        {"user": np.arange(first, first + rows), "item": "a", "stars": np.arange(float(first), first + rows)}
    )


@pytest.fixture
def folder(tmp_path):
    for number in range(3):
        table(10 * number).to_parquet(tmp_path / f"{number}.parquet", row_group_size=4)
    return tmp_path


def read_whole(opened, columns=("user", "item", "stars")):
    return pd.concat([chunk.read(columns) for chunk in opened.chunks], ignore_index=True)


def test_a_folder_a_pattern_and_a_file(folder, monkeypatch):
    (folder / "notes.txt").write_text("no table")
    (folder / "_metadata.parquet").write_text("what other programs keep there")
    for path in (folder, str(folder / "*.parquet"), folder / "?.parquet"):
        opened = tensorfill.io.open(path)
        assert [each.name for each in opened.paths] == ["0.parquet", "1.parquet", "2.parquet"]
        assert (opened.rows, opened.columns) == (30, ["user", "item", "stars"])
        pd.testing.assert_frame_equal(read_whole(opened), table(rows=30))
    monkeypatch.chdir(folder)
    [path] = tensorfill.io.open("1.parquet").paths
    # Another process may have another working folder.
    assert path == folder / "1.parquet"


def test_small_row_groups_are_read_together(folder, monkeypatch):
    assert [(chunk.groups, chunk.first, chunk.rows) for chunk in tensorfill.io.open(folder).chunks] == [
        ((0, 1, 2), 0, 10)
    ] * 3
    monkeypatch.setattr("tensorfill.io.parquet_files.ROWS_OF_A_CHUNK", 8)
    chunks = tensorfill.io.open(folder / "0.parquet").chunks
    assert [(chunk.groups, chunk.first, chunk.rows) for chunk in chunks] == [((0, 1), 0, 8), ((2,), 8, 2)]
    assert chunks[1].read(["stars"])["stars"].tolist() == [8.0, 9.0]


def test_a_chunk_goes_to_another_process_and_reads_columns_in_any_order(folder):
    chunk = pickle.loads(pickle.dumps(tensorfill.io.open(folder).chunks[1]))
    assert list(chunk.read(["stars", "user"]).columns) == ["stars", "user"]


def test_nothing_is_read_when_files_are_opened(folder):
    damaged = bytearray((folder / "1.parquet").read_bytes())
    damaged[4:200] = bytes(196)
    (folder / "1.parquet").write_bytes(damaged)
    opened = tensorfill.io.open(folder)
    with pytest.raises(ValueError, match=r"1.parquet cannot be read as a Parquet table, so it is damaged"):
        read_whole(opened)


def test_a_chunk_takes_no_more_memory_than_it_may(folder):
    opened = tensorfill.io.open(folder, max_bytes=50)
    with pytest.raises(ValueError, match="above max_bytes=50"):
        read_whole(opened)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("nowhere", "There is no file or folder .*nowhere; check the path"),
        ("x*.parquet", r"No file is like .*x\*.parquet; check the path"),
        ("empty", r"The folder .*empty has no Parquet file, which ends in .parquet or .pq; check the path"),
    ],
)
def test_no_files(folder, path, sentence):
    (folder / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=sentence):
        tensorfill.io.open(folder / path)


def test_a_damaged_file_is_named(folder):
    (folder / "1.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(ValueError, match=r"1.parquet cannot be read as a Parquet table, so it is damaged"):
        tensorfill.io.open(folder)


@pytest.mark.parametrize(
    "other",
    [table().rename(columns={"item": "thing"}), table().astype({"user": str}), table()[["item", "user", "stars"]]],
)
def test_columns_that_differ_are_refused(folder, other):
    other.to_parquet(folder / "2.parquet")
    with pytest.raises(
        ValueError,
        match=r"all files must have the same columns, but .*2.parquet has .*, and .*0.parquet has user: int64,",
    ):
        tensorfill.io.open(folder)


def test_the_levels_of_an_index_are_the_first_columns(tmp_path):
    table().set_index(["item", "user"]).to_parquet(tmp_path / "0.parquet")
    assert tensorfill.io.open(tmp_path).columns == ["item", "user", "stars"]
    table().set_index(np.arange(5, 15)).to_parquet(tmp_path / "0.parquet")
    assert tensorfill.io.open(tmp_path).columns == ["user", "item", "stars"]
    # pandas writes only the ends of such an index, and each file would begin again.
    table().rename_axis("row").to_parquet(tmp_path / "0.parquet")
    with pytest.raises(ValueError, match="has an index 'row' that only counts the rows of the file"):
        tensorfill.io.open(tmp_path)


def test_a_file_that_goes_away(folder):
    opened = tensorfill.io.open(folder)
    shutil.rmtree(folder)
    with pytest.raises(FileNotFoundError, match=r"There is no file .*0.parquet"):
        read_whole(opened)
