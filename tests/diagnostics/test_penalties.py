"""Right penalties pass, and wrong ones get a sentence."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from tensorfill.diagnostics import check_penalty, penalties
from tensorfill.penalties import LSP, MCP, SCAD, TNN, CappedL1, Elementwise, Nuclear
from tests.naming import named
from tests.penalties.examples import NAMED

from .findings import sentences


@dataclasses.dataclass(frozen=True)
class Rank(Elementwise):
    """A user's own penalty: 1 for each singular value above 0."""

    slope_at_zero = math.inf

    def kappa(self, s):
        return np.where(s > 0, 1.0, 0.0)

    def candidates(self, s, weight):
        return [s]


class OwnPenalty:
    """The nuclear norm with nothing but the two methods of the protocol, of which a test changes one thing."""

    def value(self, s):
        return float(np.sum(s))

    def prox(self, s, weight):
        return np.maximum(s - s.dtype.type(weight), 0)


class TestRightPenalties:
    @pytest.mark.parametrize("penalty", [*NAMED, Rank(), OwnPenalty(), TNN(2)], ids=lambda x: repr(x).split(" ")[0])
    def test_pass(self, penalty):
        report = check_penalty(penalty, rng=1)
        assert report.ok, str(report)

    def test_by_name(self):
        assert check_penalty("nuclear").ok


