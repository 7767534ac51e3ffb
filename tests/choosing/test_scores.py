"""Losses whose prediction is a score: square finds, the likelihood finishes, and held-out entries decide."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import spearmanr

import tensorfill
from tensorfill import CP, Calibrated, Clock, CPMeans, Grow, Observations, Problem, complete
from tensorfill.losses import Logistic, Poisson, prepare
from tensorfill.models import Linked
from tests.refusal import refuses

SHAPE = (24, 20, 16)


def terms(rng, *, positive=False):
    draw = (lambda size: rng.gamma(1.0, 1.0, size)) if positive else rng.standard_normal
    tensor = np.einsum("ir,jr,kr->ijk", *(draw((size, 2)) for size in SHAPE))
    return 2 * tensor / (tensor.mean() if positive else tensor.std())


def counts(seed=0, share=0.5):
    """Return counts whose rates are of low rank, with gaps, and the rates."""
    rng = np.random.default_rng(seed)
    rates = terms(rng, positive=True)
    seen = rng.poisson(rates).astype(float)
    seen[rng.random(SHAPE) > share] = np.nan
    return seen, rates


def yes_or_no(seed=0, share=0.5, mean=0.0):
    """Return zeros and ones whose scores are of low rank, with gaps, and the probabilities."""
    rng = np.random.default_rng(seed)
    chance = 1 / (1 + np.exp(-(2 * terms(rng) + mean)))
    seen = (rng.random(SHAPE) < chance).astype(float)
    seen[rng.random(SHAPE) > share] = np.nan
    return seen, chance


def test_auto_has_contenders_beside_nort_and_a_given_setting_leaves_those_that_have_it():
    seen, _ = counts()
    fit = complete(seen, loss="poisson", rng=0)
    assert {point.method.name for point in fit.path} == {"cp", "cp_means", "calibrated", "nort"}
    fit = complete(seen, loss="poisson", rank=2, rng=0)
    assert {point.method.name for point in fit.path} == {"cp", "cp_means"}
    fit = complete(seen, loss="poisson", lam=1.0, rng=0)
    assert fit.method.name == "nort"


def test_rates_of_low_rank_are_found_better_than_by_least_squares():
    seen, rates = counts()
    gaps = np.isnan(seen)
    errors = {
        loss: np.sqrt(np.mean((complete(seen, loss=loss, rng=0).to_dense() - rates)[gaps] ** 2))
        for loss in ("square", "poisson")
    }
    assert errors["poisson"] < 0.95 * errors["square"]


def test_probabilities_are_found_better_than_by_least_squares():
    seen, chance = yes_or_no()
    gaps = np.isnan(seen)
    square, logistic = (complete(seen, loss=loss, rng=0).to_dense() for loss in ("square", "logistic"))
    assert np.mean((logistic - chance)[gaps] ** 2) < 0.7 * np.mean((np.clip(square, 0, 1) - chance)[gaps] ** 2)


class TestStart:
    @pytest.mark.parametrize("mean", [0.0, -3.0])
    def test_least_squares_are_near_to_what_the_likelihood_ends_at(self, mean):
        seen, _ = yes_or_no(mean=mean)
        loss, values = prepare(Logistic(), seen[~np.isnan(seen)])
        problem = Problem(Observations(np.argwhere(~np.isnan(seen)), values, SHAPE), loss)
        method = CP(rank=3, ridge=1.0)
        near = method.approach(problem, rng=np.random.default_rng(0), callback=None, clock=Clock())
        assert near.model.ranks == (3,)
        of_zero = problem.value(np.zeros(len(values)))
        start = problem.value(near.model.predict(problem.observations.coords))
        end = method.solve(problem, start=near.model, rng=0).history[-1].objective
        assert end < start < of_zero
        assert of_zero - start > 0.5 * (of_zero - end)

    def test_an_offset_needs_no_constant_term(self):
        seen, _ = counts()
        loss, values = prepare(Poisson(), seen[~np.isnan(seen)])
        problem = Problem(Observations(np.argwhere(~np.isnan(seen)), values, SHAPE), loss).beyond(
            np.full(len(values), 0.5)
        )
        near = CP(rank=3, ridge=1.0).approach(problem, rng=np.random.default_rng(0), callback=None, clock=Clock())
        assert near.model.ranks == (3,)
        flat = [np.ptp(factor, axis=0) < 1e-12 for factor in near.model.factors]
        assert not np.all(flat, axis=0).any()

    def test_a_callback_is_shown_scores(self):
        seen, _ = yes_or_no()
        shown = []
        complete(
            seen, loss="logistic", method=CPMeans(rank=2, ridge=1.0, width=0.1), rng=0,
            callback=lambda record, model: shown.append(model),
        )  # fmt: skip
        assert shown
        assert all(isinstance(model, Linked) for model in shown)


class TestCalibrated:
    def test_it_ranks_as_least_squares_do_and_has_a_better_likelihood_than_the_mean(self):
        seen, chance = yes_or_no(mean=-3.0)
        gaps = np.isnan(seen)
        fit = complete(seen, loss="logistic", method="calibrated", rng=0)
        inner = fit.method.method
        squares = complete(seen, method=inner, centre=fit.method.centred, smooth=None, rng=0).to_dense()
        ours = fit.to_dense()
        assert spearmanr(squares[gaps], ours[gaps]).statistic > 0.95
        rate = np.nanmean(seen)
        ours, chance = np.clip(ours[gaps], 1e-9, 1 - 1e-9), chance[gaps]
        mean_loss = -np.mean(chance * np.log(ours) + (1 - chance) * np.log(1 - ours))
        assert mean_loss < -np.mean(chance * np.log(rate) + (1 - chance) * np.log(1 - rate))

    def test_the_curve_is_in_the_recipe_which_repeats_without_a_search(self, tmp_path):
        seen, _ = counts()
        fit = complete(seen, loss="poisson", method="calibrated", rng=0)
        again = complete(seen, **fit.recipe.arguments())
        assert again.method == fit.method
        np.testing.assert_allclose(again.to_dense(), fit.to_dense(), rtol=0.05, atol=0.05)
        fit.save(tmp_path / "fit.npz")
        loaded = tensorfill.load(tmp_path / "fit.npz")
        assert loaded.recipe == fit.recipe
        np.testing.assert_array_equal(loaded.to_dense(), fit.to_dense())

    def test_the_numbers_of_the_curve_are_used(self):
        seen, _ = counts()
        given = Calibrated(method=Grow(rank=2, form="cp"), width=0.1)
        scores = complete(seen, loss="poisson", method=given, rng=0).model
        other = dataclasses.replace(given, intercept=1.0, slope=0.5)
        np.testing.assert_allclose(
            complete(seen, loss="poisson", method=other, rng=0).model.to_dense(), 1 + 0.5 * scores.to_dense()
        )

    def test_bad_settings_get_one_sentence(self):
        refuses(ValueError, ["method", "'auto'", "'grow'"], lambda: Calibrated(method="grow"))
        refuses(ValueError, ["slope", "-1"], lambda: Calibrated(slope=-1.0))
        refuses(ValueError, ["width", "0"], lambda: Calibrated(width=0.0))


def test_slices_without_entries_are_filled_on_the_scale_of_the_data():
    seen, _ = counts()
    seen[3], seen[:, 5] = np.nan, np.nan
    for method in ("cp_means", "calibrated"):
        with pytest.warns(UserWarning, match="no observed entry|without"):
            dense = complete(seen, loss="poisson", method=method, rng=0).to_dense()
        assert np.isfinite(dense).all()
        assert (dense >= 0).all()


def test_more_terms_than_indices_of_a_mode_are_found():
    rng = np.random.default_rng(0)
    seen = rng.poisson(rng.gamma(1.0, 1.0, (20, 15, 1)) * rng.gamma(1.0, 1.0, (1, 15, 3))).astype(float)
    seen[rng.random(seen.shape) < 0.2] = np.nan
    for method in (CP(rank=5, ridge=1.0), CPMeans(rank=5, ridge=1.0, width=0.1)):
        assert np.isfinite(complete(seen, loss="poisson", method=method, rng=0).to_dense()).all()
