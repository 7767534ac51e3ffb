"""How ranks and form are chosen: the right ones on low rank, nothing on noise, and whether more is left."""

from __future__ import annotations

import functools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tensorfill import Grow, Observations
from tensorfill.choosing.context import Context
from tensorfill.choosing.holdout.splits import Choice, make_splits
from tensorfill.choosing.search import grow as module
from tensorfill.choosing.search import grow_state as standing
from tensorfill.choosing.search.grow import GrowSearch
from tensorfill.choosing.search.slope import slope_of
from tensorfill.choosing.search.trials import Trials, search_through
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.methods.grow.growth import Growth
from tensorfill.methods.problem import Problem
from tensorfill.metrics import rmse
from tensorfill.models import CPModel, Tucker
from tests.methods.grow.examples import noise, orthogonal_terms, slowly_falling
from tests.slow import slow_except


def searched(observations, *, splits=1, seed=0, rival=np.inf, **settings):
    """Return the search after its run, and the trials."""
    rng = np.random.default_rng(seed)
    parts, _ = make_splits(observations, Square(), Choice(splits=splits), rng)
    trials, search = Trials(parts, Context(rng), rival=rival), GrowSearch(Grow(**settings))
    search_through(search, trials)
    search.finish(trials)
    return search, trials


@functools.cache
def plain():
    return synthetic((40, 40, 40), rank=3, rng=1)


def error_over_limit(trials, data, held_out=0.1):
    """Return the largest error of the splits, over what their entries allow."""
    errors = [rmse(model.predict(data.test.coords), data.test.values) for model in trials.leader.models]
    return max(errors) / data.limit * np.sqrt(1 - held_out)


# Low rank


@pytest.mark.parametrize(
    ("shape", "terms", "seed"),
    [((40, 40, 40), 3, 1), ((40, 40, 40), 3, 2), ((150, 120), 2, 1), ((30, 30, 30, 4), 2, 2)],
    ids=str,
)
def test_the_terms_of_a_low_rank_tensor_are_found(shape, terms, seed):
    data = synthetic(shape, rank=terms, rng=seed)
    search, trials = searched(data.observations)
    assert trials.leader.models[0].ranks == (terms,)
    assert search.final(trials, 0) == Grow(rank=terms, form="cp")
    assert error_over_limit(trials, data) < 1.1
    assert search.conclusive


def test_a_tensor_that_is_no_short_sum_stays_in_tucker_form():
    rng = np.random.default_rng(0)
    factors = [np.linalg.qr(rng.standard_normal((25, 3)))[0] for _ in range(3)]
    truth = Tucker((25, 25, 25), 25**1.5 / 5 * rng.standard_normal((3, 3, 3)), factors)
    template, _ = orthogonal_terms(25, [1.0], density=0.4, noise=0.0)
    values = truth.predict(template.coords) + 0.05 * rng.standard_normal(len(template))
    search, trials = searched(template.with_values(values))
    assert trials.leader.models[0].ranks == (3, 3, 3)
    assert search.final(trials, 0) == Grow(rank=(3, 3, 3), form="tucker")
    assert search.conclusive


def test_unequal_ranks_are_found():
    rng = np.random.default_rng(0)
    factors = [np.linalg.qr(rng.standard_normal((25, rank)))[0] for rank in (4, 2, 2)]
    truth = Tucker((25, 25, 25), 25**1.5 / 4 * rng.standard_normal((4, 2, 2)), factors)
    template, _ = orthogonal_terms(25, [1.0], density=0.4, noise=0.0)
    values = truth.predict(template.coords) + 0.05 * rng.standard_normal(len(template))
    _, trials = searched(template.with_values(values), form="tucker")
    assert trials.leader.models[0].ranks == (4, 2, 2)


def test_a_weak_term_is_found():
    observations, truth = orthogonal_terms(40, [1.0, 0.8, 0.2], density=0.3, noise=1.0, seed=1)
    search, trials = searched(observations)
    model = trials.leader.models[0]
    assert model.ranks == (3,)
    limit = np.sqrt(3 * 120 / (0.9 * len(observations)))
    assert rmse(model.to_dense(), truth.to_dense()) < 1.1 * limit
    assert search.conclusive


