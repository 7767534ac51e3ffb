"""Choosing the regularisation on held-out entries.

A path starts where the answer is zero and lowers the cut in equal ratios; each point starts from the answer of the
last, so that ranks stay small all along, and the harder penalties are kept out of bad critical points. The score is the
error on held-out entries.

The choice goes coarse to fine: a path with every mode of the same weight; the weights of the modes, down to none;
paths at other q, how nonconvex the penalty is, over the last few cuts before the best; the cuts on either side of the
best. Every further path starts from an answer of the first, so that it is short.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .._support.parallel import side_by_side
from .._support.types import Floats
from ..algebra.component import Component
from ..algebra.svd import subspace_svd
from ..methods.base import Callback, Result, Status
from ..methods.nort import Nort
from ..methods.problem import Problem
from ..models import Model
from ..penalties import weight_for_cut
from ..penalties.family import Family
from ..selection import PathPoint
from .holdout import Split

RATIO = 0.75
"""Each cut of a path is this much of the last."""

SMALLEST_CUT = 1e-4
"""A path ends at this share of the cut at which it begins."""

MOST_POINTS = math.ceil(math.log(SMALLEST_CUT) / math.log(RATIO))
"""So many points make up the longest path."""

OUT_OF_REACH = 2.0
"""A mean loss this many times that of a rival is not brought below it by other weights or another q."""

PATIENCE = 4
"""A path ends after this many points without a better score."""

CLEARLY_WORSE = 1.1
"""A path ends at once where the score is this much worse than the best."""

SPARE_RANK = 5
"""From one point of a path to the next, a rank may double and gain so many."""

LEAD = 4
"""A path at another q begins this many points before the best of the first."""

WEAKER = 0.3
"""The weight of a mode is lowered to this much of what it was."""

LEAST_SHARE = 0.02
"""A mode with less than this share of the weight is left out."""

STANDARD_ERRORS = 1.0
"""A trial beats an earlier one only by so many standard errors of their difference, entry by entry on the same held-out
entries; below that the earlier one, with its larger cut, is the simpler answer."""

CLIPPED_FROM = 0.99
"""Losses above this quantile count as that quantile, in comparisons."""

LEAST_GAIN = 2e-4
"""Nor does it beat an earlier one by less than this share of the loss: that is not worth a longer path."""

PATH_TOLERANCE = 3e-4
PATH_ITERATIONS = 50
"""How far each point of a path is solved; the best is then solved to the end."""

STIFFNESSES = (0.03, 0.3, 3.0)
"""What is tried for the mu of graph Laplacians, in terms of the mean degree."""

SETTLING_ITERATIONS = 20
"""Iterations in which a weak direction among noise shows whether it grows."""


@dataclass(frozen=True)
class Candidate:
    """A regularisation.

    Parameters
    ----------
    cut, q
        The singular value below which everything goes, and how nonconvex the penalty is.
    shares
        The weight of each mode that may be regularised, adding up to one; 0 leaves the mode out.
    mu
        How alike neighbours on the graphs are to be, in terms of the mean degree.
    """

    cut: float
    q: float
    shares: tuple[float, ...]
    mu: float = 0.0

    def lower(self, steps: float) -> Candidate:
        """Return the candidate so many steps further down a path."""
        return replace(self, cut=self.cut * RATIO**steps)

    def weaker(self, place: int, *, to_zero: bool) -> Candidate | None:
        """Return the candidate with less weight on one mode, or with none if there is little left; None if it cannot.

        Parameters
        ----------
        place
            Which mode.
        to_zero
            Whether it may be left out.
        """
        others = sum(share for at, share in enumerate(self.shares) if at != place)
        lowered = WEAKER * self.shares[place]
        if lowered < LEAST_SHARE * others:
            lowered = 0.0
        if others == 0 or self.shares[place] == 0 or not (lowered or to_zero):
            return None
        shares = [lowered if at == place else share for at, share in enumerate(self.shares)]
        return replace(self, shares=tuple(share / sum(shares) for share in shares))


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate with the method that it means, its answer on each split, and its loss at each held-out entry."""

    candidate: Candidate
    point: PathPoint
    method: Nort
    results: tuple[Result, ...]
    losses: Floats

    @property
    def models(self) -> tuple[Model, ...]:
        """The answer on each split."""
        return tuple(result.model for result in self.results)

    def beats(self, other: Trial | None) -> bool:
        """Tell whether it is better than an earlier trial by more than chance."""
        return other is None or are_better(self.losses, other.losses)


