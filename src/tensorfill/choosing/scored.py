"""Answers on held-out entries: a recipe that was run on every split, and the best of several so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .._support.types import Floats
from ..methods.base import Method
from ..models import Model
from .holdout.splits import Split
from .recipe import Recipe
from .search.base import Trial, are_better
from .search.trials import Search, Trials
from .stages.base import Before


@dataclass(frozen=True, eq=False)
class Scored:
    """A recipe that was run on every split.

    Parameters
    ----------
    recipe
        The recipe.
    splits, models
        The splits as the stages before the method leave them, and the answer on each.
    losses
        The loss at each held-out entry.
    trials, search, trial
        Where it was found.
    afresh
        Whether the last fit does not start from this answer, but finds its own way.
    ended
        Whether the method was solved as far as the last fit will be.
    beside
        The other answers of a blend, with their weights; see `Recipe.beside`.
    """

    recipe: Recipe
    splits: Sequence[Split]
    models: Sequence[Model]
    losses: Floats
    trials: Trials
    search: Search
    trial: Trial
    afresh: bool = False
    ended: bool = False
    beside: tuple[tuple[float, Scored], ...] = ()

    @classmethod
    def of(cls, trials: Trials, search: Search, trial: Trial, before: tuple[Before, ...]) -> Scored:
        """Return a trial of a search, with the stages before the method."""
        recipe = Recipe(before, method=trial.method)
        return cls(recipe, trials.local, trial.models, trial.losses, trials, search, trial)

    def beats(self, other: Scored | None) -> bool:
        """Return whether it is better than another answer, or than none, by more than chance."""
        return other is None or are_better(self.losses, other.losses, clipped=self.trials.clipped)

    @property
    def whole_model(self) -> Model:
        """The model of the whole tensor on the first split."""
        return self.splits[0].whole(self.models[0])

    def on(self, splits: Sequence[Split]) -> list[Model]:
        """Return the answers to the problems of the splits that its own splits were made of."""
        found = []
        for own, given, model in zip(self.splits, splits, self.models, strict=True):
            for lift in reversed(own.lifts[len(given.lifts) :]):
                model = lift.model(model)
            found.append(model)
        return found

    @property
    def near(self) -> Model | None:
        """What the last fit starts from: the answer of the method on the first split; None if it does so by itself."""
        model, problem = self.trial.models[0], self.trials.local[0].problem
        if self.afresh or not self.trial.method.can_start_from(model, problem):
            return None
        return self.trials.local[0].core(model)

    def final(self, entries: int) -> Method:
        """Return the method with what was chosen, for a fit of this many entries; it stops early if the trial did."""
        method = self.search.final(self.trials, entries)
        return self.trial.stopped(method) if self.trial.early else method

    def as_it_was(self) -> Scored:
        """Return the answer with the stopping rules of its trial as part of what was chosen."""
        return replace(self, trial=self.trial.as_stopped(), ended=True)


class BestSoFar:
    """The best answer, kept while others are looked for: a run that is stopped at any time has it.

    It is the `champion` among the contenders so far, or the `current` answer of the one at work.
    """

    def __init__(self) -> None:
        self.champion: Scored | None = None
        self.current: Scored | None = None

    @property
    def answer(self) -> Scored | None:
        """The best answer; None if there is none yet."""
        if self.current is not None and self.current.beats(self.champion):
            return self.current
        return self.champion

    @property
    def working(self) -> Scored:
        """The answer of the contender at work, which must have one."""
        if self.current is None:
            raise ValueError("No method has an answer yet.")
        return self.current

    def settle(self) -> Scored:
        """Keep the better of the last contender and those before it, and return the last one's answer."""
        last = self.working
        self.champion, self.current = self.answer, None
        return last
