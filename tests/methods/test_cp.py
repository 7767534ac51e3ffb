"""CP by gradient steps over the observed entries."""

from __future__ import annotations

import functools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill import CP, Observations, Problem, complete
from tensorfill.algebra.entry_products import TermEntries
from tensorfill.datasets import synthetic
from tensorfill.losses import Huber, Logistic, Poisson, Square
from tensorfill.methods.cp import CPObjective, leading_term, possible_ranks, ridge_unit, usable_curvature
from tensorfill.metrics import rmse
from tensorfill.models import CPModel, Tucker
from tests.algebra.test_roughness import applied, make
from tests.refusal import refuses
from tests.strategies import generators, observed, shapes

LOSSES = {"square": Square(), "huber": Huber(0.5), "logistic": Logistic(), "poisson": Poisson(limit=3.0)}


def dense_of(factors):
    """Return the sum of outer products as an array."""
    dense = np.zeros([len(factor) for factor in factors])
    for r in range(factors[0].shape[1]):
        dense += functools.reduce(np.multiply.outer, [factor[:, r] for factor in factors])
    return dense


@st.composite
def objectives(draw, loss=None):
    """Draw a small problem, its objective, and a point."""
    shape = draw(shapes(max_order=4, max_entries=100, max_size=6))
    coords = draw(observed(shape))
    rng = draw(generators)
    kind = draw(st.sampled_from(sorted(LOSSES))) if loss is None else loss
    values = {"logistic": np.sign, "poisson": lambda x: np.round(np.abs(x))}.get(kind, np.asarray)
    problem = Problem(Observations(coords, values(rng.standard_normal(len(coords))), shape), LOSSES[kind])
    rank, ridge = draw(st.integers(1, 3)), draw(st.sampled_from([0.0, 0.7]))
    entries = TermEntries(problem.observations.coords, shape)
    factors = [rng.standard_normal((size, rank)) for size in shape]
    return problem, CPObjective(problem, entries, rank, ridge), factors, ridge


def joined(factors):
    return np.concatenate([factor.ravel() for factor in factors])


@given(drawn=objectives())
def test_the_value_is_that_of_the_formula(drawn):
    problem, objective, factors, ridge = drawn
    seen = dense_of(factors)[tuple(problem.observations.coords.T)]
    expected = problem.value(seen) + ridge / 2 * sum(float((factor**2).sum()) for factor in factors)
    assert objective(joined(factors))[0] == pytest.approx(expected)


@given(drawn=objectives(), rng=generators)
def test_the_gradient_is_that_of_finite_differences(drawn, rng):
    _, objective, factors, _ = drawn
    point = joined(factors)
    direction = rng.standard_normal(len(point))
    direction /= np.linalg.norm(direction)
    step = 1e-5
    slope = (objective(point + step * direction)[0] - objective(point - step * direction)[0]) / (2 * step)
    assert objective(point)[1] @ direction == pytest.approx(slope, rel=1e-4, abs=1e-4)


@given(drawn=objectives("square"), data=st.data())
def test_the_curvature_of_the_square_loss_is_its_second_derivative(drawn, data):
    _, objective, factors, _ = drawn
    point = joined(factors)
    place = data.draw(st.integers(0, len(point) - 1))
    # The objective is a parabola in every single coordinate, so a difference of any length is exact.
    values = [objective(point + step * np.eye(len(point))[place])[0] for step in (-1, 0, 1)]
    assert objective.curvature(point)[place] == pytest.approx(values[0] - 2 * values[1] + values[2], abs=1e-8)


@pytest.mark.parametrize(
    ("shape", "seed"), [((40, 35), 1), ((30, 28, 26), 0), ((30, 28, 26), 1), ((14, 13, 12, 11), 2)], ids=str
)
def test_low_rank_is_recovered_nearly_as_well_as_it_can_be(shape, seed):
    data = synthetic(shape, rank=3, noise=0.001, rng=seed)
    fit = complete(data.observations, method="cp", smooth=None, centre=False, rng=0)
    assert 3 <= fit.ranks[0] <= 4
    assert rmse(fit.predict(data.test.coords), data.test.values) < 1.5 * data.limit


def test_few_entries_are_enough():
    data = synthetic((40, 40, 40), rank=5, noise=0.001, observed=3000, rng=3)
    fit = complete(data.observations, method="cp", smooth=None, centre=False, rng=0)
    # From random factors, every variant that was tried ended at 50 times the limit or more on this data.
    assert rmse(fit.predict(data.test.coords), data.test.values) < 1.5 * data.limit


