"""The kind of an object, found without importing its library, and the values that count as missing."""

from __future__ import annotations

from typing import Any

MISSING = ("zero", "nan", "absent")
"""The choices of what is missing: zeros, NaN and null, or entries that are not stored. NaN is always missing."""


def is_a(data: Any, library: str, *names: str) -> bool:
    """Return whether an object's class, or one of its base classes, is one of the named classes of a library.

    >>> import numpy as np
    >>> is_a(np.ma.masked_all(3), "numpy", "ndarray"), is_a([1], "numpy", "ndarray")
    (True, False)
    """
    return any(kind.__name__ in names and kind.__module__.partition(".")[0] == library for kind in type(data).__mro__)
