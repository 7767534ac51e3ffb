"""Simple answers are contenders: no answer is worse than one of them at the held-out entries."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Centre, Effects, Interpolation, Mean, Observations, Problem, SmoothField, complete, load
from tensorfill.losses import Huber, Logistic, Poisson, Square, prepare
from tensorfill.methods.effects.additive import fit_additive
from tensorfill.methods.simple.mean import mean_of
from tests.refusal import refuses


def walks(rows=9, columns=40, share=0.7, seed=0):
    """Random walks: the line between two neighbours is the best prediction, and no low rank is."""
    random = np.random.default_rng(seed)
    whole = np.cumsum(random.standard_normal((rows, columns)), axis=1)
    return np.where(random.random(whole.shape) < share, whole, np.nan), whole


def sums(seed=0):
    random = np.random.default_rng(seed)
    whole = random.standard_normal((12, 1, 1)) + random.standard_normal((10, 1)) + random.standard_normal(8)
    return np.where(random.random(whole.shape) < 0.5, whole + 0.5 * random.standard_normal(whole.shape), np.nan)


def noise(seed=0):
    random = np.random.default_rng(seed)
    return np.where(random.random((12, 10, 8)) < 0.5, random.standard_normal((12, 10, 8)), np.nan)


def picture():
    x, y = np.meshgrid(np.linspace(0, 1, 30), np.linspace(0, 1, 30))
    whole = np.sin(9 * (x - 0.5) ** 2 + 14 * (y - 0.4) ** 2 + 3 * x * y)
    return np.where(np.random.default_rng(0).random(whole.shape) < 0.5, whole, np.nan)


DATA = {"walks": lambda: walks()[0], "sums": sums, "noise": noise, "picture": picture}


def is_as_good_as_the_simple(fit):
    error = np.sqrt(np.mean(fit.held_out.errors**2))
    return error <= min(each.error for each in fit.baselines) * (1 + 1e-9)


@pytest.mark.parametrize("limit", [1e-9, 0.05, None])
@pytest.mark.parametrize("name", DATA)
@pytest.mark.filterwarnings("ignore::tensorfill.choosing.doubts.DoubtfulFitWarning")
def test_no_answer_is_worse_than_a_simple_one(name, limit):
    fit = complete(DATA[name](), time_limit=limit, rng=0)
    assert is_as_good_as_the_simple(fit)
    assert not any(each.is_better for each in fit.baselines)
    assert "WARNING" not in str(fit)


@pytest.fixture(scope="module")
def fit():
    return complete(walks()[0], smooth=None, rng=0)


class TestInterpolationThatWins:
    def test_is_what_numpy_computes_from_all_entries(self, fit):
        data, _ = walks()
        assert fit.method == Interpolation(along=1)
        for row, own in enumerate(data):
            known = np.flatnonzero(np.isfinite(own))
            np.testing.assert_allclose(fit.filled()[row], np.interp(np.arange(len(own)), known, own[known]))

    def test_says_so(self, fit):
        assert "interpolation along mode 1" in str(fit).partition("method")[2].partition("\n")[0]
        assert fit.status.is_finished

    def test_is_repeated_saved_and_updated(self, fit, tmp_path):
        data, whole = walks()
        again = complete(data, **fit.recipe.arguments())
        np.testing.assert_array_equal(again.to_dense(), fit.to_dense())
        fit.save(tmp_path / "fit.npz")
        loaded = load(tmp_path / "fit.npz")
        np.testing.assert_array_equal(loaded.to_dense(), fit.to_dense())
        assert loaded.recipe == fit.recipe
        missing = np.argwhere(np.isnan(data))[:3]
        more = fit.update(Observations(missing, whole[tuple(missing.T)], data.shape))
        np.testing.assert_allclose(more.predict(missing), whole[tuple(missing.T)])

    def test_has_no_factors_and_its_report_speaks_of_no_field_alone(self, fit, tmp_path):
        refuses(ValueError, ["no factors", "interpolation", "smooth=None"], fit.factors)
        fit.report(tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text("utf-8")
        assert "It has no low-rank part" in page
        assert "field alone is the answer" not in page

    def test_has_intervals(self, fit):
        data, whole = walks()
        missing = np.argwhere(np.isnan(data))
        _, low, high = fit.predict(missing, interval=0.8)
        inside = (low <= whole[tuple(missing.T)]) & (whole[tuple(missing.T)] <= high)
        assert 0.6 < inside.mean() <= 1

    def test_a_method_that_is_given_is_obeyed(self):
        data = walks()[0]
        assert complete(data, method="nort", smooth=None, rng=0).method.name == "nort"
        assert complete(data, rank=1, smooth=None, rng=0).method.name == "grow"
        assert complete(data, method=["nort", "cp"], smooth=None, rng=0).method.name in ("nort", "cp")

    def test_labels_without_an_order_are_not_interpolated(self):
        pd = pytest.importorskip("pandas")
        data = walks()[0]
        named = pd.DataFrame(data, index=[f"r{n}" for n in range(9)], columns=[f"c{n}" for n in range(40)])
        fit = complete(named, smooth=None, rng=0)
        assert all(each.kind != "interpolation" for each in fit.baselines)


def test_a_field_alone_that_wins_is_repeated():
    rows, columns = np.linspace(0, 1, 40)[:, None], np.linspace(0, 1, 30)
    data = np.exp(-30 * (rows - columns) ** 2) + 0.02 * np.random.default_rng(0).standard_normal((40, 30))
    data[np.random.default_rng(1).random(data.shape) < 0.4] = np.nan
    fit = complete(data, blend=False, rng=0)
    assert fit.method == Effects()
    assert fit.recipe.after[0].alone
    assert "smooth field alone" in str(fit)
    again = complete(data, **fit.recipe.arguments())
    np.testing.assert_array_equal(again.to_dense(), fit.to_dense())


@pytest.mark.parametrize("method", [Mean(), Effects(), Interpolation(along=1)], ids=repr)
def test_a_simple_method_goes_with_the_stages_that_it_is_chosen_with(method):
    data, _ = walks()
    field = SmoothField({1: 1.0}, 0.1, low_rank=False)
    fit = complete(data, method=method, centre=Centre(), smooth=field, rng=0)
    assert np.isfinite(fit.to_dense()).all()
    assert [type(stage) for stage in fit.recipe.stages] == [Centre, SmoothField]


def test_a_run_that_is_stopped_at_once_fits_its_simple_answer_to_all_entries():
    data, _ = walks()
    fit = complete(data, time_limit=1e-9, rng=0)
    seen = np.isfinite(data)
    assert fit.method.name == "interpolation"
    np.testing.assert_allclose(fit.to_dense()[seen], data[seen])


class TestMean:
    @pytest.mark.parametrize("loss", [Square(), Huber(1.0)])
    def test_of_measurements(self, loss):
        assert mean_of(np.array([1.0, 2.0, 6.0]), loss) == pytest.approx(3.0)

    @pytest.mark.parametrize(("loss", "values"), [(Logistic(), [0.0, 0.0, 0.0, 1.0]), (Poisson(), [0.0, 2.0, 7.0])])
    def test_of_scores_predicts_the_mean_of_the_data(self, loss, values):
        prepared, encoded = prepare(loss, np.array(values))
        score = mean_of(encoded, prepared)
        assert prepared.mean(np.array([score]))[0] == pytest.approx(np.mean(values))

    def test_of_values_that_are_all_alike_is_finite(self):
        loss, encoded = prepare(Poisson(), np.zeros(4))
        assert np.isfinite(mean_of(encoded, loss))

    def test_model(self):
        seen = Observations([[0, 0, 0], [1, 1, 1]], [2.0, 4.0], (2, 3, 2))
        model = Mean().solve(Problem(seen, Square())).model
        np.testing.assert_allclose(model.to_dense(), np.full((2, 3, 2), 3.0))


def test_interpolation_refuses_a_mode_that_is_not_there():
    refuses(ValueError, ["along", "0 to 1", "2"], lambda: complete(walks()[0], method=Interpolation(along=2)))
    refuses(ValueError, ["along", "at least 0"], lambda: Interpolation(along=-1))


def test_fibres_without_entries_get_the_effects():
    data = sums()
    data[3, 4] = np.nan
    seen = Observations.from_dense(data)
    fit = complete(data, method=Interpolation(along=2), centre=False, smooth=None)
    fibre = [(3, 4, place) for place in range(8)]
    np.testing.assert_allclose(fit.predict(fibre), fit_additive(seen).predict(fibre))
