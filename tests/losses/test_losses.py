"""What every loss must do, whoever wrote it; then points computed by hand, allowed values, and error messages."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill.losses import LOSSES, Huber, Logistic, Loss, Poisson, Square, error, make_loss, prepare, restore
from tests.naming import named

from ..refusal import refuses


@dataclasses.dataclass(frozen=True)
class LogCosh:
    """A user's own loss, log cosh(x - o), with only the three parts of the protocol."""

    curvature = 1.0

    def value(self, prediction, observed):
        difference = np.abs(prediction - observed)
        return difference + np.log1p(np.exp(-2 * difference)) - np.log1p(np.ones_like(difference))

    def derivative(self, prediction, observed):
        return np.tanh(prediction - observed)


NUMBERS = st.floats(-100, 100)
COUNTS = st.integers(0, 50).map(float) | st.floats(0, 50)
SIGNS = st.sampled_from([-1.0, 1.0])
# The observed values that a loss allows, and the best prediction for one of them, if there is one. A loss that is not
# listed allows any number, which is its own best prediction.
TAKES = {
    "logistic": (SIGNS, None),
    "poisson": (COUNTS, lambda o: math.log(o) if o > 0 else None),
}
ANY_NUMBER = (NUMBERS, lambda o: o)
LARGEST = np.array([0.0, 1.0, 50.0])
CASES = [
    *(
        (prepare(make_loss(name), LARGEST[:2] if name == "logistic" else LARGEST)[0], *TAKES.get(name, ANY_NUMBER))
        for name in LOSSES
    ),
    (Huber(delta=0.01), NUMBERS, lambda o: o),
    # The limit is below the logarithm of the largest counts, so their best score is on the parabola.
    (Poisson(limit=2.0), COUNTS, lambda o: None),
    (LogCosh(), NUMBERS, lambda o: o),
]


@pytest.mark.parametrize(("loss", "values", "best"), CASES, ids=[repr(case[0]) for case in CASES])
class TestContract:
    def test_has_the_parts_of_the_protocol(self, loss, values, best):
        assert isinstance(loss, Loss)
        assert math.isfinite(loss.curvature)

    @settings(max_examples=100, deadline=None)
    @given(data=st.data(), x=NUMBERS)
    def test_derivative_agrees_with_finite_differences(self, loss, values, best, data, x):
        o = data.draw(values)
        step = 1e-5
        at = np.array([x - step, x + step])
        below, above = loss.value(at, np.array([o, o]))
        derivative = loss.derivative(np.array([x]), np.array([o]))[0]
        # The second derivative may jump between the two points.
        allowed = 1e-6 + 0.5 * step * loss.curvature
        assert (above - below) / (2 * step) == pytest.approx(derivative, rel=1e-6, abs=allowed)

    @settings(max_examples=100, deadline=None)
    @given(data=st.data(), x=NUMBERS, y=NUMBERS)
    def test_curvature_bounds_the_change_of_the_derivative(self, loss, values, best, data, x, y):
        o = data.draw(values)
        slopes = loss.derivative(np.array([x, y]), np.array([o, o]))
        assert abs(slopes[0] - slopes[1]) <= loss.curvature * abs(x - y) * (1 + 1e-12) + 1e-12

    @settings(max_examples=100, deadline=None)
    @given(data=st.data(), x=NUMBERS, y=NUMBERS)
    def test_the_parabola_of_a_proximal_gradient_step_lies_above(self, loss, values, best, data, x, y):
        o = data.draw(values)
        here, there = loss.value(np.array([x, y]), np.array([o, o]))
        slope = loss.derivative(np.array([x]), np.array([o]))[0]
        parabola = here + slope * (y - x) + 0.5 * loss.curvature * (y - x) ** 2
        assert there <= parabola + 1e-9 * max(1.0, abs(parabola), (y - x) ** 2)

    @settings(max_examples=100, deadline=None)
    @given(data=st.data(), x=NUMBERS)
    def test_is_never_negative(self, loss, values, best, data, x):
        assert loss.value(np.array([x]), np.array([data.draw(values)]))[0] >= 0

    @settings(max_examples=100, deadline=None)
    @given(data=st.data(), x=NUMBERS)
    def test_is_zero_where_it_is_least(self, loss, values, best, data, x):
        o = data.draw(values)
        at = best(o) if best is not None else None
        if at is None:
            return
        observed = np.array([o])
        assert loss.value(np.array([at]), observed)[0] == pytest.approx(0, abs=1e-12)
        assert loss.derivative(np.array([at]), observed)[0] == pytest.approx(0, abs=1e-13 * max(1.0, abs(o)))
        assert loss.derivative(np.array([x]), observed)[0] * (x - at) >= 0

    @settings(max_examples=50, deadline=None)
    @given(data=st.data(), score=st.sampled_from([1e3, 1e4, 1e8]))
    def test_large_predictions_stay_finite(self, loss, values, best, data, score):
        o = data.draw(values)
        for dtype in [np.float64, np.float32]:
            x = np.array([-score, score], dtype=dtype)
            observed = np.array([o, o], dtype=dtype)
            assert np.all(np.isfinite(loss.value(x, observed)))
            assert np.all(np.isfinite(loss.derivative(x, observed)))

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("shape", [(0,), (7,), (2, 3, 4)])
    def test_shape_and_dtype_are_kept_and_nothing_is_written(self, loss, values, best, dtype, shape):
        rng = np.random.default_rng(0)
        x = rng.normal(size=shape).astype(dtype)
        # Ones and zeros, which every loss can evaluate.
        o = rng.integers(2, size=shape).astype(dtype)
        before = x.copy(), o.copy()
        wide = x.astype(np.float64), o.astype(np.float64)
        for function in [loss.value, loss.derivative]:
            result = function(x, o)
            assert result.shape == shape
            assert result.dtype == dtype
            np.testing.assert_allclose(result, function(*wide), rtol=1e-5, atol=1e-5)
        assert np.array_equal(x, before[0])
        assert np.array_equal(o, before[1])

    def test_mean_keeps_shape_and_dtype(self, loss, values, best):
        mean = getattr(loss, "mean", None)
        if mean is None:
            return
        for dtype in [np.float32, np.float64]:
            result = mean(np.zeros((2, 3), dtype=dtype))
            assert result.shape == (2, 3)
            assert result.dtype == dtype


