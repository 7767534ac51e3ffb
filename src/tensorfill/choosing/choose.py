"""Choosing a recipe: contenders are scored on the same held-out entries; the answer is the best, or a blend.

Simple answers come first. Each method then chooses its settings by its search, on the data as it is and on centred
data. The best of these are solved as far as the last fit will be, and get the stages after the method by which held-out
entries gain. If a weighted sum of all these answers is clearly better than the best of them, that is the answer.
"""

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
from ..losses import is_score
from ..methods.base import Method, Status, Stopped
from ..methods.problem import Problem
from ..methods.registry import FURTHER
from ..models import Blend, Model
from .blending import blend_weights
from .centring import are_balanced, are_needed, may_help, zero_of
from .context import Context
from .holdout.kinds import Holdout
from .holdout.splits import Split, losses_of
from .optimism import inflation
from .run import status_of
from .scored import BestSoFar, Scored
from .search.base import PathPoint, Trial
from .search.table import search_for
from .search.trials import Trials
from .simple import simple_answers, stage_alone
from .stages.base import After, Before, Reduced, merging
from .stages.centre import Centre, can_centre, is_of_differences
from .stages.table import stages_after

FAR_BEHIND = 1.5
"""An answer with this many times the loss of a smooth field alone is brought to the end only if it is the best."""

OUT_OF_REACH = 4.0
"""An answer with this many times the loss of the best is not finished, since it hardly has a part in a blend."""

