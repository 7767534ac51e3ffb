"""The automatic choice: the path of lambda, q, and what is held out."""

import functools
import itertools
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from tensorfill import Choice, Nort, Observations, Polish, Status, complete
from tensorfill.algebra.unfolding import unfold
from tensorfill.choosing.context import Context
from tensorfill.choosing.holdout.kinds import make_holdout
from tensorfill.choosing.holdout.splits import Split
from tensorfill.choosing.search import nort as nort_search
from tensorfill.choosing.search.candidates import LEAST_WEIGHT, Candidate, NoiseEdge
from tensorfill.choosing.search.nort import NortSearch
from tensorfill.choosing.search.trials import Trials, search_through
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.methods.nort.descent import SPARE_RANK, largest_cut
from tensorfill.methods.problem import Problem
from tensorfill.metrics import rmse
from tensorfill.penalties import LSP, CappedL1, Nuclear, cut
from tensorfill.penalties.family import make_family
from tensorfill.selection import path
from tests.refusal import refuses
from tests.slow import slow_except


@pytest.fixture(scope="module")
def data():
    return synthetic((30, 28, 26), rank=3, rng=0)


@pytest.fixture(scope="module")
def chosen(data):
    return complete(data.observations, method="nort", rng=0)


def searched(data, penalty="lsp", how="run", **settings):
    """Return the trials of NORT's search."""
    trials = Trials(
        [Split(Problem(data.observations, Square()), held_out=data.test)], Context(np.random.default_rng(0))
    )
    search = NortSearch(Nort(penalty=penalty, **settings))
    search_through(search, trials) if how == "run" else getattr(search, how)(trials)
    return trials


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


@pytest.mark.parametrize("penalty", slow_except(["lsp", "capped_l1", "mcp", "scad"], ["lsp", "mcp"]))
def test_the_penalties_of_a_path_have_the_cut_they_are_for(data, penalty):
    choice = searched(data, penalty)
    assert {point.q for point in choice.points} >= {1.0, 0.3, 3.0}
    for point in choice.points:
        made = make_family(penalty, "auto").make(point.cut, point.q)
        weight = sum(point.lam) / 1.01
        assert cut(made, weight, largest=10 * point.cut) == pytest.approx(point.cut, rel=1e-6)
        assert point.penalty == made


def test_q_is_left_alone_where_it_does_not_matter(data):
    choice = searched(data, "nuclear")
    assert {point.q for point in choice.points} == {1.0}
    assert {point.penalty for point in choice.points} == {Nuclear()}


def test_the_number_of_free_singular_values_is_chosen(data):
    choice = searched(data, "tnn")
    assert choice.leader.point.penalty.theta >= 3
    assert {1, 2, 3} <= {point.penalty.theta for point in choice.points}


def test_ranks_stay_small_along_the_path(data):
    choice = searched(data, how="trace")
    assert max(choice.points[0].ranks) <= SPARE_RANK
    for before, after in itertools.pairwise(choice.points):
        assert all(b <= 2 * a + SPARE_RANK for a, b in zip(before.ranks, after.ranks, strict=True))


@pytest.mark.slow
def test_noise_that_fills_the_ranks_is_told_from_what_is_worth_having():
    data = synthetic((60, 60, 60), rank=3, observed=20_000, rng=6)
    choice = searched(data)
    filled = [point for point in choice.points if max(point.ranks) > 10]
    assert filled
    assert max(choice.leader.point.ranks) < 7
    # Once that is known, no other q fills with noise again, nor goes to smaller cuts.
    others = [point for point in choice.points if point.q != 1.0]
    assert others
    assert max(max(point.ranks) for point in others) < 7
    assert min(point.cut for point in others) >= 0.8 * min(point.cut for point in filled)


def test_a_more_convex_path_that_is_free_is_not_bound_by_the_noise_of_the_first():
    search = NortSearch(Nort())
    search._most_ranks = (9, 9)
    search._edges[None] = edge = NoiseEdge(2.0, (3, 3))
    bound = Candidate(1.0, 10.0, (0.5, 0.5))
    free = replace(bound, free=True)
    assert search._edge(bound) is edge
    assert search._edge(free) == NoiseEdge(0.0, (9, 9))
    search._edges[free.noise] = own = NoiseEdge(0.5, (7, 7))
    assert search._edge(free.lower(1)) is own
    assert search._edge(replace(free, q=3.0)) == NoiseEdge(0.0, (9, 9))


