"""Links: curves that turn an estimate of the expected observation into a score.

Low rank may be a property of the scores or of what is expected itself: rates of counts often are sums of a few
products, and so are probabilities. A model of the latter needs a curve to be compared by a loss of scores, and so does
the answer of a fit by least squares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from .._support.checks import real_number
from .._support.types import Floats
from .base import Loss, is_score, restore

FAR = -30.0
"""Below this, log(log(1 + exp(z))) is z in double precision."""

NEWTON_STEPS = 50
"""The largest number of Newton steps of a calibration, which needs ten or so."""

SETTLED = 1e-10
"""A calibration ends when the loss falls by less than this share."""

SHORTEST = 2.0**-30
"""A Newton step is halved until the loss falls, down to this share of it."""


@dataclass(frozen=True)
class Link:
    """The curve ``score = intercept + slope * g(x)`` of an estimate x.

    Without bounds g(x) = x. With a lower bound, g(x) is the logarithm of x - low, and with two bounds it is
    log(x - low) - log(high - x). An estimate may lie outside of the bounds, so the logarithm has a smooth end: for the
    distance d from a bound it is log(width * log(1 + exp(d / width))), which is log d inside, and increases at the rate
    1 / width outside. It never ties two estimates.

    Parameters
    ----------
    low, high
        The bounds; minus infinity and infinity for none.
    width
        How far from the bounds the logarithm ends; infinity for g(x) = x.
    intercept, slope
        As in the formula.

    Examples
    --------
    >>> Link(low=0.0, width=0.1)(np.array([-1.0, 0.5, 2.0])).round(2)
    array([-12.3 ,  -0.69,   0.69])
    >>> Link(intercept=1.0, slope=2.0)(np.array([-1.0, 0.5]))
    array([-1.,  2.])
    """

    low: float = -math.inf
    high: float = math.inf
    width: float = math.inf
    intercept: float = 0.0
    slope: float = 1.0

    def __post_init__(self) -> None:
        for name in ("intercept", "slope"):
            object.__setattr__(self, name, real_number(getattr(self, name), f"{name} of a link"))
        if not self.width > 0:
            raise ValueError(f"width of a link must be above 0, but {self.width!r} was given.")
        if not self.low < self.high:
            raise ValueError(f"low of a link must be below its high, but {self.low!r} and {self.high!r} were given.")

    @property
    def is_straight(self) -> bool:
        """Whether g(x) = x."""
        return math.isinf(self.width) or (math.isinf(self.low) and math.isinf(self.high))

    def __call__(self, estimate: Floats) -> Floats:
        """Return the scores of estimates."""
        return self.intercept + self.slope * self.curve(estimate)

    def curve(self, estimate: Floats) -> Floats:
        """Return g(x)."""
        if self.is_straight:
            return estimate
        curve = np.zeros_like(estimate)
        if math.isfinite(self.low):
            curve += _log_of_positive((estimate - self.low) / self.width) + math.log(self.width)
        if math.isfinite(self.high):
            curve -= _log_of_positive((self.high - estimate) / self.width) + math.log(self.width)
        return curve

    def derivative(self, estimate: Floats) -> Floats:
        """Return the derivative of the score."""
        if self.is_straight:
            return np.full_like(estimate, self.slope)
        rate = np.zeros_like(estimate)
        if math.isfinite(self.low):
            rate += _rate_of_log((estimate - self.low) / self.width)
        if math.isfinite(self.high):
            rate += _rate_of_log((self.high - estimate) / self.width)
        return rate * (self.slope / self.width)


@dataclass(frozen=True)
class Through:
    """A loss of scores, as a loss of estimates of what is expected.

    Parameters
    ----------
    loss
        The loss of scores.
    link
        How estimates become scores.
    """

    loss: Loss
    link: Link

    @property
    def curvature(self) -> float:
        """Infinite: a link may be as steep as one over its width."""
        return math.inf

    def value(self, prediction: Floats, observed: Floats) -> Floats:
        """Return the loss of each entry."""
        return self.loss.value(self.link(prediction), observed)

    def derivative(self, prediction: Floats, observed: Floats) -> Floats:
        """Return the derivative of each entry's loss with respect to the estimate."""
        return self.loss.derivative(self.link(prediction), observed) * self.link.derivative(prediction)


