"""What contenders have in common: the splits, what was judged on them, and the best answer so far."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._support.clock import Clock, TimeUp
from .._support.types import Floats
from ..graphs.reduction import Graph
from ..methods.problem import Problem
from ..models import Model
from ..times import TimeAxis
from .blending import blend_weights
from .centring import zero_of
from .context import Context
from .holdout.kinds import Holdout
from .holdout.resemblance import MISSING, sample_of_missing
from .holdout.splits import Split, losses_of
from .optimism import inflation
from .scored import BestSoFar, Scored
from .search.base import BEYOND_DOUBT, PathPoint, are_better
from .search.trials import Trials, has_a_part
from .simple import simple_answers, stage_alone
from .stages.base import After, Before, Reduced, merging
from .stages.centre import is_of_differences
from .stages.table import stages_after
from .weighted import weighted

FAR_BEHIND = 1.5
"""An answer with this many times the loss of a smooth field alone is brought to the end only if it is the best."""

SHARE_ALONE = 0.1
"""The share of the time that is left in which it shows how good a stage is without any method."""


@dataclass(eq=False)
class Contest:
    """What contenders have in common.

    Parameters
    ----------
    problem
        All entries.
    splits, holdout
        How they are divided into those to fit and those to score with; if there are graphs, with the slices that have
        entries only.
    graphs
        Laplacians by mode.
    asked
        What the caller says of each stage, by its name; nothing means ``"auto"``.
    context
        What accompanies the run.
    given
        Further stages before the method that are given, and done to the splits already.
    unordered
        Modes whose labels have no order, of the tensor that the methods have.
    axis
        The mode of time; None if none is known.
    judged
        The losses of all answers so far at the held-out entries.
    finalists
        The best answer of each method so far.
    every
        Whether each method is searched in full, and its answer finished, whatever others have.
    """

    problem: Problem
    splits: Sequence[Split]
    holdout: Holdout
    graphs: Mapping[int, Graph]
    asked: Mapping[str, Any]
    context: Context
    given: tuple[Before, ...] = ()
    unordered: Collection[int] = ()
    axis: TimeAxis | None = None
    best: BestSoFar = field(default_factory=BestSoFar)
    searches: list[Trials] = field(default_factory=list)
    fields: list[Scored] = field(default_factory=list)
    judged: list[Floats] = field(default_factory=list)
    finalists: list[Scored] = field(default_factory=list)
    every: bool = True

    @property
    def points(self) -> list[PathPoint]:
        """Every trial, in order."""
        return [point for trials in self.searches for point in trials.points]

    @cached_property
    def within(self) -> Problem:
        """All entries by the modes that the methods have."""
        return Reduced(self.problem).by(merging(self.given), self.context.clock).problem

    @cached_property
    def proposed(self) -> dict[type[After], Sequence[Sequence[After]]]:
        """The settings to try of each stage after the method."""
        found: dict[type[After], Sequence[Sequence[After]]] = {}
        for kind in stages_after():
            asked = self.asked.get(kind.name, "auto")
            without = {*self.graphs, *(self.unordered if asked == "auto" else ())}
            found[kind] = [[asked]] if isinstance(asked, kind) else kind.proposed(self.within, asked, without)
        return found

    @cached_property
    def observed(self) -> Floats:
        """The values of the held-out entries."""
        return np.concatenate([split.held_out.values for split in self.splits])

    @cached_property
    def quick(self) -> list[Scored]:
        """Answers that take a moment."""
        return simple_answers(self.splits, self.context.clock, self.unordered)

    @property
    def simple(self) -> list[Scored]:
        """The simple answers: those that take a moment, and stages without any method if they have been tried."""
        return [*self.quick, *self.fields]

    def or_simpler(self, scored: Scored | None) -> Scored:
        """Return an answer, or the best simple one if its loss is lower than the other's will be at other entries."""
        best = min(self.simple, key=lambda each: float(each.losses.mean()))
        if scored is not None and self.inflation(scored) ** 2 * scored.losses.mean() <= best.losses.mean():
            best = scored
        # The choice is among these too from here on.
        self.judged.extend(each.losses for each in self.simple)
        return best

    def most_cautious(self, best: Scored) -> Scored:
        """Return, of the answers that held-out entries cannot tell from the best, the one that says least elsewhere.

        If nothing like the missing entries can be held out, two answers may agree at all that is known and be far apart
        where nothing is. Least is said by the one that is nearest to the mean at missing entries.
        """
        alike = [best, *(each for each in self.finalists if not best.beats(each))]
        missing = sample_of_missing(self.problem.observations, MISSING, np.random.default_rng(0), self.holdout.over)
        if len(alike) == 1 or not len(missing) or not is_of_differences(self.problem.loss):
            return best
        middle = float(self.problem.observations.values.mean())
        return min(alike, key=lambda each: float(np.mean((each.whole_model.predict(missing) - middle) ** 2)))

    def errors(self, scored: Scored) -> Floats | None:
        """Return the errors of an answer at the held-out entries; None for scores, which no sum predicts."""
        if not is_of_differences(self.problem.loss):
            return None
        return _predicted(self.splits, scored.on(self.splits)) - self.observed

    def errors_of_trial(self, scored: Scored) -> Floats | None:
        """Return the same of the method alone, without the stages after it."""
        if not is_of_differences(self.problem.loss):
            return None
        return _predicted(scored.trials.local, scored.trial.models) - self.observed

    def may_matter(self, scored: Scored) -> bool:
        """Return whether an answer may win against the best so far or have a part in a blend with it."""
        champion = self.best.champion
        if champion is None or champion is scored:
            return True
        errors, ahead = self.errors(scored), self.errors(champion)
        if errors is None or ahead is None:
            return not are_better(champion.losses, scored.losses, clipped=scored.trials.clipped, by=BEYOND_DOUBT)
        return has_a_part(errors, ahead)

    def blended(self, best: Scored, *, simple: bool) -> Scored:
        """Return the blend of all answers, if held-out entries gain by it; else the best alone.

        Simple answers have a part in it if they are contenders. What predicts no better than the mean has none: with
        few gaps, its errors may be against those of the best by chance.
        """
        if not is_of_differences(self.problem.loss):
            return best
        others = [*self.finalists, *(self.simple if simple else ())]
        plain = float(self.quick[0].losses.mean())
        others = [each for each in others if each.losses is not best.losses and each.losses.mean() < plain]
        answers = [best, *others]
        models = [each.on(self.splits) for each in answers]
        weights = blend_weights(np.stack([_predicted(self.splits, each) - self.observed for each in models]), best=0)
        if weights is None:
            return best
        order = [int(place) for place in np.argsort(-weights, kind="stable") if weights[place] > 0]
        first, rest = answers[order[0]], [answers[place] for place in order[1:]]
        parts = [each.recipe for each in (first, *rest)]
        blends = [
            weighted(parts, weights[order], [models[place][at] for place in order], split.problem.observations)
            for at, split in enumerate(self.splits)
        ]
        losses = losses_of(self.splits, blends)
        self.judged.append(losses)
        beside = tuple((float(weight), each) for weight, each in zip(weights[order[1:]], rest, strict=True))
        blended: Scored = replace(first, splits=self.splits, models=blends, losses=losses, beside=beside)
        return blended

    def inflation(self, scored: Scored) -> float:
        """Return by how much the errors of an answer at other entries are larger than at those that chose it.

        It is 1 for scores, whose errors are not on the scale of their losses.
        """
        return inflation(self.judged, scored.losses) if is_of_differences(self.problem.loss) else 1.0

    @cached_property
    def rival(self) -> float:
        """About the lowest mean loss of a stage without any method, which tells methods when to give up.

        It is infinite if there is no such stage, or if it takes more than a small share of the time that is left.
        """
        clock = self.context.clock
        own = clock.part(SHARE_ALONE)
        try:
            for kind, proposed in self.proposed.items():
                for stage in kind.rivals(proposed):
                    self.alone(stage, own)
        except TimeUp:
            clock.check()
        return min((float(each.losses.mean()) for each in self.fields), default=math.inf)

    def alone(self, stage: After, clock: Clock) -> Scored:
        """Return what a stage after the method makes of zero, which is computed once."""
        for found in self.fields:
            if found.recipe.after == (stage,):
                return found
        near = self.fields[-1].models if self.fields else [None] * len(self.splits)
        pairs = zip(self.splits, near, strict=True)
        answers = [stage.improve(each.problem, zero_of(each), clock, start) for each, start in pairs]
        self.fields.append(stage_alone(self.splits, stage, answers))
        return self.fields[-1]

    def is_far_behind(self, scored: Scored) -> bool:
        """Return whether a stage alone is so much better that the last sweeps of a method do not matter."""
        return bool(scored.losses.mean() > FAR_BEHIND * self.rival)


def _predicted(splits: Sequence[Split], models: Sequence[Model]) -> Floats:
    """Return the predictions at the held-out entries of all splits."""
    return np.concatenate([split.predict(model) for split, model in zip(splits, models, strict=True)])
