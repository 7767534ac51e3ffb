"""The last stage: fit all entries with what was chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ..methods.base import Method, Result
from ..models import Model
from .answer import Answer
from .centring import centred_beside, centred_split
from .splits import Split
from .task import Run
from .trials import fitted


class Refit(NamedTuple):
    """The fit that a run ends with.

    Parameters
    ----------
    result, method
        The result, with a model of the whole tensor, and the method with its settings.
    core
        What the method answers without a smooth field, to go on from later; None without such a field.
    """

    result: Result
    method: Method
    core: Model | None = None


def refitted(answer: Answer, whole: Split, near: Model, run: Run) -> Refit:
    """Fit all entries with what was chosen.

    Parameters
    ----------
    answer
        The best answer on the splits.
    whole
        All entries, as a split without centring.
    near
        A model to start from, if the method can.
    run
        The clock, the display and the rest that accompanies the run.
    """
    mu = answer.trial.point.mu
    split = centred_split(whole, run.clock) if answer.trials.centred else whole
    problem = split.at(mu)
    method = answer.final(len(problem.observations))
    run.display.begin("fitting all entries", method.max_iter, method.tol)
    start = near if method.can_start_from(near, problem) else None
    result = fitted(
        method, problem, start, rng=run.rng, callback=run.watch(), clock=run.clock, at_least=method.steps_to_gather
    )
    for _ in range(answer.rounds):
        split = centred_beside(whole, result.finished_or_stopped().model, run.clock)
        result = fitted(method, split.at(mu), result.model, rng=run.rng, callback=run.watch(), clock=run.clock)
    if not result.finished and (start is None or answer.polish or answer.smoothing):
        # The finished answer without the held-out entries is better than half of one with them.
        return Refit(replace(result, model=answer.whole_model), answer.trial.method)
    model, core = result.model, None
    if answer.polish is not None:
        run.display.begin("polishing", None)
        model = answer.polish(problem, model, run.clock)
    data = split if answer.centred else whole
    if answer.smoothing is not None:
        core = model
        run.display.begin("smoothing", None)
        model = answer.smoothing.added_to(model, data.problem.observations, run.clock)
    return Refit(replace(result, model=data.whole(model)), method.resolved(problem), core)
