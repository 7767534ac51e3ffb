"""The gaps of the data, moved: every form of gaps is held out in the same form."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tensorfill import Choice, Observations, complete
from tensorfill.choosing.holdout import gaps
from tensorfill.choosing.holdout.gaps import drawn, in_windows, moved, seen_and_missing, under_moved_gaps, window_of
from tensorfill.choosing.holdout.judge import Likeness, with_all_slices
from tensorfill.choosing.holdout.kinds import Holdout, make_holdout
from tensorfill.metrics import rmse


def observations(seen, values=None):
    return Observations.from_dense(np.ones(seen.shape) if values is None else values, seen)


def silent(rng, shape=(20, 300), share=0.25):
    """Return a mask of series with gaps of 2 to 30 steps, True where observed."""
    seen = np.ones(shape, dtype=bool)
    while (~seen).mean() < share:
        start = rng.integers(shape[1])
        seen[rng.integers(shape[0]), start : start + rng.integers(2, 31)] = False
    return seen


def treated(rng, shape=(46, 38), rows=8, late=13):
    """Return a mask in which some rows miss all late columns."""
    seen = np.ones(shape, dtype=bool)
    seen[rng.choice(shape[0], rows, replace=False), -late:] = False
    return seen


def text(rng, shape=(80, 100, 3)):
    """Return a mask with strokes of two pixels by several, missing in all colours."""
    seen = np.ones(shape, dtype=bool)
    for _ in range(60):
        row, column, length = rng.integers(shape[0]), rng.integers(shape[1]), rng.integers(5, 12)
        across = (2, length) if rng.random() < 0.5 else (length, 2)
        seen[row : row + across[0], column : column + across[1]] = False
    return seen


def last(rng):
    seen = np.ones((46, 38), dtype=bool)
    seen[38:, 25:] = False
    return seen


def late_in_some(rng):
    seen = np.ones((30, 20, 24), dtype=bool)
    seen[rng.choice(30, 9, replace=False), 12:] = False
    return seen


def running(rng):
    """Return a series with gaps of 6 to 20 months, laid out as years by months."""
    seen = np.ones(600, dtype=bool)
    for start in rng.integers(600, size=12):
        seen[start : start + rng.integers(6, 20)] = False
    return seen.reshape(50, 12)


PATTERNS = {
    "treated corner": treated,
    "treated rows that are the last": last,
    "one treated row": lambda rng: treated(rng, rows=1),
    "thirty treated rows": lambda rng: treated(rng, (200, 38), 30),
    "staggered starts": lambda rng: np.arange(40) >= rng.integers(0, 25, (60, 1)),
    "late periods of most rows": lambda rng: treated(rng, (60, 40), 25, 12),
    "late periods of a tensor": late_in_some,
    "fibres": lambda rng: np.repeat(rng.random((30, 25, 1)) < 0.6, 20, axis=2),
    "blocks": lambda rng: np.repeat(rng.random((12, 10, 10)) < 0.7, 24, axis=2),
    "series": silent,
    "text": text,
    "years by months": running,
}


def aucs(seen, how):
    """Return the AUC of single entries, and of what is held out."""
    data, rng = observations(seen), np.random.default_rng(0)
    judge, single = Likeness(data), Holdout((1,) * seen.ndim, seen.shape)
    return judge.auc(single.drawn(data, 0.1, rng)), judge.auc(how.drawn(data, 0.1, rng))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", PATTERNS)
def test_what_is_held_out_looks_like_what_is_missing(name, seed):
    seen = PATTERNS[name](np.random.default_rng(seed))
    single, found = aucs(seen, make_holdout("auto", observations(seen)))
    assert single > 0.8
    assert found < 0.7


def test_holes_below_a_diagonal_are_held_out_beside_it():
    """Nothing is missing in the same way elsewhere, but what is held out is nearer to it than single entries are."""
    seen = np.broadcast_to(np.arange(40)[:, None] >= np.arange(30), (20, 40, 30))
    how = make_holdout("auto", observations(seen))
    single, found = aucs(seen, how)
    assert how.gaps
    assert single > 0.97
    assert found < single - 0.05


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_random_entries_are_held_out_one_by_one(share):
    seen = np.random.default_rng(0).random((20, 25, 30)) > share
    how = make_holdout("auto", observations(seen))
    assert str(how) == "single entries"
    assert aucs(seen, how)[1] < 0.6


@pytest.mark.parametrize(("shape", "rows"), [((46, 38), 8), ((46, 38), 1), ((200, 38), 30)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_late_columns_of_several_other_rows_stand_for_a_treated_corner(shape, rows, seed):
    seen = treated(np.random.default_rng(seed), shape, rows)
    data = observations(seen)
    held_out = data.coords[make_holdout("auto", data).drawn(data, 0.1, np.random.default_rng(0))]
    assert held_out[:, 1].min() >= 25
    assert len(np.unique(held_out[:, 0])) >= 3
    assert seen[held_out[:, 0]].all()


def test_gaps_are_not_laid_upon_those_of_their_own_row():
    """Half of the rows miss their first half: under gaps that are shifted in time, these rows would lose the rest."""
    seen = np.ones((40, 40), dtype=bool)
    seen[::2, :20] = False
    data = observations(seen)
    held_out = make_holdout("auto", data).drawn(data, 0.1, np.random.default_rng(0))
    left = seen.copy()
    left[tuple(data.coords[held_out].T)] = False
    assert left.sum(axis=1).min() >= 15


@pytest.mark.parametrize("name", PATTERNS)
def test_every_slice_keeps_a_fitted_entry(name):
    seen = PATTERNS[name](np.random.default_rng(3))
    data = observations(seen)
    training, _ = make_holdout("auto", data).split(data, 0.1, np.random.default_rng(0))
    for mode in range(seen.ndim):
        np.testing.assert_array_equal(np.unique(training.coords[:, mode]), np.unique(data.coords[:, mode]))


def test_groups_stay_whole_where_slices_keep_an_entry():
    rng = np.random.default_rng(0)
    seen = np.repeat(rng.random((12, 10, 1)) < 0.15, 5, axis=2)
    data = observations(seen)
    fibres = data.group_numbers("fibre", 2)
    held_out = rng.random(fibres.max() + 1)[fibres] < 0.6
    after = with_all_slices(data, held_out, fibres)
    assert 0 < after.sum() < held_out.sum()
    assert not np.any(after & ~held_out)
    assert not set(fibres[after]) & set(fibres[~after])
    for mode in range(2):
        assert set(data.coords[:, mode]) == set(data.coords[~after, mode])


def test_slices_of_one_entry_are_not_held_out_unless_all_are():
    rng = np.random.default_rng(0)
    for _ in range(50):
        seen = rng.random((8, 7, 6)) < 0.08
        seen[0, 0, 0] = True
        data, before = observations(seen), rng.random(seen.sum()) < 0.5
        after = with_all_slices(data, before)
        assert not np.any(after & ~before)
        for mode in range(3):
            lost = set(data.coords[:, mode]) - set(data.coords[~after, mode])
            assert not lost or np.array_equal(after, before)
    diagonal = observations(np.eye(5, dtype=bool))
    some = np.array([True, False, False, True, False])
    np.testing.assert_array_equal(with_all_slices(diagonal, some), some)


@pytest.mark.parametrize("move", list(itertools.product(gaps.MOVES[:3], repeat=3)))
def test_a_moved_mask_has_the_indices_of_the_mask_in_another_order(move):
    mask = np.random.default_rng(0).random((5, 6, 7)) < 0.4
    other = moved(mask, move, np.random.default_rng(1))
    assert other.sum() == mask.sum()
    for mode, kind in enumerate(move):
        others = tuple(each for each in range(3) if each != mode)
        counts, before = other.sum(axis=others), mask.sum(axis=others)
        if kind == gaps.STAY:
            np.testing.assert_array_equal(counts, before)
        elif kind == gaps.SHIFT:
            assert any(np.array_equal(counts, np.roll(before, shift)) for shift in range(len(before)))
        np.testing.assert_array_equal(np.sort(counts), np.sort(before))


def test_a_mask_that_runs_on_is_shifted_as_one_series():
    series = np.random.default_rng(0).random((3, 20)) < 0.4
    other = moved(series.reshape(3, 5, 4), ("stay", "run", "run"), np.random.default_rng(1)).reshape(3, 20)
    assert any(np.array_equal(other, np.roll(series, shift, axis=1)) for shift in range(1, 20))


@pytest.mark.parametrize("seed", range(5))
def test_only_observed_entries_are_held_out_and_about_as_many_as_asked_for(seed):
    rng = np.random.default_rng(seed)
    seen, missing = seen_and_missing(observations(silent(rng, (30, 200))))
    held_out = under_moved_gaps(seen, missing, ("permute", "stay"), 500, rng)
    assert not np.any(held_out & ~seen)
    assert 250 <= held_out.sum() <= 625


def test_a_gap_that_is_too_small_is_moved_to_several_places():
    seen = treated(np.random.default_rng(0), rows=1)
    held_out = under_moved_gaps(
        *seen_and_missing(observations(seen)), ("permute", "stay"), 150, np.random.default_rng(0)
    )
    assert 75 <= held_out.sum() <= 190


def test_windows_hold_several_gaps_along_the_series_and_one_series_across():
    mask = np.zeros((50, 400), dtype=bool)
    for row in range(0, 50, 2):
        mask[row, 4 * row : 4 * row + 12] = True
    assert window_of(mask) == (1, pytest.approx(48, abs=1))
    assert window_of(np.random.default_rng(0).random((30, 20, 10)) < 0.3) == (1, 1, 1)


def test_windows_are_taken_as_a_whole():
    rng = np.random.default_rng(0)
    mask = rng.random((30, 40)) < 0.5
    part = in_windows(mask, (5, 8), 150, rng)
    for row, column in itertools.product(range(0, 30, 5), range(0, 40, 8)):
        inside = np.s_[row : row + 5, column : column + 8]
        assert not part[inside].any() or np.array_equal(part[inside], mask[inside])
    assert 100 < part.sum() <= 188


def test_groups_that_were_taken_before_come_last():
    rng = np.random.default_rng(0)
    again = np.where(np.arange(100) < 60, 5, 0)
    assert not drawn(np.full(100, 5), 150, rng, again)[:60].any()
    taken = drawn(np.full(100, 5), 300, rng, again)
    assert taken[60:].all()
    assert taken.sum() == 60


def test_slices_without_any_entry_do_not_count():
    seen = np.random.default_rng(0).random((30, 20, 10)) < 0.7
    seen[5:12] = False
    assert not seen_and_missing(observations(seen))[1][5:12].any()
    assert str(make_holdout("auto", observations(seen))) == "single entries"


def test_data_with_long_gaps_is_held_out_in_gaps_and_error_bars_hold():
    rng = np.random.default_rng(0)
    times = np.arange(300)
    waves = np.stack([np.sin(times / 5), np.cos(times / 11), np.sin(times / 3)], axis=1)
    truth = np.cumsum(rng.standard_normal((20, 300)), axis=1) / 6 + rng.standard_normal((20, 3)) @ waves.T
    seen = silent(rng)
    fit = complete(observations(seen, truth), rng=0)
    assert str(fit.recipe.holdout) == "gaps like those of the data"
    assert fit.resemblance < 0.6
    coords = np.argwhere(~seen)
    values, low, high = fit.predict(coords, interval=0.9)
    inside = (low <= truth[~seen]) & (truth[~seen] <= high)
    assert 0.82 < inside.mean() < 0.98
    assert 0.6 < fit.held_out_error / rmse(values, truth[~seen]) < 1.6


def test_they_can_be_asked_for():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((20, 15))
    assert make_holdout("gaps", observations(rng.random((20, 15)) < 0.7, values)).gaps
    assert Choice(holdout="gaps").holdout == "gaps"
    with pytest.raises(ValueError, match="holdout='gaps' needs gaps that can be moved, but there are none"):
        make_holdout("gaps", observations(np.ones((20, 15), dtype=bool), values))
    huge = Observations(np.array([[0, 0], [3, 10**9]]), np.ones(2), (4, 10**10))
    with pytest.raises(ValueError, match="holdout='gaps' needs a tensor of at most 16,777,216 cells"):
        make_holdout("gaps", huge)


# Times at which nothing is observed


def with_outages(rng, shape=(6, 400), outages=((60, 75), (200, 212), (300, 318))):
    """Return a mask of series with single missing entries, and with times at which all are silent."""
    seen = rng.random(shape) < 0.9
    for begin, end in outages:
        seen[:, begin:end] = False
    return seen


def lengths_of_runs(times):
    """Return the lengths of runs of times."""
    return np.array([len(run) for run in np.split(times, np.flatnonzero(np.diff(times) > 1) + 1)])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [(6, 400), (6, 20, 20)])
def test_outages_are_held_out_as_outages_and_in_proportion(seed, shape):
    rng = np.random.default_rng(seed)
    seen = with_outages(rng)
    data, over = observations(seen.reshape(shape)), tuple(range(1, len(shape)))
    how = make_holdout("auto", data, over=over)
    assert str(how).endswith(", and all entries of some times")
    held_out = np.zeros(seen.size, dtype=bool)
    held_out[data.positions] = how.drawn(data, 0.1, rng)
    held_out = held_out.reshape(seen.shape)
    whole = seen.any(axis=0) & (held_out == seen).all(axis=0)
    assert lengths_of_runs(np.flatnonzero(whole)).mean() > 6
    silent_share = np.mean(~seen.any(axis=0)) / np.mean(~seen)
    assert held_out[:, whole].sum() / held_out.sum() == pytest.approx(silent_share, abs=0.2)
    assert 0.05 < held_out.sum() / seen.sum() < 0.3


def test_a_single_series_has_nothing_but_outages():
    seen = with_outages(np.random.default_rng(0), (1, 400))
    data = observations(seen)
    how = make_holdout("auto", data, over=(1,))
    assert str(how) == "gaps like those of the data"
    held_out = how.drawn(data, 0.1, np.random.default_rng(0))
    assert 0.05 < held_out.mean() < 0.25
    assert make_holdout("gaps", data, over=(1,)) == how
    assert make_holdout("entry", data, over=(1,)).over == ()


@pytest.mark.parametrize("outages", [((0, 380),), ((10, 395),), tuple((at, at + 1) for at in range(0, 400, 2))])
def test_outages_may_be_most_of_the_times(outages):
    seen = np.ones((3, 400), dtype=bool)
    for begin, end in outages:
        seen[:, begin:end] = False
    data = observations(seen)
    how = make_holdout("auto", data, over=(1,))
    splits = [how.drawn(data, 0.1, np.random.default_rng(0))]
    for _ in range(4):
        splits.append(how.drawn(data, 0.1, np.random.default_rng(0), np.sum(splits, axis=0)))
    for held_out in splits:
        assert 0 < held_out.mean() <= 0.4


def test_a_series_that_is_observed_at_few_times_keeps_an_entry():
    seen = with_outages(np.random.default_rng(0))
    seen[2] = False
    seen[2, 250:252] = True
    data = observations(seen)
    how = make_holdout("auto", data, over=(1,))
    for seed in range(20):
        held_out = how.drawn(data, 0.2, np.random.default_rng(seed))
        assert np.any(~held_out & (data.coords[:, 0] == 2))


def with_a_common_course(seed, times=1600):
    """Return series that move together, with outages, and the truth."""
    rng = np.random.default_rng(seed)
    common = np.zeros(times)
    for t in range(1, times):
        common[t] = 0.9 * common[t - 1] + rng.standard_normal()
    truth = common + 0.3 * rng.standard_normal((6, times)) + np.arange(6)[:, None]
    return with_outages(rng, truth.shape, [(begin, begin + 8) for begin in range(40, times, 45)]), truth


def test_a_time_at_which_all_is_held_out_has_no_scale_of_its_own():
    seen, truth = with_a_common_course(0, 300)
    fit = complete(observations(seen, truth), time=1, method="seasonal_ar", smooth=None, rng=0)
    held_out = fit.error_bars.held_out
    alone = held_out.distances[:, 0] == 6
    assert alone.sum() > 20
    assert not np.isin(held_out.coords[alone, 1], held_out._indices[1]).any()
    assert np.isin(held_out.coords[~alone, 1], held_out._indices[1]).all()


@pytest.mark.slow
def test_bands_are_as_wide_in_an_outage_as_errors_are_there():
    inside = []
    for seed in (2, 3, 4, 5):
        seen, truth = with_a_common_course(seed)
        fit = complete(observations(seen, truth), time=1, method="seasonal_ar", rng=0)
        outage = ~seen.any(axis=0)
        _, low, high = fit.predict(np.argwhere(~seen & outage), interval=0.9)
        inside.append(np.mean((low <= truth[~seen & outage]) & (truth[~seen & outage] <= high)))
        _, lower, upper = fit.predict(np.argwhere(~seen & ~outage), interval=0.9)
        assert np.mean((lower <= truth[~seen & ~outage]) & (truth[~seen & ~outage] <= upper)) > 0.85
        assert np.mean(high - low) > 2 * np.mean(upper - lower)
    # Some ten events were held out in each.
    assert 0.82 < np.mean(inside) < 0.97