def test_yes_or_no_and_counts_are_predicted_better_than_by_their_mean():
    rng = np.random.default_rng(0)
    shape = (14, 13, 12)
    scores = 3 * dense_of([rng.choice([-1, 1], (size, 1)) + 0.3 * rng.standard_normal((size, 1)) for size in shape])
    seen = rng.random(shape) < 0.6
    likes = (rng.random(shape) < Logistic().probability(scores)).astype(float)
    fit = complete(np.where(seen, likes, np.nan), method="cp", loss="logistic", rng=0)
    guess = fit.predict_proba(np.argwhere(~seen))
    assert rmse(guess, Logistic().probability(scores)[~seen]) < 0.5 * Logistic().probability(scores).std()
    rates = np.exp(dense_of([rng.random((size, 1)) + 0.5 for size in shape]))
    counts = rng.poisson(rates).astype(float)
    fit = complete(np.where(seen, counts, np.nan), method="cp", loss="poisson", rng=0)
    assert rmse(fit.predict(np.argwhere(~seen)), rates[~seen]) < 0.5 * rates.std()


# Where it starts


def test_a_given_rank_is_reached_through_smaller_ones():
    data = synthetic((40, 40, 40), rank=5, noise=0.001, observed=3000, rng=2)
    ridge = 0.03 * ridge_unit(Problem(data.observations, Square()))
    ranks = []
    fit = complete(
        data.observations,
        method="cp",
        rank=5,
        ridge=ridge,
        rng=0,
        callback=lambda record, model: ranks.append(model.ranks),
    )
    assert list(dict.fromkeys(ranks)) == [(1,), (2,), (3,), (4,), (5,)]
    # With all terms at once it ends at 18 times the limit.
    assert rmse(fit.predict(data.test.coords), data.test.values) < 1.5 * data.limit
    stopped = complete(data.observations, method="cp", rank=5, ridge=ridge, rng=0, callback=lambda record, model: True)
    assert stopped.ranks == (1,)


def problem_of(rank=3, **settings):
    data = synthetic((15, 14, 13), rank=rank, rng=0, **settings)
    return data, Problem(data.observations, Square())


def test_a_growing_rank_starts_from_the_last_answer():
    _, problem = problem_of(noise=0)
    small = CP(rank=2, ridge=0.0).solve(problem, rng=0)
    solver = CP(rank=4, ridge=0.0).prepare(problem, small.model, np.random.default_rng(0))
    assert solver.progress().ranks == (4,)
    # New terms fit the residuals, so the objective is lower from the first moment.
    assert solver.progress().objective < small.history[-1].objective
    kept = CP(rank=1, ridge=0.0).prepare(problem, small.model, np.random.default_rng(0))
    assert kept.progress().ranks == (2,)
    assert kept.progress().objective == pytest.approx(small.history[-1].objective)


def test_a_start_of_another_kind_is_refused():
    _, problem = problem_of()
    tucker = Tucker((15, 14, 13), np.ones((1, 1, 1)), [np.ones((size, 1)) for size in (15, 14, 13)])
    refuses(ValueError, ["start", "CP model", "'cp'"], lambda: CP(rank=1, ridge=0.0).solve(problem, start=tucker))


@given(shape=shapes(max_order=4, max_entries=200), rng=generators)
def test_the_leading_term_of_an_outer_product_is_itself(shape, rng):
    vectors = [rng.standard_normal((size, 1)) + 0.1 for size in shape]
    dense = dense_of(vectors)
    coords = np.indices(shape).reshape(len(shape), -1).T
    term = leading_term(TermEntries(coords, shape), dense.ravel(), shape, rng)
    cosine = float(np.vdot(term.to_dense(), dense)) / np.linalg.norm(dense) / term.norm()
    assert abs(cosine) == pytest.approx(1)


def test_rows_without_entries_are_zero():
    data, _ = problem_of()
    kept = data.observations.coords[:, 1] != 4
    observations = data.observations.select(kept)
    model = CP(rank=2, ridge=0.01).solve(Problem(observations, Square()), rng=0).model
    assert not model.factors[1][4].any()
    assert np.abs(model.factors[1]).sum(axis=1).astype(bool).sum() == 13


def test_an_answer_has_columns_of_length_one_and_falling_weights():
    _, problem = problem_of()
    model = CP(rank=3, ridge=0.01).solve(problem, rng=0).model
    assert isinstance(model, CPModel)
    assert (np.diff(model.weights) <= 0).all()
    np.testing.assert_allclose([np.linalg.norm(factor, axis=0) for factor in model.factors], 1)


def test_float32_stays_float32():
    data, _ = problem_of()
    problem = Problem(data.observations.astype(np.float32), Square())
    model = CP(rank=3, ridge=0.0).solve(problem, rng=0).model
    assert model.dtype == np.float32
    assert all(factor.dtype == np.float32 for factor in model.factors)
    assert rmse(model.predict(data.test.coords), data.test.values) < 1.5 * data.limit


def test_data_of_zeros_gives_zeros():
    observations = Observations.from_dense(np.zeros((5, 4, 3)))
    model = CP(rank=2, ridge=0.0).solve(Problem(observations, Square()), rng=0).model
    assert not model.to_dense().any()


