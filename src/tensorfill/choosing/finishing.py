"""What follows a search: its best trial is solved to the end, and gets the stages by which held-out entries gain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._support.clock import Clock
from ..losses import is_score
from ..methods.base import Method
from ..models import Model
from .contest import Contest
from .holdout.splits import losses_of
from .scored import Scored
from .stages.base import After, merging
from .stages.centre import Centre

MOST_ROUNDS = 2
"""The mean and the effects are fitted beside the answer at most this often."""


def finish_the_best(contest: Contest, clock: Clock, *, simple: bool) -> None:
    """Finish the answers that may win, or have a part in a blend: solve them to the end, and add stages.

    An answer that is far behind a stage alone is solved to the end only if that is no contender, as `simple` says.
    """
    contest.finalists.sort(key=lambda each: float(each.losses.mean()))
    for place, scored in enumerate(contest.finalists):
        if place > 0 and not contest.may_matter(scored):
            continue
        contest.best.current = scored
        if not (scored.ended or (contest.is_far_behind(scored) and (place > 0 or simple))):
            bring_to_the_end(contest, clock)
        add_stages(contest, clock, alone=place == 0)
        contest.finalists[place] = contest.best.settle()


def bring_the_best_to_the_end(contest: Contest, clock: Clock) -> None:
    """Solve the best answer so far as far as its method asks, unless a stage alone is far better."""
    best, champion = contest.best, contest.best.champion
    if champion is None or contest.is_far_behind(champion):
        return
    place = contest.finalists.index(champion)
    best.current, best.champion = champion, None
    bring_to_the_end(contest, clock)
    contest.finalists[place] = best.settle()


def bring_to_the_end(contest: Contest, clock: Clock) -> None:
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
    contest.best.current = scored.as_it_was() if best is None or scored.beats(best) else replace(best, ended=True)
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


def add_stages(contest: Contest, clock: Clock, *, alone: bool = True) -> None:
    """Add the stages after the method to its answer, where held-out entries gain.

    `alone` says whether stages that do without the answer of the method are tried too.
    """
    for kind, proposed in contest.proposed.items():
        if proposed:
            clock.check()
            contest.context.display.begin(f"trying: {kind.title.lower()}", None)
            contest.best.current = improved(contest, contest.best.working, kind, clock, alone=alone)


def improved(contest: Contest, scored: Scored, kind: type[After], clock: Clock, *, alone: bool = True) -> Scored:
    """Return the answer with the best settings of a stage, or as it is."""
    best: Scored | None = None
    asked = contest.asked.get(kind.name, "auto")
    for group in contest.proposed[kind]:
        if (group[0].alone and not alone) or (merging(scored.recipe.before) and not group[0].alone):
            # What is added to an answer speaks of the modes of the data.
            continue
        answers: Sequence[Any] = [None] * len(scored.models)
        last = float(scored.losses.mean()) if kind.first_must_gain else math.inf
        for stage in group:
            # What does without the answer of the method takes the data as it is, unless centring was asked for.
            if stage.alone and contest.asked.get("centre", "auto") is not True:
                found = contest.alone(stage, clock)
            else:
                each = zip(scored.splits, scored.models, answers, strict=True)
                answers = [stage.improve(split.problem, model, clock, near) for split, model, near in each]
                recipe = replace(scored.recipe, after=(*scored.recipe.after, stage))
                found = replace(scored, recipe=recipe, models=answers, losses=losses_of(scored.splits, answers))
            contest.judged.append(found.losses)
            if best is None or found.losses.mean() < best.losses.mean():
                best = found
            if found.losses.mean() >= kind.gain * last:
                break
            last = float(found.losses.mean())
    if best is None:
        return scored
    wanted = isinstance(asked, kind)
    better = wanted or kind.is_kept(asked, best.losses, scored.losses, is_better=best.beats(scored))
    return best if better else scored
