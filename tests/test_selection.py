"""The automatic choice: the path of lambda, q, and what is held out."""

import itertools

import numpy as np
import pytest

from tensorfill import Nort, Observations, complete
from tensorfill.algebra.unfolding import unfold
from tensorfill.datasets import synthetic
from tensorfill.holdout import make_holdout
from tensorfill.losses import Square
from tensorfill.metrics import rmse
from tensorfill.penalties import LSP, MCP, CappedL1, Nuclear, cut
from tensorfill.problem import Problem
from tensorfill.selection import SPARE_RANK, Chooser, largest_cut


@pytest.fixture(scope="module")
def data():
    return synthetic((30, 28, 26), rank=3, rng=0)


@pytest.fixture(scope="module")
def chosen(data):
    return complete(data.observations, rng=0)


def chooser(data, kind, every_q=True):
    return Chooser(
        Nort(lam=1.0),
        Problem(data.observations, Square()),
        data.test,
        lambda cut, q: kind(q * cut),
        every_q,
        np.random.default_rng(0),
    )


@pytest.mark.parametrize("storage", ["sparse", "dense"])
def test_the_path_begins_where_the_answer_is_zero(data, storage):
    task = Problem(data.observations, Square())
    settings = Nort(lam=1.0, storage=storage)
    largest = largest_cut(settings, task, np.random.default_rng(0))
    zeros = data.observations.to_dense(fill=0)
    expected = max(np.linalg.norm(unfold(zeros, mode), 2) for mode in range(3)) / 1.01
    assert largest == pytest.approx(expected, rel=1e-3)
    for penalty in (Nuclear(), LSP(largest), CappedL1(largest)):
        for share, empty in ((1.05, True), (0.9, False)):
            weight = share * largest if not isinstance(penalty, LSP) else (share * largest / 2 + largest / 2) ** 2
            model = Nort(lam=weight * 1.01 / 3, penalty=penalty, storage=storage).solve(task, rng=0).model
            assert (model.ranks == (0, 0, 0)) is empty


@pytest.mark.parametrize("kind", [LSP, CappedL1, MCP])
def test_the_penalties_of_a_path_have_the_cut_they_are_for(data, kind):
    choice = chooser(data, kind)
    choice.choose()
    assert {point.q for point in choice.points} >= {1.0, 0.3, 3.0}
    for point in choice.points:
        assert point.theta == pytest.approx(point.q * point.cut)
        weight = 3 * point.lam / 1.01
        assert cut(kind(point.theta), weight, largest=10 * point.cut) == pytest.approx(point.cut, rel=1e-6)


def test_q_is_left_alone_where_it_does_not_matter(data):
    choice = chooser(data, lambda cut: Nuclear(), every_q=False)
    choice.choose()
    assert {point.q for point in choice.points} == {1.0}
    assert {point.theta for point in choice.points} == {None}


def test_ranks_stay_small_along_the_path(data):
    choice = chooser(data, LSP)
    choice.choose()
    first = [point for point in choice.points if point.q == 1.0]
    assert max(first[0].ranks) <= SPARE_RANK
    for before, after in itertools.pairwise(first[:-2]):
        assert all(b <= 2 * a + SPARE_RANK for a, b in zip(before.ranks, after.ranks, strict=True))


def test_the_score_has_a_least_and_the_ranks_are_found(data, chosen):
    path = chosen.path
    assert path["held_out"].min() < 0.5 * path["held_out"].max()
    assert (path["training"] > 0).all()
    assert min(chosen.ranks) >= 3
    assert rmse(chosen.predict(data.test.coords), data.test.values) < 1.3 * data.limit
    with pytest.raises(KeyError, match="no column 'speed'; the columns are cut"):
        path["speed"]


def test_a_tie_goes_to_the_larger_cut(data):
    choice = chooser(data, LSP)
    one = choice.try_at(1.0, 1.0, choice.settings, None)
    assert not one.beats(one)
    assert one.beats(None)
    assert choice.leader is one


def test_least_squares_polish_is_kept_where_it_helps(data, chosen):
    polished = complete(data.observations, refine="tucker", rng=0)
    plain, better = (rmse(fit.predict(data.test.coords), data.test.values) for fit in (chosen, polished))
    assert better <= plain * 1.001
    assert (polished.settings["refine"] == "tucker") is (polished.held_out_error < chosen.held_out_error)


