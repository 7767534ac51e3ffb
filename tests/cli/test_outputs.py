"""Outputs of the command: what cannot be written is refused before any work, and no answer is lost."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import tensorfill.io.formats
from tensorfill import Fit, load
from tensorfill.io import read, write
from tensorfill.labels import Labelled, Labels
from tensorfill.observations import Observations

from .examples import said, tables_of_products

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("netCDF4")
pytest.importorskip("PIL")

COMMANDS = {
    "complete": ["complete", "IN", "-o", "OUT.npz"],
    "the model of complete": ["complete", "IN", "--model", "OUT.npz"],
    "the mask of complete": ["complete", "other.npz", "--mask", "IN", "-o", "OUT.npz"],
    "convert": ["convert", "IN", "OUT.npz"],
    "compare": ["compare", "IN", "--plot", "OUT.npz"],
    "update": ["update", "IN", "new.csv", "-o", "OUT.npz"],
    "the data of update": ["update", "model.npz", "IN", "-o", "OUT.npz"],
    "predict": ["predict", "IN", "q.csv", "-o", "OUT.npz"],
    "the questions of predict": ["predict", "model.npz", "IN", "-o", "OUT.npz"],
    "forecast": ["forecast", "IN", "--horizon", "3", "-o", "OUT.npz"],
    "plot": ["plot", "IN", "-o", "OUT.npz"],
    "report": ["report", "IN", "-o", "OUT.npz"],
}


@pytest.fixture
def no_reading(monkeypatch):
    """Fail if a file is read although the command should have been refused before."""

    def refuse(*arguments, **options):
        pytest.fail("a file was read")

    monkeypatch.setattr(tensorfill.io.formats, "read", refuse)
    monkeypatch.setattr("tensorfill.fit.load", refuse)


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.npz"
    write(path, tables_of_products()[0].observations)
    return path


@pytest.mark.usefixtures("no_reading", "no_work")
class TestSameFile:
    @pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
    @pytest.mark.parametrize("how", ["itself", "another way to say it", "a link", "a second name"])
    def test_an_output_that_is_an_input_is_refused(self, arguments, how, data, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        out = tmp_path / "OUT.npz"
        if how == "itself":
            out = data
        elif how == "another way to say it":
            out = Path("data.npz")
        elif how == "a link":
            out.symlink_to(data)
        else:
            os.link(data, out)
        before = data.read_bytes()
        given = [{"IN": data, "OUT.npz": out}.get(each, each) for each in arguments]
        err = said(capsys, *given, code=2).err
        assert "must not be a file that is read" in err
        assert err.count("\n") == 1
        assert data.read_bytes() == before

    def test_two_outputs_of_one_name_are_refused(self, data, tmp_path, capsys):
        (tmp_path / "link.npz").symlink_to(tmp_path / "b.npz")
        for name in ("b.npz", "link.npz", "../" + tmp_path.name + "/b.npz"):
            err = said(capsys, "complete", data, "-o", tmp_path / "b.npz", "--model", tmp_path / name, code=2).err
            assert "--output and --model must be different files" in err

    @pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
    def test_a_read_only_disk_is_noticed(self, arguments, data, tmp_path, monkeypatch, capsys):
        def refuse(**options):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

        monkeypatch.setattr(tempfile, "mkdtemp", refuse)
        given = [{"IN": data, "OUT.npz": tmp_path / "b.npz"}.get(each, each) for each in arguments]
        err = said(capsys, *given, code=2).err
        assert (
            err == f"tensorfill: {tmp_path / 'b.npz'} cannot be written: Read-only file system; choose another path.\n"
        )


@pytest.mark.usefixtures("no_work")
class TestBeforeTheFit:
    @pytest.mark.parametrize(("name", "sentence"), [("b.gif", "a movie must have shape"), ("b.mp4", "a movie must")])
    def test_a_format_that_cannot_hold_the_answer(self, name, sentence, data, tmp_path, capsys):
        pytest.importorskip("av")
        assert said(capsys, "complete", data, "-o", tmp_path / name, code=2).err.startswith(f"tensorfill: {sentence}")

    def test_16_bits_do_not_fit_into_a_jpeg(self, tmp_path, capsys):
        write(tmp_path / "a.png", np.arange(60000, 60100, dtype=np.uint16).reshape(10, 10))
        err = said(capsys, "complete", tmp_path / "a.png", "-o", tmp_path / "b.jpg", code=2).err
        assert "16 bits are for grey .png and .tif pictures only" in err

    def test_a_column_that_would_have_the_name_of_a_mode(self, tmp_path, capsys):
        labels = Labels(("value_low", "x"), (None, None))
        write(tmp_path / "a.npz", Labelled(Observations.from_dense(np.ones((20, 20))), labels))
        given = ["complete", tmp_path / "a.npz", "-o", tmp_path / "b.csv", "--interval", "0.8"]
        assert "'value_low' is one of" in said(capsys, *given, code=2).err

    @pytest.mark.parametrize(("options", "count"), [([], 40), (["--splits", "2"], 16), (["--validation", "0.2"], 74)])
    def test_an_interval_that_needs_more_held_out_entries(self, options, count, data, tmp_path, capsys):
        given = ["complete", data, "--model", tmp_path / "m.npz", "--holdout", "entry", *options, "--interval", "0.99"]
        err = said(capsys, *given, code=2).err
        most = 1000 * count // (count + 1) / 1000
        assert f"--interval must be at most {most:.3f} with {count} held-out entries" in err

    def test_what_the_output_needs_is_not_installed(self, data, tmp_path, monkeypatch, capsys):
        monkeypatch.setitem(sys.modules, "netCDF4", None)
        for command in (["complete", data, "-o"], ["convert", data]):
            assert "pip install pandas pyarrow xarray netcdf4." in said(capsys, *command, tmp_path / "b.nc", code=1).err


@pytest.mark.usefixtures("quick")
class TestNothingIsLost:
    def test_intervals_that_fail_do_not_cost_the_answer(self, data, tmp_path, monkeypatch, capsys):
        def refuse(fit, share):
            raise ValueError("interval must be at most 0.5 with 9 held-out entries, worth 1.")

        monkeypatch.setattr(Fit, "half_width", refuse)
        given = ["complete", data, "-o", tmp_path / "b.csv", "--model", tmp_path / "m.npz", "--interval", "0.8"]
        assert "The answer was written without intervals: interval must" in said(capsys, *given, code=2).err
        assert read(tmp_path / "b.csv").observations.density == 1
        load(tmp_path / "m.npz")

    def test_a_model_that_cannot_be_written_does_not_cost_the_filled_file(self, data, tmp_path, monkeypatch, capsys):
        rescued, save = [], Fit.save

        def full(fit, path, **options):
            if Path(path) == tmp_path / "m.npz":
                raise OSError("the disk is full.")
            rescued.append(path)
            save(fit, path, **options)

        monkeypatch.setattr(Fit, "save", full)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        given = ["complete", data, "-o", tmp_path / "b.npy", "--model", tmp_path / "m.npz"]
        err = said(capsys, *given, code=2).err
        assert np.isfinite(np.load(tmp_path / "b.npy")).all()
        assert err.splitlines() == [
            f"tensorfill: The fit is not lost: its model was written to {rescued[0]}.",
            "tensorfill: the disk is full.",
        ]
        assert load(rescued[0]).shape == (12, 10)

    def test_a_rescue_that_fails_leaves_nothing_behind(self, data, tmp_path, monkeypatch, capsys):
        def full(fit, path, **options):
            raise OSError("the disk is full.")

        (tmp_path / "temporary").mkdir()
        monkeypatch.setattr(Fit, "save", full)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
        err = said(capsys, "complete", data, "--model", tmp_path / "m.npz", code=2).err
        assert err.splitlines() == ["tensorfill: the disk is full."]
        assert not list((tmp_path / "temporary").iterdir())

    @pytest.mark.parametrize("command", ["report", "update"])
    def test_a_page_or_an_update_that_cannot_be_written_does_not_cost_the_fit(
        self, command, data, tmp_path, monkeypatch, capsys
    ):
        pytest.importorskip("jinja2")
        said(capsys, "complete", data, "--model", tmp_path / "m.npz", "--with-data")
        rescued, save = [], Fit.save

        def full(fit, path, **options):
            if Path(path).parent == tmp_path:
                raise OSError("the disk is full.")
            rescued.append(path)
            save(fit, path, **options)

        monkeypatch.setattr(Fit, "save", full)
        monkeypatch.setattr(Fit, "report", full)
        given = ["report", data, "-o", tmp_path / "a.html"]
        if command == "update":
            given = ["update", tmp_path / "m.npz", data, "-o", tmp_path / "n.npz"]
        assert "the disk is full." in said(capsys, *given, code=2).err
        assert load(rescued[0]).shape == (12, 10)

    def test_a_drawing_that_cannot_be_written_does_not_cost_a_comparison(self, data, tmp_path, monkeypatch, capsys):
        pytest.importorskip("matplotlib")

        def full(comparison, **options):
            raise OSError("the disk is full.")

        monkeypatch.setattr("tensorfill.comparison.Comparison.plot", full)
        options = ["--methods", "cp", "--time-limit", "1", "--plot", tmp_path / "a.png"]
        out = said(capsys, "compare", data, *options, code=2)
        assert "cp" in out.out
        assert "the disk is full." in out.err


class TestSafeTables:
    @pytest.fixture
    def hostile(self, tmp_path):
        labels = Labels(("who", "day"), (np.array(["=1+1", *(f"S{n}" for n in range(11))]), None))
        write(tmp_path / "a.npz", Labelled(tables_of_products()[0].observations, labels))
        return tmp_path / "a.npz"

    @pytest.mark.usefixtures("quick")
    @pytest.mark.parametrize("options", [[], ["--everywhere"]])
    def test_complete(self, options, hostile, tmp_path, capsys):
        said(capsys, "complete", hostile, "-o", tmp_path / "b.csv", "--safe-csv", *options)
        assert (tmp_path / "b.csv").read_text().splitlines()[1].startswith("'=1+1,0,")

    def test_convert(self, hostile, tmp_path, capsys):
        said(capsys, "convert", hostile, tmp_path / "b.tsv")
        assert "\n=1+1\t" in (tmp_path / "b.tsv").read_text()
        said(capsys, "convert", hostile, tmp_path / "b.tsv", "--safe-csv")
        assert "\n'=1+1\t" in (tmp_path / "b.tsv").read_text()

    @pytest.mark.usefixtures("quick")
    def test_predict(self, hostile, tmp_path, capsys):
        said(capsys, "complete", hostile, "--model", tmp_path / "m.npz")
        (tmp_path / "q.csv").write_text("who,day\n=1+1,3\n")
        asked = ["predict", tmp_path / "m.npz", tmp_path / "q.csv", "--safe-csv"]
        assert "\n'=1+1,3," in said(capsys, *asked).out
        said(capsys, *asked, "-o", tmp_path / "b.csv")
        assert "\n'=1+1,3," in (tmp_path / "b.csv").read_text()

    @pytest.mark.usefixtures("no_work")
    def test_only_tables_of_text(self, hostile, tmp_path, capsys):
        err = said(capsys, "complete", hostile, "-o", tmp_path / "b.nc", "--safe-csv", code=2).err
        assert err.startswith("tensorfill: --safe-csv is for an output that ends in .csv or .tsv")
