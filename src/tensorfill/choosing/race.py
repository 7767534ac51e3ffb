"""A race: a method searches behind several sequences of stages side by side, and whatever falls behind stops.

Every search pauses after its first look, and before steps that take long. There, one goes on only while its best trial
may win, or have a part in a blend with the best answer of other methods, and while the method is not better beyond
doubt behind other stages: at the same pause, or earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce

from .._support.clock import Clock
from ..methods.base import Method
from .contest import Contest
from .scored import Scored
from .search.base import BEYOND_DOUBT, Trial
from .search.table import search_for
from .search.trials import Ahead, Trials
from .stages.base import Before


def race(contest: Contest, method: Method, clock: Clock, forms: Iterable[tuple[Before, ...]]) -> None:
    """Let a method choose its settings behind each of several sequences of stages, and keep the best answer.

    Parameters
    ----------
    contest, method, clock
        What it is scored on, the method with its open settings, and the clock.
    forms
        The stages before the method. The next is asked for when the last one has had its first look.
    """
    racers: list[Racer] = []

    def keep() -> None:
        found = [racer.current for racer in racers if racer.current is not None]
        contest.best.current = reduce(lambda best, other: other if other.beats(best) else best, found)

    for before in forms:
        racers.append(Racer(contest, method, clock, before, keep))
        racers[-1].go_on()
    while running := [racer for racer in racers if racer.is_worth_more(racers)]:
        for racer in running:
            racer.go_on()


class Racer:
    """The search of a method behind some stages.

    Parameters
    ----------
    contest, method, clock
        What it is scored on, the method with its open settings, and the clock.
    before
        The stages before the method.
    keep
        Called whenever it has a better answer.
    """

    def __init__(
        self, contest: Contest, method: Method, clock: Clock, before: tuple[Before, ...], keep: Callable[[], None]
    ) -> None:
        champion, words = contest.best.champion, tuple(stage.brief for stage in before)
        is_alike = champion is not None and champion.recipe.method.name == method.name
        ahead = None if champion is None or is_alike or contest.every else champion
        self._alike = champion.trial if champion is not None and is_alike else None
        self._contest, self._before, self._keep = contest, before, keep
        self._search = search_for(method)
        self._trials = Trials(
            splits=[split.behind(before, contest.context.clock) for split in contest.splits],
            context=replace(contest.context, clock=clock),
            before=words,
            tried=self._tried,
            rival=contest.rival,
            found=champion.trial if champion is not None and champion.trials.before == words else None,
            ahead=None if ahead is None else Ahead(ahead.trial.losses, contest.errors_of_trial(ahead)),
        )
        contest.searches.append(self._trials)
        self._steps = self._search.run(self._trials)
        self._is_over = False
        self.current: Scored | None = None

    def go_on(self) -> None:
        """Search up to the next pause, or to the end."""
        self._is_over = next(self._steps, self._search) is self._search
        if self._is_over:
            # A search may prefer a trial by its own rule.
            self._take(self._trials.leader)

    def is_worth_more(self, racers: Iterable[Racer]) -> bool:
        """Return whether there is anything left to do that may matter, beside all searches of the race."""
        leader = self._trials.leader
        others = [other._trials.leader for other in racers if other is not self]
        if self._alike is not None:
            others.append(self._alike)
        return (
            not self._is_over
            and self._trials.may_matter(leader)
            and not any(other.beats(leader, by=BEYOND_DOUBT) for other in others)
        )

    def _tried(self, trial: Trial) -> None:
        contest = self._contest
        contest.judged.append(trial.losses)
        contest.context.display.tried(len(contest.points), contest.context.scale.error(trial.point.held_out))
        if self._trials.best is trial:
            self._take(trial)

    def _take(self, trial: Trial) -> None:
        self.current = Scored.of(self._trials, self._search, trial, self._before)
        self._keep()
