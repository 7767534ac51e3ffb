"""RESCAL: one factor for the two modes that are the same entities."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import tensorfill
from tensorfill import Observations, Problem, Rescal, Status, complete
from tensorfill.losses import Logistic, Square
from tensorfill.methods.rescal import RescalObjective
from tensorfill.metrics import rmse
from tests.refusal import refuses


def planted(order=(0, 1, 2), seed=0, density=0.5):
    """Return a tensor A R_k A^T with its modes in some order, and about half of its entries."""
    rng = np.random.default_rng(seed)
    a, r = rng.standard_normal((15, 2)), rng.standard_normal((6, 2, 2))
    tensor = np.einsum("ip,kpq,jq->ijk", a, r, a).transpose(order)
    return tensor, Observations.from_dense(tensor, rng.random(tensor.shape) < density)


@pytest.mark.parametrize(("order", "same"), [((0, 1, 2), (0, 1)), ((0, 2, 1), (0, 2)), ((2, 0, 1), (2, 1))])
def test_a_planted_tensor_is_recovered_whatever_the_order_of_its_modes(order, same):
    tensor, seen = planted(order)
    result = Rescal(same=same, rank=2, ridge=1e-5, tol=1e-10, max_iter=1000).solve(Problem(seen, Square()), rng=0)
    assert rmse(result.model.to_dense(), tensor) < 0.02 * tensor.std()
    np.testing.assert_array_equal(result.model.factors[same[0]], result.model.factors[same[1]])
    assert (np.diff(result.history["objective"]) <= 0).all()


@pytest.mark.parametrize("loss", [Square(), Logistic()])
def test_the_gradient_is_that_of_the_objective(loss):
    _, seen = planted()
    problem = Problem(seen.with_values(np.sign(seen.values)), loss).beyond(np.full(len(seen), 0.3))
    objective = RescalObjective(problem, (0, 1, 2), 3, 0.7)
    rng = np.random.default_rng(1)
    point, direction = rng.standard_normal((2, 15 * 3 + 6 * 9))
    slope = (objective(point + 1e-6 * direction)[0] - objective(point - 1e-6 * direction)[0]) / 2e-6
    assert float(objective(point)[1] @ direction) == pytest.approx(slope, rel=1e-5)
    model = objective.model(point)
    expected = problem.value(model.predict(seen.coords)) + 0.35 * point @ point
    assert objective(point)[0] == pytest.approx(expected)


def test_held_out_entries_choose_the_rank_and_the_fit_can_be_saved(tmp_path):
    tensor, seen = planted()
    fit = complete(seen, method=Rescal(), smooth=None, centre=False, rng=0)
    assert fit.method.rank >= 2
    assert fit.path["rank"].min() == 2
    assert rmse(fit.to_dense(), tensor) < 0.3 * tensor.std()
    fit.save(tmp_path / "fit.npz")
    again = tensorfill.load(tmp_path / "fit.npz")
    assert again.method == fit.method
    np.testing.assert_array_equal(again.to_dense(), fit.to_dense())


def test_it_predicts_links_better_than_chance_with_the_logistic_loss():
    tensor, seen = planted(density=0.6)
    yes = seen.with_values((seen.values > 0).astype(float))
    fit = complete(yes, method=Rescal(rank=2, ridge=0.3), loss="logistic", rng=0)
    hidden = np.isnan(yes.to_dense())
    assert np.mean((fit.to_dense() > 0.5)[hidden] == (tensor > 0)[hidden]) > 0.8


def test_it_goes_on_from_its_own_answer():
    _, seen = planted()
    problem = Problem(seen, Square())
    method = Rescal(rank=2, ridge=0.1)
    first = dataclasses.replace(method, max_iter=5, tol=0.0).solve(problem, rng=0)
    assert first.status is Status.MAX_ITER
    again = method.solve(problem, start=first.model, rng=0)
    assert again.history[0].objective == pytest.approx(first.history[-1].objective)
    assert not Rescal(rank=3, ridge=0.1).can_start_from(first.model, problem)
    refuses(ValueError, ["start", "rank 3"], lambda: Rescal(rank=3, ridge=0.1).solve(problem, start=first.model, rng=0))


def test_what_it_does_not_take_gets_one_sentence():
    _, seen = planted()
    refuses(ValueError, ["same", "two modes", "(0, 0)"], lambda: Rescal(same=(0, 0)))
    refuses(ValueError, ["same", "two modes"], lambda: Rescal(same="heads"))
    refuses(ValueError, ["same size", "15", "6"], lambda: complete(seen, method=Rescal(same=(0, 2)), rng=0))
    table = Observations.from_dense(np.ones((5, 5)))
    refuses(ValueError, ["method 'rescal'", "three modes"], lambda: complete(table, method=Rescal(), rng=0))
    refuses(ValueError, ["rank", "-1"], lambda: Rescal(rank=-1))
    refuses(ValueError, ["ridge", "-1"], lambda: Rescal(ridge=-1))


def test_auto_tries_it_where_two_modes_are_the_same_and_held_out_entries_choose():
    tensor, seen = planted(density=0.4)
    yes = seen.with_values((seen.values > 0).astype(float))
    fit = complete(yes, loss="logistic", same=(0, 1), rng=0)
    assert {point.method.name for point in fit.path} == {"cp", "cp_means", "calibrated", "nort", "rescal"}
    hidden = np.isnan(yes.to_dense())
    assert np.mean((fit.to_dense() > 0.5)[hidden] == (tensor > 0)[hidden]) > 0.7


def test_modes_that_are_not_the_same_are_refused():
    _, seen = planted()
    for same in ((0, 2), (1, 1), (0,), "heads", (0, 1, 2)):
        refuses(ValueError, ["same"], lambda same=same: complete(seen, same=same, rng=0))
    xarray = pytest.importorskip("xarray")
    heads, tails = [f"n{number}" for number in range(15)], [f"m{number}" for number in range(15)]
    array = xarray.DataArray(seen.to_dense(), {"head": heads, "tail": tails, "relation": range(6)})
    refuses(ValueError, ["same", "labels"], lambda: complete(array, same=("head", "tail"), rng=0))
