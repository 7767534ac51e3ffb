"""The subcommands that work on files."""

from __future__ import annotations

import dataclasses
import io
import json
import re
import subprocess
import sys

import numpy as np
import pytest

import tensorfill.completion
from tensorfill import load
from tensorfill.cli import main
from tensorfill.cli.main import COMMANDS
from tensorfill.io import read, write
from tensorfill.labels import Labelled, Labels
from tensorfill.observations import Observations

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("netCDF4")
pytest.importorskip("PIL")

SHAPE = (12, 10)


def tables_of_products():
    """Return a table of rank 1 with holes and labels, and the whole of it."""
    truth = np.outer(np.arange(1.0, 13.0), np.arange(1.0, 11.0))
    seen = np.random.default_rng(0).random(SHAPE) < 0.7
    labels = Labels(
        ("station", "month"), (np.array([f"S{n}" for n in range(12)]), np.datetime64("2024-01", "M") + np.arange(10))
    )
    days = Labels(labels.names, (labels.keys[0], labels.keys[1].astype("datetime64[ns]")))
    return Labelled(Observations.from_dense(truth, seen), days), truth


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Give a folder with data in several formats, and what one run of the command made of it."""
    folder = tmp_path_factory.mktemp("files")
    data, truth = tables_of_products()
    write(folder / "a.nc", data)
    write(folder / "a.csv", data)
    write(folder / "a.npz", data.observations)
    np.save(folder / "truth.npy", truth)
    options = ["--no-smooth", "--bounds", "0", "500", "--quiet"]
    arguments = ["complete", "a.nc", "-o", "filled.nc", "--model", "model.npz", *options]
    assert main([each if "." not in each else str(folder / each) for each in arguments]) == 0
    return folder


@pytest.fixture
def no_work(monkeypatch):
    def refuse(*arguments, **options):
        pytest.fail("the work was begun")

    monkeypatch.setattr(tensorfill.completion, "complete", refuse)


@pytest.fixture
def quick(monkeypatch):
    """Replace the search by one fit."""
    whole = tensorfill.completion.complete

    def once(data, **options):
        return whole(data, **{**options, "lam": 1.0, "smooth": None, "refine": None, "progress": False})

    monkeypatch.setattr(tensorfill.completion, "complete", once)


def said(capsys, *arguments, code=0):
    assert main([str(each) for each in arguments]) == code
    return capsys.readouterr()


def facts(text):
    return dict(re.split(r"\s{2,}", line, maxsplit=1) for line in text.splitlines())


class TestComplete:
    def test_holes_are_filled_and_all_else_stays(self, files):
        data, truth = tables_of_products()
        filled = read(files / "filled.nc")
        assert filled.labels.names == ("station", "month")
        assert filled.labels.keys[0].tolist() == data.labels.keys[0].tolist()
        array = filled.observations.to_dense()
        np.testing.assert_array_equal(array[data.observations.mask], truth[data.observations.mask])
        np.testing.assert_allclose(array, truth, rtol=0.1)
        assert load(files / "model.npz").bounds == (0.0, 500.0)

    @pytest.mark.usefixtures("quick")
    @pytest.mark.parametrize("name", ["b.csv", "b.npz", "b.npy", "b.tns", "b.mat", "b.parquet", "b.png"])
    @pytest.mark.filterwarnings("ignore:.* holds no labels")
    def test_the_ending_of_the_output_says_its_format(self, name, files, tmp_path, capsys):
        said(capsys, "complete", files / "a.csv", "-o", tmp_path / name)
        again = read(tmp_path / name).observations
        assert again.shape == SHAPE
        assert again.density == 1

    @pytest.mark.usefixtures("quick")
    def test_one_json_object_and_nothing_else(self, files, tmp_path, capsys):
        out = said(capsys, "complete", files / "a.npz", "-o", tmp_path / "b.npy", "--json")
        record = json.loads(out.out)
        assert record["shape"] == list(SHAPE)
        assert record["output"] == str(tmp_path / "b.npy")
        assert record["held_out_error"] is None
        assert out.err == ""

    def test_the_answer_in_words(self, files, tmp_path, capsys):
        out = said(
            capsys, "complete", files / "a.npz", "--model", tmp_path / "m.npz", "--interval", "0.8", "--no-smooth"
        )
        told = facts(out.out)
        assert told["data"].startswith("12 x 10, ")
        assert re.match(r"lambda \S+, theta \S+, of \d+ tried", told["chosen"])
        assert re.match(r"mode_0 \d+", told["ranks"])
        assert told["held out"].startswith("single entries, error there")
        assert re.match(r"80% of such entries within ±\d", told["interval"])
        assert "m.npz (model)" in told["written"]
        # No terminal: plain lines, one for each stage, that say what a bar would.
        assert re.search(r"^choosing lambda: \d+ tried, held-out error \S+, best \S+ \(\d+\.\d s\)$", out.err, re.M)
        assert re.search(r"^fitting all entries: iteration \d+, objective \S+, ranks \(", out.err, re.M)

    @pytest.mark.usefixtures("quick")
    def test_a_picture_with_a_mask(self, tmp_path, capsys):
        write(tmp_path / "a.png", np.full((6, 5, 3), 99.0))
        write(tmp_path / "mask.png", np.where(np.eye(6, 5), 0.0, 255.0))
        said(
            capsys, "complete", tmp_path / "a.png", "--mask", tmp_path / "mask.png", "-o", tmp_path / "b.png", "--quiet"
        )
        assert read(tmp_path / "b.png").observations.shape == (6, 5, 3)
        assert capsys.readouterr().out == ""

    @pytest.mark.usefixtures("quick")
    def test_counts_are_filled_as_counts(self, tmp_path, capsys):
        counts = np.full((6, 5), 3.0)
        counts[2, 2] = np.nan
        np.save(tmp_path / "a.npy", counts)
        said(capsys, "complete", tmp_path / "a.npy", "-o", tmp_path / "b.npy", "--loss", "poisson")
        # The score would be log 3.
        assert 1.5 < np.load(tmp_path / "b.npy")[2, 2] < 4

    def test_an_interrupt_keeps_the_best_so_far(self, files, tmp_path, monkeypatch, capsys):
        from tensorfill._support.progress import Display

        def interrupt(self, record):
            raise KeyboardInterrupt

        monkeypatch.setattr(Display, "iteration", interrupt)
        out = said(capsys, "complete", files / "a.npz", "-o", tmp_path / "b.npy", "--no-smooth", code=130)
        assert np.isfinite(np.load(tmp_path / "b.npy")).all()
        assert "Interrupted; what was written is the best answer so far." in out.err

    def test_an_interrupt_before_there_is_an_answer_writes_nothing(self, files, tmp_path, monkeypatch, capsys):
        def interrupted(*arguments, **options):
            raise KeyboardInterrupt

        monkeypatch.setattr(tensorfill.completion, "complete", interrupted)
        out = said(capsys, "complete", files / "a.npz", "-o", tmp_path / "b.npy", code=130)
        assert out.err == "tensorfill: Interrupted; nothing was written.\n"
        assert not list(tmp_path.iterdir())

    @pytest.mark.usefixtures("no_work")
    def test_what_is_too_large_to_write_goes_into_a_model(self, tmp_path, capsys):
        write(tmp_path / "a.tns", Observations([[0, 0, 0]], [1.0], (10**5, 10**5, 100)))
        err = said(capsys, "complete", tmp_path / "a.tns", "-o", tmp_path / "b.npy", code=2).err
        assert "1,000,000,000,000 entries" in err
        assert "--model FILE" in err
        assert "tensorfill predict" in err

    @pytest.mark.usefixtures("no_work")
    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ([], "there is nothing to write; give -o OUT"),
            (["-o", "/nowhere/a.npy"], "--output must be a file in a folder that exists"),
            (["-o", "a.xyz"], "the ending of 'a.xyz' says no format"),
            (["-o", "a.npy", "--value", "x"], "to read npz there is no option 'value'"),
            (["-o", "a.npy", "--interval", "2"], "--interval must be a number above 0 and below 1, but 2.0 was given."),
            (["-o", "a.npy", "--interval", "0.9", "--lam", "1"], "--interval rests on held-out entries"),
            (["-o", "a.npy", "--lam", "-1"], "argument --lam: numbers must be at least 0, but '-1' was given"),
            (["-o", "a.npy", "--refine", "--lam", "1"], "--refine needs held-out entries"),
            (["-o", "a.npy", "--time-limit", "0"], "--time-limit must be a number above 0, but 0.0 was given."),
            (["-o", "a.npy", "--loss", "cube"], "argument --loss: invalid choice: 'cube'"),
            (
                ["-o", "a.npy", "--smooth", "0", "--no-smooth"],
                "argument --no-smooth: not allowed with argument --smooth",
            ),
        ],
    )
    def test_bad_input_is_refused_before_the_work(self, options, sentence, files, capsys):
        err = said(capsys, "complete", files / "a.npz", *options, code=2).err
        assert len(err.splitlines()) == 1
        assert err.startswith(f"tensorfill: {sentence}")

    @pytest.mark.usefixtures("no_work")
    def test_what_is_not_installed_is_named_with_code_1(self, tmp_path, monkeypatch, capsys):
        (tmp_path / "a.nc").write_bytes(b"x")
        monkeypatch.setitem(sys.modules, "xarray", None)
        err = said(capsys, "complete", tmp_path / "a.nc", "-o", tmp_path / "b.nc", code=1).err
        assert 'pip install "tensorfill[files]"' in err


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
        record = json.loads(said(capsys, "evaluate", files / "a.csv", "--holdout", "0.2", "--json").out)
        assert record["test_by"] == "single entries"
        assert record["test_entries"] == round(0.2 * (record["observed"] + record["test_entries"]))
        assert 0 < record["rmse"] < record["mean_rmse"]
        assert 0 < record["relative_error"] < 1
        assert record["coverage"] is None

    def test_a_model_against_entries_it_has_not_seen(self, files, tmp_path, capsys):
        (tmp_path / "t.csv").write_text("month,station,value\n2024-04-01,S2,12\n2024-10-01,S11,120\n")
        told = facts(
            said(capsys, "evaluate", files / "model.npz", "--test", tmp_path / "t.csv", "--interval", "0.8").out
        )
        assert float(told["RMSE"]) < 5
        assert "2 entries" in told["test"]
        assert "of the test entries within 80% intervals" in told["coverage"]
        err = said(capsys, "evaluate", files / "model.npz", "--test", files / "truth.npy", code=0).err
        assert err == ""

    @pytest.mark.usefixtures("no_work")
    def test_bad_input(self, files, tmp_path, capsys):
        assert "--test FILE" in said(capsys, "evaluate", files / "model.npz", code=2).err
        assert "is data" in said(capsys, "evaluate", files / "a.csv", "--test", files / "a.csv", code=2).err
        assert "--holdout" in said(capsys, "evaluate", files / "a.csv", "--holdout", "1", code=2).err
        np.save(tmp_path / "t.npy", np.ones((2, 2, 2)))
        assert "2 modes" in said(capsys, "evaluate", files / "model.npz", "--test", tmp_path / "t.npy", code=2).err
        np.save(tmp_path / "t.npy", np.ones((20, 2)))
        assert "(12, 10)" in said(capsys, "evaluate", files / "model.npz", "--test", tmp_path / "t.npy", code=2).err


class TestInfo:
    def test_data(self, files, capsys):
        told = facts(said(capsys, "info", files / "a.nc").out)
        assert told["shape"] == "12 x 10"
        assert told["modes"] == "station (S0 to S11), month (2024-01-01 to 2024-10-01)"
        assert "go missing as single entries" in told["missing"]
        assert told["zeros"] == "none"

    def test_zeros_and_repeats_are_counted(self, tmp_path, capsys):
        (tmp_path / "a.tns").write_text("1 1 0\n1 1 4\n3 2 5\n")
        told = facts(said(capsys, "info", tmp_path / "a.tns").out)
        assert told["repeated"].startswith("1 entries")
        assert told["empty"] == "slices without any entry: 1 of 3 along mode_0"
        np.save(tmp_path / "a.npy", [[0, 1], [2, 3]])
        told = facts(said(capsys, "info", tmp_path / "a.npy").out)
        assert told["missing"] == "nothing"
        assert "--missing zero" in told["zeros"]
        told = facts(said(capsys, "info", tmp_path / "a.npy", "--missing", "zero").out)
        assert told["zeros"] == "none"

    def test_json(self, files, capsys):
        record = json.loads(said(capsys, "info", files / "a.csv", "--json").out)
        assert record["shape"] == list(SHAPE)
        assert record["labels"][0] == ["S0", "S9"]
        record = json.loads(said(capsys, "info", files / "model.npz", "--json").out)
        assert record["settings"]["loss"] == "square"

    def test_a_model(self, files, capsys):
        told = facts(said(capsys, "info", files / "model.npz").out)
        assert "a model" in told["file"]
        assert told["method"] == "nort, loss square, penalty lsp"
        assert told["bounds"] == "0 to 500"
        assert "station" in told["ranks"]

    def test_no_file(self, capsys):
        assert said(capsys, "info", "/nowhere.npy", code=2).err.startswith("tensorfill: There is no file /nowhere.npy")


class TestConvert:
    def test_there_and_back(self, files, tmp_path, capsys):
        told = facts(said(capsys, "convert", files / "a.nc", tmp_path / "b.parquet").out)
        assert told["written"] == str(tmp_path / "b.parquet")
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
        told = facts(said(capsys, "plot", *arguments, "-o", path).out)
        assert told["written"] == str(path)
        assert path.read_bytes().startswith(b"\x89PNG")
        return told["drawn"]

    def test_a_model(self, files, tmp_path, capsys):
        assert "that were tried" in self.drawn(capsys, tmp_path / "a.png", files / "model.npz")
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


@pytest.mark.parametrize("name", COMMANDS)
def test_help_reads_well_at_80_columns(name, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([name, "--help"])
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert f"examples:\n  tensorfill {name}" in text or "| tensorfill" in text


def test_the_options_name_what_the_library_has():
    from tensorfill.choosing.corrupt import is_robust
    from tensorfill.cli import options
    from tensorfill.losses import LOSSES
    from tensorfill.penalties import PENALTIES

    assert set(options.PENALTIES) == set(PENALTIES)
    assert all(name in LOSSES or is_robust(name) for name in options.LOSSES)
    assert set(LOSSES) <= set(options.LOSSES)


def test_a_reader_that_has_had_enough_is_no_error(files, tmp_path):
    (tmp_path / "q.txt").write_text("3 4\n" * 20_000)
    command = [sys.executable, "-m", "tensorfill.cli", "predict", str(files / "model.npz"), str(tmp_path / "q.txt")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "station,month,value\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_a_live_display_on_a_terminal(monkeypatch):
    from rich.console import Console

    import tensorfill._support.progress
    from tensorfill.methods.base import Record

    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr(tensorfill._support.progress, "Console", lambda **options: console)
    with tensorfill._support.progress.Display(True) as display:
        display.begin("choosing lambda", None)
        display.tried(3, 0.25)
        display.begin("fitting all entries", 500)
        display.iteration(Record(7, 0.1, 12.5, 12.0, (3, 2)))
    text = screen.getvalue()
    assert "fitting all entries" in text
    assert "iteration 7 of at most 500" in text
    assert "objective 12.5, ranks (3, 2), best held-out error 0.25" in text
