"""``tensorfill predict`` and ``tensorfill evaluate``."""

from __future__ import annotations

import dataclasses
import io
import json
import re
import subprocess
import sys

import numpy as np
import pytest

from tensorfill import load
from tensorfill.io import read
from tensorfill.labels import Labels

from .examples import facts, said

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("netCDF4")


class TestPredict:
    def answer(self, capsys, *arguments):
        return pandas.read_csv(io.StringIO(said(capsys, "predict", *arguments).out))

    def test_by_label(self, files, tmp_path, capsys):
        (tmp_path / "q.csv").write_text("month,station,note\n2024-04-01,S2,x\n2024-10-01,S11,y\n")
        table = self.answer(capsys, files / "model.npz", tmp_path / "q.csv", "--interval", "0.8")
        assert table.columns.tolist() == ["station", "month", "value", "value_low", "value_high"]
        np.testing.assert_allclose(table["value"], [12, 120], rtol=0.1)
        assert (table["value_low"] <= table["value"]).all()
        assert table["station"].tolist() == ["S2", "S11"]

    @pytest.mark.filterwarnings("always")
    def test_unknown_labels_get_no_answer_on_request(self, files, tmp_path, capsys):
        (tmp_path / "q.csv").write_text("month,station\n2024-04-01,S2\n2024-10-01,S99\n")
        assert "no label 'S99'" in said(capsys, "predict", files / "model.npz", tmp_path / "q.csv", code=2).err
        shown = said(capsys, "predict", files / "model.npz", tmp_path / "q.csv", "--unknown", "nan")
        assert pandas.read_csv(io.StringIO(shown.out))["value"].isna().tolist() == [False, True]
        assert "1 of 2 rows have a label that the fit does not know" in " ".join(shown.err.split())

    def test_labels_keep_the_zeros_before_them(self, files, tmp_path, capsys):
        fit = load(files / "model.npz")
        keys = np.array([f"{place:05}" for place in range(fit.shape[0])])
        labels = Labels(fit.labels.names, (keys, *fit.labels.keys[1:]))
        dataclasses.replace(fit, labels=labels, restore=None).save(tmp_path / "m.npz")
        (tmp_path / "q.csv").write_text("station,month\n00002,2024-04-01\n")
        np.testing.assert_allclose(self.answer(capsys, tmp_path / "m.npz", tmp_path / "q.csv")["value"], [12], rtol=0.1)

    @pytest.mark.parametrize("name", ["q.npy", "q.parquet", "q.csv"])
    def test_damaged_questions_get_a_sentence(self, name, files, tmp_path, capsys):
        (tmp_path / name).write_bytes(b"\x93NUMPY\xff\xfe" * 9)
        assert f"{name} cannot be read" in said(capsys, "predict", files / "model.npz", tmp_path / name, code=2).err

    def test_from_standard_input(self, files, monkeypatch, capsys):
        monkeypatch.setattr("sys.stdin", io.StringIO("station,month\nS2,2024-04-01\n"))
        np.testing.assert_allclose(self.answer(capsys, files / "model.npz", "-")["value"], [12], rtol=0.1)

    @pytest.mark.parametrize(
        ("name", "text", "options"),
        [
            ("q.tns", "3 4 99\n12 10 99\n", []),
            ("q.txt", "# two\n3 4\n12 10\n", []),
            ("q.txt", "2 3\n0 0\n11 9\n", []),
            ("q.csv", "2,3\n11,9\n", ["--base", "0"]),
        ],
    )
    def test_by_number(self, name, text, options, files, tmp_path, capsys):
        (tmp_path / name).write_text(text)
        table = self.answer(capsys, files / "model.npz", tmp_path / name, *options)
        np.testing.assert_allclose(table["value"].iloc[[0, -1]], [12, 120], rtol=0.1)
        assert table["station"].iloc[0] == "S2"

    @pytest.mark.filterwarnings("default")
    def test_indices_without_labels_count_from_0_in_the_answer(self, files, tmp_path, capsys):
        fit = load(files / "model.npz")
        dataclasses.replace(fit, labels=Labels.plain(2), restore=None).save(tmp_path / "m.npz")
        (tmp_path / "q.tns").write_text("3 4\n")
        out = said(capsys, "predict", tmp_path / "m.npz", tmp_path / "q.tns")
        assert out.out.splitlines()[1].startswith("2,3,")
        assert re.match("tensorfill: Warning: .* count from 1; in the answer they count from 0.", out.err)

    @pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
    def test_into_a_file(self, ending, files, tmp_path, capsys):
        np.save(tmp_path / "q.npy", [[2, 3]])
        out = said(capsys, "predict", files / "model.npz", tmp_path / "q.npy", "-o", tmp_path / f"p.{ending}")
        assert out.out == ""
        assert "1 predictions written" in out.err
        assert read(tmp_path / f"p.{ending}").observations.values[0] == pytest.approx(12, rel=0.1)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("station,day\nS2,1\n", "no 'month'"),
            ("station,month\nS99,2024-04-01\n", "'S99'"),
            ("1 2 3 4\n", "2 indices"),
            ("1 2\n1 x\n", "'1 x'"),
            ("1 11\n", "within (12, 10)"),
            ("1.5 2\n", "whole numbers"),
            ("# none\n", "has none"),
        ],
    )
    def test_bad_input(self, text, words, files, tmp_path, capsys):
        (tmp_path / "q.csv").write_text(text)
        err = said(capsys, "predict", files / "model.npz", tmp_path / "q.csv", code=2).err
        assert words in err
        assert len(err.splitlines()) == 1

    def test_no_model(self, files, tmp_path, capsys):
        err = said(capsys, "predict", files / "a.npz", files / "a.csv", code=2).err
        assert "a.npz is not a file that Fit.save wrote" in err


