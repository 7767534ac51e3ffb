"""Where the loops over the entries come from: compiled, or in NumPy if there is little to do."""

from __future__ import annotations

import importlib
from typing import Any

LITTLE = 2**20
"""Up to this many numbers, NumPy takes a few milliseconds, and compiling as many tenths of a second. Arrays of this
size are what NumPy allocates in place of the registers of a compiled loop."""


def loops(name: str, numbers: int) -> Any:
    """Return a module of `compiled` or, if there is little to do, the one in `plain` with the same functions.

    Which one depends on the task alone, and not on what has been compiled, so that an answer is always the same.

    Parameters
    ----------
    name
        The name of the module.
    numbers
        How many numbers a loop computes for all entries together.
    """
    folder = "plain" if numbers <= LITTLE else "compiled"
    return importlib.import_module(f".{folder}.{name}", __package__)
