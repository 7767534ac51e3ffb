"""What kind of object is at hand, found out without importing its library; and what counts as missing in it."""

from __future__ import annotations

from typing import Any

MISSING = ("zero", "nan", "absent")
"""What can be missing: zeros, NaN (and null), or what is not stored. NaN is never an observation."""


def is_a(data: Any, library: str, *names: str) -> bool:
    """Return whether an object's class, or one that it derives from, is one of a library's classes.

    >>> import numpy as np
    >>> is_a(np.ma.masked_all(3), "numpy", "ndarray"), is_a([1], "numpy", "ndarray")
    (True, False)
    """
    return any(kind.__name__ in names and kind.__module__.partition(".")[0] == library for kind in type(data).__mro__)
