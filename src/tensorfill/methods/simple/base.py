"""What simple answers have in common: they are made at once, so that there is nothing to iterate."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...models import Model
from ..base import Method, Progress, Solver
from ..problem import Problem


@dataclass(frozen=True, kw_only=True)
class Simple(Method):
    """A method whose answer is made at once.

    Parameters
    ----------
    max_iter, tol
        As in `Method`; nothing depends on them.
    """

    stages: ClassVar[frozenset[str]] = frozenset({"centre", "smooth"})
    descends: ClassVar[bool] = False

    max_iter: int = 2

    @abstractmethod
    def answer(self, problem: Problem) -> Model:
        """Return the answer."""

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that stays at the answer."""
        return _AtRest(problem, self.answer(problem))


class _AtRest:
    """A solver that stays where it is."""

    def __init__(self, problem: Problem, model: Model) -> None:
        self._model = model
        self._objective = problem.value(model.predict(problem.observations.coords))

    def progress(self) -> Progress:
        return Progress(self._objective, float("nan"), self._model.ranks)

    def step(self) -> None:
        pass

    def model(self) -> Model:
        return self._model
