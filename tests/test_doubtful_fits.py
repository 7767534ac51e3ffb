"""A fit that has hardly found anything says so."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from tensorfill import Choice, Observations, complete
from tensorfill.choosing.doubts import DoubtfulFitWarning, doubt_of_few_entries, doubt_of_variation
from tensorfill.choosing.holdout.held_out import HeldOut
from tensorfill.datasets import synthetic
from tensorfill.labels import Labels
from tests.refusal import refuses

DOUBT = "hardly better than 0"


def noise(seed=0):
    rng = np.random.default_rng(seed)
    return Observations.from_dense(rng.standard_normal((15, 14, 13)), rng.random((15, 14, 13)) < 0.5)


def test_pure_noise_is_called_doubtful():
    with pytest.warns(UserWarning, match=DOUBT) as caught:
        fit = complete(noise(), rng=0)
    said = str(next(each.message for each in caught if DOUBT in str(each.message)))
    assert "held-out entries" in said
    assert f"error on held-out entries is {np.sqrt(np.mean(fit.held_out.errors**2)):.4g}" in said
    assert np.isfinite(fit.to_dense()).all()


@pytest.mark.parametrize("seed", range(4))
def test_zero_is_always_called_doubtful(seed):
    """The held-out values of small data may be smaller than the rest; zero is no better there for that."""
    with pytest.warns(UserWarning, match=DOUBT):
        complete(noise(seed), method="nort", lam=1e3, choose=Choice(), smooth=None, centre=False, rng=seed)


def test_a_lambda_that_leaves_nothing_is_called_doubtful():
    with pytest.warns(UserWarning, match=f"{DOUBT}.*observed entries"):
        complete(noise(), lam=1e3, rng=0)


@pytest.mark.parametrize("method", ["grow", "nort"])
def test_a_good_fit_is_not(method):
    data = synthetic((20, 18, 16), rank=2, rng=0).observations
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        complete(data, method=method, rng=0)


def test_data_that_is_zero_is_not():
    data = Observations.from_dense(np.zeros((8, 7, 6)), np.random.default_rng(0).random((8, 7, 6)) < 0.7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        complete(data, method="nort", lam=0.1, rng=0)


def wide_range(seed=0):
    """A matrix of rank one from 1e-6 to 1e6: a few entries hold nearly all of the variation."""
    whole = np.outer(np.logspace(-3, 3, 20), np.logspace(-3, 3, 15))
    return np.where(np.random.default_rng(seed + 100).random(whole.shape) < 0.3, np.nan, whole), whole


class TestVariationOfHeldOutEntries:
    def test_an_error_that_does_not_hold_for_large_entries_is_said(self):
        data, whole = wide_range()
        with pytest.warns(DoubtfulFitWarning, match="does not hold for the largest entries"):
            fit = complete(data, rng=0)
        missing = np.isnan(data)
        error = np.sqrt(np.mean((fit.to_dense() - whole)[missing] ** 2))
        assert error > 10 * fit.held_out_error
        assert "does not hold for the largest entries" in str(fit)

    def test_not_for_ordinary_data(self):
        fit = complete(synthetic((12, 11, 10), rank=2, rng=0).observations, rng=0)
        assert "WARNING" not in str(fit)

    @pytest.mark.parametrize(("ratio", "doubtful"), [(0.29, True), (0.31, False)])
    def test_where_it_begins(self, ratio, doubtful):
        observed = np.tile([-1.0, 1.0], 50)
        assert (doubt_of_variation(ratio * observed, observed) is not None) == doubtful
        # The unit does not matter, even where squares would overflow.
        assert (doubt_of_variation(1e200 * ratio * observed, 1e200 * observed) is not None) == doubtful


class TestFewEntriesWithMostOfTheError:
    @pytest.mark.filterwarnings("ignore:The answer is hardly better than 0")
    def test_it_names_them(self):
        rng = np.random.default_rng(0)
        winds = 10 + rng.random((60, 1)) * rng.random((1, 30)) + 0.5 * rng.standard_normal((60, 30))
        winds[3, 3] = 1048.0
        held_out = np.zeros(winds.shape, dtype=bool)
        held_out[np.arange(60), np.arange(60) % 30] = True
        validation = Observations.from_dense(winds, held_out)
        with pytest.warns(DoubtfulFitWarning, match=r"1 of 60 held-out entries has .* \(3, 3\) is 1,048, and 1"):
            fit = complete(
                Observations.from_dense(winds, ~held_out & (rng.random(winds.shape) < 0.7)),
                choose=Choice(validation=validation),
                smooth=None,
                rng=0,
            )
        assert "of the squared error: (3, 3)" in str(fit)

    @pytest.mark.parametrize("wrong", [0, 1, 3, 8])
    def test_one_to_three(self, wrong):
        residuals = np.r_[np.full(wrong, 100.0), np.ones(100 - wrong)]
        coords = np.stack([np.arange(100), np.arange(100)], axis=1)
        around = Observations(coords, np.zeros(100), (100, 100))
        observed = residuals + np.linspace(0, 5, 100)
        held_out = HeldOut(coords, observed, observed - residuals, None, around)
        doubt = doubt_of_few_entries(held_out, Labels.plain(2))
        assert (doubt is not None) == (0 < wrong <= 3)
        # Tiny errors, of data without noise, are no reason to warn.
        assert doubt_of_few_entries(replace(held_out, predicted=observed - 1e-9 * residuals), Labels.plain(2)) is None
        # Nor are those of a method that shrinks the largest entries too much.
        tails = residuals + np.linspace(0, 200, 100)
        held_out = replace(held_out, observed=tails, predicted=tails - residuals)
        assert doubt_of_few_entries(held_out, Labels.plain(2)) is None


class TestRounding:
    DATA = np.where(np.random.default_rng(1).random((9, 8, 7)) < 0.3, np.nan, 1.0) * (
        np.random.default_rng(0).standard_normal((9, 1, 1)) * np.random.default_rng(2).standard_normal((8, 7))
    )

    def test_values_that_rounding_makes_alike_are_refused(self):
        refuses(ValueError, ["1.7e+09", "float32", "float64"], lambda: complete(self.DATA + 1.7e9, dtype="float32"))

    @pytest.mark.parametrize("options", [{"dtype": "float64"}, {"dtype": "float32", "offset": 1e3}])
    def test_others_are_taken(self, options):
        offset = options.pop("offset", 1.7e9)
        fit = complete(self.DATA + offset, rng=0, **options)
        assert np.isfinite(fit.to_dense()).all()

    def test_constant_values_are_taken(self):
        complete(0.0 * self.DATA + 0.1, dtype="float32", rng=0)
