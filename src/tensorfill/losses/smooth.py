"""Losses: how far a predicted entry is from the observed one.

f(X) = sum over the observed entries p of loss(X_p, O_p). A method needs the value, the derivative by the
prediction, and a bound of the second derivative, from which the step size 1 / tau follows. It takes any
object with these three (see `Loss`); `tensorfill.diagnostics.check_loss` tells whether they agree.

The prediction of `Logistic` and `Poisson` is a score, any real number; their `mean` turns it into a probability
or a rate. Losses for data with outliers are in `tensorfill.losses.robust`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.special import expit, xlogy

from .._support.checks import choice, listed, real_number
from .._support.types import Booleans, Floats

__all__ = ["LOSSES", "Huber", "Logistic", "Loss", "Poisson", "Square", "error", "make_loss", "prepare"]


@runtime_checkable
class Loss(Protocol):
    """What a method asks of a loss.

    `prediction` and `observed` are arrays of one shape; what is returned has that shape, and is float32 if
    both are. The loss of an entry is at least 0.

    Two methods are optional. ``prepared(observed) -> (loss, observed)`` returns the loss with the constants
    that it takes from the data, and the values as it takes them, or raises a ValueError of one sentence where
    a value is not allowed (see `prepare`). ``mean(prediction)`` returns the observation to be expected where
    the prediction is on another scale; without it, that is the prediction itself.
    """

    @property
    def curvature(self) -> float:
        """A bound of the second derivative: the Lipschitz constant of `derivative` in the prediction.

        What a method relies on is that every step stays below a parabola:
        loss(y, o) <= loss(x, o) + derivative(x, o) (y - x) + curvature / 2 (y - x)^2 for all x and y.
        """
        ...

    def value(self, prediction: Floats, observed: Floats) -> Floats:
        """Return the loss of each entry."""
        ...

    def derivative(self, prediction: Floats, observed: Floats) -> Floats:
        """Return the derivative of each entry's loss by its prediction."""
        ...


