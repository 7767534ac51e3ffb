"""The growing method at the front door: it ends at the limit, is the default, and refuses what it cannot do."""

from __future__ import annotations

import functools
import tracemalloc

import numpy as np
import pytest

import tensorfill
from tensorfill import Choice, Grow, complete
from tensorfill.choosing.search.grow import GrowSearch
from tensorfill.choosing.search.table import search_for
from tensorfill.choosing.search.walk import Walk
from tensorfill.datasets import synthetic
from tensorfill.losses import Logistic, Square
from tensorfill.methods.cp_least_squares import CPLeastSquares
from tensorfill.methods.problem import Problem
from tensorfill.metrics import rmse
from tensorfill.models import CPModel, FoldedLowRank, Tucker
from tests.methods.grow.examples import orthogonal_terms, slowly_falling
from tests.refusal import refuses


@functools.cache
def small():
    return synthetic((20, 18, 16), rank=2, rng=0)


def error_over_limit(fit, data):
    return rmse(fit.predict(data.test.coords), data.test.values) / data.limit


def names(fit):
    return {point.method.name for point in fit.path}


# The whole


@pytest.mark.parametrize(
    ("shape", "terms", "seed"),
    [((40, 40, 40), 3, 1), ((150, 120), 2, 1), ((30, 30, 30, 4), 2, 1)],
    ids=str,
)
def test_the_limit_is_reached(shape, terms, seed):
    data = synthetic(shape, rank=terms, rng=seed)
    fit = complete(data.observations, method="grow", rng=0)
    assert fit.method == Grow(rank=terms, form="cp")
    assert error_over_limit(fit, data) < 1.1


@pytest.mark.parametrize(("weights", "spread"), [([1.0, 0.7], 0.8), ([1.0, 0.8, 0.2], 0.0)], ids=["uneven", "weak"])
def test_it_ends_where_least_squares_from_the_truth_does(weights, spread):
    observations, truth = orthogonal_terms(35, weights, density=0.25, noise=0.7, spread=spread, seed=1)
    squares = CPLeastSquares(observations, truth)
    for _ in range(30):
        squares.sweep()
    fit = complete(observations, method="grow", centre=False, smooth=None, rng=0)
    dense = truth.to_dense()
    assert fit.ranks == (len(weights),)
    assert rmse(fit.model.to_dense(), dense) < 1.1 * rmse(squares.model().to_dense(), dense)


def test_the_default_of_a_low_rank_tensor_is_to_grow_and_no_more():
    data = synthetic((30, 30, 30), rank=2, rng=1)
    fit = complete(data.observations, rng=0)
    assert fit.method == Grow(rank=2, form="cp")
    assert names(fit) == {"grow"}
    assert error_over_limit(fit, data) < 1.1


def test_the_default_of_a_slowly_falling_spectrum_tries_nort_too():
    data, random = slowly_falling(14), np.random.default_rng(0)
    # Without noise, growth finds all fourteen terms.
    noisy = data.with_values(data.values + 0.2 * data.values.std() * random.standard_normal(len(data)))
    fit = complete(noisy, smooth=None, centre=False, rng=0)
    assert names(fit) >= {"grow", "nort"}


def test_noise_is_predicted_as_nothing():
    rng = np.random.default_rng(0)
    observations = small().observations.with_values(rng.standard_normal(len(small().observations)))
    with pytest.warns(UserWarning, match="hardly better than 0"):
        fit = complete(observations, method="grow", centre=False, smooth=None, rng=0)
    assert max(fit.ranks) == 0
    np.testing.assert_array_equal(fit.predict(observations.coords[:50]), 0)


def test_without_noise_the_tensor_is_exact():
    data = synthetic((20, 20, 20), rank=2, noise=0.0, rng=0)
    fit = complete(data.observations, method="grow", centre=False, smooth=None, rng=0)
    assert rmse(fit.predict(data.test.coords), data.test.values) < 1e-6


def test_several_splits():
    data = synthetic((25, 25, 25), rank=2, rng=1)
    fit = complete(data.observations, method="grow", choose=Choice(splits=2), rng=0)
    assert fit.method == Grow(rank=2, form="cp")
    assert error_over_limit(fit, data) < 1.15


# One run


@pytest.mark.parametrize("form", ["tucker", "cp"])
def test_given_settings_are_run_as_they_are(form):
    fit = complete(small().observations, method="grow", rank=2, form=form, rng=0)
    assert fit.path is None
    assert fit.method == Grow(rank=2, form=form)
    assert isinstance(fit.model, {"tucker": Tucker, "cp": CPModel}[form])
    assert error_over_limit(fit, small()) < 1.3


@pytest.mark.parametrize(
    ("rank", "form", "ranks"),
    [
        (0, "tucker", (0, 0, 0)),
        (0, "cp", (0,)),
        ((0, 2, 2), "tucker", (0, 0, 0)),
        ((3, 1, 2), "tucker", (3, 1, 2)),
        (1, "cp", (1,)),
        (5, "cp", (5,)),
    ],
    ids=str,
)
def test_given_ranks(rank, form, ranks):
    result = Grow(rank=rank, form=form).solve(Problem(small().observations, Square()), rng=0)
    assert result.model.ranks == ranks
    assert np.isfinite(result.model.to_dense()).all()
    assert np.any(result.model.to_dense()) == (max(ranks) > 0)


