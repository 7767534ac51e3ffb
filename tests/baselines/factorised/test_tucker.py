"""Tucker by gradient steps over the observed entries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill import CP, Observations, Problem, TuckerDescent, complete, graphs
from tensorfill.baselines.factorised.tucker import TuckerObjective, balanced, grown, ridge_unit, rotated
from tensorfill.datasets import synthetic
from tensorfill.graphs.reduction import make_roughness
from tensorfill.losses import Huber, Logistic, Poisson, Square
from tensorfill.metrics import rmse
from tensorfill.models import CPModel, Tucker
from tests.algebra.test_roughness import applied, make
from tests.graphs.examples import kernel, stations
from tests.refusal import refuses
from tests.strategies import generators, observed, shapes

LOSSES = {"square": Square(), "huber": Huber(0.5), "logistic": Logistic(), "poisson": Poisson(limit=3.0)}


@st.composite
def objectives(draw, loss=None):
    """Draw a small problem, with a graph or without, its objective, the matrices of the graph, and a model."""
    shape = draw(shapes(max_order=4, max_entries=100, max_size=6))
    coords, rng = draw(observed(shape)), draw(generators)
    kind = draw(st.sampled_from(sorted(LOSSES))) if loss is None else loss
    values = {"logistic": np.sign, "poisson": lambda x: np.round(np.abs(x))}.get(kind, np.asarray)
    problem = Problem(Observations(coords, values(rng.standard_normal(len(coords))), shape), LOSSES[kind])
    dense = {}
    if draw(st.booleans()):
        roughness, dense = make(shape, [draw(st.integers(0, len(shape) - 1))], rng)
        problem = problem.with_roughness(roughness)
    ranks = [draw(st.integers(1, 3)) for _ in shape]
    ridge = draw(st.sampled_from([0.0, 0.7]))
    factors = [rng.standard_normal(size) for size in zip(shape, ranks, strict=True)]
    model = Tucker(shape, rng.standard_normal(ranks), factors)
    return problem, TuckerObjective(problem, ranks, ridge), dense, model, ridge


def joined(model):
    return np.concatenate([part.ravel() for part in (model.core, *model.factors)])


def squares(model):
    return sum(float((part**2).sum()) for part in (model.core, *model.factors))


@settings(max_examples=40, deadline=None)
@given(drawn=objectives(), rng=generators)
def test_the_value_is_that_of_the_formula_and_the_gradient_that_of_finite_differences(drawn, rng):
    problem, objective, dense, model, ridge = drawn
    tensor, point = model.to_dense(), joined(model)
    rough = 0.5 * np.vdot(tensor, applied(tensor, dense)) if dense else 0.0
    expected = problem.value(tensor[tuple(problem.observations.coords.T)]) + rough + ridge / 2 * squares(model)
    value, gradient = objective(point)
    assert value == pytest.approx(expected)
    direction = rng.standard_normal(len(point))
    direction /= np.linalg.norm(direction)
    slope = (objective(point + 1e-5 * direction)[0] - objective(point - 1e-5 * direction)[0]) / 2e-5
    assert gradient @ direction == pytest.approx(slope, rel=1e-4, abs=1e-4)
    np.testing.assert_allclose(objective.model(point).to_dense(), tensor)


def test_the_curvature_is_the_second_derivative_if_everything_is_observed():
    rng = np.random.default_rng(0)
    shape, ranks = (4, 3, 5), (2, 3, 2)
    problem = Problem(Observations.from_dense(rng.standard_normal(shape)), Square())
    objective = TuckerObjective(problem, ranks, 0.2)
    point = rng.standard_normal(12 + sum(size * rank for size, rank in zip(shape, ranks, strict=True)))
    identity = np.eye(len(point))
    # The objective is a parabola in every single coordinate, so a difference of any length is exact.
    second = [objective(point + way)[0] - 2 * objective(point)[0] + objective(point - way)[0] for way in identity]
    np.testing.assert_allclose(objective.curvature(point), second, rtol=1e-8)


@pytest.mark.parametrize(("shape", "seed"), [((40, 35), 1), ((30, 28, 26), 0), ((14, 13, 12, 11), 2)], ids=str)
def test_low_rank_is_recovered_nearly_as_well_as_it_can_be(shape, seed):
    data = synthetic(shape, rank=3, noise=0.001, rng=seed)
    fit = complete(data.observations, method="tucker", smooth=None, centre=False, rng=0)
    assert max(fit.ranks) <= 4
    assert rmse(fit.predict(data.test.coords), data.test.values) < 1.6 * data.limit


def test_yes_or_no_and_counts_are_predicted_better_than_by_their_mean():
    rng = np.random.default_rng(0)
    shape = (14, 13, 12)
    signs = [rng.choice([-1, 1], (size, 1)) + 0.3 * rng.standard_normal((size, 1)) for size in shape]
    scores = 3 * Tucker(shape, np.ones((1, 1, 1)), signs).to_dense()
    seen = rng.random(shape) < 0.6
    likes = (rng.random(shape) < Logistic().probability(scores)).astype(float)
    fit = complete(np.where(seen, likes, np.nan), method="tucker", loss="logistic", rng=0)
    guess = fit.predict_proba(np.argwhere(~seen))
    assert rmse(guess, Logistic().probability(scores)[~seen]) < 0.5 * Logistic().probability(scores).std()


@pytest.mark.parametrize("method", ["tucker", "cp"])
def test_stations_without_any_entry_follow_their_neighbours(method):
    places, truth, array, kept = stations()
    fit = complete(array, method=method, laplacian={0: kernel(places)}, smooth=None, centre=False, rng=0)
    empty = np.setdiff1d(np.arange(len(places)), kept)
    assert rmse(fit.to_dense()[empty], truth[empty]) < 0.4 * truth[empty].std()
    assert {point.mu for point in fit.path} > {0.0}


@pytest.mark.parametrize("kind", [TuckerDescent, CP])
def test_a_graph_helps_where_entries_are_few_and_noisy(kind):
    rng = np.random.default_rng(0)
    places = np.linspace(0, 1, 40)
    space = np.stack([np.sin(4 * places), np.cos(3 * places)], axis=1)
    truth = np.einsum("ir,jr,kr->ijk", space, rng.standard_normal((12, 2)), rng.standard_normal((9, 2)))
    seen = rng.random(truth.shape) < 0.15
    noisy = truth + 0.5 * rng.standard_normal(truth.shape)
    plain = Problem(Observations.from_dense(noisy, seen), Square())
    rough = plain.with_roughness(make_roughness({0: graphs.chain(40)}, 1.0, 1.0))
    method = kind(rank=2, ridge=0.1)
    errors = [rmse(method.solve(each, rng=0).model.to_dense()[~seen], truth[~seen]) for each in (plain, rough)]
    assert errors[1] < 0.8 * errors[0]


# Where it starts


def problem_of(**settings):
    data = synthetic((15, 14, 13), rank=3, rng=0, **settings)
    return data, Problem(data.observations, Square())


@given(shape=shapes(max_order=4, max_entries=200), rng=generators)
def test_balanced_and_rotated_forms_are_the_same_tensor_at_no_more_ridge(shape, rng):
    ranks = [min(size, 2) for size in shape]
    factors = [rng.standard_normal(size) for size in zip(shape, ranks, strict=True)]
    model = Tucker(shape, 10 * rng.standard_normal(ranks), factors)
    for same, most in ((balanced(model), 1 + 1e-9), (rotated(model), 1 + 1e-9)):
        np.testing.assert_allclose(same.to_dense(), model.to_dense(), rtol=1e-7, atol=1e-8)
        assert squares(same) <= most * squares(model)
    for factor in rotated(model).factors:
        gram = factor.T @ factor
        np.testing.assert_allclose(gram, np.diag(np.diagonal(gram)), atol=1e-8 * gram.max())


def test_a_growing_rank_starts_from_the_last_answer():
    _, problem = problem_of(noise=0)
    small = TuckerDescent(rank=2, ridge=0.0).solve(problem, rng=0)
    more = TuckerDescent(rank=3, ridge=0.0).prepare(problem, small.model, np.random.default_rng(0))
    assert more.progress().ranks == (3, 3, 3)
    # The new directions are those of the residuals, so the objective is lower from the first moment.
    assert more.progress().objective < small.history[-1].objective
    kept = TuckerDescent(rank=1, ridge=0.0).prepare(problem, small.model, np.random.default_rng(0))
    assert kept.progress().ranks == (2, 2, 2)
    assert kept.progress().objective == pytest.approx(small.history[-1].objective)


def test_the_start_of_data_of_low_rank_is_near_it():
    data, problem = problem_of(noise=0)
    start = grown(problem, None, (3, 3, 3), np.random.default_rng(0))
    assert rmse(start.predict(data.test.coords), data.test.values) < 0.7 * data.test.values.std()


def test_a_start_of_another_kind_is_refused():
    _, problem = problem_of()
    model = CPModel((15, 14, 13), np.ones(1), [np.ones((size, 1)) for size in (15, 14, 13)])
    method = TuckerDescent(rank=1, ridge=0.0)
    refuses(ValueError, ["start", "Tucker model", "'tucker'"], lambda: method.solve(problem, start=model))


def test_ranks_of_each_mode():
    _, problem = problem_of()
    assert TuckerDescent(rank=(3, 2, 4), ridge=0.1).solve(problem, rng=0).model.ranks == (3, 2, 4)
    refuses(ValueError, ["rank", "3 modes"], lambda: TuckerDescent(rank=(3, 2), ridge=0.1).solve(problem))


def test_float32_stays_float32():
    data, _ = problem_of()
    problem = Problem(data.observations.astype(np.float32), Square())
    model = TuckerDescent(rank=3, ridge=0.0).solve(problem, rng=0).model
    assert model.dtype == np.float32
    assert rmse(model.predict(data.test.coords), data.test.values) < 1.6 * data.limit


@pytest.mark.parametrize("shape", [(9, 8), (7, 6, 5), (5, 4, 4, 3)], ids=str)
def test_the_unit_of_the_ridge_follows_the_units_of_the_data(shape):
    observations = synthetic(shape, rank=1, rng=0).observations
    units = [ridge_unit(Problem(observations.with_values(c * observations.values), Square())) for c in (1, 1e3)]
    assert units[1] == pytest.approx(units[0] * 1e3 ** (2 - 2 / (len(shape) + 1)))


def test_given_settings_are_not_tried():
    _, problem = problem_of()
    rng = np.random.default_rng(0)
    assert [axis.setting for axis in TuckerDescent().axes(problem, rng)] == ["rank", "ridge", "ridge"]
    assert [axis.setting for axis in TuckerDescent(ridge=0.1).axes(problem, rng)] == ["rank"]
    ridges = TuckerDescent(rank=2).axes(problem, rng)
    assert ridges[0].values[0] == ridges[0].meanwhile
