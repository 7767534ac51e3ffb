"""Expectation maximisation of a seasonal autoregression: draws of the series, then what they are most likely under.

    y = level and trend of each series + seasons + parts + noise

The parts are one or two processes of `tensorfill.methods.seasonal_ar.process`. A step draws them given all that is
observed, and takes the law that is most likely for the draws. Filled gaps have the spread of what they could be, which
means would not have, so that the law has no bias from gaps. Trends and seasons are estimated anew after each step but
the first ones.
"""

from __future__ import annotations

import numpy as np

from ..._support.types import Booleans, Floats
from ..simple.interpolation import interpolated
from .posterior import Posterior
from .process import FIXED, MEMORIES, Law, Memory, Process, apart, parts_of
from .seasons import seasons

FIRST_SEASONS = 3
"""Trends and seasons are estimated after this step and all later ones; after all of them if the law is known."""

DRAWN = 100_000
"""As many draws are made in a step as it takes to draw about this many values, so that the law is little by chance."""

MOST_DRAWS = 64
"""The largest number of draws."""

OF_A_DRAW, OF_A_MEAN = 0.03, 0.01
"""The errors of the solutions, relative to the spread of the series."""

LEAST_FIRST, MOST_FIRST = 0.02, 1.0
"""The bounds of the variance of the noise that is assumed at first, relative to that of the innovations."""


PARTS, LEAST_PART = 6, 4
"""The number of parts of a series that must agree on a trend, and the least number of times of one."""