MOST_ROUNDS = 2
"""The mean and the effects are fitted beside the answer at most this often."""

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
    judged
        The losses of all answers so far at the held-out entries.
    finalists
        The best answer of each method so far.
    """

    problem: Problem
    splits: Sequence[Split]
    holdout: Holdout
    graphs: Mapping[int, Graph]
    asked: Mapping[str, Any]
    context: Context
    given: tuple[Before, ...] = ()
    unordered: Collection[int] = ()
    best: BestSoFar = field(default_factory=BestSoFar)
    searches: list[Trials] = field(default_factory=list)
    fields: list[Scored] = field(default_factory=list)
    judged: list[Floats] = field(default_factory=list)
    finalists: list[Scored] = field(default_factory=list)

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

    def errors(self, scored: Scored) -> Floats | None:
        """Return the errors of an answer at the held-out entries; None for scores, which no sum predicts."""
        if not is_of_differences(self.problem.loss):
            return None
        return _predicted(self.splits, scored.on(self.splits)) - self.observed

    def blended(self, best: Scored, *, simple: bool) -> Scored:
        """Return the blend of all answers, if held-out entries clearly gain by it; else the best alone.

        Simple answers have a part in it if they are contenders.
        """
        if not is_of_differences(self.problem.loss):
            return best
        others = [*self.finalists, *(self.simple if simple else ())]
        answers = [best, *(each for each in others if each.losses is not best.losses)]
        models = [each.on(self.splits) for each in answers]
        weights = blend_weights(np.stack([_predicted(self.splits, each) - self.observed for each in models]), best=0)
        if weights is None:
            return best
        order = [int(place) for place in np.argsort(-weights, kind="stable") if weights[place] > 0]
        first, rest = answers[order[0]], [answers[place] for place in order[1:]]
        blends = [Blend([models[place][at] for place in order], weights[order]) for at in range(len(self.splits))]
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
                answers: list[Any] = [None] * len(self.splits)
                for stage in kind.rivals(proposed):
                    pairs = zip(self.splits, answers, strict=True)
                    answers = [stage.improve(each.problem, zero_of(each), own, near) for each, near in pairs]
                    self.fields.append(stage_alone(self.splits, stage, answers))
        except TimeUp:
            clock.check()
        return min((float(each.losses.mean()) for each in self.fields), default=math.inf)

    def is_far_behind(self, scored: Scored) -> bool:
        """Return whether a stage alone is so much better that the last sweeps of a method do not matter."""
        return bool(scored.losses.mean() > FAR_BEHIND * self.rival)


def choose(
    contest: Contest, methods: Sequence[Method], *, every: bool = True, simple: bool = False, blend: bool = False
) -> Scored:
    """Return the best recipe of several methods, and what it gives on the splits.

    Parameters
    ----------
    contest
        What they are scored on.
    methods
        The methods, with what they leave open.
    every
        Whether all methods are tried. If not, the first whose answer leaves nothing to find is the last, unless
        nothing like the missing entries could be held out.
    simple
        Whether simple answers are contenders too.
    blend
        Whether the answer may be a blend.
    """
    clock, best = contest.context.clock, contest.best
    for number, method in enumerate(methods):
        share = clock.part(1 / (len(methods) - number)) if len(methods) > 1 else clock
        contest.finalists.append(contend(contest, method, share, finish=every, follow=method.name in FURTHER))
        if contest.finalists[-1].search.conclusive and not every and not contest.holdout.is_unlike:
            break
    if not every:
        _finish_the_best(contest, clock)
    clock.check()
    best.current = best.answer
    scored = contest.or_simpler(best.working) if simple else best.working
    return contest.blended(scored, simple=simple) if blend else scored


def _finish_the_best(contest: Contest, clock: Clock) -> None:
    """Add the stages after the method to the answers that may win by them, or have a part in a blend."""
    contest.finalists.sort(key=lambda each: float(each.losses.mean()))
    least = float(contest.finalists[0].losses.mean())
    for place, scored in enumerate(contest.finalists):
        if scored.losses.mean() > OUT_OF_REACH * least:
            break
        contest.best.current = scored
        if contest.is_far_behind(scored) and place == 0:
            _bring_to_the_end(contest, clock)
        _finish(contest, clock, alone=place == 0)
        contest.finalists[place] = contest.best.settle()


def contend(contest: Contest, method: Method, clock: Clock, *, finish: bool = True, follow: bool = False) -> Scored:
    """Let a method choose its settings, finish its answer if asked to, and keep it if it is the best so far.

    With `follow`, the data is centred for it if and only if it is for the best answer so far. If it is centred for that
    answer, measurements are so in any case.
    """
    contest.context.display.begin(f"choosing settings of {method.name}", None)
    try:
        before = _centred_as_the_best(contest, follow=follow)
        if before is not None:
            _searched(contest, method, clock, before)
        else:
            _search_with_and_without_centring(contest, method, clock)
        found = contest.best.working
        found.search.finish(found.trials)
        contest.best.current = Scored.of(found.trials, found.search, found.trials.leader, found.recipe.before)
        if finish or not contest.is_far_behind(contest.best.working):
            _bring_to_the_end(contest, clock)
        if finish:
            _finish(contest, clock)
    except (Stopped, TimeUp) as stop:
        # The time of this method is over, but what it has so far is an answer.
        if contest.best.current is None or status_of(stop) is not Status.TIME_LIMIT:
            raise
    return contest.best.settle()


# The search


def _centred_as_the_best(contest: Contest, *, follow: bool) -> tuple[Before, ...] | None:
    """Return the stages before the method of the best answer so far; None if others may be better for the next."""
    champion = contest.best.champion
    if champion is None:
        return None
    before = champion.recipe.before
    return before if follow or (before and is_of_differences(contest.problem.loss)) else None


def _search_with_and_without_centring(contest: Contest, method: Method, clock: Clock) -> None:
    """Find the best settings for the data as it is or, if that is better, for the centred data."""
    asked, loss, splits = contest.asked.get("centre", "auto"), contest.problem.loss, contest.splits
    possible = asked == "auto" and "centre" in method.stages and can_centre(loss)
    silent = any(method.is_silent_somewhere(split.problem) for split in splits)
    needed = possible and (silent or (is_score(loss) and are_needed(splits, contest.context.clock)))
    if asked is True or isinstance(asked, Centre) or needed:
        _searched(contest, method, clock, (asked if isinstance(asked, Centre) else Centre(),))
        if needed and are_balanced(splits):
            # Then the effects are better than nothing, but a method may find more without them.
            _searched(contest, method, clock, ())
        return
    plain = _searched(contest, method, clock, ())
    if possible and is_of_differences(loss) and may_help(splits, plain.point.held_out, contest.context.clock):
        _searched(contest, method, clock, (Centre(),))


def _searched(contest: Contest, method: Method, clock: Clock, before: tuple[Before, ...]) -> Trial:
    """Return the best trial of a search behind some stages, and keep it if it beats the one before."""
    best, search = contest.best, search_for(method)
    earlier, champion = best.current, best.champion
    words = tuple(stage.brief for stage in before)
    splits = [split.centred(contest.context.clock) for split in contest.splits] if before else contest.splits

    def tried(trial: Trial) -> None:
        contest.judged.append(trial.losses)
        contest.context.display.tried(len(contest.points), contest.context.scale.error(trial.point.held_out))
        scored = Scored.of(trials, search, trial, before)
        if trials.best is trial and scored.beats(earlier):
            best.current = scored

    trials = Trials(
        splits=splits,
        context=replace(contest.context, clock=clock),
        before=words,
        tried=tried,
        rival=contest.rival,
        found=champion.trial.models if champion is not None and champion.trials.before == words else None,
        beside=None if champion is None else contest.errors(champion),
    )
    contest.searches.append(trials)
    search.run(trials)
    # A search may prefer a trial by its own rule.
    scored = Scored.of(trials, search, trials.leader, before)
    if scored.beats(earlier):
        best.current = scored
    return trials.leader


# What follows the search


def _bring_to_the_end(contest: Contest, clock: Clock) -> None:
    """Solve the fits without the held-out entries as far as the method asks; error bars rest on them.

    A method that comes down from a large lambda may end elsewhere than from the answer of its search, so both ways are
    tried, and the last fit takes the better one. If the answer is clearly better as it was, the last fit stops early.
    """
    scored = contest.best.working
    method = scored.final(len(scored.trials.splits[0].problem.observations))
    contest.context.display.begin("fitting without the held-out entries", method.max_iter, method.tol)
    ways: list[Sequence[Model] | None] = [] if scored.trial.early else [scored.trial.models]
    if getattr(method, "descend", False):
        ways.append(None)
    best: Scored | None = None
    for ended in [_ended(contest, scored, method, way) for way in reversed(ways)]:
        # The fit that finds its own way comes first: its recipe repeats it.
        best = ended if ended.beats(best) else best
    contest.best.current = scored.as_it_was() if best is None or scored.beats(best) else best
    if is_score(contest.problem.loss) and scored.recipe.before:
        _centre_again(contest, clock)


def _ended(contest: Contest, scored: Scored, method: Method, starts: Sequence[Model] | None) -> Scored:
    """Return the answer of a method that is solved as far as it asks, from these models or by itself."""
    trials, trial = scored.trials, scored.trial
    results = trials.solve(method, starts, trial.point.mu, thoroughly=True)
    losses = losses_of(trials.local, [result.model for result in results])
    contest.judged.append(losses)
    ended = replace(trial, results=results, losses=losses)
    answer = replace(Scored.of(trials, scored.search, ended, scored.recipe.before), afresh=starts is None)
    if starts is not None:
        contest.best.current = answer
    for result in results:
        result.finished_or_stopped()
    return answer


def _centre_again(contest: Contest, clock: Clock) -> None:
    """Fit the mean and the effects again beside the answer, and the answer beside them, while that is better.

    If the caller gives the number of rounds, there are as many.
    """
    asked = contest.asked.get("centre", "auto")
    given = isinstance(asked, Centre)
    for rounds in range(1, (asked.rounds if given else MOST_ROUNDS) + 1):
        clock.check()
        scored = contest.best.working
        again = Centre(rounds)
        pairs = zip(contest.splits, scored.models, strict=True)
        splits = [split.by([again], contest.context.clock, model) for split, model in pairs]
        trials = replace(scored.trials, splits=splits)
        results = trials.solve(scored.trial.method, scored.models, scored.trial.point.mu)
        losses = losses_of(splits, [result.model for result in results])
        contest.judged.append(losses)
        trial = replace(scored.trial, results=results, losses=losses)
        better = Scored.of(trials, scored.search, trial, (again,))
        if not (given or better.beats(scored)):
            return
        contest.best.current = better


def _predicted(splits: Sequence[Split], models: Sequence[Model]) -> Floats:
    """Return the predictions at the held-out entries of all splits."""
    return np.concatenate([split.predict(model) for split, model in zip(splits, models, strict=True)])


def _finish(contest: Contest, clock: Clock, *, alone: bool = True) -> None:
    """Add the stages after the method to its answer, where held-out entries gain.

    `alone` says whether stages that do without the answer of the method are tried too.
    """
    for kind, proposed in contest.proposed.items():
        if proposed:
            clock.check()
            contest.context.display.begin(f"trying: {kind.title.lower()}", None)
            contest.best.current = _improved(contest, contest.best.working, kind, clock, alone=alone)


def _improved(contest: Contest, scored: Scored, kind: type[After], clock: Clock, *, alone: bool = True) -> Scored:
    """Return the answer with the best settings of a stage, or as it is."""
    best: Scored | None = None
    asked = contest.asked.get(kind.name, "auto")
    for group in contest.proposed[kind]:
        if group[0].alone and not alone:
            continue
        answers: Sequence[Any] = [None] * len(scored.models)
        last = float(scored.losses.mean()) if kind.first_must_gain else math.inf
        for stage in group:
            # What does without the answer of the method takes the data as it is, unless centring was asked for.
            plain = stage.alone and contest.asked.get("centre", "auto") is not True
            splits = contest.splits if plain else scored.splits
            each = zip(splits, scored.models, answers, strict=True)
            answers = [stage.improve(split.problem, model, clock, near) for split, model, near in each]
            losses = losses_of(splits, answers)
            contest.judged.append(losses)
            if best is None or losses.mean() < best.losses.mean():
                before = () if plain else scored.recipe.before
                recipe = replace(scored.recipe, before=before, after=(*scored.recipe.after, stage))
                best = replace(scored, recipe=recipe, splits=splits, models=answers, losses=losses)
            if losses.mean() >= kind.gain * last:
                break
            last = float(losses.mean())
    if best is None:
        return scored
    wanted = isinstance(asked, kind)
    better = wanted or kind.is_kept(asked, best.losses, scored.losses, is_better=best.beats(scored))
    return best if better else scored
