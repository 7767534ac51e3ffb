"""The time of a run: how long each stage took, and an estimate of what is left."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from .words import duration

PREPARING = "preparing"
"""The name of the time before the first stage: reading and validating the data."""

SHARE_WORTH_NAMING = 0.01
"""Stages that took a smaller share of the time than this are not named in a sentence."""

STEPS_COMPARED = 8
"""The changes of the objective over this many iterations show how fast it settles."""


@dataclass(frozen=True)
class TimedStage:
    """A stage of a run, and the seconds that it took."""

    name: str
    seconds: float


@dataclass(frozen=True)
class Timing:
    """The time of each stage of a run.

    Parameters
    ----------
    stages
        The stages, in the order in which they first began; a stage that was entered several times is listed once.

    Examples
    --------
    >>> print(Timing((TimedStage("preparing", 0.5), TimedStage("fitting", 71.5))))
    1 min 12 s: fitting 1 min 12 s
    """

    stages: tuple[TimedStage, ...] = ()

    @property
    def total(self) -> float:
        """The seconds of all stages together."""
        return sum(stage.seconds for stage in self.stages)

    def __str__(self) -> str:
        total = self.total
        named = [stage for stage in self.stages if stage.seconds >= SHARE_WORTH_NAMING * total]
        parts = ", ".join(f"{stage.name} {duration(stage.seconds)}" for stage in named)
        return f"{duration(total)}: {parts}" if parts else duration(total)


class Stopwatch:
    """Measures stages, one after the other.

    Parameters
    ----------
    before
        Seconds that elapsed before it was created; they count as preparing.
    """

    def __init__(self, before: float = 0.0) -> None:
        self._name = PREPARING
        self._began = time.monotonic() - before
        self._seconds: dict[str, float] = {}

    def begin(self, name: str) -> None:
        """End the current stage and begin the next."""
        now = time.monotonic()
        self._seconds[self._name] = self._seconds.get(self._name, 0.0) + now - self._began
        self._name, self._began = name, now

    def timing(self) -> Timing:
        """Return the time of each stage so far."""
        self.begin(self._name)
        return Timing(tuple(TimedStage(name, seconds) for name, seconds in self._seconds.items()))


class Estimate:
    """Estimates how long a stage of iterations will last.

    Iterations end when the objective changes by less than the tolerance, relative to its value. These changes usually
    fall by about the same factor each time, so the last few of them show how many iterations are left.

    Parameters
    ----------
    steps
        The largest number of iterations of the stage.
    tol
        The tolerance.

    Examples
    --------
    >>> estimate = Estimate(500, 1e-4)
    >>> for iteration in range(1, 21):
    ...     estimate.add(iteration, 0.1 * iteration, 1 + 0.8**iteration)
    >>> 15 < estimate.iterations_left < 30, round(estimate.seconds_left / estimate.iterations_left, 3)
    (True, 0.1)
    """

    def __init__(self, steps: int, tol: float) -> None:
        self._steps, self._tol = steps, tol
        self._done, self._seconds = 0, 0.0
        self._changes: list[float] = []
        self._last = math.nan

    def add(self, iteration: int, seconds: float, merit: float) -> None:
        """Record an iteration: its number, the seconds since the stage began, and the objective after it."""
        change = abs(merit - self._last) / abs(merit) if merit else math.nan
        if math.isfinite(change):
            self._changes = [*self._changes, change][-2 * STEPS_COMPARED :]
        self._done, self._seconds, self._last = iteration, seconds, merit

    @property
    def iterations_left(self) -> float:
        """The estimated number of iterations left."""
        most = float(max(self._steps - self._done, 0))
        half = len(self._changes) // 2
        earlier, later = (_typical(part) for part in (self._changes[:half], self._changes[half:]))
        if half < 2 or not 0 < later < earlier or self._tol <= 0:
            return most
        # The two halves lie `half` iterations apart, and the end of the later one half of that further on.
        factor = math.log(later / earlier) / half
        return min(max(math.log(self._tol / later) / factor - half / 2 + 2, 0.0), most)

    @property
    def seconds_left(self) -> float:
        """The estimated seconds left; NaN before the first iteration."""
        return self.iterations_left * self._seconds / self._done if self._done else math.nan


def _typical(changes: list[float]) -> float:
    """Return the geometric mean of the changes above 0."""
    logs = [math.log(change) for change in changes if change > 0]
    return math.exp(sum(logs) / len(logs)) if logs else 0.0