def test_square_by_hand():
    x, o = np.array([3.0, -1.0, 2.0]), np.array([1.0, 1.0, 2.0])
    np.testing.assert_array_equal(Square().value(x, o), [2, 2, 0])
    np.testing.assert_array_equal(Square().derivative(x, o), [2, -2, 0])
    assert Square().curvature == 1.0


def test_huber_by_hand():
    x, o = np.array([1.0, 5.0, -5.0, 2.0]), np.zeros(4)
    np.testing.assert_array_equal(Huber(2.0).value(x, o), [0.5, 8, 8, 2])
    np.testing.assert_array_equal(Huber(2.0).derivative(x, o), [1, 2, -2, 2])
    assert Huber() == Huber(1.345)


class TestLogistic:
    def test_by_hand(self):
        x, o = np.array([0.0, 2.0, 2.0]), np.array([1.0, 1.0, -1.0])
        expected = [math.log(2), math.log(1 + math.exp(-2)), math.log(1 + math.exp(2))]
        np.testing.assert_allclose(Logistic().value(x, o), expected, rtol=1e-14)
        np.testing.assert_allclose(
            Logistic().derivative(x, o), [-0.5, -1 / (1 + math.exp(2)), 1 / (1 + math.exp(-2))], rtol=1e-14
        )
        assert Logistic().curvature == 0.25

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("score", [1e3, 1e4])
    def test_large_scores(self, dtype, score):
        x, o = np.array([score, -score, score, -score], dtype=dtype), np.array([1, 1, -1, -1], dtype=dtype)
        np.testing.assert_array_equal(Logistic().value(x, o), [0, score, score, 0])
        np.testing.assert_array_equal(Logistic().derivative(x, o), [0, -1, 1, 0])

    @pytest.mark.parametrize("low", [-1.0, 0.0])
    def test_mean_is_the_expected_observation(self, low):
        scores = np.array([-1e4, math.log(1 / 3), 0.0, math.log(3), 1e4])
        loss = Logistic(low=low)
        np.testing.assert_allclose(loss.probability(scores), [0, 0.25, 0.5, 0.75, 1], rtol=1e-14)
        np.testing.assert_allclose(loss.mean(scores), low + (1 - low) * loss.probability(scores), rtol=1e-14)
        assert loss.mean(scores.astype(np.float32)).dtype == np.float32

    @pytest.mark.parametrize(
        ("given", "encoded", "low"),
        [
            ([-1.0, 1.0, 1.0], [-1, 1, 1], -1),
            ([0.0, 1.0, 1.0], [-1, 1, 1], 0),
            ([1.0, 1.0], [1, 1], -1),
            ([0.0, 0.0], [-1, -1], 0),
            ([-1.0, -1.0], [-1, -1], -1),
            ([True, False], [1, -1], 0),
            # Booleans are 0 and 1, even if none of them is 0.
            ([True, True], [1, 1], 0),
            ([0, 1], [-1, 1], 0),
            ([], [], -1),
        ],
        ids=named,
    )
    def test_what_it_allows_and_restores(self, given, encoded, low):
        loss, values = prepare(Logistic(), np.array(given))
        assert loss == Logistic(low=low)
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values, encoded)
        np.testing.assert_array_equal(restore(loss, values), np.array(given, dtype=float))
        # Also values that the data do not have.
        np.testing.assert_array_equal(restore(loss, np.array([-1.0, 1.0])), [low, 1])

    @pytest.mark.parametrize("given", [[-1.0, 1.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0]], ids=named)
    def test_preparing_twice_changes_nothing(self, given):
        loss, values = prepare(Logistic(), np.array(given))
        again, same = prepare(loss, values)
        assert again == loss
        np.testing.assert_array_equal(same, values)

    def test_minus_and_plus_one_need_no_setting(self):
        assert Logistic() == prepare(Logistic(), np.array([-1.0, 1.0]))[0]
        assert Logistic() != prepare(Logistic(), np.array([0.0, 1.0]))[0]

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("low", [-1, 0])
    def test_restored_keeps_shape_and_dtype_and_nan(self, dtype, low):
        observed = np.array([[-1, 1], [1, np.nan]], dtype=dtype)
        before = observed.copy()
        restored = Logistic(low).restored(observed)
        assert restored.dtype == dtype
        np.testing.assert_array_equal(restored, np.array([[low, 1], [1, np.nan]]))
        np.testing.assert_array_equal(observed, before)

    @pytest.mark.parametrize("low", [1, -2, 0.5])
    def test_low_out_of_range(self, low):
        refuses(ValueError, ["low of 'logistic' must be -1 or 0", f"{low} was given"], lambda: Logistic(low))

    def test_float32_stays_and_what_was_given_is_not_written(self):
        given = np.array([0, 1], dtype=np.float32)
        assert prepare(Logistic(), given)[1].dtype == np.float32
        np.testing.assert_array_equal(given, [0, 1])

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            ([1.0, 2.0], "are 1, 2;"),
            ([-1.0, 0.0, 1.0], "are -1, 0, 1;"),
            ([0.5], "are 0.5;"),
            ([math.nan, 1.0], "are 1, nan;"),
            (list(range(9)), "are 0, 1, 2, 3, 5 more;"),
        ],
        ids=named,
    )
    def test_what_it_refuses(self, values, words):
        refuses(ValueError, ["logistic", "-1 or 1", "0 or 1", words], lambda: prepare(Logistic(), np.array(values)))


