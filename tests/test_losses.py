"""What every loss must do, whoever wrote it; then hand-computed points, and the errors."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill.losses import LOSSES, Loss, Square, make_loss


class LogCosh:
    """A user's own loss, log cosh(x - o), with nothing but the three parts of the protocol."""

    curvature = 1.0

    def value(self, prediction, observed):
        difference = np.abs(prediction - observed)
        return difference + np.log1p(np.exp(-2 * difference)) - np.log1p(np.ones_like(difference))

    def derivative(self, prediction, observed):
        return np.tanh(prediction - observed)


NUMBERS = st.floats(-100, 100)


@pytest.mark.parametrize("loss", [*(make_loss(name) for name in LOSSES), LogCosh()], ids=lambda x: type(x).__name__)
class TestContract:
    def test_has_the_parts_of_the_protocol(self, loss):
        assert isinstance(loss, Loss)

    @settings(max_examples=100, deadline=None)
    @given(x=NUMBERS, o=NUMBERS)
    def test_derivative_agrees_with_finite_differences(self, loss, x, o):
        step = 1e-4
        at = np.array([x - step, x + step])
        below, above = loss.value(at, np.array([o, o]))
        derivative = loss.derivative(np.array([x]), np.array([o]))[0]
        assert (above - below) / (2 * step) == pytest.approx(derivative, rel=1e-6, abs=1e-6)

    @settings(max_examples=100, deadline=None)
    @given(x=NUMBERS, y=NUMBERS, o=NUMBERS)
    def test_curvature_bounds_the_change_of_the_derivative(self, loss, x, y, o):
        slopes = loss.derivative(np.array([x, y]), np.array([o, o]))
        assert abs(slopes[0] - slopes[1]) <= loss.curvature * abs(x - y) + 1e-12

    @settings(max_examples=100, deadline=None)
    @given(x=NUMBERS, y=NUMBERS, o=NUMBERS)
    def test_the_parabola_of_a_proximal_gradient_step_lies_above(self, loss, x, y, o):
        here, there = loss.value(np.array([x, y]), np.array([o, o]))
        slope = loss.derivative(np.array([x]), np.array([o]))[0]
        parabola = here + slope * (y - x) + 0.5 * loss.curvature * (y - x) ** 2
        assert there <= parabola + 1e-9 * max(1.0, abs(parabola), (y - x) ** 2)

    def test_is_never_negative_and_least_at_the_observed_value(self, loss):
        x = np.linspace(-5, 5, 101)
        observed = np.full_like(x, 2.0)
        values = loss.value(x, observed)
        assert np.all(values >= 0)
        assert x[np.argmin(values)] == pytest.approx(2.0)
        assert np.all(loss.derivative(observed, observed) == 0)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("shape", [(0,), (7,), (2, 3, 4)])
    def test_shape_and_dtype_are_kept_and_nothing_is_written(self, loss, dtype, shape):
        rng = np.random.default_rng(0)
        x, o = rng.normal(size=(2, *shape)).astype(dtype)
        before = x.copy(), o.copy()
        for result in [loss.value(x, o), loss.derivative(x, o)]:
            assert result.shape == shape
            assert result.dtype == dtype
        assert np.array_equal(x, before[0])
        assert np.array_equal(o, before[1])


def test_square_by_hand():
    x, o = np.array([3.0, -1.0, 2.0]), np.array([1.0, 1.0, 2.0])
    np.testing.assert_array_equal(Square().value(x, o), [2, 2, 0])
    np.testing.assert_array_equal(Square().derivative(x, o), [2, -2, 0])
    assert Square().curvature == 1.0


def test_settings_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Square().scale = 2.0


def test_by_name_and_own_object():
    own = LogCosh()
    assert make_loss("square") == Square()
    assert make_loss(own) is own


def test_unknown_name():
    with pytest.raises(ValueError, match=r"^loss must be one of 'square'.*, but 'sqare' was given\.$"):
        make_loss("sqare")


@pytest.mark.parametrize("wrong", [None, 2, Square, object()], ids=repr)
def test_anything_else(wrong):
    with pytest.raises(TypeError, match=r"^loss must be one of 'square'.*curvature.*value.*derivative.* was given\.$"):
        make_loss(wrong)
