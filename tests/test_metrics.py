"""Each metric by hand, its properties, and its errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill.metrics import accuracy_limit, mae, psnr, relative_error, rmse


def psnr_of_one(prediction, truth):
    return psnr(prediction, truth, peak=1.0)


METRICS = [rmse, mae, relative_error, psnr_of_one]
PREDICTION, TRUTH = np.array([[1.0, 2.0], [3.0, 0.0]]), np.array([[1.0, 0.0], [3.0, 4.0]])


def test_by_hand():
    assert rmse(PREDICTION, TRUTH) == pytest.approx(math.sqrt(5))
    assert mae(PREDICTION, TRUTH) == pytest.approx(1.5)
    assert relative_error(PREDICTION, TRUTH) == pytest.approx(math.sqrt(20 / 26))
    assert psnr(PREDICTION, TRUTH, peak=10) == pytest.approx(10 * math.log10(100 / 5))


@pytest.mark.parametrize("metric", METRICS)
def test_a_perfect_prediction(metric):
    assert metric(TRUTH, TRUTH) == (math.inf if metric is psnr_of_one else 0)


@pytest.mark.parametrize("metric", METRICS)
def test_lists_whole_numbers_and_float32_give_a_float(metric):
    expected = metric(PREDICTION, TRUTH)
    for kind in [np.ndarray.tolist, lambda a: a.astype(np.int8), lambda a: a.astype(np.float32)]:
        result = metric(kind(PREDICTION), kind(TRUTH))
        assert type(result) is float
        assert result == expected


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=1, max_size=20))
def test_mae_is_at_most_rmse(pairs):
    prediction, truth = np.array(pairs).T
    assert mae(prediction, truth) <= rmse(prediction, truth) * (1 + 1e-12) + 1e-150


def test_unsigned_bytes_do_not_wrap_around():
    assert mae(np.array([0], dtype=np.uint8), np.array([255], dtype=np.uint8)) == 255


@pytest.mark.parametrize("metric", METRICS)
class TestErrors:
    def test_shapes_differ(self, metric):
        with pytest.raises(
            ValueError, match=r"^prediction and truth must .* shape, but \(2,\) and \(1, 2\) were given\.$"
        ):
            metric([1.0, 2.0], [[1.0, 2.0]])

    def test_empty(self, metric):
        with pytest.raises(ValueError, match=r"at least one entry, but the shape is \(0, 3\)\.$"):
            metric(np.ones((0, 3)), np.ones((0, 3)))

    @pytest.mark.parametrize("bad", [math.nan, math.inf, np.ma.masked])
    def test_missing_entries(self, metric, bad):
        whole, holed = np.ones(3), np.ma.MaskedArray(np.ones(3))
        holed[1] = bad
        with pytest.raises(ValueError, match=r"^prediction must have no missing entries .* 1 of 3 are; select"):
            metric(holed, whole)
        with pytest.raises(ValueError, match=r"^truth must have no missing entries .* 1 of 3 are; select"):
            metric(whole, holed)

    def test_no_numbers(self, metric):
        with pytest.raises(TypeError, match=r"^truth must be an array of numbers, but a str was given\.$"):
            metric(1.0, "many")


def test_relative_to_nothing():
    with pytest.raises(ValueError, match="zero everywhere"):
        relative_error([1.0], [0.0])


@pytest.mark.parametrize("peak", [0, -1, math.inf])
def test_peak_out_of_range(peak):
    with pytest.raises(ValueError, match="peak must be a number above 0"):
        psnr([1.0], [1.0], peak)


def test_accuracy_limit():
    assert accuracy_limit(0.01, 5 * 600, 381_479) == pytest.approx(0.000887, abs=5e-7)
    assert accuracy_limit(0.01, 5 * 1200, 1_725_542) == pytest.approx(0.000590, abs=5e-7)
    assert accuracy_limit(0.0, 3, 10) == 0
    with pytest.raises(ValueError, match="observed must be a whole number of at least 1"):
        accuracy_limit(0.1, 3, 0)
    with pytest.raises(ValueError, match="noise must be a number of at least 0"):
        accuracy_limit(-0.1, 3, 1)
    with pytest.raises(TypeError, match="free_parameters must be a whole number"):
        accuracy_limit(0.1, 3.5, 1)


def test_accuracy_limit_is_what_least_squares_reaches():
    rng = np.random.default_rng(0)
    design = rng.normal(size=(2000, 50))
    truth = design @ rng.normal(size=50)
    observed = truth + 0.1 * rng.normal(size=2000)
    fitted = design @ np.linalg.lstsq(design, observed, rcond=None)[0]
    assert rmse(fitted, truth) == pytest.approx(accuracy_limit(0.1, 50, 2000), rel=0.25)
