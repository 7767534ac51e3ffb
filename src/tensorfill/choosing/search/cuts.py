"""The search of methods with a penalty on singular values: decreasing thresholds, then where the penalty bends.

As in NORT's search, a penalty is described by its cut, the singular value below which everything becomes zero, and
by q, which says how far it is from convex. Steps of dense methods are costly, so the path has fewer points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...baselines.overlapped.settings import RATIO, TRIAL_ITERATIONS, TRIAL_TOLERANCE, Overlapped
from ...penalties import Nuclear, weight_for_cut
from ...penalties.family import make_family
from .base import Trial
from .trials import Trials

MOST_POINTS = 16
"""The largest number of points on a path."""

PATIENCE = 3
"""A path ends after this many points without a better score."""

CLEARLY_WORSE = 1.1
"""A path ends at once if the score is this much worse than the best."""

LEAD = 2
"""A path at another q, or near another method's answer, starts this many points before the best."""


@dataclass(frozen=True)
class Threshold:
    """A regularisation: the singular value threshold, how nonconvex the penalty is, and the weight of graphs."""

    cut: float
    q: float
    mu: float = 0.0

    def lower(self, steps: float) -> Threshold:
        """Return the candidate this many steps further down a path."""
        return replace(self, cut=self.cut * RATIO**steps)


class CutSearch:
    """Chooses lambda and, if the penalty is given by a name, its theta.

    Parameters
    ----------
    settings
        The method; its lambda and penalty are replaced.
    """

    conclusive = False

    def __init__(self, settings: Overlapped) -> None:
        self._settings = settings
        penalty = getattr(settings, "penalty", Nuclear())
        self._family = make_family(penalty, getattr(settings, "theta", "auto"))

    def run(self, trials: Trials) -> Iterator[None]:
        """Follow a path of cuts, then paths at other q, then try the cuts around the best, and graphs."""
        self._trials = trials
        near = self._near(trials.found)
        if near is None:
            largest = max(self._settings.largest_cut(problem, trials.rng) for problem in trials.local_problems)
            # Data that is zero everywhere has no scale, and any cut gives zero.
            top = Threshold(largest or 1.0, self._family.first)
        else:
            top = Threshold(near.point.cut, self._family.first).lower(-LEAD - 1)
        path = self._follow(top, near)
        yield
        lead = path[max(path.index(trials.leader) - LEAD, 0)]
        for row in self._family.others:
            for q in row:
                before = trials.leader
                self._follow(replace(lead.candidate, q=q), lead)
                if trials.leader is before:
                    break
        for step in (0.5, -0.5) if len(path) > 1 else ():
            self._try(trials.leader.candidate.lower(step), trials.leader)
        for mu in trials.stiffnesses if self._settings.takes_roughness else ():
            before = trials.leader
            self._try(replace(before.candidate, mu=mu), before)
            if trials.leader is before:
                break

    def finish(self, trials: Trials) -> None:
        """Do nothing."""

    def final(self, trials: Trials, entries: int) -> Overlapped:
        """Return the method of the best trial, for a fit of this many entries.

        The singular values of noise grow with the root of the number of entries, so the cut does too.
        """
        root = math.sqrt(entries / len(trials.problems[0].observations))
        best: Threshold = trials.leader.candidate
        return self._method(replace(best, cut=best.cut * root))

    def _near(self, found: Trial | None) -> Trial | None:
        """Return the best trial of another method, if it has a cut and the method can start from it.

        A path then begins a few points above that cut, where answers are near; points further up would be passed only
        to get there.
        """
        if found is None or not found.point.cut > 0:
            return None
        pairs = zip(found.models, self._trials.local_problems, strict=True)
        return found if all(self._settings.can_start_from(model, problem) for model, problem in pairs) else None

    def _follow(self, above: Threshold, start: Trial | None) -> Sequence[Trial]:
        """Try the candidates below one, each with a warm start from the last, until the score has worsened."""
        found: list[Trial] = []
        best, since = 0, 0
        for step in range(1, MOST_POINTS + 1):
            q = above.q if start is None else self._family.freed(above.q, start.point.ranks)
            start = self._try(replace(above.lower(step), q=q), start)
            found.append(start)
            best, since = (step - 1, 0) if step == 1 or start.beats(found[best]) else (best, since + 1)
            if since >= PATIENCE or start.point.held_out > CLEARLY_WORSE * found[best].point.held_out:
                break
        return found

    def _try(self, candidate: Threshold, start: Trial | None) -> Trial:
        """Solve with a candidate and score it."""
        return self._trials.run(
            self._method(candidate),
            start,
            tried={"cut": candidate.cut, "q": candidate.q},
            candidate=candidate,
            mu=candidate.mu,
            max_iter=TRIAL_ITERATIONS,
            tol=TRIAL_TOLERANCE,
        )

    def _method(self, candidate: Threshold) -> Overlapped:
        """Return the method with the penalty and the lambda of a candidate."""
        penalty = self._family.make(candidate.cut, candidate.q)
        unit = self._settings.regulariser(self._trials.local[0].at(candidate.mu))
        total = weight_for_cut(penalty, candidate.cut) * unit.tau
        return self._settings.weighted(total / len(unit.modes), penalty)
