"""What every robust loss must do, smoothed and as an envelope; then points computed by hand, and error messages."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill.losses import Huber, Loss, make_loss
from tensorfill.losses.robust import (
    ROBUST,
    Envelope,
    Robust,
    SmoothedRobust,
    Tangent,
    largest_noise,
    make_robust,
    noise_scale,
)
from tensorfill.penalties import LSP, MCP, SCAD, TNN, CappedL1, Elementwise, Nuclear
from tests.naming import named

from ..refusal import refuses


@dataclasses.dataclass(frozen=True)
class Rank(Elementwise):
    """A user's own penalty with an infinite slope at 0: 1 for everything that is not 0."""

    slope_at_zero = math.inf

    def kappa(self, s):
        return np.where(s > 0, 1.0, 0.0)

    def candidates(self, s, weight):
        return [s]


@dataclasses.dataclass(frozen=True)
class Twice(Elementwise):
    """A user's own penalty with a slope: kappa(s) = 2 s."""

    slope_at_zero = 2.0

    def kappa(self, s):
        return 2 * s

    def slope(self, s):
        return np.full(s.shape, 2.0)

    def candidates(self, s, weight):
        return [s - 2 * weight]


class NoSlope(Nuclear):
    """A user's own penalty without a slope: kappa(s) = 3 s."""

    slope_at_zero = 3.0

    def kappa(self, s):
        return 3 * s

    def candidates(self, s, weight):
        return [s - 3 * weight]


THETAS = {
    "l1": [None],
    "capped_l1": [0.05, 1.0, 7.0],
    "lsp": [1e-2, 0.5, 20.0],
    "mcp": [0.05, 1.0, 20.0],
    "scad": [2.01, 3.7, 30.0],
}
NAMED = [make_robust(name, theta) for name in ROBUST for theta in THETAS[name]]
OWN = Robust(Twice())
SOME = st.floats(-30, 30)
DELTAS = st.sampled_from([1e-6, 1e-3, 0.3, 3.0, 50.0])
WEIGHTS = st.sampled_from([1e-2, 0.3, 1.0, 8.0])


def grid(shift):
    """Return residuals that cover -30 to 30 and move with `shift`, which is the last of them."""
    return np.append(np.linspace(-30, 30, 41) + shift / 20, shift)


@functools.cache
def envelope(robust, weight):
    """Return the envelope, made once: finding where it cuts takes longer than all else that a test does with it."""
    return robust.envelope(weight)


def at(function, residuals):
    """Return a function of a loss at some residuals."""
    return function(residuals, np.zeros_like(residuals))


def one(function, residual, observed=0.0):
    """Return a function of a loss at one residual."""
    return float(function(np.array([observed + residual]), np.array([observed]))[0])


def bends(penalty):
    """Return where kappa or its derivative has a kink."""
    return {CappedL1: lambda: [penalty.theta], MCP: lambda: [penalty.theta], SCAD: lambda: [1.0, penalty.theta]}.get(
        type(penalty), list
    )()


def lies_below_its_parabola(loss, x, y):
    x, y = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
    here, there, slope_here = at(loss.value, x), at(loss.value, y), at(loss.derivative, x)
    parabola = here + slope_here * (y - x) + 0.5 * loss.curvature * (y - x) ** 2
    rounding = 1e-12 * np.maximum.reduce([np.ones_like(x), here, there, np.abs(slope_here * (y - x))])
    assert np.all(there <= parabola + rounding)


def test_every_registered_loss_is_tested():
    assert set(THETAS) == set(ROBUST)


