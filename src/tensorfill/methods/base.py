"""What every method shares: the iteration loop, the stop rules, the history and the status."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import Enum
from typing import Protocol

import numpy as np

from .._support.checks import real_number, whole_number
from .._support.parallel import blas_threads
from .._support.records import Records
from ..losses import error
from ..models.base import Model
from ..observations import Observations
from .problem import Problem


class Status(Enum):
    """Why a method stopped, as a sentence."""

    CONVERGED = "The objective changed by less than the tolerance in two iterations running."
    MAX_ITER = "The iteration limit was reached before the tolerance; raise max_iter to go on."
    TIME_LIMIT = "The time limit was reached before the tolerance; raise time_limit to go on."
    CALLBACK = "The callback asked to stop."
    INTERRUPTED = "The run was interrupted; this is the last finished iteration."

    def __str__(self) -> str:
        return self.value


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
        The loss plus the penalties of the components.
    f_tau
        The function that falls at every step, or NaN for a method that has none.
    ranks
        The ranks of the answer.
    momentum
        Whether the step started from an extrapolated point.
    held_out
        The error on the held-out entries, or NaN where none were given.
    """

    iteration: int
    seconds: float
    objective: float
    f_tau: float
    ranks: tuple[int, ...]
    momentum: bool = False
    held_out: float = float("nan")


class History(Records[Record]):
    """Every iteration of a run, as a sequence of records and, by name, as columns.

    >>> history = History([Record(0, 0.0, 2.0, 2.0, (0, 0)), Record(1, 0.1, 1.5, 1.6, (1, 2))])
    >>> history["f_tau"]
    array([2. , 1.6])
    >>> history[-1].ranks
    (1, 2)
    """

    columns = tuple(field.name for field in fields(Record))

    def __repr__(self) -> str:
        if not len(self):
            return "History(empty)"
        last = self[-1]
        return f"History({last.iteration} iterations, {last.seconds:.2f} s, objective {last.objective:.6g})"


Callback = Callable[[Record, Model], object]
"""Called after every iteration with its record and the model so far; a true answer stops the run."""


@dataclass(frozen=True)
class Progress:
    """What a solver tells of the step it made; `Record` adds the number, the time and the held-out error."""

    objective: float
    f_tau: float
    ranks: tuple[int, ...]
    momentum: bool = False

    @property
    def merit(self) -> float:
        """What the tolerance watches."""
        return self.objective if np.isnan(self.f_tau) else self.f_tau


class Solver(Protocol):
    """A method at work on one problem."""

    def progress(self) -> Progress:
        """Return where it stands."""

    def step(self) -> None:
        """Make one iteration; an exception leaves the solver as it was before."""

    def model(self) -> Model:
        """Return the answer so far."""


@dataclass(frozen=True, eq=False)
class Result:
    """What a method returns: the answer, why it stopped, and every iteration."""

    model: Model
    status: Status
    history: History


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """The settings of a method; `solve` runs it.

    Parameters
    ----------
    max_iter
        At most this many iterations.
    tol
        Stop when the objective changed, relative to its value, by less than this in two iterations running.
    time_limit
        Stop after this many seconds, or never.
    blas_threads
        Threads that BLAS may use. They wait busily for one another, so that on a machine with other work to do,
        or beside the compiled loops with threads of their own, more of them are slower.
    """

    max_iter: int = 500
    tol: float = 1e-4
    time_limit: float | None = None
    blas_threads: int = 1

    def __post_init__(self) -> None:
        whole_number(self.max_iter, "max_iter", at_least=1)
        real_number(self.tol, "tol", at_least=0)
        whole_number(self.blas_threads, "blas_threads", at_least=1)
        if self.time_limit is not None:
            real_number(self.time_limit, "time_limit", above=0)

    @abstractmethod
    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that stands at `start`, or at the method's own starting point."""

    def solve(
        self,
        problem: Problem,
        *,
        start: Model | None = None,
        held_out: Observations | None = None,
        rng: np.random.Generator | int | None = None,
        callback: Callback | None = None,
    ) -> Result:
        """Iterate until a stop rule holds.

        Parameters
        ----------
        problem
            What is asked.
        start
            A model of an earlier run to start from.
        held_out
            Entries whose error is recorded at every iteration; they have no part in the fit.
        rng
            Decides everything that is random.
        callback
            Called after every iteration with its record and the model so far; a true answer stops the run.
        """
        began = time.monotonic()
        solver = self.prepare(problem, start, np.random.default_rng(rng))

        def record(iteration: int) -> Record:
            now, seconds = solver.progress(), time.monotonic() - began
            if held_out is None:
                score = float("nan")
            else:
                score = error(problem.loss, solver.model().predict(held_out.coords), held_out.values)
            return Record(iteration, seconds, now.objective, now.f_tau, now.ranks, now.momentum, score)

        records = [record(0)]
        status, small_changes = Status.MAX_ITER, 0
        try:
            with blas_threads(self.blas_threads):
                for iteration in range(1, self.max_iter + 1):
                    before = solver.progress().merit
                    solver.step()
                    after = solver.progress().merit
                    small_changes = small_changes + 1 if abs(before - after) <= self.tol * abs(after) else 0
                    records.append(record(iteration))
                    if callback is not None and callback(records[-1], solver.model()):
                        status = Status.CALLBACK
                    elif small_changes == 2:
                        status = Status.CONVERGED
                    elif self.time_limit is not None and records[-1].seconds > self.time_limit:
                        status = Status.TIME_LIMIT
                    if status is not Status.MAX_ITER:
                        break
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return Result(solver.model(), status, History(records))