class TestPoisson:
    def test_by_hand(self):
        x, o = np.array([0.0, 1.0, 2.0]), np.array([0.0, 3.0, 1.0])
        loss = Poisson(limit=5.0)
        expected = [1, math.e - 3 + 3 * math.log(3) - 3, math.exp(2) - 2 - 1]
        np.testing.assert_allclose(loss.value(x, o), expected, rtol=1e-14)
        np.testing.assert_allclose(loss.derivative(x, o), [1, math.e - 3, math.exp(2) - 1], rtol=1e-14)
        assert loss.curvature == pytest.approx(math.exp(5))

    def test_above_the_limit_by_hand(self):
        x, o = np.array([1.0, 3.0]), np.zeros(2)
        np.testing.assert_allclose(Poisson(limit=1.0).value(x, o), [math.e, 5 * math.e], rtol=1e-14)
        np.testing.assert_allclose(Poisson(limit=1.0).derivative(x, o), [math.e, 3 * math.e], rtol=1e-14)

    @settings(max_examples=100, deadline=None)
    @given(o=st.floats(0, 1e6), limit=st.floats(-3, 10))
    def test_is_zero_where_it_is_least_for_any_count_and_limit(self, o, limit):
        loss = Poisson(limit=limit)
        steepest = math.exp(limit)
        best = limit + o / steepest - 1 if o > steepest else math.log(o) if o > 0 else -1e3
        value = loss.value(np.array([best]), np.array([o]))[0]
        assert 0 <= value <= 1e-10 * max(1.0, o * abs(best))

    def test_small_differences_between_large_counts_keep_their_digits(self):
        o, u = 1e9, 1e-3
        expected = o * (u**2 / 2 + u**3 / 6 + u**4 / 24)
        value = Poisson(limit=25.0).value(np.array([math.log(o) + u]), np.array([o]))[0]
        assert value == pytest.approx(expected, rel=1e-9)

    def test_mean_is_the_rate(self):
        np.testing.assert_allclose(Poisson(limit=1.0).mean(np.array([0.0, math.log(9)])), [1, 9], rtol=1e-14)

    @pytest.mark.parametrize(
        ("counts", "curvature"), [([0, 3, 10], 20), ([0, 0], 2), ([0.25], 2), ([], 2), ([True, False], 2)], ids=named
    )
    def test_its_limit_comes_from_the_counts(self, counts, curvature):
        assert Poisson().curvature == math.inf
        loss, values = prepare(Poisson(), np.array(counts))
        assert loss.curvature == pytest.approx(curvature)
        np.testing.assert_array_equal(values, counts)
        assert prepare(loss, values)[0] is loss

    def test_a_limit_that_is_given_stays(self):
        assert prepare(Poisson(limit=4.0), np.array([3.0]))[0] == Poisson(limit=4.0)
        assert prepare(Poisson(limit=math.log(7.0)), np.array([7.0], dtype=np.float32))[0].limit == math.log(7.0)

    def test_float32_stays(self):
        given = np.array([0, 1], dtype=np.float32)
        assert prepare(Poisson(), given)[1].dtype == np.float32

    def test_without_a_limit_it_is_exp_everywhere(self):
        x, o = np.array([-2.0, 30.0]), np.array([1.0, 2.0])
        np.testing.assert_allclose(Poisson().value(x, o), Poisson(limit=40.0).value(x, o), rtol=1e-14)
        np.testing.assert_allclose(Poisson().derivative(x, o), Poisson(limit=40.0).derivative(x, o), rtol=1e-14)

    @pytest.mark.parametrize(("value", "words"), [(-1.0, "are -1;"), (1e40, "are 1e+40;"), (math.nan, "are nan;")])
    def test_what_it_refuses(self, value, words):
        refuses(ValueError, ["Poisson", "counts", words], lambda: prepare(Poisson(), np.array([value, 2.0])))

    def test_a_limit_below_the_largest_count(self):
        words = ["limit of 'poisson'", "at least", "2.30259", "1 was given", "leave it out"]
        refuses(ValueError, words, lambda: prepare(Poisson(limit=1.0), np.array([10.0])))


