"""The interface of a method: its settings, its solver, and the settings to choose."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import ClassVar, Self

import numpy as np

from .._support.checks import listed
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
from .settings import Axis as Axis
from .settings import Power, check_settings, declared, loss_less, real, searched, setting, whole


class Unsuited(ValueError):
    """The method does not support the data, its loss or its size; other methods may."""


STAGES = ("laplacian", "smooth", "centre", "refine")
"""The stages that can be combined with a method."""


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """The settings of a method; `solve` runs it.

    A subclass is a frozen dataclass of settings with one method, `prepare`. Each setting is declared once, by
    `tensorfill.methods.settings.setting`: its default, its check, its unit, and how held-out entries choose it while it
    is ``"auto"``.

    Parameters
    ----------
    max_iter
        The largest number of iterations.
    tol
        Stop when the relative change of the objective is less than this in two consecutive iterations.
    """

    name: ClassVar[str]
    """Its name in the registry; by default the name of the class in lower case."""

    stages: ClassVar[frozenset[str]] = frozenset(STAGES) - {"refine"}
    """The stages that it can be combined with."""

    takes_roughness: ClassVar[bool] = False
    """Whether its solver includes the roughness term of a problem with graphs."""

    trial_iterations: ClassVar[int | None] = None
    """The largest number of iterations of a trial in the default search, before the best is run to convergence; None
    for no limit."""

    searched_by: ClassVar[str] = "walk"
    """How its open settings move: ``"walk"`` along its axes, or the name of another search."""

    steps_to_gather: ClassVar[int] = 0
    """Steps until its momentum has built up. Earlier steps are so short that they look like convergence, so a fit that
    is run to convergence takes at least this many."""

    fewest_entries: ClassVar[int] = 0
    """With fewer observed entries than this, ``method="auto"`` leaves it out."""

    takes_robust: ClassVar[bool] = False
    """Whether its solver takes a `Robust` loss, which has a kink, directly."""

    square_only: ClassVar[bool] = False
    """Whether it takes the square loss only."""

    descends: ClassVar[bool] = True
    """Whether a function, the `f_tau` of its progress, decreases at every step; `f_tau` is NaN for a method without
    one."""

    largest_rank: ClassVar[int | None] = None
    """The most outer products of vectors that its answer can be a sum of; None if its settings or the data decide."""

    fewest_modes: ClassVar[int] = 2
    """The lowest order of a tensor that it supports."""

    whole_tensors: ClassVar[int] = 0
    """The peak number of arrays of the size of the tensor; 0 if it never builds the tensor."""

    other_powers: ClassVar[Mapping[str, Power]] = {"objective": loss_less(0)}
    """The powers of the unit of the data that the objective has, and what a search varies beside the settings."""

    max_iter: int = setting(500, check=whole(1))
    tol: float = setting(1e-4, check=real(at_least=0))

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in cls.__dict__:
            cls.name = cls.__name__.lower()

    def __post_init__(self) -> None:
        check_settings(self)

    @abstractmethod
    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that starts at `start`, or at the method's own starting point."""

    # Settings to choose

    @property
    def open_settings(self) -> tuple[str, ...]:
        """The names of the settings that are left to held-out entries."""
        values = ((name, getattr(self, name)) for name in searched(type(self)))
        return tuple(name for name, value in values if isinstance(value, str) and value == "auto")

    def axes(self, problem: Problem, rng: np.random.Generator) -> Sequence[Axis]:
        """Return the axes of each open setting, in the order in which they are chosen."""
        found: list[Axis] = []
        for name in self.open_settings:
            path = declared(type(self))[name].path
            if path is not None:
                found += path(self, problem, rng, tuple(found))
        return found

    def with_rank_of(self, other: Method) -> Self:
        """Return the method with the rank that another one has found for sure, where it has the same meaning."""
        return self

    def rescaled(self, ratio: float) -> Self:
        """Return the settings for a fit of `ratio` times as many entries as those that they were chosen with."""
        return self

    def resolved(self, problem: Problem) -> Self:
        """Return the same settings with explicit values for defaults that depend on the problem."""
        return self

    # Units

    def powers(self, loss: float, order: int) -> Mapping[str, float]:
        """Return the power of the unit by which the objective scales, and that of each setting that has one.

        Data multiplied by c, with every such setting multiplied by c to its power, has c times the answer.

        Parameters
        ----------
        loss
            The power of the loss of an entry: 2 for squares.
        order
            The order of the tensor.
        """
        own = {name: its.power for name, its in declared(type(self)).items() if its.power is not None}
        every = {**self.other_powers, **own}
        return {name: power(loss, order) if callable(power) else power for name, power in every.items()}

    def in_unit(self, exponent: int, loss: float, order: int) -> Self:
        """Return the same settings for data that is divided by ``2**exponent``; see `powers`."""
        names = {field.name for field in fields(self)}
        changed = {
            name: times_power_of_two(getattr(self, name), -exponent * power)
            for name, power in self.powers(loss, order).items()
            if name in names
        }
        return replace(self, **changed) if changed else self

    @property
    def reached(self) -> tuple[int, ...]:
        """The modes along which it predicts slices without any entry, which are otherwise filled after it."""
        return ()

    # Supported problems

    def check(self, problem: Problem) -> None:
        """Raise a ValueError of one sentence if the method does not take this problem.

        The class attributes `square_only`, `fewest_modes` and `whole_tensors` are checked here; a subclass adds its own
        conditions.
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
        """Return whether an answer is 0 at entries that it does not determine, so that the data must be centred."""
        return False

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` is a valid starting point for this problem."""
        return False

    def approach(
        self, problem: Problem, *, rng: np.random.Generator, callback: Callback | None, clock: Clock
    ) -> Result | None:
        """Return a warm start if none is given; None for the method's default starting point."""
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
        """Iterate until a stopping rule is met.

        Parameters
        ----------
        problem
            The observations and the loss.
        start
            A model of an earlier run to start from.
        held_out
            Entries whose error is recorded at every iteration; they are not fitted.
        rng
            The seed or generator of the random numbers.
        callback
            Called after every iteration with its record and the model so far; a true return value stops the run.
        clock
            Stops the run when it expires, after one iteration at the earliest unless that takes long.
        at_least
            It does not count as converged before this many iterations, because momentum must build up and the first
            steps change little.
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
        check()
        if self.open_settings:
            raise ValueError(
                f"{listed(self.open_settings)} of method '{self.name}' is 'auto', which tensorfill.complete chooses on "
                "held-out entries; give a value to run the method by itself."
            )
        if held_out is not None and problem.offset is not None:
            raise ValueError("held_out must be left out for a problem with an offset, which only its entries have.")
        clock, rng = clock or Clock(), np.random.default_rng(rng)
        score = None if held_out is None else partial(_error_at, held_out, problem)

        def iterated(draft: Draft) -> Result:
            limits = Limits(self.max_iter, self.tol, at_least)
            with clock.at_work():
                return Loop(prepare(rng), rng, draft, score).run(limits, callback, clock)

        return clock.journal.recall(
            ("solve", self, problem, start, held_out, at_least),
            iterated,
            rng=rng,
            is_finished=lambda result: result.finished,
        )


def _error_at(held_out: Observations, problem: Smooth, model: Model) -> float:
    return error(problem.loss, model.predict(held_out.coords), held_out.values)
