"""Tables in text files: every row keeps its fields, and every label its letters."""

from __future__ import annotations

import gzip
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill import Observations
from tensorfill.io import read, write
from tensorfill.io.text_tables import looks_like_data, typed_labels
from tensorfill.labels import Labelled, Labels
from tests.refusal import refuses

pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture
def table(tmp_path):
    """Return a function that writes a text, and returns its path."""

    def write_text(text, name="a.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write_text


def entries(data):
    """Return the values by the labels, as they are."""
    coords, values = data.observations.coords.tolist(), data.observations.values.tolist()
    keys = [own.tolist() for own in data.labels.keys]
    return {
        tuple(own[at] for own, at in zip(keys, place, strict=True)): v for place, v in zip(coords, values, strict=True)
    }


class TestFields:
    def test_a_field_too_many_is_named_by_its_line(self, table):
        path = table("a,b,v\nx,1,0.5\ny,2,0.5,9\n")
        refuses(ValueError, [str(path), "3 fields", "line 3", "4", "'y,2,0.5,9'"], lambda: read(path))

    def test_a_first_row_with_a_field_too_many_does_not_shift_the_columns(self, table):
        refuses(ValueError, ["3 fields", "line 2"], lambda: read(table("a,b,v\nx,1,0.5,7\ny,2,0.5,9\n")))

    def test_a_short_row_is_no_label(self, table):
        refuses(ValueError, ["3 fields", "line 3", "2"], lambda: read(table("a,b,v\nx,1,0.5\ny,2\n")))

    def test_quotes_hold_separators_and_line_ends(self, table):
        data = read(table('a,b,v\n"x, ""y""",1,0.5\n"two\nlines",2,+1.5\n\nz,1, 2.5 \n'))
        assert entries(data) == {('x, "y"', 1): 0.5, ("two\nlines", 2): 1.5, ("z", 1): 2.5}

    def test_a_mark_of_the_order_of_bytes_is_no_part_of_a_name(self, table):
        assert read(table("\ufeffa,b,v\nx,1,0.5\ny,2,1\n")).labels.names == ("a", "b")

    def test_a_value_that_is_no_number_is_named_by_its_row(self, table):
        path = table("a,b,v\nx,1,0.5\ny,2,many\n")
        refuses(TypeError, [str(path), "'v'", "'many'", "row 2"], lambda: read(path))

    def test_truth_values_are_numbers(self, table):
        assert entries(read(table("a,b,v\nx,1,True\ny,2,False\nx,2,\n"))) == {("x", 1): 1.0, ("y", 2): 0.0}

    def test_a_truth_value_among_numbers_is_named_by_its_row(self, table):
        path = table("a,b,v\n1,1,2\n1,2,true\n")
        refuses(TypeError, [str(path), "'v'", "'true'", "row 2"], lambda: read(path))

    @pytest.mark.parametrize("text", ["", "\n\n", "a,b,v\n", "a,b,v"])
    def test_nothing_is_refused(self, table, text):
        refuses(ValueError, ["a.csv"], lambda: read(table(text)))

    def test_bytes_that_are_no_text_are_refused(self, tmp_path):
        (tmp_path / "a.csv").write_bytes(b"a,b,v\nx,1,0.5\n\xff\xfe,2,1\n")
        refuses(ValueError, ["a.csv", "damaged"], lambda: read(tmp_path / "a.csv"))


class TestFirstLine:
    @pytest.mark.parametrize("text", ["A,1,2.5\nA,2,3.5\nB,1,4.5\n", "A\t1\t3\nA\t2\t5\nB\t1\t4\n"])
    def test_a_first_line_of_data_is_not_lost(self, table, text):
        path = table(text, "a.csv" if "," in text else "a.tsv")
        refuses(ValueError, ["first line", "looks like data", "add a line"], lambda: read(path))

    def test_a_wide_table_without_names_is_refused(self, table):
        rows = "".join(f"2024-01-{day:02},{day}.5,{20 - day}.25,{day * day}.5\n" for day in range(3, 20))
        refuses(ValueError, ["looks like data"], lambda: read(table(rows)))

    def test_numbers_in_order_are_names_of_columns(self, table):
        rows = "".join(f"s{place},{place}.5,,{place}\n" for place in range(12))
        data = read(table("station,2021,2022,2023\n" + rows))
        assert data.labels.keys[1].tolist() == ["2021", "2022", "2023"]

    @pytest.mark.parametrize(
        ("names", "found"),
        [
            (["a", "b"], False), (["1", "2"], False), (["2", "1"], False), (["1.5", "2.5"], True), (["a", "1"], True),
            (["400.5", "401.5", "402.5", "403.5"], False), (["1", "3", "2", "4"], True),
        ],
    )  # fmt: skip
    def test_what_looks_like_data(self, names, found):
        assert looks_like_data(names) is found

    def test_columns_need_different_names(self, table):
        refuses(ValueError, ["different names", "'a'"], lambda: read(table("a,a,v\nx,1,0.5\n")))
        refuses(ValueError, ["column 4 of 4", "name"], lambda: read(table("a,b,v,\nx,1,0.5,\n")))

    def test_the_index_that_pandas_writes_is_no_mode(self, table):
        data = read(table(",a,b,v\n0,x,1,0.5\n1,y,2,1.5\n2,x,2,\n"))
        assert data.labels.names == ("a", "b")
        assert data.observations.shape == (2, 2)
        # Rows that were left out leave gaps in it.
        assert read(table(",a,b,v\n0,x,1,0.5\n7,y,2,1.5\n")).labels.names == ("a", "b")
        refuses(ValueError, ["has none", "repeat"], lambda: read(table(",a,b,v\n0,x,1,0.5\n0,y,2,1.5\n")))

    def test_the_index_of_a_wide_table_labels_its_rows(self, table):
        data = read(table(",a,b,c\n" + "".join(f"s{row},{row}.5,,1.25\n" for row in range(12))))
        assert data.labels.names == ("row", "column")
        assert data.labels.keys[0][3] == "s3"


class TestLayout:
    def test_columns_that_may_hold_values_are_asked_about(self, table):
        rng = np.random.default_rng(0)
        rows = [f"{rng.random():.4f},{rng.random():.4f},f{n % 5},{1935 + n // 5}" for n in range(40)]
        path = table("invest,value,firm,year\n" + "\n".join(rows) + "\n")
        refuses(ValueError, [str(path), "'invest', 'value'", "layout='wide'", "value="], lambda: read(path))
        refuses(ValueError, [str(path), "'value'", "leave out"], lambda: read(path, value="invest"))
        assert read(path, value="invest", layout="long").labels.names == ("value", "firm", "year")

    def test_numbers_without_labels_are_asked_about(self, table):
        cells = np.random.default_rng(0).random((60, 12)).round(4)
        head = ",".join(f"x{place}" for place in range(12))
        path = table(head + "\n" + "\n".join(",".join(map(str, row)) for row in cells) + "\n")
        refuses(ValueError, [str(path), "two ways", "layout='wide'"], lambda: read(path))
        assert read(path, layout="wide").observations.shape == (60, 12)

    def test_labels_that_repeat_only_after_many_rows_are_labels(self, table):
        rows = (f"s{station},{hour / 4},{hour % 24}\n" for station in range(3) for hour in range(6000))
        assert read(table("station,hour,n\n" + "".join(rows))).observations.shape == (3, 6000)


class TestLabels:
    @pytest.mark.parametrize("blank", ["", " "])
    def test_a_blank_label_is_named_by_its_row(self, table, blank):
        path = table(f"a,b,v\nx,1,0.5\ny,{blank},1.5\n")
        refuses(ValueError, [str(path), "all its keys", "'b' has none in row 2"], lambda: read(path))

    def test_zeros_before_a_number_are_kept(self, table):
        data = read(table("zip,year,v\n00501,2020,1.5\n10001,2021,2.5\n"))
        assert entries(data) == {("00501", 2020): 1.5, ("10001", 2021): 2.5}

    def test_two_ways_to_write_a_number_are_two_labels(self, tmp_path):
        labels = Labels(("a", "b"), (np.array(["1", "01"]), np.array(["1.10", "1.1"])))
        write(tmp_path / "a.csv", Labelled(Observations([[0, 0], [1, 1]], [1.0, 2.0], (2, 2)), labels))
        assert entries(read(tmp_path / "a.csv")) == {("1", "1.10"): 1.0, ("01", "1.1"): 2.0}

    @settings(max_examples=60)
    @given(
        st.lists(st.one_of(st.integers().map(str), st.floats().map(str), st.text("0123.-e", max_size=6)), unique=True)
    )
    def test_labels_that_differ_as_texts_differ(self, texts):
        assert len(set(typed_labels(texts).tolist())) == len(texts)

    def test_numbers_are_in_their_order(self, table):
        data = read(table("a,b,v\n10,x,1\n9,y,2\n"))
        assert data.labels.keys[0].tolist() == [9, 10]

    def test_an_answer_has_the_columns_of_the_file(self, table):
        data = read(table("v,zip,year\n1.5,00501,2020\n2.5,10001,2021\n"), value="v")
        filled = data.restore(np.zeros((2, 2)))
        assert list(filled.columns) == ["v", "zip", "year"]
        assert filled["zip"].tolist() == ["00501", "00501", "10001", "10001"]


def test_a_large_table_takes_little_more_than_the_tensor(tmp_path):
    def written(rows):
        path = tmp_path / f"{rows}.csv.gz"
        with gzip.open(path, "wt", compresslevel=1) as file:
            file.write("station,moment,value\n")
            file.writelines(f"station with a long name {n % 800},a long moment {n // 800},{n}\n" for n in range(rows))
        return path

    path, rows = written(200_000), 200_000
    tracemalloc.start()
    try:
        data = read(path)
        # What is asked for: the pages that an allocator holds depend on what ran before.
        peak = tracemalloc.get_traced_memory()[1] + pyarrow.default_memory_pool().max_memory()
    finally:
        tracemalloc.stop()
    assert len(data.observations) == rows
    # A row takes 16 bytes in the tensor, and 150 as texts of Python; what is read at a time takes 30 MB.
    assert peak < 130 * rows + 30e6


def test_progress_is_shown(table, capsys):
    read(table("a,b,v\nx,1,0.5\ny,2,0.5\n"), progress=True)
    assert "reading a.csv: 100% read" in capsys.readouterr().err


def test_the_index_of_a_parquet_table_is_no_mode_unless_it_has_a_name(tmp_path):
    import pandas

    table = pandas.DataFrame({"a": ["x", "y", "x"], "b": [1, 2, 2], "v": [0.5, 1.5, 2.5]}, index=[3, 5, 9])
    table.to_parquet(tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet").labels.names == ("a", "b")
    table.set_index("a").to_parquet(tmp_path / "b.parquet")
    assert read(tmp_path / "b.parquet", layout="long").labels.names == ("a", "b")


def test_a_single_column_without_a_name_is_refused(table):
    refuses(ValueError, ["must have a name in the first line", "column 1 of 1"], lambda: read(table(" \n1\n")))
