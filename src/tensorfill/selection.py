"""Choosing the regularisation on held-out entries.

A penalty is thought of by its cut, the singular value below which everything goes, and by q = theta / cut, how
nonconvex it is. A path starts where the answer is zero and lowers the cut in equal ratios; each point starts from
the answer of the last, so that ranks stay small all along. The score is the error on held-out entries.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

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

PATH_TOLERANCE = 1e-3
PATH_ITERATIONS = 50
"""How far each point of a path is solved; the best is then solved to the end."""

SCALED_BY_CUT: dict[str, type[Any]] = {"lsp": LSP, "capped_l1": CappedL1, "mcp": MCP}
"""Penalties whose theta is a singular value, so that it can be given as a share q of the cut."""


@dataclass(frozen=True)
class PathPoint:
    """One regularisation that was tried.

    Parameters
    ----------
    cut
        The singular value below which everything goes.
    lam, theta
        The same for every regularised mode; theta is None for a penalty that has none.
    ranks
        The ranks of the answer.
    training, held_out
        The error on the entries that were fitted and on those that were not.
    iterations, seconds
        What it took.
    """

    cut: float
    lam: float
    theta: float | None
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
        """The one with the least error on the held-out entries."""
        return min(self, key=lambda point: point.held_out)


@dataclass(frozen=True, eq=False)
class Selection:
    """What a path found.

    Parameters
    ----------
    path
        Everything that was tried.
    method, result
        The method with the best regularisation, and its answer without the held-out entries.
    stopped
        Why the path was cut short, if it was.
    """

    path: Path
    method: Nort
    result: Result
    stopped: Status | None


def follow(
    settings: Nort,
    problem: Problem,
    held_out: Observations,
    family: Callable[[float], Penalty],
    *,
    rng: np.random.Generator,
    callback: Callback | None = None,
    tried: Callable[[int, float], None] | None = None,
) -> Selection:
    """Follow a path of falling lambda and score each point on the held-out entries.

    Parameters
    ----------
    settings
        The method; its lambda and penalty are replaced along the path, and its time limit is that of the whole path.
    problem
        The entries to fit.
    held_out
        The entries to score with.
    family
        The penalty for a given cut.
    rng
        Decides everything that is random.
    callback
        Called after every iteration.
    tried
        Called after every point with its number and score.
    """
    ends = None if settings.time_limit is None else time.monotonic() + settings.time_limit
    points: list[PathPoint] = []
    model: Model | None = None
    for cut in _cuts(largest_cut(settings, problem, rng)):
        method = _at_cut(settings, problem, family(cut), cut, ends)
        result = method.solve(problem, start=model, rng=rng, callback=callback)
        model = result.model
        points.append(_scored(method, problem, held_out, cut, result))
        scores = [point.held_out for point in points]
        if tried is not None:
            tried(len(scores), scores[-1])
        if scores[-1] == min(scores):
            best = method, result
        if result.status not in (Status.CONVERGED, Status.MAX_ITER):
            return Selection(Path(points), *best, result.status)
        if _worsened(scores):
            break
    return Selection(Path(points), *best, None)


def penalty_family(penalty: str | Penalty, q: float) -> Callable[[float], Penalty]:
    """Return the penalty as a function of the cut: with theta at q times the cut, or the same for all."""
    if isinstance(penalty, str):
        return lambda cut: SCALED_BY_CUT[penalty](q * cut)
    return lambda cut: penalty


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


def _cuts(largest: float) -> list[float]:
    # Data that is zero everywhere has no scale; any cut then gives the answer zero.
    return [(largest or 1.0) * RATIO**step for step in range(1, MOST_POINTS + 1)]


def _at_cut(settings: Nort, problem: Problem, penalty: Penalty, cut: float, ends: float | None) -> Nort:
    """Return the method with this penalty, and the lambda that gives it this cut."""
    regulariser = settings.regulariser(problem)
    return replace(
        settings,
        lam=weight_for_cut(penalty, cut) * regulariser.tau / len(regulariser.modes),
        penalty=penalty,
        max_iter=min(settings.max_iter, PATH_ITERATIONS),
        tol=max(settings.tol, PATH_TOLERANCE),
        time_limit=None if ends is None else max(ends - time.monotonic(), 1e-9),
    )


def _scored(method: Nort, problem: Problem, held_out: Observations, cut: float, result: Result) -> PathPoint:
    def score(entries: Observations) -> float:
        return error(problem.loss, result.model.predict(entries.coords), entries.values)

    last = result.history[-1]
    theta = getattr(method.penalty, "theta", None)
    lam = float(method.lam)  # type: ignore[arg-type]
    return PathPoint(
        cut, lam, theta, last.ranks, score(problem.observations), score(held_out), last.iteration, last.seconds
    )


def _worsened(scores: Sequence[float]) -> bool:
    """Tell whether the best score lies clearly behind."""
    best = int(np.argmin(scores))
    return scores[-1] > CLEARLY_WORSE * scores[best] or len(scores) - 1 - best >= PATIENCE
