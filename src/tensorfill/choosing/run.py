"""A recipe is a program, and this runs it: a trial, the last fit, an update and a repetition are all one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np

from .._support.clock import Clock, TimeUp
from ..algebra.tall import E, V
from ..methods.base import Callback, Result, Status, Stopped, Unsuited
from ..methods.nort import Nort
from ..methods.objective import Objective, Smooth
from ..models import Centred, Model
from ..models.placed import core_of
from .context import Context
from .recipe import Recipe
from .stages.base import Reduced
from .weighted import weighted

P = TypeVar("P", bound=Smooth, contravariant=True)
Q = TypeVar("Q", bound=Smooth)


def run(
    recipe: Recipe,
    problem: Objective[E, V],
    start: Model | Sequence[Model | None] | None = None,
    context: Context | None = None,
    *,
    thoroughly: bool = False,
    partial: bool = False,
) -> Result:
    """Do to a problem what a recipe says.

    The stages before the method make the problem another one, which the method solves. The stages after it improve the
    answer, and what the first stages left out is put back.

    Parameters
    ----------
    recipe
        What is done.
    problem
        The entries and the loss.
    start
        The `core` of an earlier result to start from, or one for each part of a blend; without one, the recipe says
        where the method starts. If it cannot start from there, it finds its own starting point.
    context
        The clock and the rest that accompanies a run.
    thoroughly
        Whether the method takes the steps that it needs before it can tell that it has converged, even if the recipe
        does not say so.
    partial
        Whether an unfinished answer of the method gets the stages after it all the same, in whatever time they take.

    Returns
    -------
    Result
        The answer; its `core` is what a later run can start from.

    Raises
    ------
    Stopped
        If the caller, the clock or the keyboard asked to stop, and stages are left to do.
    TimeUp
        If a stage after the method has no time left.
    """
    context = context or Context()
    if isinstance(start, Model) or start is None:
        start = (start,) + (None,) * len(recipe.beside)
    if recipe.beside:
        return _blended(recipe, problem, start, context, thoroughly=thoroughly, partial=partial)
    near, thoroughly = start[0] or recipe.start.model, thoroughly or recipe.start.thoroughly
    if problem.here is None:
        # Of all methods, NORT alone works with entries on other machines, and no stage does.
        if recipe.stages or not isinstance(recipe.method, Nort):
            raise Unsuited(f"{recipe!r} needs all entries on this machine, but they are on several.")
        return _solved(recipe.method, problem, near, context, thoroughly=thoroughly)
    whole = Reduced(problem.here)
    part = whole.by(recipe.before, context.clock)
    near = None if near is None else part.start(near)
    result = _solved(recipe.method, part.problem, near, context, thoroughly=thoroughly)
    for _ in range(recipe.rounds):
        part = whole.by(recipe.before, context.clock, result.finished_or_stopped().model)
        result = _solved(recipe.method, part.problem, result.model, context)
    if recipe.after and not (result.finished or partial):
        raise Stopped(result.status)
    model = core = result.model
    for stage in recipe.after:
        context.display.begin(stage.title.lower(), None)
        model = stage.improve(part.problem, model, context.clock if result.finished else Clock())
        if recipe.method.can_start_from(model, part.problem):
            core = model
    answer = part.whole(model)
    # What a stage has added can be told from the answer of the method only where the model keeps the two apart.
    is_plain = core is model and (not part.adds or isinstance(answer, Centred))
    return replace(result, model=answer, core=None if is_plain else part.core(core))


def _blended(
    recipe: Recipe,
    problem: Objective[E, V],
    starts: Sequence[Model | None],
    context: Context,
    *,
    thoroughly: bool,
    partial: bool,
) -> Result:
    """Run all parts of a blend, and return their weighted sum; parts for which no time is left are left out."""
    parts = recipe.parts
    first = run(parts[0], problem, starts[0], context, thoroughly=thoroughly, partial=partial)
    results, status = [first], first.status
    for part, near in zip(parts[1:], starts[1:], strict=True):
        try:
            context.clock.check()
            results.append(run(part, problem, near, context, thoroughly=thoroughly).finished_or_stopped())
        except (Stopped, TimeUp) as stop:
            status = status if not status.is_finished else status_of(stop)
            break
    weights = np.array(recipe.weights[: len(results)])
    answers, entries = [result.model for result in results], problem.here
    share = weights / weights.sum()
    model = weighted(parts[: len(results)], share, answers, None if entries is None else entries.observations)
    return replace(first, model=model, status=status, core=first.core or core_of(first.model))


def status_of(stop: BaseException) -> Status:
    """Return why a run was stopped."""
    if isinstance(stop, Stopped):
        return stop.status
    return Status.TIME_LIMIT if isinstance(stop, TimeUp) else Status.INTERRUPTED


class Fits(Protocol[P]):
    """A method, for problems of a kind."""

    @property
    def steps_to_gather(self) -> int:
        """Steps until its momentum has built up."""

    def can_start_from(self, model: Model, problem: P) -> bool:
        """Return whether it takes a model as a starting point."""

    def approach(
        self, problem: P, *, rng: np.random.Generator, callback: Callback | None, clock: Clock
    ) -> Result | None:
        """Return an answer to start from, or None."""

    def solve(
        self,
        problem: P,
        *,
        start: Model | None = None,
        rng: np.random.Generator | int | None = None,
        callback: Callback | None = None,
        clock: Clock | None = None,
        at_least: int = 0,
    ) -> Result:
        """Iterate until a stop rule holds."""


def _solved(method: Fits[Q], problem: Q, start: Model | None, context: Context, *, thoroughly: bool = False) -> Result:
    """Return the answer of a method from `start`, or from the starting point that it finds best."""
    rng, callback, clock = context.rng, context.callback, context.clock
    if start is not None and not method.can_start_from(start, problem):
        start = None
    if start is None:
        near = method.approach(problem, rng=rng, callback=callback, clock=clock)
        if near is not None:
            if not near.finished:
                return near
            start = near.model
    at_least = method.steps_to_gather if thoroughly else 0
    return method.solve(problem, start=start, rng=rng, callback=callback, clock=clock, at_least=at_least)