@dataclass
class Answered:
    """A trial of which only the error, the candidate and the ranks count."""

    held_out: float
    candidate: Candidate
    ranks: tuple[int, ...] = ()
    early: bool = False

    @property
    def point(self):
        return self

    def as_stopped(self):
        return replace(self, early=True)

    def beats(self, other):
        return other is None or self.held_out < other.held_out


@pytest.mark.parametrize(
    ("settled", "kept", "early", "solved"),
    [
        # One that gets worse when it is solved further stays as it was, and the others cannot beat that.
        ({1.0: 0.83}, 1.0, True, 1),
        ({1.0: 0.7}, 1.0, False, 1),
        ({1.0: 0.6}, 1.0, False, 1),
    ],
)
def test_an_answer_that_is_solved_further_must_not_be_worse_than_what_it_was(monkeypatch, settled, kept, early, solved):
    weights = (0.5, 0.5)
    on_the_way = {q: Answered(error, Candidate(1.0, q, weights)) for q, error in ((1.0, 0.7), (3.0, 0.75), (10.0, 0.9))}
    search, preferred, limits = NortSearch(Nort()), [], []
    search._best_at, search._trials = on_the_way, SimpleNamespace(prefer=preferred.append)

    def tried(candidate, start, tol, max_iter):
        limits.append((tol, max_iter))
        return Answered(settled[candidate.q], start.candidate)

    monkeypatch.setattr(search, "_try", tried)
    search._settle()
    assert [(trial.candidate.q, trial.early) for trial in preferred] == [(kept, early)]
    # As far as the last fit.
    assert limits == [(Nort().tol, Nort().max_iter)] * solved


def test_of_answers_that_differ_by_chance_all_are_solved_further(monkeypatch):
    """The best of several is found among those that are solved further, too."""
    on_the_way = {q: Answered(0.7 - 0.1 * (q > 1), Candidate(1.0, q, (1.0,))) for q in (1.0, 3.0)}
    on_the_way[1.0].beats = lambda other: True
    settled, search, preferred = {1.0: 0.5, 3.0: 0.6}, NortSearch(Nort()), []
    search._best_at, search._trials = on_the_way, SimpleNamespace(prefer=preferred.append)
    monkeypatch.setattr(search, "_try", lambda candidate, *_, **__: Answered(settled[candidate.q], candidate))
    on_the_way[1.0].beats = lambda other: other is None or other.held_out > 0.55
    search._settle()
    assert [trial.candidate.q for trial in preferred] == [1.0]


@pytest.mark.parametrize(
    ("given", "weights", "errors", "chosen"),
    [
        (None, (0.5, 0.5), {3.0: 0.6, 10.0: 0.5}, 10.0),
        (None, (0.5, 0.5), {3.0: 0.6, 10.0: 0.8}, 3.0),
        (None, (0.5, 0.5), {3.0: 0.8}, 1.0),
        (None, (1.0, 0.0), {}, 1.0),
        (2.0, (0.5, 0.5), {}, 1.0),
    ],
)
def test_tau_rises_while_held_out_entries_gain(monkeypatch, given, weights, errors, chosen):
    """A single component does not depend on tau, and a tau that the caller gives stays."""
    search = NortSearch(Nort(tau=given))
    search._trials = SimpleNamespace(leader=Answered(0.7, Candidate(1.0, 1.0, weights)))

    def tried(candidate, start, **rules):
        trial = Answered(errors.pop(candidate.tau), candidate)
        if trial.beats(search._trials.leader):
            search._trials.leader = trial

    monkeypatch.setattr(search, "_try", tried)
    search._raise_tau()
    assert search._trials.leader.candidate.tau == chosen
    assert not errors


