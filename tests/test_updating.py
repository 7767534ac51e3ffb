"""More data for a fit, and fits that start from others."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import tensorfill
from tensorfill import Centre, Choice, Graphs, Observations, SmoothField, complete
from tensorfill.choosing.updating import grown
from tensorfill.graphs import chain, haversine
from tensorfill.labels import Labelled, Labels
from tensorfill.metrics import rmse

from . import examples
from .refusal import refuses

SHAPE = (24, 20, 8)


def example(seed=0, noise=0.05):
    """Return days x hours x stations of low rank with effects, and the same with holes."""
    rng = np.random.default_rng(seed)
    truth = 10 + sum(np.ix_(*(rng.standard_normal(size) for size in SHAPE)))
    truth = truth + 2 * np.einsum("ir,jr,kr->ijk", *(rng.standard_normal((size, 2)) for size in SHAPE))
    data = truth + noise * rng.standard_normal(SHAPE)
    return truth, np.where(rng.random(SHAPE) < 0.5, data, np.nan)


TRUTH, HOLES = example()
DAYS = np.datetime64("2024-03-01") + np.arange(SHAPE[0])


def labelled(first, last):
    names = {"day": DAYS[first:last], "hour": np.arange(SHAPE[1]), "station": list("ABCDEFGH")}
    return xr.DataArray(HOLES[first:last], names, name="flow")


WAYS = {
    "cp": {"method": "cp", "rank": 2},
    "centred": {"method": "tucker_als", "rank": 2, "centre": True},
    "nort": {"lam": 0.5, "choose": Choice()},
    "chosen": {"method": "cp"},
}


@pytest.mark.parametrize("way", WAYS)
def test_new_days_are_filled_as_well_as_by_a_new_fit_with_the_same_settings(way):
    first = complete(labelled(0, 18), smooth=None, rng=0, **WAYS[way])
    later = first.update(labelled(18, 24), rng=0)
    anew = complete(labelled(0, 24), **{"smooth": None, **first.recipe.arguments()})
    missing = np.isnan(HOLES)
    errors = [rmse(np.asarray(fit.to_dense())[missing], TRUTH[missing]) for fit in (later, anew)]
    assert errors[0] < 1.1 * errors[1] + 0.01
    assert later.recipe.stage(Centre) == first.recipe.stage(Centre)
    assert (later.error_bars is None) == (first.error_bars is None)
    xr.testing.assert_equal(later.filled().day, labelled(0, 24).day)
    assert later.filled().dims == ("day", "hour", "station")


def test_an_update_costs_less_than_a_search():
    first = complete(labelled(0, 22), method="nort", smooth=None, rng=0)
    iterations = []
    later = first.update(labelled(22, 24), rng=0, callback=lambda record, model: iterations.append(record) and None)
    of_a_search = sum(point.iterations for point in first.path)
    assert len(iterations) < 0.5 * of_a_search
    assert later.held_out_error < 1.5 * first.held_out_error


def test_intervals_stay_and_count_new_entries():
    first = complete(
        labelled(0, 18), method="cp", rank=2, centre=True, choose=Choice(validation=0.2), smooth=None, rng=0
    )
    later = first.update(labelled(18, 24), rng=0)
    assert len(later.residuals) > len(first.residuals)
    np.testing.assert_array_equal(later.residuals[: len(first.residuals)], first.residuals)
    missing = np.isnan(HOLES)
    _, low, high = later.predict(np.argwhere(missing), interval=0.9)
    rng = np.random.default_rng(1)
    seen = TRUTH[missing] + 0.05 * rng.standard_normal(missing.sum())
    assert np.mean((low <= seen) & (seen <= high)) > 0.85


def test_a_smooth_field_stays():
    rows, columns = np.meshgrid(np.linspace(0, 3, 30), np.linspace(0, 2, 24), indexing="ij")
    truth = np.sin(rows * columns) + np.cos(3 * rows) * columns
    holes = np.where(np.random.default_rng(0).random(truth.shape) < 0.5, truth, np.nan)
    first = complete(holes[:26], lam=0.1, smooth=[0, 1], rng=0)
    assert first.recipe.stage(SmoothField) is not None
    new = np.full_like(holes, np.nan)
    new[26:] = holes[26:]
    later = first.update(new, rng=0)
    assert later.recipe.stage(SmoothField) == first.recipe.stage(SmoothField)
    assert rmse(later.to_dense(), truth) < 0.3 * truth.std()
    again = later.update(new, rng=0)
    assert again.shape == later.shape


@pytest.mark.parametrize("loss", ["poisson", "logistic"])
def test_counts_and_yes_or_no_are_updated_on_their_own_scale(loss):
    rng = np.random.default_rng(0)
    rates = np.outer(rng.uniform(0.5, 4, 30), rng.uniform(0.5, 2, 20))
    data = (
        rng.poisson(rates).astype(float) if loss == "poisson" else (rng.random(rates.shape) < rates / 8).astype(float)
    )
    first = complete(data[:25], loss=loss, method="cp", rank=1, centre=True, choose=Choice(), rng=0)
    new = np.full_like(data, np.nan)
    new[25:, ::2] = data[25:, ::2]
    later = first.update(new, rng=0)
    filled = later.filled()
    assert filled.shape == data.shape
    assert set(np.unique(filled[:25])) <= set(np.unique(data))
    assert (filled >= 0).all()


def test_a_fit_with_its_data_can_be_updated_from_a_file(tmp_path):
    first = complete(labelled(0, 18), method="cp", rank=2, centre=True, smooth=None, rng=0)
    first.save(tmp_path / "fit.npz", data=True)
    loaded = tensorfill.load(tmp_path / "fit.npz")
    one, other = (fit.update(labelled(18, 24), rng=0) for fit in (first, loaded))
    np.testing.assert_allclose(np.asarray(one.to_dense()), np.asarray(other.to_dense()))
    first.save(tmp_path / "without.npz")
    refuses(
        ValueError, ["needs the data", "data=True"], lambda: tensorfill.load(tmp_path / "without.npz").update(HOLES)
    )


# Labels


def labelled_entries(names, keys, coords, values):
    shape = tuple(len(each) for each in keys)
    return Labelled(Observations(coords, values, shape), Labels(names, tuple(np.array(each) for each in keys)))


def test_old_and_new_data_are_merged_by_label():
    old = labelled_entries(("year", "town"), ([2020, 2022], ["B", "A"]), [[0, 0], [1, 1]], [1.0, 2.0])
    new = labelled_entries(("town", "year"), (["C", "A"], [2021, 2022]), [[0, 0], [1, 1]], [3.0, 4.0])
    both = grown(old.labels, old.observations, new)
    assert both.labels.names == ("year", "town")
    assert both.labels.keys[0].tolist() == [2020, 2021, 2022]
    assert both.labels.keys[1].tolist() == ["B", "A", "C"]
    # The value of 2022 in A is observed anew.
    expected = np.full((3, 3), np.nan)
    expected[0, 0], expected[2, 1], expected[1, 2] = 1.0, 4.0, 3.0
    np.testing.assert_array_equal(both.all.to_dense(), expected)


def test_a_new_index_begins_as_the_mean_of_the_others():
    old = labelled_entries(("a", "b"), ([1, 3], ["x", "y"]), [[0, 0]], [1.0])
    new = labelled_entries(("a", "b"), ([2], ["x"]), [[0, 0]], [1.0])
    both = grown(old.labels, old.observations, new)
    model = tensorfill.models.Tucker((2, 2), [[1.0]], [[[1.0], [3.0]], [[1.0], [10.0]]])
    np.testing.assert_allclose(both.extended(model).to_dense(), [[1, 10], [2, 20], [3, 30]])


@pytest.mark.parametrize(("words", "action"), [
    (["2 modes", "'day', 'hour'"],
     lambda: complete(pd.DataFrame({"day": [1, 2] * 6, "hour": np.repeat(range(6), 2), "x": np.arange(12.0)}),
                      method="cp", rank=1, rng=0).update(np.ones((2, 2, 2)))),
    (["start", "every setting"], lambda: complete(HOLES, start=complete(HOLES, lam=1.0, rng=0), rng=0)),
    (["start", "shape", "Fit.update"],
     lambda: complete(HOLES, lam=1.0, start=complete(HOLES[:5], lam=1.0, rng=0), rng=0)),
])  # fmt: skip
def test_what_cannot_go_on_gets_one_sentence(words, action):
    refuses(ValueError, words, action)


def visits(city="city", value="visits"):
    table = pd.DataFrame({city: np.repeat(["Bonn", "Kiel", "Ulm"], 4), "year": np.tile(np.arange(2020, 2024), 3)})
    return table.assign(**{value: np.outer([1.0, 2.0, 3.0], np.arange(1.0, 5.0)).ravel()})


@pytest.fixture(scope="module")
def of_visits():
    return complete(visits().iloc[:-1], method="cp", rank=1, centre=False, smooth=None, rng=0)


@pytest.mark.parametrize(("words", "kind", "new"), [
    (["'city', 'year'", "'town', 'year'", "rename"], ValueError, visits(city="town")),
    (["'visits'", "'sales'", "value="], ValueError, visits(value="sales")),
    (["'city', 'year'", "'mode_0', 'mode_1'"], ValueError, np.ones((3, 4))),
    (["'city' of the fit has labels", "'Bonn'"], ValueError,
     xr.DataArray(np.ones((3, 4)), {"year": np.arange(4)}, ("city", "year"))),
    (["labels of 'city'", "texts", "'Bonn'", "but 7"], TypeError,
     visits().astype({"city": object}).replace({"city": {"Ulm": 7}})),
    (["labels of 'city'", "texts", "but 0"], TypeError, visits().assign(city=np.repeat(np.arange(3), 4))),
    (["labels of 'year'", "numbers", "2020", "'2020 AD'"], TypeError,
     visits().assign(year=lambda table: table.year.astype(str) + " AD")),
    (["labels of 'year'", "numbers", "'2030-01-01'"], TypeError, visits().assign(year=np.datetime64("2030-01-01"))
     .drop_duplicates(["city", "year"])),
])  # fmt: skip
def test_foreign_data_is_refused_in_one_sentence(of_visits, words, kind, new):
    refuses(kind, words, lambda: of_visits.update(new, rng=0))


def test_a_text_that_is_no_date_is_no_new_day():
    first = labelled_entries(("day", "b"), (DAYS[:2], ["x", "y"]), [[0, 0]], [1.0])
    for label in ("2024-03-09", "ninth"):
        new = labelled_entries(("day", "b"), ([label], ["x"]), [[0, 0]], [1.0])
        if label == "ninth":
            refuses(TypeError, ["dates", "'ninth'"], lambda new=new: grown(first.labels, first.observations, new))
        else:
            assert grown(first.labels, first.observations, new).labels.keys[0][-1] == np.datetime64("2024-03-09")


def test_new_indices_are_welcome_and_counted(of_visits):
    assert of_visits.added is None
    assert "update" not in str(of_visits)
    more = visits().assign(city=lambda table: table.city + "2").iloc[:8]
    later = of_visits.update(more, rng=0)
    assert later.added == (2, 0)
    assert "the update added 2 new indices of city" in str(later)
    same = of_visits.update(visits().iloc[-1:], rng=0)
    assert "the update added no new indices" in str(same)
    assert len(same.observations) == 12


def test_new_rows_are_read_as_the_table_of_the_fit_was(of_visits):
    # The columns are in another order, and the last could hold values.
    new = visits()[["visits", "year", "city"]].iloc[-1:]
    assert of_visits.update(new, rng=0).shape == (3, 4)
    wide = pd.DataFrame(HOLES[:, :, 0], index=pd.Index(DAYS, name="day"))
    first = complete(wide.iloc[:20], method="cp", rank=1, smooth=None, rng=0)
    assert first.update(wide.iloc[20:21].fillna(1.0), rng=0).shape == (21, 20)


def test_a_table_grows():
    long = labelled(0, 24).to_series().rename("flow").reset_index()
    old, new = long[long.day < DAYS[18]], long[long.day >= DAYS[18]].dropna()
    first = complete(old, method="cp", rank=2, centre=True, smooth=None, rng=0)
    filled = first.update(new, rng=0).filled()
    assert list(filled.columns) == list(long.columns)
    assert len(filled) == np.prod(SHAPE)
    assert filled.day.dtype.kind == "M"


# Starting from a fit


@pytest.mark.parametrize("way", [
    {"method": "cp", "rank": 2},
    {"method": "cp", "rank": 2, "centre": True},
    {"lam": 0.5, "centre": True, "smooth": [0]},
    {"method": "grow", "rank": 2, "form": "cp"},
], ids=["cp", "centred", "smoothed", "grow"])  # fmt: skip
def test_every_fit_can_be_started_from(way):
    first = complete(HOLES, rng=0, **{"smooth": None, **way})
    again = complete(HOLES, **{**first.recipe.arguments(), "start": first})
    assert again.history[-1].iteration <= max(first.history[-1].iteration, 3)
    assert rmse(again.to_dense(), first.to_dense()) < 0.02 * TRUTH.std()


def test_an_answer_of_another_kind_does_no_harm():
    other = complete(HOLES, method="cp", rank=1, rng=0)
    fit = complete(HOLES, lam=0.5, start=other, rng=0)
    plain = complete(HOLES, lam=0.5, rng=0)
    np.testing.assert_allclose(fit.to_dense(), plain.to_dense())
    assert dataclasses.replace(fit, core=None).shape == HOLES.shape


def test_an_update_without_time_answers_all_the_same():
    rng = np.random.default_rng(0)
    whole = np.einsum("ir,jr,kr->ijk", *(rng.standard_normal((size, 2)) for size in (40, 20, 15)))
    data = np.where(rng.random(whole.shape) < 0.5, whole + 0.05 * rng.standard_normal(whole.shape), np.nan)
    fit = tensorfill.complete(data[:30], rng=0)
    new = np.full_like(data, np.nan)
    new[30:] = data[30:]
    later = fit.update(new, time_limit=1e-6, rng=0)
    assert later.shape == data.shape
    assert later.status is tensorfill.Status.TIME_LIMIT
    assert len(later.residuals) == len(fit.residuals)
    stopped = fit.update(new, callback=lambda record, model: True, rng=0)
    assert stopped.status is tensorfill.Status.CALLBACK

    def interrupt(record, model):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit.update(new, callback=interrupt, rng=0)


class TestGraphs:
    """A fit with graphs is brought up to date as any other; new indices need a place in the graph."""

    ROWS = np.sin(np.linspace(0, 3, 26))[:, None] * [1.0, 2.0]

    def data(self):
        rng = np.random.default_rng(0)
        truth = np.einsum("ir,jr,kr->ijk", self.ROWS, rng.standard_normal((12, 2)), rng.standard_normal((10, 2)))
        holes = np.where(rng.random(truth.shape) < 0.5, truth + 0.01 * rng.standard_normal(truth.shape), np.nan)
        holes[[5, 14]] = np.nan
        return truth, holes

    @pytest.mark.parametrize("method", ["nort", "tucker_als"])
    def test_new_entries_of_known_indices(self, method):
        truth, holes = self.data()
        early = np.where(np.arange(10) < 7, holes, np.nan)
        first = complete(early[:, :, :7], method=method, laplacian={0: chain(26)}, rng=0)
        later = first.update(holes[:, :, :7], rng=0)
        grown = first.update(holes, rng=0)
        assert later.shape == (26, 12, 7)
        assert grown.shape == (26, 12, 10)
        assert grown.recipe.stage(Graphs) == first.recipe.stage(Graphs)
        missing = np.isnan(holes)
        assert rmse(grown.to_dense()[missing], truth[missing]) < 0.2 * truth.std()
        # Slices without any entry are still filled by the graph.
        assert rmse(grown.to_dense()[[5, 14]], truth[[5, 14]]) < 0.2 * truth.std()

    def test_new_indices_of_a_mode_with_a_graph(self):
        truth, holes = self.data()
        first = complete(holes[:24], method="nort", laplacian={0: chain(24)}, rng=0)
        refuses(ValueError, ["2 new indices", "mode 0", "laplacian={0: graph}"], lambda: first.update(holes, rng=0))
        refuses(ValueError, ["Laplacians", "kernel"], lambda: first.update(holes, laplacian={0: kernel(26)}, rng=0))
        later = first.update(holes, laplacian={0: chain(26)}, rng=0)
        missing = np.isnan(holes)
        assert rmse(later.to_dense()[missing], truth[missing]) < 0.2 * truth.std()

    def test_graphs_of_a_fit_without_any_and_of_one_from_a_file(self, tmp_path):
        _, holes = self.data()
        plain = complete(np.delete(holes, [5, 14], axis=0)[:22], method="nort", lam=0.1, rng=0)
        refuses(ValueError, ["laplacian", "has none"], lambda: plain.update(holes, laplacian={0: chain(26)}, rng=0))
        first = complete(holes, method="nort", laplacian={0: chain(26)}, rng=0)
        first.save(tmp_path / "fit.npz", data=True)
        loaded = tensorfill.load(tmp_path / "fit.npz")
        refuses(ValueError, ["graphs", "file"], lambda: loaded.update(holes, rng=0))
        again, later = loaded.update(holes, laplacian={0: chain(26)}, rng=0), first.update(holes, rng=0)
        np.testing.assert_array_equal(again.to_dense(), later.to_dense())


def kernel(size):
    return haversine(np.column_stack([np.linspace(0, 9, size), np.zeros(size)]))


def test_a_forecast_from_the_old_end_is_forgotten():
    fit = examples.forecast()
    day = np.datetime64("2024-03-21") + np.arange(1)
    labels = Labels(fit.labels.names, (None, day, None), fit.labels.value)
    later = fit.update(Labelled(Observations.from_dense(np.zeros((4, 1, 12))), labels), rng=0)
    assert later.shape == (4, 21, 12)
    assert later.ahead is None