class TestWrongPenalties:
    @pytest.mark.parametrize("factor", [0.0, 0.5, 0.9, 1.1, 2.0])
    def test_prox_that_shrinks_otherwise(self, factor):
        class Wrong(OwnPenalty):
            def prox(self, s, weight):
                return super().prox(s, factor * weight)

        (finding,) = sentences(check_penalty(Wrong()))
        assert finding.startswith("prox of [")
        assert "but at [" in finding

    def test_a_local_minimum_only(self):
        class Wrong(Rank):
            def prox(self, s, weight):
                return s.copy()

        assert "prox of [" in sentences(check_penalty(Wrong()))[0]

    def test_prox_that_grows(self):
        class Wrong(OwnPenalty):
            def prox(self, s, weight):
                return s + s.dtype.type(weight)

        assert "must lie between 0 and the singular values" in sentences(check_penalty(Wrong()))[0]

    def test_prox_that_goes_below_zero(self):
        class Wrong(OwnPenalty):
            def prox(self, s, weight):
                return s - s.dtype.type(weight)

        assert "must lie between 0 and" in sentences(check_penalty(Wrong()))[0]

    def test_prox_that_is_not_sorted(self):
        class Wrong(OwnPenalty):
            def prox(self, s, weight):
                return np.where(np.arange(len(s)) == 0, 0, s).astype(s.dtype) if weight else s

        assert any("sorted from large to small" in finding for finding in sentences(check_penalty(Wrong())))

    def test_prox_of_another_shape_dtype_or_nan(self):
        class Shorter(OwnPenalty):
            def prox(self, s, weight):
                return s[s > weight]

        class Wider(OwnPenalty):
            def prox(self, s, weight):
                return super().prox(s, weight).astype(np.float64)

        class Undefined(OwnPenalty):
            def prox(self, s, weight):
                return np.where(s > weight, s, np.nan).astype(s.dtype)

        assert "has shape" in sentences(check_penalty(Shorter()))[0]
        assert sentences(check_penalty(Wider())) == (
            "prox of float32 singular values is float64, but must be float32 too.",
        )
        assert "must be finite" in sentences(check_penalty(Undefined()))[0]

    def test_prox_that_writes_into_s(self):
        class Wrong(OwnPenalty):
            def prox(self, s, weight):
                s -= s.dtype.type(weight)
                return np.maximum(s, 0)

        assert "prox writes into" in sentences(check_penalty(Wrong()))[0]

    def test_prox_that_moves_without_a_weight(self):
        class Wrong(OwnPenalty):
            def prox(self, s, weight):
                return super().prox(s, weight + 0.001)

        assert "a weight of 0 must change nothing" in sentences(check_penalty(Wrong()))[0]

    def test_value_that_is_not_zero_at_zero(self):
        class Wrong(OwnPenalty):
            def value(self, s):
                return float(np.sum(s + 1))

        assert sentences(check_penalty(Wrong())) == ("value of zeros is 3, but must be 0.",)

    def test_value_that_falls(self):
        class Wrong(OwnPenalty):
            def value(self, s):
                return float(np.sum(np.sin(s)))

        assert sentences(check_penalty(Wrong()))[0].startswith("value falls from 0.999574 at the singular value 1.6 to")

    def test_value_that_is_infinite(self):
        class Wrong(OwnPenalty):
            def value(self, s):
                return float(np.sum(np.expm1(s)))

        assert "value of the singular value 1000 is inf" in sentences(check_penalty(Wrong()))[0]

    def test_value_for_each_entry(self):
        class Wrong(OwnPenalty):
            def value(self, s):
                return s

        assert sentences(check_penalty(Wrong())) == ("value must be one number, but it is an array of shape (3,).",)

    def test_slope_at_zero(self):
        class Wrong(OwnPenalty):
            slope_at_zero = 2.0

        assert sentences(check_penalty(Wrong())) == ("slope_at_zero is 2, but value rises by 1 per unit from 0.",)

    def test_kappa_and_candidates_of_different_penalties(self):
        class Wrong(LSP):
            def kappa(self, s):
                return s / (s + self.theta)

        assert any(finding.startswith("prox of [") for finding in sentences(check_penalty(Wrong(1.0))))

    def test_candidates_that_divide_by_zero_at_zero(self):
        class Root(Elementwise):
            slope_at_zero = math.inf

            def kappa(self, s):
                return np.sqrt(s)

            def candidates(self, s, weight):
                # The power of the smallest number is 0. Clipped, the result looks as it should.
                safe = np.maximum(s, np.finfo(float).tiny)
                angle = np.arccos(np.clip(-0.75 * np.sqrt(3.0) * weight / safe**1.5, -1.0, 1.0))
                return [(2 * np.sqrt(s / 3) * np.cos(angle / 3)) ** 2]

        (finding,) = sentences(check_penalty(Root()))
        assert finding.startswith("prox of [1, 0] with weight 0.01 computes something undefined (divide by zero")

    @pytest.mark.parametrize("undefined", [math.nan, math.inf])
    def test_candidates_that_are_not_finite_at_zero(self, undefined):
        class Wrong(Rank):
            def candidates(self, s, weight):
                return [np.where(s > 0, s, undefined)]

        (finding,) = sentences(check_penalty(Wrong()))
        assert finding == f"candidates of [1, 0] with weight 0.01 are [1, {undefined}], but must be finite."

    def test_what_raises(self):
        class Wrong(OwnPenalty):
            def prox(self, s, weight):
                return s[0] / 0 * np.ones(int("x"))

        assert "prox raised" in check_penalty(Wrong()).findings[0]

    @pytest.mark.parametrize("base", [Nuclear(), CappedL1(2.0), LSP(0.3), MCP(2.0), SCAD(3.0)], ids=named)
    @pytest.mark.parametrize("factor", [-1.0, 0.5, 0.99, 1.01])
    def test_slope_that_is_not_the_derivative(self, base, factor, monkeypatch):
        # The grid search, which takes nearly all the time, looks only at value and prox; these are right.
        monkeypatch.setattr(penalties, "_prox_findings", lambda *_: iter(()))

        class Wrong(OwnPenalty):
            value = staticmethod(base.value)
            prox = staticmethod(base.prox)

            def slope(self, s):
                return np.asarray(factor * base.slope(s), dtype=s.dtype)

        (finding,) = sentences(check_penalty(Wrong()))
        at, slope, difference = (float(number.rstrip(".,")) for number in np.array(finding.split())[[5, 7, -1]])
        assert finding.startswith("slope at the singular value")
        assert slope == pytest.approx(factor * base.slope(np.array([at]))[0], rel=1e-4)
        assert difference == pytest.approx(base.slope(np.array([at]))[0], rel=1e-3)

    def test_slope_of_another_shape_or_dtype(self):
        class Sum(OwnPenalty):
            def slope(self, s):
                return np.sum(s)

        class Wider(OwnPenalty):
            def slope(self, s):
                return np.ones(len(s))

        assert "slope of singular values of shape (100,) has shape ()" in sentences(check_penalty(Sum()))[0]
        assert sentences(check_penalty(Wider())) == (
            "slope of float32 singular values is float64, but must be float32 too.",
        )

    def test_a_slope_is_optional(self):
        # TestRightPenalties.test_pass checks both.
        assert not hasattr(OwnPenalty(), "slope")
        assert "slope" not in vars(Rank)

    def test_what_is_no_penalty(self):
        with pytest.raises(TypeError, match="penalty must be one of"):
            check_penalty(object())
