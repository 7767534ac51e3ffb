"""Each metric by hand, its properties, and its errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorfill.metrics import accuracy_limit, mae, psnr, relative_error, reliability, rmse


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


@given(st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_the_order_of_entries_does_not_matter_for_reliability(count, seed):
    rng = np.random.default_rng(seed)
    prediction, truth = rng.random(count).round(1), rng.integers(0, 2, count)
    found, order = reliability(prediction, truth), rng.permutation(count)
    other = reliability(prediction[order], truth[order])
    np.testing.assert_allclose(other.predicted, found.predicted)
    np.testing.assert_array_equal(other.counts, found.counts)
    np.testing.assert_allclose(other.low, found.low)


def test_the_interval_of_a_share_is_that_of_wilson():
    """Its ends are the shares whose distance from the observed one is just z standard errors."""
    found = reliability(np.full(40, 0.4), np.repeat([0, 1], [28, 12]))
    for end in (found.low[0], found.high[0]):
        assert abs(0.3 - end) == pytest.approx(1.6448536269514722 * math.sqrt(end * (1 - end) / 40))
    assert found.low[0] < 0.3 < found.high[0]
    never = reliability(np.full(40, 0.4), np.zeros(40))
    assert never.low[0] == 0
    assert 0 < never.high[0] < 0.1


class TestReliability:
    @given(st.integers(1, 300), st.integers(1, 12), st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 8]))
    def test_bins_are_in_order_hold_every_entry_and_have_equal_counts(self, count, bins, seed, digits):
        rng = np.random.default_rng(seed)
        prediction = rng.random(count).round(digits)
        truth = (rng.random(count) < prediction).astype(float)
        found = reliability(prediction, truth, bins=bins)
        assert 1 <= len(found) <= min(bins, max(count // 10, 1))
        assert found.counts.sum() == count
        assert np.all(np.diff(found.predicted) > 0)
        assert found.predicted @ found.counts == pytest.approx(prediction.sum())
        assert found.observed @ found.counts == pytest.approx(truth.sum())
        assert np.all((found.low >= 0) & (found.low <= found.observed))
        assert np.all((found.observed <= found.high) & (found.high <= 1))
        if len(np.unique(prediction)) == count:
            assert np.ptp(found.counts) <= 1

    def test_intervals_hold_the_probability_about_as_often_as_they_say(self):
        rng = np.random.default_rng(0)
        prediction = rng.random((400, 500))
        found = [reliability(each, rng.random(500) < each) for each in prediction]
        held = [np.mean((each.low <= each.predicted) & (each.predicted <= each.high)) for each in found]
        assert 0.88 < np.mean(held) < 0.93

    def test_what_is_no_probability_or_no_outcome_is_refused(self):
        with pytest.raises(ValueError, match=r"^prediction must be probabilities .* from -1 to 0\.5\.$"):
            reliability([-1.0, 0.5], [0, 1])
        with pytest.raises(ValueError, match=r"^truth must be 0 or 1 everywhere"):
            reliability([0.1, 0.5], [0, 2])
        with pytest.raises(ValueError, match=r"^bins must be"):
            reliability([0.1, 0.5], [0, 1], bins=0)
        with pytest.raises(ValueError, match=r"^share must be"):
            reliability([0.1, 0.5], [0, 1], share=1)
