"""What every penalty must do, whoever wrote it; then points computed by hand, and error messages."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill._support.checks import listed
from tensorfill.penalties import LSP, MCP, PENALTIES, SCAD, TNN, CappedL1, Nuclear, Penalty, cut, make_penalty
from tests.naming import named

from .examples import NAMED, Rank, TwiceNuclear, singular, takes_theta

ANY_THETA = {"tnn": st.integers(0, 4), "scad": st.floats(2.001, 50)}
"""What theta may be, where it may not be any number above 0."""

SOME = st.floats(0, 30)


def kappa(penalty, grid):
    """Return kappa on a grid, computed with the public `value` only."""
    return np.array([penalty.value(singular(penalty, y)) for y in grid])


def beats_the_grid(penalty, s, weight):
    """Check a proximal operator against a grid search that uses the public `value` only."""
    largest = 100.0
    y = penalty.prox(singular(penalty, s, largest), weight)
    assert np.all(y[:-1] == largest)
    near = y[-1] * (1 + np.array([-1e-2, -1e-4, 1e-4, 1e-2]))
    grid = np.concatenate([np.linspace(0, s, 150), near])
    objective = 0.5 * (grid - s) ** 2 + weight * kappa(penalty, grid)
    reached = 0.5 * (y[-1] - s) ** 2 + weight * penalty.value(y)
    assert 0 <= y[-1] <= s
    # The third term is the rounding of y, which matters if a tiny weight leaves an objective near 0. The last term is
    # there because objectives below the smallest normal number have too few digits to compare.
    assert reached <= objective.min() + 1e-9 * reached + (1e-15 * s) ** 2 + np.finfo(float).tiny


@pytest.mark.parametrize("penalty", [*NAMED, TwiceNuclear(), Rank()], ids=named)
class TestContract:
    def test_has_the_methods_of_the_protocol(self, penalty):
        assert isinstance(penalty, Penalty)

    def test_is_zero_at_zero(self, penalty):
        assert penalty.value(np.zeros(5)) == 0
        assert np.all(penalty.prox(np.zeros(5), 0.7) == 0)

    def test_value_is_a_float_that_never_falls(self, penalty):
        values = kappa(penalty, np.linspace(0, 40, 801))
        assert type(penalty.value(np.ones(2))) is float
        assert values[0] == 0
        assert np.all(np.diff(values) >= 0)

    def test_kappa_is_concave(self, penalty):
        values = kappa(penalty, np.linspace(0, 40, 801))
        assert np.all(np.diff(values, 2) <= 1e-12 * max(1.0, values[-1]))

    def test_slope_at_zero(self, penalty):
        slope = getattr(penalty, "slope_at_zero", math.inf)
        if math.isfinite(slope):
            step = 1e-8 * min(1.0, getattr(penalty, "theta", 1) or 1)
            assert penalty.value(singular(penalty, step)) / step == pytest.approx(slope, rel=1e-6)

    @settings(max_examples=20, deadline=None)
    @given(s=SOME, weight=SOME)
    def test_prox_beats_a_grid_search(self, penalty, s, weight):
        beats_the_grid(penalty, s, weight)

    @settings(max_examples=25, deadline=None)
    @given(s=st.lists(SOME, max_size=12), weight=SOME)
    def test_prox_is_sorted_and_between_zero_and_s(self, penalty, s, weight):
        s = np.array(sorted(s, reverse=True), dtype=float)
        before = s.copy()
        y = penalty.prox(s, weight)
        assert y.shape == s.shape
        assert np.all(y >= 0)
        assert np.all(y <= s)
        assert np.all(np.diff(y) <= 0)
        assert np.array_equal(s, before)

    def test_prox_is_sorted_across_a_jump(self, penalty):
        edge = cut(penalty, 2.0, largest=50.0)
        s = singular(penalty, edge)
        near = edge + np.spacing(edge) * np.arange(20000, -2001, -1)
        y = penalty.prox(np.concatenate([s[:-1], near]), 2.0)
        assert np.all(np.diff(y) <= 0)

    @settings(max_examples=20, deadline=None)
    @given(s=st.lists(st.floats(0, 1e6), min_size=1, max_size=6))
    def test_weight_zero_gives_s_back(self, penalty, s):
        s = np.array(sorted(s, reverse=True))
        assert np.array_equal(penalty.prox(s, 0.0), s)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_dtype_is_kept(self, penalty, dtype):
        s = np.array([5.0, 3.0, 1.0, 0.5, 0.1], dtype=dtype)
        y = penalty.prox(s, 0.3)
        assert y.dtype == dtype
        np.testing.assert_allclose(y, penalty.prox(s.astype(np.float64), 0.3), rtol=2e-6, atol=1e-6)

    @pytest.mark.parametrize("weight", [0.0, 1e-150, 1e-30, 1.0, 1e30])
    def test_extremes_do_not_warn(self, penalty, weight):
        s = np.array([1e150, 1e100, 1e30, 1e15, 2.0, 1.0, 1e-15, 1e-100, 1e-150, 0.0])
        y = penalty.prox(s, weight)
        assert np.all(np.isfinite(y))
        assert np.all((y >= 0) & (y <= s))
        assert np.all(np.diff(y) <= 0)
        assert y[0] == pytest.approx(1e150)
        assert math.isfinite(penalty.value(s))


@pytest.mark.parametrize("name", PENALTIES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_prox_beats_a_grid_search_for_any_theta(name, data):
    penalty = make_penalty(name, data.draw(ANY_THETA.get(name, st.floats(1e-3, 50))) if takes_theta(name) else None)
    beats_the_grid(penalty, data.draw(SOME), data.draw(SOME))


@pytest.mark.parametrize(
    ("penalty", "s", "expected"),
    [
        (Nuclear(), 3, 3),
        (CappedL1(2), 1.5, 1.5),
        (CappedL1(2), 5, 2),
        (LSP(2), 2, math.log(2)),
        (SCAD(4), 0.5, 0.5),
        (SCAD(4), 1, 1),
        (SCAD(4), 2, (16 - 4 - 1) / 6),
        (SCAD(4), 4, 2.5),
        (SCAD(4), 9, 2.5),
        (MCP(4), 2, 1.5),
        (MCP(4), 4, 2),
        (MCP(4), 9, 2),
    ],
    ids=named,
)
def test_values_by_hand(penalty, s, expected):
    assert penalty.value(np.array([s])) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("penalty", "weight", "s", "expected"),
    [
        (Nuclear(), 1, 3, 2),
        # The two pieces of capped-l1 tie at theta + weight / 2.
        (CappedL1(2), 1, 2.49, 1.49),
        (CappedL1(2), 1, 2.51, 2.51),
        # Past weight = 2 theta it is a hard threshold, at sqrt(2 weight theta).
        (CappedL1(1), 8, 3.99, 0),
        (CappedL1(1), 8, 4.01, 4.01),
        (LSP(1), 1, 3, 1 + math.sqrt(3)),
        (LSP(1), 1, 1, 0),
        # Firm thresholding: zero up to weight, the identity from theta on.
        (MCP(2), 1, 1.5, 1),
        (MCP(2), 1, 2.5, 2.5),
        # Past weight = theta it is a hard threshold, at sqrt(weight theta).
        (MCP(1), 4, 1.99, 0),
        (MCP(1), 4, 2.01, 2.01),
        # Fan and Li 2001, their a = 3.7: soft up to 1 + weight, then ((a - 1) s - a) / (a - 2) at weight 1.
        (SCAD(3.7), 1, 1.9, 0.9),
        (SCAD(3.7), 1, 3, (2.7 * 3 - 3.7) / 1.7),
        (SCAD(3.7), 1, 4, 4),
        (Rank(), 2, 1.99, 0),
        (Rank(), 2, 2.01, 2.01),
    ],
    ids=named,
)
def test_proximal_steps_by_hand(penalty, weight, s, expected):
    assert penalty.prox(np.array([s]), weight)[0] == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_tnn_leaves_the_first_free_and_penalises_the_rest():
    s = np.array([9.0, 5.0, 3.0, 1.0])
    assert TNN(2).value(s) == 4.0
    assert TNN(9).value(s) == 0.0
    np.testing.assert_array_equal(TNN(2).prox(s, 2.0), [9, 5, 1, 0])
    np.testing.assert_array_equal(TNN(9).prox(s, 2.0), s)
    np.testing.assert_array_equal(TNN(0).prox(s, 2.0), Nuclear().prox(s, 2.0))


def test_small_answers_keep_their_digits():
    s, weight = 1e-12, 4e-13
    expected = (s - weight) / (1 - weight)
    assert LSP(1).prox(np.array([s]), weight)[0] == pytest.approx(expected, rel=1e-9)
    assert MCP(1).prox(np.array([s]), weight)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("penalty", "weight"),
    [(SCAD(3.266965393177629), 0.84444639918897), (LSP(1.407321199972625), 0.5225265100290886)],
    ids=named,
)
def test_prox_is_sorted_although_rounding_alone_would_not_keep_the_order(penalty, weight):
    edge = cut(penalty, weight, largest=500.0)
    s = edge + np.spacing(edge) * np.arange(20000, -2001, -1)
    assert np.all(np.diff(penalty.prox(s, weight)) <= 0)


def test_a_value_just_past_theta_is_given_back_exactly():
    s = np.array([4.0 + 1e-9])
    for penalty in [CappedL1(4), SCAD(4), MCP(4)]:
        assert penalty.prox(s, 1e-20)[0] == s[0]


def test_integers_and_any_order_are_allowed():
    np.testing.assert_array_equal(MCP(4).prox(np.array([1, 5, 0]), 0.5), MCP(4).prox([1.0, 5.0, 0.0], 0.5))
    np.testing.assert_array_equal(TNN(1).prox(np.array([5, 1]), 0.5), [5.0, 0.5])


def test_negative_rounding_and_nan():
    assert LSP(1).prox(np.array([-1e-18]), 0.5)[0] == 0
    y = LSP(1).prox(np.array([np.nan, 2.0, 0.1]), 0.5)
    assert np.isnan(y[0])
    np.testing.assert_array_equal(y[1:], LSP(1).prox(np.array([2.0, 0.1]), 0.5))


def test_settings_are_frozen_plain_numbers():
    penalty = LSP(np.float32(0.5))
    assert type(penalty.theta) is float
    assert penalty == LSP(0.5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        penalty.theta = 2.0


class TestMakePenalty:
    def test_by_name(self):
        assert make_penalty("nuclear") == Nuclear()
        assert make_penalty("tnn", 3) == TNN(3)
        assert make_penalty("scad", 4) == SCAD(4.0)

    @pytest.mark.parametrize("own", [TwiceNuclear(), Rank(), LSP(2.0)], ids=named)
    def test_own_object_is_returned_unchanged(self, own):
        assert make_penalty(own) is own

    @pytest.mark.parametrize("given", ["nuclear", LSP(1.0), TwiceNuclear()], ids=named)
    def test_theta_for_a_penalty_without_one(self, given):
        with pytest.raises(ValueError, match=r"^theta must be left out for the penalty .*, but 2\.0 was given\.$"):
            make_penalty(given, 2.0)

    @pytest.mark.parametrize(
        ("name", "theta", "allowed"),
        [
            ("capped_l1", 0, "a number above 0"),
            ("lsp", -1, "a number above 0"),
            ("lsp", math.nan, "a number above 0"),
            ("mcp", math.inf, "a number above 0"),
            ("scad", 2, "a number above 2"),
            ("tnn", -1, "a whole number of at least 0"),
        ],
    )
    def test_theta_out_of_range(self, name, theta, allowed):
        with pytest.raises(ValueError, match=f"^theta of '{name}' must be {allowed}, but {theta} was given\\.$"):
            make_penalty(name, theta)

    @pytest.mark.parametrize("name", [name for name in PENALTIES if takes_theta(name)])
    @pytest.mark.parametrize("theta", [None, "large", True])
    def test_theta_missing_or_no_number(self, name, theta):
        with pytest.raises(TypeError, match=f"^theta of '{name}' must be a .*number .*, but {theta!r} .* given\\.$"):
            make_penalty(name, theta)

    def test_unknown_name(self):
        with pytest.raises(ValueError, match=r"^penalty must be one of 'nuclear', .*, but 'lps' was given\.$"):
            make_penalty("lps", 1.0)

    @pytest.mark.parametrize("wrong", [None, 3, LSP, object()], ids=named)
    def test_anything_else(self, wrong):
        words = f"{listed(PENALTIES)}, or an object with the methods value(s) and prox"
        with pytest.raises(TypeError, match=re.escape(words)):
            make_penalty(wrong)


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
def test_weight_out_of_range(weight):
    for penalty in NAMED:
        with pytest.raises(ValueError, match="weight must be a number of at least 0"):
            penalty.prox(np.ones(5), weight)


def test_of_two_equally_good_minimisers_the_smaller_is_returned():
    """For the rank, 0 and s cost the same if s^2 = 2 weight; for the capped l1 penalty, if s^2 = 2 weight theta."""
    s = np.array([np.nextafter(2.0, 3.0), 2.0, np.nextafter(2.0, 1.0)])
    np.testing.assert_array_equal(Rank().prox(s, 2.0), [s[0], 0.0, 0.0])
    np.testing.assert_array_equal(CappedL1(1.0).prox(np.array([4.0, 4.0 + 1e-9]), 8.0), [0.0, 4.0 + 1e-9])
