"""What a person sees while a method runs."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from .methods.base import Record


class Display:
    """A bar on standard error that follows a run; it vanishes at the end.

    Parameters
    ----------
    shown
        Whether anything is shown at all.
    max_iter
        The number of iterations at which the bar is full.
    """

    def __init__(self, shown: bool, max_iter: int) -> None:
        self._max_iter = max_iter
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed}/{task.total}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[state]}"),
            console=Console(stderr=True),
            transient=True,
            disable=not shown,
        )
        self._task = self._bar.add_task("starting", total=max_iter, state="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, what: str, max_iter: int) -> None:
        """Start the bar over for the next part of the run."""
        self._bar.reset(self._task, total=max_iter, description=what, state="")

    def iteration(self, record: Record) -> None:
        """Show where an iteration stands."""
        state = f"objective {record.objective:.4g}  ranks {record.ranks}"
        self._bar.update(self._task, completed=record.iteration, state=state)
