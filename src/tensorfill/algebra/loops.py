"""Where the loops over the entries come from: compiled, or in NumPy if there is little to do."""

from __future__ import annotations

import importlib
from typing import Any

FEW_ENTRIES = 20_000
"""Up to this number of entries, NumPy takes a millisecond or two where a compiled loop takes half of that. Compiling
takes tenths of a second, and importing numba too."""

MOST_NUMBERS = 2**22
"""With more numbers than this, NumPy would need too much time and memory for its arrays."""


def loops(name: str, entries: int, numbers: int) -> Any:
    """Return a module of `compiled` or, if there is little to do, the one in `plain` with the same functions.

    Which one depends on the task alone, and not on what has been compiled, so that an answer is always the same.

    Parameters
    ----------
    name
        The name of the module.
    entries
        The number of entries.
    numbers
        How many numbers are computed for all of them together.
    """
    plain = entries <= FEW_ENTRIES and numbers <= MOST_NUMBERS
    return importlib.import_module(f".{'plain' if plain else 'compiled'}.{name}", __package__)
