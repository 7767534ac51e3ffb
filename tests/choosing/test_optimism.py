"""The error of the best of many answers, at the entries by which it was chosen, is corrected."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Choice, Observations, complete, load
from tensorfill.choosing.optimism import DIVISIONS, ENOUGH, FOLDS, inflation


def best_of(answers):
    return min(answers, key=lambda losses: losses.mean())


class TestInflation:
    def test_answers_that_are_equally_good_get_their_own_loss_back(self):
        random = np.random.default_rng(0)
        naive, corrected = [], []
        for _ in range(100):
            answers = random.exponential(size=(40, 25))
            best = best_of(answers)
            naive.append(best.mean())
            corrected.append(inflation(answers, best) ** 2 * best.mean())
        assert np.mean(naive) < 0.72
        assert np.mean(corrected) == pytest.approx(1.0, abs=0.04)

    def test_a_clear_winner_is_hardly_corrected(self):
        random = np.random.default_rng(0)
        base = random.exponential(size=60)
        answers = [factor * base for factor in (5.0, 3.0, 1.0, 2.0)]
        assert inflation(answers, answers[2]) == pytest.approx(1.0, abs=0.02)

    def test_against_loops(self):
        random = np.random.default_rng(1)
        answers = random.exponential(size=(7, 12))
        best, draws, honest = best_of(answers), np.random.default_rng(0), []
        for _ in range(DIVISIONS):
            fold = draws.permutation(12) % FOLDS
            honest.append(0.0)
            for number in range(FOLDS):
                chosen = min(answers, key=lambda losses: losses[fold != number].sum())
                honest[-1] += chosen[fold == number].sum() / 12
        assert inflation(list(answers), best) == pytest.approx(np.sqrt(np.mean(honest) / best.mean()))

    @pytest.mark.parametrize(
        "answers",
        [[np.ones(20)], [np.zeros(20)] * 3, [np.ones(1)] * 3, list(np.random.default_rng(0).random((3, ENOUGH + 1)))],
        ids=["one answer", "no loss", "one entry", "many entries"],
    )
    def test_it_is_one_if_there_is_nothing_to_correct(self, answers):
        assert inflation(answers, answers[0]) == 1.0

    def test_answers_that_are_exact_are_alike(self):
        # The second is exact to the last bit at most entries, but far off at two of them.
        exact, at_most, bad = np.full(20, 1e-18), np.zeros(20), np.ones(20)
        at_most[:2] = 5.0
        assert inflation([exact, at_most, bad], exact) == 1.0

    def test_it_is_never_below_one(self):
        # The chosen answer may be another than the best on average, by the rules of a search.
        random = np.random.default_rng(0)
        answers = random.exponential(size=(5, 30))
        assert inflation(answers, 10 * answers[0]) == 1.0


def sums(seed=0, shape=(12, 10, 3), noise=0.5):
    """Return effects and a weak part of rank two, and the same with half of the entries missing."""
    random = np.random.default_rng(seed)
    factors = [random.standard_normal((size, 2)) for size in shape]
    whole = 0.3 * np.einsum("ir,jr,kr->ijk", *factors) + noise * random.standard_normal(shape)
    for mode, size in enumerate(shape):
        whole = whole + random.standard_normal(size).reshape([-1 if at == mode else 1 for at in range(3)])
    return whole, np.where(random.random(shape) < 0.5, np.nan, whole)


@pytest.fixture(scope="module")
def fit():
    return complete(sums()[1], method="nort", rng=0)


class TestFits:
    def test_errors_are_raised_and_it_is_said(self, fit):
        bars = fit.error_bars
        assert bars.inflation > 1.02
        np.testing.assert_allclose(fit.residuals, bars.inflation * np.abs(fit.held_out.errors))
        assert fit.held_out_error == pytest.approx(bars.inflation * np.sqrt(np.mean(fit.held_out.errors**2)))
        assert "because they chose the settings" in str(fit)

    def test_the_correction_is_saved(self, fit, tmp_path):
        fit.save(tmp_path / "fit.npz")
        assert load(tmp_path / "fit.npz").error_bars.inflation == pytest.approx(fit.error_bars.inflation)

    def test_draws_are_as_wide_as_the_intervals(self, fit):
        errors = fit.error_bars.drawn(np.zeros((4000, 3), int), np.zeros(4000), np.random.default_rng(0))
        assert np.abs(errors).max() == pytest.approx(fit.residuals.max())

    def test_given_settings_are_not_corrected(self):
        fit = complete(sums()[1], method="cp", rank=1, ridge=1.0, centre=True, smooth=None, choose=Choice(), rng=0)
        # The same settings, solved twice as far.
        assert fit.error_bars.inflation == pytest.approx(1.0, abs=1e-3)
        assert "because they chose" not in str(fit)

    def test_scores_are_not_corrected(self):
        random = np.random.default_rng(0)
        data = np.where(random.random((12, 10, 4)) < 0.4, np.nan, random.random((12, 10, 4)) < 0.5)
        fit = complete(data, loss="logistic", method="nort", choose=Choice(splits=1), rng=0)
        assert fit.error_bars.inflation == 1.0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tensorfill.choosing.doubts.DoubtfulFitWarning")
@pytest.mark.parametrize("given", [False, True], ids=["a tenth", "given entries"])
@pytest.mark.parametrize(("shape", "held_out"), [((12, 10, 3), 18), ((14, 12, 6), 50)])
def test_few_held_out_entries_tell_the_true_error(shape, held_out, given):
    """After a search with nothing given: without the correction the errors are 0.8 to 0.95 of the truth."""
    errors, claimed, inside = [], [], []
    for seed in range(30):
        whole, data = sums(seed, shape)
        missing, choose = np.isnan(data), None
        if given:
            seen = Observations.from_dense(data)
            training, validation = seen.split(held_out / len(seen), rng=seed)
            choose, data = Choice(validation=validation), training
        fit = complete(data, choose=choose, rng=seed)
        _, low, high = fit.predict(np.argwhere(missing), interval=0.8)
        errors.append(np.mean((fit.to_dense() - whole)[missing] ** 2))
        claimed.append(fit.held_out_error**2)
        inside.append(np.mean((low <= whole[missing]) & (whole[missing] <= high)))
    assert 0.93 < np.sqrt(np.mean(claimed) / np.mean(errors)) < 1.12
    assert 0.77 < np.mean(inside) < 0.88
