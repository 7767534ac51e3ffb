"""``tensorfill info``, ``convert`` and ``plot``."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tensorfill.io import read, write
from tensorfill.observations import Observations

from .examples import SHAPE, facts, said

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("netCDF4")
pytest.importorskip("PIL")


class TestInfo:
    def test_data(self, files, capsys):
        shown = facts(said(capsys, "info", files / "a.nc").out)
        assert shown["shape"] == "12 x 10"
        assert shown["modes"] == "station (S0 to S11), month (2024-01-01 to 2024-10-01)"
        assert "go missing as single entries" in shown["missing"]
        assert shown["zeros"] == "none"

    def test_zeros_and_repeats_are_counted(self, tmp_path, capsys):
        (tmp_path / "a.tns").write_text("1 1 0\n1 1 4\n3 2 5\n")
        shown = facts(said(capsys, "info", tmp_path / "a.tns").out)
        assert shown["repeated"].startswith("1 entries")
        assert shown["empty"] == "slices without any entry: 1 of 3 along mode_0"
        np.save(tmp_path / "a.npy", [[0, 1], [2, 3]])
        shown = facts(said(capsys, "info", tmp_path / "a.npy").out)
        assert shown["missing"] == "nothing"
        assert "--missing zero" in shown["zeros"]
        shown = facts(said(capsys, "info", tmp_path / "a.npy", "--missing", "zero").out)
        assert shown["zeros"] == "none"

    def test_json(self, files, capsys):
        record = json.loads(said(capsys, "info", files / "a.csv", "--json").out)
        assert record["shape"] == list(SHAPE)
        assert record["labels"][0] == ["S0", "S9"]
        record = json.loads(said(capsys, "info", files / "model.npz", "--json").out)
        assert (record["method"], record["loss"], record["penalty"]) == ("nort", "square", ["lsp"])
        assert record["settings"]["lam"] == record["lam"]
        assert record["bounds"] == [0.0, 500.0]

    def test_a_model(self, files, capsys):
        shown = facts(said(capsys, "info", files / "model.npz").out)
        assert "a model" in shown["file"]
        assert (shown["method"], shown["loss"]) == ("nort", "square")
        assert "penalty lsp" in shown["settings"]
        assert shown["bounds"] == "0 to 500"
        assert "station" in shown["ranks"]

    def test_no_file(self, capsys):
        assert said(capsys, "info", "/nowhere.npy", code=2).err.startswith("tensorfill: There is no file /nowhere.npy")


class TestConvert:
    def test_there_and_back(self, files, tmp_path, capsys):
        shown = facts(said(capsys, "convert", files / "a.nc", tmp_path / "b.parquet").out)
        assert shown["written"] == str(tmp_path / "b.parquet")
        said(capsys, "convert", tmp_path / "b.parquet", tmp_path / "c.npz", "--quiet")
        before, after = read(files / "a.nc"), read(tmp_path / "c.npz")
        assert after.labels.names == before.labels.names
        assert len(after.observations) == len(before.observations)
        assert after.observations.values.sum() == before.observations.values.sum()

    def test_triples_by_their_format(self, tmp_path, capsys):
        (tmp_path / "a.txt").write_text("Ann\tknows\tBob\n")
        said(capsys, "convert", tmp_path / "a.txt", tmp_path / "b.csv", "--format", "triples")
        assert "Ann,Bob,knows,1.0" in (tmp_path / "b.csv").read_text()
        said(
            capsys,
            "convert",
            tmp_path / "a.txt",
            tmp_path / "c.txt",
            "--format",
            "triples",
            "--output-format",
            "triples",
        )
        assert (tmp_path / "c.txt").read_text() == "Ann\tknows\tBob\n"

    def test_units_survive_where_nothing_is_missing(self, tmp_path, capsys):
        import xarray

        array = xarray.DataArray(np.ones((2, 3)), dims=("a", "b"), attrs={"units": "mm"}, name="rain")
        array.to_netcdf(tmp_path / "a.nc")
        said(capsys, "convert", tmp_path / "a.nc", tmp_path / "b.nc")
        with xarray.open_dataset(tmp_path / "b.nc") as again:
            assert again["rain"].attrs["units"] == "mm"


class TestPlot:
    @pytest.fixture(autouse=True)
    def _needs_matplotlib(self):
        pytest.importorskip("matplotlib")

    def drawn(self, capsys, path, *arguments):
        shown = facts(said(capsys, "plot", *arguments, "-o", path).out)
        assert shown["written"] == str(path)
        assert path.read_bytes().startswith(b"\x89PNG")
        return shown["drawn"]

    def test_a_model(self, files, tmp_path, capsys):
        assert "trials" in self.drawn(capsys, tmp_path / "a.png", files / "model.npz")
        assert "iterations" in self.drawn(capsys, tmp_path / "a.png", files / "model.npz", "--convergence")

    def test_data(self, files, tmp_path, capsys):
        assert "1 slice, station down" in self.drawn(capsys, tmp_path / "a.png", files / "a.nc")
        np.save(tmp_path / "b.npy", np.random.default_rng(0).random((5, 900, 7)))
        assert "4 slices, mode_1 down and mode_2 across" in self.drawn(capsys, tmp_path / "a.png", tmp_path / "b.npy")
        write(tmp_path / "c.png", np.full((6, 5, 3), 99.0))
        assert self.drawn(capsys, tmp_path / "a.png", tmp_path / "c.png") == "the picture"
        coords = np.random.default_rng(0).choice(10**6, size=(500, 4))
        write(tmp_path / "d.npz", Observations(coords, np.arange(500.0), (10**6,) * 4))
        assert "1 slice" in self.drawn(capsys, tmp_path / "a.png", tmp_path / "d.npz")

    def test_slices_of_unequal_density_share_a_grid(self, tmp_path, capsys):
        array = np.random.default_rng(0).random((30, 40, 3))
        array[:, 1:, 1] = np.nan
        np.save(tmp_path / "b.npy", array)
        assert "3 slices" in self.drawn(capsys, tmp_path / "a.png", tmp_path / "b.npy")

    def test_bad_input(self, files, tmp_path, capsys):
        err = said(capsys, "plot", files / "a.nc", "-o", tmp_path / "a.png", "--convergence", code=2).err
        assert "--convergence is for models" in err


def test_a_table_that_can_be_read_in_two_ways_is_asked_about_with_options(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = [f"{rng.random():.4f},{rng.random():.4f},f{n % 5},{1935 + n // 5}" for n in range(40)]
    path = tmp_path / "panel.csv"
    path.write_text("invest,value,firm,year\n" + "\n".join(rows) + "\n")
    asked = " ".join(said(capsys, "info", path, code=2).err.split())
    for words in ("--layout wide if", "--layout long if", "with --value and"):
        assert words in asked
    assert facts(said(capsys, "info", path, "--value", "invest", "--layout", "long").out)["shape"] == "40 x 5 x 8"
