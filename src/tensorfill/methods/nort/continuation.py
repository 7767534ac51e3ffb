"""Coming down to a given lambda.

From zero, a small lambda with a nonconvex penalty admits whatever its first steps look like, ranks jump to their limit,
and the answer is stuck in a bad critical point. Larger lambdas first, each from the answer of the last, keep ranks
small and let the strong directions settle before the weak ones come in.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...choosing.trials import PATH_ITERATIONS, PATH_TOLERANCE, RATIO, SPARE_RANK, largest_cut
from ...penalties import cut, weight_for_cut
from ..base import Callback, Result, Status
from ..problem import Problem
from .method import Nort


def approach(settings: Nort, problem: Problem, rng: np.random.Generator, callback: Callback | None) -> Result | None:
    """Return the answer just above the lambda of `settings`, reached by larger ones; None if zero is near enough.

    The last result is returned where the caller, the clock or the keyboard asked to stop.
    """
    result = None
    ends = None if settings.time_limit is None else time.monotonic() + settings.time_limit
    for stage in _stages(settings, problem, rng):
        start = None if result is None else result.model
        limits = settings.regulariser(problem).max_ranks
        ranks = (0,) * len(limits) if start is None else start.ranks
        room = [min(most, 2 * rank + SPARE_RANK) for most, rank in zip(limits, ranks, strict=True)]
        left = None if ends is None else max(ends - time.monotonic(), 1e-9)
        result = replace(stage, max_rank=room, time_limit=left).solve(problem, start=start, rng=rng, callback=callback)
        if result.status not in (Status.CONVERGED, Status.MAX_ITER):
            break
    return result


def _stages(settings: Nort, problem: Problem, rng: np.random.Generator) -> Iterator[Nort]:
    """Return the method with falling lambdas, all above its own."""
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
            max_iter=min(settings.max_iter, PATH_ITERATIONS),
            tol=max(settings.tol, PATH_TOLERANCE),
        )
        now *= RATIO
