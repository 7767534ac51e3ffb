"""What is written can be trusted: checksums, texts that are no formulas, and refusals before there is an answer."""

from __future__ import annotations

import os
import pickle
import struct
import warnings
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill.io import read, write
from tensorfill.io.ends import write_with_ends
from tensorfill.io.formats import check_holds
from tensorfill.io.table_writing import without_formulas
from tensorfill.labels import Labelled, Labels
from tensorfill.observations import Observations
from tests.refusal import refuses

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("netCDF4")
pytest.importorskip("PIL")


class TestChecksums:
    @pytest.mark.parametrize("ends", [False, True])
    @pytest.mark.parametrize("name", ["a.parquet", "a.nc", "a.npz"])
    def test_a_bit_that_flips_is_noticed(self, name, ends, tmp_path):
        path = tmp_path / name
        array = np.random.default_rng(0).random((6, 5))
        labels = Labels.plain(2)
        if not ends:
            write(path, array)
        elif name == "a.npz":
            pytest.skip("a file without the ends of intervals")
        else:
            write_with_ends(path, {"a.nc": "netcdf"}.get(name, "parquet"), (array, array - 1, array + 1), labels)
        whole = bytearray(path.read_bytes())
        if name == "a.npz":
            place = len(whole) // 2
        else:
            place = whole.index(struct.pack("<d", array[3, 2]))
        whole[place] ^= 1
        path.write_bytes(whole)
        options = {"name": "value"} if name == "a.nc" else {"value": "value"} if name == "a.parquet" else {}
        with pytest.raises((ValueError, OSError, RuntimeError)):
            read(path, **options)

    def test_a_file_of_another_program_needs_none(self, tmp_path):
        table = pandas.DataFrame({"a": [0, 1, 0], "b": [0, 0, 1], "value": [1.0, 2.0, 3.0]})
        table.to_parquet(tmp_path / "a.parquet")
        assert len(read(tmp_path / "a.parquet").observations) == 3

    def test_what_an_array_says_of_its_file_is_kept(self, tmp_path):
        xarray = pytest.importorskip("xarray")
        array = xarray.DataArray(np.ones((2, 3)), dims=("a", "b"), name="rain")
        array.encoding = {"zlib": True, "_FillValue": -9.0}
        write(tmp_path / "a.nc", array)
        assert array.encoding == {"zlib": True, "_FillValue": -9.0}
        with xarray.open_dataset(tmp_path / "a.nc", engine="netcdf4") as again:
            kept = again["rain"].encoding
        assert (kept["zlib"], kept["_FillValue"], kept["fletcher32"]) == (True, -9.0, True)


class TestFormulas:
    @settings(max_examples=50)
    @given(st.text(min_size=1), st.floats(allow_nan=False))
    def test_no_text_is_a_formula_and_no_number_changes(self, text, number):
        safe = without_formulas(pandas.DataFrame({"label": [text], text: [number]}))
        for shown in (safe["label"][0], safe.columns[1]):
            assert shown in (text, f"'{text}")
            # What still begins with a sign is a number.
            assert shown[0] not in "=+-@\t\r\n" or np.isfinite(float(shown))
        assert safe.iloc[0, 1] == number

    @pytest.mark.parametrize("label", ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "＝1+1", "-x"])
    def test_formulas(self, label):
        assert without_formulas(pandas.DataFrame({"a": [label]}))["a"].tolist() == [f"'{label}"]

    @pytest.mark.parametrize("label", ["-5", "+5", "-1.5e-3", "a=b", "Ann", "'=1", "", -5, -1.5])
    def test_what_is_no_formula_stays(self, label):
        table = pandas.DataFrame({"a": pandas.Series([label, "x"], dtype=object)})
        assert without_formulas(table)["a"].tolist() == [label, "x"]

    @pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz"])
    def test_only_on_request(self, name, tmp_path):
        labels = Labels(("=who", "x"), (np.array(["=1+1", "Ann"]), None))
        data = Labelled(Observations([[0, 0], [1, 1]], [-1.0, 2.0], (2, 2)), labels)
        write(tmp_path / name, data)
        assert read(tmp_path / name).labels.keys[0].tolist() == ["=1+1", "Ann"]
        write(tmp_path / name, data, safe=True)
        again = read(tmp_path / name)
        assert again.labels.names[0] == "'=who"
        assert again.labels.keys[0].tolist() == ["'=1+1", "Ann"]
        assert again.observations.values.tolist() == [-1.0, 2.0]

    def test_two_columns_of_one_name_stay_two(self):
        table = pandas.DataFrame([["=a", "b"]], columns=["x", "x"])
        assert without_formulas(table).to_numpy().tolist() == [["'=a", "b"]]


def mixed(size):
    return np.array([1, "a", 2.5, ("t",)] * size, dtype=object)[:size]


class TestWhatAFormatHolds:
    @pytest.mark.parametrize(
        ("name", "shape", "kind", "words"),
        [
            ("a.png", (4, 3, 5), float, ["picture", "(4, 3, 5)"]),
            ("a.png", (4,), float, ["picture"]),
            ("a.jpg", (4, 3, 4), float, ["alpha"]),
            ("a.jpg", (4, 3), np.uint16, ["16 bits"]),
            ("a.gif", (4, 3), float, ["movie"]),
            ("a.mp4", (4, 3, 2, 4), float, ["movie"]),
            ("a.mat", (2**13, 2**13, 8), float, ["4,294,967,296"]),
        ],
    )
    def test_shapes_and_types(self, name, shape, kind, words, tmp_path):
        if name == "a.mp4":
            pytest.importorskip("av")
        # Of zeros that take no memory only the shape and the type are known.
        refuses(ValueError, words, lambda: check_holds(tmp_path / name, np.broadcast_to(np.zeros((), kind), shape)))

    @pytest.mark.parametrize("name", ["a.npz", "a.nc", "a.parquet"])
    def test_labels(self, name, tmp_path):
        labels = Labels(("a", "b"), (mixed(4), None))
        refuses(
            (ValueError, TypeError),
            ["'a'", "numbers"],
            lambda: check_holds(tmp_path / name, np.ones((4, 2)), labels=labels),
        )
        check_holds(tmp_path / "a.csv", np.ones((4, 2)), labels=labels)

    def test_names(self, tmp_path):
        clash = Labels(("value", "b"), (None, None))
        refuses(ValueError, ["'value'"], lambda: check_holds(tmp_path / "a.csv", np.ones((4, 2)), labels=clash))
        slash = Labels(("m/s", "b"), (None, None))
        refuses(ValueError, ["'m/s'"], lambda: check_holds(tmp_path / "a.nc", np.ones((4, 2)), labels=slash))

    def test_nothing_is_written(self, tmp_path):
        check_holds(tmp_path / "a.npz", np.ones((4, 2)))
        assert list(tmp_path.iterdir()) == []


class _Runs:
    """Makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_no_allowed_version_of_pyarrow_runs_a_pickle_from_parquet(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    hidden = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(_Runs(str(tmp_path / "ran"))),
    }
    columns = {"a": [0, 0, 1], "b": [0, 1, 0], "value": [1.0, 2.0, 3.0]}
    fields = [arrow.field("a", "int64"), arrow.field("b", "int64"), arrow.field("value", "float64", metadata=hidden)]
    parquet.write_table(arrow.table(columns, schema=arrow.schema(fields)), tmp_path / "a.parquet")
    with warnings.catch_warnings(), suppress(ValueError, TypeError):
        warnings.simplefilter("ignore")
        read(tmp_path / "a.parquet")
    assert not (tmp_path / "ran").exists()
