"""Descending to a lambda: decreasing singular value thresholds, each with a warm start from the last.

From zero, a small lambda with a nonconvex penalty admits arbitrary directions of its first steps: ranks jump to their
limit and the answer is stuck in a bad critical point. Larger lambdas first keep ranks small and let the strong
directions converge before the weak ones appear.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._support.clock import Clock
from ...algebra.svd import subspace_svd
from ...algebra.tall import E, V
from ...models import Model
from ...penalties import cut, weight_for_cut
from ..base import Callback, Progress, Result
from ..loop import ResumableSolver
from ..objective import Objective, Smooth

if TYPE_CHECKING:
    from .method import Nort

RATIO = 0.75
"""The ratio of consecutive thresholds on a path."""

SMALLEST_CUT = 1e-4
"""The last threshold of a path, relative to the first."""

MOST_POINTS = math.ceil(math.log(SMALLEST_CUT) / math.log(RATIO))
"""The largest number of points on a path."""

SPARE_RANK = 5
"""From one point of a path to the next, a rank may double, plus this many."""

PATH_TOLERANCE = 3e-4
PATH_ITERATIONS = 50
"""The iterations at each point of a path; the best is then run to convergence."""


class RankGuard:
    """A solver that raises an error when ranks run away.

    A nonconvex penalty leaves large singular values nearly unchanged. If its threshold is below the singular values
    of noise, it keeps all of them: ranks double from step to step, up to the full rank, and the answer repeats the
    noise. On sparse data this takes minutes. Ranks have run away if each is more than half the full one and a Tucker
    model of these ranks has more unknowns than there are entries.

    Parameters
    ----------
    solver
        The solver, which has no rank limits.
    settings, problem
        The method and the problem.
    """

    def __init__(self, solver: ResumableSolver, settings: Nort, problem: Smooth) -> None:
        self._solver, self._problem = solver, problem
        self._regulariser = settings.regulariser(problem)

    def progress(self) -> Progress:
        """Return the current state."""
        return self._solver.progress()

    def model(self) -> Model:
        """Return the answer so far."""
        return self._solver.model()

    def state(self) -> dict[str, Any]:
        """Return the state of the solver."""
        return self._solver.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the state of another solver."""
        self._solver.restore(state)

    def step(self) -> None:
        """Make one iteration, and raise a ValueError if ranks have run away."""
        self._solver.step()
        ranks, limits = self.progress().ranks, self._regulariser.max_ranks
        if any(2 * rank <= limit for rank, limit in zip(ranks, limits, strict=True)):
            return
        observations, modes = self._problem.observations, self._regulariser.modes
        others = math.prod(size for mode, size in enumerate(observations.shape) if mode not in modes)
        factors = sum(observations.shape[mode] * rank for mode, rank in zip(modes, ranks, strict=True))
        if others * math.prod(ranks) + factors > len(observations):
            raise ValueError(self._refusal(ranks))

    def _refusal(self, ranks: tuple[int, ...]) -> str:
        found = self._regulariser
        penalty, largest = found.penalties[0], self._problem.norm
        threshold = cut(penalty, found.total / found.tau, largest=largest)
        return (
            f"lam={found.lam[0]:.6g} with penalty {penalty!r} keeps singular values above {threshold:.4g}, which those "
            f"of noise exceed in this data, so that ranks rose to {ranks}; raise lam, give max_rank, or leave "
            "lam='auto'."
        )


def room_for(limits: Sequence[int], ranks: Sequence[int]) -> tuple[int, ...]:
    """Return the rank limits of the next point of a path, from the ranks of the last.

    >>> room_for((100, 8), (3, 3))
    (11, 8)
    """
    return tuple(min(most, 2 * rank + SPARE_RANK) for most, rank in zip(limits, ranks, strict=True))


def with_room(method: Nort, problem: Smooth, start: Model | None) -> Nort:
    """Return the method of the next point of a path, with room for the ranks of `start` to grow."""
    limits = method.regulariser(problem).max_ranks
    return replace(method, max_rank=room_for(limits, (0,) * len(limits) if start is None else start.ranks))


def approached(
    settings: Nort, problem: Objective[E, V], *, rng: np.random.Generator, callback: Callback | None, clock: Clock
) -> Result | None:
    """Return the answer just above the lambda of `settings`, reached through larger ones; None if zero is near enough.

    If the run is stopped, the last result is returned.
    """
    result = None
    for stage in _stages(settings, problem, rng):
        start = None if result is None else result.model
        stage = with_room(stage, problem, start)
        result = stage.solve(problem, start=start, rng=rng, callback=callback, clock=clock)
        if not result.finished:
            break
    return result


def _stages(settings: Nort, problem: Objective[E, V], rng: np.random.Generator) -> Iterator[Nort]:
    """Return the method with decreasing lambdas, all above the requested one.

    They have the usual tau. A larger one comes last, at the requested lambda, as in the search that chooses it.
    """
    given, settings = settings, replace(settings, tau=None)
    regulariser = settings.regulariser(problem)
    largest = largest_cut(settings, problem, rng)
    if regulariser.total == 0 or largest == 0:
        return
    penalty, weight = regulariser.penalties[0], regulariser.total / regulariser.tau
    last = cut(penalty, weight, largest=largest)
    now = RATIO * largest
    while now * RATIO > last:
        scale = weight_for_cut(penalty, now) / weight
        yield replace(
            settings,
            lam=[scale * lam for lam in regulariser.lam],
            # The penalty of the requested lambda, at every lambda of the stages.
            penalty=regulariser.penalties,
            theta="auto",
            max_iter=min(settings.max_iter, PATH_ITERATIONS),
            tol=max(settings.tol, PATH_TOLERANCE),
            polish=False,
        )
        now *= RATIO
    if given.regulariser(problem).tau > regulariser.tau:
        yield replace(settings, polish=False)


def largest_cut(settings: Nort, problem: Objective[E, V], rng: np.random.Generator) -> float:
    """Return the threshold at which the answer is zero: the largest singular value of grad f(0) / tau, unfolded."""
    regulariser = settings.regulariser(problem)
    storage = settings.storage_for(problem, regulariser.modes)
    shape, dtype = problem.observations.shape, problem.observations.dtype
    largest = 0.0
    with problem.at_work():
        zero = storage.point([storage.zero(mode, dtype) for mode in regulariser.modes], regulariser.weights)
        change = problem.gradient(zero.seen, -1 / regulariser.tau)
        with storage.unfoldings(zero, change) as unfolding:
            for mode in regulariser.modes:
                start = rng.standard_normal((shape[mode], min(4, shape[mode]))).astype(dtype)
                s = subspace_svd(unfolding(mode), start, sweeps=5).s
                largest = max(largest, float(s[0]) if len(s) else 0.0)
    return largest
