"""Rows with one of their entries left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._support.types import Floats
from .projection import Projection

LEAST_LEFT = 1e-9
"""The least share of an entry that the others of its row leave undetermined, to avoid dividing by rounding errors."""


class LeftOut:
    """Rows filled by a projection, as if one column had not been observed.

    A model of a column needs the other columns as its features, with their gaps filled. If they were filled using the
    observed entry that is to be predicted, the features would leak it. So the entry is left out first. For z = M^-1
    W_o^T d_o, with M = noise I + W_o^T W_o and d = x - mean, leaving out the entry j changes z by

        - M^-1 w_j (d_j - w_j^T z) / (1 - w_j^T M^-1 w_j)

    so that no further system is solved.

    Parameters
    ----------
    projection
        The projection that fills the rows.
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
        """Return the filled rows, with one column predicted from the others only."""
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
        """Return the difference of each observed entry from its prediction by the others; zero where it is missing."""
        gains = self._inverses @ self.projection.loadings.T
        open_share = 1 - np.einsum("nrc,cr->nc", gains, self.projection.loadings)[self._which]
        wrong = self._known - self._scores @ self.projection.loadings.T
        return np.where(self.seen, wrong / np.maximum(open_share, LEAST_LEFT), 0.0)
