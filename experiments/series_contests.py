"""What the contests of series hide: gaps and single points inside of series, and all that follows an origin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from .arena_data import Array
from .series_sets import Dates, SeriesSet

Mask = NDArray[np.bool_]

GAPS = {"gap1": 1, "gap6": 6, "gap24": 24, "gap168": 168}
"""The steps of a gap."""

POINTS = {"points10": 0.1, "points50": 0.5}
"""The share of the points that are hidden."""

AHEAD = {"ahead0": 0.0, "ahead30": 0.3, "ahead60": 0.6}
"""The share of the points that are missing before the origin of a forecast."""

KINDS = (*GAPS, *POINTS, *AHEAD)

SHARE = 0.2
"""About this share of each series is in gaps."""

LONGEST = 0.1
"""A gap is no longer than this share of a series."""

ORIGINS = 3
HORIZONS = (1, 6, 12, 24)
"""The steps ahead whose errors are told one by one."""


@dataclass(frozen=True)
class Case:
    """A task: series with holes, and how many steps after their end are asked for.

    Parameters
    ----------
    data
        Series by time, with NaN where nothing is known.
    dates
        The date of every time.
    steps
        The steps to forecast; 0 if only holes are filled.
    truth
        Series by time and steps: the values at the tested entries, and NaN elsewhere.
    """

    data: Array
    dates: Dates
    steps: int
    truth: Array

    def of(self, series: NDArray[np.intp]) -> Case:
        """Return the case of some of the series."""
        return Case(self.data[series], self.dates, self.steps, self.truth[series])


def takes(found: SeriesSet, kind: str) -> bool:
    """Return whether a set has a kind of contest."""
    if kind in POINTS:
        return found.points
    return kind in AHEAD or GAPS[kind] <= LONGEST * found.table()[0].shape[1]


def cases(name: str, found: SeriesSet, kind: str, seed: int) -> list[Case]:
    """Return the cases of a contest: one with holes, or one for each origin of a forecast.

    Parameters
    ----------
    name
        The name of the set, on which the places depend.
    found
        The set.
    kind
        One of `KINDS`.
    seed
        The seed of the places.
    """
    rng = np.random.default_rng([seed, crc32(f"{name} {kind}".encode())])
    values, dates = found.table(cropped=kind not in POINTS)
    if kind in AHEAD:
        return [
            _forecast(values[:, : end + found.horizon], dates, end, AHEAD[kind], rng)
            for end in origins(values.shape[1], found.horizon)
        ]
    hidden = gaps(values.shape, GAPS[kind], rng) if kind in GAPS else rng.random(values.shape) < POINTS[kind]
    return [Case(np.where(hidden, np.nan, values), dates, 0, np.where(hidden, values, np.nan))]


def gaps(shape: tuple[int, ...], length: int, rng: np.random.Generator) -> Mask:
    """Return gaps at random places of each series, none at its ends, and at least a step from each other."""
    steps = shape[1]
    count = max(round(SHARE * steps / length), 1)
    hidden = np.zeros(shape, dtype=np.bool_)
    for row in hidden:
        # A gap is put before some of the steps that stay.
        before = np.sort(rng.choice(np.arange(1, steps - count * length), count, replace=False))
        begins = before + length * np.arange(count)
        row[begins[:, None] + np.arange(length)] = True
    return hidden


def origins(steps: int, horizon: int) -> list[int]:
    """Return where forecasts begin: far from each other, and at another time of the day or year."""
    apart = steps // 10 // horizon * horizon + horizon // 3
    return [steps - horizon - apart * each for each in range(ORIGINS)]


def _forecast(values: Array, dates: Dates, end: int, share: float, rng: np.random.Generator) -> Case:
    data = np.where(rng.random((len(values), end)) < share, np.nan, values[:, :end])
    truth = np.full(values.shape, np.nan)
    truth[:, end:] = values[:, end:]
    return Case(data, dates[:end], values.shape[1] - end, truth)


def measures(found: Sequence[Case], answers: Sequence[Array]) -> dict[str, float]:
    """Return the mean absolute and the root mean square error, over all and by steps ahead."""
    errors = [answer - case.truth for case, answer in zip(found, answers, strict=True)]
    return {
        f"{name}{part}": float(of(chosen))
        for part, chosen in _parts(found, errors)
        if chosen.size
        for name, of in (("mae", _mean_absolute), ("rmse", _root_mean_square))
    }


def coverage(found: Sequence[Case], low: Sequence[Array], high: Sequence[Array]) -> dict[str, float]:
    """Return the share of the tested entries within intervals, over all and by steps ahead."""
    within = [
        np.where(np.isfinite(case.truth), (down <= case.truth) & (case.truth <= up), np.nan)
        for case, down, up in zip(found, low, high, strict=True)
    ]
    return {f"coverage{part}": float(np.mean(chosen)) for part, chosen in _parts(found, within) if chosen.size}


def _parts(found: Sequence[Case], numbers: Sequence[Array]) -> Iterator[tuple[str, Array]]:
    """Yield the numbers of all tested entries, and those of some steps ahead; an answer's own NaN is kept."""
    tested = [np.isfinite(case.truth) for case in found]
    yield "", np.concatenate([each[mask] for each, mask in zip(numbers, tested, strict=True)])
    for ahead in HORIZONS:
        if all(case.steps >= ahead for case in found):
            places = [case.data.shape[1] + ahead - 1 for case in found]
            chosen = zip(numbers, tested, places, strict=True)
            yield str(ahead), np.concatenate([each[mask[:, at], at] for each, mask, at in chosen])


def _mean_absolute(errors: Array) -> float:
    return float(np.mean(np.abs(errors)))


def _root_mean_square(errors: Array) -> float:
    return float(np.sqrt(np.mean(errors**2)))


MEASURED = tuple(f"{name}{part}" for part in ("", *HORIZONS) for name in ("mae", "rmse"))
"""The names of what `measures` returns; a set with a shorter horizon has fewer."""

COVERED = tuple(f"coverage{part}" for part in ("", *HORIZONS))
"""The names of what `coverage` returns."""