@pytest.mark.parametrize(
    ("higher", "same", "lower", "kept"), [(0.5, 0.5, 0.5, -0.5), (0.6, 0.5, 0.5, 0.0), (0.6, 0.5, 0.4, 0.5)]
)
def test_of_cuts_that_are_equally_good_the_largest_is_kept(monkeypatch, higher, same, lower, kept):
    best = Answered(same, Candidate(1.0, 1.0, (0.5, 0.5)))
    search, preferred = NortSearch(Nort()), []
    search._trials = SimpleNamespace(leader=best, prefer=preferred.append)
    monkeypatch.setattr(
        search,
        "_try",
        lambda candidate, start, tol: Answered(higher if candidate.cut > 1 else lower, candidate),
    )
    search._refine()
    assert preferred[0].candidate.cut == pytest.approx(best.candidate.lower(kept).cut)


@pytest.mark.parametrize(("ranks", "bounds"), [((15, 13), {}), ((9, 13), {None: NoiseEdge(1.0, (9, 13))})])
def test_ranks_that_stay_as_the_cut_is_raised_again_are_no_noise(monkeypatch, ranks, bounds):
    """Where singular values fall slowly, as those of pictures do, ranks that fill their room are worth having."""
    above = Candidate(1.0, 1.0, (0.5, 0.5)).lower(-1)
    start, full = Answered(0.9, above, (6, 4)), Answered(0.7, above.lower(1), (15, 13))
    search = NortSearch(Nort())
    search.modes, search._most_ranks = (0, 1), (99, 99)
    monkeypatch.setattr(search, "ranks", lambda trial: trial.ranks)
    monkeypatch.setattr(
        search,
        "_try",
        lambda candidate, last, *room, **how: Answered(
            last.held_out - 0.01, candidate, ranks if not room else (15, 13)
        ),
    )
    assert search._without_noise(full, start).ranks == ranks
    assert {noise: NoiseEdge(pytest.approx(edge.cut), edge.ranks) for noise, edge in search._edges.items()} == bounds


# The modes


def test_a_mode_that_is_far_ahead_goes_first_and_the_path_of_all_ends_early():
    rng = np.random.default_rng(0)
    table = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 24 * 24))
    dense = table.reshape(60, 24, 24) + 0.1 * rng.standard_normal((60, 24, 24))
    seen = rng.random(dense.shape) < 0.3
    data = SimpleNamespace(
        observations=Observations.from_dense(np.where(seen, dense, np.nan)),
        test=Observations.from_dense(np.where(seen, np.nan, dense)),
    )
    trials = searched(data)
    of_all = [number for number, point in enumerate(trials.points) if len(point.modes) == 3]
    alone = [number for number, point in enumerate(trials.points) if point.modes == (0,)]
    assert trials.leader.point.modes == (0,)
    assert alone[2] < of_all[1]
    assert len(of_all) < len(alone)


@pytest.mark.slow
def test_what_is_noise_in_one_mode_does_not_bound_all(monkeypatch):
    data = synthetic((40, 40, 40), rank=3, factors="normal", rng=0)
    usual = searched(data)
    monkeypatch.setattr(nort_search, "FAR_AHEAD", 0.0)
    trials = searched(data)
    assert len(trials.points[4].modes) == 1
    assert trials.leader.point.modes == (0, 1, 2)
    assert trials.leader.point.held_out < 1.05 * usual.leader.point.held_out


# The weights of the modes


def test_weakening_goes_down_to_nothing_and_leaves_one_mode_at_least():
    candidate = Candidate(1.0, 1.0, (1 / 3,) * 3)
    seen = []
    for place in (0, 1, 2):
        while (weaker := candidate.weaker(place, to_zero=True)) is not None:
            assert sum(weaker.weights) == pytest.approx(1)
            assert weaker.weights[place] < candidate.weights[place]
            candidate = weaker
            seen.append(candidate.weights)
    assert candidate.weights == (0.0, 0.0, 1.0)
    assert all(weight == 0 or weight > 0.9 * LEAST_WEIGHT for weights in seen for weight in weights)


def test_a_mode_that_the_caller_names_is_never_left_out():
    candidate = Candidate(1.0, 1.0, (0.5, 0.5))
    while (weaker := candidate.weaker(0, to_zero=False)) is not None:
        candidate = weaker
    assert 0 < candidate.weights[0] < 0.1


