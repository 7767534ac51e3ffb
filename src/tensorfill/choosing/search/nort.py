"""NORT's search over the singular value threshold, the weights of the modes, and the shape of the penalty.

The search goes from coarse to fine: a path of decreasing thresholds, or cuts, with equal weights for all modes; each
mode alone; lower weights, down to zero; paths at other q, the nonconvexity of the penalty, over the last few cuts
before the best; the best of each q, run as long as the final fit, beside what it was before; the cuts on either side of
the best; larger tau; the weight of the graphs. Every further path has a warm start from the first, so it is short.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...methods.nort import Nort
from ...methods.nort.descent import MOST_POINTS, PATH_TOLERANCE, RATIO, SMALLEST_CUT, largest_cut, room_for
from ...models import CPModel, Model, Tucker
from .base import Trial
from .candidates import CLEARLY_WORSE, PATIENCE, Candidate, has_many_ranks, is_past
from .nort_paths import FALLING_FAST, PathFollower
from .trials import Trials

FAR_AHEAD = 1.3
"""A single mode is tried first if the error of all modes together is this many times its error at the first cut."""

LARGER_TAU = (3.0, 10.0)
"""The inverse step lengths that are tried at the end, in multiples of the default."""


class NortSearch(PathFollower):
    """The search of NORT.

    Parameters
    ----------
    settings
        The method; its lambda and penalty are replaced.
    """

    conclusive = False

    def __init__(self, settings: Nort) -> None:
        super().__init__(settings)
        self._is_promising = False

    def run(self, trials: Trials) -> Iterator[None]:
        """Go from coarse to fine: the cut, the weights of the modes, q, then the cut again."""
        self._begin(trials)
        top = self._top(self._family.first)
        related = (not self._base.relates_nothing(problem, self.modes) for problem in trials.problems)
        nothing = self._is_zero or not any(related)
        if any(split.adds for split in trials.local) or nothing:
            # The mean and the effects may explain the data, so zero is a candidate too.
            self._try(top.lower(-1), None)
        if nothing:
            return
        ahead = self._mode_ahead(top)
        alone = [] if ahead is None else self._follow(ahead, None)
        beside = [point for point in self._points if alone and point.modes == alone[0].point.modes]
        # What is noise in one mode alone need not be noise if all modes are regularised.
        noise, self._edges = self._edges, {}
        path = self._follow(top, None, beside=beside)
        yield
        if has_many_ranks(trials.leader) and not self._is_in_reach(trials.leader):
            return
        lead = self._one_mode_alone(path, alone)
        if alone and lead is alone[0]:
            self._edges = noise
        if not self._is_in_reach(trials.leader):
            return
        if self._weigh():
            lead = self._again(lead, lead.candidate.q)[0]
        if self._edges:
            # A path that starts above a direction found among noise would lose it.
            lead = replace(trials.leader, candidate=trials.leader.candidate.lower(-1))
        yield
        for row in self._family.others:
            for q in row:
                before = trials.leader
                self._again(lead, q)
                if trials.leader is before:
                    break
        if self._edges and max(self.ranks(trials.leader)) > FALLING_FAST:
            # Where singular values decay slowly, what a path finds among noise depends on its earlier points. It does
            # so less with a more convex penalty, and admitted noise is small.
            for q in self._family.more_convex:
                before = trials.leader
                self._again(replace(lead, candidate=replace(lead.candidate, free=True)), q)
                if trials.leader is before:
                    break
        self._start_from_what_was_found()
        self._is_promising = True

    def finish(self, trials: Trials) -> None:
        """Solve the best candidates further, try the cuts beside them, larger tau, and the graphs."""
        if self._is_promising:
            self._settle()
            self._refine()
            self._raise_tau()
            self._stiffen()

    def trace(self, trials: Trials, q: float | None = None, points: int | None = None) -> None:
        """Try decreasing cuts with warm starts: `points` of them, or until the score has clearly worsened."""
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

        The singular values of noise grow with the root of the number of entries, so the cut does too. If the best trial
        was stopped early, so is this fit.
        """
        best = trials.leader
        root = math.sqrt(entries / len(trials.problems[0].observations))
        room = dict(zip(best.method.modes, best.method.max_rank, strict=True))  # type: ignore[attr-defined]
        candidate = replace(best.candidate, cut=best.candidate.cut * root)
        method = self._method(candidate, [room.get(mode, 1) for mode in self.modes])
        # Repeating the fit without this search reaches its lambda in the same way.
        method = replace(method, descend=True)
        return best.stopped(method) if best.early else method

    def _again(self, lead: Trial, q: float) -> list[Trial]:
        """Follow a path from an earlier trial at another q, with the weights of the best so far."""
        leader = self._trials.leader
        return self._follow(replace(lead.candidate, q=q, weights=leader.candidate.weights), lead, leader)

    def _mode_ahead(self, top: Candidate) -> Candidate | None:
        """Return the first candidate of the path of a single mode, if it is far ahead from the start.

        If a tensor has low rank in one mode only, all modes together need many ranks, which is slow, and their path
        ends there.
        """
        if not self._may_leave_out:
            return None
        best = min(self._each_mode_alone(top), key=self._first_error)
        return best if FAR_AHEAD * self._first_error(best) < self._first_error(top) else None

    def _first_error(self, top: Candidate) -> float:
        return self._first(top.lower(1)).point.held_out

    def _each_mode_alone(self, candidate: Candidate) -> list[Candidate]:
        """Return a candidate with all weight on one mode, for each mode that can be regularised without the others."""
        places = range(len(self.modes) if self._may_leave_out else 0)
        return [replace(candidate, weights=tuple(float(at == place) for at in range(len(places)))) for place in places]

    def _one_mode_alone(self, trials: Sequence[Trial], followed: Sequence[Trial]) -> Trial:
        """Follow a path for each single mode, while it keeps up with the path of all modes at the same cuts.

        Where ranks are high, which is slow, a single mode must be ahead.

        Parameters
        ----------
        trials
            The trials of the path of all modes.
        followed
            The trials of the path of a single mode, if one was followed already.

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
        """Whether modes may be left out: not if the user names them."""
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
        """Try a warm start from another method, with a cut just above the noise in its residuals.

        Where unfoldings are wide and sparse, a path from zero misses what a model with few parameters finds.
        """
        trials = self._trials
        models = [_in_tucker_form(model) for model in trials.found.models] if trials.found else []
        starts = [model for model in models if model is not None and model.core.size]
        if not starts or len(starts) < len(trials.local):
            return
        best = trials.leader.candidate
        noise = max(
            largest_cut(self._base, problem.beyond(model.predict(problem.observations.coords)), trials.rng)
            for problem, model in zip(trials.local_problems, starts, strict=True)
        )
        ranks = [max(start.ranks[mode] for start in starts) for mode in self.modes]
        cut, weights = max(noise, best.cut * SMALLEST_CUT) / math.sqrt(RATIO), (1 / len(self.modes),) * len(self.modes)
        pairs = zip(trials.local_problems, starts, strict=True)
        self._try(
            replace(best, cut=cut, weights=weights),
            [self._base.folded(problem, start, self.modes, weights) for problem, start in pairs],
            room_for(self._edge(best).ranks, ranks),
        )

    def _settle(self) -> None:
        """Run the best answer as long as the final fit, and then others that may be better.

        A weak direction may take longer to vanish or to grow than a point of a path runs, so the best point of a path
        need not be the best in the end. If it is clearly better as it was, it stays so, and the final fit stops early.
        """
        best: Trial | None = None
        for trial in sorted(self._best_at.values(), key=lambda trial: trial.point.held_out):
            if trial.beats(best):
                again = self._try(trial.candidate, trial, tol=self._last_tolerance, max_iter=self._settings.max_iter)
                kept = trial.as_stopped() if trial.beats(again) else again
                best = kept if kept.beats(best) else best
        if best is not None:
            self._trials.prefer(best)

    def _refine(self) -> None:
        """Try the cuts half a step above and below the best; in a tie, the largest wins.

        The largest cut is farthest from noise.
        """
        best = self._trials.leader
        higher, lower = (self._try_beside(best, best.candidate.lower(step)) for step in (-0.5, 0.5))
        kept = best if best.beats(higher) else higher
        self._trials.prefer(lower if lower.beats(kept) else kept)

    def _raise_tau(self) -> None:
        """Try larger tau with the same lambda and penalty while the score improves, unless the user gives tau.

        F_tau holds the components together by a term of weight tau, and is nearer to the sum of the penalties the
        larger tau is. A single component has nothing to be held together with.
        """
        several = sum(weight > 0 for weight in self._trials.leader.candidate.weights) > 1
        for tau in LARGER_TAU if several and self._settings.tau is None else ():
            before = self._trials.leader
            self._try_beside(before, replace(before.candidate, tau=tau))
            if self._trials.leader is before:
                break

    def _try_beside(self, best: Trial, candidate: Candidate) -> Trial:
        """Try a candidate close to that of the best trial, from its answer, and solve it as far."""
        if best.early:
            return self._try(candidate, best, tol=best.method.tol, max_iter=best.method.max_iter, early=True)
        return self._try(candidate, best, tol=self._last_tolerance)

    @property
    def _last_tolerance(self) -> float:
        return min(self._settings.tol, PATH_TOLERANCE)

    def _stiffen(self) -> None:
        """Try the graph Laplacians, from weak to strong, while the score improves."""
        for mu in self._trials.stiffnesses:
            before = self._trials.leader
            self._try_beside(before, replace(before.candidate, mu=mu))
            if self._trials.leader is before:
                break


def _in_tucker_form(model: Model) -> Tucker | None:
    """Return a model in Tucker form with orthonormal factors, if it has such a form with a small core."""
    if isinstance(model, CPModel):
        return model.in_tucker_form() if model.has_small_core else None
    return model.orthonormal() if isinstance(model, Tucker) else None
