"""Robust losses: for data with some entries that are far off (Section 4.1 of the paper).

The loss of an entry is kappa(|x - o|), where kappa belongs to one of the penalties of `tensorfill.penalties`. With the
absolute difference, an outlier pulls no harder than any other entry. With a concave kappa, an outlier pulls less the
larger it is.

These losses have a kink where the prediction equals the observation, so a method that uses gradients cannot take them:
`Robust` is not a `tensorfill.losses.Loss`. There are two ways to obtain a loss with a gradient:

- `Robust.smoothed` rounds off the kink within a distance delta, which the method then reduces in stages.
- `Robust.envelope` models noise besides the outliers: an observation is prediction + outlier + noise, where the outlier
  costs kappa and the noise its square. It needs no smoothing, and its method `outliers` estimates how far off each
  entry is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._support.checks import choice, listed, real_number
from .._support.registry import Registry
from .._support.table import ROBUST as TABLE
from .._support.types import Booleans, Floats
from ..penalties import Elementwise, Nuclear, cut, weight_for_cut
from .smooth import EFFICIENT

__all__ = [
    "EFFICIENT",
    "ROBUST",
    "Envelope",
    "Robust",
    "SmoothedRobust",
    "Tangent",
    "largest_noise",
    "make_robust",
    "noise_scale",
]

SIGMA_PER_MEDIAN = 1.4826
"""The ratio of the standard deviation of normal noise to the median of its absolute value."""


@dataclass(frozen=True)
class Robust:
    """A robust loss, kappa(|x - o|), with its kink at x = o.

    Parameters
    ----------
    penalty : Elementwise
        The penalty that defines kappa: Nuclear() for the absolute difference, CappedL1, LSP, MCP or SCAD. Its theta is
        a difference that counts as large, and should be well above the noise. CappedL1, MCP and SCAD do not pull at all
        beyond theta, so start them from an answer that is not too far off, such as that of Nuclear().

    Examples
    --------
    >>> from tensorfill.penalties import CappedL1
    >>> loss = Robust(CappedL1(theta=2.0))
    >>> loss.value(np.array([0.5, 1.0, 50.0]), np.zeros(3))
    array([0.5, 1. , 2. ])
    >>> loss.smoothed(delta=1.0).derivative(np.array([0.5, 1.0, 50.0]), np.zeros(3))
    array([0.5, 1. , 0. ])
    """

    penalty: Elementwise

    def __post_init__(self) -> None:
        _check_penalty(self.penalty)

    def value(self, prediction: Floats, observed: Floats) -> Floats:
        """Return kappa(|x - o|)."""
        return _kappa(self.penalty, np.abs(prediction - observed))

    def smoothed(self, delta: float) -> SmoothedRobust:
        """Return the loss with its kink rounded off within the distance `delta`."""
        return SmoothedRobust(self.penalty, delta)

    def envelope(self, weight: float = 1.0) -> Envelope:
        """Return the loss for noise besides outliers, where an outlier costs `weight` times kappa."""
        return Envelope(self.penalty, weight)

    def cut_at(self, size: float) -> Envelope:
        """Return the envelope that treats differences above `size` as outliers, at least in part.

        >>> from tensorfill.penalties import LSP
        >>> round(Robust(LSP(theta=2.0)).cut_at(0.5).weight, 9)
        1.0
        """
        return Envelope(self.penalty, weight_for_cut(self.penalty, size))


@dataclass(frozen=True)
class SmoothedRobust:
    """A robust loss with its kink rounded off (equation smtl1).

    With a = x - o and kappa_0 the slope of kappa at 0, it is kappa_0 huber(a; delta) + kappa(|a|) - kappa_0 |a|, where
    huber(a; delta) is |a| for |a| >= delta and a^2 / (2 delta) + delta / 2 below. So it equals kappa(|a|) for
    |a| >= delta, and kappa(|a|) + kappa_0 (delta - |a|)^2 / (2 delta) below. It exceeds kappa(|a|) by at most
    kappa_0 delta / 2.

    Parameters
    ----------
    penalty : Elementwise
        The penalty that defines kappa; concave, with a finite slope at 0, and with a method `slope`.
    delta : float
        The distance within which the kink is rounded off; above 0. Keep it below the `reach` of the penalty: above, the
        loss falls again beyond the reach, and x = o may be worse than other predictions.

    Notes
    -----
    kappa(|a|) - kappa_0 |a| is concave on the whole line: it is even, concave for a > 0, and its slope starts at 0 and
    falls. It lies below each of its tangents. Hence the curvature of the first term, kappa_0 / delta, is that of a
    parabola above the loss, which is enough for a descent. For a Lipschitz derivative the bound must also be at least
    the largest bend of kappa. This matters only if delta is nearly as large as theta, or larger.

    The capped l1 penalty has a kink at theta, and its smoothed loss is not differentiable there (Proposition smtl1
    assumes that kappa is smooth). The kink is concave: the parabola with either of the two slopes still lies above the
    loss, but the derivative jumps down by 1, and no constant bounds its change.

    Examples
    --------
    >>> loss = SmoothedRobust(Nuclear(), delta=0.5)
    >>> loss.value(np.array([0.0, 0.5, 3.0]), np.zeros(3))
    array([0.25, 0.5 , 3.  ])
    >>> loss.curvature
    2.0
    """

    penalty: Elementwise
    delta: float

    def __post_init__(self) -> None:
        _check_penalty(self.penalty)
        object.__setattr__(self, "delta", real_number(self.delta, "delta", above=0))
        if not math.isfinite(self.penalty.slope_at_zero):
            raise ValueError(
                f"the penalty of a smoothed loss must have a finite slope at zero, but {self.penalty!r} does not; "
                "use its envelope instead."
            )
        # A penalty without a slope is refused here, before a method takes its first step.
        _slope(self.penalty, np.zeros(1))

    @property
    def curvature(self) -> float:
        """The larger of kappa_0 / delta and the largest bend of kappa; the first if kappa has a kink."""
        steepest = self.penalty.slope_at_zero / self.delta
        bend = self.penalty.largest_bend
        return max(steepest, bend) if math.isfinite(bend) else steepest

    def value(self, prediction: Floats, observed: Floats) -> Floats:
        """Return kappa(|a|) + kappa_0 (delta - |a|)^2 / (2 delta), the second term only for |a| < delta."""
        size = np.abs(prediction - observed)
        within = np.maximum(self.delta - size, 0.0)
        rounding = (0.5 * self.penalty.slope_at_zero) * within * (within / self.delta)
        return _kappa(self.penalty, size) + rounding

    def derivative(self, prediction: Floats, observed: Floats) -> Floats:
        """Return sign(a) (kappa'(|a|) - kappa_0 (1 - |a| / delta)), the second term only for |a| < delta."""
        difference = prediction - observed
        size = np.abs(difference)
        within = np.maximum(1.0 - size / self.delta, 0.0)
        return np.sign(difference) * (_slope(self.penalty, size) - self.penalty.slope_at_zero * within)


@dataclass(frozen=True)
class Envelope:
    """The Moreau envelope of a robust loss: min over s of 1/2 (o - x - s)^2 + weight kappa(|s|).

    An observation o is modelled as the prediction x plus an outlier s, which is zero for most entries, plus noise. With
    the absolute value as kappa, this is the Huber loss with delta = weight.

    Parameters
    ----------
    penalty : Elementwise
        The penalty that defines kappa.
    weight : float
        The weight of kappa; above 0. The larger it is, the fewer outliers there are.

    Notes
    -----
    The loss is 1/2 r^2 minus a maximum of functions that are linear in r = x - o, and that maximum is convex. So the
    parabola of curvature 1 with the derivative r - prox(r) lies above the loss. Where the proximal operator jumps, as
    in a hard threshold, the loss has a concave kink, and the derivative jumps down.

    Examples
    --------
    >>> from tensorfill.penalties import CappedL1
    >>> loss = Envelope(CappedL1(theta=2.0), weight=1.0)
    >>> loss.outliers(np.zeros(4), np.array([0.5, -1.0, 2.0, -50.0]))
    array([  0.,   0.,   1., -50.])
    >>> loss.value(np.zeros(4), np.array([0.5, -1.0, 2.0, -50.0]))
    array([0.125, 0.5  , 1.5  , 2.   ])
    """

    penalty: Elementwise
    weight: float = 1.0
    _cut: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_penalty(self.penalty)
        object.__setattr__(self, "weight", real_number(self.weight, "weight", above=0))
        object.__setattr__(self, "_cut", _cut(self.penalty, self.weight))

    @property
    def curvature(self) -> float:
        """The curvature of the parabola above the loss: 1."""
        return 1.0

    def value(self, prediction: Floats, observed: Floats) -> Floats:
        """Return 1/2 (r - s)^2 + weight kappa(|s|) at the best s, for r = x - o."""
        difference = np.asarray(prediction - observed)
        far, rest, outlier = self._split(difference)
        near = np.where(far, difference.dtype.type(0), difference)
        loss = np.asarray(0.5 * near * near)
        loss[far] = 0.5 * rest * rest + self.weight * self.penalty.kappa(outlier)
        return loss

    def derivative(self, prediction: Floats, observed: Floats) -> Floats:
        """Return r - prox(r), for r = x - o: the part of the difference that is not outlier."""
        difference = np.asarray(prediction - observed)
        far, rest, _ = self._split(difference)
        result = difference.copy()
        result[far] = np.sign(difference[far]) * rest
        return result

    def outliers(self, prediction: Floats, observed: Floats) -> Floats:
        """Return the outlier in each observation: about o - x if it is far off, otherwise 0."""
        difference = np.asarray(observed - prediction)
        far, _, outlier = self._split(difference)
        result = np.zeros_like(difference)
        result[far] = np.sign(difference[far]) * outlier
        return result

    def _split(self, difference: Floats) -> tuple[Booleans, Floats, Floats]:
        """Return which entries have an outlier, and for these the size of the rest and of the outlier, in float64.

        The proximal operator is applied to these few entries only, because it is zero up to the cut.
        """
        far: Booleans = np.asarray(np.abs(difference) > self._cut)
        size = np.abs(difference[far]).astype(np.float64)
        outlier = self.penalty.prox(size, self.weight)
        return far, size - outlier, outlier


@dataclass(frozen=True)
class Tangent(Elementwise):
    """A straight line, kappa(s) = slope_at_zero * s: the tangent at 0 of a concave kappa, which lies above it.

    Parameters
    ----------
    slope_at_zero : float
        The slope of the line.
    """

    slope_at_zero: float = 1.0

    def kappa(self, s: Floats) -> Floats:
        """Return slope_at_zero * s."""
        return self.slope_at_zero * s

    def slope(self, s: Floats) -> Floats:
        """Return slope_at_zero for each entry."""
        return np.full_like(s, self.slope_at_zero)

    def candidates(self, s: Floats, weight: float) -> list[Floats]:
        """Return the one stationary point, s - weight * slope_at_zero."""
        return [s - weight * self.slope_at_zero]


def noise_scale(residuals: Floats) -> float:
    """Return the standard deviation of the noise in residuals; less than half of them may be outliers.

    It is 1.4826 times the median of the absolute residuals. If more than half of the residuals are 0, the median of the
    others is taken; if all are 0, the result is 1.

    >>> noise_scale(np.array([1.0, -1.0, 1.0, -1.0, 1e6]))
    1.4826
    """
    sizes = np.abs(residuals)
    median = float(np.median(sizes)) if len(sizes) else 0.0
    if median == 0:
        sizes = sizes[sizes > 0]
        median = float(np.median(sizes)) if len(sizes) else 1.0 / SIGMA_PER_MEDIAN
    return SIGMA_PER_MEDIAN * median


def largest_noise(noise: float, count: int) -> float:
    """Return a bound that `count` values of normal noise, of standard deviation `noise`, rarely exceed.

    It is sqrt(2 log(count)) standard deviations, about the expected maximum.

    >>> round(largest_noise(0.1, 10_000), 3)
    0.429
    """
    return math.sqrt(2 * math.log(max(count, 2))) * noise


ROBUST: Registry[type[Any]] = Registry(TABLE)
"""The class of the penalty whose kappa makes a robust loss, by the name of the loss."""


def is_robust(loss: object) -> bool:
    """Return whether a loss is for data with outliers: a name in `ROBUST`, or a `Robust`."""
    return isinstance(loss, Robust) or (isinstance(loss, str) and loss in ROBUST)


def make_robust(loss: str | Robust | Elementwise, theta: float | None = None) -> Robust:
    """Return a robust loss from its name and theta, or from a penalty; a robust loss is returned unchanged.

    Parameters
    ----------
    loss : str, Elementwise or Robust
        A name in `ROBUST`, the penalty that defines kappa, or a robust loss.
    theta : float, optional
        The parameter of a named loss; must be left out for "l1" and for an object.

    Examples
    --------
    >>> make_robust("l1")
    Robust(penalty=Nuclear())
    >>> make_robust("mcp", 3.0)
    Robust(penalty=MCP(theta=3.0))
    """
    if isinstance(loss, str):
        kind = ROBUST[choice(loss, "robust loss", ROBUST)]
        if kind is not Nuclear:
            return Robust(kind(theta))
        loss = Robust(kind())
    if not isinstance(loss, Robust | Elementwise):
        raise TypeError(
            f"robust loss must be one of {listed(ROBUST)}, an object derived from Elementwise or a Robust, "
            f"but {loss!r} ({type(loss).__name__}) was given."
        )
    if theta is not None:
        raise ValueError(f"theta must be left out for the robust loss {loss!r}, but {theta!r} was given.")
    return loss if isinstance(loss, Robust) else Robust(loss)


def _kappa(penalty: Elementwise, size: Floats) -> Floats:
    """Return kappa of each entry, in the dtype of `size`."""
    return np.asarray(penalty.kappa(size)).astype(size.dtype, copy=False)


def _slope(penalty: Elementwise, size: Floats) -> Floats:
    """Return the derivative of kappa at each entry, in the dtype of `size`."""
    return np.asarray(penalty.slope(size)).astype(size.dtype, copy=False)


def _cut(penalty: Elementwise, weight: float) -> float:
    """Return the largest difference that contains no outlier."""
    # Above weight * slope_at_zero, the proximal objective falls at 0, so 0 is not its minimum.
    largest = weight * penalty.slope_at_zero
    if not math.isfinite(largest):
        largest = 1.0
        while largest < 1e150 and penalty.prox(np.array([largest]), weight)[0] == 0:
            largest *= 2
    return cut(penalty, weight, largest=largest)


def _check_penalty(penalty: Any) -> None:
    """Check that a penalty applies one kappa to every value."""
    if not isinstance(penalty, Elementwise):
        raise TypeError(
            "the penalty of a robust loss must be Nuclear(), CappedL1(theta), LSP(theta), MCP(theta), SCAD(theta) or "
            f"another object derived from Elementwise, but {penalty!r} ({type(penalty).__name__}) was given."
        )
