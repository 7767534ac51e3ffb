"""What a person sees while a method runs."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from .methods.base import Record


class Display:
    """A bar on standard error that follows a run and vanishes at its end; there is none where that is no terminal.

    Parameters
    ----------
    shown
        Whether anything is shown at all.
    """

    def __init__(self, shown: bool) -> None:
        console = Console(stderr=True)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed}/{task.total}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[state]}"),
            console=console,
            transient=True,
            disable=not (shown and console.is_terminal),
        )
        self._task = self._bar.add_task("starting", total=None, state="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, what: str, steps: int | None) -> None:
        """Start the bar over for the next part of the run."""
        self._bar.reset(self._task, total=steps, description=what, state="")

    def iteration(self, record: Record) -> None:
        """Show where an iteration stands."""
        state = f"objective {record.objective:.4g}, ranks {record.ranks}"
        self._bar.update(self._task, completed=record.iteration, state=state)

    def tried(self, number: int, held_out: float) -> None:
        """Show the score of a regularisation that was tried; how many there will be is not known."""
        self._bar.update(self._task, completed=number, state=f"held-out error {held_out:.4g}")
