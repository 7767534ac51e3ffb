"""Increasing ranks: a fit of given ranks has a warm start from a fit of smaller ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..._support.clock import Clock
from ...methods.base import Callback, Method, Result
from ...methods.problem import Problem

RANKS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 40)
"""The ranks to try, and to grow through."""

GROWING_ITERATIONS = 10
"""The iterations for each smaller rank; few are enough for a warm start."""


def ranks_of(rank: Any, count: int, what: str) -> tuple[int, ...]:
    """Return one rank for each of `count` objects, called `what` in messages.

    >>> ranks_of(3, 2, "modes"), ranks_of([4, 2], 2, "modes")
    ((3, 3), (4, 2))
    """
    given = tuple(rank) if isinstance(rank, Sequence) else (rank,) * count
    if len(given) != count:
        raise ValueError(f"rank must be one number or one for each of the {count} {what}, but {rank!r} was given.")
    return tuple(int(each) for each in given)


def through_smaller_ranks(
    method: Method,
    ranks: Sequence[int],
    problem: Problem,
    *,
    steps: Iterable[int] = RANKS,
    max_iter: int = GROWING_ITERATIONS,
    rng: np.random.Generator,
    callback: Callback | None,
    clock: Clock,
) -> Result | None:
    """Return the answer of a method with a setting `rank`, reached through smaller ranks; None if there are none.

    Parameters
    ----------
    method, ranks, problem
        The method, its final ranks, and the problem.
    steps
        The limits of the intermediate ranks.
    max_iter
        The largest number of iterations for each of them.
    rng, callback, clock
        As in `Method.solve`.
    """
    result: Result | None = None
    for step in steps:
        if step >= max(ranks):
            break
        smaller: Any = {"rank": tuple(min(step, rank) for rank in ranks), "max_iter": min(method.max_iter, max_iter)}
        start = None if result is None else result.model
        result = replace(method, **smaller).solve(problem, start=start, rng=rng, callback=callback, clock=clock)
        if not result.finished:
            break
    return result