def test_losses_without_the_optional_methods_change_nothing():
    observed = np.array([3.0, -7.0])
    for loss in [Square(), Huber(), LogCosh()]:
        prepared, values = prepare(loss, observed)
        assert prepared is loss
        assert values is observed
        assert restore(loss, values) is observed


def test_every_loss_that_is_registered_restores_what_it_prepared():
    for name in LOSSES:
        given = np.array([1.0, 0.0, 1.0])
        loss, values = prepare(make_loss(name), given)
        np.testing.assert_array_equal(restore(loss, values), given)


def test_error_is_the_root_of_twice_the_mean_loss():
    x, o = np.array([1.0, 5.0]), np.zeros(2)
    assert error(Square(), x, o) == pytest.approx(math.sqrt(13))
    assert error(Huber(2.0), x, o) == pytest.approx(math.sqrt(8.5))
    assert type(error(Square(), x.astype(np.float32), o.astype(np.float32))) is float


def test_settings_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Square().scale = 2.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        Huber().delta = 2.0


@pytest.mark.parametrize("delta", [0, -1, math.nan, math.inf])
def test_delta_out_of_range(delta):
    refuses(ValueError, ["delta of 'huber'", "above 0", f"{delta}"], lambda: Huber(delta))


@pytest.mark.parametrize("limit", [81, math.inf, math.nan])
def test_limit_out_of_range(limit):
    refuses(ValueError, ["limit of 'poisson'", "at most 80", f"{limit}"], lambda: Poisson(limit))


def test_by_name_and_own_object():
    own = LogCosh()
    assert make_loss("square") == Square()
    assert make_loss("huber") == Huber()
    assert make_loss("logistic") == Logistic()
    assert make_loss("poisson") == Poisson()
    assert make_loss(own) is own


def test_unknown_name():
    with pytest.raises(ValueError, match=r"^loss must be one of 'square'.*, but 'sqare' was given\.$"):
        make_loss("sqare")


@pytest.mark.parametrize("wrong", [None, 2, Square, object()], ids=named)
def test_anything_else(wrong):
    with pytest.raises(TypeError, match=r"^loss must be one of 'square'.*curvature.*value.*derivative.* was given\.$"):
        make_loss(wrong)
