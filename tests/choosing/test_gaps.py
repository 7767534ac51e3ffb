"""Gaps that hang together: recognised, and held out in the same form."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Choice, Observations, complete
from tensorfill.choosing.holdout.gaps import gaps_along, under_moved_gaps, window_of_gaps
from tensorfill.choosing.holdout.kinds import make_holdout
from tensorfill.metrics import rmse


def silent(rng, shape=(20, 300), share=0.25):
    """Return a mask of series with gaps of 2 to 30 steps, True where observed."""
    seen = np.ones(shape, dtype=bool)
    while (~seen).mean() < share:
        start = rng.integers(shape[1])
        seen[rng.integers(shape[0]), start : start + rng.integers(2, 31)] = False
    return seen


def observations(seen, values=None):
    return Observations.from_dense(np.ones(seen.shape) if values is None else values, seen)


def test_single_entries_do_not_hang_together():
    seen = np.random.default_rng(0).random((30, 20, 10)) < 0.7
    assert all(abs(gaps_along(observations(seen), mode).correlation) < 0.05 for mode in range(3))
    assert window_of_gaps(observations(seen)) is None


def test_the_length_of_gaps_is_found():
    seen = np.ones((50, 400), dtype=bool)
    for row in range(50):
        seen[row, row : row + 12] = seen[row, 200 + row : 212 + row] = False
    assert gaps_along(observations(seen), 1).length == pytest.approx(12, rel=0.05)


def test_whole_fibres_are_left_to_the_rule_for_fibres():
    seen = np.ones((30, 25, 3), dtype=bool)
    seen[np.random.default_rng(0).random((30, 25)) < 0.3] = False
    assert window_of_gaps(observations(seen)) is None
    assert str(make_holdout("auto", observations(seen))) == "whole fibres along mode 2"


def test_windows_span_several_gaps_along_the_series_and_one_series_across():
    window = window_of_gaps(observations(silent(np.random.default_rng(0))))
    assert window[0] == 1
    assert window[1] > 30


def test_held_out_entries_lie_as_the_missing_ones_do():
    rng = np.random.default_rng(0)
    seen = silent(rng, (40, 400))
    data = observations(seen)
    held_out = under_moved_gaps(data, window_of_gaps(data), 0.1, rng)
    assert 0.07 < held_out.mean() < 0.14
    after = data.select(~held_out)
    hidden = observations(~(seen & ~np.isin(np.arange(seen.size), after.positions).reshape(seen.shape)))
    # A window may cut a gap in two, and gaps that are there already shorten others.
    assert 0.6 < gaps_along(hidden, 1).length / gaps_along(data, 1).length < 1.4


def test_gaps_that_lie_in_all_directions_are_moved_along_all_modes():
    seen = np.ones((60, 70), dtype=bool)
    seen[10:18, 5:15] = seen[40:44, 30:50] = False
    data = observations(seen)
    held_out = under_moved_gaps(data, window_of_gaps(data), 0.5, np.random.default_rng(1))
    assert 0.5 < held_out.sum() / (~seen).sum() <= 1


def test_slices_without_any_entry_do_not_count():
    seen = np.random.default_rng(0).random((30, 20, 10)) < 0.7
    seen[5:12] = False
    assert abs(gaps_along(observations(seen), 0).correlation) < 0.1
    assert window_of_gaps(observations(seen)) is None


def test_data_with_long_gaps_is_held_out_in_gaps_and_error_bars_hold():
    rng = np.random.default_rng(0)
    times = np.arange(300)
    waves = np.stack([np.sin(times / 5), np.cos(times / 11), np.sin(times / 3)], axis=1)
    truth = np.cumsum(rng.standard_normal((20, 300)), axis=1) / 6 + rng.standard_normal((20, 3)) @ waves.T
    seen = silent(rng)
    fit = complete(observations(seen, truth), rng=0)
    assert str(fit.recipe.holdout) == "gaps like those of the data"
    coords = np.argwhere(~seen)
    values, low, high = fit.predict(coords, interval=0.9)
    inside = (low <= truth[~seen]) & (truth[~seen] <= high)
    assert 0.82 < inside.mean() < 0.98
    assert 0.6 < fit.held_out_error / rmse(values, truth[~seen]) < 1.6


def test_they_can_be_asked_for_and_are_refused_where_most_is_missing():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((20, 15))
    assert make_holdout("gaps", observations(rng.random((20, 15)) < 0.7, values)).gaps
    assert Choice(holdout="gaps").holdout == "gaps"
    with pytest.raises(ValueError, match=r"holdout='gaps' needs .* at most 50% missing, but 8\d% is; use 'auto'"):
        make_holdout("gaps", observations(rng.random((20, 15)) < 0.15, values))


def test_windows_are_four_times_as_long_as_gaps():
    seen = np.ones((50, 400), dtype=bool)
    for row in range(50):
        seen[row, row : row + 12] = seen[row, 200 + row : 212 + row] = False
    # Gaps of neighbouring rows overlap, so they hang together across rows too.
    rows, columns = window_of_gaps(observations(seen))
    assert columns == pytest.approx(48, abs=3)
    assert rows > 1


def test_gaps_are_moved_along_modes_in_which_they_do_not_hang_together():
    """Moved from one series to another, a gap keeps its place in time and its length."""
    seen = silent(np.random.default_rng(4), (30, 200), 0.2)
    data = observations(seen)
    window = window_of_gaps(data)
    assert window[0] == 1
    held_out = under_moved_gaps(data, window, 1.0, np.random.default_rng(0))
    hidden = np.zeros(seen.shape, dtype=bool)
    hidden.ravel()[data.positions[held_out]] = True
    shifts = [shift for shift in range(1, 30) if np.array_equal(hidden, np.roll(~seen, shift, axis=0) & seen)]
    assert len(shifts) == 1


@pytest.mark.parametrize(("missing", "is_gaps"), [(0.45, True), (0.55, False)])
def test_where_more_than_half_is_missing_gaps_are_not_moved(missing, is_gaps):
    seen = silent(np.random.default_rng(5), (30, 300), missing)
    assert (window_of_gaps(observations(seen)) is not None) is is_gaps


@pytest.mark.parametrize(("correlation", "together"), [(0.2, False), (0.4, True)])
def test_neighbours_hang_together_from_a_correlation_of_three_tenths_on(correlation, together):
    """An entry is missing if its neighbour is, unless it is drawn anew, so the correlation is the share that is not."""
    rng = np.random.default_rng(6)
    missing = rng.random((60, 200)) < 0.3
    as_before = rng.random(missing.shape) < correlation
    for place in range(1, 200):
        missing[:, place] = np.where(as_before[:, place], missing[:, place - 1], missing[:, place])
    assert gaps_along(observations(~missing), 1).correlation == pytest.approx(correlation, abs=0.03)
    assert (window_of_gaps(observations(~missing)) is not None) is together