class TestEvaluate:
    @pytest.mark.usefixtures("quick")
    def test_data(self, files, capsys):
        record = json.loads(said(capsys, "evaluate", files / "a.csv", "--test-share", "0.2", "--json").out)
        assert record["test_by"] == "single entries"
        assert record["test_entries"] == round(0.2 * (record["observed"] + record["test_entries"]))
        assert 0 < record["rmse"] < record["mean_rmse"]
        assert 0 < record["relative_error"] < 1
        assert record["coverage"] is None

    def test_a_model_against_entries_it_has_not_seen(self, files, tmp_path, capsys):
        (tmp_path / "t.csv").write_text("month,station,value\n2024-04-01,S2,12\n2024-10-01,S11,120\n")
        shown = facts(
            said(capsys, "evaluate", files / "model.npz", "--test", tmp_path / "t.csv", "--interval", "0.8").out
        )
        assert float(shown["RMSE"]) < 5
        assert "2 entries" in shown["test"]
        assert "of the test entries within 80% intervals" in shown["coverage"]
        err = said(capsys, "evaluate", files / "model.npz", "--test", files / "truth.npy", code=0).err
        assert err == ""

    @pytest.mark.usefixtures("quick")
    def test_the_way_in_which_test_entries_are_held_out(self, files, capsys):
        options = ["--holdout", "2,2", "--json"]
        record = json.loads(said(capsys, "evaluate", files / "a.csv", *options).out)
        assert record["test_by"] == "blocks of size (2, 2)"

    @pytest.mark.usefixtures("quick")
    @pytest.mark.parametrize("low", [0.0, -1.0])
    def test_errors_are_on_the_scale_of_the_data(self, low, tmp_path, capsys):
        likes = np.outer(np.repeat([1.0, -1.0], 6), np.tile([1.0, -1.0], 6))
        np.save(tmp_path / "a.npy", np.where(likes < 0, low, likes))
        options = ["--loss", "logistic", "--test-share", "0.3", "--json"]
        record = json.loads(said(capsys, "evaluate", tmp_path / "a.npy", *options).out)
        # Every entry is predicted on its own side of the middle.
        assert 0 < record["mae"] < (1 - low) / 2

    @pytest.mark.usefixtures("no_work")
    def test_bad_input(self, files, tmp_path, capsys):
        assert "--test FILE" in said(capsys, "evaluate", files / "model.npz", code=2).err
        assert "is data" in said(capsys, "evaluate", files / "a.csv", "--test", files / "a.csv", code=2).err
        assert "--test-share" in said(capsys, "evaluate", files / "a.csv", "--test-share", "1", code=2).err
        np.save(tmp_path / "t.npy", np.ones((2, 2, 2)))
        assert "2 modes" in said(capsys, "evaluate", files / "model.npz", "--test", tmp_path / "t.npy", code=2).err
        np.save(tmp_path / "t.npy", np.ones((20, 2)))
        assert "(12, 10)" in said(capsys, "evaluate", files / "model.npz", "--test", tmp_path / "t.npy", code=2).err


@pytest.mark.slow
def test_a_reader_that_has_had_enough_is_no_error(files, tmp_path):
    (tmp_path / "q.txt").write_text("3 4\n" * 20_000)
    command = [sys.executable, "-m", "tensorfill.cli", "predict", str(files / "model.npz"), str(tmp_path / "q.txt")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "station,month,value\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0
