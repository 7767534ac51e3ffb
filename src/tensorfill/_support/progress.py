"""The progress display of a run."""

from __future__ import annotations

import math
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from .clock import Clock
from .timing import Estimate, Stopwatch, Timing
from .words import duration

if TYPE_CHECKING:
    from .progress_views import Lines, Live


class Iteration(Protocol):
    """The facts about an iteration that are shown."""

    @property
    def iteration(self) -> int:
        """Its number."""

    @property
    def objective(self) -> float:
        """The objective after it."""

    @property
    def f_tau(self) -> float:
        """The function that decreases at every step; NaN for a method without one."""

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks after it."""


class Display:
    """Shows the stage, iteration, objective, ranks and held-out error of a run on standard error.

    On a terminal the display is live and disappears at the end. Elsewhere, for example in a log file, each stage writes
    a plain line, and long stages write more. The time of each stage is measured in any case.

    Parameters
    ----------
    shown
        Whether to show anything.
    clock
        The clock of the run. The time elapsed so far counts as preparing, and the time limit bounds the remaining time.
    """

    def __init__(self, shown: bool, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._watch = Stopwatch(self._clock.elapsed)
        self._estimate: Estimate | None = None
        self._stage_began = 0.0
        self._view: _Nothing | Live | Lines = _Nothing()
        if shown:
            from .progress_views import shown_view

            self._view = shown_view()
        self._best = math.inf

    def __enter__(self) -> Self:
        self._view.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._view.stop()

    def begin(self, what: str, steps: int | None, tol: float = 0.0) -> None:
        """Start the next stage of the run, with at most `steps` iterations and the tolerance `tol`."""
        self._watch.begin(what)
        self._estimate = None if steps is None else Estimate(steps, tol)
        self._stage_began = self._clock.elapsed
        self._view.begin(what, steps)

    def timing(self) -> Timing:
        """Return the time of each stage so far."""
        return self._watch.timing()

    def iteration(self, record: Iteration) -> None:
        """Show an iteration of a stage whose steps are counted."""
        if self._estimate is None:
            return
        words = [f"objective {record.objective:.5g}", f"ranks {record.ranks}"]
        if self._best < math.inf:
            words.append(f"best held-out error {self._best:.4g}")
        words += self._left(record)
        self._view.update(record.iteration, f"iteration {record.iteration}", words)

    def tried(self, number: int, held_out: float) -> None:
        """Show the score of a trial; the number of trials is not known in advance."""
        self._best = min(self._best, held_out)
        words = [f"held-out error {held_out:.4g}", f"best {self._best:.4g}", *self._left()]
        self._view.update(number, f"{number} tried", words)

    def share(self, read: float) -> None:
        """Show the share of a file that has been read."""
        self._view.update(round(100 * read), f"{read:.0%} read", [])

    def _left(self, record: Iteration | None = None) -> list[str]:
        """Return the estimated time left in this stage, or the limit of the run; nothing if neither is known."""
        limit = self._clock.remaining
        if record is not None and self._estimate is not None and record.iteration > 0:
            merit = record.objective if math.isnan(record.f_tau) else record.f_tau
            self._estimate.add(record.iteration, self._clock.elapsed - self._stage_began, merit)
            left = self._estimate.seconds_left
            if left < limit:
                return [f"about {duration(left)} left"]
        return [f"at most {duration(limit)} left"] if math.isfinite(limit) else []


class _Nothing:
    """Shows nothing."""

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def begin(self, what: str, steps: int | None) -> None:
        pass

    def update(self, done: int, count: str, words: list[str]) -> None:
        pass
