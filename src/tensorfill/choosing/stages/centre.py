"""Centring: a mean and an effect of each index are fitted first, and the method fits what they leave.

For the square loss they are subtracted from the values. For a loss whose prediction is a score, they are scores too,
and the method adds to them: without them a score of zero would say that yes is as likely as no, or that a count is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..._support.checks import whole_number
from ..._support.clock import Clock
from ...labels import Labels
from ...losses import Huber, Loss, Square, is_score
from ...methods.effects.additive import fit_additive
from ...methods.effects.scores import fit_score_effects
from ...methods.problem import Problem
from ...models import Centred, Model
from ...models.additive import Additive
from ...observations import Observations
from .base import Before, Lift


@dataclass(frozen=True)
class Centre(Before):
    """Fit a mean and the effect of each index first.

    Parameters
    ----------
    rounds
        How often they are fitted again, beside the answer of the method.
    """

    name: ClassVar[str] = "centre"
    title: ClassVar[str] = "Centred"
    brief: ClassVar[str] = "centred"

    rounds: int = 0

    def __post_init__(self) -> None:
        whole_number(self.rounds, "rounds", at_least=0)

    def in_words(self, labels: Labels) -> str:
        """Return what it did."""
        return "the mean and the effect of each index were subtracted first and added again"

    def reduce(self, problem: Problem, clock: Clock, beside: Model | None = None) -> tuple[Problem, Lift]:
        """Return the problem of what the mean and the effects leave."""
        coords = problem.observations.coords
        offset = effects_of(problem if beside is None else problem.beyond(beside.predict(coords)), clock)
        return problem.beyond(offset.predict(coords)), Offset(offset)


@dataclass(frozen=True, eq=False)
class Offset(Lift):
    """Adds the mean and the effects again."""

    adds: ClassVar[bool] = True

    offset: Additive

    def model(self, model: Model) -> Model:
        """Return the answer with the mean and the effects."""
        return Centred(model, self.offset)

    def core(self, model: Model) -> Model:
        """Return the answer of the method."""
        return model

    def entries(self, entries: Observations) -> Observations:
        """Return what the mean and the effects leave of other entries."""
        return entries.with_values(entries.values - self.offset.predict(entries.coords))

    def back(self, entries: Observations) -> Observations:
        """Return other entries with the mean and the effects."""
        return entries.with_values(entries.values + self.offset.predict(entries.coords))


def effects_of(problem: Problem, clock: Clock | None = None) -> Additive:
    """Return the mean and the effects that fit a problem best; for scores, those so far if the clock expires."""
    return fit_score_effects(problem, clock=clock) if is_score(problem.loss) else fit_additive(problem.observations)


def is_of_differences(loss: Loss) -> bool:
    """Return whether a loss depends on differences only, so that the same offset can be subtracted from both sides."""
    return isinstance(loss, Square | Huber)


def can_centre(loss: Loss) -> bool:
    """Return whether a mean and effects can be fitted first."""
    return is_of_differences(loss) or is_score(loss)
