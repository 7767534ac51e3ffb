"""The problem and the held-out entries on the workers, as NORT and its search see them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._support.fingerprints import fingerprint
from .._support.types import Floats
from ..algebra.component import LowRank
from ..algebra.storage import Storage
from ..choosing.holdout.splits import ENOUGH
from ..losses import Loss
from ..methods.folding import starting_components
from ..methods.loop import ResumableSolver
from ..models import Model
from .counting import CountingSolver
from .crew import Crew
from .cutting import Cut
from .part import FITTED
from .rows import Rows, Seen
from .storage import SpreadPoint, SpreadStorage
from .working import WorkingModel

if TYPE_CHECKING:
    from ..methods.objective import Objective


@dataclass(frozen=True)
class SpreadObservations:
    """The shape, type and number of observations that are on the workers.

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
        """The fraction of the tensor's entries that are observed."""
        return self.count / math.prod(self.shape)


@dataclass(frozen=True, eq=False)
class SpreadProblem:
    """The smooth part of the objective, whose entries are on the workers: an `Objective` of NORT.

    Parameters
    ----------
    observations, loss
        The shape, type and number of the entries, and how predictions are compared with them.
    crew, cut
        The workers, and how the tensor is cut.
    which
        Which entries to use: the fitted ones, or all.
    fingerprint
        Identifies the problem, however it is cut.
    """

    observations: SpreadObservations
    loss: Loss
    crew: Crew
    cut: Cut
    which: str
    fingerprint: str

    here: ClassVar[None] = None
    """None, because no entry is on this machine."""

    roughness: ClassVar[None] = None
    """None, because graphs relate slices of different parts."""

    offset: ClassVar[None] = None
    """None, because nothing is added to predictions."""

    @classmethod
    def of(
        cls, crew: Crew, cut: Cut, which: str, loss: Loss, count: int, dtype: np.dtype[Any], known_as: str = ""
    ) -> SpreadProblem:
        """Return the problem of `count` entries on the workers."""
        own = fingerprint(which, loss, cut.shape, count, str(dtype), known_as)
        return cls(SpreadObservations(cut.shape, dtype, count), loss, crew, cut, which, own)

    @property
    def curvature(self) -> float:
        """The Lipschitz constant rho of the gradient."""
        return float(self.loss.curvature)

    @cached_property
    def norm(self) -> float:
        """The norm of the observed values."""
        return math.sqrt(self.crew.total("squared_norm", self.which))

    @cached_property
    def slope_at_zero(self) -> float:
        """The norm of the gradient at zero."""
        return math.sqrt(self.crew.total("squared_slope", self.which))

    def watched(self, solver: ResumableSolver) -> CountingSolver:
        """Return a solver that also measures the traffic between machines."""
        return CountingSolver(solver, self.crew)

    def at_work(self) -> AbstractContextManager[None]:
        """Return a context that frees the vectors of a run on the workers when it ends."""
        return self.crew.at_work()

    def value(self, seen: Seen) -> float:
        """Return the sum of the losses for values at the entries."""
        if seen.inner is not None:
            return seen.inner.loss
        return float(self.crew.total("value", self.which, seen.name))

    def gradient(self, seen: Seen, scale: float = 1.0, *, overwrite: bool = False) -> Seen:
        """Return `scale` times the gradient of the losses at the entries, always beside `seen`."""
        slope = Seen(self.crew, seen.dtype)
        self.crew.later("slope", slope.name, self.which, seen.name, scale)
        return slope

    def keeps_observed_columns(self, kind: str, modes: tuple[int, ...]) -> bool:
        """Return False: workers keep all columns."""
        return False

    def storage_for(self, kind: str, modes: tuple[int, ...]) -> SpreadStorage:
        """Return the storage on the workers for these modes, which is sparse."""
        if kind not in ("auto", "sparse"):
            raise ValueError(f"the workers of a cluster have storage 'sparse' only, but {kind!r} was given.")
        return SpreadStorage(self.crew, self.cut, self.which, modes)

    def components_of(
        self, start: Model | None, modes: Sequence[int], storage: Storage[Seen, Rows]
    ) -> list[LowRank[Rows]]:
        """Return one component for each mode, on the workers: that of `start`, or zero if it has none."""
        if isinstance(start, WorkingModel) and start.crew is self.crew:
            found = {part.mode: part for part in start.components}
            dtype = self.observations.dtype
            return [found[mode] if mode in found else storage.zero(mode, dtype) for mode in modes]
        own = self.storage_for("sparse", tuple(modes))
        return [own.taken(part) for part in starting_components(start, self.observations, modes)]

    def model_of(self, point: SpreadPoint, storage: Storage[Seen, Rows]) -> WorkingModel:
        """Return a point as a model."""
        return WorkingModel(self.crew, self.cut, point.components, point.weights)


if TYPE_CHECKING:
    # For the type checker: without this line, a missing method would only be reported where NORT is called.
    _IS_AN_OBJECTIVE: type[Objective[Seen, Rows]] = SpreadProblem


@dataclass(frozen=True, eq=False)
class SpreadSplit:
    """The fitted and the held-out entries on the workers.

    Parameters
    ----------
    problem
        The problem of the fitted entries.
    held_out
        The held-out values, one part after the other.
    """

    problem: SpreadProblem
    held_out: SpreadValues

    @property
    def held_out_values(self) -> Floats:
        """The held-out values, one part after the other."""
        return self.held_out.values

    def at(self, mu: float) -> SpreadProblem:
        """Return the problem for any weight of graphs, since there are none."""
        return self.problem

    def losses(self, model: Model) -> Floats:
        """Return the loss of a model at each held-out entry, one part after the other."""
        given = [(each,) for each in working(model).told]
        return np.concatenate(self.problem.crew.ask_each("held_out_losses", given))

    def training_losses(self, model: Model) -> Floats:
        """Return the loss of a model at some of the fitted entries."""
        every = max(1, len(self.problem.observations) // ENOUGH)
        given = [(FITTED, each, every) for each in working(model).told]
        return np.concatenate(self.problem.crew.ask_each("some_losses", given))


@dataclass(frozen=True)
class SpreadValues:
    """The values of held-out entries whose coordinates are on the workers."""

    values: Floats


def working(model: Model) -> WorkingModel:
    """Return a model as a `WorkingModel`, which it must be in a run on workers."""
    if not isinstance(model, WorkingModel):
        raise TypeError(f"a model of a run on workers is needed, but {model!r} was given.")
    return model