def test_a_term_that_no_mode_shows_is_found_as_a_term(monkeypatch):
    observations, _ = orthogonal_terms(40, [1.0, 0.8, 0.1], density=0.3, noise=1.0, seed=1)
    assert searched(observations)[1].leader.models[0].ranks == (3,)
    monkeypatch.setattr(Growth, "terms", lambda self, model, thoroughly: ([], True))
    assert searched(observations)[1].leader.models[0].ranks == (2,)


def test_single_precision():
    search, trials = searched(plain().observations.astype(np.float32))
    model = trials.leader.models[0]
    assert model.ranks == (3,)
    assert model.dtype == np.float32
    assert error_over_limit(trials, plain()) < 1.1
    assert search.conclusive


def test_several_splits_choose_together():
    data = synthetic((30, 30, 30), rank=2, rng=1)
    search, trials = searched(data.observations, splits=2)
    assert [model.ranks for model in trials.leader.models] == [(2,), (2,)]
    one, other = (model.predict(data.test.coords) for model in trials.leader.models)
    assert not np.array_equal(one, other)
    assert error_over_limit(trials, data) < 1.15
    assert search.conclusive


def test_the_generator_decides_everything():
    data = synthetic((20, 20, 20), rank=2, rng=0)
    one, other = (searched(data.observations, seed=5)[1] for _ in range(2))
    assert len(one.points) == len(other.points)
    np.testing.assert_array_equal(one.leader.models[0].to_dense(), other.leader.models[0].to_dense())


@pytest.mark.slow
def test_a_huge_mode_needs_no_gram_matrix(monkeypatch):
    sizes = []

    def counted(rows, starts, values, size):
        sizes.append(size)
        return gram(rows, starts, values, size)

    from tensorfill.algebra.compiled.gram import off_diagonal_gram as gram

    monkeypatch.setattr("tensorfill.algebra.compiled.gram.off_diagonal_gram", counted)
    data = synthetic((3000, 15, 12), rank=1, observed=200_000, factors="normal", noise=0.1, rng=0)
    _, trials = searched(data.observations)
    assert set(sizes) == {15, 12}
    assert trials.leader.models[0].ranks == (1,)
    assert error_over_limit(trials, data) < 1.1


# What is given


def test_a_given_form_is_kept():
    search, trials = searched(plain().observations, form="tucker")
    assert isinstance(trials.leader.models[0], Tucker)
    assert all(point.method.form == "tucker" for point in trials.points)
    assert search.final(trials, 0) == Grow(rank=(3, 3, 3), form="tucker")
    _, trials = searched(plain().observations, form="cp")
    assert isinstance(trials.leader.models[0], CPModel)


def test_a_cp_model_is_kept_where_tucker_form_fits_better():
    rng = np.random.default_rng(0)
    factors = [np.linalg.qr(rng.standard_normal((25, 2)))[0] for _ in range(3)]
    truth = Tucker((25, 25, 25), 25**1.5 / 3 * rng.standard_normal((2, 2, 2)), factors)
    template, _ = orthogonal_terms(25, [1.0], density=0.3, noise=0.0)
    values = truth.predict(template.coords) + 0.05 * rng.standard_normal(len(template))
    for observations in (template.with_values(values), slowly_falling(16)):
        assert isinstance(searched(observations, form="cp")[1].leader.models[0], CPModel)


@pytest.mark.parametrize(("rank", "ranks"), [(2, (2, 2, 2)), ((2, 3, 1), (2, 3, 1)), (0, (0, 0, 0))], ids=str)
def test_a_given_rank_is_kept(rank, ranks):
    search, trials = searched(plain().observations, rank=rank)
    assert trials.points[0].method == Grow(rank=rank, form="tucker")
    assert trials.points[0].ranks == ranks
    # How far below the largest rank sums are tried depends on chance.
    terms = {point.method.rank for point in trials.points[1:]}
    assert terms in {2: [{2}], (2, 3, 1): [{3}, {2, 3}, {1, 2, 3}], 0: [set()]}[rank]
    # What grew to ranks that were asked for says nothing about what is left.
    assert not search.conclusive


# Noise, and what is not of low rank


