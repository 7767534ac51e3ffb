"""The settings that methods with an autoregression share: the mode of time, and the lags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._support.checks import mode_number
from ...methods.base import Unsuited
from ...methods.problem import Problem
from ...methods.settings import Axis

LONGEST = (3, 1, 7, 12, 24)
"""Each set of lags that is tried has all from 1 to one of these; the first is that of other settings to choose."""

SHARE = 3
"""The largest lag that is tried is at most one in this many of the steps."""


def time_mode(along: int | None, shape: Sequence[int]) -> int:
    """Return the mode of time: by default the longest.

    >>> time_mode(None, (5, 90, 24)), time_mode(-1, (5, 90, 24))
    (1, 2)
    """
    return int(np.argmax(shape)) if along is None else mode_number(along, "along", len(shape))


def check_lags(value: Any, name: str) -> None:
    """Refuse what is neither some lags nor ``"auto"``."""
    if isinstance(value, str) and value == "auto":
        return
    given = list(value) if isinstance(value, list | tuple) else []
    whole = [each for each in given if isinstance(each, int | np.integer) and not isinstance(each, bool) and each >= 1]
    if not given or len(set(whole)) < len(given):
        raise ValueError(
            f"{name} must be one or more different whole numbers of at least 1, as in (1, 2, 7), or 'auto', but "
            f"{value!r} was given."
        )


def ordered(lags: Sequence[int] | str) -> tuple[int, ...]:
    """Return given lags in increasing order."""
    return tuple(sorted(int(lag) for lag in lags))


def check_steps(name: str, lags: Sequence[int] | str, along: int | None, shape: Sequence[int]) -> None:
    """Refuse a tensor with less than two steps of time, and lags that it has no pair of steps for."""
    mode = time_mode(along, shape)
    steps = shape[mode]
    if steps < 2:
        raise Unsuited(
            f"method '{name}' takes two or more steps of time, but mode {mode} of shape {tuple(shape)} has {steps}; "
            "give another mode as along."
        )
    if not isinstance(lags, str) and max(lags) >= steps:
        raise ValueError(
            f"lags must be less than the {steps} steps of mode {mode}, but {tuple(lags)!r} was given; leave out the "
            "longest."
        )


def lag_path(method: Any, problem: Problem, rng: np.random.Generator, before: Sequence[Axis]) -> Sequence[Axis]:
    """Return the sets of lags to try: a few last steps, and with a period the same step of the last one.

    The first set is that of the axes before, so it is left out if there are others.
    """
    shape = problem.observations.shape
    steps = shape[time_mode(method.along, shape)]
    sets = [tuple(range(1, last + 1)) for last in LONGEST if last == 1 or SHARE * last <= steps]
    period = getattr(method, "period", 1)
    if period > 1:
        sets += [(*each, period) for each in sets[:2] if period not in each]
    return [Axis("lags", sets[1:] if before and len(sets) > 1 else sets, meanwhile=sets[0], ordered=False)]
