"""Choosing the regularisation on held-out entries.

A penalty is thought of by its cut, the singular value below which everything goes, and by q = theta / cut, how
nonconvex it is: q = 1 shrinks much, q near 0 is a hard threshold. A path starts where the answer is zero and lowers
the cut in equal ratios; each point starts from the answer of the last, so that ranks stay small all along, and the
harder penalties are kept out of bad critical points. The score is the error on held-out entries.

The choice goes coarse to fine: a path at q = 1; paths at other q over the last few cuts before the best; the
cuts on either side of the best. Every further path starts from an answer of the first, so that it is short.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from ._types import Floats
from .algebra.component import Component
from .algebra.svd import subspace_svd
from .losses import error
from .methods.base import Callback, Result, Status
from .methods.nort import Nort
from .models import Model
from .observations import Observations
from .penalties import LSP, MCP, CappedL1, Penalty, weight_for_cut
from .problem import Problem
from .records import Records

RATIO = 0.75
"""Each cut of a path is this much of the last."""

SMALLEST_CUT = 1e-4
"""A path ends at this share of the cut at which it begins."""

MOST_POINTS = math.ceil(math.log(SMALLEST_CUT) / math.log(RATIO))
"""So many points make up the longest path."""

PATIENCE = 4
"""A path ends after this many points without a better score."""

CLEARLY_WORSE = 1.1
"""A path ends at once where the score is this much worse than the best."""

SPARE_RANK = 5
"""From one point of a path to the next, a rank may double and gain so many. Where the cut falls below the noise, ranks
would jump to their limit; a point that fills the room it has, and is no better, ends the path."""

LEAD = 4
"""A path at another q begins this many points before the best of the first."""

STANDARD_ERRORS = 1.0
"""A trial beats an earlier one only by so many standard errors of their difference, entry by entry on the same held-out
entries; below that the earlier one, with its larger cut, is the simpler answer."""

PATH_TOLERANCE = 3e-4
PATH_ITERATIONS = 50
"""How far each point of a path is solved; the best is then solved to the end."""

FIRST_Q = 1.0
OTHER_Q = ((0.3, 0.1, 0.03), (3.0,))
"""The q that are tried: after the first, each row in turn for as long as the score improves."""

SCALED_BY_CUT: dict[str, type[Any]] = {"lsp": LSP, "capped_l1": CappedL1, "mcp": MCP}
"""Penalties whose theta is a singular value, so that it can be given as a share q of the cut."""

Family = Callable[[float, float], Penalty]
"""The penalty for a cut and a q."""


@dataclass(frozen=True)
class PathPoint:
    """One regularisation that was tried.

    Parameters
    ----------
    cut, q
        The singular value below which everything goes, and theta as a share of it.
    lam, theta
        The same for every regularised mode; theta is None for a penalty that has none.
    modes
        The regularised modes.
    ranks
        The ranks of the answer.
    training, held_out
        The error on the entries that were fitted and on those that were not.
    iterations, seconds
        What it took.
    """

    cut: float
    q: float
    lam: float
    theta: float | None
    modes: tuple[int, ...]
    ranks: tuple[int, ...]
    training: float
    held_out: float
    iterations: int
    seconds: float


class Path(Records[PathPoint]):
    """The regularisations that were tried, as a sequence of records and, by name, as columns."""

    columns = tuple(field.name for field in fields(PathPoint))

    @property
    def best(self) -> PathPoint:
        """The one with the least error on the held-out entries; what is chosen is as good, but for chance."""
        return min(self, key=lambda point: point.held_out)


@dataclass(frozen=True, eq=False)
class Trial:
    """A point with the method that made it, its answer, and its loss at each held-out entry."""

    point: PathPoint
    method: Nort
    result: Result
    losses: Floats

    def beats(self, other: Trial | None) -> bool:
        """Tell whether it is better than an earlier trial by more than chance."""
        if other is None:
            return True
        gain = other.losses - self.losses
        return bool(gain.mean() > STANDARD_ERRORS * gain.std() / math.sqrt(len(gain)))


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
        The method; its lambda and penalty are replaced, and its time limit is that of the whole choice.
    problem
        The entries to fit.
    held_out
        The entries to score with.
    family, every_q
        The penalty for a cut and a q, and whether q matters.
    rng
        Decides everything that is random.
    callback
        Called after every iteration.
    tried
        Called after every trial with their number and the score.
    """

    settings: Nort
    problem: Problem
    held_out: Observations
    family: Family
    every_q: bool
    rng: np.random.Generator
    callback: Callback | None = None
    tried: Callable[[int, float], None] | None = None
    points: list[PathPoint] = field(default_factory=list)
    best: Trial | None = None

    def __post_init__(self) -> None:
        limit = self.settings.time_limit
        self._ends = None if limit is None else time.monotonic() + limit

    def try_at(self, cut: float, q: float, settings: Nort, start: Model | None) -> Trial:
        """Solve at one cut and q, score it, and keep it if it is the best so far."""
        method = replace(
            self._at(cut, q, settings),
            max_iter=min(settings.max_iter, PATH_ITERATIONS),
            tol=max(settings.tol, PATH_TOLERANCE),
            time_limit=None if self._ends is None else max(self._ends - time.monotonic(), 1e-9),
        )
        result = method.solve(self.problem, start=start, rng=self.rng, callback=self.callback)
        trial = self._scored(cut, q, method, result)
        self.points.append(trial.point)
        if trial.beats(self.best):
            self.best = trial
        if self.tried is not None:
            self.tried(len(self.points), trial.point.held_out)
        if result.status not in (Status.CONVERGED, Status.MAX_ITER):
            raise Stopped(result.status)
        return trial

    def follow(self, cuts: Iterable[float], q: float, settings: Nort, start: Model | None) -> list[Trial]:
        """Try falling cuts, each from the answer of the last, until the score has clearly worsened.

        The answers are kept from a few points before the best on; those before make room.
        """
        trials: list[Trial] = []
        best = 0
        model = start
        for cut in cuts:
            room = self._room(settings, model)
            trials.append(self.try_at(cut, q, replace(settings, max_rank=room), model))
            point, model = trials[-1].point, trials[-1].result.model
            better = trials[-1].beats(trials[best])
            if better:
                best = len(trials) - 1
            full = any(rank == most for rank, most in zip(point.ranks, room, strict=True))
            worse = point.held_out > CLEARLY_WORSE * trials[best].point.held_out
            if worse or (full and not better) or len(trials) - 1 - best >= PATIENCE:
                break
            early = max(best - LEAD, 0)
            del trials[:early]
            best -= early
        return trials

    def _room(self, settings: Nort, model: Model | None) -> tuple[int, ...]:
        """Return the largest rank of each mode for the next point of a path."""
        limits = settings.regulariser(self.problem).max_ranks
        ranks = (0,) * len(limits) if model is None else model.ranks
        return tuple(min(most, 2 * rank + SPARE_RANK) for most, rank in zip(limits, ranks, strict=True))

    def choose(self) -> None:
        """Go from coarse to fine: the cut, then q where it is free, then the cut again."""
        largest = largest_cut(self.settings, self.problem, self.rng)
        # Data that is zero everywhere has no scale; any cut then gives the answer zero.
        cuts = [(largest or 1.0) * RATIO**step for step in range(1, MOST_POINTS + 1)]
        first = self.follow(cuts, FIRST_Q, self.settings, None)
        if self.every_q:
            for row in OTHER_Q:
                self._try_row(row, first)
        self._refine()

    def _try_row(self, row: Sequence[float], first: Sequence[Trial]) -> None:
        """Try other q, from the answers of the first path, for as long as the score improves."""
        lead = first[0]
        cuts = [lead.point.cut * RATIO**step for step in range(1, MOST_POINTS)]
        for q in row:
            before = self.leader
            self.follow(cuts, q, self.settings, lead.result.model)
            if self.leader is before:
                break

    def _refine(self) -> None:
        """Try the cuts half a step above and below the best."""
        best = self.leader
        settings = replace(self.settings, max_rank=self._room(self.settings, best.result.model))
        for step in (0.5, -0.5):
            self.try_at(best.point.cut * RATIO**step, best.point.q, settings, best.result.model)

    def final(self, entries: int) -> Nort:
        """Return the method for a fit of `entries` entries with what was chosen.

        The singular values of noise grow with the root of the number of entries, so the cut does too.
        """
        best = self.leader
        cut = best.point.cut * math.sqrt(entries / len(self.problem.observations))
        method = self._at(cut, best.point.q, best.method)
        return replace(method, max_iter=self.settings.max_iter, tol=self.settings.tol, time_limit=None)

    def _at(self, cut: float, q: float, settings: Nort) -> Nort:
        """Return the method with the penalty and the lambda that give this cut."""
        penalty = self.family(cut, q)
        regulariser = settings.regulariser(self.problem)
        lam = weight_for_cut(penalty, cut) * regulariser.tau / len(regulariser.modes)
        return replace(settings, lam=lam, penalty=penalty)

    @property
    def leader(self) -> Trial:
        """The best trial so far."""
        if self.best is None:
            raise ValueError("Nothing was tried yet.")
        return self.best

    def _scored(self, cut: float, q: float, method: Nort, result: Result) -> Trial:
        loss, fitted = self.problem.loss, self.problem.observations
        prediction = result.model.predict(self.held_out.coords)
        last = result.history[-1]
        regulariser = method.regulariser(self.problem)
        point = PathPoint(
            cut=cut,
            q=q,
            lam=regulariser.lam[0],
            theta=getattr(regulariser.penalties[0], "theta", None),
            modes=regulariser.modes,
            ranks=last.ranks,
            training=error(loss, result.model.predict(fitted.coords), fitted.values),
            held_out=error(loss, prediction, self.held_out.values),
            iterations=last.iteration,
            seconds=last.seconds,
        )
        return Trial(point, method, result, loss.value(prediction, self.held_out.values))


def largest_cut(settings: Nort, problem: Problem, rng: np.random.Generator) -> float:
    """Return the cut at which the answer becomes zero: the largest singular value of grad f(0) / tau, unfolded."""
    regulariser = settings.regulariser(problem)
    storage = settings.storage_for(problem, regulariser.modes)
    shape, dtype = problem.observations.shape, problem.observations.dtype
    zero = storage.point([Component.zero(shape, mode, dtype) for mode in regulariser.modes], regulariser.weights)
    unfolding = storage.unfoldings([(1.0, zero)], problem.gradient(zero.seen) / -regulariser.tau)
    largest = 0.0
    for mode in regulariser.modes:
        start = rng.standard_normal((shape[mode], min(4, shape[mode]))).astype(dtype)
        s = subspace_svd(unfolding(mode), start, sweeps=5).s
        largest = max(largest, float(s[0]) if len(s) else 0.0)
    return largest
