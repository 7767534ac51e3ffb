"""The iteration loop with its stopping rules, the interface of solvers, and results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import partial
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from .._support.clock import Clock, TimeUp
from .._support.journal import Draft
from .._support.records import Records
from .._support.scaling import ERROR, OBJECTIVE
from ..models.base import Model


class Status(Enum):
    """Why a method stopped, as a sentence."""

    CONVERGED = "The objective changed by less than the tolerance in two iterations running."
    MAX_ITER = "The iteration limit was reached before the tolerance; raise max_iter to go on."
    TIME_LIMIT = "The time limit was reached before the tolerance; raise time_limit to go on."
    CALLBACK = "The callback asked to stop."
    INTERRUPTED = "The run was interrupted; this is the best answer so far."

    def __str__(self) -> str:
        return self.value

    @property
    def is_finished(self) -> bool:
        """Whether the method met a stopping rule, rather than being asked to stop."""
        return self in (Status.CONVERGED, Status.MAX_ITER)


class Stopped(Exception):
    """A callback, the clock or Ctrl-C asked to stop."""

    def __init__(self, status: Status) -> None:
        super().__init__(str(status))
        self.status = status


@dataclass(frozen=True)
class Record:
    """One iteration.

    Parameters
    ----------
    iteration
        Its number; 0 is the starting point.
    seconds
        Time since the method began.
    objective
        The loss plus the regularisation.
    f_tau
        The function that decreases at every step; NaN for a method without one.
    ranks
        The ranks of the answer.
    momentum
        Whether the step started from an extrapolated point.
    held_out
        The error on the held-out entries, or NaN if there are none.
    moved, computing
        On several machines, the bytes that the iteration moved between them, and the computing time of the slowest one
        in seconds; the rest of the time is spent moving data and waiting.
    """

    iteration: int
    seconds: float
    objective: float = field(metadata=OBJECTIVE)
    f_tau: float = field(metadata=OBJECTIVE)
    ranks: tuple[int, ...]
    momentum: bool = False
    held_out: float = field(metadata=ERROR, default=float("nan"))
    moved: int = 0
    computing: float = 0.0


class History(Records[Record]):
    """Every iteration of a run, as a sequence of records and, by name, as columns.

    >>> history = History([Record(0, 0.0, 2.0, 2.0, (0, 0)), Record(1, 0.1, 1.5, 1.6, (1, 2))])
    >>> history["f_tau"]
    array([2. , 1.6])
    >>> history[-1].ranks
    (1, 2)
    """

    columns = tuple(field.name for field in fields(Record))
    _shown: ClassVar[Mapping[str, str]] = {
        "iteration": "iteration",
        "seconds": "seconds",
        "objective": "objective",
        "ranks": "ranks",
    }

    def __repr__(self) -> str:
        if not len(self):
            return "History(empty)"
        last = self[-1]
        return f"History({last.iteration} iterations, {last.seconds:.2f} s, objective {last.objective:.6g})"


Callback = Callable[[Record, Model], object]
"""Called after every iteration with its record and the model so far; a true return value stops the run."""


@dataclass(frozen=True)
class Progress:
    """The state of a solver after a step; `Record` adds the number, the time and the held-out error."""

    objective: float
    f_tau: float
    ranks: tuple[int, ...]
    momentum: bool = False
    moved: int = 0
    computing: float = 0.0

    @property
    def merit(self) -> float:
        """The value that the tolerance refers to."""
        return self.objective if np.isnan(self.f_tau) else self.f_tau


class Solver(Protocol):
    """The interface of a solver: a method applied to one problem."""

    def progress(self) -> Progress:
        """Return the current state."""

    def step(self) -> None:
        """Make one iteration; an exception leaves the solver unchanged."""

    def model(self) -> Model:
        """Return the answer so far."""


@runtime_checkable
class Resumable(Protocol):
    """A solver whose state can be saved, so that a run that was killed can be resumed.

    After `restore`, a solver that was prepared for the same problem with the same settings makes the same steps as the
    one that returned the `state`. A solver without these methods starts again.
    """

    def state(self) -> dict[str, Any]:
        """Return the state, as models, arrays, numbers, texts, and lists and dictionaries of these.

        Later steps do not change its arrays.
        """

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the state of another solver."""


