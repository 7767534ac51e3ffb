"""Intervals in files, updates, times as text and wide tables, with the command."""

from __future__ import annotations

import io

import numpy as np
import pytest

from tensorfill import load

from .examples import facts, said, tables_of_products

pd = pytest.importorskip("pandas")
xr = pytest.importorskip("xarray")
pytest.importorskip("pyarrow")
pytest.importorskip("netCDF4")


class TestIntervalsInFiles:
    @pytest.mark.parametrize("ending", [".csv", ".nc", ".parquet"])
    def test_the_ends_are_written_beside_the_values(self, files, tmp_path, capsys, ending):
        options = ["--lam", "1", "--interval", "0.8", "--no-smooth", "--quiet", "--validation", "0.3"]
        for source in ("a.csv", "a.nc"):
            path = tmp_path / f"b{ending}"
            said(capsys, "complete", files / source, "-o", path, *options)
            if ending == ".nc":
                found = xr.load_dataset(path)
                table = found.to_dataframe().reset_index()
            else:
                table = pd.read_csv(path) if ending == ".csv" else pd.read_parquet(path)
            assert set(table.columns) == {"station", "month", "value", "value_low", "value_high"}
            assert len(table) == 120
            assert (table.value_low <= table.value).all()
            kept = table.value_low == table.value_high
            assert 0.5 < kept.mean() < 0.9


class TestUpdate:
    def test_a_model_goes_on_with_new_labels(self, tmp_path, capsys):
        whole, _ = tables_of_products()
        table = pd.DataFrame(
            {"station": whole.labels.keys[0][whole.observations.coords[:, 0]],
             "month": whole.labels.keys[1][whole.observations.coords[:, 1]].astype(str),
             "value": whole.observations.values}
        )  # fmt: skip
        old, new = table[table.station != "S11"], table[table.station == "S11"]
        old.to_csv(tmp_path / "old.csv", index=False)
        new.to_csv(tmp_path / "new.csv", index=False)
        options = ["--method", "cp", "--set", "rank=1", "--quiet"]
        said(capsys, "complete", tmp_path / "old.csv", "--model", tmp_path / "m.npz", "--with-data", *options)
        out = said(capsys, "update", tmp_path / "m.npz", tmp_path / "new.csv", "-o", tmp_path / "m2.npz").out
        assert "6 entries, 1 new index of station" in out
        later = load(tmp_path / "m2.npz")
        assert later.shape == (12, 10)
        assert "S11" in later.labels.keys[0]
        said(capsys, "complete", tmp_path / "old.csv", "--model", tmp_path / "m.npz", *options)
        answer = said(capsys, "update", tmp_path / "m.npz", tmp_path / "new.csv", "-o", tmp_path / "m3.npz", code=2)
        assert "--data" in answer.err
        assert "--with-data" in answer.err
        given = ["--data", tmp_path / "old.csv", "--json"]
        said(capsys, "update", tmp_path / "m.npz", tmp_path / "new.csv", "-o", tmp_path / "m3.npz", *given)
        np.testing.assert_allclose(load(tmp_path / "m3.npz").model.to_dense(), later.model.to_dense())

    def test_texts_that_look_like_numbers_stay_texts_and_empty_slices_are_named_once(self, tmp_path, capsys):
        rows = [f"{place:05d},{day},{(place + 1) * (day + 1)}" for place in range(9, 13) for day in range(6)]
        rows[7:9] = ["00010,1,", "00010,2,"]
        (tmp_path / "old.csv").write_text("zip,day,n\n" + "\n".join(rows) + "\n")
        # Read alone, these labels are numbers.
        (tmp_path / "new.csv").write_text("zip,day,n\n10000,1,\n10001,1,3\n10001,2,5\n99999,1,\n")
        options = ["--method", "cp", "--set", "rank=1", "--quiet"]
        said(capsys, "complete", tmp_path / "old.csv", "--model", tmp_path / "m.npz", "--with-data", *options)
        out = said(capsys, "update", tmp_path / "m.npz", tmp_path / "new.csv", "-o", tmp_path / "m2.npz").out
        assert load(tmp_path / "m2.npz").labels.keys[0].tolist()[-3:] == ["10000", "10001", "99999"]
        assert "2 entries, 3 new indices of zip" in out
        assert out.count("zip: from") == 1
        (tmp_path / "new.csv").write_text("postcode,day,n\n10001,1,3\n10001,2,5\n")
        refused = said(capsys, "update", tmp_path / "m.npz", tmp_path / "new.csv", "-o", tmp_path / "m3.npz", code=2)
        assert "'postcode', 'day'" in refused.err


class TestLabels:
    def test_times_are_asked_for_as_people_write_them(self, tmp_path, capsys):
        hours = pd.to_timedelta(np.arange(0, 24, 2), unit="h")
        table = pd.DataFrame(
            {"time": np.tile(hours, 5), "day": np.repeat(list("abcde"), 12),
             "x": np.outer(np.arange(1.0, 6.0), np.arange(1.0, 13.0)).ravel()}
        ).iloc[1:]  # fmt: skip
        table.to_parquet(tmp_path / "t.parquet")
        options = ["--method", "cp", "--set", "rank=1", "--quiet"]
        said(capsys, "complete", tmp_path / "t.parquet", "--model", tmp_path / "m.npz", *options)
        assert "time (00:00 to 22:00)" in said(capsys, "info", tmp_path / "m.npz").out
        (tmp_path / "q.csv").write_text("time,day\n08:00,c\n0 days 08:00:00,c\n")
        answer = pd.read_csv(io.StringIO(said(capsys, "predict", tmp_path / "m.npz", tmp_path / "q.csv").out))
        np.testing.assert_allclose(answer.x, 15.0, rtol=0.05)


class TestWide:
    def test_a_wide_table_is_recognised_and_filled(self, tmp_path, capsys):
        rng = np.random.default_rng(0)
        cells = np.outer(np.arange(1.0, 31.0), rng.uniform(1, 2, 6))
        cells[rng.random(cells.shape) < 0.2] = np.nan
        table = pd.DataFrame(cells, columns=[f"s{n}" for n in range(6)])
        table.insert(0, "time", pd.date_range("2024-03-01", periods=30, freq="h").astype(str))
        table.to_csv(tmp_path / "wide.csv", index=False)
        assert facts(said(capsys, "info", tmp_path / "wide.csv").out)["shape"] == "30 x 6"
        options = ["--method", "cp", "--set", "rank=1", "--quiet", "--no-smooth"]
        said(capsys, "complete", tmp_path / "wide.csv", "-o", tmp_path / "out.csv", *options)
        filled = pd.read_csv(tmp_path / "out.csv")
        assert list(filled.columns) == list(table.columns)
        assert filled.time.tolist() == table.time.tolist()
        assert not filled.isna().any().any()
