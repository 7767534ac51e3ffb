"""NORT's own search: the singular value threshold, the weights of the modes, and the shape of the penalty.

A path starts where the answer is zero and lowers the threshold, or cut, in equal ratios. Each point starts from the
answer of the last, which keeps ranks small all along and the harder penalties out of bad critical points. As long as
every point gains much, a path takes two steps at once. It ends where the score has clearly worsened, and a path that
cannot pass the best of the others ends as soon as that shows.

The search goes from coarse to fine: a path with equal weights for all modes; each mode alone; lower weights, down to
zero; paths at other q, the nonconvexity of the penalty, over the last few cuts before the best; the best of each q,
solved as far as the last fit will be; the cuts on either side of the best; the weight of the graphs. Every further path
starts from an answer of the first, so it is short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...models import CPModel, Model, Tucker
from ...penalties import Nuclear, weight_for_cut
from ...penalties.family import make_family
from ..search import PathPoint, Trial, Trials
from .descent import MOST_POINTS, PATH_ITERATIONS, PATH_TOLERANCE, RATIO, SMALLEST_CUT, largest_cut, room_for
from .paths import CLEARLY_WORSE, PATIENCE, Candidate, NoiseEdge, cannot_pass, has_many_ranks, is_past

if TYPE_CHECKING:
    from .method import Nort

REACH, LESS_REACH = 2.0, 1.2
"""A search ends early if its loss is this many times that of a rival; the second number is for many ranks, where other
weights and penalties change little."""

FAR_AHEAD = 1.25
"""A mode by itself goes first if the error of all modes together is this many times its own at the first cut."""

LARGE_GAIN = 0.2
"""A path takes two steps at once after a point that lowered the error by this share."""

LEAST_GAIN, LEAST_GAIN_OUT_OF_REACH = 0.005, 0.02
"""A path with many ranks also ends if `PATIENCE` points gain less than this share of the error; the second number is
for a search that is out of reach of its rival."""

FALLING_FAST = 20
"""Data whose singular values fall fast has no more ranks than this."""

LEAD = 4
"""A path at another q begins this many points before the best of the first."""

MOST_IN_CORE = 2**20
"""Numbers in the core of an answer of another method that a trial starts from."""

SETTLING_ITERATIONS = 20
"""Iterations after which a weak direction among noise shows whether it grows."""


class NortSearch:
    """The search of NORT.

    Parameters
    ----------
    settings
        The method; its lambda and penalty are replaced.
    """

    conclusive = False

    def __init__(self, settings: Nort) -> None:
        self._settings = settings
        if isinstance(settings.penalty, list | tuple):
            raise ValueError("penalty must be one for all modes if lam is 'auto'; give lam, or one penalty.")
        self._family = make_family(settings.penalty, settings.theta)  # type: ignore[arg-type]
        # Modes, rank limits and tau do not depend on the penalty, which is not known yet.
        self._base = replace(settings, lam=1.0, penalty=Nuclear(), theta="auto")
        self._edges: dict[float | None, NoiseEdge] = {}
        self._points: list[PathPoint] = []
        self._best_at: dict[float, Trial] = {}
        self._firsts: dict[Candidate, Trial] = {}
        self._is_promising = False

    def run(self, trials: Trials) -> None:
        """Go from coarse to fine: the cut, the weights of the modes, q, then the cut again."""
        self._begin(trials)
        top = self._top(self._family.first)
        nothing = all(self._base.relates_nothing(problem, self.modes) for problem in trials.problems)
        if trials.centred or nothing:
            # The mean and the effects may be all there is, so zero is an answer too.
            self._try(top.lower(-1), None)
        if nothing:
            return
        ahead = self._mode_ahead(top)
        alone = [] if ahead is None else self._follow(ahead, None)
        path = self._follow(top, None, trials.leader if alone else None)
        if has_many_ranks(trials.leader) and not self._is_in_reach(trials.leader):
            return
        lead = self._one_mode_alone(path, alone)
        if not self._is_in_reach(trials.leader):
            return
        if self._weigh():
            lead = self._again(lead, lead.candidate.q)[0]
        if self._edges:
            # A path that starts before what was found among noise would lose it.
            lead = replace(trials.leader, candidate=trials.leader.candidate.lower(-1))
        for row in self._family.others:
            for q in row:
                before = trials.leader
                self._again(lead, q)
                if trials.leader is before:
                    break
        if self._edges and max(self.ranks(trials.leader)) > FALLING_FAST:
            # Where singular values fall slowly, what a path finds among noise depends on the way there. With a more
            # convex penalty it does less, and noise that is let in is small.
            for q in self._family.more_convex:
                self._again(replace(lead, candidate=replace(lead.candidate, free=True)), q)
        self._start_from_what_was_found()
        self._is_promising = True

    def finish(self, trials: Trials) -> None:
        """Solve the best candidates further, try the cuts beside them, and the graphs."""
        if self._is_promising:
            self._settle()
            self._refine()
            self._stiffen()

    def trace(self, trials: Trials, q: float | None = None, points: int | None = None) -> None:
        """Try falling cuts, each from the answer of the last: this many, or until the score has clearly worsened."""
        self._begin(trials)
        top = self._top(self._family.first if q is None else q)
        since_best: list[Trial] = []
        for step in range(1, (points or MOST_POINTS) + 1):
            last = self._try(top.lower(step), since_best[-1] if since_best else None)
            if not since_best or last.beats(since_best[0]):
                since_best = []
            since_best.append(last)
            if points is None and is_past(since_best, step > PATIENCE):
                break

    def final(self, trials: Trials, entries: int) -> Nort:
        """Return the method for a fit of `entries` entries with the best candidate.

        The singular values of noise grow with the root of the number of entries, so the cut does too.
        """
        best = trials.leader
        root = math.sqrt(entries / len(trials.problems[0].observations))
        room = dict(zip(best.method.modes, best.method.max_rank, strict=True))  # type: ignore[attr-defined]
        candidate = replace(best.candidate, cut=best.candidate.cut * root)
        method = self._method(candidate, [room.get(mode, 1) for mode in self.modes])
        # Whoever repeats the fit without this search comes down to its lambda in the same way.
        return replace(method, descend=True)

    def _begin(self, trials: Trials) -> None:
        problem = trials.problems[0]
        regulariser = self._base.regulariser(problem)
        if trials.stiffnesses and self._base.sparse_columns(problem, regulariser.modes):
            # Graphs need all columns. Every trial has them, and if they do not fit, the first one says so.
            self._base, self._settings = (replace(each, storage="sparse") for each in (self._base, self._settings))
        self._trials, self.modes, self._most_ranks = trials, regulariser.modes, regulariser.max_ranks

    # One trial

    def _try(
        self,
        candidate: Candidate,
        start: Trial | Sequence[Model] | None,
        room: Sequence[int] | None = None,
        *,
        tol: float = PATH_TOLERANCE,
        max_iter: int = PATH_ITERATIONS,
        variation: bool = False,
    ) -> Trial:
        """Solve with a candidate and score it; a variation of its start is given up if it does not gain."""
        trial = self._trials.run(
            self._method(candidate, room or self._room(candidate, start if isinstance(start, Trial) else None)),
            start,
            tried={"cut": candidate.cut, "q": candidate.q},
            candidate=candidate,
            mu=candidate.mu,
            tol=tol,
            max_iter=max_iter,
            variation=variation,
        )
        self._points.append(trial.point)
        # A q that follows the ranks says nothing of the path.
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
            # Trials are short, and the path keeps them near their answers.
            polish=self._settings.polish is True and candidate.mu == 0,
        )

    def _room(self, candidate: Candidate, start: Trial | None) -> tuple[int, ...]:
        """Return the rank limit of each mode for a trial of a candidate from `start`."""
        return room_for(self._edge(candidate).ranks, (0,) * len(self.modes) if start is None else self.ranks(start))

    def _edge(self, candidate: Candidate) -> NoiseEdge:
        """Return where noise comes in for a candidate, as far as that is known."""
        return self._edges.get(candidate.noise, NoiseEdge(0.0, self._most_ranks))

    def ranks(self, trial: Trial) -> tuple[int, ...]:
        """Return the rank of each mode that may be regularised; 0 if the trial leaves it out."""
        found = dict(zip(trial.point.modes, trial.point.ranks, strict=True))
        return tuple(found.get(mode, 0) for mode in self.modes)

    # Paths

    def _top(self, q: float) -> Candidate:
        """Return the candidate at which the answer becomes zero, with the same weight for every mode."""
        trials = self._trials
        largest = max(largest_cut(self._base, problem, trials.rng) for problem in trials.problems)
        # Data that is zero everywhere has no scale, and any cut gives zero.
        return Candidate(largest or 1.0, q, (1 / len(self.modes),) * len(self.modes))

    def _again(self, lead: Trial, q: float) -> list[Trial]:
        """Follow a path from an earlier trial at another q, with the weights of the best so far."""
        leader = self._trials.leader
        return self._follow(replace(lead.candidate, q=q, weights=leader.candidate.weights), lead, leader)

    def _follow(self, above: Candidate, start: Trial | None, rival: Trial | None = None) -> list[Trial]:
        """Try the candidates below one, each from the answer of the last, until the score has clearly worsened.

        A `rival` is the best of other paths; one that cannot pass it ends early.

        Returns the trials from a few points before the best on; the earlier ones make room.
        """
        trials: list[Trial] = []
        best = points = 0
        candidate = above.lower(1)
        while True:
            if start is None:
                last = self._first(candidate)
            else:
                last = self._try(self._freed(candidate, start), start)
                if self._is_full(last, start):
                    last = self._without_noise(last, start)
            trials.append(last)
            points += 1
            if last.beats(trials[best]):
                best = len(trials) - 1
            if (
                is_past(trials[best:], points > PATIENCE or rival is not None)
                or self._levels_off(trials)
                or cannot_pass(trials, rival)
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

    def _first(self, candidate: Candidate) -> Trial:
        """Return the trial of a candidate from nothing, with which a path begins."""
        if candidate not in self._firsts:
            self._firsts[candidate] = self._try(candidate, None)
        return self._firsts[candidate]

    def _freed(self, candidate: Candidate, start: Trial) -> Candidate:
        """Return a candidate that leaves as many singular values free as its start has, if its penalty can."""
        return replace(candidate, q=self._family.freed(candidate.q, self.ranks(start)))

    def _levels_off(self, trials: Sequence[Trial]) -> bool:
        """Return whether the last points of a path were hardly better than each other, while ranks were high.

        Data that is not of low rank has such a path: every further direction explains a little more, at a higher cost.
        """
        if len(trials) <= PATIENCE:
            return False
        before, last = trials[-PATIENCE - 1], trials[-1]
        gain = before.point.held_out - last.point.held_out
        least = LEAST_GAIN if self._is_in_reach(last) else LEAST_GAIN_OUT_OF_REACH
        return 0 <= gain < least * before.point.held_out and has_many_ranks(last)

    def _is_in_reach(self, trial: Trial) -> bool:
        """Return whether an answer is near enough to that of a rival to be brought below it."""
        reach = LESS_REACH if has_many_ranks(trial) else REACH
        return bool(trial.losses.mean() <= reach * self._trials.rival)

    def _is_full(self, trial: Trial, start: Trial) -> bool:
        """Return whether a trial reached its rank limits, although the limits of the search are higher."""
        found, candidate = self.ranks(trial), trial.candidate
        limits = zip(found, self._room(candidate, start), self._edge(candidate).ranks, strict=True)
        return any(rank == room < limit for rank, room, limit in limits)

    def _without_noise(self, full: Trial, start: Trial) -> Trial:
        """Return what is worth keeping of a trial that filled its room: itself, a simpler one, or its start.

        If the cut falls below the noise, ranks jump to their limits. A weak direction among them that is worth having
        grows in a few more iterations, so it stays as the cut is raised again, while noise goes. If the answer is no
        worse for that, this cut is the last, and the ranks that are left are the limit.
        """
        room = self._room(full.candidate, start)
        trials = [self._try(full.candidate, full, room, tol=0.0, max_iter=SETTLING_ITERATIONS)]
        for _ in range(LEAD - 1):
            trials.append(self._try(trials[-1].candidate.lower(-1), trials[-1]))
        best = min(trials, key=lambda trial: trial.point.held_out)
        simplest = next(trial for trial in reversed(trials) if not best.beats(trial))
        kept = simplest if simplest.beats(start) else start
        if kept is not trials[0]:
            ranks = tuple(max(rank, 1) for rank in self.ranks(kept))
            self._edges[full.candidate.noise] = NoiseEdge(full.candidate.cut, ranks)
        return kept

    def _mode_ahead(self, top: Candidate) -> Candidate | None:
        """Return the candidate at the top of the path of one mode by itself, if this is far ahead from the beginning.

        If a tensor is of low rank in one mode only, all modes together need many ranks, which is slow. Their path ends
        early if another has a better answer.
        """
        if not self._may_leave_out:
            return None
        best = min(self._each_mode_alone(top), key=self._first_error)
        return best if FAR_AHEAD * self._first_error(best) < self._first_error(top) else None

    def _first_error(self, top: Candidate) -> float:
        return self._first(top.lower(1)).point.held_out

    def _each_mode_alone(self, candidate: Candidate) -> list[Candidate]:
        """Return a candidate with all weight on one mode, for each mode that may do without the others."""
        places = range(len(self.modes) if self._may_leave_out else 0)
        return [replace(candidate, weights=tuple(float(at == place) for at in range(len(places)))) for place in places]

    def _one_mode_alone(self, trials: Sequence[Trial], followed: Sequence[Trial]) -> Trial:
        """Follow a path for each mode by itself, while it keeps up with the path of all modes at the same cuts.

        Where ranks are high, which is slow, a mode by itself must be ahead.

        Parameters
        ----------
        trials
            Of the path of all modes.
        followed
            Of the path of a mode by itself, if one was followed already.

        Returns
        -------
        Trial
            The first trial of the path with the best score.
        """
        lead = followed[0] if any(trial is self._trials.leader for trial in followed) else trials[0]
        together = {point.cut: point.held_out for point in self._points if len(point.modes) == len(self.modes)}
        for alone in self._each_mode_alone(trials[0].candidate):
            if followed and followed[0].candidate.weights == alone.weights:
                continue
            before, last = self._trials.leader, None
            for cut, score in together.items():
                candidate = replace(alone, cut=cut, q=self._family.first)
                last = self._first(candidate) if last is None else self._try(self._freed(candidate, last), last)
                if last.point.held_out > (1.0 if has_many_ranks(last) else CLEARLY_WORSE) * score:
                    break
            else:
                path = self._follow(replace(lead.candidate, weights=alone.weights), lead)
                lead = path[0] if self._trials.leader is not before else lead
        return lead

    @property
    def _may_leave_out(self) -> bool:
        """Modes that the caller names all take part."""
        return self._settings.modes is None and len(self.modes) > 1

    def _weigh(self) -> bool:
        """Lower the weight of one mode after the other while the score improves; return whether it did."""
        trials = self._trials
        first = trials.leader
        for place in range(len(self.modes)):
            while (weaker := trials.leader.candidate.weaker(place, to_zero=self._may_leave_out)) is not None:
                before = trials.leader
                self._try(weaker, before, variation=True)
                if trials.leader is before:
                    break
        return trials.leader is not first

    def _start_from_what_was_found(self) -> None:
        """Try the answer of another method as a start, with a cut just above the noise that it leaves.

        Where unfoldings are wide and sparse, a path from zero does not find what a model of few unknowns does.
        """
        trials = self._trials
        models = [_in_tucker_form(model) for model in trials.found or ()]
        starts = [model for model in models if model is not None and model.core.size]
        if len(starts) < len(trials.problems):
            return
        best = trials.leader.candidate
        noise = max(
            largest_cut(self._base, problem.beyond(model.predict(problem.observations.coords)), trials.rng)
            for problem, model in zip(trials.problems, starts, strict=True)
        )
        ranks = [max(start.ranks[mode] for start in starts) for mode in self.modes]
        cut, weights = max(noise, best.cut * SMALLEST_CUT) / math.sqrt(RATIO), (1 / len(self.modes),) * len(self.modes)
        pairs = zip(trials.problems, starts, strict=True)
        self._try(
            replace(best, cut=cut, weights=weights),
            [self._base.folded(problem, start, self.modes, weights) for problem, start in pairs],
            room_for(self._edge(best).ranks, ranks),
        )

    def _settle(self) -> None:
        """Solve the best answer as far as the last fit will be, and if others are better than that, these too.

        A weak direction may take longer to vanish or to grow than a point of a path is solved, so that the best on the
        way need not be the best in the end.
        """
        settled: Trial | None = None
        for trial in sorted(self._best_at.values(), key=lambda trial: trial.point.held_out):
            if trial.beats(settled):
                again = self._try(trial.candidate, trial, tol=self._last_tolerance)
                settled = again if again.beats(settled) else settled
        if settled is not None:
            self._trials.prefer(settled)

    def _refine(self) -> None:
        """Try the cuts half a step above and below the best, solved as far; in a tie, the largest is best.

        It is farthest from noise.
        """
        best = self._trials.leader
        higher, lower = (self._try(best.candidate.lower(step), best, tol=self._last_tolerance) for step in (-0.5, 0.5))
        kept = best if best.beats(higher) else higher
        self._trials.prefer(lower if lower.beats(kept) else kept)

    @property
    def _last_tolerance(self) -> float:
        return min(self._settings.tol, PATH_TOLERANCE)

    def _stiffen(self) -> None:
        """Try the graph Laplacians, from weak to strong, while the score improves."""
        for mu in self._trials.stiffnesses:
            before = self._trials.leader
            self._try(replace(before.candidate, mu=mu), before)
            if self._trials.leader is before:
                break


def _in_tucker_form(model: Model) -> Tucker | None:
    """Return a model in Tucker form with orthonormal factors, if it has such a form with a small core."""
    if isinstance(model, CPModel):
        return model.in_tucker_form() if len(model.weights) ** model.ndim <= MOST_IN_CORE else None
    return model.orthonormal() if isinstance(model, Tucker) else None
