"""What a new user trips over in the first minutes: nothing missing, paths, bounds, arrays, labels, notebooks, time."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray

import tensorfill
from tensorfill import Choice, Observations, complete, load
from tensorfill.choosing.baselines import Baseline
from tensorfill.choosing.doubts import DoubtfulFitWarning, NothingMissingWarning
from tensorfill.methods.simple.interpolation import interpolated
from tensorfill.models import Centred
from tensorfill.models.cp import CPModel

from .refusal import refuses


def cube(gaps=0.2):
    random = np.random.default_rng(0)
    values = np.einsum("i,j,k->ijk", *(random.uniform(1, 2, size) for size in (8, 7, 6)))
    values += 0.01 * random.standard_normal(values.shape)
    values[random.random(values.shape) < gaps] = np.nan
    return values


def labelled():
    coords = {
        "station": [f"S{n}" for n in range(8)],
        "month": pd.date_range("2024-01", periods=7, freq="MS"),
        "hour": np.arange(6),
    }
    return xarray.DataArray(cube(), coords, name="rain")


@pytest.fixture(scope="module")
def fit():
    return complete(labelled(), smooth=None, rng=0)


class TestNothingMissing:
    def said_before_work(self, data, **settings):
        """Return the warning, which comes before the first iteration."""
        seen = []

        def callback(record, model):
            seen.append(record)
            return True

        with warnings.catch_warnings():
            warnings.simplefilter("error", NothingMissingWarning)
            with pytest.raises(NothingMissingWarning) as caught:
                complete(data, lam=1.0, rng=0, callback=callback, **settings)
        assert seen == []
        return str(caught.value)

    def test_is_said_at_once(self):
        assert "all 336 entries are observed" in self.said_before_work(cube(gaps=0))
        coords = np.argwhere(np.ones((3, 4)))
        assert "all 12 entries" in self.said_before_work(Observations(coords, np.arange(12) + 1.0, (3, 4)))

    def test_many_zeros_may_be_missing(self):
        counts = np.where(cube(gaps=0) < 3, 0.0, 1.0)
        said = self.said_before_work(counts)
        assert "missing='zero'" in said
        assert "are 0" in said
        assert "missing='zero'" not in self.said_before_work(cube(gaps=0))

    def test_not_where_something_is_missing_or_corrupt_entries_are_looked_for(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error", NothingMissingWarning)
            complete(cube(), lam=1.0, rng=0)
            complete(cube(gaps=0), lam=1.0, loss="l1", rng=0)


class TestSimpleAnswers:
    def test_the_mean_the_effects_and_interpolation(self):
        # Interpolation is exact along the first mode except at its ends, effects nearly so, and the mean is far off.
        random = np.random.default_rng(0)
        values = 3.0 * np.arange(30)[:, None] + random.uniform(0, 5, 20)
        values[random.random(values.shape) < 0.2] = np.nan
        fit = complete(values, rng=0)
        errors = {(each.kind, each.mode): each.error for each in fit.baselines}
        assert errors["mean", None] == pytest.approx(np.nanstd(values), rel=0.2)
        assert errors["effects", None] < 0.1 * errors["mean", None]
        assert errors["interpolation", 0] < 0.1 * errors["mean", None]
        text = str(fit)
        assert "the effects of each index" in text
        assert "interpolation along mode 0" in text

    def test_they_are_saved(self, fit, tmp_path):
        fit.save(tmp_path / "fit.npz")
        again = load(tmp_path / "fit.npz")
        assert again.baselines == fit.baselines
        assert {each.kind for each in again.baselines} >= {"mean", "effects"}
        assert again.timing == fit.timing
        np.testing.assert_array_equal(again.held_out.predicted, fit.held_out.predicted)

    def test_none_without_held_out_entries(self):
        given = complete(cube(), lam=1.0, rng=0)
        assert given.baselines == ()
        assert "nothing was held out" in str(given)

    @pytest.mark.parametrize("loss", ["logistic", "poisson"])
    def test_for_scores_they_are_on_the_scale_of_the_data(self, loss):
        random = np.random.default_rng(0)
        chance = random.beta(1, 1, 30)[:, None] * random.beta(2, 1, 25)
        values = (random.random(chance.shape) < chance) if loss == "logistic" else random.poisson(5 * chance)
        data = np.where(random.random(chance.shape) < 0.3, np.nan, values)
        fit = complete(data, loss=loss, method="nort", rng=0)
        mean, effects, *_ = fit.baselines
        assert mean.error == pytest.approx(np.nanstd(data), rel=0.3)
        assert effects.error < mean.error

    def test_a_fit_that_is_worse_says_so(self, tmp_path):
        # Rank one without centring cannot follow rows and columns that only differ by what is added.
        random = np.random.default_rng(0)
        values = random.uniform(-9, 9, 30)[:, None] + random.uniform(-9, 9, 25)
        values[random.random(values.shape) < 0.3] = np.nan
        settings = {"method": "cp", "rank": 1, "ridge": 0.1, "centre": False, "smooth": None, "choose": Choice()}
        with pytest.warns(DoubtfulFitWarning, match="worse than the effects of each index"):
            fit = complete(values, **settings, rng=0)
        assert "WARNING" in str(fit)
        assert "worse than the effects of each index" in str(fit)
        assert "worse than the effects of each index" in fit._repr_html_()
        fit.report(tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text("utf-8")
        assert 'role="alert">This fit is worse than the effects of each index' in page
        assert "better than this fit" in page
        assert 'class="alarming"' in page

    def test_a_good_fit_does_not(self, fit):
        assert "WARNING" not in str(fit)
        assert not any(each.is_better for each in fit.baselines)

    def test_interpolation_against_numpy(self):
        random = np.random.default_rng(1)
        values = random.standard_normal((6, 9, 4))
        seen = random.random(values.shape) < 0.5
        seen[2, :, 1] = False
        found = interpolated(np.where(seen, values, np.nan), 1)
        for row, place, layer in np.argwhere(~seen):
            known = np.flatnonzero(seen[row, :, layer])
            expected = np.interp(place, known, values[row, known, layer]) if len(known) else np.nan
            assert found[row, place, layer] == pytest.approx(expected, nan_ok=True)

    def test_what_it_is_called(self, fit):
        assert Baseline("interpolation", 1.0, mode=1).in_words(fit.labels) == "interpolation along month"


class TestWaysIn:
    def test_a_path_with_a_layout(self, tmp_path):
        cells = np.random.default_rng(0).random((12, 4))
        pd.DataFrame(cells, columns=list("abcd")).to_csv(tmp_path / "cells.csv", index=False)
        refuses(ValueError, ["cells.csv", "layout='wide'"], lambda: complete(tmp_path / "cells.csv"))
        with pytest.warns(NothingMissingWarning):
            assert complete(tmp_path / "cells.csv", layout="wide", lam=1.0, rng=0).shape == (12, 4)

    def test_a_path(self, tmp_path):
        table = labelled().to_dataframe().dropna().reset_index()
        table.to_csv(tmp_path / "rain.csv", index=False)
        fit = complete(str(tmp_path / "rain.csv"), lam=1.0, rng=0)
        assert fit.labels.names == ("station", "month", "hour")
        assert fit.recipe.asked["data"] == str(tmp_path / "rain.csv")
        np.save(tmp_path / "counts.npy", np.nan_to_num(cube()))
        zero = complete(tmp_path / "counts.npy", missing="zero", lam=1.0, rng=0)
        assert zero.observations.density < 1
        refuses(FileNotFoundError, ["nowhere.csv"], lambda: complete("nowhere.csv"))

    def test_one_sided_bounds(self):
        fit = complete(cube() - 2, lam=1.0, bounds=(0, None), rng=0)
        assert fit[...].min() == 0
        assert fit.bounds == (0, math.inf)
        assert complete(cube() - 2, lam=1.0, bounds=(None, 0.5), rng=0)[...].max() == 0.5
        assert complete(cube(), lam=1.0, bounds=(None, None), rng=0).bounds is None
        refuses(TypeError, ["bounds", "None for no limit"], lambda: complete(cube(), bounds=("a", 1)))
        refuses(ValueError, ["low at most high"], lambda: complete(cube(), bounds=(1, 0)))

    def test_sklearn_is_there_as_the_readme_writes_it(self):
        assert tensorfill.sklearn.MatrixImputer.__name__ == "MatrixImputer"
        assert "sklearn" in dir(tensorfill)


class TestWaysOut:
    def test_an_array(self, fit, tmp_path):
        data = labelled()
        np.testing.assert_array_equal(np.asarray(fit), fit.filled().values)
        np.testing.assert_array_equal(np.asarray(fit)[data.notnull()], data.values[data.notnull()])
        assert np.asarray(fit, dtype=np.float32).dtype == np.float32
        fit.save(tmp_path / "fit.npz")
        np.testing.assert_array_equal(np.asarray(load(tmp_path / "fit.npz")), fit[...])

    def test_a_data_array(self, fit):
        made = xarray.DataArray(fit)
        assert made.dims == ("station", "month", "hour")
        np.testing.assert_array_equal(made, fit.filled())

    def test_entries_by_label_of_xarray(self, fit):
        assert fit.at(station="S2", month="2024-03-01", hour=4) == pytest.approx(fit[2, 2, 4])
        assert isinstance(fit.at(station="S2", month="2024-03-01", hour=4), float)
        part = fit.at(station=["S5", "S1"], hour=2)
        assert part.dims == ("station", "month")
        assert part["station"].values.tolist() == ["S5", "S1"]
        assert int(part["hour"]) == 2
        np.testing.assert_allclose(part, fit[:, :, 2][[5, 1]])
        assert fit.at().shape == fit.shape

    @pytest.mark.parametrize("library", [pd, pl])
    def test_entries_by_label_of_a_table(self, library):
        table = labelled().to_dataframe().dropna().reset_index()
        data = table if library is pd else pl.from_pandas(table)
        fit = complete(data, lam=1.0, rng=0)
        part = fit.at(station=["S5", "S1"], hour=2, month="2024-02-01")
        assert isinstance(part, library.DataFrame)
        assert list(part["station"]) == ["S5", "S1"]
        assert list(part.columns) == ["station", "month", "hour", "rain"]
        np.testing.assert_allclose(part["rain"], [fit[5, 1, 2], fit[1, 1, 2]])

    def test_entries_of_an_array(self):
        fit = complete(cube(), lam=1.0, rng=0)
        np.testing.assert_allclose(fit.at(mode_0=[3, 1], mode_2=5), fit[:, :, 5][[3, 1]])
        refuses(ValueError, ["no mode 'station'"], lambda: fit.at(station=1))


class TestFactors:
    @pytest.mark.parametrize("method", ["cp", "tucker_als", "nort", "grow"])
    def test_they_have_names_labels_and_falling_strengths(self, method):
        fit = complete(labelled(), method=method, smooth=None, centre=False, rng=0)
        factors = fit.factors()
        modes = fit.modes or (0, 1, 2)
        assert list(factors) == [fit.labels.names[mode] for mode in modes]
        for mode in modes:
            factor = factors[fit.labels.names[mode]]
            assert factor.shape[0] == fit.shape[mode]
            assert len(factor.keys) == fit.shape[mode]
            assert np.all(np.diff(np.abs(factor.weights)) <= 1e-9)
            np.testing.assert_allclose(np.linalg.norm(factor.values, axis=0), 1, rtol=1e-6)
            assert np.all(factor.values[np.abs(factor.values).argmax(axis=0), range(factor.shape[1])] > 0)
        assert factors["station"].to_pandas().index.tolist() == [f"S{n}" for n in range(8)]
        assert "S" in factors["station"]._repr_html_()
        assert len(factors["month"].largest(0, 2)) == 2

    @pytest.mark.parametrize("method", ["cp", "tucker_als"])
    def test_they_make_the_tensor(self, method):
        fit = complete(labelled(), method=method, rank=2, smooth=None, centre=True, rng=0)
        factors = fit.factors()
        values = [factor.values for factor in factors.values()]
        if isinstance(fit.model, Centred) and isinstance(fit.model.model, CPModel):
            core = np.einsum("r,ir,jr,kr->ijk", factors["hour"].weights, *values)
        else:
            core = np.einsum("abc,ia,jb,kc->ijk", factors.core, *values)
        effects = [factors.effects[name] for name in factors]
        added = effects[0][:, None, None] + effects[1][:, None] + effects[2]
        np.testing.assert_allclose(core + added + factors.mean, fit[...], atol=1e-9)

    def test_a_smooth_answer_has_none(self):
        wave = np.sin(np.arange(40) / 6)[:, None] + np.cos(np.arange(30) / 5)
        wave[np.random.default_rng(0).random(wave.shape) < 0.5] = np.nan
        fit = complete(wave, smooth=[0, 1], rng=0)
        refuses(ValueError, ["no factors", "smooth=None"], lambda: fit.factors())


class TestNotebooks:
    def test_what_is_shown_of_a_fit_a_path_a_history_and_observations(self, fit):
        for thing, words in (
            (fit, ["Fit of a 8 × 7 × 6 tensor", "held-out entries", "the mean of all entries"]),
            (fit.path, ["held-out error", "trials"]),
            (fit.history, ["objective", "iterations"]),
            (fit.observations, ["8 × 7 × 6", "observed", "dense"]),
            (fit.factors(), ["Factor of station"]),
        ):
            html = thing._repr_html_()
            assert html.startswith('<div class="tensorfill"><style>')
            assert "http" not in html
            assert "<script" not in html
            for word in words:
                assert word in html

    def test_labels_cannot_break_out(self):
        data = labelled().rename({"station": "<img src=x>"})
        fit = complete(data, smooth=None, rng=0)
        assert "<img" not in fit._repr_html_()
        assert "<img" not in fit.factors()._repr_html_()

    def test_drawings_show_themselves(self, fit):
        from matplotlib.figure import Figure

        from tensorfill import plots

        for drawn in (plots.convergence(fit), plots.held_out(fit), plots.slices(fit, "hour"), plots.series(fit)):
            assert drawn._repr_png_()[:4] == b"\x89PNG"
        # A figure of pyplot is shown by the notebook itself.
        own = Figure().subplots()
        own.figure.canvas.manager = object()
        assert not hasattr(plots.convergence(fit, own), "_repr_png_")

    def test_where_the_time_went(self, fit):
        names = [stage.name for stage in fit.timing.stages]
        assert names[0] == "preparing"
        assert "fitting all entries" in names
        assert fit.timing.total == sum(stage.seconds for stage in fit.timing.stages)
        assert "time" in str(fit)
