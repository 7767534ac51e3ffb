"""Robust losses: for data of which some entries are far off (Section 4.1 of the paper).

The loss of an entry is kappa(|x - o|), where kappa is one of the penalties of `tensorfill.penalties` that grow less
and less: with the absolute difference an outlier pulls no harder than any other entry, and with the others the
pull dies away the further off it is. Such a loss has a kink where the prediction meets the observation, so a
method that follows a gradient cannot take it (`Robust` is no `tensorfill.losses.Loss`). There are two ways to one
that it can take:

- `Robust.smoothed` rounds the kink off within a distance delta, which is then made smaller and smaller;
- `Robust.envelope` allows for noise beside the outliers: the observation is prediction + outlier + noise, the
  outliers cost kappa and the noise its square. It needs no smoothing, and tells which entries are outliers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._support.checks import choice, listed, real_number
from .._support.types import Booleans, Floats, Integers
from ..models.base import Model
from ..observations import Observations
from ..penalties import LSP, MCP, SCAD, CappedL1, Elementwise, Nuclear, cut, weight_for_cut

__all__ = [
    "ROBUST",
    "Envelope",
    "Robust",
    "SmoothedRobust",
    "Tangent",
    "make_robust",
    "noise_scale",
    "outliers",
    "reach",
    "slope",
    "without_outliers",
]

EFFICIENT = 1.345
"""Standard deviations of normal noise up to which an entry counts in full; the Huber loss then keeps 95% of the
accuracy of the square loss."""

SIGMA_PER_MEDIAN = 1.4826
"""The standard deviation of normal noise, by the median of its absolute value."""


@dataclass(frozen=True)
class Robust:
    """A robust loss, kappa(|x - o|), as it stands: with a kink at x = o.

    Parameters
    ----------
    penalty : Elementwise
        The penalty whose kappa is taken: Nuclear() for the absolute difference, CappedL1, LSP, MCP or SCAD. Its
        theta is a difference that counts as large, and the noise must be well below it. Beyond theta, CappedL1, MCP and
        SCAD do not pull at all: start them from an answer that is not too far off, such as that of Nuclear().

    Examples
    --------
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
        """Return the loss for noise beside the outliers, of which each costs `weight` times kappa."""
        return Envelope(self.penalty, weight)

    def cut_at(self, size: float) -> Envelope:
        """Return the envelope for which a difference is an outlier, at least in part, from `size` on.

        >>> round(Robust(LSP(theta=2.0)).cut_at(0.5).weight, 9)
        1.0
        """
        return Envelope(self.penalty, weight_for_cut(self.penalty, size))


