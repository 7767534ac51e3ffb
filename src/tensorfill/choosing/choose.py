"""Choosing a recipe: contenders are scored on the same held-out entries; the answer is the best, or a blend.

Simple answers come first. Each method then chooses its settings by its search, on the data as it is and on centred
data. The best of these are solved as far as the last fit will be, and get the stages by which held-out entries gain. If
a weighted sum of all these answers is better than the best of them, that is the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from .._support.clock import Clock, TimeUp
from .._support.types import Floats, Integers
from ..losses import Square, is_score
from ..methods.base import Method, Status, Stopped
from ..methods.registry import FURTHER
from .centring import are_balanced, are_needed, may_help
from .contest import Contest
from .finishing import add_stages, bring_the_best_to_the_end, bring_to_the_end, finish_the_best
from .race import race
from .run import status_of
from .scored import Scored
from .search.trials import Trials
from .search.walk import Walk
from .stages.base import Before, merging
from .stages.centre import Centre, can_centre, is_of_differences
from .stages.table import in_order, stages_before

MOST_ENTRIES = 100_000
"""With more observed entries, the best method is not tried behind other stages: that takes long, and there is less to
gain."""


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
    contest.every = every
    for number, method in enumerate(methods):
        share = clock.part(1 / (len(methods) - number)) if len(methods) > 1 else clock
        if contest.holdout.is_unlike and contest.finalists and not every:
            # Where nothing is observed, an answer of the same rank with a ridge may predict better than one without.
            method = method.with_rank_of(contest.finalists[0].recipe.method)
        contest.finalists.append(contend(contest, method, share, finish=every, follow=method.name in FURTHER))
        if contest.finalists[-1].search.conclusive and not every and not contest.holdout.is_unlike:
            break
    else:
        if not every:
            bring_the_best_to_the_end(contest, clock)
            _behind_other_stages(contest, methods, clock)
    if not every:
        finish_the_best(contest, clock, simple=simple)
    clock.check()
    best.current = best.answer
    scored = contest.or_simpler(best.working) if simple else best.working
    if contest.holdout.is_unlike and not every:
        cautious = contest.most_cautious(scored)
        if cautious is not scored:
            # A blend would have its weights from entries that cannot tell the two.
            return cautious
    return contest.blended(scored, simple=simple) if blend else scored


def contend(
    contest: Contest,
    method: Method,
    clock: Clock,
    *,
    finish: bool = True,
    follow: bool = False,
    before: tuple[Before, ...] | None = None,
) -> Scored:
    """Let a method choose its settings, finish its answer if asked to, and keep it if it is the best so far.

    Parameters
    ----------
    contest, method, clock
        What it is scored on, the method with its open settings, and the clock.
    finish
        Whether its answer gets the stages after the method.
    follow
        Whether the data is centred for it if and only if it is for the best answer so far. If it is centred for that
        answer, measurements are so in any case.
    before
        The stages before the method; None to choose whether the data is centred.
    """
    contest.context.display.begin(f"choosing settings of {method.name}", None)
    try:
        before = _centred_as_the_best(contest, method, follow=follow) if before is None else before
        race(contest, method, clock, _with_and_without_centring(contest, method) if before is None else [before])
        found = contest.best.working
        found.search.finish(found.trials)
        contest.best.current = Scored.of(found.trials, found.search, found.trials.leader, found.recipe.before)
        if finish:
            bring_to_the_end(contest, clock)
            add_stages(contest, clock)
    except (Stopped, TimeUp) as stop:
        # The time of this method is over, but what it has so far is an answer.
        if contest.best.current is None or status_of(stop) is not Status.TIME_LIMIT:
            raise
    return contest.best.settle()


def _behind_other_stages(contest: Contest, methods: Sequence[Method], clock: Clock) -> None:
    """Let the best method so far have the data in the forms that stages before it propose, while held-out entries gain.

    It chooses its settings again if the tensor has other modes, and keeps them if not.
    """
    if not isinstance(contest.problem.loss, Square) or contest.given or contest.graphs:
        return
    if len(contest.problem.observations) > MOST_ENTRIES:
        return
    coords = np.concatenate([split.held_out.coords for split in contest.splits])
    for kind in stages_before():
        champion = _best_without_time(contest)
        if champion is None or contest.asked.get(kind.name, "auto") != "auto" or merging(champion.recipe.before):
            continue
        errors = contest.errors(champion)
        for stage in () if errors is None else _proposed(kind, contest, coords, errors):
            before, earlier = in_order((*champion.recipe.before, stage)), contest.best.champion
            if kind.other_modes:
                method = next(each for each in methods if each.name == champion.recipe.method.name)
                found = contend(contest, method, clock, finish=False, before=before)
            else:
                found = _as_chosen(contest, champion, clock, before)
            contest.finalists.append(found)
            if contest.best.champion is earlier and not kind.every:
                break


def _best_without_time(contest: Contest) -> Scored | None:
    """Return the best answer of a method that does not know time, which other forms of the data may help."""
    champion = contest.best.champion
    if champion is None or not champion.recipe.method.reached:
        return champion
    others = [each for each in contest.finalists if not each.recipe.method.reached]
    return min(others, key=lambda each: float(each.losses.mean()), default=None)


def _proposed(kind: type[Before], contest: Contest, coords: Integers, errors: Floats) -> Sequence[Before]:
    """Return the settings of a stage to try, for the errors of the best answer at entries that were held out."""
    return kind.proposed(coords, errors, contest.problem.observations.shape, contest.axis)


def _as_chosen(contest: Contest, champion: Scored, clock: Clock, before: tuple[Before, ...]) -> Scored:
    """Let the method of an answer, with the settings that were chosen, solve what other stages make of the data."""
    contest.context.display.begin(f"trying: {before[-1].title.lower()}", None)
    method = champion.final(len(champion.splits[0].problem.observations))
    trials = Trials(
        splits=[split.behind(before, clock) for split in contest.splits],
        context=replace(contest.context, clock=clock),
        before=tuple(stage.brief for stage in before),
    )
    contest.searches.append(trials)
    trial = trials.run(method, None, tried={})
    contest.judged.append(trial.losses)
    # The last fit finds its own way, as this one did.
    contest.best.current = replace(Scored.of(trials, Walk(method), trial, before), afresh=True, ended=True)
    return contest.best.settle()


# The search


def _centred_as_the_best(contest: Contest, method: Method, *, follow: bool) -> tuple[Before, ...] | None:
    """Return the stages before the method of the best answer so far; None if others may be better for the next."""
    champion = contest.best.champion
    if champion is None:
        return None
    if "centre" not in method.stages:
        return tuple(stage for stage in champion.recipe.before if not isinstance(stage, Centre))
    before = champion.recipe.before
    return before if follow or (before and is_of_differences(contest.problem.loss)) else None


def _with_and_without_centring(contest: Contest, method: Method) -> Iterator[tuple[Before, ...]]:
    """Give the stages before a method to choose from: for the data as it is, for centred data, or for both."""
    asked, loss, splits = contest.asked.get("centre", "auto"), contest.problem.loss, contest.splits
    clock = contest.context.clock
    possible = asked == "auto" and "centre" in method.stages and can_centre(loss)
    silent = any(method.is_silent_somewhere(split.problem) for split in splits)
    needed = possible and (silent or (is_score(loss) and are_needed(splits, clock)))
    if asked is True or isinstance(asked, Centre) or needed:
        yield (asked if isinstance(asked, Centre) else Centre(),)
        if needed and are_balanced(splits):
            # Then the effects are better than nothing, but a method may find more without them.
            yield ()
        return
    yield ()
    error = contest.best.working.trial.point.held_out
    if possible and is_of_differences(loss) and may_help(splits, error, clock):
        yield (Centre(),)
