"""What the best method gains from other stages before it, and what is taken where nothing alike can be held out."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest

import tensorfill
from tensorfill import CP, Centre, Choice, Grow, Merge, Observations, Problem, Whiten
from tensorfill.choosing import choose
from tensorfill.choosing.contest import Contest
from tensorfill.choosing.context import Context
from tensorfill.choosing.holdout.splits import make_splits
from tensorfill.choosing.simple import simple_answers
from tensorfill.choosing.stages.base import Before
from tensorfill.choosing.stages.table import in_order, stages_before
from tensorfill.losses import Square
from tensorfill.metrics import rmse
from tensorfill.models import Dense


@functools.cache
def low_rank_when_merged(seed=0):
    """Return a tensor whose two shortest modes have rank three together only, with noise, and with holes."""
    random = np.random.default_rng(seed)
    factors = [random.standard_normal((size, 3)) for size in (20, 18, 20)]
    truth = np.einsum("ir,jr,kr->ijk", *factors).reshape(20, 18, 4, 5)
    noisy = truth + 0.3 * random.standard_normal(truth.shape)
    return truth, np.where(random.random(truth.shape) < 0.5, noisy, np.nan)


@functools.cache
def of_unequal_noise(seed=0):
    """Return a low-rank tensor whose last mode has slices with noise of very different size, with holes."""
    random = np.random.default_rng(seed)
    # A slowly falling spectrum: growth does not end the search.
    factors = [random.standard_normal((size, 12)) for size in (24, 20, 16)]
    truth = np.einsum("ir,jr,kr,r->ijk", *factors, 1 / np.arange(1.0, 13.0))
    sizes = 0.5 * np.exp(random.normal(0, 1, 16))
    noisy = truth + sizes * random.standard_normal(truth.shape)
    return truth, np.where(random.random(truth.shape) < 0.6, noisy, np.nan)


def beyond_a_diagonal(seed):
    """Return nonnegative mixtures of which everything below a diagonal is missing."""
    random = np.random.default_rng(seed)
    rows, columns = np.arange(30)[:, None], np.arange(24)[:, None]
    first = np.exp(-0.5 * ((rows - random.uniform(4, 26, 3)) / 4) ** 2)
    second = np.exp(-0.5 * ((columns - random.uniform(4, 20, 3)) / 4) ** 2)
    truth = np.einsum("ir,jr,kr->ijk", random.uniform(0.2, 1, (14, 3)), first, second)
    noisy = truth + 0.002 * random.standard_normal(truth.shape)
    hidden = np.broadcast_to(rows > columns.T + 6, truth.shape) | (random.random(truth.shape) < 0.1)
    return truth, np.where(hidden, np.nan, noisy), hidden


def test_stages_before_are_in_the_order_in_which_they_are_done():
    assert [kind.name for kind in stages_before()] == [
        "scale",
        "present",
        "laplacian",
        "merge",
        "fold",
        "centre",
        "whiten",
    ]
    whiten, merge, centre = Whiten(1.0, ((0.0, 1.0), ())), Merge(((0, 1),)), Centre()
    assert in_order((whiten, centre, merge)) == (merge, centre, whiten)


@pytest.mark.parametrize("kind", [kind for kind in stages_before() if kind not in (Merge, Whiten)])
def test_other_stages_propose_nothing(kind):
    assert list(kind.proposed(np.zeros((1, 3), int), np.ones(1), (3, 3, 3))) == []
    assert issubclass(kind, Before)


@pytest.mark.parametrize(
    ("shape", "groups"),
    [
        ((5, 4), []),
        ((5, 4, 3), []),
        ((5, 4, 3, 9), [((1, 2),)]),
        ((13, 4, 8, 12), [((1, 2),)]),
        ((20, 2, 30, 3, 40), [((1, 3),), ((0, 1, 3),)]),
        ((2, 3, 50, 60, 70), [((0, 1),), ((0, 1, 2),)]),
        ((2, 2, 3, 3, 30), [((0, 1),), ((0, 1), (2, 3))]),
    ],
)
def test_the_shortest_modes_are_proposed_as_one(shape, groups):
    assert [stage.groups for stage in Merge.proposed(np.zeros((0, len(shape)), int), np.zeros(0), shape)] == groups


def test_modes_are_merged_where_held_out_entries_gain():
    truth, data = low_rank_when_merged()
    fit = tensorfill.complete(data, rng=0)
    apart = tensorfill.complete(data, merge=None, rng=0)
    assert any(part.stage(Merge) == Merge(((2, 3),)) for part in fit.recipe.parts)
    assert all(part.stage(Merge) is None for part in apart.recipe.parts)
    missing = np.isnan(data)
    assert rmse(fit.to_dense()[missing], truth[missing]) < 0.9 * rmse(apart.to_dense()[missing], truth[missing])


def test_slices_are_whitened_where_held_out_entries_gain():
    truth, data = of_unequal_noise()
    fit = tensorfill.complete(data, smooth="auto", rng=0)
    plain = tensorfill.complete(data, whiten=None, rng=0)
    assert any(part.stage(Whiten) for part in fit.recipe.parts)
    assert all(part.stage(Whiten) is None for part in plain.recipe.parts)
    missing = np.isnan(data)
    assert rmse(fit.to_dense()[missing], truth[missing]) < rmse(plain.to_dense()[missing], truth[missing])


def test_whitened_residuals_are_as_large_as_before():
    """So that a ridge or a threshold that was chosen for the noise is right for whitened data too."""
    random = np.random.default_rng(0)
    coords = np.argwhere(np.ones((30, 20), dtype=bool))
    residuals = np.exp(random.normal(0, 1, 20))[coords[:, 1]] * random.standard_normal(len(coords))
    for stage in Whiten.proposed(coords, residuals, (30, 20)):
        sizes = [np.array(own) if own else np.zeros(1) for own in stage.spreads]
        summed = sum(own[coords[:, mode] % len(own)] for mode, own in enumerate(sizes))
        whitened = residuals / np.exp(stage.exponent * summed)
        assert rmse(whitened, 0 * whitened) == pytest.approx(rmse(residuals, 0 * residuals))


@pytest.mark.parametrize("said", [{"method": "nort"}, {"loss": "huber"}, {"centre": True}])
def test_nothing_is_proposed_for_what_the_caller_decided(said, monkeypatch):
    def never(*given):
        raise AssertionError("stages were proposed")

    monkeypatch.setattr(Merge, "proposed", never)
    monkeypatch.setattr(Whiten, "proposed", never)
    _, data = low_rank_when_merged()
    tensorfill.complete(data[:, :, :, 0], rng=0, smooth=None, **said)


def test_much_data_is_not_tried_behind_other_stages(monkeypatch):
    monkeypatch.setattr(choose, "MOST_ENTRIES", 10)
    _, data = low_rank_when_merged()
    fit = tensorfill.complete(data, rng=0)
    assert all("merged" not in point.before for point in fit.path)


def test_a_blend_with_merged_parts_is_saved_updated_and_repeated(tmp_path):
    truth, data = low_rank_when_merged()
    fit = tensorfill.complete(data, rng=0)
    fit.save(tmp_path / "fit.npz")
    again = tensorfill.load(tmp_path / "fit.npz")
    assert again.recipe == fit.recipe
    np.testing.assert_array_equal(again.to_dense(), fit.to_dense())
    new = Observations(np.argwhere(np.isnan(data))[:3], truth[np.isnan(data)][:3], data.shape)
    updated = fit.update(new)
    assert rmse(updated.to_dense(), fit.to_dense()) < 0.2 * truth.std()
    repeated = tensorfill.complete(data, **fit.recipe.arguments())
    assert repeated.recipe == fit.recipe
    assert rmse(repeated.to_dense(), fit.to_dense()) < 0.2 * truth.std()


# Where nothing alike can be held out


@pytest.mark.filterwarnings("ignore:Nothing like the missing entries")
@pytest.mark.parametrize("seed", [2, 3])
def test_beyond_what_can_be_held_out_the_answer_that_says_least_is_taken(seed):
    truth, data, hidden = beyond_a_diagonal(seed)
    fit = tensorfill.complete(data, rng=0)
    assert fit.recipe.holdout.is_unlike
    grown = tensorfill.complete(data, method="grow", rng=0)
    ours, theirs = (rmse(each.to_dense()[hidden], truth[hidden]) for each in (fit, grown))
    assert ours < 0.6 * theirs


def test_the_answer_that_says_least_is_one_that_held_out_entries_cannot_tell_from_the_best():
    random = np.random.default_rng(0)
    data = np.where(random.random((12, 10, 8)) < 0.5, random.standard_normal((12, 10, 8)) + 3, np.nan)
    contest, (wild, tame, worse) = three_answers(data)
    contest.finalists = [tame, worse]
    assert contest.most_cautious(wild) is tame
    contest.finalists = [worse]
    assert contest.most_cautious(wild) is wild


def three_answers(data):
    """Return a contest and three answers: a wild one, a tame one with the same losses, a tamer one with larger ones."""
    observations = Observations.from_dense(data)
    splits, holdout = make_splits(observations, Square(), Choice(splits=1), np.random.default_rng(0))
    context = Context(np.random.default_rng(0))
    contest = Contest(Problem(observations, Square()), splits, holdout, {}, {}, context)
    mean, middle = simple_answers(splits, context.clock)[0], float(observations.values.mean())
    answers = []
    for size, loss in ((5.0, 1.0), (1.0, 1.0), (0.1, 2.0)):
        model = Dense(np.where(np.isnan(data), middle + size, data))
        losses = np.linspace(loss, 1.01 * loss, len(mean.losses))
        answers.append(replace(mean, models=[model], losses=losses))
    return contest, answers


def test_cp_takes_the_number_of_terms_of_a_grown_sum():
    assert CP().with_rank_of(Grow(rank=4, form="cp")) == CP(rank=4)
    assert CP(rank=2).with_rank_of(Grow(rank=4, form="cp")) == CP(rank=2)
    assert CP().with_rank_of(Grow(rank=(4, 4, 4), form="tucker")) == CP()
    assert Grow().with_rank_of(Grow(rank=4, form="cp")) == Grow()
