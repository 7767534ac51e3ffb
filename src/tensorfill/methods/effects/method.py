"""The mean and the effects of each index alone, as a method: what centring leaves is predicted as zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...models import Model
from ...models.folded import nothing
from ..base import Method, Progress, Solver
from ..problem import Problem


@dataclass(frozen=True, kw_only=True)
class Effects(Method):
    """The mean and the effects alone: what centring leaves is predicted as zero.

    Parameters
    ----------
    max_iter, tol
        As in `Method`; nothing depends on them.

    Examples
    --------
    >>> import tensorfill
    >>> sums = np.add.outer(np.arange(8.0), 10 * np.arange(6.0))
    >>> sums[2, 3] = np.nan
    >>> fit = tensorfill.complete(sums, method=Effects(), centre=True, smooth=None, rng=0)
    >>> round(float(fit.filled()[2, 3]), 1)
    32.0
    """

    name: ClassVar[str] = "effects"
    stages: ClassVar[frozenset[str]] = frozenset({"centre"})

    max_iter: int = 1

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that stays at zero."""
        return _AtRest(problem)


class _AtRest:
    """A solver that stays at zero."""

    def __init__(self, problem: Problem) -> None:
        self._model = nothing(problem.observations.shape, problem.observations.dtype)
        self._objective = problem.value(np.zeros_like(problem.observations.values))

    def progress(self) -> Progress:
        return Progress(self._objective, float("nan"), self._model.ranks)

    def step(self) -> None:
        pass

    def model(self) -> Model:
        return self._model