def test_polish_reaches_the_limit_where_the_ranks_are_found():
    data = synthetic((60, 60, 60), rank=3, observed=40_000, rng=6)
    fit = complete(data.observations, refine="tucker", rng=0)
    assert fit.ranks == (3, 3, 3)
    assert fit.settings["refine"] == "tucker"
    assert rmse(fit.predict(data.test.coords), data.test.values) < 1.1 * data.limit


@pytest.mark.parametrize("share", [0.5, 0.8, 0.9])
def test_intervals_hold_the_share_they_promise(share):
    data = synthetic((40, 40, 40), rank=3, observed=20_000, rng=1)
    fit = complete(data.observations, rng=0)
    noisy = data.test.values + data.noise * np.random.default_rng(0).standard_normal(len(data.test))
    value, low, high = fit.predict(data.test.coords, interval=share)
    np.testing.assert_array_equal(value, fit.predict(data.test.coords))
    assert np.mean((low <= noisy) & (noisy <= high)) == pytest.approx(share, abs=0.04)


def test_intervals_need_held_out_entries(data, chosen):
    with pytest.raises(ValueError, match=r"Intervals rest on held-out entries.*lam='auto'\."):
        complete(data.observations, lam=0.1, rng=0).predict([[0, 0, 0]], interval=0.9)
    with pytest.raises(ValueError, match=r"interval must be a number above 0 and below 1"):
        chosen.predict([[0, 0, 0]], interval=90)
    with pytest.raises(ValueError, match=r"interval must be at most 0\.99\d with .* held-out entries"):
        chosen.predict([[0, 0, 0]], interval=0.99999)


def holes(shape, missing, seed=0):
    """Observations of ones, with what `missing` draws left out."""
    return Observations.from_dense(np.ones(shape), ~missing(np.random.default_rng(seed)))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_single_entries_are_held_out_where_chance_explains_the_holes(share):
    seen = holes((20, 25, 30), lambda rng: rng.random((20, 25, 30)) < share)
    assert make_holdout("auto", seen).describe(seen.shape) == "single entries"


@pytest.mark.parametrize("share", [0.3, 0.95])
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_whole_fibres_are_held_out_where_whole_fibres_are_missing(mode, share):
    shape = (30, 25, 20)
    others = tuple(1 if axis == mode else size for axis, size in enumerate(shape))
    seen = holes(shape, lambda rng: np.broadcast_to(rng.random(others) < share, shape))
    how = make_holdout("auto", seen)
    assert how.describe(shape) == f"whole fibres along mode {mode}"
    training, held_out = how.split(seen, 0.1, np.random.default_rng(0))
    fibres = {tuple(np.delete(row, mode)) for row in held_out.coords.tolist()}
    assert fibres.isdisjoint(tuple(np.delete(row, mode)) for row in training.coords.tolist())
    assert make_holdout("entry", seen).describe(shape) == "single entries"


def test_blocks_are_held_out_where_days_are_missing():
    seen = holes((12, 10, 240), lambda rng: np.repeat(rng.random((12, 10, 10)) < 0.3, 24, axis=2))
    how = make_holdout("auto", seen)
    assert how.block[:2] == (1, 1)
    assert how.block[2] == pytest.approx(24, abs=4)
    assert how.describe(seen.shape) == f"blocks of size {how.block}"


def test_the_fit_says_what_was_held_out(chosen):
    assert chosen.settings["holdout"] == "single entries"


def test_a_complete_tensor_holds_out_single_entries():
    full = Observations.from_dense(np.ones((4, 5)))
    assert make_holdout("auto", full).describe(full.shape) == "single entries"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"holdout": "days"}, ["holdout", "'auto'", "'days'"]),
        ({"refine": "more"}, ["refine", "'tucker'", "'more'"]),
        ({"refine": "tucker", "lam": 1.0}, ["refine='tucker'", "lam='auto'"]),
    ],
)
def test_bad_choices_get_one_sentence(data, options, words):
    with pytest.raises(ValueError) as caught:
        complete(data.observations, rng=0, **options)
    assert all(word in str(caught.value) for word in words), str(caught.value)
