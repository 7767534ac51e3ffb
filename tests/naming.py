"""Names of test cases."""

from __future__ import annotations

import re


def named(value):
    """Return how a value is written, without its address, so that every process names a test alike."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
