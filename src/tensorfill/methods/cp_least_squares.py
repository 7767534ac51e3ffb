"""Least squares for the rows of each factor of a sum of outer products, over the observed entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._support.clock import check_time
from .._support.types import Floats
from ..algebra.cp_entries import EntriesByIndex
from ..models import CPModel
from ..observations import Observations
from .tucker_least_squares import LEAST_SQUARES, mirrored, variance_of

LEAST_RIDGE = 1e-10
"""The least ridge, relative to the mean diagonal of the normal matrix."""

LEAST_SQUARE = float(np.sqrt(np.finfo(float).tiny))
"""The least mean square of a column, so that the ridge of a zero term is finite."""

MOST_AT_A_TIME = 2**20
"""The numbers of the normal matrices of rows that are solved for together, so that copies of all of them are never
needed."""


class CPLeastSquares:
    """Least squares for a CP model on the observed entries, one factor at a time.

    The rows of a factor are shrunk to zero according to the noise: their ridge is the variance of the residuals divided
    by the mean square of each column.

    Parameters
    ----------
    observations
        The entries to fit.
    start
        The starting point.
    entries
        The entries by index, if they have been ordered already.
    """

    def __init__(self, observations: Observations, start: CPModel, entries: EntriesByIndex | None = None) -> None:
        self._shape, self._dtype = observations.shape, observations.dtype
        self._entries = EntriesByIndex(observations.coords, self._shape) if entries is None else entries
        self._values = observations.values.astype(np.float64, copy=False)
        self._total = float(self._values @ self._values)
        self._factors: list[Floats] = [factor.astype(np.float64) for factor in start.balanced_factors()]
        residuals = self._values - start.predict(observations.coords)
        self.sum_of_squares = float(residuals @ residuals)

    @property
    def variance(self) -> float:
        """The variance of the residuals."""
        return variance_of(self.sum_of_squares, len(self._values), sum(factor.size for factor in self._factors))

    def model(self) -> CPModel:
        """Return the current model, in the precision of the observations."""
        model = CPModel.normalised(self._factors)
        return CPModel(
            self._shape, model.weights.astype(self._dtype), [factor.astype(self._dtype) for factor in model.factors]
        )

    def state(self) -> dict[str, Any]:
        """Return the factors and the residuals, as arrays that later sweeps do not change."""
        return {"factors": list(self._factors), "left": self.sum_of_squares}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the factors and residuals of a state."""
        self._factors, self.sum_of_squares = list(state["factors"]), state["left"]

    def sweep(self) -> None:
        """Solve for the rows of every factor."""
        if not self._factors[0].size:
            return
        for mode in range(len(self._shape)):
            check_time()
            self._fit_rows(mode)
        self._factors = CPModel.normalised(self._factors).balanced_factors()

    def _fit_rows(self, mode: int) -> None:
        factor = self._factors[mode]
        lower, rhs = self._entries.normal_equations(self._values, self._factors, mode)
        squares = np.mean(factor**2, axis=0)
        ridge = self.variance / np.maximum(squares, LEAST_RIDGE * squares.max(initial=0.0) + LEAST_SQUARE)
        solution, left, each = np.empty_like(factor), 0.0, max(1, MOST_AT_A_TIME // factor.shape[1] ** 2)
        for first in range(0, len(factor), each):
            rows = slice(first, first + each)
            gram = mirrored(lower[rows])
            solution[rows] = _solved(gram, rhs[rows], ridge)
            predicted = np.matmul(gram, solution[rows, :, None])[..., 0]
            left += float(np.vdot(solution[rows], predicted - 2 * rhs[rows]))
        self.sum_of_squares = max(self._total + left, LEAST_SQUARES * self._total)
        self._factors[mode] = solution


def _solved(gram: Floats, rhs: Floats, ridge: Floats) -> Floats:
    """Return the solutions of normal equations with a ridge for each term."""
    terms = len(ridge)
    least = LEAST_RIDGE * np.trace(gram, axis1=1, axis2=2) / terms
    damped = gram + (ridge + np.where(least > 0, least, 1.0)[:, None])[:, None, :] * np.eye(terms)
    return np.asarray(np.linalg.solve(damped, rhs[..., None])[..., 0])
