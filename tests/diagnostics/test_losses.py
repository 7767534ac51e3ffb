"""Right losses pass, and wrong ones get a sentence."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tensorfill.diagnostics import Report, check_loss
from tensorfill.losses import LOSSES, Huber, Logistic, Poisson, Square
from tensorfill.losses.robust import Envelope, SmoothedRobust
from tensorfill.penalties import LSP, MCP, SCAD, CappedL1, Nuclear
from tests.naming import named

from ..refusal import refuses
from .findings import sentences

KAPPAS = [Nuclear(), CappedL1(0.05), CappedL1(2.0), LSP(0.01), LSP(3.0), MCP(0.05), MCP(3.0), SCAD(2.5), SCAD(30.0)]
RIGHT = [
    Huber(1e-3),
    *(SmoothedRobust(kappa, delta) for kappa in KAPPAS for delta in [1e-6, 0.1, 5.0]),
    *(Envelope(kappa, weight) for kappa in KAPPAS for weight in [0.1, 8.0]),
]


class Own(Square):
    """Half the squared difference, of which a test changes one thing."""

    def __repr__(self):
        return type(self).__name__


class TestRightLosses:
    @pytest.mark.parametrize("name", LOSSES)
    @pytest.mark.parametrize("rng", range(5))
    def test_registered(self, name, rng):
        report = check_loss(name, rng=rng)
        assert report.ok, str(report)
        assert report
        assert report.findings == ()

    @pytest.mark.parametrize("loss", RIGHT, ids=named)
    def test_robust(self, loss):
        for rng in range(3):
            report = check_loss(loss, rng=rng)
            assert report.ok, str(report)

    @pytest.mark.parametrize("scale", [1e-5, 1.0, 1e5])
    def test_on_data_of_any_scale(self, scale):
        observed = scale * np.random.default_rng(0).standard_normal((4, 5))
        for loss in [Square(), Huber(), SmoothedRobust(MCP(3.0), 0.1), Envelope(CappedL1(2.0))]:
            report = check_loss(loss, observed)
            assert report.ok, str(report)

    def test_on_counts_and_truth_values(self):
        for largest in [1, 5, 10000]:
            assert check_loss("poisson", [0, 1, largest]).ok
        assert check_loss("logistic", [True, False]).ok

    def test_a_formula_whose_terms_cancel(self):
        class Naive(Poisson):
            def value(self, prediction, observed):
                x, o = np.minimum(prediction, self.limit), np.maximum(observed, 1e-30)
                d = prediction - x
                high = np.exp(x) * (1 + d + d * d / 2)
                return np.maximum(high - observed * prediction + observed * np.log(o) - observed, 0)

        assert check_loss("poisson", [10.0, 3e4]).ok
        report = check_loss(Naive(), [10.0, 3e4])
        assert report.ok, str(report)

    def test_one_rng_decides_everything(self):
        class Wrong(Own):
            def derivative(self, prediction, observed):
                return observed - prediction

        assert check_loss(Wrong(), rng=3) == check_loss(Wrong(), rng=3)
        assert check_loss(Wrong(), rng=3) != check_loss(Wrong(), rng=4)
        assert not check_loss(Wrong(), rng=np.random.default_rng(3)).ok


class TestWrongLosses:
    def test_sign_of_the_derivative(self):
        class Wrong(Own):
            def derivative(self, prediction, observed):
                return observed - prediction

        (finding,) = sentences(check_loss(Wrong(), [3.0]))
        words = finding.replace(",", "").rstrip(".").split()
        prediction, derivative, difference = (float(words[i]) for i in [3, 7, -1])
        assert finding.startswith("derivative at prediction")
        assert "observed 3 is" in finding
        assert derivative == pytest.approx(3 - prediction, rel=1e-4)
        assert difference == pytest.approx(prediction - 3, rel=1e-4)

    @pytest.mark.parametrize("factor", [0.0, 0.5, 0.999, 1.001, 2.0])
    @pytest.mark.parametrize("base", [Square(), Huber(), Logistic(), Poisson(5.0), Envelope(LSP(1.0))], ids=named)
    def test_factor_of_the_derivative(self, base, factor):
        class Wrong:
            curvature = base.curvature
            value = staticmethod(base.value)

            def derivative(self, prediction, observed):
                return np.asarray(factor * base.derivative(prediction, observed), dtype=prediction.dtype)

        observed = [0.0, 1.0, 7.0] if isinstance(base, Poisson) else [-1.0, 1.0]
        assert "derivative" in sentences(check_loss(Wrong(), observed))[0]

    def test_derivative_wrong_in_one_place(self):
        class Wrong(Own):
            def derivative(self, prediction, observed):
                difference = prediction - observed
                return np.where(difference > 2, 2 * difference, difference)

        assert "derivative at" in sentences(check_loss(Wrong()))[0]

    @pytest.mark.parametrize("base", [Square(), Huber(), Logistic(), Envelope(MCP(2.0))], ids=named)
    @pytest.mark.parametrize("factor", [0.1, 0.5, 0.9])
    def test_curvature_too_small(self, base, factor):
        class Wrong:
            curvature = factor * base.curvature
            value = staticmethod(base.value)
            derivative = staticmethod(base.derivative)

        (finding,) = sentences(check_loss(Wrong(), [-1.0, 1.0]))
        assert finding.startswith(f"curvature is {Wrong.curvature:g}, but from prediction")
        needed = float(finding.split("a curvature of ")[1].split(";")[0])
        assert Wrong.curvature < needed <= base.curvature * 1.001

    def test_exp_without_a_bound(self):
        class Wrong(Poisson):
            curvature = 1.0

            def prepared(self, observed):
                return self, observed

        findings = sentences(check_loss(Wrong(), [0.0, 3.0]))
        assert any(finding.startswith("value at prediction 1") and "inf" in finding for finding in findings)
        assert any(finding.startswith("curvature is 1,") for finding in findings)

    def test_absolute_value(self):
        class Wrong(Own):
            def value(self, prediction, observed):
                return np.abs(prediction - observed)

            def derivative(self, prediction, observed):
                return np.sign(prediction - observed)

        (finding,) = sentences(check_loss(Wrong()))
        assert finding.startswith("curvature is 1, but")

    @pytest.mark.parametrize("curvature", [0.0, -1.0, math.inf, math.nan])
    def test_curvature_that_is_none(self, curvature):
        wrong = type("Wrong", (Own,), {"curvature": curvature})()
        assert sentences(check_loss(wrong)) == (f"curvature must be a finite number above 0, but it is {curvature:g}.",)

    def test_negative_value(self):
        class Wrong(Own):
            def value(self, prediction, observed):
                return 0.5 * prediction**2 - observed * prediction

        (finding,) = sentences(check_loss(Wrong()))
        assert "must not be negative" in finding

    def test_nan(self):
        class Wrong(Own):
            def value(self, prediction, observed):
                return np.where(prediction > 1, np.nan, super().value(prediction, observed))

        assert "is nan, but must be a finite number" in sentences(check_loss(Wrong()))[0]

    def test_overflow_far_out(self):
        class Wrong(Logistic):
            def value(self, prediction, observed):
                return np.log1p(np.exp(-observed * prediction))

        (finding,) = sentences(check_loss(Wrong()))
        assert finding.startswith("value at prediction")
        assert "inf" in finding

    def test_a_sum_for_a_value(self):
        class Wrong(Own):
            def value(self, prediction, observed):
                return np.sum((prediction - observed) ** 2) / 2

        assert "value of arrays of shape (6,) has shape ()" in sentences(check_loss(Wrong()))[0]

    def test_dtype_lost(self):
        class Wrong(Own):
            def derivative(self, prediction, observed):
                return (prediction - observed).astype(np.float64)

        assert sentences(check_loss(Wrong())) == ("derivative of float32 arrays is float64, but must be float32 too.",)

    def test_arguments_overwritten(self):
        class Wrong(Own):
            def derivative(self, prediction, observed):
                prediction -= observed
                return prediction.copy()

        assert "derivative writes into" in sentences(check_loss(Wrong()))[0]

    def test_entries_mixed(self):
        class Wrong(Own):
            def value(self, prediction, observed):
                return super().value(prediction, observed) / max(1, prediction.size)

            def derivative(self, prediction, observed):
                return super().derivative(prediction, observed) / max(1, prediction.size)

        assert "value of an entry depends on the other entries" in sentences(check_loss(Wrong()))[0]

    def test_mean_of_another_shape(self):
        class Wrong(Own):
            def mean(self, prediction):
                return prediction.sum()

        assert "mean of arrays of shape (6,)" in sentences(check_loss(Wrong()))[0]

    def test_what_raises(self):
        class Wrong(Own):
            def derivative(self, prediction, observed):
                raise KeyError("missing.")

        assert "derivative raised KeyError" in check_loss(Wrong()).findings[0]

    def test_prepared_that_returns_something_else(self):
        class Wrong(Own):
            def prepared(self, observed):
                return self

        class Shorter(Own):
            def prepared(self, observed):
                return self, observed[1:]

        class Raises(Own):
            def prepared(self, observed):
                raise RuntimeError("no.")

        assert "prepared must return a pair" in sentences(check_loss(Wrong()))[0]
        assert "prepared turns values of shape (50,) into shape (49,)." in sentences(check_loss(Shorter()))[0]
        assert "prepared raised RuntimeError: no." in sentences(check_loss(Raises()))[0]


class Scaled(Own):
    """A loss that takes values in hundreds."""

    def prepared(self, observed):
        return self, observed / 100

    def restored(self, observed):
        return observed * 100


class TestRestored:
    def test_an_inverse_passes(self):
        assert check_loss(Scaled()).ok
        for values in ([0.0, 1.0], [-1.0, 1.0]):
            assert check_loss(Logistic(), values).ok

    def test_another_function_does_not(self):
        class Wrong(Scaled):
            def restored(self, observed):
                return observed * 10

        (finding,) = sentences(check_loss(Wrong(), [700.0]))
        assert finding == (
            "restored must be the inverse of prepared, but the observed value 700 becomes 7 and then 70."
        )

    def test_every_kind_of_values_is_tried(self):
        class Wrong(Logistic):
            def restored(self, observed):
                return observed

        # Values of -1 and 1 are restored, but not those of 0 and 1.
        (finding,) = sentences(check_loss(Wrong()))
        assert "the observed value 0 becomes -1 and then -1." in finding

    def test_shape_and_errors(self):
        class Shorter(Scaled):
            def restored(self, observed):
                return observed[1:]

        class Raises(Scaled):
            def restored(self, observed):
                raise RuntimeError("no.")

        assert sentences(check_loss(Shorter()))[0] == "restored turns values of shape (50,) into shape (49,)."
        assert "restored raised RuntimeError: no." in sentences(check_loss(Raises()))[0]


class TestLossArguments:
    def test_values_that_the_loss_refuses(self):
        refuses(ValueError, ["logistic loss takes"], lambda: check_loss("logistic", [3.0]))

    def test_values_must_be_given_where_none_of_the_usual_are_taken(self):
        class Picky(Own):
            def prepared(self, observed):
                if np.any(observed != 7):
                    raise ValueError("only 7.")
                return self, observed

        refuses(ValueError, ["observed must be given", "Picky"], lambda: check_loss(Picky()))
        assert check_loss(Picky(), [7, 7]).ok

    @pytest.mark.parametrize("observed", [[], [math.nan], [math.inf, 1.0]], ids=named)
    def test_values_that_are_none(self, observed):
        with pytest.raises(ValueError):
            check_loss(Square(), observed)

    def test_what_is_no_loss(self):
        with pytest.raises(TypeError, match="loss must be one of"):
            check_loss(object())
        with pytest.raises(ValueError, match="loss must be one of"):
            check_loss("sqare")


def test_a_report_is_read():
    assert str(Report("Mine", ())) == "Mine passes every check."
    assert str(Report("Mine", ("One is wrong.", "So is two."))) == "Mine does not pass:\n- One is wrong.\n- So is two."
