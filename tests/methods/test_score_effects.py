"""The mean and the effects of yes-or-no data and of counts, and what a fit makes of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from tensorfill import CP, Clock, Nort, Observations, Problem, complete
from tensorfill.choosing.centring import UNEVEN, are_balanced
from tensorfill.choosing.context import Context
from tensorfill.choosing.holdout.splits import Split
from tensorfill.choosing.search.base import are_better
from tensorfill.choosing.search.trials import Trials
from tensorfill.losses import Huber, Logistic, Poisson, Square, prepare
from tensorfill.methods.effects.scores import fit_score_effects
from tensorfill.models import Centred
from tests.refusal import refuses

SHAPE = (20, 18, 12)


def scores(mean, spread, seed=0):
    """Return scores that are a mean plus effects of each index."""
    rng = np.random.default_rng(seed)
    out = np.full(SHAPE, float(mean))
    for mode, size in enumerate(SHAPE):
        out += (spread * rng.standard_normal(size)).reshape([-1 if axis == mode else 1 for axis in range(3)])
    return out


def yes_or_no(mean=-3.0, spread=0.8, seed=0):
    """Return known probabilities, values drawn from them, and a problem with about 60% of these."""
    rng = np.random.default_rng(seed)
    expected = expit(scores(mean, spread, seed))
    drawn = (rng.random(SHAPE) < expected).astype(float)
    seen = rng.random(SHAPE) < 0.6
    return expected, drawn, seen


def problem_of(values, seen, loss):
    observations = Observations.from_dense(values, seen)
    loss, prepared = prepare(loss, observations.values)
    return Problem(observations.with_values(prepared), loss)


def test_the_effects_of_yes_and_no_are_found():
    expected, drawn, seen = yes_or_no()
    offset = fit_score_effects(problem_of(drawn, seen, Logistic()))
    found = np.zeros(SHAPE)
    offset.add_to(found)
    hidden = ~seen
    assert np.corrcoef(found[hidden], np.log(expected / (1 - expected))[hidden])[0, 1] > 0.9
    assert expit(found).mean() == pytest.approx(expected.mean(), rel=0.1)
    for effects in offset.effects:
        assert abs(effects.sum()) < 1e-9


def test_the_effects_of_counts_are_found():
    rates = np.exp(scores(-1.0, 0.5))
    counts = np.random.default_rng(1).poisson(rates).astype(float)
    offset = fit_score_effects(problem_of(counts, np.ones(SHAPE, bool), Poisson()))
    found = np.zeros(SHAPE)
    offset.add_to(found)
    np.testing.assert_allclose(np.exp(found).sum(), counts.sum(), rtol=0.02)
    assert np.corrcoef(found.ravel(), np.log(rates).ravel())[0, 1] > 0.95


def test_effects_that_are_chance_are_shrunk_to_almost_nothing():
    drawn = (np.random.default_rng(0).random(SHAPE) < 0.1).astype(float)
    offset = fit_score_effects(problem_of(drawn, np.ones(SHAPE, bool), Logistic()))
    assert offset.mean == pytest.approx(np.log(0.1 / 0.9), abs=0.1)
    assert max(float(effects.std()) for effects in offset.effects) < 0.2


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_values_that_are_all_alike_and_an_empty_slice_have_finite_effects(value):
    seen = np.ones(SHAPE, bool)
    seen[3] = False
    offset = fit_score_effects(problem_of(np.full(SHAPE, value), seen, Logistic(low=0.0)))
    assert np.isfinite(offset.mean)
    assert np.sign(offset.mean) == 2 * value - 1
    assert offset.effects[0][3] == 0


@pytest.mark.parametrize("loss", [Square(), Huber(1.0), Logistic(), Poisson(limit=3.0)])
def test_what_is_known_moves_the_values_and_slopes_of_a_problem(loss):
    rng = np.random.default_rng(0)
    values = {"Logistic": lambda: rng.choice([-1.0, 1.0], 30), "Poisson": lambda: rng.poisson(2.0, 30) * 1.0}
    observed = values.get(type(loss).__name__, lambda: rng.standard_normal(30))()
    problem = Problem(Observations(np.arange(30)[:, None] % [5, 6], observed, (5, 6)), loss)
    known, seen = rng.standard_normal(30), rng.standard_normal(30)
    beyond = problem.beyond(known)
    np.testing.assert_allclose(beyond.value(seen), problem.value(seen + known))
    np.testing.assert_allclose(beyond.gradient(seen), problem.gradient(seen + known))
    np.testing.assert_allclose(beyond.beyond(known).value(seen), problem.value(seen + 2 * known))
    assert beyond.curvature == problem.curvature
    for entry in range(3):
        step = np.zeros(30)
        step[entry] = 1e-6
        slope = (beyond.value(seen + step) - beyond.value(seen - step)) / 2e-6
        assert beyond.gradient(seen)[entry] == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_an_offset_is_the_same_as_centring_for_the_square_loss():
    rng = np.random.default_rng(0)
    entries = Observations.from_dense(3.0 + rng.standard_normal(SHAPE), rng.random(SHAPE) < 0.5)
    held = rng.random(len(entries)) < 0.2
    split = Split(Problem(entries.select(~held), Square()), held_out=entries.select(held))
    centred = split.centred(Clock())
    (lift,) = centred.lifts
    fitted = split.problem.observations
    np.testing.assert_allclose(centred.problem.observations.values, fitted.values - lift.offset.predict(fitted.coords))
    model = Nort(lam=1.0, max_iter=3).solve(centred.problem, rng=0).model
    np.testing.assert_allclose(centred.predict(model), Centred(model, lift.offset).predict(split.held_out.coords))


@pytest.mark.parametrize("method", [Nort(lam=0.3, max_iter=30), CP(rank=1, ridge=0.5, max_iter=30)])
def test_the_objective_falls_at_every_step_with_an_offset(method):
    _, drawn, seen = yes_or_no()
    problem = problem_of(drawn, seen, Logistic())
    offset = fit_score_effects(problem)
    result = method.solve(problem.beyond(offset.predict(problem.observations.coords)), rng=0)
    falls = np.diff(result.history["f_tau"])
    assert (falls <= 1e-9 * np.abs(result.history["f_tau"][:-1])).all()
    # It begins at the loss of the offset alone.
    start = problem.value(offset.predict(problem.observations.coords))
    assert result.history[0].objective <= start * (1 + 1e-9) or method.name == "cp"


def test_a_problem_with_an_offset_has_no_error_elsewhere():
    _, drawn, seen = yes_or_no()
    problem = problem_of(drawn, seen, Logistic())
    beyond = problem.beyond(np.ones(len(problem.observations)))
    refuses(
        ValueError, ["held_out", "offset"], lambda: Nort(lam=1.0).solve(beyond, held_out=problem.observations, rng=0)
    )


def test_the_probabilities_of_a_rare_value_are_right_on_average_and_ranked():
    expected, drawn, seen = yes_or_no()
    fit = complete(np.where(seen, drawn, np.nan), loss="logistic", rng=0)
    hidden = np.argwhere(~seen)
    found, truth = fit.predict_proba(hidden), expected[~seen]
    assert found.mean() == pytest.approx(truth.mean(), rel=0.15)
    for part in np.array_split(np.argsort(found), 4):
        assert found[part].mean() == pytest.approx(truth[part].mean(), rel=0.4, abs=0.01)
    np.testing.assert_allclose(fit.filled()[~seen], found)


@pytest.mark.slow
def test_rare_counts_are_right_on_average():
    rates = np.exp(scores(-1.5, 0.5))
    rng = np.random.default_rng(1)
    counts, seen = rng.poisson(rates).astype(float), rng.random(SHAPE) < 0.6
    fit = complete(np.where(seen, counts, np.nan), loss="poisson", rng=0)
    found, truth = fit.predict(np.argwhere(~seen)), rates[~seen]
    assert found.mean() == pytest.approx(truth.mean(), rel=0.1)
    assert np.mean((found - truth) ** 2) < 0.3 * truth.var()


def test_the_losses_of_a_rare_value_are_not_clipped():
    # 5 in 1,000 entries are 1. One answer finds them, and the other says 0 everywhere.
    truth = (np.arange(1000) % 200 == 0).astype(float)
    finds, zero = 0.5 * (0.9 * truth - truth) ** 2, 0.5 * truth**2
    assert not are_better(finds, zero)
    assert are_better(finds, zero, clipped=False)


@pytest.mark.parametrize(
    ("loss", "values", "clipped"),
    [
        (Square(), np.arange(5.0), True),
        (Square(), np.array([0.0, 1, 0, 1, 0]), False),
        (Logistic(), np.array([-1.0, 1, -1, 1, 1]), False),
        (Poisson(limit=3.0), np.array([0.0, 1, 2, 3, 4]), False),
    ],
)
def test_only_the_losses_of_measurements_are_clipped(loss, values, clipped):
    entries = Observations(np.arange(5)[:, None] * [1, 1], values, (5, 5))
    trials = Trials([Split(Problem(entries, loss), held_out=entries)], Context(np.random.default_rng(0)))
    assert trials.clipped is clipped
    method = Nort(lam=1.0, max_iter=2)
    assert trials.run(method, None, tried={}).clipped is clipped


@given(st.integers(1, 30), st.integers(1, 30))
def test_balanced_are_about_as_many_yes_as_no(yes, no):
    values = np.repeat([1.0, -1.0], [yes, no])
    entries = Observations(np.stack([np.arange(yes + no), np.zeros(yes + no, dtype=int)], axis=1), values, (60, 1))
    split = Split(Problem(entries, Logistic()), held_out=entries)
    assert are_balanced([split]) == (abs(yes - no) <= UNEVEN * (yes + no))
    assert not are_balanced([Split(Problem(entries, Square()), held_out=entries)])


@pytest.mark.parametrize(("mean", "both"), [(0.0, True), (-2.5, False)])
def test_without_effects_is_tried_too_where_both_values_are_as_frequent(mean, both):
    rng = np.random.default_rng(0)
    rows, columns = rng.choice([-1.0, 1.0], (2, 40))
    drawn = 2.0 * (rng.random((40, 40)) < expit(mean + 1.5 * np.outer(rows, columns) + rows[:, np.newaxis])) - 1
    seen = rng.random((40, 40)) < 0.5
    fit = complete(np.where(seen, drawn, np.nan), loss="logistic", method="nort", rng=0)
    assert {point.before for point in fit.path} == ({("centred",), ()} if both else {("centred",)})