@pytest.mark.parametrize(
    ("shape", "density", "seed"),
    [
        ((20, 20, 20), 0.3, 0),
        pytest.param((20, 20, 20), 0.3, 28, marks=pytest.mark.slow),
        ((40, 30), 0.5, 1),
        ((12, 12, 12, 3), 0.2, 2),
        pytest.param((12, 12, 12, 4, 3), 0.1, 3, marks=pytest.mark.slow),
        ((30, 30, 4, 4), 0.2, 4),
    ],
    ids=str,
)
def test_noise_has_no_rank(shape, density, seed):
    search, trials = searched(noise(shape, density, seed), seed=seed)
    model = trials.leader.models[0]
    assert model.core.size == 0
    np.testing.assert_array_equal(model.predict(trials.splits[0].held_out.coords), 0)
    assert not search.conclusive


def test_what_was_turned_down_is_not_the_answer(monkeypatch):
    # Nothing is ever worth it, however good it is.
    monkeypatch.setattr(module, "LIKELY", np.inf)
    monkeypatch.setattr(module, "BEYOND_DOUBT", np.inf)
    search, trials = searched(plain().observations)
    assert trials.leader.models[0].ranks == (0, 0, 0)
    assert not search.conclusive


def test_a_slowly_falling_spectrum_is_not_conclusive():
    rng = np.random.default_rng(0)
    factors = [np.linalg.qr(rng.standard_normal((16, 16)))[0] for _ in range(3)]
    core = rng.standard_normal((16, 16, 16)) / (1 + np.indices((16, 16, 16)).sum(axis=0)) ** 2
    dense = np.einsum("abc,ia,jb,kc->ijk", core, *factors)
    search, trials = searched(Observations.from_dense(dense, rng.random(dense.shape) < 0.5))
    assert not search.conclusive
    assert isinstance(trials.leader.models[0], Tucker)
    assert trials.leader.point.held_out < 0.5 * trials.points[0].held_out


def test_a_sum_without_noise_is_found_and_nothing_is_built_on_rounding():
    """Twenty terms that fall as 1 / k."""
    search, trials = searched(slowly_falling())
    assert trials.leader.point.held_out < 1e-6
    assert trials.leader.models[0].ranks[0] < 30
    assert search.conclusive


def test_too_few_entries_are_not_conclusive():
    data = synthetic((30, 30, 30), rank=2, observed=1500, factors="normal", rng=0)
    search, trials = searched(data.observations)
    assert trials.leader.models[0].ranks != (0, 0, 0)
    assert not search.conclusive


# The comparison of two answers


def test_the_slope_is_that_of_a_regression():
    rng = np.random.default_rng(0)
    difference = rng.standard_normal(5000)
    left = 0.7 * difference + rng.standard_normal(5000)
    slope = slope_of(difference, left)
    assert slope.value == pytest.approx(np.linalg.lstsq(difference[:, None], left, rcond=None)[0][0])
    assert slope.certainty == pytest.approx(0.7 * np.sqrt(5000), rel=0.05)
    assert slope_of(-difference, left) == pytest.approx((-slope.value, -slope.certainty))
    # Neither the unit of the values nor that of the difference matters to the certainty.
    assert slope_of(3 * difference, 5 * left) == pytest.approx((5 / 3 * slope.value, slope.certainty))


def test_the_certainty_of_nothing_is_that_of_a_standard_normal():
    rng = np.random.default_rng(0)
    # Entries that matter most are the noisiest, which ordinary standard errors do not allow for.
    scale = np.exp(rng.standard_normal(2000))
    draws = [slope_of(scale, scale * rng.standard_normal(2000)).certainty for _ in range(400)]
    assert np.mean(draws) == pytest.approx(0, abs=0.2)
    assert np.std(draws) == pytest.approx(1, rel=0.15)


def test_few_entries_that_make_the_difference_are_not_certain_by_themselves():
    rng = np.random.default_rng(0)
    # Noise whose sizes are those of the terms of a sum of outer products: a few are much larger than the rest.
    draws = []
    for _ in range(2000):
        difference = np.prod(rng.standard_normal((3, 40)), axis=0)
        draws.append(slope_of(difference, rng.standard_normal(40)).certainty)
    assert np.mean(np.array(draws) > 3) < 0.015
    difference, left = np.array([10.0, 1.0, -1.0]), np.array([20.0, 1.0, 0.0])
    slopes = [
        (difference[others] @ left[others]) / (difference[others] @ difference[others])
        for others in ~np.eye(3, dtype=bool)
    ]
    spread = np.linalg.norm(difference * (left - np.array(slopes) * difference))
    assert slope_of(difference, left).certainty == pytest.approx(difference @ left / spread)


