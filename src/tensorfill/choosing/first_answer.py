"""The answer of a run that was stopped before any method had one: the mean and the effect of each index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from .._support.clock import Clock
from ..losses import Square
from ..losses.robust import noise_scale
from ..methods.base import Method, Progress, Result, Solver
from ..methods.problem import Problem
from ..models import Model
from ..observations import Observations
from .answer import Answer
from .centring import can_centre, centred_split
from .corrupt import is_robust
from .smooth_field import nothing
from .splits import Split
from .task import Task
from .trials import Trials
from .walk import Walk

WIDTH = 3.0
"""With a robust loss, values further from the median than this many times the spread of most are moved to there."""


@dataclass(frozen=True, kw_only=True)
class Effects(Method):
    """The mean and the effects alone: what centring leaves is predicted as zero.

    Parameters
    ----------
    max_iter, tol
        As in `Method`; nothing depends on them.

    Examples
    --------
    >>> import tensorfill
    >>> sums = np.add.outer(np.arange(8.0), 10 * np.arange(6.0))
    >>> sums[2, 3] = np.nan
    >>> fit = tensorfill.complete(sums, method=Effects(), centre=True, smooth=None, rng=0)
    >>> round(float(fit.filled()[2, 3]), 1)
    32.0
    """

    name: ClassVar[str] = "effects"
    stages: ClassVar[frozenset[str]] = frozenset({"centre"})

    max_iter: int = 1

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that stands at zero and stays there."""
        return _AtRest(problem)


class _AtRest:
    """A solver that stays at zero."""

    def __init__(self, problem: Problem) -> None:
        self._model = nothing(problem.observations)
        self._objective = problem.value(np.zeros_like(problem.observations.values))

    def progress(self) -> Progress:
        return Progress(self._objective, float("nan"), self._model.ranks)

    def step(self) -> None:
        pass

    def model(self) -> Model:
        return self._model


def effects_alone(splits: Sequence[Split], clock: Clock | None = None) -> Answer:
    """Return the mean and the effects as an answer on every split, soon if the clock has expired."""
    centred = can_centre(splits[0].problem.loss)
    parts = [centred_split(split, clock) for split in splits] if centred else splits
    # A clock and a generator of its own: the time may be up, and nothing else must depend on the moment.
    trials = Trials(parts, np.random.default_rng(0), centred=centred)
    return Answer.of(trials, Walk(Effects()), trials.run(Effects(), None, tried={}))


def simplest(task: Task, rough: tuple[Method, Result] | None, clock: Clock) -> tuple[Method, Result, Problem]:
    """Return the mean and the effects of all entries, soon if the clock has expired, and the problem that they answer.

    For a robust loss they are those of values that are moved to where most are. A rough fit that is nearer to most
    entries is returned in their place.
    """
    data = task.observations
    robust = is_robust(task.loss)
    problem = Problem(data, Square() if robust else task.loss)  # type: ignore[arg-type]
    middle = np.median(data.values)
    far = WIDTH * noise_scale(data.values - middle)
    moved = data.with_values(np.clip(data.values, middle - far, middle + far)) if robust else data
    answer = effects_alone([Split(replace(problem, observations=moved), moved)], clock)
    effects = replace(answer.trial.results[0], model=answer.whole_model)
    if rough is not None and _usual_error(rough[1].model, data) < _usual_error(effects.model, data):
        return *rough, problem
    return Effects(), effects, problem


def _usual_error(model: Model, data: Observations) -> float:
    return float(np.median(np.abs(model.predict(data.coords) - data.values)))
