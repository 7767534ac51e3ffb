"""The problem and the held-out entries on the workers, as NORT and its search see them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from .._support.fingerprints import fingerprint
from .._support.types import Floats
from ..algebra.storage import SparseStorage
from ..choosing.holdout.splits import ENOUGH, Split
from ..losses import Loss
from ..methods.base import Solver
from ..methods.problem import Problem
from ..models import FoldedLowRank, Model
from ..observations import Observations
from .counting import CountingSolver
from .crew import Crew
from .cutting import Cut
from .part import FITTED
from .rows import Rows, Seen, Slope
from .storage import SpreadStorage


@dataclass(frozen=True)
class SpreadObservations:
    """What is known here of observations that are on the workers.

    Parameters
    ----------
    shape, dtype
        The shape of the tensor and the type of the values.
    count
        The number of entries.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[np.floating]
    count: int

    def __len__(self) -> int:
        return self.count

    @property
    def ndim(self) -> int:
        """The order of the tensor."""
        return len(self.shape)

    @property
    def density(self) -> float:
        """The fraction of the tensor's entries that was observed."""
        return self.count / math.prod(self.shape)


@dataclass(frozen=True, eq=False)
class SpreadProblem(Problem):
    """The smooth part of the objective, whose entries are on the workers.

    Parameters
    ----------
    observations, loss
        What is known of the entries, and how predictions are compared with them.
    crew, cut
        The workers, and how the tensor is cut.
    which
        Which entries: those that are fitted, or all.
    fingerprint
        What tells the problem from others, however it is cut.
    """

    crew: Crew = field(kw_only=True)
    cut: Cut = field(kw_only=True)
    which: str = field(kw_only=True)
    fingerprint: str = field(kw_only=True)

    is_spread: ClassVar[bool] = True

    @classmethod
    def of(
        cls, crew: Crew, cut: Cut, which: str, loss: Loss, count: int, dtype: np.dtype[Any], known_as: str = ""
    ) -> SpreadProblem:
        """Return the problem of so many entries on the workers."""
        observations = cast(Observations, SpreadObservations(cut.shape, dtype, count))
        own = fingerprint(which, loss, cut.shape, count, str(dtype), known_as)
        return cls(observations, loss, crew=crew, cut=cut, which=which, fingerprint=own)

    @cached_property
    def norm(self) -> float:
        """The norm of the observed values."""
        return math.sqrt(self.crew.total("squared_norm", self.which))

    @cached_property
    def slope_at_zero(self) -> float:
        """The norm of the gradient at zero."""
        return math.sqrt(self.crew.total("squared_slope", self.which))

    def watched(self, solver: Solver) -> Solver:
        """Return a solver that also counts what it moves between machines."""
        return CountingSolver(solver, self.crew)

    def value(self, seen: Floats) -> float:
        """Return the sum of the losses of a point."""
        return cast(Seen, seen).loss

    def gradient(self, seen: Floats, scale: float = 1.0) -> Floats:
        """Return `scale` times the gradient, which workers compute when they need it."""
        return cast(Floats, Slope(cast(Seen, seen), scale))

    def sparse_storage(self, modes: tuple[int, ...]) -> SparseStorage:
        """Return the storage on the workers for these modes."""
        return cast(SparseStorage, SpreadStorage(self.crew, self.cut, self.which, modes))


@dataclass(frozen=True, eq=False)
class SpreadSplit(Split):
    """The entries to fit and the entries to score with, on the workers.

    Parameters
    ----------
    problem
        What is fitted.
    held_out
        The values of the entries to score with, one part after the other, in an object with `values`.
    """

    def predict(self, model: Model) -> Floats:
        """Refuse: held-out entries are scored where they are."""
        raise NotImplementedError("held-out entries on workers are scored there.")

    def losses(self, model: Model) -> Floats:
        """Return the loss of a model at each held-out entry, one part after the other."""
        crew, terms = self._spread.crew, told(self._spread, model)
        return np.concatenate(crew.ask_each("held_out_losses", [(each,) for each in terms]))

    def training_losses(self, model: Model) -> Floats:
        """Return the loss of a model at some of the fitted entries."""
        crew, terms = self._spread.crew, told(self._spread, model)
        every = max(1, len(self.problem.observations) // ENOUGH)
        return np.concatenate(crew.ask_each("some_losses", [(FITTED, each, every) for each in terms]))

    @property
    def _spread(self) -> SpreadProblem:
        return cast(SpreadProblem, self.problem)


@dataclass(frozen=True)
class HeldOut:
    """The values of held-out entries whose coordinates are on the workers."""

    values: Floats


def told(problem: SpreadProblem, model: Model) -> list[list[Any]]:
    """Return a model of NORT as each part is told of it."""
    if not isinstance(model, FoldedLowRank) or not all(isinstance(part.v, Rows) for part in model.components):
        raise TypeError(f"a model on the workers is needed, but {model!r} was given.")
    storage = cast(SpreadStorage, problem.sparse_storage(model.modes))
    return storage.terms(model.components, model.weights)
