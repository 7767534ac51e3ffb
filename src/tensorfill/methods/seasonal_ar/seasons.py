"""Seasons of series: a profile of each period that may change slowly, as in exponential smoothing.

The values at one place of a period, such as all Mondays at noon, are a level that changes from one period to the next
by small random steps, plus noise. Its smoothed estimate is the season there. How fast levels change, relative to the
noise, is the same for all series and places, and maximises the likelihood. Levels begin near zero if the places of the
period do not differ by more than noise, so that series without a season have none.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.ndimage import convolve1d

from ..._support.types import Booleans, Floats

PACES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""The variances of the step of a level to try, relative to that of the noise."""

TINY = 1e-9
"""The least variance, for series with a variance of about 1."""


def seasons(values: Floats, doubt: Floats, known: Booleans, periods: tuple[float, ...]) -> Floats:
    """Return the seasons of all periods together: series, time.

    Parameters
    ----------
    values
        The series; estimates where they are not observed.
    doubt
        The variance of the error of an estimate; 0 for observed values, infinite for values that say nothing.
    known
        The times at which anything is observed.
    periods
        The number of times in each period.
    """
    left = values - running_mean(values, known, round(max(periods)))
    found = np.zeros_like(values)
    for period in periods:
        found += season(left - found, doubt, period)
    return found


def season(values: Floats, doubt: Floats, period: float) -> Floats:
    """Return the season of one period, of series without a trend.

    A period need not be a whole number of times, as a year has 52.18 weeks.

    >>> wave = np.tile([0.0, 3.0, -3.0], 20)[None]
    >>> season(wave, np.zeros_like(wave), 3)[0, :3].round(2).tolist()
    [0.0, 3.0, -3.0]
    """
    series, times = values.shape
    places = math.ceil(period)
    around, within = np.divmod(np.arange(times), period)
    rounds = int(around[-1]) + 1
    cells = around.astype(np.int64) * places + np.floor(within * places / period).astype(np.int64)

    def by_place(array: Floats, beyond: float) -> Floats:
        padded = np.full((series, rounds * places), beyond)
        padded[:, cells] = array
        return padded.reshape(series, rounds, places).transpose(0, 2, 1)

    folded, doubts = by_place(values, 0.0), by_place(doubt, np.inf)
    told = np.isfinite(doubts)
    counts = told.sum(axis=2)
    means = np.where(told, folded, 0.0).sum(axis=2) / np.maximum(counts, 1)
    differences = np.where(told, folded - means[:, :, None], 0.0)
    noise = (differences**2).sum(axis=(1, 2)) / np.maximum(np.maximum(counts - 1, 0).sum(axis=1), 1) + TINY
    between = (means**2).mean(axis=1) - (noise[:, None] / np.maximum(counts, 1)).mean(axis=1)
    first = np.repeat(np.maximum(between, 0) + TINY, places)
    folded, doubts = folded.reshape(-1, rounds), doubts.reshape(-1, rounds)
    tried = []
    for pace in PACES:
        # A level that changes explains a part of what differs at one place.
        own = np.repeat(noise / (1 + 2 * pace), places)
        tried.append(smoothed_level(folded, own[:, None] + doubts, first, pace * own))
    levels, _ = min(tried, key=lambda each: each[1])
    unfolded: Floats = levels.reshape(series, places, rounds).transpose(0, 2, 1).reshape(series, -1)
    return unfolded[:, cells]


def smoothed_level(values: Floats, noise: Floats, first: Floats, step: Floats) -> tuple[Floats, float]:
    """Return the mean of a random walk given noisy values of it, and minus twice the log-likelihood of these.

    Parameters
    ----------
    values, noise
        The values and the variances of their noise, a row for each walk; infinite for no value.
    first, step
        The variance of the first level of each walk around 0, and that of its steps.
    """
    walks, times = values.shape
    told, values = np.isfinite(noise).T, values.T
    noise = np.where(told, noise.T, 1.0)
    levels, variances, before = (np.empty((times, walks)) for _ in range(3))
    level, variance, unlikely = np.zeros(walks), first, 0.0
    for t in range(times):
        if t > 0:
            variance = variance + step
        before[t] = variance
        total = variance + noise[t]
        surprise = np.where(told[t], values[t] - level, 0.0)
        unlikely += float(np.sum(np.where(told[t], np.log(total), 0.0) + surprise**2 / total))
        gain = np.where(told[t], variance / total, 0.0)
        level, variance = level + gain * surprise, (1 - gain) * variance
        levels[t], variances[t] = level, variance
    for t in range(times - 2, -1, -1):
        levels[t] += variances[t] / before[t + 1] * (levels[t + 1] - levels[t])
    return levels.T, unlikely


def running_mean(values: Floats, known: Booleans, period: int) -> Floats:
    """Return the mean over the period around each time, of the times at which anything is observed.

    >>> running_mean(np.arange(5.0)[None], np.ones(5, dtype=bool), 3)[0].tolist()
    [0.5, 1.0, 2.0, 3.0, 3.5]
    """
    weights = np.ones(period + 1 - period % 2)
    if period % 2 == 0:
        weights[[0, -1]] = 0.5
    seen = known.astype(np.float64)
    totals = convolve1d(values * seen, weights, axis=1, mode="constant")
    counts = convolve1d(seen, weights, mode="constant")
    found: Floats = totals / np.maximum(counts, TINY)
    return found