def are_better(losses: Floats, others: Floats) -> bool:
    """Tell whether losses at some entries are less than other losses at the same entries, by more than chance."""
    # A few entries that nothing tells would decide by themselves, and hide what the others say.
    most = np.quantile(others, CLIPPED_FROM)
    gain = np.minimum(others, most) - np.minimum(losses, most)
    chance = STANDARD_ERRORS * gain.std() / math.sqrt(len(gain))
    return bool(gain.mean() > max(chance, LEAST_GAIN * others.mean()))


class Stopped(Exception):
    """The caller, the clock or the keyboard asked to stop."""

    def __init__(self, status: Status) -> None:
        super().__init__(str(status))
        self.status = status


@dataclass(eq=False)
class Chooser:
    """Tries regularisations of one problem and keeps the best.

    Parameters
    ----------
    settings
        The method; its lambda and penalty are replaced.
    splits
        The entries to fit and those to score with, once or several times over.
    family
        The penalty for a cut and a q, and the q to try.
    rng
        Decides everything that is random.
    callback
        Called after every iteration on the first split.
    tried
        Called after every trial with its point.
    deadline
        When to stop, by the clock of `time.monotonic`.
    centred
        Whether the entries have had their mean and effects taken away.
    rival
        The mean loss at the held-out entries of an answer of another kind; where the first path does not come near it,
        nothing finer is tried.
    """

    settings: Nort
    splits: Sequence[Split]
    family: Family
    rng: np.random.Generator
    callback: Callback | None = None
    tried: Callable[[PathPoint], None] | None = None
    deadline: float | None = None
    centred: bool = False
    points: list[PathPoint] = field(default_factory=list)
    rival: float = math.inf
    best: Trial | None = None

    def __post_init__(self) -> None:
        regulariser = self.settings.regulariser(self.splits[0].problem)
        self.modes, self._limits = regulariser.modes, regulariser.max_ranks
        self._rngs = self.rng.spawn(len(self.splits))
        self._noise = 0.0

    # One trial

    def try_at(
        self,
        candidate: Candidate,
        start: Trial | None,
        room: Sequence[int] | None = None,
        *,
        tol: float = PATH_TOLERANCE,
        max_iter: int = PATH_ITERATIONS,
    ) -> Trial:
        """Solve with a candidate, score it, and keep it if it is the best so far."""
        method = self._method(candidate, room or self._room(start))
        short = replace(method, max_iter=min(method.max_iter, max_iter), tol=tol)
        results = self.solve(short, None if start is None else start.models, candidate.mu)
        trial = self._scored(candidate, method, results)
        self.points.append(trial.point)
        if trial.beats(self.best):
            self.best = trial
        if self.tried is not None:
            self.tried(trial.point)
        for result in results:
            if result.status not in (Status.CONVERGED, Status.MAX_ITER):
                raise Stopped(result.status)
        return trial

    def solve(self, method: Nort, starts: Sequence[Model] | None, mu: float) -> tuple[Result, ...]:
        """Run a method on the entries to fit of every split, side by side, until the deadline at most."""
        if self.deadline is not None:
            method = replace(method, time_limit=max(self.deadline - time.monotonic(), 1e-9))

        def task(number: int) -> Callable[[], Result]:
            return lambda: method.solve(
                self.splits[number].at(mu),
                start=None if starts is None else starts[number],
                rng=self._rngs[number],
                callback=self.callback if number == 0 else None,
            )

        return side_by_side([task(number) for number in range(len(self.splits))])

    def _method(self, candidate: Candidate, room: Sequence[int]) -> Nort:
        """Return the method with the penalty and the lambdas that a candidate means."""
        kept = [place for place, share in enumerate(candidate.shares) if share > 0]
        penalty = self.family.make(candidate.cut, candidate.q)
        tau = self.settings.regulariser(self.splits[0].at(candidate.mu)).tau
        total = weight_for_cut(penalty, candidate.cut) * tau
        return replace(
            self.settings,
            modes=[self.modes[place] for place in kept],
            lam=[total * candidate.shares[place] for place in kept],
            max_rank=[room[place] for place in kept],
            penalty=penalty,
        )

    def _room(self, start: Trial | None) -> tuple[int, ...]:
        """Return the largest rank of each mode for a trial from `start`."""
        ranks = (0,) * len(self.modes) if start is None else start.point.ranks
        return tuple(min(most, 2 * rank + SPARE_RANK) for most, rank in zip(self._limits, ranks, strict=True))

    def _scored(self, candidate: Candidate, method: Nort, results: tuple[Result, ...]) -> Trial:
        answers = list(zip(self.splits, (result.model for result in results), strict=True))
        fitted = np.concatenate([_fitted_losses(split.problem, model) for split, model in answers])
        losses = np.concatenate([split.losses(model) for split, model in answers])
        regulariser = method.regulariser(self.splits[0].problem)
        lam = dict(zip(regulariser.modes, regulariser.lam, strict=True))
        ranks = dict(zip(regulariser.modes, results[0].history[-1].ranks, strict=True))
        point = PathPoint(
            cut=candidate.cut,
            q=candidate.q,
            lam=tuple(lam.get(mode, 0.0) for mode in self.modes),
            theta=getattr(regulariser.penalties[0], "theta", None),
            modes=self.modes,
            ranks=tuple(ranks.get(mode, 0) for mode in self.modes),
            training=_error(fitted),
            held_out=_error(losses),
            iterations=max(result.history[-1].iteration for result in results),
            seconds=sum(result.history[-1].seconds for result in results),
            centred=self.centred,
            mu=candidate.mu,
        )
        return Trial(candidate, point, method, results, losses)

    # Paths

    def choose(self) -> None:
        """Go from coarse to fine: the cut, the weights of the modes, q, then the cut again."""
        lead = self._one_mode_alone(self._follow(self._top(self.family.first), None))
        if self.leader.losses.mean() > OUT_OF_REACH * self.rival:
            return
        if self._weigh():
            lead = self._again(lead, lead.candidate.q)[0]
        if self._noise:
            # What was found among noise is lost where a path starts before it.
            lead = replace(self.leader, candidate=self.leader.candidate.lower(-1))
        for row in self.family.others:
            for q in row:
                before = self.leader
                self._again(lead, q)
                if self.leader is before:
                    break
        self._refine()
        self._stiffen()

    def trace(self, q: float | None = None, points: int | None = None) -> None:
        """Try falling cuts, each from the answer of the last: so many, or until the score has clearly worsened."""
        top = self._top(self.family.first if q is None else q)
        last = best = None
        since = 0
        for step in range(1, (points or MOST_POINTS) + 1):
            last = self.try_at(top.lower(step), last)
            best, since = (last, 0) if last.beats(best) else (best, since + 1)
            if points is None and _hopeless(last, best, since):
                break

    def _top(self, q: float) -> Candidate:
        """Return the candidate at which the answer becomes zero, with the same weight for every mode."""
        largest = max(largest_cut(self.settings, split.problem, self.rng) for split in self.splits)
        # Data that is zero everywhere has no scale; any cut then gives the answer zero.
        return Candidate(largest or 1.0, q, (1 / len(self.modes),) * len(self.modes))

    def _again(self, lead: Trial, q: float) -> list[Trial]:
        """Follow a path from an earlier trial at another q, with the weights of the best so far."""
        return self._follow(replace(lead.candidate, q=q, shares=self.leader.candidate.shares), lead)

    def _follow(self, above: Candidate, start: Trial | None) -> list[Trial]:
        """Try the candidates below one, each from the answer of the last, until the score has clearly worsened.

        The answers are kept from a few points before the best on; those before make room.
        """
        trials: list[Trial] = []
        best = 0
        for candidate in self._below(above):
            last = self.try_at(candidate, start)
            if start is not None and self._is_full(last, start):
                last = self._without_noise(last, start)
            trials.append(last)
            start = last
            if last.beats(trials[best]):
                best = len(trials) - 1
            if _hopeless(last, trials[best], len(trials) - 1 - best):
                break
            early = max(best - LEAD, 0)
            del trials[:early]
            best -= early
        return trials

    def _below(self, above: Candidate) -> Iterator[Candidate]:
        """Return falling candidates, down to where ranks were found to fill with noise."""
        for step in range(1, MOST_POINTS + 1):
            candidate = above.lower(step)
            if step > 1 and candidate.cut < self._noise * (1 - 1e-9):
                return
            yield candidate

    def _is_full(self, trial: Trial, start: Trial) -> bool:
        """Tell whether a trial filled the room that it had, where that was less than the limit."""
        limits = zip(trial.point.ranks, self._room(start), self._limits, strict=True)
        return any(rank == room < limit for rank, room, limit in limits)

    def _without_noise(self, full: Trial, start: Trial) -> Trial:
        """Return what is worth keeping of a trial that filled its room: itself, a simpler one, or where it started.

        Where the cut falls below the noise, ranks jump to whatever they may be. A weak direction among them that is
        worth having grows in a few more iterations, so that it stays as the cut is raised again, while noise goes. If
        the answer is no worse for that, this cut is the last, and the ranks that are left are the limit.
        """
        room = self._room(start)
        trials = [self.try_at(full.candidate, full, room, tol=0.0, max_iter=SETTLING_ITERATIONS)]
        for _ in range(LEAD - 1):
            trials.append(self.try_at(trials[-1].candidate.lower(-1), trials[-1]))
        best = min(trials, key=lambda trial: trial.point.held_out)
        simplest = next(trial for trial in reversed(trials) if not best.beats(trial))
        kept = simplest if simplest.beats(start) else start
        if kept is not trials[0]:
            self._noise = full.candidate.cut
            self._limits = tuple(max(rank, 1) for rank in kept.point.ranks)
        return kept

    def _one_mode_alone(self, trials: Sequence[Trial]) -> Trial:
        """Follow a path for each mode by itself, for as long as it keeps up with that of all modes at the same cuts.

        Where a tensor is of low rank in one mode only, all modes together never come near it, whatever the cut.

        Returns
        -------
        Trial
            The first that is kept of the path with the best score.
        """
        lead = trials[0]
        together = {point.cut: point.held_out for point in self.points}
        for place in range(len(self.modes) if self._may_leave_out else 0):
            shares = tuple(float(at == place) for at in range(len(self.modes)))
            before, last = self.leader, None
            for cut, score in together.items():
                last = self.try_at(Candidate(cut, self.family.first, shares), last)
                if last.point.held_out > CLEARLY_WORSE * score:
                    break
            else:
                path = self._follow(replace(lead.candidate, shares=shares), lead)
                lead = path[0] if self.leader is not before else lead
        return lead

    @property
    def _may_leave_out(self) -> bool:
        """Modes that the caller names all take part."""
        return self.settings.modes is None and len(self.modes) > 1

    def _weigh(self) -> bool:
        """Lower the weight of one mode after the other for as long as the score improves; tell whether it did."""
        first = self.leader
        for place in range(len(self.modes)):
            while (weaker := self.leader.candidate.weaker(place, to_zero=self._may_leave_out)) is not None:
                before = self.leader
                self.try_at(weaker, before)
                if self.leader is before:
                    break
        return self.leader is not first

    def _refine(self) -> None:
        """Try the cuts half a step above and below the best."""
        best = self.leader
        for step in (0.5, -0.5):
            self.try_at(best.candidate.lower(step), best)

    def _stiffen(self) -> None:
        """Try the graphs' Laplacians, from weak to strong, for as long as the score improves."""
        if self.splits[0].reduced is None:
            return
        for mu in STIFFNESSES:
            before = self.leader
            self.try_at(replace(before.candidate, mu=mu), before)
            if self.leader is before:
                break

    # The outcome

    def final(self, entries: int) -> Nort:
        """Return the method for a fit of `entries` entries with what was chosen.

        The singular values of noise grow with the root of the number of entries, so the cut does too.
        """
        best = self.leader
        root = math.sqrt(entries / len(self.splits[0].problem.observations))
        room = dict(zip(best.method.modes or self.modes, best.method.max_rank, strict=True))  # type: ignore[arg-type]
        return self._method(
            replace(best.candidate, cut=best.candidate.cut * root), [room.get(mode, 1) for mode in self.modes]
        )

    @property
    def leader(self) -> Trial:
        """The best trial so far."""
        if self.best is None:
            raise ValueError("Nothing was tried yet.")
        return self.best