def test_without_a_difference_there_is_no_slope():
    assert slope_of(np.zeros(5), np.ones(5)) == (0, 0)
    exact = slope_of(np.ones(5), np.ones(5))
    assert exact.value == 1
    assert exact.certainty > 1e10


@pytest.mark.parametrize(("times", "worth_it"), [(1.0, True), (1.9, True), (2.1, False), (-1.0, False)])
def test_what_is_added_must_do_more_good_than_harm(times, worth_it):
    """Added more than twice, what is there without doubt leaves a larger error than without it."""
    rng = np.random.default_rng(0)
    there = rng.standard_normal(10_000)
    search = GrowSearch(Grow())
    search._trials = SimpleNamespace(
        held_out_values=there + 0.1 * rng.standard_normal(len(there)), predictions=lambda models: models[0]
    )
    rich, simple = [times * there], [np.zeros(len(there))]
    assert abs(search._slope(rich, simple).certainty) > 100
    assert search._is_worth_it(rich, simple, module.BEYOND_DOUBT) is worth_it


def test_only_ranks_far_above_the_least_are_evened_out(monkeypatch):
    search, tried = GrowSearch(Grow()), []
    monkeypatch.setattr(GrowSearch, "_ranks", (4, 3, 2))
    monkeypatch.setattr(GrowSearch, "_free", [0, 1, 2])
    monkeypatch.setattr(search, "_trim_mode", tried.append)
    search._kept = object()
    search._even_out()
    assert tried == [0]


@pytest.mark.parametrize(("allowed", "sweeps"), [(module.STILL_AS_GOOD, Grow().max_iter), (0.0, module.SWEEPS)])
def test_few_sweeps_are_left_if_held_out_entries_lose_by_more_of_them(allowed, sweeps, monkeypatch):
    """Sweeps to convergence hardly change a low-rank answer; with nothing allowed, they lose."""
    monkeypatch.setattr(module, "STILL_AS_GOOD", allowed)
    search, trials = searched(synthetic((40, 30, 20), rank=2, rng=0).observations)
    assert search.final(trials, 0).max_iter == sweeps


def test_a_model_of_many_directions_far_behind_a_rival_is_left_as_it_is(monkeypatch):
    monkeypatch.setattr(module, "MOST_DIRECTIONS", 3)
    data = slowly_falling()
    alone, beside = (searched(data, rival=rival)[1].points for rival in (np.inf, 1e-9))
    assert max(beside[-1].ranks) > 3
    assert len(beside) < len(alone)


@pytest.mark.parametrize(
    ("shape", "share", "looks"),
    [((20, 20, 20), 0.05, []), ((20, 20, 20, 3), 0.05, [True]), ((20, 20, 20, 3), 0.5, [])],
)
def test_mixtures_are_looked_at_only_to_finish_and_where_small_modes_may_hide_a_term(shape, share, looks, monkeypatch):
    entries, asked, terms = noise(shape, share, 0), [], Growth.terms
    monkeypatch.setattr(
        Growth,
        "terms",
        lambda self, model, thoroughly: asked.append(thoroughly) or terms(self, model, thoroughly=False),
    )
    rng = np.random.default_rng(0)
    parts, _ = make_splits(entries, Square(), Choice(splits=1), rng)
    trials, search = Trials(parts, Context(rng)), GrowSearch(Grow())
    search_through(search, trials)
    assert set(asked) == {False}
    asked.clear()
    search.finish(trials)
    assert asked == looks
    # What it held for that is not needed any more, and to finish again changes nothing.
    assert not search._growths
    search.finish(trials)
    assert asked == looks


def test_all_terms_of_one_look_that_are_worth_it_are_kept(monkeypatch):
    looks = [(["first", "noise", "second", "noise", "never tried"], True), (["noise"], True)]
    assert terms_tried(looks, monkeypatch) == ["first", "noise", "second", "noise", "noise"]


