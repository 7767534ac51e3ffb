"""Models of the residuals of the projection in a column, given the other columns of the same row.

Each is `fit` to filled rows, in which the column has the prediction of the projection, and to the residuals of the
column where it is observed. It then predicts the residuals of other rows. `CORRECTIONS` has them by name; others can be
added there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import KNeighborsRegressor

from .._support.types import Floats

NEIGHBOURS = 15
TREES = 50


class Correction(Protocol):
    """The interface of a regression, as in scikit-learn."""

    def fit(self, X: Floats, y: Floats) -> Any:
        """Learn from rows and their targets."""

    def predict(self, X: Floats) -> NDArray[np.float64]:
        """Return the predictions at other rows."""


Maker = Callable[[int, int], Correction]


class NearestRows:
    """The mean residual of the nearest rows, weighted by the inverse of their distance."""

    def fit(self, X: Floats, y: Floats) -> Self:
        """Keep the rows."""
        self._model = KNeighborsRegressor(min(NEIGHBOURS, len(X)), weights="distance").fit(X, y)
        return self

    def predict(self, X: Floats) -> NDArray[np.float64]:
        """Return the means."""
        return np.asarray(self._model.predict(X))


class Kernel:
    """Ridge regression with a Gaussian kernel, whose width is the median distance of the rows.

    Parameters
    ----------
    ridge
        The ridge; the kernel has ones on its diagonal.
    """

    def __init__(self, ridge: float) -> None:
        self.ridge = ridge

    def fit(self, X: Floats, y: Floats) -> Self:
        """Solve for the weights of the rows."""
        squares = euclidean_distances(X, squared=True)
        self._width = float(np.median(squares)) or 1.0
        self._rows = X
        self._weights = np.linalg.solve(np.exp(-squares / self._width) + self.ridge * np.eye(len(X)), y)
        return self

    def predict(self, X: Floats) -> NDArray[np.float64]:
        """Return the weighted sums."""
        kernel = np.exp(-euclidean_distances(X, self._rows, squared=True) / self._width)
        return np.asarray(kernel @ self._weights)


class OfTheColumn:
    """A model of the column itself from the other columns, instead of the residuals of the projection.

    Where the projection is poor, its residuals are as hard to learn as the column itself.

    Parameters
    ----------
    model
        The model.
    column
        The column in which the features have the prediction of the projection.
    """

    def __init__(self, model: Correction, column: int) -> None:
        self.model = model
        self.column = column

    def fit(self, X: Floats, y: Floats) -> Self:
        """Learn the column."""
        self.model.fit(np.delete(X, self.column, axis=1), X[:, self.column] + y)
        return self

    def predict(self, X: Floats) -> NDArray[np.float64]:
        """Return the corrections of the projection."""
        return np.asarray(self.model.predict(np.delete(X, self.column, axis=1)) - X[:, self.column])


def _trees(seed: int, column: int) -> Correction:
    return OfTheColumn(ExtraTreesRegressor(TREES, random_state=seed), column)


CORRECTIONS: dict[str, list[Maker]] = {
    "neighbours": [lambda seed, column: NearestRows()],
    "kernel": [
        lambda seed, column: Kernel(1.0),
        lambda seed, column: Kernel(0.1),
        lambda seed, column: OfTheColumn(Kernel(0.3), column),
    ],
    "trees": [_trees],
}
"""How to create each kind of correction, from a seed and the column that it is for. A kind may have several settings,
which are combined like kinds."""
