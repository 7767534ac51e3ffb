"""What becomes of chosen settings in the fit of all entries: a larger cut, cuts beside the best, rounds, a polish."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tensorfill import Centre, Choice, Nort, Observations, Polish, complete
from tensorfill.choosing import run as program
from tensorfill.choosing.context import Context
from tensorfill.choosing.holdout.splits import make_splits
from tensorfill.choosing.recipe import Recipe
from tensorfill.choosing.run import run
from tensorfill.choosing.search.cuts import CutSearch
from tensorfill.choosing.search.nort import NortSearch
from tensorfill.choosing.search.trials import Trials, search_through
from tensorfill.choosing.stages.centre import effects_of
from tensorfill.datasets import synthetic
from tensorfill.losses import Square, make_loss
from tensorfill.methods.nort.descent import PATH_ITERATIONS, PATH_TOLERANCE
from tensorfill.methods.problem import Problem
from tensorfill.methods.registry import METHODS
from tensorfill.metrics import rmse
from tensorfill.models import Centred
from tensorfill.penalties import cut

DATA = synthetic((16, 15, 14), rank=2, rng=0).observations
TAU = 1.01


def searched(search, share=0.1):
    """Return the trials of a search on one split."""
    splits, _ = make_splits(DATA, Square(), Choice(validation=share), np.random.default_rng(0))
    trials = Trials(splits, Context(np.random.default_rng(0)))
    search_through(search, trials)
    return trials


def cut_of(method):
    """Return the singular value threshold of a method whose penalties are the same in all modes."""
    return cut(method.penalty, sum(method.lam) / TAU, largest=1e6)


@pytest.fixture(scope="module")
def nort():
    search = NortSearch(Nort())
    return search, searched(search)


@pytest.mark.parametrize("times", [1.0, 10 / 9, 4.0])
def test_the_cut_of_the_last_fit_grows_with_the_root_of_the_entries(nort, times):
    """The singular values of noise do, and the same share of what lies below the cut must stay below it."""
    search, trials = nort
    fitted = len(trials.problems[0].observations)
    method = search.final(trials, round(times * fitted))
    assert cut_of(method) == pytest.approx(trials.leader.candidate.cut * np.sqrt(round(times * fitted) / fitted))
    # Where the penalty bends is a share of its cut, and so is the weight of each mode.
    assert method.penalty.theta == pytest.approx(trials.leader.candidate.q * cut_of(method))
    weights = np.array(method.lam) / sum(method.lam)
    np.testing.assert_allclose(weights, [weight for weight in trials.leader.candidate.weights if weight])
    assert method.modes == trials.leader.method.modes
    assert method.descend is True


def test_the_fit_of_all_entries_has_the_cut_for_all_of_them():
    """From outside: of the trials that were made, the last fit has the cut of one, times the root of ten ninths."""
    choice = Choice(holdout="entry", splits=1)
    fit = complete(DATA, method="nort", smooth=None, centre=False, refine=None, choose=choice, rng=0)
    fitted = len(DATA) - len(fit.held_out)
    ratios = cut_of(fit.method) / np.array([point.cut for point in fit.path])
    assert fitted < 0.95 * len(DATA)
    assert np.min(np.abs(ratios - np.sqrt(len(DATA) / fitted))) < 1e-4
    assert np.min(np.abs(ratios - 1)) > 1e-3


@pytest.mark.parametrize("times", [1.0, 4.0])
def test_the_cut_of_dense_methods_grows_with_the_root_of_the_entries_too(times):
    search = CutSearch(METHODS["pa_apg"]())
    trials = searched(search)
    fitted = len(trials.problems[0].observations)
    one, other = (search.final(trials, round(number)) for number in (fitted, times * fitted))
    total, grown = (np.sum(each.lam) for each in (one, other))
    # The weight of the nuclear norm is its cut.
    assert grown / total == pytest.approx(np.sqrt(times))


def test_the_cuts_half_a_step_beside_the_best_are_tried():
    points = searched(finished := NortSearch(Nort()))
    before = len(points.points)
    finished.finish(points)
    best, tried = points.leader, points.points[before:]
    ratios = np.array([point.cut for point in tried]) / best.candidate.cut
    # Whichever of the three is kept, the others are half a step or a whole one away from it.
    steps = np.unique(np.round(np.log(ratios) / np.log(0.75), 6))
    assert 0.0 in steps
    assert {0.5, -0.5} <= set(steps) or {0.5, 1.0} <= set(steps) or {-0.5, -1.0} <= set(steps)


def test_a_larger_tau_keeps_lambda_and_the_penalty(nort):
    """The function that F_tau comes closer to stays the same."""
    search, trials = nort
    best = trials.leader.candidate
    room = [9] * len(best.weights)
    one, other = (search._method(replace(best, tau=tau), room) for tau in (1.0, 3.0))
    assert one.tau is None
    assert other.tau == pytest.approx(3 * TAU)
    assert replace(other, tau=None) == one


def test_a_last_fit_stops_early_if_the_best_trial_did(nort):
    search, trials = nort
    kept = trials.leader
    method = search.final(trials, 1000)
    assert (method.max_iter, method.tol) == (Nort().max_iter, Nort().tol)
    # A point of a path was run by rules of its own.
    assert (kept.ran.max_iter, kept.ran.tol) == (PATH_ITERATIONS, PATH_TOLERANCE)
    assert kept.point.iterations <= PATH_ITERATIONS
    trials.prefer(kept.as_stopped())
    early = search.final(trials, 1000)
    trials.prefer(kept)
    assert early == replace(method, max_iter=PATH_ITERATIONS, tol=PATH_TOLERANCE)


def test_a_trial_that_stopped_early_is_repeated_by_its_own_method(nort):
    _, trials = nort
    first = trials.run(Nort(lam=0.01, max_rank=4, svd="exact", storage="dense"), None, tried={}, max_iter=3, tol=0.0)
    early = first.as_stopped()
    again = trials.run(early.method, None, tried={})
    assert early.early
    assert not first.early
    assert again.point.iterations == 3
    np.testing.assert_allclose(again.losses, early.losses, rtol=1e-6)


def test_what_is_tried_beside_an_early_answer_is_stopped_as_early(nort):
    search, trials = nort
    best = trials.leader.as_stopped()
    beside = search._try_beside(best, best.candidate.lower(0.5))
    assert beside.early
    assert (beside.ran.max_iter, beside.ran.tol) == (PATH_ITERATIONS, PATH_TOLERANCE)
    assert not search._try_beside(trials.leader, best.candidate).early


def test_a_search_that_is_not_promising_is_not_refined():
    search = NortSearch(Nort())
    search.finish(SimpleNamespace())


# Rounds of the mean and the effects


def yes_or_no(seed=0):
    rng = np.random.default_rng(seed)
    score = np.add.outer(rng.standard_normal(20), rng.standard_normal(18)) + 2 * np.outer(
        rng.standard_normal(20), rng.standard_normal(18)
    )
    seen = rng.random(score.shape) < 0.7
    yes = np.where(rng.random(score.shape) < 1 / (1 + np.exp(-score)), 1.0, -1.0)
    return Problem(Observations.from_dense(yes, seen), make_loss("logistic"))


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_a_recipe_fits_the_effects_again_beside_the_answer_as_often_as_it_says(rounds):
    """Against the alternation itself: the effects beside the answer, and the answer beside the effects."""
    problem, method = yes_or_no(), Nort(lam=1.0, tol=1e-8, max_iter=2000, descend=False)
    coords = problem.observations.coords
    context = Context(np.random.default_rng(0))
    found = run(Recipe((Centre(rounds),), method=method, loss=problem.loss), problem, None, context).model
    offset, answer, rng = effects_of(problem), None, np.random.default_rng(0)
    for again in range(rounds + 1):
        if again:
            offset = effects_of(problem.beyond(answer.predict(coords)))
        answer = method.solve(problem.beyond(offset.predict(coords)), start=answer, rng=rng).model
    np.testing.assert_allclose(found.to_dense(), Centred(answer, offset).to_dense(), atol=1e-6)


def test_each_round_is_a_solution(monkeypatch):
    solved, seen = program._solved, []

    def counted(method, problem, *given, **options):
        seen.append(len(problem.observations))
        return solved(method, problem, *given, **options)

    monkeypatch.setattr(program, "_solved", counted)
    problem = yes_or_no()
    run(Recipe((Centre(2),), method=Nort(lam=1.0), loss=problem.loss), problem, None, Context())
    assert len(seen) == 3


@pytest.mark.parametrize("asked", [True, Centre(0)])
def test_rounds_are_searched_for_where_the_effects_and_the_answer_overlap(asked):
    """Entries are observed where rows and columns agree, so the effects alone take much of what is of low rank."""
    rng = np.random.default_rng(0)
    rows, columns = rng.standard_normal(80), rng.standard_normal(80)
    score = np.add.outer(3 * rows, columns) + 3 * np.outer(rows, columns) + 1
    seen = rng.random(score.shape) < 1 / (1 + np.exp(-1.5 * np.outer(rows, columns)))
    yes = np.where(seen, (rng.random(score.shape) < 1 / (1 + np.exp(-score))).astype(float), np.nan)
    choice = Choice(validation=0.2, holdout="entry")
    fit = complete(yes, loss="logistic", method="nort", centre=asked, smooth=None, choose=choice, rng=0)
    # Rounds that are given are kept; others are made while held-out entries gain, and two at most.
    assert fit.recipe.stage(Centre).rounds == (2 if asked is True else 0)


# The polish


def test_a_polish_is_done_to_the_answer_of_all_entries():
    data = synthetic((20, 18, 16), rank=2, rng=0)
    options = {"method": "nort", "smooth": None, "centre": False, "rng": 0}
    plain, polished = (complete(data.observations, refine=refine, **options) for refine in (None, "tucker"))
    assert plain.recipe.stage(Polish) is None
    assert polished.recipe.stage(Polish) is not None
    assert polished.held_out_error < plain.held_out_error
    errors = [rmse(fit.predict(data.test.coords), data.test.values) for fit in (plain, polished)]
    assert errors[1] < 0.98 * errors[0]
