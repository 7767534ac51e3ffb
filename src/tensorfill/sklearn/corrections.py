"""Models of the residuals of the projection in a column, given the other columns of the same row.

Each is `fit` to filled rows, in which the column has the prediction of the projection, and to the residuals of the
column where it is observed. It then predicts the residuals of other rows. `CORRECTIONS` has them by name; others can be
added there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import KNeighborsRegressor

from .._support.types import Floats

NEIGHBOURS = 15

TREES = 50
"""The largest number of trees of a forest."""

FEW_TREES = 10
"""The number of trees by which a forest is judged on held-out rows."""

ROWS_OF_A_LEAF = 3
"""The least number of rows of a leaf. Trees whose leaves are single rows follow the noise of each, take longer to grow,
and differ more, so that more of them are needed."""

ROWS_FOR_WIDTH = 100
"""The median distance is that of all rows from about this many of them, since it need not be exact."""


class Correction(ABC):
    """The interface of a regression, as in scikit-learn."""

    @abstractmethod
    def fit(self, X: Floats, y: Floats) -> Self:
        """Learn from rows and their targets."""

    @abstractmethod
    def predict(self, X: Floats) -> NDArray[np.float64]:
        """Return the predictions at other rows."""

    def judged(self, X: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the predictions, and the variance between random members whose mean they are; zero without these."""
        return self.predict(X), np.zeros(len(X))


Maker = Callable[[int, int, int], Correction]


class NearestRows(Correction):
    """The mean residual of the nearest rows, weighted by the inverse of their distance."""

    def fit(self, X: Floats, y: Floats) -> Self:
        """Keep the rows."""
        self._model = KNeighborsRegressor(min(NEIGHBOURS, len(X)), weights="distance").fit(X, y)
        return self

    def predict(self, X: Floats) -> NDArray[np.float64]:
        """Return the means."""
        return np.asarray(self._model.predict(X))


class Kernel(Correction):
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
        self._width = float(np.median(squares[:: -(-len(X) // ROWS_FOR_WIDTH)])) or 1.0
        self._rows = X
        kernel = np.exp(squares / -self._width)
        kernel.flat[:: len(X) + 1] += self.ridge
        self._weights = cho_solve(cho_factor(kernel, overwrite_a=True, check_finite=False), y, check_finite=False)
        return self

    def predict(self, X: Floats) -> NDArray[np.float64]:
        """Return the weighted sums."""
        kernel = np.exp(-euclidean_distances(X, self._rows, squared=True) / self._width)
        return np.asarray(kernel @ self._weights)


class OfTheColumn(Correction):
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

    def judged(self, X: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the corrections, and the variance between members of the model."""
        predicted, spread = self.model.judged(np.delete(X, self.column, axis=1))
        return predicted - X[:, self.column], spread


class Forest(Correction):
    """Extremely randomised trees.

    Parameters
    ----------
    trees
        The number of trees.
    seed
        Decides their random numbers.
    """

    def __init__(self, trees: int, seed: int) -> None:
        self.trees = trees
        self.seed = seed

    def fit(self, X: Floats, y: Floats) -> Self:
        """Grow the trees."""
        forest = ExtraTreesRegressor(self.trees, min_samples_leaf=ROWS_OF_A_LEAF, random_state=self.seed)
        self._members = forest.fit(X, y).estimators_
        return self

    def predict(self, X: Floats) -> NDArray[np.float64]:
        """Return the mean over the trees."""
        return np.asarray(self._predictions(X).mean(axis=0))

    def judged(self, X: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and the variance over the trees."""
        predictions = self._predictions(X)
        return predictions.mean(axis=0), predictions.var(axis=0, ddof=1)

    def _predictions(self, X: Floats) -> NDArray[np.float64]:
        rows = np.ascontiguousarray(X, dtype=np.float32)  # as trees need them
        return np.stack([tree.predict(rows, check_input=False) for tree in self._members])


CORRECTIONS: dict[str, list[Maker]] = {
    "neighbours": [lambda seed, column, trees: NearestRows()],
    "kernel": [
        lambda seed, column, trees: Kernel(1.0),
        lambda seed, column, trees: Kernel(0.1),
        lambda seed, column, trees: OfTheColumn(Kernel(0.3), column),
    ],
    "trees": [lambda seed, column, trees: OfTheColumn(Forest(trees, seed), column)],
}
"""How to create each kind of correction, from a seed, the column that it is for and the number of trees, if it has any.
A kind may have several settings, which are combined like kinds."""
