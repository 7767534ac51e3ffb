"""The kind of an object, found without importing its library, the values that count as missing, and adapters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..labels import Labelled

MISSING = ("zero", "nan", "absent")
"""The choices of what is missing: zeros, NaN and null, or entries that are not stored. NaN is always missing."""


def is_a(data: Any, library: str, *names: str) -> bool:
    """Return whether an object's class, or one of its base classes, is one of the named classes of a library.

    >>> import numpy as np
    >>> is_a(np.ma.masked_all(3), "numpy", "ndarray"), is_a([1], "numpy", "ndarray")
    (True, False)
    """
    return any(kind.__name__ in names and kind.__module__.partition(".")[0] == library for kind in type(data).__mro__)


@dataclass(frozen=True)
class Adapter:
    """An adapter for one kind of data.

    Parameters
    ----------
    accepts
        Returns whether an object is of this kind.
    take_in
        Returns the observations and labels of the object, given `missing` and `value` as in the function `take_in`, and
        for data with columns also `layout`.
    has_columns
        Whether the data has columns that `value` can name.
    has_array
        Whether the data holds an array, dense or sparse; `take_in` is then given `missing` and a function that reads
        the array.
    """

    accepts: Callable[[Any], bool]
    take_in: Callable[..., Labelled]
    has_columns: bool = False
    has_array: bool = False