def test_a_search_keeps_all_modes_that_the_caller_names(data):
    named, open_modes = (
        {point.modes for point in searched(data, modes=modes).points} for modes in ((0, 1, 2), None)
    )  # fmt: skip
    assert named == {(0, 1, 2)}
    assert {(0,), (1,), (2,)} <= open_modes


def test_a_weight_falls_to_three_tenths_and_a_fiftieth_of_the_others_is_none():
    candidate, ratios = Candidate(1.0, 1.0, (0.4, 0.3, 0.3)), []
    while candidate is not None and candidate.weights[0]:
        ratios.append(candidate.weights[0] / sum(candidate.weights[1:]))
        candidate = candidate.weaker(0, to_zero=True)
    np.testing.assert_allclose(ratios, 0.4 / 0.6 * 0.3 ** np.arange(len(ratios)))
    assert 0.02 <= ratios[-1] < 0.02 / 0.3


@pytest.mark.slow
def test_of_a_tensor_of_low_rank_in_one_mode_only_that_mode_is_left_unless_modes_are_named():
    rng = np.random.default_rng(2)
    truth = np.tensordot(rng.standard_normal((30, 2)), rng.standard_normal((2, 15, 14)), axes=1)
    missing = rng.random(truth.shape) < 0.6
    holes = np.where(missing, np.nan, truth + 0.01 * rng.standard_normal(truth.shape))
    free = complete(holes, method="nort", rng=0)
    named = complete(holes, modes=[0, 1, 2], rng=0)
    assert free.modes == (0,)
    assert free.ranks == (2,)
    assert rmse(free.to_dense()[missing], truth[missing]) < 0.01
    assert named.modes == (0, 1, 2)


@pytest.mark.filterwarnings("ignore:The answer is hardly better than 0")
@pytest.mark.parametrize(
    ("shape", "modes"), [((30, 20, 3), (0, 1)), ((9, 8, 7), (0, 1)), ((5, 4, 3), (0, 1)), ((8, 8, 8), (0, 1, 2))]
)
def test_modes_too_small_to_regularise_take_no_part(shape, modes):
    rng = np.random.default_rng(0)
    array = np.where(rng.random(shape) < 0.3, np.nan, rng.standard_normal(shape))
    assert set(complete(array, method="nort", rng=0).modes) <= set(modes)
    assert complete(array, modes=[2], lam=1.0, rng=0).modes == (2,)


# Several splits, and the path by itself


@pytest.mark.slow
def test_several_splits_choose_together(data, chosen):
    fit = complete(data.observations, choose=Choice(splits=3), rng=0)
    assert len(fit.residuals) == pytest.approx(3 * len(chosen.residuals), abs=3)
    assert rmse(fit.predict(data.test.coords), data.test.values) < 1.4 * data.limit
    again = complete(data.observations, choose=Choice(splits=3), rng=0)
    np.testing.assert_array_equal(fit.to_dense(), again.to_dense())


def test_an_interrupt_of_several_splits_keeps_the_best(data):
    calls = []

    def interrupt(record, model):
        calls.append(record)
        if len(calls) == 10:
            raise KeyboardInterrupt

    fit = complete(data.observations, choose=Choice(splits=2), rng=0, callback=interrupt)
    assert fit.status is Status.INTERRUPTED
    assert np.isfinite(fit.predict(data.test.coords)).all()


def test_the_path_by_itself(data):
    tried = path(data.observations, rng=0)
    assert (np.diff(tried["cut"]) < 0).all()
    assert (tried["seconds"] > 0).all()
    assert tried["lam"].shape == tried["ranks"].shape == (len(tried), 3)
    # The longer it is followed, the better the fitted entries are met.
    longer = path(data.observations, points=25, q=0.3, rng=0)
    assert len(longer) == 25
    assert set(longer["q"]) == {0.3}
    assert longer["training"][-1] < longer["training"][0]
    assert longer.best.held_out < 1.5 * data.noise


def test_the_score_has_a_least_and_the_ranks_are_found(data, chosen):
    path = chosen.path
    assert path["held_out"].min() < 0.5 * path["held_out"].max()
    assert (path["training"] > 0).all()
    assert min(chosen.ranks) >= 3
    assert rmse(chosen.predict(data.test.coords), data.test.values) < 1.4 * data.limit
    with pytest.raises(KeyError, match="no column 'speed'; the columns are method"):
        path["speed"]


