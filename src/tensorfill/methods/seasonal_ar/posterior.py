"""What is known of series that follow a law, given noisy values of them.

    y[t] = sum of the parts x_k[t] + noise,   B_k x_k = innovations ~ N(0, Q_k),   noise of series i ~ N(0, r_i)

B_k is a band in time within each series, so all parts together have a precision that is a product of bands in time and
of Q_k^-1 between series. Given what is observed of y, the mean of x solves P x = S' H' R^-1 y with

    P = diag_k(B_k' Q_k^-1 B_k) + S' H' R^-1 H S,   S x = sum of the parts,

and a draw of x solves the same with a random right-hand side of the covariance P. Conjugate gradients solve it in a few
steps: the smoother of each series by itself, a narrow band, is the preconditioner. A step costs n^2 T operations for n
series of T times, where a Kalman filter of the same model takes n^3 T.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded

from ..._support.clock import check_time
from ..._support.types import Booleans, Floats
from .process import Law, Process

MOST_STEPS = 200
"""The largest number of steps of conjugate gradients."""


class Posterior:
    """The parts of series given what is observed of these.

    Parameters
    ----------
    law
        Their law.
    values, seen
        The observed values, with 0 elsewhere, and where they are: series, time.
    """

    def __init__(self, law: Law, values: Floats, seen: Booleans) -> None:
        self._parts = [ProcessProducts(process) for process in law.parts]
        self._weights = np.where(seen, 1 / law.noise[:, None], 0.0)
        self._observed = self._weights * values
        self._precondition = self._each_by_itself()

    def mean(self, near: Floats, error: float) -> Floats:
        """Return the mean of each part, from a guess, to about this error relative to the spread of the parts."""
        right = np.repeat(self._observed[None, None], len(self._parts), axis=1)
        found: Floats = self._solved(right, near[None], error)[0]
        return found

    def draws(self, near: Floats, error: float, rng: np.random.Generator) -> Floats:
        """Return as many independent draws as there are guesses: draw, part, series, time."""
        shape = near[:, 0].shape
        noisy = self._observed + np.sqrt(self._weights) * rng.standard_normal(shape)
        right = np.stack([noisy + part.draws(shape, rng) for part in self._parts], axis=1)
        return self._solved(right, near, error)

    def _times(self, x: Floats) -> Floats:
        """Return the precision times x."""
        observed = self._weights * x.sum(axis=1)
        return np.stack([part.precision_times(x[:, at]) + observed for at, part in enumerate(self._parts)], axis=1)

    def _each_by_itself(self) -> Callable[[Floats], Floats]:
        """Return the solution for the part of the precision that is within each series: a band, as parts take turns."""
        count, (series, times) = len(self._parts), self._weights.shape
        width = count * max(part.lags for part in self._parts)
        bands = np.zeros((width + 1, series, times, count))
        for at, part in enumerate(self._parts):
            for step, band in enumerate(part.bands(times)):
                bands[width - step * count, :, step:, at] = band
            for other in range(at + 1):
                bands[width - (at - other), :, :, at] += self._weights
        factor = cholesky_banded(bands.reshape(width + 1, -1), overwrite_ab=True, check_finite=False)

        def solution(given: Floats) -> Floats:
            right = given.transpose(2, 3, 1, 0).reshape(-1, len(given))
            found: Floats = cho_solve_banded((factor, False), right, check_finite=False)
            return np.ascontiguousarray(found.reshape(series, times, count, -1).transpose(3, 2, 0, 1))

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


class ProcessProducts:
    """The products of one process, for arrays of draw, series and time.

    Parameters
    ----------
    process
        The process.
    """

    def __init__(self, process: Process) -> None:
        *self._first, self._later = process.predictors
        self.lags = len(self._first)
        precision = np.linalg.inv(process.covariance)
        self._precision = (precision + precision.T) / 2

    def precision_times(self, x: Floats) -> Floats:
        """Return B' Q^-1 B x."""
        return self.transposed(self._precision @ self.innovations(x))

    def draws(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Return draws of normal numbers with the covariance B' Q^-1 B."""
        return self.transposed(np.linalg.cholesky(self._precision) @ rng.standard_normal(shape))

    def innovations(self, x: Floats) -> Floats:
        """Return B x."""
        found: Floats = x.copy()
        for lag in range(1, self.lags + 1):
            found[..., lag:] += self._later[lag][:, None] * x[..., :-lag]
        for time, row in enumerate(self._first):
            found[..., time] = (row[::-1].T * x[..., : time + 1]).sum(axis=-1)
        return found

    def transposed(self, innovations: Floats) -> Floats:
        """Return B' times some innovations."""
        found: Floats = innovations.copy()
        found[..., : self.lags] = 0
        for lag in range(1, self.lags + 1):
            found[..., self.lags - lag : -lag] += self._later[lag][:, None] * innovations[..., self.lags :]
        for time, row in enumerate(self._first):
            found[..., : time + 1] += row[::-1].T * innovations[..., time : time + 1]
        return found

    def bands(self, times: int) -> list[Floats]:
        """Return the diagonal of the precision within each series, and those above it: series, time.

        Products with vectors that are 1 at every few times have all of them, as the precision is a band.
        """
        apart = 2 * self.lags + 1
        own = np.diag(self._precision)[:, None]
        combs = np.zeros((apart, len(own), times))
        for first in range(apart):
            combs[first, :, first::apart] = 1
        found = own * self.transposed(self.innovations(combs))
        place = np.arange(times)
        return [found[place[: times - step] % apart, :, place[step:]].T for step in range(self.lags + 1)]
