"""Error bars and hold-out patterns on real data, where it is at hand.

The data is in the folder that `TENSORFILL_DATA` names, else in `../shared/data` beside the project.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from tensorfill import Choice, Observations, complete

pytestmark = pytest.mark.slow


def shared(name):
    """Return the path of a shared file; the test is skipped where there is none."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    path = Path(os.environ.get("TENSORFILL_DATA") or beside) / name
    if not path.is_file():
        pytest.skip(f"{path} does not exist; set TENSORFILL_DATA to the folder of the shared data")
    return path


def car_parks():
    """Occupied places by car park, day and time of day, in five weeks; NaN where no record was made."""
    from scipy.io import loadmat

    records = loadmat(shared("traffic/birmingham_30x77x18.mat"))["tensor"][:, 42:].astype(float)
    return np.where(records == 0, np.nan, records)


def facade():
    """Part of a picture: rows, columns and colours."""
    imread = pytest.importorskip("skimage.io").imread
    return imread(shared("images/facade_256x256.bmp"))[:64, :64, :3].astype(float)


def climate():
    """Two years of records by station, month and variable, of every second station."""
    with np.load(shared("climate/ccds_125x156x17.npz")) as file:
        return file["X"][::2, :24].astype(float)


def single_entries(truth, share, seed):
    """Return a mask that hides this share of the known entries."""
    known = np.flatnonzero(~np.isnan(truth))
    hidden = np.zeros(truth.shape, dtype=bool)
    hidden.flat[np.random.default_rng(seed).choice(known, round(share * len(known)), replace=False)] = True
    return hidden


def last_fibres(truth, share, seed):
    """Return a mask that hides this share of the fibres along the last mode."""
    hidden = np.random.default_rng(seed).random(truth.shape[:-1]) < share
    return np.broadcast_to(hidden[..., None], truth.shape) & ~np.isnan(truth)


def coverage(fit, truth, hidden):
    """Return which share of the hidden entries is within intervals that promise nine tenths."""
    _, low, high = fit.predict(np.argwhere(hidden), interval=0.9)
    return np.mean((low <= truth[hidden]) & (truth[hidden] <= high))


@pytest.mark.filterwarnings("ignore:.*slices of mode 1 have no observed entry")
@pytest.mark.parametrize(("data", "share"), [(car_parks, 0.3), (car_parks, 0.5), (facade, 0.5), (climate, 0.3)])
def test_intervals_hold_what_they_promise_for_entries_missing_at_random(data, share):
    truth = data()
    hidden = single_entries(truth, share, seed=0)
    fit = complete(np.where(hidden, np.nan, truth), rng=0)
    assert str(fit.recipe.holdout) == "single entries"
    # The last fit has a ninth more entries than the fit whose residuals make the intervals, and is better.
    # Scales that are learnt from few errors make intervals rather too wide than too narrow.
    assert 0.88 < coverage(fit, truth, hidden) < 0.95


def test_intervals_are_neither_wide_nor_narrow_for_the_fit_whose_residuals_they_rest_on():
    truth = facade()
    hidden = single_entries(truth, 0.5, seed=0)
    training, held_out = Observations.from_dense(truth, ~hidden).split(0.1, rng=0)
    fit = complete(training, choose=Choice(validation=held_out), rng=0)
    assert len(fit.residuals) == len(held_out)
    # The held-out entries are few: 0.9 has a standard error of 0.012.
    assert 0.87 < coverage(fit, truth, hidden) < 0.95


@pytest.mark.filterwarnings("ignore:.*slices of mode 1 have no observed entry")
@pytest.mark.parametrize(
    ("data", "share"), [(car_parks, 0.3), (lambda: facade()[:48, :48], 0.5)], ids=["days", "pixels"]
)
def test_what_goes_missing_together_is_held_out_together(data, share):
    truth = data()
    fit = complete(np.where(last_fibres(truth, share, seed=0), np.nan, truth), rng=0)
    assert str(fit.recipe.holdout) == "whole fibres along mode 2"