def test_a_tie_goes_to_the_earlier_trial(data):
    trials = Trials(
        [Split(Problem(data.observations, Square()), held_out=data.test)], Context(np.random.default_rng(0))
    )
    method = Nort(lam=1.0, max_iter=5)
    one, same = (trials.run(method, None, tried={"lam": 1.0}) for _ in range(2))
    assert one.beats(None)
    assert not one.beats(one)
    assert not same.beats(one)
    assert trials.leader is one


def test_least_squares_polish_is_kept_where_it_helps(data, chosen):
    polished = complete(data.observations, refine="tucker", rng=0)
    plain, better = (rmse(fit.predict(data.test.coords), data.test.values) for fit in (chosen, polished))
    # A larger tau, which the search chooses by itself, comes as close to least squares as a polish does.
    assert better <= plain * 1.02
    assert (polished.recipe.stage(Polish) is not None) is (polished.held_out_error < chosen.held_out_error)


@pytest.mark.slow
def test_polish_reaches_the_limit_where_the_ranks_are_found():
    data = synthetic((60, 60, 60), rank=3, observed=40_000, rng=6)
    # A larger tau leaves nothing to polish.
    fit = complete(data.observations, tau=1.01, refine="tucker", rng=0)
    assert fit.ranks == (3, 3, 3)
    assert fit.recipe.stage(Polish) is not None
    assert rmse(fit.predict(data.test.coords), data.test.values) < 1.1 * data.limit


@functools.cache
def with_many_held_out():
    """Return data with many held-out entries, and its fit."""
    data = synthetic((40, 40, 40), rank=3, observed=20_000, rng=1)
    return data, complete(data.observations, rng=0)


@pytest.mark.parametrize("share", [0.5, 0.8, 0.9])
@pytest.mark.slow
def test_intervals_hold_the_share_they_promise(share):
    data, fit = with_many_held_out()
    noisy = data.test.values + data.noise * np.random.default_rng(0).standard_normal(len(data.test))
    value, low, high = fit.predict(data.test.coords, interval=share)
    np.testing.assert_array_equal(value, fit.predict(data.test.coords))
    assert np.mean((low <= noisy) & (noisy <= high)) == pytest.approx(share, abs=0.04)


def test_intervals_need_held_out_entries(data, chosen):
    with pytest.raises(ValueError, match=r"Intervals rest on held-out entries.*choose=Choice\(\)\."):
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
    assert str(make_holdout("auto", seen)) == "single entries"


@pytest.mark.parametrize("share", [0.3, 0.95])
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_whole_fibres_are_held_out_where_whole_fibres_are_missing(mode, share):
    shape = (30, 25, 20)
    others = tuple(1 if axis == mode else size for axis, size in enumerate(shape))
    seen = holes(shape, lambda rng: np.broadcast_to(rng.random(others) < share, shape))
    how = make_holdout("auto", seen)
    assert str(how) == f"whole fibres along mode {mode}"
    training, held_out = how.split(seen, 0.1, np.random.default_rng(0))
    fibres = {tuple(np.delete(row, mode)) for row in held_out.coords.tolist()}
    assert fibres.isdisjoint(tuple(np.delete(row, mode)) for row in training.coords.tolist())
    assert str(make_holdout("entry", seen)) == "single entries"


def test_gaps_of_days_are_held_out_where_days_are_missing():
    seen = holes((12, 10, 240), lambda rng: np.repeat(rng.random((12, 10, 10)) < 0.3, 24, axis=2))
    how = make_holdout("auto", seen)
    assert str(how) == "gaps like those of the data"
    held_out = np.zeros(seen.shape, dtype=bool)
    held_out.ravel()[seen.positions[how.drawn(seen, 0.1, np.random.default_rng(0))]] = True
    starts = held_out & ~np.roll(held_out, 1, axis=2)
    assert held_out.sum() / starts.sum() > 15


def test_blocks_are_held_out_of_a_tensor_that_is_too_large_for_a_mask():
    days = holes((12, 10, 240), lambda rng: np.repeat(rng.random((12, 10, 10)) < 0.3, 24, axis=2))
    numbers = np.array([2000, 1000, 1]) * days.coords
    numbers[0] = 0
    seen = Observations(numbers, days.values, (24_000, 10_000, 240))
    how = make_holdout("auto", seen)
    assert how.block[:2] == (1, 1)
    assert how.block[2] == pytest.approx(24, abs=4)
    assert str(how) == f"blocks of size {how.block}"


