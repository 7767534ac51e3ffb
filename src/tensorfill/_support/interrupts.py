"""Ctrl-C, and SIGTERM on request, during a run: they stop the search, and the best answer so far is returned."""

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
    """Context that handles Ctrl-C in the main thread.

    The first Ctrl-C raises an exception only within `welcome`, where there is work to stop. Elsewhere, for example
    while the answer is assembled or written to a file, it is only recorded. It also ends the clock, so that other
    threads stop. The second Ctrl-C always raises an exception. A handler installed by the caller is left in place.

    Parameters
    ----------
    clock
        The clock of the run.
    terminated
        Whether SIGTERM is treated as Ctrl-C too. A program may ask for that, a library should not. It then holds for
        all nested contexts.

    Examples
    --------
    >>> with Interrupts() as interrupts:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupts.noted
    True
    """

    def __init__(self, clock: Clock | None = None, *, terminated: bool = False) -> None:
        self.noted = False
        self.number: int | None = None
        self._clock = clock or Clock()
        self._welcome = False
        self._usual: tuple[Any, ...] = (signal.default_int_handler, signal.SIG_DFL if terminated else None)
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number, usual in zip((signal.SIGINT, signal.SIGTERM), self._usual, strict=True):
                before = signal.getsignal(number)
                if (before is not None and before == usual) or _guard_of(before) is not None:
                    self._before[number] = before
                    signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            outer = _guard_of(before)
            if outer is not None and self.noted:
                outer.noted, outer.number = True, self.number
            signal.signal(number, before)
        self._before.clear()

    @contextmanager
    def welcome(self) -> Iterator[None]:
        """Context within which Ctrl-C raises `KeyboardInterrupt`."""
        self._welcome = True
        try:
            yield
        finally:
            self._welcome = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        again, self.noted, self.number = self.noted, True, number
        self._clock.end()
        if again or (self._welcome and not _is_loading(frame)):
            raise KeyboardInterrupt


def _guard_of(handler: Any) -> Interrupts | None:
    """Return the context that a signal handler belongs to, if any."""
    owner = getattr(handler, "__self__", None)
    return owner if isinstance(owner, Interrupts) else None


def _is_loading(frame: FrameType | None) -> bool:
    """Return whether a module is being imported or compiled, which must not be interrupted.

    The work stops soon after, because its clock has ended.
    """
    while frame is not None:
        where = frame.f_code.co_filename
        if where.startswith("<frozen importlib") or f"{os.sep}numba{os.sep}" in where:
            return True
        frame = frame.f_back
    return False
