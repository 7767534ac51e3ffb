"""The clock of a run, shared by all stages so that they obey one time limit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .checks import real_number
from .journal import NO_JOURNAL, Journal

now: Callable[[], float] = time.monotonic
"""The time source of all clocks. Experiments replace it by CPU time, which does not depend on other work on the
machine."""


GRACE = 0.5
"""Seconds that a step of a method may take after the end, before it is given up."""


class TimeUp(Exception):
    """The time limit was reached between two pieces of work."""


class Clock:
    """The time since a run began, and the moment at which it must end.

    Parameters
    ----------
    limit
        The time limit in seconds; None for no limit.
    within
        A clock whose end also ends this one.
    journal
        Where finished work is kept, so that a run that was killed can be resumed. It is passed along with the clock;
        the default is the journal of `within`, or one that keeps nothing.

    Examples
    --------
    >>> Clock().expired, Clock(1e-9).remaining == 0.0
    (False, True)
    """

    def __init__(
        self, limit: float | None = None, *, within: Clock | None = None, journal: Journal | None = None
    ) -> None:
        self._began = now()
        self._within = within
        self.journal: Journal = journal or (NO_JOURNAL if within is None else within.journal)
        self.limit = None if limit is None else real_number(limit, "time_limit", above=0)

    @property
    def elapsed(self) -> float:
        """Seconds since the clock started."""
        return now() - self._began

    @property
    def remaining(self) -> float:
        """Seconds until the end; infinite without a limit."""
        own = math.inf if self.limit is None else max(self.limit - self.elapsed, 0.0)
        return own if self._within is None else min(own, self._within.remaining)

    @property
    def expired(self) -> bool:
        """Whether the time limit has been reached."""
        return self.remaining == 0.0

    @property
    def overdue(self) -> float:
        """Seconds since the end; minus infinity without a limit."""
        own = -math.inf if self.limit is None else self.elapsed - self.limit
        return own if self._within is None else max(own, self._within.overdue)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Make this the clock that `check_time` looks at, in this thread."""
        token = _at_work.set(self)
        try:
            yield
        finally:
            _at_work.reset(token)

    def check(self) -> None:
        """Raise `TimeUp` if the time limit has been reached."""
        if self.expired:
            raise TimeUp

    def part(self, share: float) -> Clock:
        """Return a clock that starts at once and ends after this share of the remaining time."""
        limit = None if self.limit is None else max(share * self.remaining, 1e-9)
        return Clock(limit, within=self)

    def unrecorded(self) -> Clock:
        """Return a clock with the same end, without a journal."""
        return Clock(within=self, journal=NO_JOURNAL)

    def end(self) -> None:
        """End the run: the clock counts as expired from here on."""
        self.limit = 0.0


_at_work: ContextVar[Clock | None] = ContextVar("clock", default=None)


def time_is_up() -> bool:
    """Return whether the clock of the method at work has expired."""
    clock = _at_work.get()
    return clock is not None and clock.expired


def check_time() -> None:
    """Raise `TimeUp` if a step of the method at work goes on too long after the end of its clock.

    A solver is given a problem, and no clock: its loop looks at the clock after each step. Long steps call this between
    their parts. A step that is nearly done may end, so that a run can be resumed where it was stopped.
    """
    clock = _at_work.get()
    if clock is not None and clock.overdue > GRACE:
        raise TimeUp
