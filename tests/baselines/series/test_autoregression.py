"""Autoregressions against matrices with a band for each lag, and the settings that go with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill import Latc, Observations, Problem, Trmf
from tensorfill.baselines.series.autoregression import Autoregression, conjugate_gradients
from tensorfill.baselines.series.lags import lag_path
from tensorfill.losses import Square
from tensorfill.methods.base import Axis, Unsuited
from tests.refusal import refuses
from tests.strategies import generators

LAGS = ((1,), (2,), (1, 2, 3), (2, 5), (1, 7))


def banded(lags, coefficients, steps):
    """Return the matrix B of one column."""
    out = np.zeros((steps - max(lags), steps))
    for row in range(len(out)):
        out[row, row + max(lags)] = 1.0
        for lag, a in zip(lags, coefficients, strict=True):
            out[row, row + max(lags) - lag] -= a
    return out


@given(lags=st.sampled_from(LAGS), steps=st.integers(8, 20), columns=st.integers(1, 3), rng=generators)
@settings(max_examples=30)
def test_products_are_those_of_banded_matrices(lags, steps, columns, rng):
    series, found = (
        rng.standard_normal((steps, columns)),
        Autoregression(lags, rng.standard_normal((len(lags), columns))),
    )
    residuals, spread = found.residuals(series), found.spread(found.residuals(series))
    for column in range(columns):
        matrix = banded(lags, found.coefficients[:, column], steps)
        np.testing.assert_allclose(residuals[:, column], matrix @ series[:, column], atol=1e-12)
        np.testing.assert_allclose(spread[:, column], matrix.T @ residuals[:, column], atol=1e-12)
        np.testing.assert_allclose(found.curvature(steps)[:, column], np.diag(matrix.T @ matrix), atol=1e-12)
    ahead = found.continued(series, 4)
    last = len(series) - max(lags)
    np.testing.assert_allclose(found.residuals(np.concatenate([series, ahead]))[last:], 0.0, atol=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 2.5])
@pytest.mark.parametrize("lags", LAGS)
def test_coefficients_are_those_of_ridge_regression(lags, ridge):
    series = np.random.default_rng(0).standard_normal((30, 4)).cumsum(axis=0)
    series[:, 3] = 0.0
    found = Autoregression.fitted(series, lags, ridge).coefficients
    for column in range(3):
        design = np.stack([series[max(lags) - lag : 30 - lag, column] for lag in lags], axis=1)
        rows = np.concatenate([design, np.sqrt(ridge) * np.eye(len(lags))])
        right = np.concatenate([series[max(lags) :, column], np.zeros(len(lags))])
        np.testing.assert_allclose(found[:, column], np.linalg.lstsq(rows, right, rcond=None)[0], rtol=1e-5)
    np.testing.assert_array_equal(found[:, 3], 0.0)


def test_conjugate_gradients_solve_and_never_rise():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((12, 12))
    matrix, right = root @ root.T + 0.1 * np.eye(12), rng.standard_normal(12)
    found = [
        conjugate_gradients(lambda x: matrix @ x, right, lambda x: x / np.diag(matrix), tolerance=1e-12, most=most)
        for most in (1, 2, 4, 8, 60)
    ]
    values = [0.5 * x @ matrix @ x - right @ x for x in found]
    assert all(np.diff(values) < 1e-12)
    np.testing.assert_allclose(matrix @ found[-1], right, atol=1e-8)


@pytest.mark.parametrize("kind", [Latc, Trmf])
class TestSettings:
    def test_bad_lags_get_one_sentence(self, kind):
        for wrong in (0, 3, (), (0, 1), (1, 1), (1.5,), (True,), "many"):
            refuses(ValueError, ["lags must be one or more", repr(wrong)], lambda wrong=wrong: kind(lags=wrong))
        assert kind(lags=[3, 1]).lags == [3, 1]

    def test_lags_of_all_steps_and_a_tensor_of_one_step_are_refused(self, kind):
        table = Observations.from_dense(np.ones((4, 6)))
        words = ["less than the 6 steps of mode 1", "(1, 6)", "leave out"]
        refuses(ValueError, words, lambda: kind(lags=(1, 6)).check(Problem(table, Square())))
        kind(lags=(1, 5)).check(Problem(table, Square()))
        one = Problem(Observations.from_dense(np.ones((4, 1))), Square())
        refuses(Unsuited, [f"'{kind.name}'", "two or more steps", "mode 1"], lambda: kind(along=1).check(one))
        words = ["along", "from -2 to 1"]
        refuses(ValueError, words, lambda: kind(along=2).check(Problem(table, Square())))

    def test_sets_of_lags_leave_steps_to_fit(self, kind):
        def sets(steps, before=(), **given):
            problem = Problem(Observations.from_dense(np.ones((4, steps))), Square())
            return lag_path(kind(along=1, **given), problem, np.random.default_rng(0), before)[0].values

        assert sets(8) == [(1,)]
        assert sets(8, [Axis("rank", (1,))]) == [(1,)]
        assert [each[-1] for each in sets(40)] == [3, 1, 7, 12]
        assert [each[-1] for each in sets(72, [Axis("rank", (1,))])] == [1, 7, 12, 24]
        if kind is Latc:
            assert sets(40, period=10)[-2:] == [(1, 2, 3, 10), (1, 10)]
            assert (1, 1) not in sets(40, period=1)

    def test_the_mode_of_time_is_the_longest_unless_it_is_given(self, kind):
        problem = Problem(Observations.from_dense(np.ones((4, 9, 5))), Square())
        assert kind().resolved(problem).along == 1
        assert kind(along=-1).resolved(problem).along == 2
