"""Series that follow one autoregression with innovations that are correlated between series, seen with noise.

    x[t] = a x[t - 1] + e[t],   e[t] ~ N(0, Q),   y[t] = x[t] + noise,   noise of series i ~ N(0, r_i)

The series of x together have a precision that is a product of a band in time and of Q^-1 between series. Given what is
observed of y, the mean of x solves

    (B' Q^-1 B + H' R^-1 H) x = H' R^-1 y,   (B x)[t] = x[t] - a x[t - 1],

and a draw of x solves the same with a random right-hand side of this covariance. Conjugate gradients solve it in a few
steps: the smoother of each series by itself, a band of width one, is the preconditioner. A step costs n^2 T operations
for n series of T times, where a Kalman filter of the same model takes n^3 T.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded

from ..._support.clock import check_time
from ..._support.types import Booleans, Floats

MOST_STEPS = 200
"""The largest number of steps of conjugate gradients."""

MOST_PERSISTENT = 0.9995
"""The largest coefficient of the autoregression. With 1 it would have no mean to return to."""

LEAST_NOISE, MOST_NOISE = 0.01, 10.0
"""The bounds of the variance of the noise, relative to that of the innovations of its series."""

FURTHER = 1.5
"""Expectation maximisation changes a small noise slowly. Steps in its logarithm are this many times as long."""

LEAST_SHRINKAGE = 0.005
"""The least weight of no correlation in what the innovations are correlated by."""


@dataclass(frozen=True, eq=False)
class Process:
    """The law of the series.

    Parameters
    ----------
    persistence
        The coefficient a, below 1.
    covariance
        The covariance Q of the innovations.
    noise
        The variance of the noise of each series.
    """

    persistence: float
    covariance: Floats
    noise: Floats

    @classmethod
    def of(cls, draws: Floats, left: Floats, earlier: Process | None = None) -> Process:
        """Return the law under which draws of the series are most likely, with correlations shrunk by their errors.

        Parameters
        ----------
        draws
            Some draws of all series: draw, series, time.
        left
            The mean square of the difference between the observed entries of each series and the draws.
        earlier
            The law that they were drawn with; None if they are a guess.
        """
        ahead, behind = draws[..., 1:], draws[..., :-1]
        together, alone = (ahead * behind).sum(axis=(0, 2)), (behind**2).sum(axis=(0, 2))
        shares = np.divide(together, alone, out=np.zeros_like(alone), where=alone > 0)
        persistence = float(np.clip(shares.mean(), 0, MOST_PERSISTENT))
        innovations = ahead - persistence * behind
        covariance = np.mean(innovations @ innovations.transpose(0, 2, 1), axis=0) / innovations.shape[-1]
        # Fewer times tell of a pair with gaps, but there draws are shrunk already, by the steps before.
        covariance = _shrunk(covariance, innovations.shape[-1])
        own = np.diag(covariance)
        if earlier is not None:
            left = earlier.noise * (left / earlier.noise) ** FURTHER
        return cls(persistence, covariance, np.clip(left, LEAST_NOISE * own, MOST_NOISE * own))

    def innovations(self, x: Floats) -> Floats:
        """Return B x; the first time has the spread that all times have in the long run."""
        found: Floats = x.copy()
        found[..., 1:] -= self.persistence * x[..., :-1]
        found[..., 0] *= self._first
        return found

    def transposed(self, innovations: Floats) -> Floats:
        """Return B' times some innovations."""
        found: Floats = innovations.copy()
        found[..., 0] *= self._first
        found[..., :-1] -= self.persistence * innovations[..., 1:]
        return found

    @property
    def _first(self) -> float:
        return math.sqrt(1 - self.persistence**2)


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


class Posterior:
    """The series given what is observed of them.

    Parameters
    ----------
    process
        Their law.
    values, seen
        The observed values, with 0 elsewhere, and where they are: series, time.
    """

    def __init__(self, process: Process, values: Floats, seen: Booleans) -> None:
        self.process = process
        self._weights = np.where(seen, 1 / process.noise[:, None], 0.0)
        self._observed = self._weights * values
        precision = np.linalg.inv(process.covariance)
        self._precision = (precision + precision.T) / 2
        self._precondition = self._each_by_itself()

    def mean(self, near: Floats, error: float) -> Floats:
        """Return the mean, from a guess, to about this error relative to the spread of the series."""
        found: Floats = self._solved(self._observed[None], near[None], error)[0]
        return found

    def draws(self, near: Floats, error: float, rng: np.random.Generator) -> Floats:
        """Return as many independent draws as there are guesses."""
        root = np.linalg.cholesky(self._precision)
        moved: Floats = self.process.transposed(root @ rng.standard_normal(near.shape))
        moved += self._observed + np.sqrt(self._weights) * rng.standard_normal(near.shape)
        return self._solved(moved, near, error)

    def _times(self, x: Floats) -> Floats:
        """Return the precision times x."""
        found = self.process.transposed(self._precision @ self.process.innovations(x))
        found += self._weights * x
        return found

    def _each_by_itself(self) -> Callable[[Floats], Floats]:
        """Return the solution for the part of the precision that is within each series."""
        own, a = np.diag(self._precision)[:, None], self.process.persistence
        bands = np.zeros((2, *self._weights.shape))
        bands[1] = self._weights + own * (1 + a**2)
        bands[1, :, [0, -1]] -= own[:, 0] * a**2
        bands[0, :, 1:] = -own * a
        factor = cholesky_banded(bands.reshape(2, -1), overwrite_ab=True, check_finite=False)

        def solution(given: Floats) -> Floats:
            right = given.reshape(len(given), -1).T
            found: Floats = cho_solve_banded((factor, False), right, check_finite=False).T.reshape(given.shape)
            return found

        return solution

    def _solved(self, right: Floats, near: Floats, error: float) -> Floats:
        """Return the solution by conjugate gradients, from a guess.

        Around its mean, x has an expected squared length in this norm of one for each entry.
        """
        x = near
        left = right - self._times(x)
        step = ahead = self._precondition(left)
        length, goal = float(np.vdot(left, ahead)), error**2 * x.size
        for _ in range(MOST_STEPS):
            if length <= goal:
                break
            check_time()
            moved = self._times(step)
            along = length / float(np.vdot(step, moved))
            x, left = x + along * step, left - along * moved
            ahead = self._precondition(left)
            length, before = float(np.vdot(left, ahead)), length
            step = ahead + (length / before) * step
        return x