class Smoother:
    """Series with gaps, and what is known of them so far.

    Parameters
    ----------
    table
        The series, with NaN where nothing is observed: series, time.
    periods
        The seasonal periods, in numbers of times, which need not be whole.
    rng
        The random generator of the draws.
    level
        Whether the level of a series is ``"fixed"`` or ``"wandering"``.
    law
        The law, if it is known, as from more of the same series; only trends and seasons are then estimated.
    """

    def __init__(
        self,
        table: Floats,
        periods: tuple[float, ...],
        rng: np.random.Generator,
        level: str = FIXED,
        law: Law | None = None,
    ) -> None:
        self._periods, self._rng = periods, rng
        self._seen: Booleans = np.isfinite(table)
        self._level, self._scale = _levels(table, self._seen)
        self._values = np.where(self._seen, (table - self._level) / self._scale, 0.0)
        self._trend = np.zeros_like(self._values)
        self._course = self._trend
        guess = interpolated(np.where(self._seen, self._values, np.nan), 1)
        # Without a law to find, draws only say how wide gaps are.
        count = min(-(-DRAWN // guess.size), MOST_DRAWS) if law is None else 1
        guesses = np.repeat(np.where(np.isnan(guess), 0.0, guess)[None], count, axis=0)
        self._counts = self._seen.sum(axis=1)
        self._memories = MEMORIES[level]
        self._draws: Floats = apart(guesses, len(self._memories))
        self._finds_law = law is None
        self._law = self._first_law(guesses) if law is None else law
        self._steps = 0

    @property
    def law(self) -> Law:
        """The law of what is left of the series without their levels, trends and seasons."""
        return self._law

    @property
    def misfit(self) -> float:
        """Half the expected sum of the squared differences from the observed entries; at first, that of the levels."""
        weights = self._counts * self._scale[:, 0] ** 2
        left = self._left() if self._steps else (self._values**2).sum(axis=1) / np.maximum(self._counts, 1)
        return float(weights @ left) / 2

    def step(self) -> None:
        """Draw the series, find trends and seasons, and take the law that is most likely for the draws."""
        posterior = self._posterior()
        draws = posterior.draws(self._draws, OF_A_DRAW, self._rng)
        number = self._steps + 1
        trend, found = self._trend, self._course
        if number >= FIRST_SEASONS or not self._finds_law:
            mean = posterior.mean(draws.mean(axis=0), OF_A_DRAW)
            trend, found = self._new_course(draws.sum(axis=1), mean.sum(axis=0))
        draws[:, -1] += self._course - found
        if number == FIRST_SEASONS and self._finds_law:
            # The first seasons change what is left so much that its parts are found anew.
            draws = apart(draws.sum(axis=1), len(self._memories))
        # Nothing has changed so far, in case the clock expires.
        self._draws, self._steps = draws, number
        self._trend, self._course = trend, found
        if self._finds_law:
            self._law = self._law.again(draws, self._left(), self._counts)

    def paths(self, count: int) -> Floats:
        """Return draws of what the series could be without noise: draw, series, time."""
        near = np.repeat(self._draws.mean(axis=0)[None], count, axis=0)
        draws = self._posterior().draws(near, OF_A_MEAN, self._rng)
        found: Floats = self._level + self._scale * (draws.sum(axis=1) + self._course)
        return found

    def mean(self) -> Floats:
        """Return the series without gaps and noise."""
        x = self._posterior().mean(self._draws.mean(axis=0), OF_A_MEAN)
        found: Floats = self._level + self._scale * (x.sum(axis=0) + self._course)
        return found

    def _first_law(self, guesses: Floats) -> Law:
        """Return the law of what is hardly more than a guess, with the noise that observed values say."""
        own = Process.of(guesses, self._counts, Memory(1, own=False)).own
        parts = parts_of(self._draws, self._counts, self._memories)
        return Law(parts, _first_noise(self._values, self._seen) * own)

    def _posterior(self) -> Posterior:
        return Posterior(self._law, np.where(self._seen, self._values - self._course, 0.0), self._seen)

    def _left(self) -> Floats:
        """Return the mean square of the difference between the observed entries of each series and the draws."""
        difference = np.where(self._seen, self._values - self._course - self._draws.sum(axis=1), 0.0)
        counts = len(self._draws) * np.maximum(self._counts, 1)
        found: Floats = np.einsum("dst,dst->s", difference, difference) / counts
        return found

    def _new_course(self, draws: Floats, mean: Floats) -> tuple[Floats, Floats]:
        """Return the trends, and trends with seasons, of observed values and of means elsewhere by how sure they are.

        A mean that is known no better than a value at any time says nothing new: it repeats the season that it was
        computed with.
        """
        gaps = ~self._seen
        lost = np.maximum(gaps.sum(axis=1), 1)
        doubt = np.where(gaps, np.mean((draws - mean) ** 2, axis=0), 0.0).sum(axis=1) / lost
        spread = np.where(gaps, 0.0, mean**2).sum(axis=1) / np.maximum(self._counts, 1) + doubt
        told = 1 / np.maximum(doubt, 1e-12) - 1 / np.maximum(spread, 1e-12)
        known: Booleans = np.any(self._seen, axis=0)
        beside = np.where(gaps, 1 / np.maximum(told, 1e-9)[:, None], 0.0)
        trend = _trend(mean + self._trend, int(np.flatnonzero(known)[-1]) + 1)
        if not self._periods:
            return trend, trend
        values = np.where(gaps, mean + self._course, self._values) - trend
        return trend, trend + seasons(values, np.where(known, beside, np.inf), known, self._periods)


def _trend(x: Floats, until: int) -> Floats:
    """Return the trend of each series before a time: a straight line, as far as all parts of the series agree on it.

    The slope is the mean step from one part to the next. If it is t times its standard error, 1 - 4/t^2 of it counts.
    A cycle that is longer than any season, which the likelihood would take for a trend, is none.
    """
    line = np.arange(x.shape[-1]) - (until - 1) / 2
    parts = np.array_split(x[:, :until], PARTS, axis=1)
    if until < LEAST_PART * PARTS:
        return np.zeros_like(x)
    steps = np.diff([part.mean(axis=1) for part in parts], axis=0)
    slope = steps.mean(axis=0)
    error = steps.std(axis=0, ddof=1) / np.sqrt(len(steps))
    slope *= np.maximum(1 - 4 * error**2 / np.maximum(slope**2, 1e-24), 0.0)
    found: Floats = (slope / (until / PARTS))[:, None] * line
    return found


def _first_noise(values: Floats, seen: Booleans) -> Floats:
    """Return about the variance of the noise of each series relative to that of its innovations.

    Values one step apart differ by one innovation and two noises, values two steps apart by two of each. Expectation
    maximisation is slow to find the noise by itself. Seasons make it look smaller, and never larger.

    >>> noise = np.array([[0.1], [1.0]]) * np.random.default_rng(0).standard_normal((2, 4000))
    >>> walks = np.cumsum(np.random.default_rng(1).standard_normal((2, 4000)), axis=1)
    >>> _first_noise(walks + noise, np.ones((2, 4000), dtype=bool)).round(1).tolist()
    [0.0, 1.0]
    """
    squares = []
    for lag in (1, 2):
        both = seen[:, lag:] & seen[:, :-lag]
        differences = np.where(both, values[:, lag:] - values[:, :-lag], 0.0)
        squares.append((differences**2).sum(axis=1) / np.maximum(both.sum(axis=1), 1))
    innovations = np.maximum(squares[1] - squares[0], 1e-12)
    found: Floats = np.clip((squares[0] - innovations) / 2 / innovations, LEAST_FIRST, MOST_FIRST)
    return found


def _levels(table: Floats, seen: Booleans) -> tuple[Floats, Floats]:
    """Return the mean and the spread of each series, of which those with too few values have those of all."""
    counts = seen.sum(axis=1, keepdims=True)
    values = np.where(seen, table, 0.0)
    means = values.sum(axis=1, keepdims=True) / np.maximum(counts, 1)
    means[counts == 0] = means[counts > 0].mean()
    squares = (np.where(seen, values - means, 0.0) ** 2).sum(axis=1, keepdims=True) / np.maximum(counts, 1)
    varied = squares > 0
    squares[~varied] = squares[varied].mean() if varied.any() else 1.0
    return means, np.sqrt(squares)
