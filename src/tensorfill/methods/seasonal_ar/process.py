"""What series remember: autoregressions with innovations that are correlated between series, and their sum.

    x[t] = a_1 x[t - 1] + .. + a_p x[t - p] + e[t],   e[t] ~ N(0, Q)

A series is the sum of one or two such processes, seen with noise. Each process is known by its partial
autocorrelations, between -1 and 1, from which the coefficients follow (Durbin and Levinson). So it is stable whatever
they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import uniform_filter1d

from ..._support.types import Floats

MOST_PERSISTENT = 0.9995
"""The largest partial autocorrelation. With 1 there would be no mean to return to."""

LEAST_NOISE, MOST_NOISE = 0.01, 10.0
"""The bounds of the variance of the noise, relative to that of the innovations of its series."""

FURTHER = 1.5
"""Expectation maximisation changes a small noise slowly. Steps in its logarithm are this many times as long."""

LEAST_SHRINKAGE = 0.005
"""The least weight of no correlation in what the innovations are correlated by."""

NEARBY = 7
"""At first, a level that wanders is the mean of this number of neighbouring times."""


@dataclass(frozen=True)
class Memory:
    """How a process remembers.

    Parameters
    ----------
    lags
        How many steps back.
    own
        Whether every series has its own partial autocorrelations; if not, all have the same.
    """

    lags: int
    own: bool


FIXED = "fixed"
WANDERING = "wandering"
MEMORIES = {FIXED: (Memory(1, own=False),), WANDERING: (Memory(1, own=False), Memory(2, own=True))}
"""The processes of a series around a fixed level, and of one with a level that wanders."""


@dataclass(frozen=True, eq=False)
class Process:
    """An autoregression of several series.

    Parameters
    ----------
    memory
        How it remembers.
    partial
        The partial autocorrelations: lag, series.
    covariance
        The covariance Q of the innovations.
    """

    memory: Memory
    partial: Floats
    covariance: Floats

    @classmethod
    def of(cls, draws: Floats, counts: Floats, memory: Memory) -> Process:
        """Return the process under which draws are about most likely, with shrinkage by their errors.

        Partial autocorrelations are those of Burg, which are between -1 and 1 for any draws.

        Parameters
        ----------
        draws
            Some draws of all series: draw, series, time.
        counts
            The number of observed entries of each series.
        memory
            How it remembers.
        """
        forward, backward, partial = draws, draws, []
        for _ in range(memory.lags):
            forward, backward = forward[..., 1:], backward[..., :-1]
            share = _shared(_correlation(forward, backward), counts, memory.own)
            partial.append(share)
            forward, backward = forward - share[:, None] * backward, backward - share[:, None] * forward
        covariance = np.mean(forward @ forward.transpose(0, 2, 1), axis=0) / forward.shape[-1]
        # Fewer times tell of a pair with gaps, but there draws are shrunk already, by the steps before.
        return cls(memory, np.stack(partial), _shrunk(covariance, forward.shape[-1]))

    @property
    def own(self) -> Floats:
        """The variance of the innovations of each series."""
        found: Floats = np.diag(self.covariance)
        return found

    @property
    def predictors(self) -> list[Floats]:
        """What values are multiplied by to get an innovation: lag, series; the value itself has lag 0.

        The last is for all times that have enough times before. The others are for the first times: they use what
        there is, and are scaled to the variance of the other innovations.

        >>> [each[:, 0].tolist() for each in Process(Memory(1, False), np.array([[0.6]]), np.eye(1)).predictors]
        [[0.8], [1.0, -0.6]]
        """
        found: list[Floats] = [np.ones((1, self.partial.shape[1]))]
        for share in self.partial:
            shorter = np.concatenate([found[-1], np.zeros_like(found[-1][:1])])
            found.append(shorter - share * shorter[::-1])
        return [each * np.sqrt(np.prod(1 - self.partial[lags:] ** 2, axis=0)) for lags, each in enumerate(found)]


@dataclass(frozen=True, eq=False)
class Law:
    """The law of series that are seen with noise.

    Parameters
    ----------
    parts
        The processes of which a series is the sum.
    noise
        The variance of the noise of each series.
    """

    parts: tuple[Process, ...]
    noise: Floats

    def again(self, draws: Floats, left: Floats, counts: Floats) -> Law:
        """Return the law under which draws with this one are most likely.

        Parameters
        ----------
        draws
            The draws: draw, part, series, time.
        left
            The mean square of the difference between the observed entries of each series and the draws.
        counts
            The number of observed entries of each series.
        """
        parts = parts_of(draws, counts, [part.memory for part in self.parts])
        own = sum(part.own for part in parts)
        noise = self.noise * (left / self.noise) ** FURTHER
        return Law(parts, np.clip(noise, LEAST_NOISE * own, MOST_NOISE * own))


def parts_of(draws: Floats, counts: Floats, memories: Sequence[Memory]) -> tuple[Process, ...]:
    """Return the processes under which draws of parts are most likely: draw, part, series, time."""
    return tuple(Process.of(draws[:, place], counts, memory) for place, memory in enumerate(memories))


def apart(draws: Floats, parts: int) -> Floats:
    """Return draws of series as those of one or two parts, the slow one first."""
    slow: Floats = uniform_filter1d(draws, NEARBY, axis=-1)
    found: Floats = draws[:, None] if parts == 1 else np.stack([slow, draws - slow], axis=1)
    return found


def _correlation(ahead: Floats, behind: Floats) -> Floats:
    """Return the correlation of each series with itself a step before, within its bounds."""
    together = 2 * np.einsum("dst,dst->s", ahead, behind)
    alone = np.einsum("dst,dst->s", ahead, ahead) + np.einsum("dst,dst->s", behind, behind)
    found = np.divide(together, alone, out=np.zeros_like(together), where=alone > 0)
    clipped: Floats = np.clip(found, -MOST_PERSISTENT, MOST_PERSISTENT)
    return clipped


def _shared(correlations: Floats, counts: Floats, own: bool) -> Floats:
    """Return correlations as far as the data can tell them from each other, or the mean for all, and from 0.

    On Fisher's scale, one from n entries has an error of variance 1 / n.

    >>> _shared(np.array([0.5, 0.52, 0.54]), np.full(3, 100), own=True).round(2).tolist()
    [0.52, 0.52, 0.52]
    >>> _shared(np.array([0.1, 0.5, 0.9]), np.full(3, 10_000), own=True).round(2).tolist()
    [0.1, 0.5, 0.9]
    """
    places, weights = np.arctanh(correlations), np.maximum(counts, 1)
    mean = float(np.average(places, weights=weights))
    mean *= max(1 - 1 / max(mean**2 * float(weights.sum()), 1.0), 0.0)
    between = max(float(np.average((places - mean) ** 2 - 1 / weights, weights=weights)), 0.0) if own else 0.0
    found: Floats = np.tanh(mean + between / (between + 1 / weights) * (places - mean))
    return found


def _shrunk(covariance: Floats, times: float) -> Floats:
    """Return a covariance with correlations that are multiplied by a number, which minimises their expected error.

    That of a correlation c from T times is (1 - c^2)^2 / T (Ledoit and Wolf).
    """
    spread = np.sqrt(np.diag(covariance))
    spread = np.where(spread > 0, spread, 1.0)
    correlation = covariance / spread[:, None] / spread
    np.fill_diagonal(correlation, 0.0)
    squares = float((correlation**2).sum())
    errors = float(((1 - correlation**2) ** 2).sum() - len(spread)) / times
    weight = min(max(errors / squares, LEAST_SHRINKAGE), 1.0) if squares > 0 else 1.0
    correlation *= 1 - weight
    np.fill_diagonal(correlation, 1.0)
    shrunk: Floats = correlation * spread[:, None] * spread
    return shrunk
