"""Rows as they look without one of their entries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._support.types import Floats
from .projection import Projection

LEAST_LEFT = 1e-9
"""The share of an entry that the others of its row leave open is at least this, so that rounding is not divided by."""


class LeftOut:
    """Rows filled by a projection, each as if one column of it had not been observed.

    A model of a column needs the other columns as its features, with their gaps filled. If these were filled from the
    observed entry that is to be predicted, the features would know it, and those of a row that lacks it would not. So
    the entry is left out first. For z = M^-1 W_o^T d_o, with M = noise I + W_o^T W_o and d = x - mean, leaving out the
    entry j changes z by

        - M^-1 w_j (d_j - w_j^T z) / (1 - w_j^T M^-1 w_j)

    so that no further system is solved.

    Parameters
    ----------
    projection
        How rows are filled.
    rows
        The rows; NaN is missing.
    """

    def __init__(self, projection: Projection, rows: Floats) -> None:
        self.projection = projection
        self.seen = ~np.isnan(rows)
        self.rows = rows
        self._known = np.where(self.seen, rows - projection.mean, 0.0)
        self._inverses, self._which = projection.inverses(rows)
        right = self._known @ projection.loadings
        self._scores = (self._inverses[self._which] @ right[:, :, None])[:, :, 0]

    def without(self, column: int) -> NDArray[np.float64]:
        """Return the filled rows, with what the projection predicts in one column from the others only."""
        loading = self.projection.loadings[column]
        gains = (self._inverses @ loading)[self._which]
        wrong = self._known[:, column] - self._scores @ loading
        change = np.where(self.seen[:, column], wrong / np.maximum(1 - gains @ loading, LEAST_LEFT), 0.0)
        scores = self._scores - gains * change[:, None]
        predicted = self.projection.mean + scores @ self.projection.loadings.T
        filled = np.where(self.seen, self.rows, predicted)
        filled[:, column] = predicted[:, column]
        return np.asarray(filled)

    def errors(self) -> NDArray[np.float64]:
        """Return how far each observed entry is from what the others of its row predict; zero where it is missing."""
        gains = self._inverses @ self.projection.loadings.T
        open_share = 1 - np.einsum("nrc,cr->nc", gains, self.projection.loadings)[self._which]
        wrong = self._known - self._scores @ self.projection.loadings.T
        return np.where(self.seen, wrong / np.maximum(open_share, LEAST_LEFT), 0.0)
