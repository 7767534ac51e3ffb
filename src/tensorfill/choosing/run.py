"""A recipe is a program, and this runs it: a trial, the last fit, an update and a repetition are all one call."""

from __future__ import annotations

from dataclasses import replace

from .._support.clock import Clock
from ..methods.base import Result, Stopped
from ..methods.problem import Problem
from ..models import Model
from .context import Context
from .recipe import Recipe
from .stages.base import Reduced


def run(
    recipe: Recipe,
    problem: Problem,
    start: Model | None = None,
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
        The `core` of an earlier result to start from; without one, or if the method cannot start from it, the method
        finds its own starting point.
    context
        The clock and the rest that accompanies a run.
    thoroughly
        Whether the method takes the steps that it needs before it can tell that it has converged.
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
    whole = Reduced(problem)
    part = whole.by(recipe.before, context.clock)
    near = None if start is None else part.start(start)
    result = _solved(recipe, part.problem, near, context, thoroughly=thoroughly)
    for _ in range(recipe.rounds):
        part = whole.by(recipe.before, context.clock, result.finished_or_stopped().model)
        result = _solved(recipe, part.problem, result.model, context)
    if recipe.after and not (result.finished or partial):
        raise Stopped(result.status)
    model = core = result.model
    for stage in recipe.after:
        context.display.begin(stage.title.lower(), None)
        model = stage.improve(part.problem, model, context.clock if result.finished else Clock())
        if recipe.method.can_start_from(model, part.problem):
            core = model
    return replace(result, model=part.whole(model), core=None if core is model else part.core(core))


def _solved(
    recipe: Recipe, problem: Problem, start: Model | None, context: Context, *, thoroughly: bool = False
) -> Result:
    """Return the answer of the method from `start`, or from the starting point that it finds best."""
    method, rng, callback, clock = recipe.method, context.rng, context.callback, context.clock
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