def test_more_terms_than_indices_and_ranks_above_the_sizes():
    problem = Problem(synthetic((9, 8, 3), rank=2, rng=0).observations, Square())
    assert Grow(rank=12, form="cp", max_iter=2).solve(problem, rng=0).model.ranks == (12,)
    assert Grow(rank=30, form="tucker", max_iter=1).solve(problem, rng=0).model.ranks == (9, 8, 3)


def test_the_history_has_the_sums_of_squares():
    observations = small().observations
    for form in ("tucker", "cp"):
        result = Grow(rank=2, form=form, max_iter=4, tol=0.0).solve(Problem(observations, Square()), rng=0)
        left = observations.values - result.model.predict(observations.coords)
        assert result.history["objective"][-1] == pytest.approx(0.5 * left @ left)


def test_an_answer_can_be_started_from():
    observations = small().observations
    problem = Problem(observations, Square())
    tucker = Grow(rank=2, form="tucker").solve(problem, rng=0).model
    cp = Grow(rank=2, form="cp").solve(problem, rng=0).model
    assert Grow(rank=2, form="tucker").can_start_from(tucker, problem)
    assert Grow(rank=2, form="cp").can_start_from(cp, problem)
    assert not Grow(rank=2, form="cp").can_start_from(tucker, problem)
    assert not Grow(rank=2, form="tucker").can_start_from(cp, problem)
    other = Problem(synthetic((20, 18, 15), rank=2, rng=0).observations, Square())
    assert not Grow(rank=2, form="tucker").can_start_from(tucker, other)
    again = Grow(rank=5, form="tucker", max_iter=1).solve(problem, start=tucker, rng=0).model
    assert again.ranks == (2, 2, 2)
    np.testing.assert_allclose(again.to_dense(), tucker.to_dense(), atol=1e-3)
    refuses(ValueError, ["start", "grow"], lambda: Grow(rank=2, form="cp").solve(problem, start=tucker, rng=0))


def test_small_modes_must_have_all_their_indices_in_a_start():
    problem = Problem(synthetic((12, 3, 10), rank=1, rng=0).observations, Square())
    grown = Grow(rank=1, form="tucker").solve(problem, rng=0).model
    assert grown.ranks == (1, 3, 1)
    assert Grow(rank=1, form="tucker").can_start_from(grown, problem)
    assert not Grow(rank=1, form="tucker").can_start_from(grown.truncated({1: 1}), problem)


def test_the_answer_of_a_fit_can_be_saved(tmp_path):
    fit = complete(small().observations, method="grow", rank=2, form="tucker", rng=0)
    fit.save(tmp_path / "fit.npz")
    back = tensorfill.load(tmp_path / "fit.npz")
    assert back.method == fit.method
    np.testing.assert_array_equal(back.predict([[0, 1, 2]]), fit.predict([[0, 1, 2]]))


def test_nothing_of_the_size_of_the_tensor_is_allocated():
    data = synthetic((150, 150, 150), rank=1, observed=5_000, factors="normal", noise=0.1, rng=0)
    method, problem = Grow(rank=1, form="cp", max_iter=2), Problem(data.observations, Square())
    method.solve(problem, rng=0)
    tracemalloc.start()
    try:
        method.solve(problem, rng=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 150**3 * 8 / 4


# What is refused


def test_what_makes_no_sense_is_refused():
    refuses(ValueError, ["form", "ring"], lambda: Grow(form="ring"))
    refuses(ValueError, ["rank", "-1"], lambda: Grow(rank=-1))
    refuses(ValueError, ["rank", "-1"], lambda: Grow(rank=(2, -1, 2)))
    refuses(ValueError, ["one number", "cp", "(2, 2, 2)"], lambda: Grow(rank=(2, 2, 2), form="cp"))
    observations = small().observations
    refuses(ValueError, ["3 modes", "(2, 2)"], lambda: Grow(rank=(2, 2)).check(Problem(observations, Square())))
    refuses(ValueError, ["square", "Logistic"], lambda: Grow().check(Problem(observations, Logistic())))
    nort = FoldedLowRank.from_tucker(
        Grow(rank=1, form="tucker").solve(Problem(observations, Square())).model, [0], [1.0]
    )
    assert not Grow(rank=1).can_start_from(nort, Problem(observations, Square()))


def test_what_is_open():
    assert Grow().open_settings == ("rank", "form")
    assert Grow(rank=2).open_settings == ("form",)
    assert Grow(form="cp").open_settings == ("rank",)
    assert Grow(rank=(1, 2), form="tucker").open_settings == ()
    assert isinstance(search_for(Grow(rank=2, form="cp")), Walk)
    assert isinstance(search_for(Grow()), GrowSearch)
