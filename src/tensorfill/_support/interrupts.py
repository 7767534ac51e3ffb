"""Ctrl-C during a run: it stops the work at once, but not the answer that is put together from the work."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

from .clock import Clock


class Interrupts:
    """What Ctrl-C does within this context, in the main thread.

    The first one is an exception only within `welcome`, where there is work to stop. Everywhere else, as while the
    answer is put together or written to a file, it is only noted. It also ends the clock, so that other threads stop.
    The second one is always an exception. A handler of the caller's own stays as it is.

    Parameters
    ----------
    clock
        The clock of the run.

    Examples
    --------
    >>> with Interrupts() as interrupts:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupts.noted
    True
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self.noted = False
        self._clock = clock or Clock()
        self._welcome = False
        self._before: Any = None

    def __enter__(self) -> Self:
        before = signal.getsignal(signal.SIGINT)
        outer = getattr(before, "__self__", None)
        if threading.current_thread() is threading.main_thread() and (
            before is signal.default_int_handler or isinstance(outer, Interrupts)
        ):
            self._before = before
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is None:
            return
        outer = getattr(self._before, "__self__", None)
        if isinstance(outer, Interrupts):
            outer.noted = outer.noted or self.noted
        signal.signal(signal.SIGINT, self._before)
        self._before = None

    @contextmanager
    def welcome(self) -> Iterator[None]:
        """Let Ctrl-C raise `KeyboardInterrupt` within this context."""
        self._welcome = True
        try:
            yield
        finally:
            self._welcome = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        again, self.noted = self.noted, True
        self._clock.end()
        if again or (self._welcome and not _is_loading(frame)):
            raise KeyboardInterrupt


def _is_loading(frame: FrameType | None) -> bool:
    """Return whether a module is being imported, or compiled, which must not be left half done.

    The work stops soon after, because its clock has ended.
    """
    while frame is not None:
        where = frame.f_code.co_filename
        if where.startswith("<frozen importlib") or f"{os.sep}numba{os.sep}" in where:
            return True
        frame = frame.f_back
    return False