def test_the_fit_says_what_was_held_out(chosen):
    assert str(chosen.recipe.holdout) == "single entries"


# Low rank predicts whole slices that were held out as zero, which a warning says.
@pytest.mark.filterwarnings("ignore:The answer is hardly better than 0")
@pytest.mark.parametrize(
    ("how", "block", "words"),
    [
        (("fibre", 1), (1, 25, 1), "whole fibres along mode 1"),
        (("slice", -1), (20, 25, 1), "whole slices of mode 2"),
        ([2, 3, 100], (2, 3, 30), "blocks of size (2, 3, 30)"),
        ("entry", (1, 1, 1), "single entries"),
    ],
)
def test_the_caller_says_what_is_held_out(how, block, words):
    seen = holes((20, 25, 30), lambda rng: rng.random((20, 25, 30)) < 0.5)
    made = make_holdout(how, seen)
    assert made.block == block
    assert str(made) == words
    fit = complete(seen, lam=1.0, max_iter=2, choose=Choice(holdout=how), smooth=None, centre=False, rng=0)
    assert str(fit.recipe.holdout) == words


def test_a_complete_tensor_holds_out_single_entries():
    full = Observations.from_dense(np.ones((4, 5)))
    assert str(make_holdout("auto", full)) == "single entries"


@pytest.mark.parametrize("rng", [0, 2])
def test_a_polish_lets_noise_go_in_some_modes_where_others_have_none(rng):
    """Ranks such as (3, 6, 11): the first mode has no gap among its singular values, and must keep them all."""
    data = synthetic((40, 30, 20), rank=3, rng=0)
    fit = complete(data.observations, refine="tucker", rng=rng)
    assert fit.ranks == (3, 3, 3)
    assert rmse(fit.predict(data.test.coords), data.test.values) < 1.15 * data.limit


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"choose": {"holdout": "days"}}, ["holdout", "'auto'", "'days'"]),
        ({"choose": {"holdout": ("fibre", 3)}}, ["mode of holdout", "3"]),
        ({"choose": {"holdout": (1, 2)}}, ["holdout", "3 modes", "(1, 2)"]),
        ({"choose": {"splits": 0}}, ["splits", "at least 1"]),
        ({"choose": {"validation": 0}}, ["validation", "above 0"]),
        ({"choose": {"validation": 1.5}}, ["validation", "below 1"]),
        ({"centre": "yes"}, ["centre", "'auto'", "'yes'"]),
        ({"refine": "more"}, ["refine", "'tucker'", "'more'"]),
    ],
)
def test_bad_choices_get_one_sentence(data, options, words):
    options, given = dict(options), options.get("choose", {})
    options.pop("choose", None)
    refuses(ValueError, words, lambda: complete(data.observations, rng=0, choose=Choice(**given), **options))


@pytest.mark.parametrize("shape", [(30, 20), (20, 15, 12)])
def test_an_empty_slice_says_nothing_of_how_other_entries_go_missing(shape):
    rng = np.random.default_rng(0)
    factors = [rng.standard_normal((size, 2)) for size in shape]
    truth = functools.reduce(lambda x, y: x[..., None, :] * y, factors).sum(axis=-1)
    data = truth + 0.01 * rng.standard_normal(shape)
    data[3] = np.nan
    with pytest.warns(UserWarning, match="1 of the"):
        fit = complete(data, rng=0)
    assert str(fit.recipe.holdout) == "single entries"
    assert rmse(np.delete(fit.to_dense(), 3, axis=0), np.delete(truth, 3, axis=0)) < 0.01


def test_what_is_held_out_of_a_tensor_with_a_huge_mode_takes_no_room_of_its_size():
    coords = np.array([[0, 0], [1, 10**10], [2, 3 * 10**10], [3, 10**10], [0, 10**10]])
    data = Observations(coords, np.arange(5.0), (4, 10**11))
    assert make_holdout("auto", data).block == (1, 1)
