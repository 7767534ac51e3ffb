"""The runs behind the front door: a fit as it is asked for, or one whose regularisation is chosen first."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from ._checks import real_number
from ._types import Floats
from .holdout import make_holdout
from .losses import error
from .methods.base import Callback, Method, Record, Result, Status
from .models import FoldedLowRank, Model
from .observations import Observations
from .problem import Problem
from .progress import Display
from .refinement import refine as polish
from .selection import Chooser, Path, Stopped

FEWEST_TO_CHOOSE = 10
"""With fewer observed entries than this, none can be spared to choose lambda with."""

REFINE_SWEEPS = 4
"""Sweeps of alternating least squares in a polish."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run came to.

    Parameters
    ----------
    method, result
        The method with its final settings, and its answer.
    path
        The regularisations that were tried, where one was chosen.
    residuals
        How far the held-out entries were from a fit without them, where there were any.
    holdout
        What was held out, in words.
    refined
        Whether the answer was polished by least squares.
    """

    method: Method
    result: Result
    path: Path | None = None
    residuals: Floats | None = None
    holdout: str | None = None
    refined: bool = False


def fit_as_given(
    method: Method,
    problem: Problem,
    start: Model | None,
    rng: np.random.Generator,
    display: Display,
    callback: Callback | None,
) -> Outcome:
    """Run a method as it is."""
    display.begin("fitting", method.max_iter)
    return Outcome(method, method.solve(problem, start=start, rng=rng, callback=watching(display, callback)))


def choose_and_fit(chooser: Chooser, problem: Problem, holdout: str, refine: str | None, display: Display) -> Outcome:
    """Choose the regularisation on held-out entries, then fit all entries with it.

    Between the two, the fit without the held-out entries is brought to its end, since its error there is what error
    bars rest on. Where the run is stopped, the best answer so far is the outcome.
    """
    began = time.monotonic()
    limit = chooser.settings.time_limit
    held_out, rng = chooser.held_out, chooser.rng
    watch = watching(display, chooser.callback)

    def timed(method: Method) -> Method:
        return method if limit is None else replace(method, time_limit=max(limit - (time.monotonic() - began), 1e-9))

    def outcome(method: Method, result: Result, without: Model, refined: bool = False) -> Outcome:
        residuals = np.abs(without.predict(held_out.coords) - held_out.values)
        return Outcome(replace(method, time_limit=limit), result, Path(chooser.points), residuals, holdout, refined)

    display.begin("choosing lambda", None)
    try:
        chooser.choose()
    except Stopped as stop:
        best = chooser.leader
        return outcome(best.method, replace(best.result, status=stop.status), best.result.model)
    method = chooser.final(len(chooser.problem.observations))
    display.begin("fitting without the held-out entries", method.max_iter)
    partial = timed(method).solve(chooser.problem, start=chooser.leader.result.model, rng=rng, callback=watch)
    if partial.status not in (Status.CONVERGED, Status.MAX_ITER):
        return outcome(method, partial, partial.model)
    without, refined = _polished_if_better(refine, chooser.problem, partial.model, held_out)
    method = chooser.final(len(problem.observations))
    display.begin("fitting all entries", method.max_iter)
    result = timed(method).solve(problem, start=partial.model, rng=rng, callback=watch)
    if refined and isinstance(result.model, FoldedLowRank):
        result = replace(result, model=polish(problem, result.model, sweeps=REFINE_SWEEPS))
    return outcome(method, result, without, refined)


def split(
    observations: Observations, validation: float | Observations, holdout: str, rng: np.random.Generator
) -> tuple[Observations, Observations, str]:
    """Return the entries to fit, the entries to choose with, and what was held out, in words."""
    if isinstance(validation, Observations):
        if validation.shape != observations.shape:
            raise ValueError(
                f"validation must have the shape of the data, {observations.shape}, but it has {validation.shape}."
            )
        return observations, validation, "the entries given"
    fraction = real_number(validation, "validation", above=0, below=1)
    if len(observations) < FEWEST_TO_CHOOSE:
        raise ValueError(
            f"lam='auto' needs at least {FEWEST_TO_CHOOSE} observed entries to hold some out, "
            f"but there are {len(observations)}; give lam."
        )
    how = make_holdout(holdout, observations)
    training, held_out = how.split(observations, fraction, rng)
    return training, held_out, how.describe(observations.shape)


def watching(display: Display, callback: Callback | None) -> Callback:
    """Return a callback that shows each iteration and then asks the caller's own."""

    def watch(record: Record, model: Model) -> object:
        display.iteration(record)
        return None if callback is None else callback(record, model)

    return watch


def _polished_if_better(
    refine: str | None, problem: Problem, model: Model, held_out: Observations
) -> tuple[Model, bool]:
    """Return the model, polished by least squares if that is asked for and lowers the held-out error."""
    if refine is None or not isinstance(model, FoldedLowRank):
        return model, False
    polished = polish(problem, model, sweeps=REFINE_SWEEPS)

    def score(each: Model) -> float:
        return error(problem.loss, each.predict(held_out.coords), held_out.values)

    return (polished, True) if score(polished) < score(model) else (model, False)