def test_what_no_clear_term_hides_is_not_looked_for_again(monkeypatch):
    assert terms_tried([(["first", "second"], False), (["never tried"], False)], monkeypatch) == ["first", "second"]


def terms_tried(looks, monkeypatch):
    """Return the terms that a search tries, given what it finds at each look."""
    looks = iter(looks)
    monkeypatch.setattr(Growth, "terms", lambda self, model, thoroughly: next(looks))
    search = GrowSearch(Grow())
    search._growths = [Growth(Problem(noise((20, 20, 20), 0.2, 0), Square()), np.random.default_rng(0))]
    search._kept = SimpleNamespace(models=[search._growths[0].zero()])
    tried = []
    monkeypatch.setattr(GrowSearch, "_is_exact", False)
    monkeypatch.setattr(GrowSearch, "_shows", lambda self, terms: True)
    monkeypatch.setattr(GrowSearch, "_trim", lambda self: None)
    monkeypatch.setattr(GrowSearch, "_choose_form", lambda self: None)
    monkeypatch.setattr(
        search, "_grown_by_terms", lambda terms, certainty: tried.append(terms[0]) or terms[0] != "noise"
    )
    assert search._append_terms(thoroughly=True)
    return tried


@pytest.mark.parametrize("terms", slow_except([15, 20], [15]))
def test_more_terms_than_a_core_has_room_for_are_found_as_a_sum(terms):
    data = synthetic((50, 50, 50), rank=terms, observed=50_000, factors="normal", rng=1)
    search, trials = searched(data.observations)
    assert isinstance(trials.leader.models[0], CPModel)
    assert trials.leader.models[0].ranks[0] in (terms - 1, terms)
    assert error_over_limit(trials, data) < 1.15
    assert search.conclusive


def test_a_sum_in_place_of_a_core_that_is_no_short_sum_is_not_conclusive(monkeypatch):
    monkeypatch.setattr(standing, "MOST_IN_BLOCK", 5**3)
    rng = np.random.default_rng(0)
    factors = [np.linalg.qr(rng.standard_normal((40, 8)))[0] for _ in range(3)]
    dense = np.einsum("abc,ia,jb,kc->ijk", rng.standard_normal((8, 8, 8)), *factors)
    dense[rng.random(dense.shape) < 0.5] = np.nan
    search, trials = searched(Observations.from_dense(dense))
    cores = [point.held_out for point in trials.points if point.method.form == "tucker"]
    assert trials.leader.point.held_out < min(cores)
    assert not search.conclusive


def test_a_term_that_was_split_in_two_is_made_whole():
    data = synthetic((40, 40, 40), rank=3, rng=1)
    search, trials = searched(data.observations)
    model = search._kept.models[0]
    halves = CPModel(model.shape, 0.5 * model.weights[:1], [factor[:, :1] for factor in model.factors])
    rest = CPModel(model.shape, np.r_[0.5, 1.0, 1.0] * model.weights, model.factors)
    search._keep(search._tried([rest.plus(halves)], sweeps=1))
    search._drop_terms()
    assert search._kept.models[0].ranks == (3,)
    assert error_over_limit(trials, data) < 1.1


def test_a_sum_whose_core_would_be_too_large_keeps_its_terms(monkeypatch):
    monkeypatch.setattr(CPModel, "has_small_core", False)
    search, _ = searched(plain().observations)
    kept = search._kept
    search._drop_terms()
    assert search._kept is kept


def test_errors_at_held_out_entries_that_are_more_than_noise_are_not_conclusive():
    rng = np.random.default_rng(0)
    [split], _ = make_splits(plain().observations, Square(), Choice(splits=1), rng)
    values = split.held_out.values
    noisier = split.held_out.with_values(values + 3 * plain().noise * rng.standard_normal(len(values)))
    for held_out, conclusive in ((split.held_out, True), (noisier, False)):
        trials, search = Trials([replace(split, held_out=held_out)], Context(rng)), GrowSearch(Grow())
        search_through(search, trials)
        assert trials.leader.models[0].ranks == (3,)
        assert search.conclusive is conclusive
