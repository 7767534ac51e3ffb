"""The contract of a method: its settings, its solver, and what is left to choose."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from .._support.checks import listed, real_number, whole_number
from .._support.clock import Clock
from .._support.journal import Draft
from .._support.memory import physical_bytes
from .._support.parallel import one_blas_thread
from .._support.scaling import times_power_of_two
from .._support.words import bytes_in_words
from ..losses import Square, error
from ..losses.robust import Robust
from ..models.base import Model
from ..observations import Observations
from .loop import Callback as Callback
from .loop import History as History
from .loop import Limits, Loop
from .loop import Progress as Progress
from .loop import Record as Record
from .loop import Result as Result
from .loop import Resumable as Resumable
from .loop import Solver as Solver
from .loop import Status as Status
from .loop import Stopped as Stopped
from .objective import Smooth
from .problem import Problem

if TYPE_CHECKING:
    from .search import Search


class Unsuited(ValueError):
    """The data, its loss or its size is not what a method is made for; other methods may take it."""


@dataclass(frozen=True)
class Axis:
    """A setting to choose on held-out entries, and the path to walk.

    Parameters
    ----------
    setting
        The name of the setting.
    values
        The values to try, in order. Each trial starts from the answer of the one before.
    meanwhile
        The value it has while the axes before it are walked.
    ordered
        Whether the values go from simple to complex, so that the walk ends when held-out entries no longer gain. If
        not, all of them are tried.
    """

    setting: str
    values: Sequence[Any]
    meanwhile: Any = None
    ordered: bool = True


STAGES = ("laplacian", "smooth", "centre", "refine")
"""The stages that can stand around a method."""


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """The settings of a method; `solve` runs it.

    A subclass is a frozen dataclass of settings with one method, `prepare`. A setting that held-out entries may choose
    is ``"auto"`` by default; the subclass names it in `open_settings` and says in `axes` which values to try. A
    subclass with a better search than a walk along these axes returns it from `search`.

    Parameters
    ----------
    max_iter
        At most this many iterations.
    tol
        Stop when the objective changed, relative to its value, by less than this in two iterations running.
    """

    name: ClassVar[str]
    """What the registry calls it; by default the name of the class in lower case."""

    stages: ClassVar[frozenset[str]] = frozenset(STAGES) - {"refine"}
    """The stages that can stand around it."""

    takes_roughness: ClassVar[bool] = False
    """Whether its solver includes the roughness term of a problem with graphs."""

    trial_iterations: ClassVar[int | None] = None
    """The most iterations of a trial in the default search, before the best is solved to the end; None for no limit."""

    steps_to_gather: ClassVar[int] = 0
    """Steps until its momentum has gathered. Those before are so short that they pass for convergence, so a fit that is
    to be solved to the end takes at least as many."""

    fewest_entries: ClassVar[int] = 0
    """With fewer observed entries than this, ``method="auto"`` leaves it out."""

    takes_robust: ClassVar[bool] = False
    """Whether its solver takes a `Robust` loss, with its kink, as it is."""

    square_only: ClassVar[bool] = False
    """Whether it takes the square loss only."""

    descends: ClassVar[bool] = True
    """Whether a function falls at every step, the `f_tau` of its progress; NaN for a method that has none."""

    fewest_modes: ClassVar[int] = 2
    """The lowest order of a tensor that it takes."""

    whole_tensors: ClassVar[int] = 0
    """How many arrays of the size of the tensor it holds at its peak; 0 if it never builds the tensor."""

    max_iter: int = 500
    tol: float = 1e-4

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in cls.__dict__:
            cls.name = cls.__name__.lower()

    def __post_init__(self) -> None:
        whole_number(self.max_iter, "max_iter", at_least=1)
        real_number(self.tol, "tol", at_least=0)

    @abstractmethod
    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that stands at `start`, or at the method's own starting point."""

    # What is left to choose

    @property
    def open_settings(self) -> tuple[str, ...]:
        """The names of the settings that are left to held-out entries."""
        return ()

    def axes(self, problem: Problem, rng: np.random.Generator) -> Sequence[Axis]:
        """Return a path for each open setting, in the order in which they are chosen."""
        return ()

    def search(self) -> Search | None:
        """Return a search of the method's own, or None for a walk along its axes."""
        return None

    def rescaled(self, ratio: float) -> Self:
        """Return the settings for a fit of `ratio` times as many entries as those that they were chosen with."""
        return self

    def resolved(self, problem: Problem) -> Self:
        """Return the same settings with the defaults that depend on the problem spelled out."""
        return self

    # In which unit

    def powers(self, loss: float, order: int) -> Mapping[str, float]:
        """Return the power of the unit of the data that the objective has, and each setting that has one.

        Data multiplied by c, with every such setting multiplied by c to its power, has c times the answer. A subclass
        whose settings depend on the unit of the data names them here.

        Parameters
        ----------
        loss
            The power that the loss of an entry has: 2 for squares.
        order
            The order of the tensor.
        """
        return {"objective": loss}

    def in_unit(self, exponent: int, loss: float, order: int) -> Self:
        """Return the same settings for data that is divided by ``2**exponent``; see `powers`."""
        names = {field.name for field in fields(self)}
        changed = {
            name: times_power_of_two(getattr(self, name), -exponent * power)
            for name, power in self.powers(loss, order).items()
            if name in names
        }
        return replace(self, **changed) if changed else self

    # What fits together

    def check(self, problem: Problem) -> None:
        """Raise a ValueError of one sentence if the method does not take this problem.

        What the class says of itself (`square_only`, `fewest_modes`, `whole_tensors`) is checked here; a subclass adds
        what is particular to it.
        """
        self._check_kind(problem)

    def _check_kind(self, problem: Smooth) -> None:
        """Check what the class says of itself."""
        shape, dtype = problem.observations.shape, problem.observations.dtype
        allowed = (Square, Robust) if self.takes_robust else Square
        if self.square_only and not isinstance(problem.loss, allowed):
            raise Unsuited(f"method '{self.name}' takes loss 'square' only, but the loss is {problem.loss!r}.")
        if len(shape) < self.fewest_modes:
            raise Unsuited(
                f"method '{self.name}' takes tensors of {self.fewest_modes} or more modes, but the shape is {shape}."
            )
        needed = self.whole_tensors * math.prod(shape) * dtype.itemsize
        if needed > physical_bytes() / 2:
            raise Unsuited(
                f"method '{self.name}' stores the whole tensor, and needs {bytes_in_words(needed)} for shape {shape}, "
                f"more than half of this machine's {bytes_in_words(physical_bytes())}."
            )

    def is_silent_somewhere(self, problem: Problem) -> bool:
        """Return whether an answer is 0 at entries that it says nothing about, so that the data must be centred."""
        return False

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` is a starting point that `prepare` takes for this problem."""
        return False

    def approach(
        self, problem: Problem, *, rng: np.random.Generator, callback: Callback | None, clock: Clock
    ) -> Result | None:
        """Return an answer to start from if the caller has none; None for the method's own starting point."""
        return None

    # The loop

    @one_blas_thread
    def solve(
        self,
        problem: Problem,
        *,
        start: Model | None = None,
        held_out: Observations | None = None,
        rng: np.random.Generator | int | None = None,
        callback: Callback | None = None,
        clock: Clock | None = None,
        at_least: int = 0,
    ) -> Result:
        """Iterate until a stop rule holds.

        Parameters
        ----------
        problem
            The observations and the loss.
        start
            A model of an earlier run to start from.
        held_out
            Entries whose error is recorded at every iteration; they have no part in the fit.
        rng
            Decides everything that is random.
        callback
            Called after every iteration with its record and the model so far; returning something true stops the run.
        clock
            Stops the run when it expires, after one iteration at the earliest.
        at_least
            It does not count as converged before this many iterations: momentum has yet to gather, and the first steps
            change little.
        """
        return self._solved(
            problem,
            lambda: self.check(problem),
            lambda draws: self.prepare(problem, start, draws),
            start=start,
            held_out=held_out,
            rng=rng,
            callback=callback,
            clock=clock,
            at_least=at_least,
        )

    def _solved(
        self,
        problem: Smooth,
        check: Callable[[], None],
        prepare: Callable[[np.random.Generator], Solver],
        *,
        start: Model | None,
        held_out: Observations | None,
        rng: np.random.Generator | int | None,
        callback: Callback | None,
        clock: Clock | None,
        at_least: int,
    ) -> Result:
        """Run the loop; `check` and `prepare` know which kind of problem the method takes, see `solve`."""
        if self.open_settings:
            raise ValueError(
                f"{listed(self.open_settings)} of method '{self.name}' is 'auto', which tensorfill.complete chooses on "
                "held-out entries; give a value to run the method by itself."
            )
        if held_out is not None and problem.offset is not None:
            raise ValueError("held_out must be left out for a problem with an offset, which only its entries have.")
        check()
        clock, rng = clock or Clock(), np.random.default_rng(rng)
        score = None if held_out is None else partial(_error_at, held_out, problem)

        def iterated(draft: Draft) -> Result:
            limits = Limits(self.max_iter, self.tol, at_least)
            return Loop(prepare(rng), rng, draft, score).run(limits, callback, clock)

        return clock.journal.recall(
            ("solve", self, problem, start, held_out, at_least),
            iterated,
            rng=rng,
            is_finished=lambda result: result.finished,
        )


def _error_at(held_out: Observations, problem: Smooth, model: Model) -> float:
    return error(problem.loss, model.predict(held_out.coords), held_out.values)
