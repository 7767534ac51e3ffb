"""Probabilities and expected counts of a fit, and what they are refused for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from tensorfill import Choice, Observations, complete, load
from tensorfill.losses import Huber, Logistic, Poisson, Square

from .refusal import refuses

SHAPE = (12, 10, 8)


@pytest.fixture(scope="module")
def score():
    rng = np.random.default_rng(0)
    return 3 * np.einsum("i,j,k->ijk", *(rng.choice([-1.0, 1.0], size) * rng.uniform(0.7, 1.3, size) for size in SHAPE))


def observed(values):
    kept = np.random.default_rng(1).random(SHAPE) < 0.6
    return Observations.from_dense(values, kept), np.argwhere(~kept)


def fitted(values, loss, lam=0.5):
    data, missing = observed(values)
    return complete(data, loss=loss, lam=lam, rng=0), missing


def signs(score):
    rng = np.random.default_rng(2)
    return np.where(rng.random(SHAPE) < expit(score), 1.0, -1.0)


class Own:
    """A square loss by another name."""

    curvature = 1.0

    def value(self, prediction, observed):
        return Square().value(prediction, observed)

    def derivative(self, prediction, observed):
        return Square().derivative(prediction, observed)


@pytest.mark.parametrize("loss", ["logistic", Logistic()], ids=["name", "object"])
def test_probabilities_of_the_logistic_loss(score, loss, tmp_path):
    fit, missing = fitted(signs(score), loss)
    probability = fit.predict_proba(missing)
    np.testing.assert_array_equal(probability, expit(fit.predict(missing)))
    np.testing.assert_array_equal(fit.predict_mean(missing), probability)
    likely = score[tuple(missing.T)] > 0
    assert np.mean((probability > 0.5) == likely) > 0.9
    fit.save(tmp_path / "fit.npz")
    np.testing.assert_array_equal(load(tmp_path / "fit.npz").predict_proba(missing), probability)


def test_no_and_yes_may_be_given_as_0_and_1(score):
    values = signs(score)
    one, missing = fitted(values, "logistic")
    other, _ = fitted((values + 1) / 2, "logistic")
    np.testing.assert_array_equal(one.predict_proba(missing), other.predict_proba(missing))


class TestFilled:
    """What came in comes back, and the gaps get the expected observation."""

    def filled(self, values, loss, **options):
        kept = np.random.default_rng(1).random(SHAPE) < 0.6
        fit = complete(np.where(kept, values, np.nan), loss=loss, lam=0.5, rng=0, **options)
        filled = fit.filled()
        np.testing.assert_array_equal(filled[kept], values[kept])
        np.testing.assert_array_equal(fit.observations.values, values[kept])
        return fit, filled[~kept], np.argwhere(~kept)

    def test_zeros_and_ones_get_probabilities(self, score):
        values = (signs(score) + 1) / 2
        fit, gaps, missing = self.filled(values, "logistic")
        assert ((gaps > 0) & (gaps < 1)).all()
        np.testing.assert_allclose(gaps, fit.predict_proba(missing))
        assert np.mean((gaps > 0.5) == (values[tuple(missing.T)] == 1)) > 0.8

    def test_minus_and_plus_one_get_numbers_between_them(self, score):
        values = signs(score)
        fit, gaps, missing = self.filled(values, "logistic")
        assert ((gaps > -1) & (gaps < 1)).all()
        assert gaps.min() < -0.5
        np.testing.assert_allclose(gaps, 2 * fit.predict_proba(missing) - 1)

    def test_booleans_count_as_zeros_and_ones(self, score):
        values = signs(score) > 0
        kept = np.random.default_rng(1).random(SHAPE) < 0.6
        fit = complete(np.ma.MaskedArray(values, ~kept), loss="logistic", lam=0.5, rng=0)
        filled = fit.filled()
        np.testing.assert_array_equal(filled[kept], values[kept])
        np.testing.assert_allclose(filled[~kept], fit.predict_proba(np.argwhere(~kept)))
        assert ((filled[~kept] > 0) & (filled[~kept] < 1)).all()

    def test_counts_get_expected_counts(self, score):
        counts = np.random.default_rng(3).poisson(np.exp(score / 3)).astype(float)
        fit, gaps, missing = self.filled(counts, "poisson")
        assert (gaps >= 0).all()
        np.testing.assert_allclose(gaps, fit.predict_mean(missing))

    def test_a_search_does_not_change_that(self, score):
        values = (signs(score) + 1) / 2
        _, gaps, _ = self.filled(values, "logistic", choose=Choice(splits=2))
        assert ((gaps > 0) & (gaps < 1)).all()


def test_bounds_are_on_the_scale_of_the_data_and_not_of_the_score(score):
    data, missing = observed(signs(score))
    fit = complete(data, loss="logistic", lam=0.5, bounds=(0.2, 0.9), rng=0)
    probability = fit.predict_proba(missing)
    assert (probability.min(), probability.max()) == (0.2, 0.9)
    assert fit.predict(missing).min() < 0


@pytest.mark.parametrize("loss", ["poisson", Poisson(), Poisson(limit=6.0)], ids=["name", "object", "limit"])
def test_expected_counts_of_the_poisson_loss(score, loss, tmp_path):
    counts = np.random.default_rng(3).poisson(np.exp(score / 3)).astype(float)
    fit, missing = fitted(counts, loss)
    rate = fit.predict_mean(missing)
    np.testing.assert_array_equal(rate, np.exp(fit.predict(missing)))
    fit.save(tmp_path / "fit.npz")
    np.testing.assert_array_equal(load(tmp_path / "fit.npz").predict_mean(missing), rate)


def test_expected_counts_follow_the_true_rates(score):
    true = np.exp(score / 3)
    fit, missing = fitted(np.random.default_rng(3).poisson(true).astype(float), "poisson", lam="auto")
    assert np.corrcoef(fit.predict_mean(missing), true[tuple(missing.T)])[0, 1] > 0.5


@pytest.mark.parametrize("loss", ["square", "huber", Square(), Huber(2.0), Own()], ids=lambda loss: str(loss)[:9])
def test_the_mean_of_other_losses_is_the_prediction(score, loss):
    fit, missing = fitted(score, loss)
    np.testing.assert_array_equal(fit.predict_mean(missing), fit.predict(missing))
    refuses(ValueError, ["predict_proba is for loss='logistic'"], lambda: fit.predict_proba(missing))


def test_poisson_has_no_probability(score):
    fit, missing = fitted(np.round(np.exp(score / 3)), "poisson")
    refuses(ValueError, ["loss='logistic'", "Poisson("], lambda: fit.predict_proba(missing))


def test_intervals_of_signs_are_sets_on_the_scale_of_the_data(score):
    data, missing = observed(signs(score))
    fit = complete(data, loss="logistic", lam=0.5, choose=Choice(), rng=0)
    values, low, high = fit.predict(missing, interval=0.9)
    assert set(np.unique([low, high])) <= {-1.0, 1.0}
    np.testing.assert_allclose(values, 2 * fit.predict_proba(missing) - 1)
    assert (low <= high).all()


def test_nothing_dense_is_built_and_coords_are_checked(score):
    fit, _ = fitted(signs(score), "logistic")
    assert fit.predict_proba(np.empty((0, 3), dtype=int)).shape == (0,)
    refuses(ValueError, ["mode 0"], lambda: fit.predict_proba([[12, 0, 0]]))