@pytest.mark.parametrize("robust", [*NAMED, OWN], ids=named)
class TestSmoothed:
    def test_is_a_loss_although_the_robust_loss_is_not(self, robust):
        assert isinstance(robust.smoothed(0.1), Loss)
        assert not isinstance(robust, Loss)
        assert make_loss(robust.smoothed(0.1)) == robust.smoothed(0.1)

    @settings(max_examples=20)
    @given(a=SOME, delta=DELTAS)
    def test_derivative_agrees_with_finite_differences(self, robust, a, delta):
        loss = robust.smoothed(delta)
        theta = getattr(robust.penalty, "theta", 1.0)
        step = 1e-4 * min(1.0, delta, theta)
        # Residuals of the size of delta are where the smoothing acts.
        a = np.concatenate([grid(a), delta * grid(a) / 15])
        kinks = np.array([*bends(robust.penalty), delta])
        a = a[np.all(np.abs(np.abs(a)[:, None] - kinks) >= 2 * step, axis=1)]
        difference = (at(loss.value, a + step) - at(loss.value, a - step)) / ((a + step) - (a - step))
        largest = 1e-14 * np.maximum(1.0, at(loss.value, a)) / step
        expected = at(loss.derivative, a)
        assert np.all(np.abs(difference - expected) <= np.maximum(1e-6 * np.abs(expected), 1e-6 + largest))

    @settings(max_examples=20)
    @given(x=SOME, y=SOME, delta=DELTAS)
    def test_the_parabola_lies_above_everywhere(self, robust, x, y, delta):
        lies_below_its_parabola(robust.smoothed(delta), x, grid(y))

    @settings(max_examples=20)
    @given(delta=DELTAS, near=st.floats(-2, 2))
    def test_the_parabola_lies_above_near_and_at_the_kinks(self, robust, delta, near):
        kink = np.array([*bends(robust.penalty), delta, 0.0])
        x = np.concatenate([kink, kink + near, kink + 1e-3 * near, -kink])
        y = np.concatenate([kink + near, kink, kink - 1e-3 * near, kink + near])
        lies_below_its_parabola(robust.smoothed(delta), x, y)

    @settings(max_examples=20)
    @given(x=SOME, y=SOME, delta=DELTAS)
    def test_the_derivative_is_lipschitz_unless_there_is_a_kink(self, robust, x, y, delta):
        loss = robust.smoothed(delta)
        y = grid(y)
        change, distance = one(loss.derivative, x) - at(loss.derivative, y), np.abs(x - y)
        if isinstance(robust.penalty, CappedL1):
            # It may jump down at the kink, but not up.
            change = np.where(x > y, change, -change)
            assert np.all(change <= loss.curvature * distance + 1e-12)
        else:
            rounding = 1e-12 * robust.penalty.slope_at_zero
            assert np.all(np.abs(change) <= loss.curvature * distance * (1 + 1e-9) + rounding)

    @pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.5, 40.0])
    def test_is_close_to_the_loss_that_it_smooths(self, robust, delta):
        a = np.concatenate([np.linspace(-30, 30, 1001), delta * np.linspace(-2, 2, 401)])
        distance = robust.smoothed(delta).value(a, np.zeros_like(a)) - robust.value(a, np.zeros_like(a))
        assert np.all(distance >= 0)
        assert distance.max() <= 0.5 * robust.penalty.slope_at_zero * delta * (1 + 1e-12)
        assert distance.max() == pytest.approx(0.5 * robust.penalty.slope_at_zero * delta)
        assert np.all(distance[np.abs(a) >= delta] == 0)

    def test_is_the_formula_of_the_paper(self, robust):
        delta, kappa_0 = 0.7, robust.penalty.slope_at_zero
        a = np.linspace(-3, 3, 301)
        size = np.abs(a)
        huber = np.where(size >= delta, size, a**2 / (2 * delta) + delta / 2)
        expected = kappa_0 * huber + (robust.penalty.kappa(size) - kappa_0 * size)
        np.testing.assert_allclose(robust.smoothed(delta).value(a, 0 * a), expected, rtol=1e-11, atol=1e-11)

    def test_never_falls_away_from_the_observation_while_delta_is_below_theta(self, robust):
        a = np.concatenate([np.linspace(0, 0.1, 501), np.linspace(0.1, 60, 2001)])
        theta = getattr(robust.penalty, "theta", 5.0)
        for delta in [1e-3 * theta, 0.5 * theta, theta]:
            loss = robust.smoothed(delta)
            rounding = 1e-12 * robust.penalty.slope_at_zero
            assert np.all(loss.derivative(a, 0 * a) >= -rounding)
            assert np.all(loss.derivative(-a, 0 * a) <= rounding)

    def test_is_flat_at_zero(self, robust):
        assert one(robust.smoothed(0.1).derivative, 0.0) == 0

    def test_shape_and_dtype_are_kept_and_nothing_is_written(self, robust):
        keeps_its_form([robust.value, robust.smoothed(0.5).value, robust.smoothed(0.5).derivative])


