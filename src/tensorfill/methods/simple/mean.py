"""The mean of all entries, as a method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._support.types import Floats
from ...losses import Loss, is_score
from ...models import CPModel, Model
from ..problem import Problem
from .base import Simple

LARGEST_SCORE = 50.0
"""The mean score of counts that are all zero, or of values of one kind only, is minus or plus this."""

HALVINGS = 60
"""How often the interval that holds the mean score is halved."""


@dataclass(frozen=True, kw_only=True)
class Mean(Simple):
    """The mean of all entries; for a loss of scores, the one score that fits all entries best.

    Parameters
    ----------
    max_iter, tol
        As in `Method`; nothing depends on them.

    Examples
    --------
    >>> from tensorfill import Observations
    >>> from tensorfill.losses import Square
    >>> seen = Observations([[0, 0], [1, 2]], [1.0, 3.0], (2, 3))
    >>> float(Mean().answer(Problem(seen, Square())).predict([[1, 1]])[0])
    2.0
    """

    def answer(self, problem: Problem) -> Model:
        """Return the mean everywhere."""
        shape, dtype = problem.observations.shape, problem.observations.dtype
        mean = mean_of(problem.observations.values, problem.loss)
        return CPModel(shape, np.array([mean], dtype), [np.ones((size, 1), dtype) for size in shape])


def mean_of(values: Floats, loss: Loss) -> float:
    """Return the mean of values; for a loss of scores, the score at which its slopes cancel, by bisection.

    >>> from tensorfill.losses import Poisson
    >>> round(mean_of(np.array([1.0, 3.0]), Poisson()), 6) == round(float(np.log(2)), 6)
    True
    """
    if not is_score(loss):
        return float(values.mean(dtype=np.float64))
    different, counts = np.unique(values.astype(np.float64), return_counts=True)

    def slope(score: float) -> float:
        return float(counts @ loss.derivative(np.full(len(different), score), different))

    low, high = -LARGEST_SCORE, LARGEST_SCORE
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return middle
