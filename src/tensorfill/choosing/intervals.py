"""The ends of prediction intervals, and draws, in the form of the data: whole numbers for counts, or two values.

For measurements an interval is the prediction plus and minus a half width. For counts (``loss="poisson"``) it is the
smallest and the largest count within these ends. For data of two kinds (``loss="logistic"``) it is a set: both ends are
the same value if the other one can be ruled out, and the two values if it cannot.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._support.types import Floats, Integers
from ..losses import Logistic, Poisson
from .error_bars import ErrorBars


def ends(loss: Any, predictions: Floats, half: Floats) -> tuple[Floats, Floats]:
    """Return the ends of intervals.

    Parameters
    ----------
    loss
        The loss of the fit.
    predictions
        The expected observations.
    half
        Half the width of each interval.

    Examples
    --------
    >>> ends(Poisson(), np.array([0.4, 7.3]), np.array([1.0, 2.1]))
    (array([0., 6.]), array([1., 9.]))
    >>> ends(Logistic(low=0.0), np.array([0.05, 0.6, 0.97]), np.array([0.5, 0.7, 0.5]))
    (array([0., 0., 1.]), array([0., 1., 1.]))
    """
    low, high = predictions - half, predictions + half
    if isinstance(loss, Poisson):
        near = np.round(predictions)
        return np.maximum(np.minimum(np.ceil(low), near), 0.0), np.maximum(np.floor(high), near)
    if isinstance(loss, Logistic):
        likely = np.where(predictions > (loss.low + 1) / 2, 1.0, loss.low)
        return np.where(low <= loss.low, loss.low, likely), np.where(high >= 1, 1.0, likely)
    return low, high


def interval_at(
    bars: ErrorBars, loss: Any, coords: Integers, predictions: Floats, share: float
) -> tuple[Floats, Floats]:
    """Return the ends of the intervals of entries with these expected observations; counts are never below 0."""
    low, high = ends(loss, predictions, bars.half_widths(coords, share, predictions))
    if bars.held_out is not None and bars.held_out.are_counts:
        low = np.maximum(low, 0.0)
    return low, high


def drawn_values(loss: Any, predictions: Floats, errors: Floats, rng: np.random.Generator) -> Floats:
    """Return possible values of the data, from expected ones and drawn errors."""
    if isinstance(loss, Logistic):
        chance = (predictions - loss.low) / (1 - loss.low)
        return np.where(rng.random(len(predictions)) < chance, 1.0, loss.low)
    values = predictions + errors
    return np.maximum(np.round(values), 0.0) if isinstance(loss, Poisson) else values
