"""Where progress is shown: on a terminal, in a notebook, or as lines; imported only if it is."""

from __future__ import annotations

import time
from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

SECONDS_BETWEEN_LINES = 10.0
"""Without a terminal, a running stage writes a line this often."""


def shown_view() -> Live | Lines:
    """Return the view that suits standard error."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    return Live(console) if console.is_terminal or console.is_jupyter else Lines(console)


class _Bar(Progress):
    """A progress bar with a line of details below, which has room for long ranks."""

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return the bar and the details."""
        yield self.make_tasks_table(self.tasks)
        for task in self.tasks:
            if task.fields["details"]:
                yield Text(f"  {task.fields['details']}", style="dim", overflow="ellipsis", no_wrap=True)


class Live:
    """A live progress bar, on a terminal or in a notebook."""

    def __init__(self, console: Console) -> None:
        self._bar = _Bar(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=None, count="", details="")

    def start(self) -> None:
        self._bar.start()

    def stop(self) -> None:
        self._bar.stop()

    def begin(self, what: str, steps: int | None) -> None:
        self._bar.reset(self._task, total=steps, description=what, count="", details="")

    def update(self, done: int, count: str, words: list[str]) -> None:
        task: Task = self._bar.tasks[0]
        shown = count if task.total is None else f"{count} of at most {task.total:g}"
        self._bar.update(self._task, completed=done, count=shown, details=", ".join(words))


class Lines:
    """Plain lines, for a log file or another program."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._stage = self._state = ""
        self._began = self._said = time.monotonic()

    def start(self) -> None:
        pass

    def stop(self) -> None:
        self._say_state()

    def begin(self, what: str, steps: int | None) -> None:
        self._say_state()
        self._stage, self._state = what, ""
        self._began = self._said = time.monotonic()

    def update(self, done: int, count: str, words: list[str]) -> None:
        self._state = ", ".join([count, *words])
        if time.monotonic() - self._said > SECONDS_BETWEEN_LINES:
            self._say_state()

    def _say_state(self) -> None:
        """Write the state of the stage, unless nothing has changed since the last line."""
        if self._state:
            seconds = time.monotonic() - self._began
            self._console.print(f"{self._stage}: {self._state} ({seconds:.1f} s)", markup=False)
            self._state = ""
            self._said = time.monotonic()
