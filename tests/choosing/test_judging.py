"""Corrupt entries are named, sound ones are not, and `filled` replaces only the former."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Observations, complete
from tensorfill._support.clock import Clock, TimeUp
from tensorfill.choosing import judging
from tensorfill.choosing.corrupt import Watch
from tensorfill.choosing.judging import ByLowRank, ByNeighbours, corrupt_entries, limit_of
from tensorfill.choosing.neighbours import Neighbourhood, bounded_mean, ordered_modes
from tensorfill.methods.base import Stopped
from tests.slow import slow_except


def low_rank(share, missing=0.3, noise=0.05, seed=0, shape=(14, 13, 12)):
    """Return a tensor of two terms with noise, with holes, and which of its entries are corrupt."""
    rng = np.random.default_rng(seed)
    truth = np.einsum("ir,jr,kr->ijk", *(rng.standard_normal((size, 2)) for size in shape))
    truth += noise * rng.standard_normal(shape)
    bad = rng.random(shape) < share
    dirty = np.where(bad, truth + rng.choice([-1, 1], shape) * rng.uniform(3, 9, shape), truth)
    hole = rng.random(shape) < missing
    return np.where(hole, np.nan, dirty), bad & ~hole


def scene(share, seed=0, shape=(20, 18, 3, 10)):
    """Return a bright square that moves over a slope, in colours and steps of 1/255, and which entries are corrupt."""
    rng = np.random.default_rng(seed)
    row, column, colour, frame = np.indices(shape)
    inside = (np.abs(row - 8) < 4) & (np.abs(column - 4 - frame) < 3)
    truth = 0.2 + 0.02 * row + 0.1 * colour + 0.05 * np.sin(column) + 0.3 * inside
    truth = np.round(255 * truth + rng.standard_normal(shape)) / 255
    bad = rng.random(shape) < share
    values = rng.random(shape)
    bad &= np.abs(values - truth) > 0.1
    return np.where(bad, values, truth), bad


def judged(dirty, seed=0):
    """Return which entries are named corrupt, as an array of the shape of the data."""
    observations = Observations.from_dense(dirty)
    named = np.zeros(dirty.size, dtype=bool)
    named[observations.positions] = corrupt_entries(observations, rng=np.random.default_rng(seed))
    return named.reshape(dirty.shape)


def precision_and_recall(named, bad):
    both = np.count_nonzero(named & bad)
    return both / np.count_nonzero(named), both / np.count_nonzero(bad)


@pytest.mark.parametrize("share", slow_except([0.01, 0.05, 0.1], [0.05]))
@pytest.mark.parametrize("make", [low_rank, scene])
def test_corrupt_entries_are_named_and_hardly_any_others(make, share):
    dirty, bad = make(share)
    assert min(precision_and_recall(judged(dirty), bad)) > 0.9


@pytest.mark.parametrize("make", slow_except([low_rank, scene], [low_rank]))
def test_clean_data_has_hardly_any_corrupt_entries(make):
    dirty, _ = make(0.0)
    assert np.count_nonzero(judged(dirty)) <= 0.002 * dirty.size


@pytest.mark.parametrize("make", [low_rank, scene])
@pytest.mark.parametrize(("share", "fits"), [(0.0, 1), (0.05, judging.FOLDS)])
def test_unasked_a_first_look_that_shows_nothing_ends_the_search(monkeypatch, make, share, fits):
    rough_fit, made = judging.rough_fit, []
    monkeypatch.setattr(judging, "rough_fit", lambda *given, **more: made.append(1) or rough_fit(*given, **more))
    dirty, bad = make(share)
    named = corrupt_entries(Observations.from_dense(dirty), rng=np.random.default_rng(0), watch=Watch(is_asked=False))
    assert np.count_nonzero(named) <= 1.1 * np.count_nonzero(bad)
    assert len(made) <= fits
    assert share == 0 or np.count_nonzero(named) > 0.9 * np.count_nonzero(bad)


def test_errors_far_beyond_the_data_are_named_too():
    dirty, bad = scene(0.05)
    assert min(precision_and_recall(judged(np.where(bad, 1e6, dirty)), bad)) > 0.9


def test_filled_keeps_sound_entries_and_replaces_corrupt_ones():
    dirty, bad = low_rank(0.05)
    fit = complete(dirty, loss="l1", rng=0)
    coords, amounts = fit.outliers()
    named = np.zeros(dirty.shape, dtype=bool)
    named[tuple(coords.T)] = True
    assert min(precision_and_recall(named, bad)) > 0.95
    filled = fit.filled()
    kept = np.isfinite(dirty) & ~named
    np.testing.assert_array_equal(filled[kept], dirty[kept])
    np.testing.assert_array_equal(filled[~kept], fit.to_dense()[~kept])
    np.testing.assert_allclose(amounts, dirty[named] - fit.to_dense()[named])
    assert len(fit.outliers(beyond=100.0)[0]) == 0


def test_filled_replaces_outliers_of_given_settings_and_nothing_with_another_loss():
    dirty, _ = low_rank(0.05)
    seen = np.isfinite(dirty)
    given = complete(dirty, loss="l1", lam=0.3, max_rank=4, rng=0)
    changed = seen & (given.filled() != dirty)
    assert np.argwhere(changed).tolist() == given.outliers()[0].tolist()
    square = complete(dirty, lam=0.3, max_rank=4, rng=0)
    np.testing.assert_array_equal(square.filled()[seen], dirty[seen])


def test_a_fold_is_predicted_by_a_fit_that_did_not_see_it():
    dirty, _ = low_rank(0.0)
    observations = Observations.from_dense(dirty)
    judge = ByLowRank(observations, None, None, np.random.default_rng(0), Watch())
    inside = judge.fold(0)
    changed = np.where(inside, 1e3, observations.values)
    again = ByLowRank(observations.with_values(changed), None, None, np.random.default_rng(0), Watch())
    again.fold(0)
    # The path may end elsewhere, because the fold also chooses the point of the path.
    assert np.abs(again.predictions[inside]).max() < 10 * np.nanmax(np.abs(dirty))


def test_a_fold_is_not_seen_in_later_rounds_either(monkeypatch):
    """Nor is an entry that was judged corrupt."""
    observations = Observations.from_dense(low_rank(0.05)[0])
    judge = ByLowRank(observations, None, None, np.random.default_rng(0), Watch())
    folds = [judge.fold(number) for number in range(judging.FOLDS)]
    sound = np.random.default_rng(1).random(len(observations)) < 0.9
    refitted, fitted = ByLowRank._refitted, []

    def noted(self, rough, chosen):
        fitted.append(chosen)
        return refitted(self, rough, chosen)

    monkeypatch.setattr(ByLowRank, "_refitted", noted)
    judge.predict(sound)
    assert len(fitted) == len(folds)
    for fold, chosen in zip(folds, fitted, strict=True):
        np.testing.assert_array_equal(chosen, sound & ~fold)


def test_neighbours_do_not_see_the_entry_itself():
    dirty, _ = scene(0.0)
    around, rng = Neighbourhood(dirty.shape, [0, 1, 3]), np.random.default_rng(0)
    spoilt = dirty.copy()
    spoilt[15, 11, 1, 6] = 1e9
    place = np.ravel_multi_index((15, 11, 1, 6), dirty.shape)
    for data in (dirty, spoilt):
        predicted, spread = around.predict(data.reshape(-1), rng)
        assert predicted[place] == pytest.approx(dirty[15, 11, 1, 6], abs=0.02)
        assert spread[place] < 0.05


def test_modes_with_an_order_are_found_despite_gross_errors():
    dirty, bad = scene(0.1)
    spoilt = np.where(bad, 1e6, dirty)
    rng = np.random.default_rng(0)
    assert ordered_modes(Observations.from_dense(spoilt), rng) == [0, 1, 3]
    shuffled = spoilt[rng.permutation(dirty.shape[0])]
    assert 0 not in ordered_modes(Observations.from_dense(shuffled), rng)


def test_entries_without_neighbours_are_not_judged_by_them():
    wave = np.sin(np.arange(40.0) / 5)[:, None] + np.zeros(12)
    wave[::2] = np.nan
    observations = Observations.from_dense(wave)
    judge = ByNeighbours(observations, Neighbourhood(wave.shape, [0]), np.random.default_rng(0))
    predictions, _ = judge.predict(np.ones(len(observations), dtype=bool))
    assert np.isnan(predictions).all()


def test_the_limit_lies_in_the_widest_gap():
    sound = np.linspace(0.0, 0.9, 200)
    assert 1.1 < limit_of(np.concatenate([sound, [1.05, 9.0, 11.0]])) < 9.0
    assert limit_of(np.zeros(5)) > 0


def test_the_bounded_mean_ignores_exact_hits_and_gross_errors():
    errors = np.concatenate([np.zeros(900), np.ones(90), np.full(10, 1e9)])
    assert bounded_mean(errors) == 1.0
    assert bounded_mean(np.zeros(3)) == 0.0


def test_judging_obeys_the_clock_and_the_caller():
    observations = Observations.from_dense(low_rank(0.05)[0])
    for watch in (Watch(clock=Clock(1e-9)), Watch(callback=lambda record, model: True)):
        with pytest.raises((Stopped, TimeUp)):
            corrupt_entries(observations, rng=np.random.default_rng(0), watch=watch)


def test_gross_errors_beside_each_other_do_not_excuse_each_other(monkeypatch):
    clean, _ = scene(0.0)
    rng = np.random.default_rng(0)
    bad = rng.random(clean.shape) < 0.02
    bad[..., 1:] |= bad[..., :-1]
    dirty = np.where(bad, clean + rng.uniform(4, 5, clean.shape), clean)
    assert judged(dirty)[bad].all()
    monkeypatch.setattr(judging, "FURTHEST", np.inf)
    assert judged(dirty)[bad].mean() < 0.5
