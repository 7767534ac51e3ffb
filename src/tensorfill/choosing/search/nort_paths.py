"""Paths of NORT's search: decreasing cuts of the singular values, each with a warm start from the last.

This keeps ranks small throughout, and nonconvex penalties out of bad critical points. While every point gains much, a
path takes double steps. It ends where the score has clearly worsened, and earlier if it cannot beat the best of the
other paths.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...methods.nort import Nort
from ...methods.nort.descent import PATH_ITERATIONS, PATH_TOLERANCE, SMALLEST_CUT, largest_cut, room_for
from ...models import Model
from ...penalties import Nuclear, weight_for_cut
from ...penalties.family import make_family
from .base import PathPoint, Trial
from .candidates import CLEARLY_WORSE, PATIENCE, Candidate, NoiseEdge, cannot_pass, has_many_ranks, is_past, is_worse
from .trials import Trials

REACH, LESS_REACH = 2.0, 1.2
"""A search ends early if its loss is this many times that of a rival; the second number is for many ranks, where other
weights and penalties change little."""

LARGE_GAIN = 0.2
"""A path takes a double step after a point that lowered the error by this share."""

LEAST_GAIN, LEAST_GAIN_OUT_OF_REACH = 0.005, 0.02
"""A path with many ranks also ends if `PATIENCE` points gain less than this share of the error; the second number is
for a search that cannot reach its rival."""

FALLING_FAST = 20
"""Data whose singular values decay fast has at most this many ranks."""

LEAD = 4
"""A path at another q starts this many points before the best of the first."""

SETTLING_ITERATIONS = 20
"""Iterations after which it is clear whether a weak direction among noise grows."""


class PathFollower:
    """Tries candidates and follows paths.

    Parameters
    ----------
    settings
        The method; its lambda and penalty are replaced.
    """

    def __init__(self, settings: Nort) -> None:
        self._settings = settings
        if isinstance(settings.penalty, list | tuple):
            raise ValueError("penalty must be one for all modes if lam is 'auto'; give lam, or one penalty.")
        self._family = make_family(settings.penalty, settings.theta)  # type: ignore[arg-type]
        # Modes, rank limits and tau do not depend on the penalty, which is chosen later.
        self._base = replace(settings, lam=1.0, penalty=Nuclear(), theta="auto")
        self._is_zero = False
        self._edges: dict[float | None, NoiseEdge] = {}
        self._points: list[PathPoint] = []
        self._best_at: dict[float, Trial] = {}
        self._firsts: dict[Candidate, Trial] = {}

    def _begin(self, trials: Trials) -> None:
        problem = trials.problems[0]
        regulariser = self._base.regulariser(problem)
        if trials.stiffnesses and self._base.keeps_observed_columns(problem, regulariser.modes):
            # Graphs need all columns. Every trial has them, and if they do not fit, the first one raises an error.
            self._base, self._settings = (replace(each, storage="sparse") for each in (self._base, self._settings))
        self._trials, self.modes, self._most_ranks = trials, regulariser.modes, regulariser.max_ranks

    def _try(
        self,
        candidate: Candidate,
        start: Trial | Sequence[Model] | None,
        room: Sequence[int] | None = None,
        *,
        tol: float = PATH_TOLERANCE,
        max_iter: int = PATH_ITERATIONS,
        variation: bool = False,
        early: bool = False,
    ) -> Trial:
        """Solve with a candidate and score it; a variation of its start is abandoned if it does not improve."""
        method = self._method(candidate, room or self._room(candidate, start if isinstance(start, Trial) else None))
        raised = {} if method.tau == self._settings.tau else {"tau": float(method.tau or 0)}
        trial = self._trials.run(
            method,
            start,
            tried={"cut": candidate.cut, "q": candidate.q, **raised},
            candidate=candidate,
            mu=candidate.mu,
            tol=tol,
            max_iter=max_iter,
            variation=variation,
            early=early,
        )
        self._points.append(trial.point)
        # A q that follows the ranks does not identify the path.
        q = self._family.first if self._family.follows_rank else candidate.q
        if trial.beats(self._best_at.get(q)):
            self._best_at[q] = trial
        return trial

    def _method(self, candidate: Candidate, room: Sequence[int]) -> Nort:
        """Return the method with the penalty and the lambdas of a candidate."""
        kept = [place for place, weight in enumerate(candidate.weights) if weight > 0]
        penalty = self._family.make(candidate.cut, candidate.q)
        tau = self._base.regulariser(self._trials.problem_at(candidate.mu)).tau
        total = weight_for_cut(penalty, candidate.cut) * tau
        return replace(
            self._settings,
            modes=tuple(self.modes[place] for place in kept),
            lam=tuple(total * candidate.weights[place] for place in kept),
            max_rank=tuple(room[place] for place in kept),
            penalty=penalty,
            theta="auto",
            tau=self._settings.tau if candidate.tau == 1 else candidate.tau * tau,
            # Trials are short, because the path keeps them near their solutions.
            polish=self._settings.polish is True and candidate.mu == 0,
        )

    def _room(self, candidate: Candidate, start: Trial | None) -> tuple[int, ...]:
        """Return the rank limit of each mode for a trial of a candidate from `start`."""
        return room_for(self._edge(candidate).ranks, (0,) * len(self.modes) if start is None else self.ranks(start))

    def _edge(self, candidate: Candidate) -> NoiseEdge:
        """Return where noise enters for a candidate, if it is known."""
        return self._edges.get(candidate.noise, NoiseEdge(0.0, self._most_ranks))

    def ranks(self, trial: Trial) -> tuple[int, ...]:
        """Return the rank of each mode that may be regularised; 0 if the trial leaves it out."""
        found = dict(zip(trial.point.modes, trial.point.ranks, strict=True))
        return tuple(found.get(mode, 0) for mode in self.modes)

    def _top(self, q: float) -> Candidate:
        """Return the candidate at which the answer becomes zero, with equal weights for all modes."""
        trials = self._trials
        largest = max(largest_cut(self._base, problem, trials.rng) for problem in trials.problems)
        # Data that is zero everywhere has no scale, and the answer is zero for any cut.
        self._is_zero = largest == 0
        return Candidate(largest or 1.0, q, (1 / len(self.modes),) * len(self.modes))

    def _follow(
        self, above: Candidate, start: Trial | None, rival: Trial | None = None, beside: Sequence[PathPoint] = ()
    ) -> list[Trial]:
        """Try the candidates below one, each with a warm start, until the score has clearly worsened.

        A `rival` is the best of other paths; a path that cannot beat it ends early. So does one that is clearly worse
        than the points of a path `beside` it at the same cuts.

        Returns the trials from a few points before the best on; earlier ones are freed to save memory.
        """
        trials: list[Trial] = []
        best, points, behind = 0, 0, 0
        candidate = above.lower(1)
        while True:
            if start is None:
                last = self._first(candidate)
            else:
                last = self._try(self._freed(candidate, start), start)
                if self._is_full(last, start) and not self._ends_at(self._trials.leader, last):
                    last = self._without_noise(last, start)
            trials.append(last)
            points += 1
            behind = behind + 1 if _is_behind(last, beside) else 0
            if last.beats(trials[best]):
                best = len(trials) - 1
            if (
                self._ends_at(trials[best], last)
                or is_past(trials[best:], points > PATIENCE or rival is not None)
                or self._levels_off(trials)
                or (rival is not None and rival.beats(last) and cannot_pass(trials, rival.point.held_out))
                or (has_many_ranks(last) and cannot_pass(trials, self._least_reach))
                or behind >= PATIENCE
            ):
                break
            highest = trials[best].candidate.lower(-LEAD).cut * (1 + 1e-9)
            early = sum(trial.candidate.cut <= highest for trial in trials[:best])
            del trials[: best - early]
            best = early
            gains_much = start is not None and last.point.held_out < (1 - LARGE_GAIN) * start.point.held_out
            candidate, start = candidate.lower(2 if gains_much else 1), last
            if candidate.cut < max(self._edge(candidate).cut * (1 - 1e-9), above.cut * SMALLEST_CUT):
                break
        return trials

    def _ends_at(self, best: Trial, last: Trial) -> bool:
        """Return whether a path is past the best trial so far, which is no match for the best of other methods."""
        return is_worse(last, best) and not self._trials.may_matter(best)

    def _first(self, candidate: Candidate) -> Trial:
        """Return the trial of a candidate from zero, with which a path starts."""
        if candidate not in self._firsts:
            self._firsts[candidate] = self._try(candidate, None)
        return self._firsts[candidate]

    def _freed(self, candidate: Candidate, start: Trial) -> Candidate:
        """Return a candidate with as many free singular values as the ranks of its start, if its penalty allows."""
        return replace(candidate, q=self._family.freed(candidate.q, self.ranks(start)))

    def _levels_off(self, trials: Sequence[Trial]) -> bool:
        """Return whether the last points of a path hardly improved, while ranks were high.

        This happens for data without low rank: every further direction explains a little more, at a higher cost.
        """
        if len(trials) <= PATIENCE:
            return False
        before, last = trials[-PATIENCE - 1], trials[-1]
        gain = before.point.held_out - last.point.held_out
        least = LEAST_GAIN if self._is_in_reach(last) else LEAST_GAIN_OUT_OF_REACH
        return 0 <= gain < least * before.point.held_out and has_many_ranks(last)

    @property
    def _least_reach(self) -> float:
        """The error within reach of the rival for an answer with many ranks."""
        return math.sqrt(2 * LESS_REACH * self._trials.rival)

    def _is_in_reach(self, trial: Trial) -> bool:
        """Return whether a trial is close enough to its rival to beat it later."""
        reach = LESS_REACH if has_many_ranks(trial) else REACH
        return bool(trial.losses.mean() <= reach * self._trials.rival)

    def _is_full(self, trial: Trial, start: Trial) -> bool:
        """Return whether a trial reached its rank limits, although those of the search are higher."""
        found, candidate = self.ranks(trial), trial.candidate
        limits = zip(found, self._room(candidate, start), self._edge(candidate).ranks, strict=True)
        return any(rank == room < limit for rank, room, limit in limits)

    def _without_noise(self, full: Trial, start: Trial) -> Trial:
        """Return what to keep of a trial that reached its rank limits: itself, a simpler one, or its start.

        If the cut falls below the noise, ranks jump to their limits. A useful weak direction among them grows in a few
        more iterations, so it remains when the cut is raised again, while noise vanishes. If the answer is no worse for
        that, this cut is the last, and the remaining ranks are the limit. If nothing vanishes, there was no noise, and
        the path only needs higher rank limits.
        """
        room = self._room(full.candidate, start)
        trials = [self._try(full.candidate, full, room, tol=0.0, max_iter=SETTLING_ITERATIONS)]
        for _ in range(LEAD - 1):
            trials.append(self._try(trials[-1].candidate.lower(-1), trials[-1]))
        best = min(trials, key=lambda trial: trial.point.held_out)
        simplest = next(trial for trial in reversed(trials) if not best.beats(trial))
        kept = simplest if simplest.beats(start) else start
        if kept is not trials[0] and self.ranks(kept) != self.ranks(full):
            ranks = tuple(max(rank, 1) for rank in self.ranks(kept))
            self._edges[full.candidate.noise] = NoiseEdge(full.candidate.cut, ranks)
        return kept


def _is_behind(trial: Trial, beside: Sequence[PathPoint]) -> bool:
    """Return whether a trial is clearly worse than another path was when it had come to the same cut."""
    reached = [point.held_out for point in beside if point.cut >= trial.point.cut * (1 - 1e-9)]
    return bool(reached) and trial.point.held_out > CLEARLY_WORSE * min(reached)