class ResumableSolver(Solver, Resumable, Protocol):
    """A solver whose state can be saved and restored."""


@dataclass(frozen=True, eq=False)
class Result:
    """What a method returns, or a recipe.

    Parameters
    ----------
    model
        The answer.
    status
        Why it stopped.
    history
        Every iteration.
    core
        What the method can start from, if the model has more than that; None if it is the model.
    """

    model: Model
    status: Status
    history: History
    core: Model | None = None

    @property
    def finished(self) -> bool:
        """Whether the method met a stopping rule, rather than being asked to stop."""
        return self.status.is_finished

    def finished_or_stopped(self) -> Result:
        """Return the result if the method met a stopping rule, and raise `Stopped` otherwise."""
        if not self.finished:
            raise Stopped(self.status)
        return self


@dataclass(frozen=True)
class Limits:
    """The stopping rules of the loop; see `Method`.

    It does not count as converged before `at_least` iterations.
    """

    max_iter: int
    tol: float
    at_least: int


class Loop:
    """The iterations of a solver, from the start or from the saved state of an earlier run.

    Parameters
    ----------
    solver
        The solver at its starting point.
    rng
        The random generator of the solver.
    draft
        Keeps the state of the loop.
    score
        Returns the held-out error of a model; None if nothing is held out.
    """

    def __init__(
        self, solver: Solver, rng: np.random.Generator, draft: Draft, score: Callable[[Model], float] | None
    ) -> None:
        self._solver, self._rng, self._draft, self._score = solver, rng, draft, score
        self._began = time.monotonic()
        self._small_changes = 0
        self._resumable = solver if isinstance(solver, Resumable) else None
        if draft.state is not None and self._resumable is not None:
            self._restore(draft.state, self._resumable)
        else:
            self._records = [self._record(0)]

    def run(self, limits: Limits, callback: Callback | None, clock: Clock) -> Result:
        """Iterate until a stopping rule is met."""
        solver, status = self._solver, Status.MAX_ITER
        try:
            for iteration in range(len(self._records), limits.max_iter + 1):
                before = solver.progress().merit
                solver.step()
                after = solver.progress().merit
                is_small = abs(before - after) <= limits.tol * abs(after)
                self._small_changes = self._small_changes + 1 if is_small else 0
                self._records.append(self._record(iteration))
                if callback is not None and callback(self._records[-1], solver.model()):
                    status = Status.CALLBACK
                elif self._small_changes >= 2 and iteration >= limits.at_least:
                    status = Status.CONVERGED
                elif clock.expired:
                    status = Status.TIME_LIMIT
                if self._resumable is not None and status is not Status.CONVERGED:
                    self._draft.offer(partial(self._state, self._resumable), last=status is not Status.MAX_ITER)
                if status is not Status.MAX_ITER:
                    break
        except TimeUp:
            # In the middle of a long step, which leaves the solver where it was.
            status = Status.TIME_LIMIT
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return Result(solver.model(), status, History(self._records))

    def _record(self, iteration: int) -> Record:
        now = self._solver.progress()
        score = float("nan") if self._score is None else self._score(self._solver.model())
        seconds = time.monotonic() - self._began
        return Record(
            iteration, seconds, now.objective, now.f_tau, now.ranks, now.momentum, score, now.moved, now.computing
        )

    def _state(self, solver: Resumable) -> dict[str, Any]:
        return {
            "solver": solver.state(),
            "records": list(self._records),
            "small_changes": self._small_changes,
            "rng": self._rng.bit_generator.state,
        }

    def _restore(self, state: Mapping[str, Any], solver: Resumable) -> None:
        solver.restore(state["solver"])
        self._records, self._small_changes = list(state["records"]), state["small_changes"]
        self._began -= self._records[-1].seconds
        # After everything that may have used the generator.
        self._rng.bit_generator.state = state["rng"]
