"""The comparison of a rich answer with a simple one, by a regression over the held-out entries.

With t the difference of their predictions at the held-out entries and e the residuals of the simple one,

    e = slope * t + noise.

The rich one has something that is there if the slope is clearly above zero, and does more good than harm if it is above
one half.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._support.types import Floats


class Slope(NamedTuple):
    """The slope of the residuals of a simple answer on what a rich one adds, and its standard errors above zero."""

    value: float
    certainty: float


def slope_of(difference: Floats, left: Floats) -> Slope:
    """Return the slope of residuals on a difference, with a standard error that allows for unequal variances.

    If few entries make most of the difference, the line goes through them, and what it leaves there says little about
    their noise. So each residual is that from a line without its own entry.
    """
    square, product = float(difference @ difference), float(difference @ left)
    if square == 0:
        return Slope(0.0, 0.0)
    slope = product / square
    share_of_others = np.maximum(1 - difference**2 / square, np.finfo(float).eps)
    spread = math.sqrt(float(np.sum((difference * (left - slope * difference) / share_of_others) ** 2)))
    return Slope(slope, product / max(spread, float(np.finfo(float).tiny)))
