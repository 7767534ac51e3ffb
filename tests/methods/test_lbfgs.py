"""Limited-memory BFGS, one step at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill.methods.lbfgs import LBFGS
from tests.strategies import generators


def quadratic(matrix, minimum):
    """Return 1/2 (x - minimum)^T matrix (x - minimum), with its gradient."""

    def function(x):
        gradient = matrix @ (x - minimum)
        return 0.5 * float((x - minimum) @ gradient), gradient

    return function


def rosenbrock(x):
    a, b = 1 - x[0], x[1] - x[0] ** 2
    return float(a**2 + 100 * b**2), np.array([-2 * a - 400 * b * x[0], 200 * b])


@given(size=st.integers(1, 8), rng=generators)
def test_a_quadratic_falls_to_its_minimum(size, rng):
    root = rng.standard_normal((size, size))
    minimum = rng.standard_normal(size)
    descent = LBFGS(quadratic(root @ root.T + 0.1 * np.eye(size), minimum), rng.standard_normal(size))
    values = [descent.value]
    for _ in range(300):
        descent.step()
        values.append(descent.value)
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose(descent.point, minimum, atol=1e-4)


def test_a_curved_valley_is_followed_to_its_end():
    descent = LBFGS(rosenbrock, np.array([-1.2, 1.0]), scale=1e-3)
    for _ in range(60):
        before = descent.value
        descent.step()
        assert descent.value <= before
    np.testing.assert_allclose(descent.point, [1, 1], atol=1e-6)


def test_steps_with_memory_need_far_fewer_iterations_than_the_gradient_alone():
    scales = np.logspace(0, 3, 20)
    descent = LBFGS(quadratic(np.diag(scales), np.zeros(20)), np.ones(20), scale=1e-3)
    for _ in range(100):
        descent.step()
    # After 100 steps of the length 2 / (1 + 1000) along the gradient, the slowest coordinate is still above 0.8.
    assert np.abs(descent.point).max() < 0.02


def test_a_first_step_that_is_much_too_long_is_halved():
    descent = LBFGS(quadratic(1e6 * np.eye(2), np.zeros(2)), np.ones(2))
    descent.step()
    assert descent.value < 1e6
    for _ in range(20):
        descent.step()
    np.testing.assert_allclose(descent.point, 0, atol=1e-6)


def test_it_starts_at_zero_and_stays_at_a_minimum():
    minimum = np.array([3.0, -2.0])
    descent = LBFGS(quadratic(np.eye(2), minimum), np.zeros(2))
    for _ in range(20):
        descent.step()
    np.testing.assert_allclose(descent.point, minimum, atol=1e-8)
    there = LBFGS(quadratic(np.eye(2), minimum), minimum.copy())
    there.step()
    np.testing.assert_array_equal(there.point, minimum)


@pytest.mark.parametrize("beyond", [np.inf, np.nan])
def test_a_step_into_what_is_not_finite_is_too_long(beyond):
    def function(x):
        if x[0] <= 0:
            return float(beyond), np.full(1, beyond)
        return float(x[0] - np.log(x[0])), 1 - 1 / x

    descent = LBFGS(function, np.array([50.0]))
    for _ in range(40):
        descent.step()
    np.testing.assert_allclose(descent.point, [1], atol=1e-6)


def test_float32_stays_float32():
    matrix = np.diag(np.array([1, 30], dtype=np.float32))
    descent = LBFGS(quadratic(matrix, np.ones(2, np.float32)), np.full(2, 5, np.float32))
    for _ in range(30):
        descent.step()
    assert descent.point.dtype == descent.gradient.dtype == np.float32
    np.testing.assert_allclose(descent.point, 1, atol=1e-4)


def test_an_exception_leaves_the_point_as_it_was():
    calm = quadratic(np.diag([1.0, 5.0]), np.zeros(2))
    interrupted = False

    def function(x):
        if interrupted:
            raise KeyboardInterrupt
        return calm(x)

    descent = LBFGS(function, np.ones(2))
    descent.step()
    before = descent.point.copy(), descent.value
    interrupted = True
    with pytest.raises(KeyboardInterrupt):
        descent.step()
    np.testing.assert_array_equal(descent.point, before[0])
    assert descent.value == before[1]
    interrupted = False
    for _ in range(20):
        descent.step()
    np.testing.assert_allclose(descent.point, 0, atol=1e-6)