def link_for(loss: Loss, observed: Floats, width: float) -> Link:
    """Return the link that makes the score of an estimate its own: log x for counts, log x / (1 - x) for 0 and 1.

    Parameters
    ----------
    loss
        The loss. Without `extent`, and if its predictions are no scores, the link is x itself.
    observed
        The values, in the form that the loss takes.
    width
        The width, in units of the distance of their mean from the nearer bound; infinity for a straight link.

    Examples
    --------
    >>> from tensorfill.losses import Poisson
    >>> link_for(Poisson(), np.array([1.0, 3.0]), 0.1)
    Link(low=0.0, high=inf, width=0.2, intercept=0.0, slope=1.0)
    """
    low, high = getattr(loss, "extent", (-math.inf, math.inf))
    mean = float(np.mean(restore(loss, observed), dtype=np.float64))
    unit = min(mean - low, high - mean)
    if not is_score(loss) or not 0 < unit < math.inf:
        return Link()
    return Link(low, high, width * unit)


def calibrated(loss: Loss, link: Link, estimates: Floats, observed: Floats, offset: Floats | float = 0.0) -> Link:
    """Return a link with the intercept and the slope that fit observations best, by Newton steps.

    The slope is never negative, which would turn the order of the estimates around.

    Parameters
    ----------
    loss
        The loss of scores.
    link
        The link.
    estimates, observed
        Estimates and what was observed, in the form that the loss takes.
    offset
        What is added to every score.

    Examples
    --------
    >>> from tensorfill.losses import Logistic
    >>> x, o = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]), np.array([-1.0, -1, -1, 1, 1, 1, 1, -1])
    >>> calibrated(Logistic(), Link(), x, o)(np.array([0.0, 1.0])).round(2)
    array([-0.68,  0.68])
    """
    curve = replace(link, intercept=0.0, slope=1.0).curve(estimates.astype(np.float64))
    observed = observed.astype(np.float64)
    centre, spread = float(curve.mean()), float(curve.std())
    unit = (curve - centre) / spread if spread > 0 else np.zeros_like(curve)
    columns = np.stack([np.ones_like(unit), unit])
    # One observation's worth of doubt about both numbers, so that they are finite if the classes can be separated.
    prior = np.eye(2) / len(curve)
    at = np.zeros(2)

    def value(point: Floats) -> float:
        scores = point @ columns + offset
        return float(np.mean(loss.value(scores, observed)) + 0.5 * point @ prior @ point)

    lowest = value(at)
    for _ in range(NEWTON_STEPS):
        scores = at @ columns + offset
        slopes = loss.derivative(scores, observed)
        bends = (loss.derivative(scores + 1e-4, observed) - loss.derivative(scores - 1e-4, observed)) / 2e-4
        gradient = columns @ slopes / len(curve) + prior @ at
        hessian = (columns * np.maximum(bends, 0.0)) @ columns.T / len(curve) + prior
        step, share = np.linalg.solve(hessian, gradient), 1.0
        while share > SHORTEST and not value(at - share * step) < lowest:
            share /= 2
        before, lowest = lowest, min(lowest, value(at - share * step))
        if not lowest < before * (1 - SETTLED):
            break
        at = at - share * step
    slope = max(float(at[1]), 0.0) / spread if spread > 0 else 0.0
    return replace(link, intercept=float(at[0]) - slope * centre, slope=slope)


def _log_of_positive(z: Floats) -> Floats:
    """Return log(log(1 + exp(z))), which is about log z for large z and z for small ones."""
    inside = np.maximum(z, FAR)
    log: Floats = np.log(np.logaddexp(0.0, inside)) + (z - inside)
    return log


def _rate_of_log(z: Floats) -> Floats:
    """Return the derivative of the same."""
    inside = np.maximum(z, FAR)
    rate: Floats = expit(inside) / np.logaddexp(0.0, inside)
    return rate
