"""The loss that data suggests: values of two kinds, counts, gross errors; and that it is kept only if it is better."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

import tensorfill
from tensorfill import Observations, completion
from tensorfill.choosing.doubts import DoubtfulFitWarning
from tensorfill.choosing.suggested_loss import (
    are_enough,
    are_out_of_proportion,
    gains_without,
    is_better,
    loss_of_values,
)
from tensorfill.losses import Logistic, Poisson, Square
from tensorfill.models import Dense
from tests.refusal import refuses

SHAPE = (16, 14, 12)


def low_rank(seed=0, terms=2):
    random = np.random.default_rng(seed)
    return np.einsum("ir,jr,kr->ijk", *(random.standard_normal((size, terms)) for size in SHAPE)), random


def with_holes(values, random, share=0.4):
    return np.where(random.random(values.shape) < share, np.nan, values)


def gross(seed=0, share=0.03):
    """Return a low-rank tensor with a few entries shifted far, what is given, and the shifted ones."""
    truth, random = low_rank(seed)
    dirty = truth + 0.05 * random.standard_normal(SHAPE)
    corrupt = random.random(SHAPE) < share
    dirty[corrupt] += 8 * truth.std() * random.choice([-1, 1], corrupt.sum())
    return truth, with_holes(dirty, random), corrupt


@pytest.mark.parametrize(
    ("values", "loss"),
    [
        ([0, 1, 1, 0], "logistic"),
        ([-1, 1, 1, -1], "logistic"),
        ([0, 0, 0, 0], None),
        ([1, 1, 1, 1], None),
        ([-1, 0, 1, 0], None),
        ([0, 1, 2, 0], "poisson"),
        ([0, 1, 2, 5], None),
        ([1, 2, 3, 5], None),
        ([0, 1, 2.5, 5], None),
        ([-1, 0, 2, 5], None),
        ([0, 100, 200, 255], None),
    ],
)
def test_the_kind_of_values(values, loss):
    assert loss_of_values(np.array(values, dtype=float)) == loss


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_errors_out_of_all_proportion(unit):
    ordinary = np.tile([-1.0, 1.0], 50) * unit
    values = np.linspace(-5.0, 5.0, 101) * unit
    assert not are_out_of_proportion(ordinary, values)
    # A single error of 5 is within six standard deviations; one of 12 has more than half of the squares.
    assert not are_out_of_proportion(np.append(ordinary, 5 * unit), values)
    assert are_out_of_proportion(np.append(ordinary, 12 * unit), values)
    # Where most errors are as large as most values, nothing is known of what is out of proportion.
    assert not are_out_of_proportion(np.append(ordinary, 12 * unit), values / 4)


def test_corrupt_entries_are_not_looked_for_in_much_data():
    errors = np.append(np.tile([-1.0, 1.0], 50), 12.0)
    values = np.linspace(-5.0, 5.0, 1_000_001)
    assert not are_out_of_proportion(errors, values)
    assert are_out_of_proportion(errors, values[1:])


def test_gross_errors_are_left_out_with_nothing_said():
    truth, dirty, corrupt = gross()
    with pytest.warns(DoubtfulFitWarning, match="out of all proportion .* loss='l1'"):
        fit = tensorfill.complete(dirty, rng=0)
    square = tensorfill.complete(dirty, loss="square", rng=0)
    missing = np.isnan(dirty)
    ours, theirs = (np.sqrt(np.mean((each.to_dense() - truth)[missing] ** 2)) for each in (fit, square))
    assert ours < 0.5 * theirs
    found = np.zeros(SHAPE, dtype=bool)
    found[tuple(fit.outliers()[0].T)] = True
    assert found[corrupt & ~missing].mean() > 0.9
    assert "loss" in str(fit)
    assert "l1, " in str(fit)


def test_it_is_the_answer_of_that_loss_given_and_repeats():
    _, dirty, _ = gross()
    with pytest.warns(DoubtfulFitWarning, match="out of all proportion"):
        fit = tensorfill.complete(dirty, rng=0)
    given = tensorfill.complete(dirty, loss="l1", rng=0)
    assert fit.recipe.asked["loss"] == "l1"
    np.testing.assert_array_equal(fit.to_dense(), given.to_dense())
    again = tensorfill.complete(dirty, **fit.recipe.arguments())
    assert again.recipe.asked["loss"] == "l1"


@pytest.mark.filterwarnings("ignore:3 of|2 of|1 of")
def test_heavy_tails_are_no_gross_errors():
    """Entries that are rightly large are not left out: nothing is predicted better without them."""
    truth, random = low_rank(3)
    heavy = with_holes(truth + 0.1 * random.standard_t(1.5, SHAPE), random)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*were left out")
        fit = tensorfill.complete(heavy, rng=0)
    assert isinstance(fit.loss, Square)


def answer_of(errors, corrupt=None, observed=None, model=None):
    """Return what `is_better` looks at, of an answer with these errors at the first held-out entries of a matrix."""
    coords = np.argwhere(np.ones((40, 10), dtype=bool))[: len(errors)]
    observed = np.zeros(len(errors)) if observed is None else observed
    held_out = Entries(residuals=np.abs(errors), coords=coords, observed=observed)
    return SimpleNamespace(
        error_bars=SimpleNamespace(held_out=held_out), corrupt=corrupt, result=SimpleNamespace(model=model)
    )


class Entries(SimpleNamespace):
    def __len__(self):
        return len(self.residuals)


def judged(count, predicted):
    """Return whether an answer is better that leaves out `count` entries of 100 and predicts them as given."""
    random = np.random.default_rng(0)
    usual, observed = random.standard_normal(100), np.zeros(100)
    observed[:count] = 50.0
    usual[:count] = 50.0
    corrupt = np.zeros(400, dtype=bool)
    corrupt[:count] = True
    other = answer_of(usual[count:] * 0.5, corrupt, model=Dense(np.full((40, 10), predicted)))
    other.error_bars.held_out.coords = answer_of(usual).error_bars.held_out.coords[count:]
    values = np.zeros((40, 10))
    values.ravel()[:count] = 50.0
    return is_better(other, answer_of(usual, observed=observed), Observations.from_dense(values))


@pytest.mark.parametrize(("times", "gains"), [(0.5, True), (1.0, False), (1.1, False)])
def test_settings_are_chosen_again_only_if_those_at_hand_gain_without_corrupt_entries(times, gains):
    errors = np.random.default_rng(0).standard_normal(400)
    predicted = Dense(times * errors.reshape(40, 10))
    assert gains_without(predicted, answer_of(errors).error_bars.held_out) is gains


def test_what_cannot_gain_is_not_searched(monkeypatch):
    _, dirty, _ = gross()
    monkeypatch.setattr(completion, "gains_without", lambda model, held_out: False)
    fit = tensorfill.complete(dirty, rng=0)
    assert "loss" not in fit.recipe.asked


@pytest.mark.parametrize(("seen", "enough"), [(5, True), (4, False), (0, False)])
def test_a_few_large_entries_are_not_left_out_unasked(seen, enough):
    corrupt = np.zeros(400, dtype=bool)
    corrupt[:seen] = True
    corrupt[200:220] = True  # not held out
    observations = Observations.from_dense(np.ones((40, 10)))
    held_out = answer_of(np.zeros(100)).error_bars.held_out
    assert are_enough(corrupt, observations, held_out) == enough


def test_what_was_left_out_counts():
    # Least squares predict 0 for all, and so does the other answer for what it left out; -950 is much worse.
    assert judged(count=8, predicted=0.0)
    assert not judged(count=8, predicted=-950.0)


def test_values_of_two_kinds_get_probabilities():
    scores, random = low_rank(1)
    chance = expit(2 * scores)
    data = with_holes((random.random(SHAPE) < chance).astype(float), random)
    fit = tensorfill.complete(data, rng=0)
    square = tensorfill.complete(data, loss="square", rng=0)
    assert isinstance(fit.loss, Logistic)
    # Least squares are a contender as calibrated scores, whose likelihood counts.
    assert fit.held_out_error <= 1.02 * square.held_out_error
    assert 0 <= fit.to_dense().min() <= fit.to_dense().max() <= 1


def test_small_counts_get_rates():
    scores, random = low_rank(2)
    data = with_holes(random.poisson(np.exp(0.4 * scores - 1)).astype(float), random)
    fit = tensorfill.complete(data, rng=0)
    square = tensorfill.complete(data, loss="square", rng=0)
    assert fit.held_out_error <= square.held_out_error
    assert isinstance(fit.loss, Poisson | Square)


@pytest.mark.parametrize("said", [{"loss": "square"}, {"method": "nort"}, {"centre": True}, {"rank": 2}])
def test_what_is_said_is_done(said):
    _, dirty, _ = gross()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*were left out")
        fit = tensorfill.complete(dirty, rng=0, **said)
    assert isinstance(fit.loss, Square)
    assert fit.corrupt is None


def test_a_time_limit_keeps_the_answer_so_far():
    _, dirty, _ = gross()
    fit = tensorfill.complete(dirty, rng=0, time_limit=0.3)
    assert np.isfinite(fit.to_dense()).all()


def test_another_word_is_refused_with_all_that_are_allowed():
    allowed = ["'square'", "'poisson'", "'l1'", "'auto'", "'autos'"]
    refuses(ValueError, ["loss", *allowed], lambda: tensorfill.complete(np.ones((4, 5)), loss="autos"))
