"""The command ``tensorfill``."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from types import FrameType

__all__ = ["main"]

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    argv
        The arguments after the name of the command; by default those of the process.
    """
    before = signal.getsignal(signal.SIGINT)
    ours = before is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    # Ctrl-C during an import may surface as any error, or be lost. No work has started yet, so the process simply ends.
    if ours:
        signal.signal(signal.SIGINT, _leave)
    try:
        from .program import run
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)
    return run(argv)


def _leave(number: int, frame: FrameType | None) -> None:
    """End the process at once, with the message for Ctrl-C."""
    os.write(2, b"tensorfill: Interrupted; nothing was written.\n")
    os._exit(INTERRUPTED)
