"""Exact changes of unit by powers of two."""

from __future__ import annotations

import math
import sys
from typing import Any

UNIT = "unit"
"""The key under which the metadata of a dataclass field says what the field measures."""

VALUE, LOSS, ERROR, OBJECTIVE, SETTINGS = ({UNIT: unit} for unit in ("value", "loss", "error", "objective", "settings"))
"""What a field measures: a value of the data, the loss of an entry, the root of a loss, the objective of a method, or
settings of a method by name. Anything else does not depend on the unit of the data."""

ORDINARY = {"float64": 1e30, "float32": 1e6}
"""Values up to this size, and down to its inverse, are fitted as they are."""


def times_power_of_two(value: Any, exponent: float) -> Any:
    """Return a number, or each of several, times two to a power; exact if the power is whole.

    Anything else, such as None or ``"auto"``, is returned unchanged. A result that would overflow or become zero is
    replaced by the nearest float.

    >>> times_power_of_two(3.0, 2), times_power_of_two([1.0, 0.5], -1), times_power_of_two("auto", 5)
    (12.0, (0.5, 0.25), 'auto')
    >>> times_power_of_two(1e300, 1000) == sys.float_info.max, times_power_of_two(0.0, 10)
    (True, 0.0)
    """
    if value is None or isinstance(value, str | bool):
        return value
    if hasattr(value, "__iter__"):
        return tuple(times_power_of_two(each, exponent) for each in value)
    number = float(value)
    if number == 0 or not math.isfinite(number):
        return number
    whole = math.floor(exponent)
    try:
        product = math.ldexp(number * 2.0 ** (exponent - whole), whole)
    except OverflowError:
        product = math.inf
    size = min(max(abs(product), sys.float_info.min), sys.float_info.max)
    return math.copysign(size, number)
