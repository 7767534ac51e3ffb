"""Losses with a Lipschitz derivative: for noise, outliers, binary data and counts."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, xlogy

from .._support.checks import real_number
from .._support.types import Booleans, Floats

__all__ = ["EFFICIENT", "Huber", "Logistic", "Poisson", "Square"]

EFFICIENT = 1.345
"""The difference, in standard deviations of normal noise, up to which an entry counts in full. At this width the Huber
loss keeps 95% of the accuracy of the square loss."""


@dataclass(frozen=True)
class Square:
    """Half the squared difference, 1/2 (x - o)^2: for noise of about the same size everywhere.

    Examples
    --------
    >>> Square().value(np.array([3.0, 1.0]), np.array([1.0, 1.0]))
    array([2., 0.])
    >>> Square().derivative(np.array([3.0, 1.0]), np.array([1.0, 1.0]))
    array([2., 0.])
    """

    @property
    def curvature(self) -> float:
        """The second derivative: 1."""
        return 1.0

    def value(self, prediction: Floats, observed: Floats) -> Floats:
        """Return 1/2 (x - o)^2."""
        difference = prediction - observed
        return 0.5 * difference * difference

    def derivative(self, prediction: Floats, observed: Floats) -> Floats:
        """Return x - o."""
        return prediction - observed


@dataclass(frozen=True)
class Huber:
    """The Huber loss: a parabola for small differences and a line for large ones.

    With r = x - o it is r^2 / 2 for ``|r| <= delta``, and ``delta |r| - delta^2 / 2`` beyond. An outlier pulls with the
    same force, delta, however large it is.

    Parameters
    ----------
    delta : float
        The difference up to which an entry counts in full; above 0. The default suits noise of standard deviation 1,
        where it keeps 95% of the accuracy of the square loss. For other noise, multiply it by the standard deviation.

    Examples
    --------
    >>> Huber(delta=1.0).value(np.array([0.5, 5.0]), np.array([0.0, 0.0]))
    array([0.125, 4.5  ])
    >>> Huber(delta=1.0).derivative(np.array([0.5, 5.0]), np.array([0.0, 0.0]))
    array([0.5, 1. ])
    """

    delta: float = EFFICIENT

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", real_number(self.delta, "delta of 'huber'", above=0))

    @property
    def curvature(self) -> float:
        """The largest second derivative: 1."""
        return 1.0

    def value(self, prediction: Floats, observed: Floats) -> Floats:
        """Return r^2 / 2 up to delta and delta |r| - delta^2 / 2 beyond, for r = x - o."""
        difference = prediction - observed
        clipped = np.clip(difference, -self.delta, self.delta)
        return clipped * (difference - 0.5 * clipped)

    def derivative(self, prediction: Floats, observed: Floats) -> Floats:
        """Return x - o, clipped to [-delta, delta]."""
        return np.clip(prediction - observed, -self.delta, self.delta)


@dataclass(frozen=True)
class Logistic:
    """The logistic loss, log(1 + exp(-o x)) for an observed o of -1 or +1: for binary data such as links and clicks.

    The prediction x is a score, the logarithm of the odds of the upper value. `probability` turns it into the
    probability of that value, and `mean` into the expected observation, which is the probability for data of 0 and 1.
    This is equation (tc_kge) of the paper.

    Parameters
    ----------
    low : float
        The lower of the two values in the data, -1 or 0; the upper value is 1. `prepared` sets it from the data, and
        `restored` uses it. The loss itself always takes -1 and +1.

    Examples
    --------
    >>> Logistic().value(np.array([0.0, 100.0, -1000.0]), np.array([1.0, 1.0, 1.0])).round(4)
    array([6.931e-01, 0.000e+00, 1.000e+03])
    >>> Logistic().probability(np.array([0.0, 100.0])), Logistic(low=-1).mean(np.array([0.0, 100.0]))
    (array([0.5, 1. ]), array([0., 1.]))
    """

    low: float = -1.0

    def __post_init__(self) -> None:
        low = real_number(self.low, "low of 'logistic'")
        if low not in (-1.0, 0.0):
            raise ValueError(f"low of 'logistic' must be -1 or 0, but {self.low!r} was given.")
        object.__setattr__(self, "low", low)

    @property
    def curvature(self) -> float:
        """The largest second derivative, at x = 0: 1/4."""
        return 0.25

    @property
    def extent(self) -> tuple[float, float]:
        """The bounds of what is expected: the two values."""
        return self.low, 1.0

    def value(self, prediction: Floats, observed: Floats) -> Floats:
        """Return log(1 + exp(-o x)), computed so that a large -o x does not overflow."""
        loss: Floats = np.logaddexp(0.0, -observed * prediction)
        return loss

    def derivative(self, prediction: Floats, observed: Floats) -> Floats:
        """Return -o / (1 + exp(o x))."""
        slope: Floats = -observed * expit(-observed * prediction)
        return slope

    def probability(self, prediction: Floats) -> Floats:
        """Return the probability of the upper value, 1 / (1 + exp(-x))."""
        probability: Floats = expit(prediction)
        return probability

    def mean(self, prediction: Floats) -> Floats:
        """Return the expected observation, between `low` and 1."""
        return self.low + (1.0 - self.low) * self.probability(prediction)

    def prepared(self, observed: Floats) -> tuple[Logistic, Floats]:
        """Return the loss with `low` set from the data, and the values as -1 and +1.

        The values may be -1 and 1, 0 and 1, or booleans, which count as 0 and 1. Values that are -1 and 1 leave `low`
        unchanged, so that preparing them a second time changes nothing.

        >>> Logistic().prepared(np.array([0.0, 1.0, 1.0]))
        (Logistic(low=0.0), array([-1.,  1.,  1.]))
        """
        values = _as_floats(observed)
        upper = values == 1
        if np.asarray(observed).dtype.kind != "b" and np.all(upper | (values == -1)):
            return self, values
        if np.all(upper | (values == 0)):
            return dataclasses.replace(self, low=0.0), 2 * values - 1
        raise ValueError(
            "the logistic loss takes values that are all -1 or 1, or all 0 or 1, but those given are "
            f"{_some(values)}; compare them with a number, as in values > 0, or choose another loss."
        )

    def restored(self, observed: Floats) -> Floats:
        """Return values of -1 and +1 as `low` and 1.

        >>> Logistic(low=0.0).restored(np.array([-1.0, 1.0]))
        array([0., 1.])
        """
        half = 0.5 * (1.0 - self.low)
        return self.low + half * (observed + 1.0)


@dataclass(frozen=True)
class Poisson:
    """The Poisson loss, exp(x) - o x for a count o: for count data.

    The prediction x is a score, the logarithm of the rate; `mean` turns it into a rate. A constant that depends on o
    makes the minimum 0, at x = log o: the loss is exp(x) - o x + o log o - o, half the deviance.

    The second derivative, exp(x), is unbounded, but a method needs a bound. So above the score `limit`, exp is replaced
    by its second-order expansion there, exp(limit) (1 + d + d^2 / 2) with d = x - limit, which has the same slope and
    second derivative at the limit. This does not move the minimum of an entry if `limit` is at least the logarithm of
    its count.

    Parameters
    ----------
    limit : float, optional
        The score above which exp is replaced; at most 80. By default `prepared` sets it to log(2 max(o)): rates up to
        twice the largest count keep their exact likelihood, and larger rates are far off in any case. Each further
        factor of 2 would halve the step size. While it is not set, exp is not replaced and `curvature` is infinite.

    Examples
    --------
    >>> loss, counts = Poisson().prepared(np.array([0.0, 3.0, 10.0]))
    >>> round(loss.curvature, 9)
    20.0
    >>> loss.derivative(np.array([0.0, 0.0, 0.0]), counts)
    array([ 1., -2., -9.])
    >>> loss.mean(np.array([0.0, 1.0])).round(4)
    array([1.    , 2.7183])
    """

    limit: float | None = None

    def __post_init__(self) -> None:
        if self.limit is not None:
            object.__setattr__(self, "limit", real_number(self.limit, "limit of 'poisson'", at_most=80))

    @property
    def curvature(self) -> float:
        """The largest second derivative, reached from `limit` on: exp(limit)."""
        return math.inf if self.limit is None else math.exp(self.limit)

    @property
    def extent(self) -> tuple[float, float]:
        """The bounds of a rate: it is positive."""
        return 0.0, math.inf

    def value(self, prediction: Floats, observed: Floats) -> Floats:
        """Return exp(x) - o x + o log o - o, with exp replaced above `limit`.

        It is computed from u = x - log(max(o, 1)), because the terms of the formula cancel for large o.
        """
        inside = self._inside(prediction)
        count = np.maximum(observed, 1.0)
        u = inside - np.log(count)
        loss: Floats = count * np.expm1(u) - observed * u + (count - observed) + xlogy(observed, observed / count)
        if self.limit is not None:
            beyond = prediction - inside
            steepest = math.exp(self.limit)
            loss = loss + ((steepest - observed) + 0.5 * steepest * beyond) * beyond
            if np.any(observed > steepest):
                # The minimum of these entries is above the limit, at d = excess. Subtract its value, to make it 0.
                excess = np.maximum(observed / steepest - 1.0, 0.0)
                loss = loss - steepest * ((1.0 + excess) * np.log1p(excess) - excess * (1.0 + 0.5 * excess))
        # Rounding can give a number slightly below 0.
        return np.maximum(loss, 0.0)

    def derivative(self, prediction: Floats, observed: Floats) -> Floats:
        """Return exp(x) - o up to `limit`, and exp(limit) (1 + d) - o above."""
        inside = self._inside(prediction)
        slope: Floats = np.exp(inside) - observed
        if self.limit is None:
            return slope
        return slope + math.exp(self.limit) * (prediction - inside)

    def mean(self, prediction: Floats) -> Floats:
        """Return the rate, exp(x), also above `limit`."""
        rate: Floats = np.exp(prediction)
        return rate

    def prepared(self, observed: Floats) -> tuple[Poisson, Floats]:
        """Return the loss, with `limit` set from the counts unless it is set already, and the counts unchanged."""
        observed = _as_floats(observed)
        allowed = (observed >= 0) & (observed <= 1e30)
        if not np.all(allowed):
            raise ValueError(
                f"the Poisson loss takes counts, numbers from 0 to 1e30, but some are {_some(observed, ~allowed)}; "
                "choose another loss for values that are not counts."
            )
        highest = math.log(np.max(observed, initial=1.0))
        if self.limit is None:
            return dataclasses.replace(self, limit=highest + math.log(2.0)), observed
        if self.limit < highest - 1e-6:
            raise ValueError(
                f"limit of 'poisson' must be at least the logarithm of the largest count, {highest:.6g}, "
                f"but {self.limit:g} was given; leave it out to set it from the counts."
            )
        return self, observed

    def _inside(self, prediction: Floats) -> Floats:
        """Return the scores, clipped to `limit` from above."""
        return prediction if self.limit is None else np.minimum(prediction, self.limit)


def _as_floats(observed: Floats) -> Floats:
    """Return float32 and float64 unchanged, and everything else, such as booleans, as float64."""
    observed = np.asarray(observed)
    return observed if observed.dtype.kind == "f" else observed.astype(np.float64)


def _some(observed: Floats, where: Booleans | None = None) -> str:
    """Return the distinct values as text for a message, at most four of them."""
    values = np.unique(observed if where is None else observed[where])
    shown = [f"{value:.6g}" for value in values[:4]]
    return ", ".join([*shown, f"{len(values) - 4} more"] if len(values) > 4 else shown)
