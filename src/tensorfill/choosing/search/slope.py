"""The comparison of a richer model with a simpler one, by a regression over the held-out entries.

With t the difference of their predictions at the held-out entries and e the residuals of the simple one,

    e = slope * t + noise.

The richer model has found something real if the slope is clearly above zero, and it improves the prediction if the
slope is above one half.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._support.types import Floats


class Slope(NamedTuple):
    """The slope of the residuals of a simpler model on what a richer one adds, and its standard errors above zero."""

    value: float
    certainty: float


def slope_of(difference: Floats, left: Floats) -> Slope:
    """Return the slope of residuals on a difference, with a standard error that allows for unequal variances.

    If few entries make up most of the difference, the line goes through them, and the residuals there underestimate
    their noise. So each residual is that from a line fitted without its entry.
    """
    square, product = float(difference @ difference), float(difference @ left)
    if square == 0:
        return Slope(0.0, 0.0)
    slope = product / square
    share_of_others = np.maximum(1 - difference**2 / square, np.finfo(float).eps)
    spread = math.sqrt(float(np.sum((difference * (left - slope * difference) / share_of_others) ** 2)))
    return Slope(slope, product / max(spread, float(np.finfo(float).tiny)))
