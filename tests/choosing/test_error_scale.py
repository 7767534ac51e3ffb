"""The usual size of errors, by its formulas; and that no error is scaled by what it was itself fitted to."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Choice, Observations, complete
from tensorfill.choosing.error_bars import ErrorBars, SliceErrors
from tensorfill.choosing.error_scale import ErrorScale, Groups
from tensorfill.choosing.holdout.held_out import HeldOut
from tensorfill.models.slices import Empty

SHAPE = (40, 30)


def bars_of(errors, coords, predictions, weights=None):
    seen = np.unique(coords, axis=0)
    around = Observations(seen, np.ones(len(seen)), SHAPE)
    held_out = HeldOut(coords, predictions + errors, predictions, np.ones_like(coords), around)
    return ErrorBars(np.abs(errors), weights, held_out=held_out)


def uneven(seed=0, count=800):
    """Return errors that are ten times larger in the first rows, with their coordinates and predictions."""
    rng = np.random.default_rng(seed)
    coords = np.stack([rng.integers(size, size=count) for size in SHAPE], axis=1)
    return rng.standard_normal(count) * np.where(coords[:, 0] < 8, 10.0, 1.0), coords, rng.uniform(1, 100, count)


# Cross-fitting


def test_no_error_is_scaled_by_a_fit_to_its_own_half():
    """Other errors in one half change the scale of the other half, and not their own."""
    errors, coords, predictions = uneven()
    bars = bars_of(errors, coords, predictions)
    assert bars.depends_on
    first = bars._half == 0
    changed = bars_of(np.where(first & (coords[:, 0] < 20), 7 * errors, errors), coords, predictions)
    np.testing.assert_array_equal(changed._half, bars._half)
    np.testing.assert_array_equal(changed._own_scale[first], bars._own_scale[first])
    assert not np.allclose(changed._own_scale[~first], bars._own_scale[~first], rtol=0.2)


def test_errors_are_moved_by_the_scale_that_they_were_divided_by():
    """At a held-out entry, an error of its own half is divided and multiplied by the same number."""
    errors, coords, predictions = uneven()
    bars = bars_of(errors, coords, predictions)
    first, second = bars._scales_at(coords, predictions)
    np.testing.assert_allclose(bars._own_scale, np.where(bars._half == 0, second, first))
    drawn = bars.drawn(np.repeat(coords[:1], 4000, axis=0), np.repeat(predictions[:1], 4000), np.random.default_rng(0))
    usual = np.sqrt(first[0] * second[0])
    assert np.mean(np.abs(drawn)) == pytest.approx(usual * np.mean(np.abs(errors) / bars._own_scale), rel=0.1)


def test_halves_are_equal_and_random():
    errors, coords, predictions = uneven(count=801)
    half = bars_of(errors, coords, predictions)._half
    assert abs(2 * half.sum() - 801) == 1
    assert abs(np.corrcoef(half, np.arange(801))[0, 1]) < 0.1


# The formula


def test_a_factor_is_the_weighted_mean_shrunk_half_way_to_one_by_ten_errors():
    group = np.repeat([0, 1, 2], [10, 40, 50])
    errors = np.repeat([4.0, 1.0, 0.5], [10, 40, 50])
    weights = np.repeat([1.0, 2.0, 0.5], [10, 40, 50])
    scale = ErrorScale.fitted(Groups({"g": group}, {"g": 4}), errors, weights, ["g"])
    base = weights @ errors / weights.sum()
    assert scale.base == pytest.approx(base)
    expected = [(n * each / base + 10) / (n + 10) for n, each in ((10, 4.0), (80, 1.0), (25, 0.5))]
    # A group without any error has the usual size.
    np.testing.assert_allclose(scale.factors["g"], [*expected, 1.0])
    assert expected[0] - 1 == pytest.approx((4.0 / base - 1) / 2)


def test_no_factor_exceeds_thirty_nor_its_inverse():
    group = np.repeat([0, 1, 2], [1000, 1000, 40_000])
    errors = np.repeat([1e5, 1e-5, 1.0], [1000, 1000, 40_000])
    scale = ErrorScale.fitted(Groups({"g": group}, {"g": 3}), errors, np.ones(42_000), ["g"])
    assert scale.factors["g"].max() == pytest.approx(30.0)
    assert scale.factors["g"].min() == pytest.approx(1 / 30.0)


def test_groups_that_do_not_matter_are_rarely_used():
    """Each of ten groupings in halves explains some error by chance, but seldom by two standard errors."""
    used = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        of = {f"g{number}": rng.integers(2, size=600) for number in range(10)}
        groups = Groups(of, dict.fromkeys(of, 2))
        used += len(ErrorScale.chosen(groups, rng.exponential(size=600), np.ones(600), rng).names)
    assert used <= 8


@pytest.mark.parametrize(("ratio", "is_used"), [(1.0, False), (3.0, True)])
def test_a_group_that_matters_is_used(ratio, is_used):
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=1000)
    errors = rng.exponential(size=1000) * np.where(group == 1, ratio, 1.0)
    groups = Groups({"g": group, "other": rng.integers(3, size=1000)}, {"g": 2, "other": 3})
    assert ("g" in ErrorScale.chosen(groups, errors, np.ones(1000), rng).names) is is_used


def test_with_fewer_than_a_hundred_errors_there_is_one_scale():
    rng = np.random.default_rng(0)
    for count, is_used in ((99, False), (100, True)):
        group = np.arange(count) % 2
        errors = np.where(group == 1, 20.0, 1.0) * rng.uniform(0.5, 1.5, count)
        found = ErrorScale.chosen(Groups({"g": group}, {"g": 2}), errors, np.ones(count), rng)
        assert bool(found.names) is is_used


# Weights


def test_weights_count_in_scales_and_in_widths():
    """Heavy entries stand for more missing ones: where they have large errors, intervals are wide."""
    errors, coords, predictions = uneven()
    coords[:, 0] = np.where(coords[:, 0] < 8, coords[:, 0] + 8, coords[:, 0])
    heavy = np.where(np.abs(errors) > 5, 4.0, 1.0)
    plain, weighted = (bars_of(errors, coords, predictions, each) for each in (None, heavy / heavy.mean()))
    for one, other in zip(plain._scales, weighted._scales, strict=True):
        assert other.base > 1.3 * one.base
    assert weighted.half_width(0.9) > 1.2 * plain.half_width(0.9)


def rows_with_noise(seed=0):
    """Return a table of rank one of which most is missing where noise is large, and the same with holes."""
    rng = np.random.default_rng(seed)
    loud = np.arange(120) < 60
    truth = np.outer(np.linspace(5, 6, 120), np.linspace(1, 2, 50))
    data = truth + np.where(loud, 1.5, 0.3)[:, None] * rng.standard_normal(truth.shape)
    return data, np.where(rng.random(truth.shape) < np.where(loud, 0.3, 0.9)[:, None], data, np.nan), loud


def test_the_error_bars_of_a_fit_have_the_weights_of_missing_entries():
    data, holes, loud = rows_with_noise()
    fit = complete(
        holes, method="cp", rank=1, choose=Choice(validation=0.2, holdout="entry"), smooth=None, centre=False, rng=0
    )
    bars, missing = fit.error_bars, np.isnan(holes)
    among_missing = np.mean(loud[np.nonzero(missing)[0]])
    among_held_out = loud[bars.held_out.coords[:, 0]]
    assert among_missing > among_held_out.mean() + 0.4
    assert bars.weights.mean() == pytest.approx(1.0)
    assert np.average(among_held_out, weights=bars.weights) == pytest.approx(among_missing, abs=0.06)
    inside = np.abs(fit.predict(np.argwhere(missing)) - data[missing]) <= bars.half_width(0.9)
    assert 0.85 < inside.mean() < 0.95
    assert np.mean(np.abs(fit.predict(np.argwhere(missing)) - data[missing]) <= np.quantile(bars.residuals, 0.9)) < 0.8


# Quantiles


def test_a_new_entry_counts_with_the_mean_weight():
    """Of 9 errors and a new one, 0.8 is the share of eight; of 8 it would be that of seven and a fifth."""
    residuals = np.arange(1.0, 10.0)
    assert ErrorBars(residuals).half_width(0.8) == 8.0
    assert ErrorBars(residuals).half_width(0.81) == 9.0
    # The largest error has the weight of five: it is above half of what counts.
    weights = np.array([1.0] * 8 + [5.0])
    assert ErrorBars(residuals, weights / weights.mean()).half_width(0.5) == 8.0
    assert ErrorBars(residuals, weights / weights.mean()).half_width(0.6) == 9.0


@pytest.mark.parametrize(("slices", "share", "rank"), [(9, 0.5, 0.5556), (9, 0.9, 1.0), (19, 0.9, 0.9474)])
def test_a_new_slice_is_one_more_slice(slices, share, rank):
    residuals = np.random.default_rng(0).exponential(size=10_000)
    found = SliceErrors(0, Empty(5, np.array([0, 1, 2, 4]), True), residuals, slices).half_width(share)
    assert found == pytest.approx(np.quantile(residuals, rank), rel=0.01)
    assert np.isinf(
        SliceErrors(0, Empty(5, np.array([0, 1, 2, 4]), True), residuals, slices).half_width(slices / (slices + 0.9))
    )


# What errors may depend on


def test_distances_are_grouped_by_powers_of_two():
    far = np.array([1, 2, 3, 4, 5, 8, 9, 16, 17, 64, 65, 128, 129, 10_000])
    coords = np.zeros((len(far), 2), dtype=np.int64)
    around = Observations(np.array([[0, 0]]), np.ones(1), SHAPE)
    held_out = HeldOut(coords, np.ones(len(far)), np.ones(len(far)), np.stack([far, far], axis=1), around)
    groups = held_out.groups()
    assert groups.of["distance 1"].tolist() == [0, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 7, 7, 7]
    assert groups.sizes["distance 1"] == 8


@pytest.mark.parametrize(("count", "bins"), [(49, 1), (120, 2), (999, 19), (5000, 20)])
def test_predictions_are_grouped_with_fifty_entries_or_more_in_each(count, bins):
    predictions = np.random.default_rng(0).permutation(count).astype(float)
    around = Observations(np.array([[0, 0]]), np.ones(1), SHAPE)
    held_out = HeldOut(np.zeros((count, 2), dtype=np.int64), predictions, predictions, None, around)
    group = held_out.groups().of["prediction"]
    sizes = np.bincount(group)
    assert len(sizes) == bins
    assert sizes.min() >= min(count, 50)
    assert sizes.max() - sizes.min() <= 1
    # Larger predictions are in later groups.
    assert (np.diff(group[np.argsort(predictions)]) >= 0).all()


def test_an_entry_in_two_empty_slices_has_no_interval():
    """Whole slices were held out along each mode alone, and nothing like an entry in two empty ones."""
    slices = [SliceErrors(mode, Empty(5, np.array([0, 1, 2, 4]), True), np.arange(1.0, 100.0), 50) for mode in (0, 1)]
    bars = ErrorBars(np.ones(50), slices=slices)
    half = bars.half_widths(np.array([[0, 0], [3, 0], [0, 3], [3, 3]]), 0.8)
    assert half[0] == 1.0
    assert half[1] == half[2] > 70
    assert np.isinf(half[3])


def test_groups_of_single_errors_are_not_used():
    """A group for every error explains all of them, but none that it was not fitted to."""
    rng = np.random.default_rng(0)
    single = np.arange(400) // 2
    found = ErrorScale.chosen(Groups({"g": single}, {"g": 200}), rng.exponential(size=400) ** 3, np.ones(400), rng)
    assert found.names == ()


def test_groupings_that_overlap_share_what_they_explain():
    """Most rows of one group are in one column group too: one sweep would give the second too little."""
    rng = np.random.default_rng(0)
    one = rng.integers(2, size=20_000)
    two = np.where(rng.random(20_000) < 0.9, one, 1 - one)
    sizes = np.where(one == 1, 2.0, 1.0) * np.where(two == 1, 5.0, 1.0)
    groups = Groups({"one": one, "two": two}, {"one": 2, "two": 2})
    scale = ErrorScale.fitted(groups, sizes, np.ones(20_000), ["one", "two"])
    ratios = [factor[1] / factor[0] for factor in scale.factors.values()]
    assert ratios[0] < 3.5
    np.testing.assert_allclose(np.prod(ratios), 10.0, rtol=0.15)