def _hopeless(last: Trial, best: Trial | None, since: int) -> bool:
    """Tell whether a path has nothing better to offer further down, so many points after its best."""
    worse = best is not None and last.point.held_out > CLEARLY_WORSE * best.point.held_out
    return worse or since >= PATIENCE


def _fitted_losses(problem: Problem, model: Model) -> Floats:
    entries = problem.observations
    return problem.loss.value(model.predict(entries.coords), entries.values)


def _error(losses: Floats) -> float:
    """Return the root of twice the mean loss, as `losses.error` does."""
    return float(np.sqrt(2 * np.mean(losses, dtype=np.float64)))


def largest_cut(settings: Nort, problem: Problem, rng: np.random.Generator) -> float:
    """Return the cut at which the answer becomes zero: the largest singular value of grad f(0) / tau, unfolded."""
    regulariser = settings.regulariser(problem)
    storage = settings.storage_for(problem, regulariser.modes)
    shape, dtype = problem.observations.shape, problem.observations.dtype
    zero = storage.point([Component.zero(shape, mode, dtype) for mode in regulariser.modes], regulariser.weights)
    unfolding = storage.unfoldings(zero, problem.gradient(zero.seen) / -regulariser.tau)
    largest = 0.0
    for mode in regulariser.modes:
        start = rng.standard_normal((shape[mode], min(4, shape[mode]))).astype(dtype)
        s = subspace_svd(unfolding(mode), start, sweeps=5).s
        largest = max(largest, float(s[0]) if len(s) else 0.0)
    return largest
