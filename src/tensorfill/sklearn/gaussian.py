"""The mean and the covariance of the columns of a table with gaps: every column regressed on all others at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._support.clock import Clock
from .._support.types import Floats

BUDGET = 2**21
"""The number of elements of linear systems held at a time, so that memory does not grow with the number of rows."""


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Rows with a normal distribution.

    Parameters
    ----------
    mean
        The mean of each column.
    covariance
        The covariance of the columns.
    """

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]

    @classmethod
    def independent(cls, table: Floats) -> Gaussian:
        """Return independent columns with the means of a table, or 0, and variance 1."""
        counts = np.maximum((~np.isnan(table)).sum(axis=0), 1)
        return cls(np.nansum(table, axis=0) / counts, np.eye(table.shape[1]))

    def fitted(self, table: Floats, ridge: float, steps: int, clock: Clock | None = None) -> Gaussian:
        """Return the distribution after some steps of expectation maximisation.

        In each step the gaps are filled with their mean given the observed entries of their row. The mean and
        covariance are then those of the filled table, plus the variance of the filled entries. Iterated regressions
        that treat filled entries as observed omit that variance.

        Parameters
        ----------
        table
            The table; NaN is missing.
        ridge
            The number of further rows of independent columns with variance 1 that are assumed, which shrinks the
            covariance towards the identity. It is the ridge of all the regressions.
        steps
            The number of steps.
        clock
            Raises `TimeUp` when it expires.
        """
        found, clock = self, clock or Clock()
        seen = ~np.isnan(table)
        patterns, which = np.unique(seen, axis=0, return_inverse=True)
        which = which.reshape(-1)
        order = np.argsort(which, kind="stable")
        columns = table.shape[1]
        size = max(1, BUDGET // columns**2)
        ends = np.searchsorted(which[order], np.arange(len(patterns) + 1))
        for _ in range(steps):
            filled = np.zeros(table.shape)
            left = ridge * np.eye(columns)
            for first in range(0, len(patterns), size):
                clock.check()
                some = patterns[first : first + size]
                rows = order[ends[first] : ends[min(first + size, len(patterns))]]
                gains = found._gains(some)
                known = np.where(seen[rows], table[rows] - found.mean, 0.0)
                filled[rows] = (gains[which[rows] - first] @ known[:, :, None])[:, :, 0]
                counts = np.bincount(which[rows] - first, minlength=len(some))
                left += counts.sum() * found.covariance - np.tensordot(counts, gains, 1) @ found.covariance
            shift = filled.mean(axis=0)
            covariance = ((filled - shift).T @ (filled - shift) + left) / (len(table) + ridge)
            found = Gaussian(found.mean + shift, (covariance + covariance.T) / 2)
        return found

    def _gains(self, patterns: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return, for each pattern of observed entries, the matrix that maps them to the mean of all entries."""
        both = patterns[:, :, None] & patterns[:, None, :]
        # Ones on the diagonal at missing entries give a batch of systems of the same size.
        systems = np.where(both, self.covariance, np.eye(len(self.mean)))
        inverses = np.where(both, np.linalg.inv(systems), 0.0)
        return np.asarray(self.covariance @ inverses)
