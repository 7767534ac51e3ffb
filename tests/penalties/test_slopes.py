"""The derivatives of kappa: slope, largest bend and reach, of the named penalties and of a user's own."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill.penalties import LSP, MCP, SCAD, CappedL1, Elementwise, Nuclear
from tests.naming import named

from ..refusal import refuses
from .examples import NAMED, Rank, defines

SLOPED = [
    *(penalty for penalty in NAMED if isinstance(penalty, Elementwise) and defines(penalty, "slope")),
    SCAD(3.0, unit=0.2),
]
"""The slope is optional, and so are the largest bend and the reach of a penalty with a slope."""

BENT = [penalty for penalty in SLOPED if isinstance(penalty, Nuclear) or defines(penalty, "largest_bend")]
"""Penalties that know their largest bend; that of the nuclear norm is the default."""

WITHOUT_KINK = [penalty for penalty in BENT if math.isfinite(penalty.largest_bend)]


def slope(penalty, s):
    """Return the slope at one point."""
    return float(penalty.slope(np.array([s]))[0])


@pytest.mark.parametrize("penalty", BENT, ids=named)
@settings(max_examples=60, deadline=None)
@given(s=st.floats(0, 40))
def test_slope_is_the_derivative_of_kappa(penalty, s):
    # Sizes up to a few times the reach, where kappa bends.
    s *= min(1.0, penalty.reach)
    step = 1e-6 * min(1.0, penalty.reach)
    # The step is the rounded one, and it does not cross a kink.
    ahead = s + step
    if math.isinf(penalty.largest_bend) and s < penalty.reach < ahead:
        return
    low, high = penalty.kappa(np.array([s, ahead]))
    bend = 0.0 if math.isinf(penalty.largest_bend) else penalty.largest_bend
    rounding = 1e-15 * high / step
    difference = (high - low) / (ahead - s)
    assert slope(penalty, s) == pytest.approx(difference, rel=1e-9, abs=bend * step + rounding)


@pytest.mark.parametrize("penalty", SLOPED, ids=named)
class TestContract:
    @settings(max_examples=60, deadline=None)
    @given(s=st.floats(0.01, 40))
    def test_slope_lies_between_differences_of_a_concave_kappa(self, penalty, s):
        s *= min(1.0, penalty.reach)
        step = 1e-3 * s
        below, here, above = penalty.kappa(np.array([s - step, s, s + step]))
        rounding = 1e-14 * above / step
        assert (above - here) / step - rounding <= slope(penalty, s) <= (here - below) / step + rounding

    def test_slope_at_zero(self, penalty):
        assert slope(penalty, 0.0) == pytest.approx(penalty.slope_at_zero, rel=1e-15)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("shape", [(0,), (5,), (2, 3)])
    def test_slope_keeps_shape_and_dtype(self, penalty, dtype, shape):
        s = np.linspace(0, 9, math.prod(shape)).reshape(shape).astype(dtype)
        result = penalty.slope(s)
        assert result.shape == shape
        assert result.dtype == dtype
        np.testing.assert_allclose(result, penalty.slope(s.astype(np.float64)), rtol=1e-5, atol=1e-5)

    def test_slope_has_fallen_by_half_at_the_reach(self, penalty):
        if math.isfinite(penalty.reach):
            assert slope(penalty, penalty.reach * (1 - 1e-6)) > 0
            assert slope(penalty, penalty.reach * (1 + 1e-12)) <= penalty.slope_at_zero / 2 * (1 + 1e-9)


@pytest.mark.parametrize("penalty", [each for each in SLOPED if isinstance(each, CappedL1 | MCP | SCAD)], ids=named)
def test_what_becomes_flat_is_flat_from_the_reach_on(penalty):
    assert slope(penalty, penalty.reach * (1 - 1e-6)) > 0
    assert slope(penalty, penalty.reach * (1 + 1e-12)) == 0


@pytest.mark.parametrize("theta", [1e-3, 0.5, 20.0])
def test_the_slope_of_lsp_is_half_at_the_reach(theta):
    assert slope(LSP(theta), LSP(theta).reach) == pytest.approx(LSP(theta).slope_at_zero / 2)


def test_the_slope_of_the_nuclear_norm_is_one_everywhere():
    np.testing.assert_array_equal(Nuclear().slope(np.linspace(0, 1e6, 101)), 1.0)


@pytest.mark.parametrize("penalty", WITHOUT_KINK, ids=named)
def test_largest_bend_is_the_steepest_fall_of_the_slope(penalty):
    s = min(penalty.reach, 10.0) * np.linspace(0, 2, 20_001)
    fall = -np.diff(penalty.slope(s)) / np.diff(s)
    assert fall.max() <= penalty.largest_bend * (1 + 1e-9) + 1e-12
    assert fall.max() == pytest.approx(penalty.largest_bend, rel=1e-3)


def test_by_hand():
    s = np.array([0.0, 1.0, 9.0])
    np.testing.assert_allclose(Nuclear().slope(s), [1, 1, 1])
    np.testing.assert_allclose(CappedL1(1.0).slope(s), [1, 0, 0])
    np.testing.assert_allclose(LSP(1.0).slope(s), [1, 0.5, 0.1])
    np.testing.assert_allclose(MCP(4.0).slope(s), [1, 0.75, 0])
    np.testing.assert_allclose(SCAD(3.0, unit=0.5).slope(s), [1, 0.5, 0])
    penalties = [Nuclear(), CappedL1(3.0), LSP(3.0), MCP(3.0), SCAD(3.0), SCAD(3.0, unit=0.5)]
    assert [penalty.largest_bend for penalty in penalties] == pytest.approx([0, math.inf, 1 / 9, 1 / 3, 1 / 2, 1])
    assert [penalty.reach for penalty in penalties] == [math.inf, 3, 3, 3, 3, 1.5]


def test_the_bend_of_a_tiny_theta_does_not_overflow():
    assert LSP(1e-200).largest_bend == math.inf


class TestOwn:
    """What a user's own penalty has by default, and what a subclass of a built-in penalty inherits."""

    def test_defaults(self):
        assert Rank().largest_bend == 0
        assert Rank().reach == math.inf
        refuses(TypeError, ["not known", "Rank", "slope(s)", "envelope"], lambda: Rank().slope(np.zeros(1)))

    def test_a_subclass_with_the_same_kappa_inherits_everything(self):
        class Renamed(LSP):
            pass

        assert slope(Renamed(2.0), 2.0) == 0.25
        assert Renamed(2.0).largest_bend == 0.25
        assert Renamed(2.0).reach == 2

    def test_a_subclass_with_another_kappa_does_not_inherit_a_wrong_slope(self):
        class Ratio(LSP):
            def kappa(self, s):
                return s / (s + self.theta)

        refuses(TypeError, ["Ratio(theta=2.0)", "slope(s)"], lambda: Ratio(2.0).slope(np.zeros(1)))
        assert Ratio(2.0).largest_bend == 0
        assert Ratio(2.0).reach == math.inf
        # The parent is unchanged.
        assert slope(LSP(2.0), 2.0) == 0.25

    def test_a_mixin_with_another_kappa_does_not_either(self):
        class Halved:
            def kappa(self, s):
                return super().kappa(s) / 2

        class Half(Halved, MCP):
            pass

        refuses(TypeError, ["Half(theta=2.0)"], lambda: Half(2.0).slope(np.zeros(1)))

    def test_a_subclass_with_its_own_slope_keeps_it_and_its_children_inherit_it(self):
        class Ratio(LSP):
            def kappa(self, s):
                return s / (s + self.theta)

            def slope(self, s):
                return self.theta / (s + self.theta) ** 2

            @property
            def reach(self):
                return 7.0

        class Child(Ratio):
            pass

        for kind in (Ratio, Child):
            assert slope(kind(2.0), 2.0) == 0.125
            assert kind(2.0).reach == 7
            assert kind(2.0).largest_bend == 0

    def test_a_slope_added_below_the_kappa_is_kept(self):
        class Ratio(LSP):
            def kappa(self, s):
                return s / (s + self.theta)

        class Sloped(Ratio):
            def slope(self, s):
                return self.theta / (s + self.theta) ** 2

        assert slope(Sloped(2.0), 2.0) == 0.125

    def test_a_slope_that_fits_every_kappa_is_inherited(self):
        class ByDifferences(Elementwise):
            def slope(self, s):
                return (self.kappa(s + 1e-6) - self.kappa(s)) / 1e-6

        @dataclasses.dataclass(frozen=True)
        class Twice(ByDifferences):
            slope_at_zero: float = 2.0

            def kappa(self, s):
                return 2 * s

            def candidates(self, s, weight):
                return [s - 2 * weight]

        assert slope(Twice(), 1.0) == pytest.approx(2)
