"""TRMF: each update is the minimum that it is said to be, and time makes up for gaps."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

from tensorfill import Observations, Problem, Trmf, complete
from tensorfill.baselines.series.panel import Panel
from tensorfill.baselines.series.trmf import forecast
from tensorfill.losses import Square
from tensorfill.metrics import rmse
from tensorfill.models import CPModel, Dense, Merged, Placed
from tests.methods.zoo import low_rank
from tests.refusal import refuses

from .test_autoregression import banded

GIVEN = {"rank": 2, "lags": (1, 2), "lam": 0.1, "lam_time": 2.0}


def planted(series=12, steps=120, seed=0):
    """Return series that are sums of two waves, each of which is an autoregression of two lags."""
    rng = np.random.default_rng(seed)
    at = np.arange(steps)
    time = np.stack([np.sin(at / 5), np.cos(at / 11)], axis=1)
    return rng.standard_normal((series, 2)) @ time.T


def seasonal(series=10, steps=140, period=7, seed=0):
    rng = np.random.default_rng(seed)
    pattern = rng.standard_normal((period, 2))
    return rng.standard_normal((series, 2)) @ np.tile(pattern, (steps // period, 1)).T + 2.0


def objective(table, series, time, coefficients, method):
    errors = (series @ time.T - table)[np.isfinite(table)]
    smooth = [banded(method.lags, a, len(time)) @ column for a, column in zip(coefficients.T, time.T, strict=True)]
    ridge = np.sum(series**2) + np.sum(time**2)
    rough = np.sum(np.square(smooth)) + method.lam * np.sum(coefficients**2)
    return 0.5 * (errors @ errors + method.lam * ridge + method.lam_time * rough)


def test_the_end_is_a_minimum_over_all_unknowns_and_the_objective_is_as_documented():
    table = planted(5, 16)
    table[np.random.default_rng(1).random(table.shape) < 0.3] = np.nan
    method = Trmf(**GIVEN, along=1, tol=1e-12, max_iter=3000)
    problem = Problem(Observations.from_dense(table), Square())
    solver = method.prepare(problem, None, np.random.default_rng(0))
    for _ in range(2000):
        solver.step()
    state = solver.state()
    sizes = [state[name].shape for name in ("series", "time", "coefficients")]

    def value(point):
        parts = np.split(point, np.cumsum([np.prod(size) for size in sizes])[:-1])
        return objective(table, *(part.reshape(size) for part, size in zip(parts, sizes, strict=True)), method)

    end = np.concatenate([state[name].ravel() for name in ("series", "time", "coefficients")])
    assert solver.progress().objective == pytest.approx(value(end), rel=1e-10)
    gradient = scipy.optimize.approx_fprime(end, value, 1e-6)
    assert np.abs(gradient).max() < 1e-3


@pytest.mark.parametrize("lam", [0.0, 1e-3, 1.0])
def test_the_objective_falls_also_with_steps_without_entries(lam):
    table = planted()
    table[:, 40:50] = np.nan
    table[3] = np.nan
    method = Trmf(**{**GIVEN, "lam": lam}, along=1, max_iter=40, tol=0.0)
    history = method.solve(Problem(Observations.from_dense(table), Square()), rng=0).history
    merit = history["f_tau"]
    assert (np.diff(merit) <= 1e-9 * merit[:-1].max()).all()
    assert merit[-1] < merit[0]


def test_a_gap_of_all_series_is_filled_by_time_alone():
    truth = planted()
    rng = np.random.default_rng(0)
    table = np.where(rng.random(truth.shape) < 0.7, truth + 0.05 * rng.standard_normal(truth.shape), np.nan)
    table[:, 50:56] = np.nan
    problem, errors = Problem(Observations.from_dense(table), Square()), []
    for weight in (0.0, 30.0):
        method = Trmf(rank=2, lags=(1, 2), lam=0.01, lam_time=weight, along=1, max_iter=1000)
        errors.append(rmse(method.solve(problem, rng=0).model.to_dense()[:, 50:56], truth[:, 50:56]))
    assert errors[0] > 0.8 * rmse(truth[:, 50:56], 0.0 * truth[:, 50:56])
    assert errors[1] < 0.15 * errors[0]


def test_few_entries_of_each_step_gain_by_time():
    truth = planted(20, 200)
    rng = np.random.default_rng(0)
    seen = rng.random(truth.shape) < 0.12
    problem = Problem(Observations.from_dense(truth + 0.1 * rng.standard_normal(truth.shape), seen), Square())
    errors = [
        rmse(Trmf(rank=2, lags=(1, 2), lam=0.1, lam_time=w, along=1).solve(problem, rng=0).model.to_dense(), truth)
        for w in (0.0, 10.0)
    ]
    assert errors[1] < 0.5 * errors[0]


@pytest.mark.slow
def test_held_out_entries_choose_all_settings():
    truth = planted(20, 150)
    rng = np.random.default_rng(0)
    seen = rng.random(truth.shape) < 0.3
    assert seen.any(axis=0).all()
    data = Observations.from_dense(truth + 0.05 * rng.standard_normal(truth.shape), seen)
    fit = complete(data, method="trmf", along=1, centre=False, smooth=None, rng=0)
    assert {"rank", "lags_0", "lam", "lam_time"} <= set(fit.path.best.tried)
    assert fit.method.lam_time > 0
    assert rmse(fit.to_dense()[~seen], truth[~seen]) < 0.1 * truth.std()


class TestForms:
    def test_a_matrix_has_a_cp_model_and_more_modes_are_merged(self):
        truth, data = low_rank((6, 5, 9), noise=0.01, density=0.7)
        for along in range(3):
            method = Trmf(**GIVEN, along=along)
            model = method.solve(Problem(data, Square()), rng=0).model
            assert isinstance(model, Merged)
            assert isinstance(model.model, CPModel)
            moved = np.moveaxis(data.to_dense(), along, -1).reshape(-1, truth.shape[along])
            matrix = Problem(Observations.from_dense(moved), Square())
            flat = Trmf(**GIVEN, along=1).solve(matrix, rng=0).model
            assert isinstance(flat, CPModel)
            expected = np.moveaxis(model.to_dense(), along, -1).reshape(moved.shape)
            np.testing.assert_allclose(flat.to_dense(), expected, atol=1e-6)
        turned = Trmf(**GIVEN, along=0).solve(Problem(Observations.from_dense(moved.T), Square()), rng=0).model
        np.testing.assert_allclose(turned.to_dense().T, flat.to_dense(), atol=1e-4)

    def test_a_series_without_entries_is_the_mean_of_the_others(self):
        truth = planted(6, 30)
        for shape in ((6, 30), (2, 3, 30)):
            table = truth.reshape(shape).copy()
            table[(4,) if len(shape) == 2 else (1, 1)] = np.nan
            method = Trmf(**GIVEN, along=-1)
            model = method.solve(Problem(Observations.from_dense(table), Square()), rng=0).model
            filled = model.to_dense().reshape(6, 30)
            np.testing.assert_allclose(filled[4], filled[[0, 1, 2, 3, 5]].mean(axis=0), atol=1e-10)
            assert len(shape) == 2 or isinstance(model.model, Placed)
            assert method.can_start_from(model, Problem(Observations.from_dense(table), Square()))

    def test_it_goes_on_with_other_entries_and_more_terms(self):
        truth = planted(6, 60).reshape(2, 3, 60)
        seen = np.random.default_rng(0).random(truth.shape) < 0.6
        fewer = seen.copy()
        fewer[1, 2] = False
        problems = [Problem(Observations.from_dense(truth, each), Square()) for each in (fewer, seen)]
        model = Trmf(**{**GIVEN, "rank": 1}, along=2).solve(problems[0], rng=0).model
        method = Trmf(**GIVEN, along=2)
        assert method.can_start_from(model, problems[1])
        assert not Trmf(**GIVEN, along=1).can_start_from(model, problems[1])
        again = method.solve(problems[1], start=model, rng=0)
        assert again.model.ranks == (2,)
        assert rmse(again.model.to_dense(), truth) < 0.2 * truth.std()
        words = ["start must be", "'trmf'", "Dense"]
        refuses(ValueError, words, lambda: method.solve(problems[1], start=Dense(truth), rng=0))

    def test_only_series_with_entries_have_a_row(self):
        coords = np.array([[0, 7, 3], [5, 7, 4], [5, 2, 3]])
        panel = Panel.of(Observations(coords, np.arange(3.0), (10**5, 10**4, 6)), 2)
        assert panel.entries.shape == (3, 6)
        assert panel.kept.tolist() == [7, 5 * 10**4 + 2, 5 * 10**4 + 7]


class TestForecast:
    @pytest.mark.parametrize("shape", [(10,), (2, 5)])
    @pytest.mark.parametrize("scale", [1.0, 2.0**12])
    def test_a_season_goes_on(self, shape, scale):
        truth = seasonal() * scale
        past = truth[:, :126].copy()
        past[np.random.default_rng(0).random(past.shape) < 0.3] = np.nan
        past[7, 100:] = np.nan
        data = Observations.from_dense(past.reshape(*shape, 126))
        method = Trmf(rank=3, lags=(1, 7), lam=0.01 * scale, lam_time=1.0 * scale, along=-1)
        ahead = forecast(method.solve(Problem(data, Square()), rng=0).model, 14, method)
        assert ahead.shape == (*shape, 14)
        error = rmse(ahead.to_dense().reshape(10, 14), truth[:, 126:])
        last = rmse(np.repeat(truth[:, 125:126], 14, axis=1), truth[:, 126:])
        assert error < 0.1 * last
        coords = np.argwhere(np.ones((*shape, 14)))
        np.testing.assert_allclose(ahead.predict(coords), ahead.to_dense().ravel())

    def test_the_unit_of_a_model_does_not_matter(self):
        data = Observations.from_dense(seasonal())
        method = Trmf(rank=3, lags=(1, 7), lam=1.0, lam_time=3.0, along=1)
        model = method.solve(Problem(data, Square()), rng=0).model
        ahead, larger = forecast(model, 7, method), forecast(model.scaled(64.0), 7, method.in_unit(-6, 2, 2))
        np.testing.assert_allclose(larger.to_dense(), 64 * ahead.to_dense(), rtol=1e-10)

    def test_another_model_or_mode_is_refused(self):
        method = Trmf(**GIVEN, along=1)
        words = ["model must be an answer of 'trmf'", "mode 1", "Dense"]
        refuses(ValueError, words, lambda: forecast(Dense(np.ones((3, 4))), 2, method))
        _, data = low_rank((4, 5, 9))
        model = Trmf(**GIVEN, along=2).solve(Problem(data, Square()), rng=0).model
        refuses(ValueError, ["mode 1"], lambda: forecast(model, 2, method))
        refuses(ValueError, ["steps", "at least 1"], lambda: forecast(model, 0, method))
