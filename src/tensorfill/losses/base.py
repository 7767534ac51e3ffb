"""The loss protocol that methods rely on, and functions that apply to every loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from .._support.types import Floats

__all__ = ["Loss", "error", "expected", "is_score", "prepare", "restore"]


@runtime_checkable
class Loss(Protocol):
    """The interface of a loss.

    `prediction` and `observed` are arrays of the same shape. Results have that shape, and are float32 if both arrays
    are. The loss of an entry is at least 0.

    Three methods and an attribute are optional:

    - ``prepared(observed) -> (loss, observed)`` returns the loss with constants estimated from the data, and
      the values in the form that `value` and `derivative` expect. If a value is not allowed, it raises a ValueError of
      one sentence. See `prepare`.
    - ``restored(observed) -> values`` is the inverse for a loss whose ``prepared`` changes the values: it returns them
      in the form in which the data came. See `restore`.
    - ``mean(prediction) -> expected`` returns the expected observation, on the scale on which the data came, for a loss
      whose prediction is a score on another scale, such as the logarithm of a rate. Everything that `tensorfill.Fit`
      returns is on that scale. Without this method the prediction is the expected observation.
    - ``extent``, beside `mean`, is a pair: the bounds of expected observations, such as 0 and infinity for rates. A
      model of what is expected needs them; see `tensorfill.losses.links`.
    """

    @property
    def curvature(self) -> float:
        """A bound of the second derivative: the Lipschitz constant of `derivative` in the prediction.

        Methods rely on a parabola above the loss:
        loss(y, o) <= loss(x, o) + derivative(x, o) (y - x) + curvature / 2 (y - x)^2 for all x and y.
        """
        ...

    def value(self, prediction: Floats, observed: Floats) -> Floats:
        """Return the loss of each entry."""
        ...

    def derivative(self, prediction: Floats, observed: Floats) -> Floats:
        """Return the derivative of each entry's loss with respect to its prediction."""
        ...


def prepare(loss: Loss, observed: Floats) -> tuple[Loss, Floats]:
    """Return a loss with its constants set from the data, and the values in the form that it expects.

    Parameters
    ----------
    loss : Loss
        The loss. If it does not have the optional method `prepared`, the loss and the values are returned unchanged.
    observed : array
        The observed values.

    Raises
    ------
    ValueError
        If the loss does not allow one of the values.

    Examples
    --------
    >>> from tensorfill.losses import Logistic, Square
    >>> prepare(Square(), np.array([0.0, 1.0]))
    (Square(), array([0., 1.]))
    >>> prepare(Logistic(), np.array([0.0, 1.0]))
    (Logistic(low=0.0), array([-1.,  1.]))
    >>> prepare(Logistic(), np.array([1.0, 2.0, 5.0]))
    Traceback (most recent call last):
        ...
    ValueError: the logistic loss takes values that are all -1 or 1, or all 0 or 1, but those given are 1, 2, 5;
    compare them with a number, as in values > 0, or choose another loss.
    """
    prepared: Callable[[Floats], tuple[Loss, Floats]] | None = getattr(loss, "prepared", None)
    return (loss, observed) if prepared is None else prepared(observed)


def restore(loss: Loss, observed: Floats) -> Floats:
    """Return prepared values in the original form of the data; the inverse of `prepare`.

    Parameters
    ----------
    loss : Loss
        The loss that `prepare` returned. If it does not have the optional method `restored`, the values are returned
        unchanged.
    observed : array
        Values in the form that the loss expects.

    Examples
    --------
    >>> from tensorfill.losses import Logistic
    >>> loss, values = prepare(Logistic(), np.array([0.0, 1.0]))
    >>> restore(loss, values)
    array([0., 1.])
    """
    restored: Callable[[Floats], Floats] | None = getattr(loss, "restored", None)
    return observed if restored is None else restored(observed)


def is_score(loss: object) -> bool:
    """Return whether the predictions of a loss are scores, on a different scale from the observations.

    >>> from tensorfill.losses import Logistic, Square
    >>> is_score(Logistic()), is_score(Square())
    (True, False)
    """
    return hasattr(loss, "mean")


def expected(loss: object, prediction: Floats) -> Floats:
    """Return the expected observations for predictions, on the scale of the data.

    >>> from tensorfill.losses import Poisson, Square
    >>> expected(Poisson(), np.array([0.0])), expected(Square(), np.array([0.0]))
    (array([1.]), array([0.]))
    """
    mean: Callable[[Floats], Floats] | None = getattr(loss, "mean", None)
    return prediction if mean is None else mean(prediction)


def error(loss: Loss, prediction: Floats, observed: Floats) -> float:
    """Return the square root of twice the mean loss; for the square loss this is the root mean square error.

    >>> from tensorfill.losses import Square
    >>> round(error(Square(), np.array([1.0, 2.0]), np.array([1.0, 4.0])), 6)
    1.414214
    """
    return float(np.sqrt(2 * np.mean(loss.value(prediction, observed), dtype=np.float64)))
