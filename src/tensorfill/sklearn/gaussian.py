"""The mean and the covariance of the columns of a table with gaps: every column regressed on all others at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._support.clock import Clock
from .._support.types import Booleans, Floats

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
        patterns, which = np.unique(~np.isnan(table), axis=0, return_inverse=True)
        # Patterns with about as many gaps have systems of about the same size.
        by_gaps = np.argsort((~patterns).sum(axis=1), kind="stable")
        patterns, which = patterns[by_gaps], np.argsort(by_gaps)[which.reshape(-1)]
        order = np.argsort(which, kind="stable")
        ends = np.searchsorted(which[order], np.arange(len(patterns) + 1))
        columns = table.shape[1]
        size = max(1, BUDGET // columns**2)
        for _ in range(steps):
            known = np.where(np.isnan(table), 0.0, table - found.mean)
            precision = np.linalg.inv(found.covariance)
            pulls = known @ precision
            left = ridge * np.eye(columns)
            for first in range(0, len(patterns), size):
                clock.check()
                last = min(first + size, len(patterns))
                rows = order[ends[first] : ends[last]]
                gaps, variances = _given_the_rest(precision, patterns[first:last])
                mine, places = which[rows] - first, (rows[:, None], gaps[which[rows] - first])
                known[places] -= (variances[mine] @ pulls[places][:, :, None])[:, :, 0]
                counts = np.diff(ends[first : last + 1])
                cells = gaps[:, :, None] * columns + gaps[:, None, :]
                weighted = counts[:, None, None] * variances
                left += np.bincount(cells.ravel(), weighted.ravel(), columns**2).reshape(columns, columns)
            shift = known.mean(axis=0)
            covariance = ((known - shift).T @ (known - shift) + left) / (len(table) + ridge)
            found = Gaussian(found.mean + shift, (covariance + covariance.T) / 2)
        return found


def _given_the_rest(precision: Floats, patterns: Booleans) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the missing columns of each pattern of observed entries, and their covariance given the others.

    With the precision P, the inverse of the covariance of all columns, that is P_mm^-1, and the mean of the missing
    entries is - P_mm^-1 P_mo d_o for the differences d_o of the observed ones from their mean. There are most often
    fewer missing entries than observed ones, so these systems are small. All have the size of the largest: patterns
    with fewer gaps have some observed columns too, with zeros.
    """
    most = int((~patterns).sum(axis=1).max(initial=0))
    columns = np.argsort(patterns, axis=1, kind="stable")[:, :most]
    missing = ~np.take_along_axis(patterns, columns, axis=1)
    both = missing[:, :, None] & missing[:, None, :]
    blocks = np.where(both, precision[columns[:, :, None], columns[:, None, :]], np.eye(most))
    return columns, np.where(both, np.linalg.inv(blocks), 0.0)