@pytest.mark.parametrize("robust", [*NAMED, OWN, Robust(Rank())], ids=named)
class TestEnvelope:
    def test_is_a_loss(self, robust):
        assert isinstance(robust.envelope(), Loss)
        assert robust.envelope().weight == 1.0

    @settings(max_examples=25)
    @given(r=SOME, weight=WEIGHTS)
    def test_is_what_a_grid_search_finds(self, robust, r, weight):
        s = np.concatenate([np.linspace(-abs(r), abs(r), 2001), [0.0, r]])
        objective = 0.5 * (r - s) ** 2 + weight * robust.penalty.kappa(np.abs(s))
        value = one(envelope(robust, weight).value, r)
        # The grid is never better, and worse by its spacing at most.
        spacing = abs(r) / 1000
        assert value <= objective.min() + 1e-12 * max(1.0, objective.min())
        steepest = min(robust.penalty.slope_at_zero, 1e9)
        assert objective.min() <= value + spacing * (abs(r) + weight * steepest) + 1e-12

    @settings(max_examples=20)
    @given(r=SOME, weight=WEIGHTS)
    def test_derivative_agrees_with_finite_differences(self, robust, r, weight):
        loss, step = envelope(robust, weight), 1e-6
        r = grid(r)
        before, here, after = (at(loss.derivative, x) for x in (r - step, r, r + step))
        difference = (at(loss.value, r + step) - at(loss.value, r - step)) / ((r + step) - (r - step))
        kink = np.abs(after - before) > 1e-4  # Concave, or nearly a kink.
        assert np.all(kink | (np.abs(difference - here) <= np.maximum(1e-5 * np.abs(here), 1e-4)))

    @settings(max_examples=20)
    @given(x=SOME, y=SOME, weight=WEIGHTS)
    def test_the_parabola_lies_above_everywhere(self, robust, x, y, weight):
        lies_below_its_parabola(envelope(robust, weight), x, grid(y))

    @settings(max_examples=20)
    @given(near=st.floats(-2, 2), weight=WEIGHTS)
    def test_the_parabola_lies_above_around_the_cut(self, robust, near, weight):
        loss = envelope(robust, weight)
        edge = loss._cut * (1 + np.array([-1e-9, 0.0, 1e-9]))
        x = np.concatenate([edge, edge + near, -edge])
        y = np.concatenate([edge + near, edge, np.full(3, near)])
        lies_below_its_parabola(loss, x, y)

    @settings(max_examples=20)
    @given(r=SOME, o=SOME, weight=WEIGHTS)
    def test_outliers_are_the_minimiser(self, robust, r, o, weight):
        loss = envelope(robust, weight)
        x = o + grid(r)
        observed = np.full_like(x, o)
        s = loss.outliers(x, observed)
        rest = observed - x - s
        objective = 0.5 * rest**2 + weight * robust.penalty.kappa(np.abs(s))
        np.testing.assert_allclose(loss.value(x, observed), objective, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(loss.derivative(x, observed), -rest, rtol=1e-12, atol=1e-12)

    def test_small_differences_are_not_outliers(self, robust):
        o = np.array([0.001, -0.001, 200.0, -200.0])
        s = envelope(robust, 0.5).outliers(np.zeros(4), o)
        np.testing.assert_array_equal(s != 0, [False, False, True, True])
        assert s[2] > 0 > s[3]

    def test_outliers_are_the_proximal_operator_of_all_differences(self, robust):
        r = np.random.default_rng(0).standard_normal(500) * 10.0 ** np.linspace(-3, 2, 500)
        s = envelope(robust, 0.4).outliers(np.zeros(500), r)
        np.testing.assert_array_equal(np.abs(s), robust.penalty.prox(np.abs(r), 0.4))

    def test_shape_and_dtype_are_kept_and_nothing_is_written(self, robust):
        loss = envelope(robust, 0.5)
        keeps_its_form([loss.value, loss.derivative, loss.outliers])

    def test_huge_outliers_stay_finite(self, robust):
        loss = envelope(robust, 0.5)
        x, o = np.zeros(1, dtype=np.float32), np.array([1e30], dtype=np.float32)
        assert np.isfinite(loss.value(x, o))[0]
        assert np.isfinite(loss.derivative(x, o))[0]

    def test_a_nan_stays_a_nan(self, robust):
        loss = envelope(robust, 0.5)
        assert np.isnan(loss.value(np.array([np.nan]), np.zeros(1)))[0]
        assert np.isnan(loss.derivative(np.array([np.nan]), np.zeros(1)))[0]


def keeps_its_form(functions):
    shapes, dtypes = [(0,), (7,), (2, 3, 4)], [np.float32, np.float64]
    for function, shape, dtype in itertools.product(functions, shapes, dtypes):
        x, o = (3 * np.random.default_rng(0).normal(size=(2, *shape))).astype(dtype)
        before = x.copy(), o.copy()
        result = function(x, o)
        assert result.shape == shape
        assert result.dtype == dtype
        wide = function(x.astype(np.float64), o.astype(np.float64))
        np.testing.assert_allclose(result, wide, rtol=1e-4, atol=1e-5)
        assert np.array_equal(x, before[0])
        assert np.array_equal(o, before[1])


@pytest.mark.parametrize(
    ("robust", "delta", "curvature"),
    [
        (Robust(Nuclear()), 0.5, 2),
        (Robust(LSP(0.5)), 0.25, 8),
        # The bend of kappa is larger: 1 / theta^2, 1 / theta and 1 / (theta - 1).
        (Robust(LSP(0.5)), 2.0, 4),
        (Robust(MCP(0.5)), 2.0, 2),
        (Robust(SCAD(3.0)), 4.0, 0.5),
        # A kink does not count.
        (Robust(CappedL1(0.5)), 2.0, 0.5),
        (OWN, 0.5, 4),
    ],
    ids=named,
)
def test_curvatures_by_hand(robust, delta, curvature):
    assert robust.smoothed(delta).curvature == pytest.approx(curvature)


def test_too_large_a_delta_makes_the_observation_the_worst_prediction():
    loss = SmoothedRobust(MCP(0.5), 2.0)
    assert one(loss.value, 0.0) > one(loss.value, 1.0)


def test_the_bend_of_kappa_is_needed_for_the_derivative_to_be_lipschitz():
    loss = SmoothedRobust(MCP(0.5), 50.0)
    change = one(loss.derivative, 0.4) - one(loss.derivative, 0.1)
    assert abs(change) > loss.penalty.slope_at_zero / loss.delta * 0.3
    assert abs(change) <= loss.curvature * 0.3


def test_values_by_hand():
    a = np.array([-3.0, 0.5, 0.0])
    np.testing.assert_allclose(Robust(Nuclear()).value(a, 0 * a), [3, 0.5, 0])
    np.testing.assert_allclose(Robust(Nuclear()).smoothed(1.0).value(a, 0 * a), [3, 0.625, 0.5])
    np.testing.assert_allclose(Robust(Nuclear()).smoothed(1.0).derivative(a, 0 * a), [-1, 0.5, 0])
    np.testing.assert_allclose(Robust(CappedL1(2.0)).smoothed(1.0).value(a, 0 * a), [2, 0.625, 0.5])
    np.testing.assert_allclose(Robust(CappedL1(2.0)).smoothed(1.0).derivative(a, 0 * a), [0, 0.5, 0])


def test_the_envelope_of_the_absolute_value_is_the_huber_loss():
    r = np.linspace(-5, 5, 101)
    for function in ["value", "derivative"]:
        envelope = getattr(Robust(Nuclear()).envelope(1.3), function)(r, 0 * r)
        np.testing.assert_allclose(envelope, getattr(Huber(1.3), function)(r, 0 * r), rtol=1e-12, atol=1e-15)


def test_the_envelope_of_the_rank_is_the_truncated_square():
    r = np.linspace(-5, 5, 101)
    np.testing.assert_allclose(Envelope(Rank(), 2.0).value(r, 0 * r), np.minimum(0.5 * r**2, 2.0), rtol=1e-12)


def test_settings_are_frozen_plain_numbers():
    loss = SmoothedRobust(Nuclear(), np.float32(0.5))
    assert type(loss.delta) is float
    assert Envelope(Nuclear(), np.float32(0.5)) == Envelope(Nuclear(), 0.5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        loss.delta = 2.0


class TestMakeRobust:
    def test_by_name(self):
        assert make_robust("l1") == Robust(Nuclear())
        assert make_robust("capped_l1", 2) == Robust(CappedL1(2.0))
        assert make_robust("scad", 4) == Robust(SCAD(4.0))

    def test_objects(self):
        robust = Robust(LSP(2.0))
        assert make_robust(robust) is robust
        assert make_robust(LSP(2.0)) == robust

    @pytest.mark.parametrize("given", ["l1", LSP(1.0), Robust(LSP(1.0))], ids=named)
    def test_theta_for_a_loss_without_one(self, given):
        refuses(ValueError, ["theta must be left out", "2.0 was given"], lambda: make_robust(given, 2.0))

    def test_theta_missing(self):
        refuses(TypeError, ["theta of 'capped_l1'", "None"], lambda: make_robust("capped_l1"))

    def test_unknown_name(self):
        refuses(ValueError, ["robust loss must be one of 'l1'", "'tnn' was given"], lambda: make_robust("tnn", 1))

    @pytest.mark.parametrize("wrong", [None, 3, LSP, TNN(2)], ids=named)
    def test_anything_else(self, wrong):
        refuses(TypeError, ["robust loss must be one of", "Elementwise", "was given"], lambda: make_robust(wrong))


@pytest.mark.parametrize("wrong", [None, "l1", LSP, TNN(2)], ids=named)
def test_what_is_no_penalty(wrong):
    for make in [Robust, lambda penalty: SmoothedRobust(penalty, 1.0), Envelope]:
        refuses(TypeError, ["CappedL1(theta)", "Elementwise", "was given"], lambda make=make: make(wrong))


@pytest.mark.parametrize("wrong", [0, -1, math.nan, math.inf])
def test_delta_and_weight_out_of_range(wrong):
    refuses(ValueError, ["delta must be a number above 0", f"{wrong}"], lambda: Robust(Nuclear()).smoothed(wrong))
    refuses(ValueError, ["weight must be a number above 0", f"{wrong}"], lambda: Robust(Nuclear()).envelope(wrong))


def test_a_penalty_without_a_slope_at_zero_cannot_be_smoothed():
    refuses(ValueError, ["finite slope at zero", "envelope"], lambda: Robust(Rank()).smoothed(0.1))


def test_a_penalty_without_a_slope_cannot_be_smoothed():
    refuses(TypeError, ["NoSlope()", "slope(s)", "envelope"], lambda: Robust(NoSlope()).smoothed(0.1))


@pytest.mark.parametrize("size", [0.01, 0.5, 3.0])
@pytest.mark.parametrize("robust", [*NAMED, OWN], ids=named)
def test_an_envelope_cut_at_a_size_has_outliers_from_there_on(robust, size):
    loss = robust.cut_at(size)
    assert one(loss.outliers, 0.999 * size) == 0
    assert one(loss.outliers, -1.001 * size) > 0
    assert one(loss.value, 0.9 * size) == pytest.approx(0.5 * (0.9 * size) ** 2)


@settings(max_examples=40, deadline=None)
@given(s=st.floats(0, 40), weight=WEIGHTS)
def test_the_tangent_is_a_line(s, weight):
    line = Tangent(2.0)
    assert line.kappa(np.array([s]))[0] == 2 * s
    assert line.slope(np.array([s]))[0] == 2
    assert line.prox(np.array([s]), weight)[0] == pytest.approx(max(s - 2 * weight, 0))


def test_the_tangent_is_never_below_kappa():
    s = np.linspace(0, 50, 1001)
    for robust in NAMED:
        assert np.all(Tangent(robust.penalty.slope_at_zero).kappa(s) >= robust.penalty.kappa(s) - 1e-12)


def test_the_noise_besides_outliers():
    rng = np.random.default_rng(0)
    residuals = 0.3 * rng.standard_normal(20_000)
    assert noise_scale(residuals) == pytest.approx(0.3, rel=0.03)
    residuals[:2000] += 1e6
    assert noise_scale(residuals) == pytest.approx(0.3, rel=0.2)
    assert noise_scale(np.array([0.0, 0.0, 0.0, 2.0])) == pytest.approx(1.4826 * 2)
    assert noise_scale(np.zeros(3)) == noise_scale(np.zeros(0)) == 1


def test_normal_noise_rarely_exceeds_the_largest_noise():
    noise = 0.3 * np.random.default_rng(0).standard_normal((200, 5000))
    exceeded = np.abs(noise).max(axis=1) > largest_noise(0.3, 5000)
    assert 0 < exceeded.mean() < 0.25
    # One entry gives no bound, and counts as two.
    assert largest_noise(0.3, 1) == largest_noise(0.3, 2) > 0


def test_the_losses_need_nothing_above_them():
    text = (
        "import sys, tensorfill.losses, tensorfill.losses.robust; "
        "print(*sorted({name.split('.')[1] for name in sys.modules if name.startswith('tensorfill.')}))"
    )
    loaded = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) <= {"_support", "_version", "losses", "penalties"}
