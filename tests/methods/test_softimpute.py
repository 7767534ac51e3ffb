"""SoftImpute: the nuclear norm of one unfolding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill import Observations, Polish, Problem, SoftImpute, complete
from tensorfill.algebra.unfolding import fold, unfold
from tensorfill.datasets import synthetic
from tensorfill.losses import Logistic, Square
from tensorfill.methods.nort.method import STEP_MARGIN
from tensorfill.metrics import rmse
from tensorfill.models import FoldedLowRank
from tests.strategies import generators, observed, scatter, shapes

from .zoo import low_rank


def dense_step(problem, x, lam, mode):
    """Return the proximal gradient step from a dense tensor, straight from the formula."""
    tau = STEP_MARGIN * problem.curvature
    coords = problem.observations.coords
    gradient = scatter(coords, problem.gradient(x[tuple(coords.T)]), x.shape)
    u, s, vt = np.linalg.svd(unfold(x - gradient / tau, mode), full_matrices=False)
    return fold((u * np.maximum(s - lam / tau, 0)) @ vt, mode, x.shape)


@given(data=st.data(), rng=generators)
def test_steps_are_those_of_dense_singular_value_thresholds(data, rng):
    shape = data.draw(shapes(max_order=4, max_entries=200, max_size=8))
    coords = data.draw(observed(shape))
    mode = data.draw(st.integers(0, len(shape) - 1))
    lam = data.draw(st.sampled_from([0.0, 0.1, 0.5]))
    loss = data.draw(st.sampled_from([Square(), Logistic()]))
    values = rng.standard_normal(len(coords))
    problem = Problem(Observations(coords, np.sign(values) if isinstance(loss, Logistic) else values, shape), loss)
    solver = SoftImpute(lam=lam, mode=mode, momentum=False).prepare(problem, None, rng)
    expected = np.zeros(shape)
    for _ in range(3):
        solver.step()
        expected = dense_step(problem, expected, lam, mode)
        np.testing.assert_allclose(solver.model().to_dense(), expected, atol=1e-5)


def test_the_answer_is_one_component_of_the_largest_mode_unless_another_is_named():
    problem = Problem(synthetic((9, 12, 10), rank=2, rng=0).observations, Square())
    model = SoftImpute(lam=0.01).solve(problem, rng=0).model
    assert isinstance(model, FoldedLowRank)
    assert model.modes == (1,)
    assert SoftImpute(lam=0.01).resolved(problem).mode == 1
    assert SoftImpute(lam=0.01, mode=-1).solve(problem, rng=0).model.modes == (2,)


def test_a_rank_limit_is_kept():
    problem = Problem(synthetic((20, 15, 10), rank=4, rng=0).observations, Square())
    assert SoftImpute(lam=1e-3, max_rank=2).solve(problem, rng=0).model.ranks == (2,)


def test_the_path_begins_where_the_answer_is_nearly_zero_and_falls():
    problem = Problem(synthetic((20, 15, 10), rank=4, rng=0).observations, Square())
    (axis,) = SoftImpute().axes(problem, np.random.default_rng(0))
    assert axis.setting == "lam"
    assert (np.diff(axis.values) < 0).all()
    above = SoftImpute(lam=axis.values[0] / 0.69).solve(problem, rng=0).model
    assert above.ranks == (0,)
    assert SoftImpute(lam=axis.values[0]).solve(problem, rng=0).model.ranks[0] > 0


def test_lambda_grows_with_the_root_of_the_number_of_entries():
    assert SoftImpute(lam=0.5).rescaled(4.0).lam == pytest.approx(1.0)


def test_from_an_answer_it_goes_on_to_the_same_minimum():
    problem = Problem(synthetic((20, 15, 10), rank=2, rng=0).observations, Square())
    far = SoftImpute(lam=0.5).solve(problem, rng=0).model
    method = SoftImpute(lam=0.05, tol=1e-10, max_iter=2000)
    assert method.can_start_from(far, problem)
    ends = [method.solve(problem, start=start, rng=1).history[-1].objective for start in (None, far)]
    # The problem is convex.
    assert ends[0] == pytest.approx(ends[1], rel=1e-6)


def test_a_matrix_of_low_rank_is_recovered():
    data = synthetic((50, 40), rank=2, noise=0.001, rng=0)
    fit = complete(data.observations, method="softimpute", smooth=None, centre=False, rng=0)
    assert rmse(fit.predict(data.test.coords), data.test.values) < 0.1 * data.test.values.std()
    refined = complete(data.observations, method="softimpute", refine="tucker", smooth=None, centre=False, rng=0)
    assert refined.recipe.stage(Polish) is not None
    # Least squares on the rank that was found takes the bias of the nuclear norm away.
    assert rmse(refined.predict(data.test.coords), data.test.values) < 2 * data.limit


@pytest.mark.parametrize("shape", [(12, 10, 9), (13, 11, 9)])
def test_a_small_lambda_is_reached_without_a_search(shape):
    """From zero, the tolerance would stop such a lambda after a few iterations, far from its answer."""
    truth, data = low_rank(shape)
    fit = complete(data, method="softimpute", smooth=None, centre=False, rng=0)
    again = complete(data, **fit.recipe.arguments())
    assert rmse(again.to_dense(), fit.to_dense()) < 0.05 * truth.std()
