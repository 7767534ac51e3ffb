"""Data of any size: fitted in a unit near its largest value, reported in its own."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill import Choice, Nort, Observations, compare, complete
from tensorfill._support.scaling import ORDINARY, times_power_of_two
from tensorfill.choosing.stages.scale import EXTREMES, Scale
from tensorfill.losses import Huber
from tensorfill.losses.robust import Envelope, Robust
from tensorfill.losses.units import loss_in_unit, power_of_loss
from tensorfill.penalties import LSP, CappedL1, Nuclear
from tensorfill.selection import path
from tests.refusal import refuses
from tests.slow import slow_except

LARGE = {"float64": 400, "float32": 40}
"""Powers of two that are far from ordinary."""


@pytest.fixture(scope="module")
def table():
    """A tensor with gaps, whose values are float32 numbers."""
    rng = np.random.default_rng(0)
    truth = np.einsum("ir,jr,kr->ijk", *(rng.standard_normal((size, 2)) for size in (12, 11, 10)))
    noisy = (truth + 0.05 * rng.standard_normal(truth.shape)).astype(np.float32).astype(np.float64)
    return np.where(rng.random(truth.shape) < 0.6, noisy, np.nan)


@given(value=st.floats(-1e30, 1e30), exponent=st.integers(-200, 200))
def test_a_power_of_two_keeps_the_digits(value, exponent):
    if abs(value) > 1e-200 or value == 0:
        assert times_power_of_two(value, exponent) == value * 2.0**exponent
        assert times_power_of_two(times_power_of_two(value, exponent), -exponent) == value


def test_what_would_leave_the_floats_stays_at_their_ends():
    assert times_power_of_two(-1e300, 2000) == -sys.float_info.max
    assert times_power_of_two(1e-300, -2000) == sys.float_info.min
    assert times_power_of_two(2.0, 0.5) == pytest.approx(2 * math.sqrt(2))
    assert math.isnan(times_power_of_two(math.nan, 3))
    assert times_power_of_two(math.inf, -3) == math.inf


@given(seed=st.integers(0, 1000), exponent=st.integers(-40, 40))
@pytest.mark.parametrize(
    "loss", [Huber(2.0), Robust(Nuclear()), Robust(LSP(0.5)), Envelope(CappedL1(3.0), 0.5), Envelope(LSP(0.7), 0.5)]
)
def test_losses_have_the_power_that_they_say(loss, seed, exponent):
    rng = np.random.default_rng(seed)
    predicted, observed = rng.standard_normal((2, 20)) * 3
    unit = 2.0**exponent
    values = loss_in_unit(loss, exponent).value(predicted / unit, observed / unit)
    np.testing.assert_allclose(values * unit ** power_of_loss(loss), loss.value(predicted, observed), rtol=1e-9)


class TestTheUnit:
    def of(self, values, loss="square", dtype=np.float64, methods=()):
        entries = Observations.from_dense(np.atleast_2d(values)).astype(dtype)
        return Scale.of(entries, Huber() if loss == "huber" else loss, methods or [Nort()])

    def test_ordinary_values_and_zeros_are_taken_as_they_are(self):
        for values in (0.0, 1.0, -1e6, 2e-6, [1e-40, 300.0]):
            for dtype in (np.float32, np.float64):
                assert self.of(values, Huber(), dtype).exponent == 0
        assert self.of(1e29, "huber").exponent == 0

    def test_others_have_a_largest_value_near_one(self):
        for value in (1e31, -3e139, 1e-31, 2e-100):
            unit = self.of([value, value / 3], "huber")
            assert 0.5 <= abs(value) / 2.0**unit.exponent < 1
            assert (unit.loss, unit.objective) == (2, 2)
        assert self.of(1e7, "huber", np.float32).exponent == 24

    def test_a_robust_loss_that_a_method_takes_itself_has_its_own_power(self):
        from tensorfill import Rtdgc

        assert self.of(1e50, "l1").loss == 2
        unit = self.of(1e50, "l1", methods=[Rtdgc()])
        assert (unit.loss, unit.objective) == (1, 1)

    def test_a_loss_of_unknown_unit_is_refused_and_one_of_scores_needs_none(self):
        from tensorfill.losses import Poisson

        class Own:
            curvature = 1.0

        assert self.of(1e7, Poisson(), np.float32).exponent == 0
        assert self.of(1.0, Own()).exponent == 0
        refuses(ValueError, ["1e+07", "Own", "divide"], lambda: self.of(1e7, Own(), np.float32))


@pytest.mark.parametrize(
    ("dtype", "sign"),
    slow_except(itertools.product(["float64", "float32"], [1, -1]), [("float64", -1), ("float32", 1)]),
    ids=lambda value: {1: "large", -1: "small"}.get(value, value),
)
class TestEveryReportedNumber:
    """It is that of ordinary data, times the unit."""

    def fits(self, table, dtype, sign, **options):
        exponent = sign * LARGE[dtype]
        options = {"dtype": dtype, "rng": 0, "smooth": None, **options}
        return complete(table, **options), complete(np.ldexp(table, exponent), **options), 2.0**exponent

    def same(self, one, other, unit, tolerance=1e-5):
        scale = np.abs(one.to_dense()).max()
        assert other.to_dense().dtype == one.to_dense().dtype
        np.testing.assert_allclose(other.to_dense() / unit, one.to_dense(), atol=tolerance * scale)
        assert other.held_out_error / unit == pytest.approx(one.held_out_error, rel=tolerance)
        assert other.half_width(0.8) / unit == pytest.approx(one.half_width(0.8), rel=1e-3)
        np.testing.assert_allclose(other.history["objective"] / unit**2, one.history["objective"], rtol=1e-3)
        pairs = list(zip(one.path, other.path, strict=True))
        for name in ("held_out", "training", "standard_error", "cut"):
            np.testing.assert_allclose(
                [getattr(b, name) / unit for _, b in pairs], [getattr(a, name) for a, _ in pairs], rtol=1e-3
            )
        for a, b in zip(one.baselines, other.baselines, strict=True):
            assert b.error / unit == pytest.approx(a.error, rel=1e-5)
        np.testing.assert_array_equal(other.observations.values, one.observations.values.astype(float) * unit)

    def test_of_the_automatic_choice(self, table, dtype, sign):
        self.same(*self.fits(table, dtype, sign))

    def test_of_nort_with_its_lambda(self, table, dtype, sign):
        one, other, unit = self.fits(table, dtype, sign, method="nort", choose=Choice(splits=1))
        self.same(one, other, unit, tolerance=1e-3)
        np.testing.assert_allclose(np.array(other.lam) / unit**2, one.lam, rtol=1e-3)
        assert other.method.penalty.theta / unit == pytest.approx(one.method.penalty.theta, rel=1e-3)

    def test_of_centred_data(self, table, dtype, sign):
        one, other, unit = self.fits(table + 3.0, dtype, sign, method="tucker_als", centre=True)
        assert other.model.offset.mean / unit == pytest.approx(one.model.offset.mean, rel=1e-5)
        np.testing.assert_allclose(other.to_dense() / unit, one.to_dense(), atol=1e-4)

    def test_of_given_settings_and_a_start(self, table, dtype, sign):
        exponent = sign * LARGE[dtype]
        unit, options = 2.0**exponent, {"dtype": dtype, "rng": 0}
        one = complete(table, method=Nort(lam=3.0, penalty="nuclear", max_iter=40), **options)
        other = complete(
            np.ldexp(table, exponent), method=Nort(lam=3.0 * unit, penalty="nuclear", max_iter=40), **options
        )
        np.testing.assert_allclose(other.to_dense() / unit, one.to_dense(), atol=1e-4)
        assert other.lam == pytest.approx([3.0 * unit] * 3)
        again = complete(np.ldexp(table, exponent), method=other.method, start=other, **options)
        assert again.history[0].objective == pytest.approx(other.history[-1].objective, rel=1e-4)
        assert len(again.history) <= 4

    def test_of_a_recipe(self, table, dtype, sign):
        data = np.ldexp(table, sign * LARGE[dtype])
        first = complete(data, method="softimpute", dtype=dtype, rng=0, smooth=None, max_iter=40)
        again = complete(data, **first.recipe.arguments())
        assert again.method.lam == first.method.lam
        np.testing.assert_array_equal(complete(data, **again.recipe.arguments()).to_dense(), again.to_dense())

    def test_of_an_update(self, table, dtype, sign):
        exponent = sign * LARGE[dtype]
        old, new = table[:10], np.full_like(table, np.nan)
        new[10:] = table[10:]
        one, other = (
            complete(np.ldexp(old, power), method="tucker_als", dtype=dtype, rng=0, smooth=None, centre=False).update(
                np.ldexp(new, power), rng=0
            )
            for power in (0, exponent)
        )
        unit, scale = 2.0**exponent, np.abs(one.to_dense()).max()
        np.testing.assert_allclose(other.to_dense() / unit, one.to_dense(), atol=1e-3 * scale)
        assert other.held_out_error / unit == pytest.approx(one.held_out_error, rel=1e-3)
        assert np.isfinite(other.predict([[11, 0, 0]], interval=0.8)).all()

    def test_of_a_callback(self, table, dtype, sign):
        exponent, seen = sign * LARGE[dtype], {0: [], 1: []}
        for number, power in ((0, 0), (1, exponent)):
            complete(
                np.ldexp(table, power),
                method=Nort(lam=3.0 * 2.0**power, penalty="nuclear", max_iter=3),
                dtype=dtype,
                rng=0,
                callback=lambda record, model, number=number: seen[number].append((record.objective, model.norm())),
            )
        objectives, norms = np.array(seen[0]).T
        np.testing.assert_allclose(np.array(seen[1]).T[0] / 2.0 ** (2 * exponent), objectives, rtol=1e-4)
        np.testing.assert_allclose(np.array(seen[1]).T[1] / 2.0**exponent, norms, rtol=1e-4)

    def test_of_comparisons_and_paths(self, table, dtype, sign):
        exponent = sign * LARGE[dtype]
        unit, options = 2.0**exponent, {"dtype": dtype, "rng": 0}
        one, other = (
            compare(np.ldexp(table, power), ["softimpute", "tucker_als"], **options) for power in (0, exponent)
        )
        np.testing.assert_allclose(other["held_out"] / unit, one["held_out"], rtol=1e-3)
        np.testing.assert_allclose(other["standard_error"] / unit, one["standard_error"], rtol=1e-3)
        lam = [next(row.method.lam for row in rows if row.name == "softimpute") for rows in (one, other)]
        assert lam[1] / unit == pytest.approx(lam[0], rel=1e-3)
        if dtype == "float64":
            one, other = (path(np.ldexp(table, power), points=3, rng=0) for power in (0, exponent))
            np.testing.assert_allclose(other["cut"] / unit, one["cut"], rtol=1e-6)


@pytest.mark.parametrize("exponent", [400, -400])
def test_robust_losses_judge_the_same_entries(table, exponent):
    table = table.copy()
    table[0, 0] = 50.0
    method = Nort(lam=3.0, penalty="nuclear", max_iter=20)
    one, other = (
        complete(np.ldexp(table, power), method=method.in_unit(-power, 2, 3), loss="l1", rng=0)
        for power in (0, exponent)
    )
    np.testing.assert_allclose(np.ldexp(other.to_dense(), -exponent), one.to_dense(), atol=1e-3)
    np.testing.assert_array_equal(other.corrupt, one.corrupt)
    assert one.corrupt.any()
    assert math.ldexp(other.loss.weight, -exponent) == pytest.approx(one.loss.weight, rel=1e-3)


def test_the_delta_of_the_huber_loss_is_in_the_units_of_the_data(table):
    method = Nort(lam=0.5, penalty="nuclear", max_iter=10)
    one, other = (
        complete(np.ldexp(table, power), method=method.in_unit(-power, 2, 3), loss=Huber(math.ldexp(0.3, power)), rng=0)
        for power in (0, 200)
    )
    np.testing.assert_allclose(np.ldexp(other.to_dense(), -200), one.to_dense(), atol=1e-9)
    assert other.loss == Huber(math.ldexp(0.3, 200))


def test_a_nearly_ordinary_multiple_agrees_too(table):
    """A thousand million is no power of two, and float64 takes it as it is."""
    one, other = (complete(table * factor, rng=0, smooth=None) for factor in (1.0, 1e9))
    np.testing.assert_allclose(other.to_dense() / 1e9, one.to_dense(), rtol=1e-6, atol=1e-9)
    narrow = complete(table * 1e9, dtype="float32", rng=0, smooth=None)
    np.testing.assert_allclose(narrow.to_dense() / 1e9, one.to_dense(), atol=1e-3)


def test_given_entries_to_score_with_are_in_the_unit_too(table):
    seen = Observations.from_dense(table)
    table, held = table.copy(), seen.select(np.arange(len(seen)) % 9 == 0)
    table[tuple(held.coords.T)] = np.nan
    one, other = (
        complete(
            np.ldexp(table, power),
            method="tucker_als",
            choose=Choice(validation=held.with_values(np.ldexp(held.values, power))),
            rng=0,
            smooth=None,
        )
        for power in (0, 300)
    )
    assert other.held_out_error / 2.0**300 == pytest.approx(one.held_out_error, rel=1e-6)
    np.testing.assert_array_equal(other.held_out.observed, np.ldexp(one.held_out.observed, 300))


@pytest.mark.parametrize(("dtype", "factor"), [("float64", 1e145), ("float64", 1e-145), ("float32", 1e20)])
def test_what_has_no_squares_is_refused(table, dtype, factor):
    words = ["The largest value is", f"for {dtype}", "divide the values"]
    refuses(ValueError, words, lambda: complete(table * factor, dtype=dtype))


def test_new_entries_that_have_no_squares_are_refused(table):
    fit = complete(table, method="tucker_als", rank=2, rng=0)
    new = np.full_like(table, np.nan)
    new[0, 0, 0] = 1e200
    refuses(ValueError, ["The largest value is 1e+200", "divide the values"], lambda: fit.update(new))


def test_the_limits_are_in_order():
    for name in ORDINARY:
        assert 1 < ORDINARY[name] < EXTREMES[name] < np.sqrt(float(np.finfo(name).max))


def test_a_penalty_of_unknown_unit_goes_with_ordinary_data_only(table):
    class Own:
        def value(self, s):
            return float(s.sum())

        def prox(self, s, weight):
            return np.maximum(s - weight, 0)

    method = Nort(lam=1.0, penalty=Own(), max_iter=2)
    assert np.isfinite(complete(table, method=method).to_dense()).all()
    large = Nort(lam=2.0**200, penalty=Own(), max_iter=2)
    refuses(ValueError, ["divide data of this size"], lambda: complete(np.ldexp(table, 200), method=large))