# What is chosen


def test_a_stronger_ridge_makes_the_answer_smaller_and_drops_terms():
    _, problem = problem_of()
    unit = ridge_unit(problem)
    norms = [CP(rank=6, ridge=level * unit).solve(problem, rng=0).model.norm() for level in (0.0, 1.0, 30.0)]
    assert norms[0] > norms[1] > norms[2]
    weights = CP(rank=6, ridge=3 * unit, tol=1e-7).solve(problem, rng=0).model.weights
    assert (weights[3:] < 1e-3 * weights[0]).all()


@pytest.mark.parametrize("shape", [(9, 8), (7, 6, 5), (5, 4, 4, 3)], ids=str)
def test_the_unit_of_the_ridge_follows_the_units_of_the_data(shape):
    observations = synthetic(shape, rank=1, rng=0).observations
    units = [ridge_unit(Problem(observations.with_values(c * observations.values), Square())) for c in (1, 1e3)]
    assert units[1] == pytest.approx(units[0] * 1e3 ** (2 - 2 / len(shape)))


def test_ranks_have_fewer_unknowns_than_there_are_entries():
    observations = synthetic((15, 14, 13), rank=2, observed=200, rng=0).observations
    assert possible_ranks(observations) == [1, 2, 3, 4]
    few = observations.select(np.arange(len(observations)) < 12)
    assert possible_ranks(few) == [1]
    matrix = synthetic((300, 3), rank=1, observed=850, rng=0).observations
    assert possible_ranks(matrix) == [1, 2]


def test_given_settings_are_not_tried():
    _, problem = problem_of()
    rng = np.random.default_rng(0)
    assert [axis.setting for axis in CP().axes(problem, rng)] == ["rank", "ridge", "ridge"]
    (rank,) = CP(ridge=0.1).axes(problem, rng)
    assert rank.setting == "rank"
    ridges = CP(rank=2).axes(problem, rng)
    assert [axis.setting for axis in ridges] == ["ridge", "ridge"]
    assert ridges[0].values[0] == ridges[0].meanwhile
    assert CP(rank=2, ridge=0.1).axes(problem, rng) == []


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ({"rank": 0}, ValueError, ["rank", "at least 1", "0 was given"]),
        ({"rank": 2.5}, TypeError, ["rank", "whole number", "2.5"]),
        ({"rank": "best"}, ValueError, ["rank", "'auto'", "'best'"]),
        ({"ridge": -1.0}, ValueError, ["ridge", "at least 0", "-1.0"]),
        ({"ridge": "best"}, ValueError, ["ridge", "'auto'", "'best'"]),
    ],
)
def test_bad_settings_are_refused(settings, kind, words):
    refuses(kind, words, lambda: CP(**settings))


def test_a_loss_without_a_bound_of_its_curvature_is_taken():
    assert usable_curvature(Poisson()) == 1.0
    counts = np.random.default_rng(0).poisson(3.0, (8, 7, 6)).astype(float)
    problem = Problem(Observations.from_dense(counts), Poisson())
    history = CP(rank=1, ridge=0.1).solve(problem, rng=0).history
    assert history[-1].objective < 0.5 * history[0].objective


def test_the_factors_alone_are_held():
    rng = np.random.default_rng(0)
    shape = (3000, 2000, 1000)
    coords = np.unique(np.stack([rng.integers(size, size=3000) for size in shape], axis=1), axis=0)
    problem = Problem(Observations(coords, rng.standard_normal(len(coords)), shape), Square())
    tracemalloc.start()
    try:
        CP(rank=3, ridge=0.1, max_iter=5).solve(problem, rng=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2e7


@given(drawn=objectives(), data=st.data(), rng=generators)
def test_roughness_is_part_of_the_value_and_of_the_gradient(drawn, data, rng):
    problem, _, factors, ridge = drawn
    mode = data.draw(st.integers(0, len(factors) - 1))
    roughness, matrices = make(problem.observations.shape, [mode], rng)
    rough = problem.with_roughness(roughness)
    entries = TermEntries(problem.observations.coords, problem.observations.shape)
    rank = factors[0].shape[1]
    plain, objective = (CPObjective(each, entries, rank, ridge) for each in (problem, rough))
    point, tensor = joined(factors), dense_of(factors)
    more = 0.5 * np.vdot(tensor, applied(tensor, matrices))
    assert objective(point)[0] - plain(point)[0] == pytest.approx(more, rel=1e-6, abs=1e-6)
    direction = rng.standard_normal(len(point))
    direction /= np.linalg.norm(direction)
    slope = (objective(point + 1e-5 * direction)[0] - objective(point - 1e-5 * direction)[0]) / 2e-5
    assert objective(point)[1] @ direction == pytest.approx(slope, rel=1e-4, abs=1e-4)
