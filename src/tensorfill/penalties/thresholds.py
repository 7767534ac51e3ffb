"""The singular value threshold of a penalty: up to which size its proximal operator returns zero, and its inverse."""

from __future__ import annotations

import math

import numpy as np

from .._support.checks import real_number
from .base import Penalty

__all__ = ["cut", "has_threshold", "is_set_to_zero", "weight_for_cut"]


def cut(penalty: Penalty, weight: float, *, largest: float) -> float:
    """Return the largest singular value in [0, largest] that the proximal operator sets to zero.

    It is found by bisection on the proximal operator, to a relative accuracy of 1e-12, which works for any penalty. If
    the penalty has an attribute `free`, it is the cut of the first singular value that is penalised.

    Parameters
    ----------
    penalty : Penalty
        The penalty.
    weight : float
        The weight of the penalty in the proximal operator, L / tau.
    largest : float
        The upper end of the search, returned if even this singular value is set to zero.

    Examples
    --------
    >>> from tensorfill.penalties import LSP, Nuclear
    >>> round(cut(Nuclear(), 0.5, largest=10.0), 9)
    0.5
    >>> round(cut(LSP(theta=2.0), 1.0, largest=10.0), 9)
    0.5
    """
    weight = real_number(weight, "weight", at_least=0)
    largest = real_number(largest, "largest", at_least=0)

    def becomes_zero(singular_value: float) -> bool:
        return is_set_to_zero(penalty, weight, singular_value, largest=largest)

    if becomes_zero(largest):
        return largest
    gone, kept = 0.0, largest
    # After 100 halvings the interval is far below the rounding of the singular values, and the cut counts as 0. Without
    # this limit, a weight of 0 would lead down to the smallest floating-point number.
    for _ in range(100):
        if kept - gone <= 1e-12 * kept:
            break
        middle = gone + 0.5 * (kept - gone)
        if becomes_zero(middle):
            gone = middle
        else:
            kept = middle
    return gone


def is_set_to_zero(penalty: Penalty, weight: float, singular_value: float, *, largest: float) -> bool:
    """Return whether the proximal operator sets a singular value to zero, after the free ones, which are `largest`.

    >>> from tensorfill.penalties import TNN
    >>> is_set_to_zero(TNN(theta=1), 0.5, 0.4, largest=10.0), is_set_to_zero(TNN(theta=1), 0.5, 0.6, largest=10.0)
    (True, False)
    """
    s = np.full(getattr(penalty, "free", 0) + 1, largest)
    s[-1] = singular_value
    return bool(penalty.prox(s, weight)[-1] == 0)


def has_threshold(penalty: Penalty, largest: float) -> bool:
    """Return whether some weight sets a singular value of this size to zero; a squared penalty only shrinks it.

    >>> from tensorfill.penalties import Nuclear
    >>> has_threshold(Nuclear(), 10.0)
    True
    """
    try:
        weight_for_cut(penalty, largest)
    except ValueError:
        return False
    return True


def weight_for_cut(penalty: Penalty, cut: float) -> float:
    """Return the smallest weight for which the proximal operator sets the singular value `cut` to zero.

    This is the inverse of the function `cut`, found by bisection to the last digits of the weight.

    Examples
    --------
    >>> from tensorfill.penalties import LSP
    >>> round(weight_for_cut(LSP(theta=2.0), 0.5), 9)
    1.0
    """
    cut = real_number(cut, "cut", above=0)
    s = np.full(getattr(penalty, "free", 0) + 1, cut)

    def becomes_zero(weight: float) -> bool:
        return bool(penalty.prox(s, weight)[-1] == 0)

    enough = cut
    while not becomes_zero(enough):
        enough *= 2
        if not math.isfinite(enough):
            raise ValueError(
                f"penalty must set every singular value to zero at some weight, but {penalty!r} keeps {cut:g} at every "
                "weight."
            )
    too_little = enough
    while too_little > 0 and becomes_zero(too_little):
        enough, too_little = too_little, too_little / 2
    # `enough` is at most twice `too_little`, so 60 halvings reach the last digit.
    for _ in range(60):
        middle = 0.5 * (too_little + enough)
        if becomes_zero(middle):
            enough = middle
        else:
            too_little = middle
    return enough