@dataclass(frozen=True)
class SmoothedRobust:
    """A robust loss with its kink rounded off (equation smtl1).

    With a = x - o and kappa_0 the slope of kappa at 0, kappa_0 huber(a; delta) + kappa(|a|) - kappa_0 |a|, where
    huber(a; delta) is |a| for |a| >= delta and a^2 / (2 delta) + delta / 2 below. That is
    kappa(|a|) + kappa_0 (delta - |a|)^2 / (2 delta) for |a| < delta, and kappa(|a|) itself beyond; so it is above
    kappa(|a|) by at most kappa_0 delta / 2.

    Parameters
    ----------
    penalty : Elementwise
        The penalty whose kappa is taken; concave, with a finite slope at 0, and one that `slope` knows.
    delta : float
        The distance within which the kink is rounded off; above 0. Where it is above the theta of the penalty, the loss
        falls again beyond theta, and may be higher at x = o than elsewhere; so keep it below.

    Notes
    -----
    kappa(|a|) - kappa_0 |a| is concave on the whole line: it is even, concave for a > 0 and falls from the slope 0
    at 0. It lies below each of its tangents, hence the curvature of the first term, kappa_0 / delta, bounds the loss
    by a parabola, which is all that a descent needs. For the derivative to be Lipschitz as well, the bound must not
    be below the largest bend of kappa, which matters only where delta is larger than theta, or nearly so.

    The capped l1 penalty has a kink at theta, so its smoothed loss is not differentiable there (Proposition smtl1
    assumes that kappa is smooth). The kink is concave: the parabola still lies above, from either of the two slopes,
    but the derivative jumps down by 1 and no constant bounds its change.

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
                f"the penalty of a smoothed loss must have a finite slope at zero, but {self.penalty!r} has none; "
                "take its envelope instead."
            )
        # A slope that is not known is told here, not at the first step of a method.
        slope(self.penalty, np.zeros(1))

    @property
    def curvature(self) -> float:
        """The larger of kappa_0 / delta and the largest bend of kappa, if kappa has no kink."""
        steepest = self.penalty.slope_at_zero / self.delta
        bend = _largest_bend(self.penalty)
        return max(steepest, bend) if math.isfinite(bend) else steepest

    def value(self, prediction: Floats, observed: Floats) -> Floats:
        """Return kappa(|a|) + kappa_0 (delta - |a|)^2 / (2 delta), the second term for |a| < delta only."""
        size = np.abs(prediction - observed)
        within = np.maximum(self.delta - size, 0.0)
        rounding = (0.5 * self.penalty.slope_at_zero) * within * (within / self.delta)
        return _kappa(self.penalty, size) + rounding

    def derivative(self, prediction: Floats, observed: Floats) -> Floats:
        """Return sign(a) (kappa'(|a|) - kappa_0 (1 - |a| / delta)), the second term for |a| < delta only."""
        difference = prediction - observed
        size = np.abs(difference)
        within = np.maximum(1.0 - size / self.delta, 0.0)
        return np.sign(difference) * (slope(self.penalty, size) - self.penalty.slope_at_zero * within)


@dataclass(frozen=True)
class Envelope:
    """Outliers beside noise, with the outliers minimised out: min over s of 1/2 (o - x - s)^2 + weight kappa(|s|).

    An observation o is taken for a prediction x, plus an outlier s that is zero for most entries, plus noise. For
    the absolute value this is the Huber loss of delta = weight.

    Parameters
    ----------
    penalty : Elementwise
        What an outlier costs.
    weight : float
        By how much; above 0. The larger, the fewer outliers.

    Notes
    -----
    The loss is 1/2 r^2 less a maximum of functions linear in r = x - o, which is convex. So the parabola of curvature
    1 lies above it, from the derivative r - prox(r), everywhere. Where the proximal step jumps, as that of the hard
    thresholds does, the loss has a concave kink, and the derivative falls at once.

    Examples
    --------
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
        """The curvature of the parabola that lies above: 1."""
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
        """Return r - prox(r), for r = x - o: what is left of the difference beside the outlier."""
        difference = np.asarray(prediction - observed)
        far, rest, _ = self._split(difference)
        result = difference.copy()
        result[far] = np.sign(difference[far]) * rest
        return result

    def outliers(self, prediction: Floats, observed: Floats) -> Floats:
        """Return the outlier in each observation: about o - x where it is far off, and 0 elsewhere."""
        difference = np.asarray(observed - prediction)
        far, _, outlier = self._split(difference)
        result = np.zeros_like(difference)
        result[far] = np.sign(difference[far]) * outlier
        return result

    def _split(self, difference: Floats) -> tuple[Booleans, Floats, Floats]:
        """Return where the outliers are, and there the size of what is left and that of the outlier, in float64.

        The proximal step is taken of these few alone, as everything up to the cut goes to zero.
        """
        far: Booleans = np.asarray(np.abs(difference) > self._cut)
        size = np.abs(difference[far]).astype(np.float64)
        outlier = self.penalty.prox(size, self.weight)
        return far, size - outlier, outlier


@dataclass(frozen=True)
class Tangent(Elementwise):
    """A straight line, kappa(s) = slope_at_zero * s: what a concave kappa is near 0, and never above.

    Parameters
    ----------
    slope_at_zero : float
        How steep it is.
    """

    slope_at_zero: float = 1.0

    def kappa(self, s: Floats) -> Floats:
        """Return slope_at_zero * s."""
        return self.slope_at_zero * s

    def slope(self, s: Floats) -> Floats:
        """Return slope_at_zero for each entry."""
        return np.full_like(s, self.slope_at_zero)

    def candidates(self, s: Floats, weight: float) -> list[Floats]:
        """Return s - weight * slope_at_zero."""
        return [s - weight * self.slope_at_zero]


def reach(penalty: Elementwise) -> float:
    """Return the difference from which on kappa bends away or no longer pulls: its theta, infinite if it has none.

    A loss may be smoothed within that distance (see `SmoothedRobust`).

    >>> reach(MCP(theta=3.0)), reach(SCAD(theta=3.0, unit=0.5)), reach(Nuclear())
    (3.0, 1.5, inf)
    """
    return float(getattr(penalty, "theta", math.inf)) * float(getattr(penalty, "unit", 1.0))


def noise_scale(residuals: Floats) -> float:
    """Return the standard deviation of the noise in residuals of which some, fewer than half, are outliers.

    1.4826 times the median size. Where more than half of them are 0, the median of the others is taken, and where
    all are, 1.

    >>> noise_scale(np.array([1.0, -1.0, 1.0, -1.0, 1e6]))
    1.4826
    """
    sizes = np.abs(residuals)
    median = float(np.median(sizes)) if len(sizes) else 0.0
    if median == 0:
        sizes = sizes[sizes > 0]
        median = float(np.median(sizes)) if len(sizes) else 1.0 / SIGMA_PER_MEDIAN
    return SIGMA_PER_MEDIAN * median


def outliers(observations: Observations, model: Model, *, beyond: float | None = None) -> tuple[Integers, Floats]:
    """Return the observed entries that are judged corrupt, and by how much they are off.

    Parameters
    ----------
    observations
        The data.
    model
        The answer of a robust fit.
    beyond
        The difference from which on an entry counts as corrupt. By default sqrt(2 log n) standard deviations of the
        noise, for n entries: among so many with normal noise and no outlier, the largest is hardly ever beyond.

    Returns
    -------
    coords, amounts
        The entries, of shape (k, ndim), and observation less prediction at each.
    """
    differences, corrupt = _judged(observations, model, beyond)
    positions = np.unravel_index(observations.positions[corrupt], observations.shape)
    return np.stack(positions, axis=1), differences[corrupt]


def without_outliers(observations: Observations, model: Model, *, beyond: float | None = None) -> Observations:
    """Return the data with the entries that are judged corrupt as missing; for the parameters see `outliers`."""
    _, corrupt = _judged(observations, model, beyond)
    return observations.select(~corrupt)


def largest_noise(noise: float, count: int) -> float:
    """Return what normal noise of this standard deviation hardly ever passes in so many entries."""
    return math.sqrt(2 * math.log(max(count, 2))) * noise


def _judged(observations: Observations, model: Model, beyond: float | None) -> tuple[Floats, Booleans]:
    """Return observation less prediction, and which entries are judged corrupt."""
    if observations.is_dense:
        predicted = model.to_dense(max_bytes=math.inf).reshape(-1)[observations.positions]
    else:
        predicted = model.predict(observations.coords)
    differences = observations.values - predicted
    if beyond is None:
        limit = largest_noise(noise_scale(differences), len(differences))
    else:
        limit = real_number(beyond, "beyond", at_least=0)
    corrupt: Booleans = np.asarray(np.abs(differences) > limit)
    return differences, corrupt


def slope(penalty: Elementwise, s: Floats) -> Floats:
    """Return the derivative of kappa at each entry of s >= 0; at a kink, the one from the right.

    For a penalty of your own, write a method `slope(s)`.

    Examples
    --------
    >>> slope(MCP(theta=4.0), np.array([0.0, 1.0, 9.0]))
    array([1.  , 0.75, 0.  ])
    """
    own: Callable[[Floats], Floats] | None = getattr(penalty, "slope", None)
    if own is not None:
        result = own(s)
    elif type(penalty) in _SLOPES:
        result = _SLOPES[type(penalty)](penalty, s)
    else:
        raise TypeError(
            f"the derivative of kappa is not known for the penalty {penalty!r}; give its class a method slope(s), "
            "or take the envelope, which needs none."
        )
    return np.asarray(result).astype(s.dtype, copy=False)


# A penalty that derives from one of these may have another kappa, so these are for the very types only.
_SLOPES: dict[type[Any], Callable[[Any, Floats], Floats]] = {
    Nuclear: lambda penalty, s: np.ones_like(s),
    CappedL1: lambda penalty, s: np.less(s, penalty.theta).astype(s.dtype),
    LSP: lambda penalty, s: 1.0 / (s + penalty.theta),
    MCP: lambda penalty, s: np.maximum(1.0 - s / penalty.theta, 0.0),
    SCAD: lambda penalty, s: np.clip((penalty.theta - s / penalty.unit) / (penalty.theta - 1.0), 0.0, 1.0),
}

_BENDS: dict[type[Any], Callable[[Any], float]] = {
    Nuclear: lambda penalty: 0.0,
    CappedL1: lambda penalty: math.inf,
    LSP: lambda penalty: penalty.theta**-2,
    MCP: lambda penalty: 1.0 / penalty.theta,
    SCAD: lambda penalty: 1.0 / ((penalty.theta - 1.0) * penalty.unit),
}


def _largest_bend(penalty: Elementwise) -> float:
    """Return by how much the slope of kappa falls at most per unit of s; infinity where kappa has a kink.

    0 where it is not known: the parabola then still lies above, as kappa is concave.
    """
    return _BENDS[type(penalty)](penalty) if type(penalty) in _BENDS else 0.0


def _kappa(penalty: Elementwise, size: Floats) -> Floats:
    """Return kappa of each entry, in its own dtype."""
    return np.asarray(penalty.kappa(size)).astype(size.dtype, copy=False)


def _cut(penalty: Elementwise, weight: float) -> float:
    """Return the largest difference that is no outlier."""
    # From the slope at 0 on, zero is no minimum of the proximal objective.
    largest = weight * penalty.slope_at_zero
    if not math.isfinite(largest):
        largest = 1.0
        while largest < 1e150 and penalty.prox(np.array([largest]), weight)[0] == 0:
            largest *= 2
    return cut(penalty, weight, largest=largest)


def _check_penalty(penalty: Any) -> None:
    """Check that a penalty treats every value by itself."""
    if not isinstance(penalty, Elementwise):
        raise TypeError(
            "the penalty of a robust loss must be Nuclear(), CappedL1(theta), LSP(theta), MCP(theta), SCAD(theta) or "
            f"another object derived from Elementwise, but {penalty!r} ({type(penalty).__name__}) was given."
        )


ROBUST: dict[str, type[Any]] = {
    "l1": Nuclear,
    "capped_l1": CappedL1,
    "lsp": LSP,
    "mcp": MCP,
    "scad": SCAD,
}
"""The penalties whose kappa makes a robust loss, by the name of that loss."""


def make_robust(loss: str | Robust | Elementwise, theta: float | None = None) -> Robust:
    """Return a robust loss from its name and theta, or from a penalty, or one that is made as it is.

    Parameters
    ----------
    loss : str, Elementwise or Robust
        A name in `ROBUST`, the penalty whose kappa is to be taken, or a robust loss.
    theta : float, optional
        The parameter of a named loss; "l1" and an object take none.

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
