"""``tensorfill complete``."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest

import tensorfill.completion
from tensorfill import Choice, Grow, TuckerAls, load
from tensorfill.choosing.holdout.kinds import Holdout
from tensorfill.choosing.search.grow import GrowSearch
from tensorfill.io import read, write
from tensorfill.observations import Observations

from .examples import SHAPE, facts, said, tables_of_products

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("netCDF4")
pytest.importorskip("PIL")


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
        assert (record["method"], record["penalty"], record["loss"]) == ("nort", ["lsp"], "square")
        assert record["settings"]["max_iter"] == 500
        assert out.err == ""

    def test_merged_modes(self, tmp_path, capsys):
        rng = np.random.default_rng(0)
        whole = np.outer(rng.standard_normal(12), rng.standard_normal(30)).reshape(12, 5, 6)
        np.save(tmp_path / "a.npy", np.where(rng.random(whole.shape) < 0.6, whole, np.nan))
        options = ["--merge", "1,2", "--method", "grow", "--json"]
        out = said(capsys, "complete", tmp_path / "a.npy", "-o", tmp_path / "b.npy", *options)
        assert json.loads(out.out)["around"]["merge"] == "the modes 1 and 2 were treated as one"
        np.testing.assert_allclose(np.load(tmp_path / "b.npy"), whole, atol=1e-4)

    def test_a_folded_mode(self, tmp_path, capsys):
        rng = np.random.default_rng(0)
        whole = np.outer(rng.standard_normal(12), rng.standard_normal(30))
        np.save(tmp_path / "a.npy", np.where(rng.random(whole.shape) < 0.6, whole, np.nan))
        options = ["--fold", "1=7", "--method", "grow", "--json"]
        out = said(capsys, "complete", tmp_path / "a.npy", "-o", tmp_path / "b.npy", *options)
        assert json.loads(out.out)["around"]["fold"] == "the mode 1 was folded into rows of 7"
        assert np.load(tmp_path / "b.npy").shape == whole.shape

    def test_the_answer_in_words(self, files, tmp_path, capsys):
        options = ["--method", "nort", "--interval", "0.8", "--no-smooth"]
        out = said(capsys, "complete", files / "a.npz", "--model", tmp_path / "m.npz", *options)
        shown = facts(out.out)
        assert shown["data"].startswith("12 x 10, ")
        assert (shown["method"], shown["loss"]) == ("nort", "square")
        assert re.match(r"lambda \S+, penalty lsp, theta \S+, of \d+ tried", shown["settings"])
        assert re.match(r"mode 0: \d+", shown["ranks"])
        assert shown["held out"].startswith("single entries, error ")
        assert re.match(r"80% of such entries within ±\d", shown["interval"])
        assert "m.npz (model)" in shown["written"]
        # Without a terminal there is a plain line for each stage instead of a bar.
        assert re.search(
            r"^choosing settings of nort: \d+ tried, held-out error \S+, best \S+ \(\d+\.\d s\)$", out.err, re.M
        )
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

    @pytest.mark.usefixtures("quick")
    @pytest.mark.parametrize("low", [0.0, -1.0])
    def test_yes_and_no_are_filled_between_the_two(self, low, tmp_path, capsys):
        likes = np.outer(np.repeat([1.0, -1.0], 4), np.tile([1.0, -1.0], 4))
        likes[likes < 0] = low
        likes[1, 1] = np.nan
        np.save(tmp_path / "a.npy", likes)
        paths = [tmp_path / "a.npy", "-o", tmp_path / "b.npy"]
        said(capsys, "complete", *paths, "--loss", "logistic")
        filled = np.load(tmp_path / "b.npy")
        np.testing.assert_array_equal(filled[~np.isnan(likes)], likes[~np.isnan(likes)])
        assert low < filled[1, 1] < (low + 1) / 2
        said(capsys, "complete", *paths, "--loss", "logistic", "--everywhere")
        everywhere = np.load(tmp_path / "b.npy")
        assert everywhere[1, 1] == pytest.approx(filled[1, 1])
        assert ((low < everywhere) & (everywhere < 1)).all()

    @pytest.mark.usefixtures("quick")
    def test_everywhere_writes_the_model(self, files, tmp_path, capsys):
        data, _ = tables_of_products()
        said(capsys, "complete", files / "a.npz", "-o", tmp_path / "b.npy", "--model", tmp_path / "m.npz")
        filled = np.load(tmp_path / "b.npy")
        said(capsys, "complete", files / "a.npz", "-o", tmp_path / "b.npy", "--everywhere")
        everywhere = np.load(tmp_path / "b.npy")
        seen = data.observations.mask
        np.testing.assert_allclose(everywhere, load(tmp_path / "m.npz").to_dense())
        np.testing.assert_allclose(everywhere[~seen], filled[~seen])
        assert not np.allclose(everywhere[seen], filled[seen])

    def test_intervals_with_settings_that_are_given(self, files, tmp_path, capsys):
        options = ["--lam", "1", "--interval", "0.8", "--no-smooth", "--refine", "--json"]
        record = json.loads(said(capsys, "complete", files / "a.npz", "-o", tmp_path / "b.npy", *options).out)
        assert record["half_width"] > 0
        assert record["lam"] == [1.0]

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
            (["-o", "a.xyz"], "the ending of 'a.xyz' is not that of a format"),
            (["-o", "a.npy", "--value", "x"], "to read npz there is no option 'value'"),
            (["-o", "a.npy", "--interval", "2"], "--interval must be a number above 0 and below 1, but 2.0 was given."),
            (["-o", "a.npy", "--lam", "-1"], "argument --lam: numbers must be at least 0, but '-1' was given"),
            (
                ["-o", "a.npy", "--lam", "1", "--set", "lam=2"],
                "the setting 'lam' must be given once, but --lam repeats",
            ),
            (["-o", "a.npy", "--set", "lam"], "argument --set: a setting must be NAME=VALUE, as in rank=3, but 'lam'"),
            (["-o", "a.npy", "--method", "nor"], "--method must be one of 'nort', "),
            (
                ["-o", "a.npy", "--set", "rang=3"],
                "--set rang is no setting of method 'grow', 'nort'; the settings are 'rank', ",
            ),
            (["-o", "a.npy", "--set", "rank=-1"], "rank must be a whole number"),
            (
                ["-o", "a.npy", "--method", "nort", "--set", "rank=3"],
                "--set rank is no setting of method 'nort'; the settings are 'lam', ",
            ),
            (
                ["-o", "a.npy", "--method", "tucker_als", "--lam", "1"],
                "--lam is no setting of method 'tucker_als'; the settings are 'rank', ",
            ),
            (
                ["-o", "a.npy", "--method", "tucker_als,cp", "--penalty", "lsp"],
                "--penalty is no setting of method 'tucker_als', 'cp'; the settings are ",
            ),
            (["-o", "a.npy", "--method", "tucker_als", "--set", "rank=-1"], "rank must be a whole number"),
            (["-o", "a.npy", "--max-iter", "0"], "--max-iter must be a whole number of at least 1, but 0 was given."),
            (["-o", "a.npy", "--splits", "0"], "--splits must be a whole number of at least 1, but 0 was given."),
            (["-o", "a.npy", "--validation", "1"], "--validation must be a number above 0 and below 1, but 1.0"),
            (["-o", "a.npy", "--holdout", "0.3"], "argument --holdout: it must be auto, entry, fibre:MODE, slice:MODE"),
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
        assert "pip install pandas pyarrow xarray netcdf4." in err


class TestNothingMissing:
    @pytest.fixture
    def whole(self, tmp_path):
        table = pandas.DataFrame({"a": np.repeat(list("xyz"), 4), "b": np.tile(np.arange(4), 3), "n": np.arange(12.0)})
        table.to_csv(tmp_path / "a.csv", index=False)
        return tmp_path / "a.csv"

    @pytest.mark.usefixtures("no_work")
    @pytest.mark.parametrize("ending", ["csv", "npz"])
    def test_the_data_is_written_back_at_once(self, ending, whole, tmp_path, capsys):
        out = said(capsys, "complete", whole, "-o", tmp_path / f"b.{ending}")
        told = " ".join(out.err.split())
        assert "Nothing is missing: all 12 entries are observed" in told
        assert "--missing zero" in told
        written = read(tmp_path / f"b.{ending}")
        np.testing.assert_array_equal(written.observations.to_dense(), np.arange(12.0).reshape(3, 4))
        assert written.labels.value == ("n" if ending == "csv" else "value")

    @pytest.mark.usefixtures("no_work")
    def test_the_ends_of_intervals_are_the_data(self, whole, tmp_path, capsys):
        said(capsys, "complete", whole, "-o", tmp_path / "b.csv", "--interval", "0.5")
        written = pandas.read_csv(tmp_path / "b.csv")
        assert written.n_low.tolist() == written.n_high.tolist() == written.n.tolist() == list(range(12))

    @pytest.mark.usefixtures("no_work")
    def test_a_record(self, whole, tmp_path, capsys):
        record = json.loads(said(capsys, "complete", whole, "-o", tmp_path / "b.csv", "--json").out)
        assert (record["observed"], record["density"], record["output"]) == (12, 1.0, str(tmp_path / "b.csv"))

    @pytest.mark.usefixtures("quick")
    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.parametrize("options", [["--everywhere"], ["--model", "m.npz"], ["--loss", "l1"]])
    def test_a_model_that_is_asked_for_is_fitted(self, options, whole, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        assert "method" in said(capsys, "complete", whole, "-o", tmp_path / "b.csv", *options).out


class TestMethods:
    def completed(self, files, tmp_path, capsys, *options):
        paths = [files / "a.nc", "--model", tmp_path / "m.npz"]
        shown = facts(said(capsys, "complete", *paths, "--no-smooth", *options).out)
        return shown, load(tmp_path / "m.npz")

    def test_another_method_with_its_settings(self, files, tmp_path, capsys):
        options = ["--method", "tucker_als", "--set", "rank=2", "--set", "ridge=1e-6", "--max-iter", "7"]
        shown, fit = self.completed(files, tmp_path, capsys, *options)
        assert fit.method == TuckerAls(rank=2, ridge=1e-6, max_iter=7)
        assert shown["method"] == "tucker_als"
        assert shown["settings"] == "rank 2, ridge 1e-06, max_iter 7"
        assert "held out" not in shown

    def test_settings_that_are_open_are_chosen(self, files, tmp_path, capsys):
        shown, fit = self.completed(files, tmp_path, capsys, "--method", "tucker_als", "--splits", "2")
        assert fit.method.name == "tucker_als"
        assert re.match(r"rank \d+, of \d+ tried", shown["settings"])
        assert fit.recipe.asked["choose"] == Choice(splits=2)

    def test_the_best_of_several_methods(self, files, tmp_path, capsys):
        options = ["--method", "nort,tucker_als", "--lam", "1", "--set", "rank=1", "--max-iter", "50"]
        shown, fit = self.completed(files, tmp_path, capsys, *options)
        # The table has rank 1, and its entries have no noise.
        assert shown["method"] == "tucker_als, better than nort on held-out entries"
        assert fit.method == TuckerAls(rank=1, max_iter=50)
        assert {point.method.name for point in fit.path} == {"nort", "tucker_als"}

    @pytest.mark.parametrize("named", [[], ["--method", "auto"]], ids=["by default", "by name"])
    def test_auto(self, named, files, tmp_path, capsys, monkeypatch):
        # Such a small table is too small for the first method, unless it is made to take it.
        monkeypatch.setattr(Grow, "fewest_entries", 0)
        monkeypatch.setattr(GrowSearch, "conclusive", False)
        shown, fit = self.completed(files, tmp_path, capsys, *named, "--max-iter", "30")
        assert {point.method.name for point in fit.path} == {"grow", "nort"}
        (other,) = {"grow", "nort"} - {fit.method.name}
        assert shown["method"] == f"{fit.method.name}, better than {other} on held-out entries"
        assert fit.method.max_iter == 30

    def test_auto_leaves_out_a_method_without_the_settings(self, files, tmp_path, capsys):
        shown, fit = self.completed(files, tmp_path, capsys, "--set", "rank=1", "--set", "form=tucker")
        assert fit.method.name == shown["method"] == "grow"
        assert fit.ranks == (1, 1)

    def test_modes_by_name(self, files, tmp_path, capsys):
        _, fit = self.completed(files, tmp_path, capsys, "--lam", "1", "--set", "modes=month,")
        assert fit.modes == (1,)

    def test_what_is_held_out(self, files, tmp_path, capsys):
        shown, fit = self.completed(files, tmp_path, capsys, "--lam", "1", "--holdout", "fibre:month")
        assert shown["held out"].startswith("whole fibres along month, error ")
        _, fit = self.completed(files, tmp_path, capsys, "--lam", "1", "--holdout", "2,5", "--validation", "0.3")
        assert fit.recipe.holdout == Holdout((2, 5), SHAPE)
        assert fit.recipe.asked["choose"].validation == 0.3
        arguments = ["complete", files / "a.nc", "-o", tmp_path / "b.nc", "--holdout", "slice:year"]
        assert "There is no mode 'year'" in said(capsys, *arguments, code=2).err
