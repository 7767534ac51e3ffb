"""Seasonal periods that labels do not say: from the autocorrelation of series with gaps.

Each series loses its slow part and is divided by its standard deviation. The correlation at a lag is the mean product
of the values that are so far apart, of all series together. Products and their number are sums of circular correlations
of the values and of the masks, which fast Fourier transforms give.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from .._support.ordering import joint_keys
from .._support.types import Booleans, Floats, Integers
from ..observations import Observations

MOST_SERIES = 300
"""At most this many series are looked at: those with the most entries."""

MOST_STEPS = 2**16
MOST_VALUES = 2**22
"""The first steps that are looked at, and the largest number of values of all series together."""

FEWEST_STEPS, FEWEST_ENTRIES = 8, 8
"""What it takes to look for a period, and for a series to be looked at."""

CYCLES = 3
"""The data has at least this many periods."""

LEAST = 0.3
"""The least correlation at a period."""

STANDS_OUT = 0.15
"""A period is higher than the lowest lags on either side of it by at least this."""

ERRORS = 3.5
"""What is said of a correlation holds by this many standard errors."""

ALONE = 10
"""Errors fall with the number of series up to this one, as the noise of series may be alike."""

AGAIN = 0.7
"""Twice the period has at least this share of its correlation."""

WEEK = 7
MULTIPLES = range(2, 7)


def seasonal_periods(observations: Observations, mode: int) -> tuple[int, ...]:
    """Return the period of the series along a mode, and seven times that if it is one too; () if there is none.

    >>> steps = np.arange(120)
    >>> table = np.sin(2 * np.pi * steps / 12) + np.random.default_rng(0).normal(0, 0.3, (5, 120))
    >>> seasonal_periods(Observations.from_dense(table), 1)
    (12,)
    """
    values, seen = _series(observations, mode)
    if values.shape[1] < FEWEST_STEPS:
        return ()
    values, seen = _standardised(values, seen)
    if not len(values):
        return ()
    return _periods(*_correlations(values, seen))


def _series(observations: Observations, mode: int) -> tuple[Floats, Booleans]:
    """Return the series with the most entries, one in each row, and where they have entries."""
    steps = min(observations.shape[mode], MOST_STEPS)
    most = max(1, min(MOST_SERIES, MOST_VALUES // steps))
    if observations.is_dense:
        array, mask = (np.moveaxis(each, mode, 0)[:steps] for each in (observations.array, observations.mask))
        counts = mask.sum(axis=0)
        places: Any = (slice(None), *np.unravel_index(_largest(counts.ravel(), most), counts.shape))
        return array[places].T.astype(np.float64), mask[places].T
    return _of_sparse(observations, mode, steps, most)


def _of_sparse(observations: Observations, mode: int, steps: int, most: int) -> tuple[Floats, Booleans]:
    others = [other for other in range(observations.ndim) if other != mode]
    (keys,) = joint_keys(tuple(observations.shape[other] for other in others), observations.coords[:, others])
    found, counts = np.unique(keys, return_counts=True)
    chosen = np.sort(found[_largest(counts, most)])
    rows = np.minimum(np.searchsorted(chosen, keys), len(chosen) - 1)
    times = observations.coords[:, mode]
    kept = (chosen[rows] == keys) & (times < steps)
    values, seen = np.zeros((len(chosen), steps)), np.zeros((len(chosen), steps), dtype=np.bool_)
    values[rows[kept], times[kept]] = observations.values[kept]
    seen[rows[kept], times[kept]] = True
    return values, seen


def _largest(counts: Integers, most: int) -> Integers:
    return np.argsort(-counts, kind="stable")[:most]


def _standardised(values: Floats, seen: Booleans) -> tuple[Floats, Booleans]:
    """Return the series without their slow part and with a standard deviation of 1, those that vary."""
    kept = seen.sum(axis=1) >= FEWEST_ENTRIES
    values, seen = values[kept], seen[kept]
    counts = seen.sum(axis=1)
    scale = np.abs(np.where(seen, values, 0.0)).max(axis=1, initial=0.0)
    values = np.where(seen, values / np.where(scale > 0, scale, 1.0)[:, None], 0.0)
    values = values - np.where(seen, (values.sum(axis=1) / counts)[:, None], 0.0)
    before = np.einsum("st,st->s", values, values)
    rest = _without_running_mean(_without_parabola(values, seen), seen)
    after = np.einsum("st,st->s", rest, rest)
    # What is left of a smooth curve is rounding.
    varies = (after > 1e-6 * before) & (before > 1e-24 * counts)
    rest, seen = rest[varies] * np.sqrt(counts[varies] / after[varies])[:, None], seen[varies]
    # An outlier has the weight of a large value.
    return np.clip(rest, -3.0, 3.0), seen


def _without_parabola(values: Floats, seen: Booleans) -> Floats:
    """Return the residuals of each series from its best quadratic curve."""
    basis = np.polynomial.legendre.legvander(np.linspace(-1, 1, values.shape[1]), 2)
    products = (basis[:, :, None] * basis[:, None, :]).reshape(len(basis), -1)
    gram = (seen.astype(np.float64) @ products).reshape(-1, 3, 3)
    gram += 1e-9 * np.trace(gram, axis1=1, axis2=2)[:, None, None] * np.eye(3)
    curves = np.linalg.solve(gram, (values @ basis)[..., None])[..., 0] @ basis.T
    return np.where(seen, values - curves, 0.0)


def _without_running_mean(values: Floats, seen: Booleans) -> Floats:
    """Return what differs from the mean of a window as long as the longest period."""
    steps = values.shape[1]
    half = max(1, steps // (2 * CYCLES))
    start, end = np.maximum(np.arange(steps) - half, 0), np.minimum(np.arange(steps) + half + 1, steps)
    sums, counts = (
        np.concatenate([np.zeros((len(each), 1)), np.cumsum(each, axis=1)], axis=1) for each in (values, seen)
    )
    means = (sums[:, end] - sums[:, start]) / np.maximum(counts[:, end] - counts[:, start], 1)
    return np.where(seen, values - means, 0.0)


def _correlations(values: Floats, seen: Booleans) -> tuple[Floats, Floats]:
    """Return the correlation at each lag up to two thirds of the steps, and its standard error."""
    steps = values.shape[1]
    length = scipy.fft.next_fast_len(2 * steps, real=True)
    products, pairs = np.zeros(length // 2 + 1), np.zeros(length // 2 + 1)
    for own, mask in zip(values, seen, strict=True):
        products += np.abs(scipy.fft.rfft(own, length)) ** 2
        pairs += np.abs(scipy.fft.rfft(mask.astype(np.float64), length)) ** 2
    lags = 2 * steps // 3 + 1
    sums, counts = (scipy.fft.irfft(each, length)[:lags] for each in (products, pairs))
    counts = np.rint(counts)
    # Lags that few pairs have are unknown.
    known = counts >= FEWEST_ENTRIES
    found = np.where(known, sums / np.maximum(counts, 1), 0.0) / max(sums[0] / counts[0], 1e-300)
    errors = 1 / np.sqrt(np.maximum(counts * min(1.0, ALONE / len(values)), 1))
    return found, np.where(known, errors, 1.0)


def _periods(found: Floats, errors: Floats) -> tuple[int, ...]:
    """Return the periods of correlations by lag."""
    last = (3 * (len(found) - 1) // 2) // CYCLES
    for lag in range(2, last + 1):
        if _stands_out(found, errors, lag) and not _is_part_of_another(found, errors, lag):
            period = _refined(found, lag, last)
            week = WEEK * period
            # Two weeks in the data: it has three lags in four of those that there are.
            if 4 * week <= 3 * (len(found) - 1) and found[week] > found[period] + max(0.05, ERRORS * errors[week]):
                return period, week
            return (period,)
    return ()


def _stands_out(found: Floats, errors: Floats, lag: int) -> bool:
    """Return whether a lag is a clear peak, and is followed by another at twice the lag."""
    height, error = found[lag], errors[lag]
    near = max(1, lag // 3)
    if height < max(LEAST, ERRORS * error) or height < found[lag - near : lag + near + 1].max(initial=0.0):
        return False
    half = (lag + 1) // 2
    low = max(found[lag - half : lag].min(), found[lag + 1 : lag + half + 1].min())
    near = lag // 6
    again = found[2 * lag - near : 2 * lag + near + 1].max()
    return bool(height - low > max(STANDS_OUT, ERRORS * error) and again > AGAIN * height)


def _is_part_of_another(found: Floats, errors: Floats, lag: int) -> bool:
    """Return whether a few lags together are a better period, as two peaks a day are part of a day."""
    several = [multiple * lag for multiple in MULTIPLES if multiple * lag < len(found)]
    return any(found[each] > found[lag] + max(0.1, ERRORS * errors[each]) for each in several)


def _refined(found: Floats, lag: int, last: int) -> int:
    """Return the lag nearby whose multiples have the highest correlations, which tell long periods apart."""
    near = lag // 8
    nearby = range(max(2, lag - near), min(last, lag + near) + 1)
    count = min(4, (len(found) - 1) // max(nearby))
    return max(nearby, key=lambda each: float(sum(found[each * number] for number in range(1, count + 1))))