@dataclass(frozen=True)
class Square:
    """Half the squared difference, 1/2 (x - o)^2: for noise of about one size everywhere.

    >>> import numpy as np
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
    """The Huber loss, a parabola for small differences and a line for large ones.

    With r = x - o: r^2 / 2 for ``|r| <= delta``, and ``delta |r| - delta^2 / 2`` beyond. An outlier pulls with the
    same force delta however far away it is.

    Parameters
    ----------
    delta : float
        The difference up to which an entry counts in full; above 0. The default is for noise of standard
        deviation 1, where it keeps 95% of the accuracy of the square loss; multiply it by that of yours.

    Examples
    --------
    >>> Huber(delta=1.0).value(np.array([0.5, 5.0]), np.array([0.0, 0.0]))
    array([0.125, 4.5  ])
    >>> Huber(delta=1.0).derivative(np.array([0.5, 5.0]), np.array([0.0, 0.0]))
    array([0.5, 1. ])
    """

    delta: float = 1.345

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", real_number(self.delta, "delta of 'huber'", above=0))

    @property
    def curvature(self) -> float:
        """The second derivative where it is largest: 1."""
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
    """The logistic loss, log(1 + exp(-o x)) for an observed o of -1 or +1: for links, clicks, yes and no.

    The prediction x is a score, the logarithm of the odds of +1; `mean` turns it into a probability. This is
    equation (tc_kge) of the paper.

    Examples
    --------
    >>> Logistic().value(np.array([0.0, 100.0, -1000.0]), np.array([1.0, 1.0, 1.0])).round(4)
    array([6.931e-01, 0.000e+00, 1.000e+03])
    >>> Logistic().mean(np.array([0.0, 100.0]))
    array([0.5, 1. ])
    """

    @property
    def curvature(self) -> float:
        """The second derivative where it is largest, at x = 0: 1/4."""
        return 0.25

    def value(self, prediction: Floats, observed: Floats) -> Floats:
        """Return log(1 + exp(-o x)); it does not overflow, for it is about -o x where that is large."""
        loss: Floats = np.logaddexp(0.0, -observed * prediction)
        return loss

    def derivative(self, prediction: Floats, observed: Floats) -> Floats:
        """Return -o / (1 + exp(o x))."""
        slope: Floats = -observed * expit(-observed * prediction)
        return slope

    def mean(self, prediction: Floats) -> Floats:
        """Return the probability of +1, 1 / (1 + exp(-x))."""
        probability: Floats = expit(prediction)
        return probability

    def prepared(self, observed: Floats) -> tuple[Logistic, Floats]:
        """Return this loss, and the values as -1 and +1; they may come as 0 and 1, or as truth values, too.

        >>> Logistic().prepared(np.array([0.0, 1.0, 1.0]))
        (Logistic(), array([-1.,  1.,  1.]))
        """
        observed = _as_floats(observed)
        low, high = observed == -1, observed == 1
        if np.all(low | high):
            return self, observed
        if np.all((observed == 0) | high):
            return self, 2 * observed - 1
        raise ValueError(
            "the logistic loss takes values that are all -1 or 1, or all 0 or 1, but those given are "
            f"{_some(observed)}; compare them with a number, such as values > 0, or choose another loss."
        )


@dataclass(frozen=True)
class Poisson:
    """The Poisson loss, exp(x) - o x for a count o: for how often something happened.

    The prediction x is a score, the logarithm of the rate; `mean` turns it into a rate. A constant of o is
    added that makes the least value 0, at x = log o: exp(x) - o x + o log o - o, half the deviance.

    The second derivative, exp(x), has no bound, and a method needs one. So from the score `limit` upwards exp
    is continued by its parabola there, exp(limit) (1 + d + d^2 / 2) for d = x - limit, which joins it with the
    same slope and the same bend. This leaves the best score of an entry where it is as long as `limit` is at
    least the logarithm of its count.

    Parameters
    ----------
    limit : float, optional
        The score from which exp is continued; at most 80. By default `prepared` sets it from the counts, to
        log(2 max(o)): rates up to twice the largest count keep their exact likelihood, and one that is more
        than twice the largest count seen is far too large anyhow. Every further factor of 2 would halve the
        length of a step. Until it is set, exp is not continued and `curvature` is infinite.

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
        """The second derivative where it is largest, from `limit` on: exp(limit)."""
        return math.inf if self.limit is None else math.exp(self.limit)

    def value(self, prediction: Floats, observed: Floats) -> Floats:
        """Return exp(x) - o x + o log o - o, with exp continued above `limit`.

        It is written by u = x - log(max(o, 1)), as the terms of the formula cancel where o is large.
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
                # The best score is then beyond the limit too, at d = excess, where the least value is not 0 yet.
                excess = np.maximum(observed / steepest - 1.0, 0.0)
                loss = loss - steepest * ((1.0 + excess) * np.log1p(excess) - excess * (1.0 + 0.5 * excess))
        # Rounding can leave a number just below 0.
        return np.maximum(loss, 0.0)

    def derivative(self, prediction: Floats, observed: Floats) -> Floats:
        """Return exp(x) - o, and exp(limit) (1 + d) - o above `limit`."""
        inside = self._inside(prediction)
        slope: Floats = np.exp(inside) - observed
        if self.limit is None:
            return slope
        return slope + math.exp(self.limit) * (prediction - inside)

    def mean(self, prediction: Floats) -> Floats:
        """Return the rate, exp(x), not continued."""
        rate: Floats = np.exp(prediction)
        return rate

    def prepared(self, observed: Floats) -> tuple[Poisson, Floats]:
        """Return the loss with its `limit` set from the counts if it is not set yet, and the counts as they are."""
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
                f"but {self.limit:g} was given; leave it out to have it set from the counts."
            )
        return self, observed

    def _inside(self, prediction: Floats) -> Floats:
        """Return the scores, with those above `limit` put there."""
        return prediction if self.limit is None else np.minimum(prediction, self.limit)


def _as_floats(observed: Floats) -> Floats:
    """Return float32 and float64 as they are, and anything else, truth values among them, as float64."""
    observed = np.asarray(observed)
    return observed if observed.dtype.kind == "f" else observed.astype(np.float64)


def _some(observed: Floats, where: Booleans | None = None) -> str:
    """Return the different values there are, a few of many, as they stand in a sentence."""
    values = np.unique(observed if where is None else observed[where])
    shown = [f"{value:.6g}" for value in values[:4]]
    return ", ".join([*shown, f"{len(values) - 4} more"] if len(values) > 4 else shown)


LOSSES: dict[str, type[Any]] = {
    "square": Square,
    "huber": Huber,
    "logistic": Logistic,
    "poisson": Poisson,
}
"""The losses that go by a name."""


def make_loss(loss: str | Loss) -> Loss:
    """Return a loss from its name, or an object of the user's own as it is.

    Parameters
    ----------
    loss : str or Loss
        A name in `LOSSES`, or an object with the attribute `curvature` and the methods
        `value(prediction, observed)` and `derivative(prediction, observed)`.

    Examples
    --------
    >>> make_loss("square")
    Square()
    """
    if isinstance(loss, str):
        made: Loss = LOSSES[choice(loss, "loss", LOSSES)]()
        return made
    # A class has the attributes of its instances, but its methods cannot be called.
    if isinstance(loss, type) or not isinstance(loss, Loss):
        raise TypeError(
            f"loss must be one of {listed(LOSSES)}, or an object with the attribute curvature and the "
            f"methods value(prediction, observed) and derivative(prediction, observed), "
            f"but {loss!r} ({type(loss).__name__}) was given."
        )
    return loss


def prepare(loss: Loss, observed: Floats) -> tuple[Loss, Floats]:
    """Return a loss with the constants that it takes from the data, and the values as it takes them.

    Parameters
    ----------
    loss : Loss
        The loss; one without the optional method `prepared` is returned as it is, and so are the values.
    observed : array
        The observed values.

    Raises
    ------
    ValueError
        If the loss does not take such values.

    Examples
    --------
    >>> prepare(Square(), np.array([0.0, 1.0]))
    (Square(), array([0., 1.]))
    >>> prepare(Logistic(), np.array([0.0, 1.0]))
    (Logistic(), array([-1.,  1.]))
    >>> prepare(Logistic(), np.array([1.0, 2.0, 5.0]))
    Traceback (most recent call last):
        ...
    ValueError: the logistic loss takes values that are all -1 or 1, or all 0 or 1, but those given are 1, 2, 5;
    compare them with a number, such as values > 0, or choose another loss.
    """
    prepared: Callable[[Floats], tuple[Loss, Floats]] | None = getattr(loss, "prepared", None)
    return (loss, observed) if prepared is None else prepared(observed)


def error(loss: Loss, prediction: Floats, observed: Floats) -> float:
    """Return the root of twice the mean loss, which for the square loss is the root mean square error.

    >>> round(error(Square(), np.array([1.0, 2.0]), np.array([1.0, 4.0])), 6)
    1.414214
    """
    return float(np.sqrt(2 * np.mean(loss.value(prediction, observed), dtype=np.float64)))
