"""Losses: how far a predicted entry is from the observed one.

f(X) = sum over the observed entries p of loss(X_p, O_p). A method needs the value, the derivative by the
prediction, and a bound of the second derivative, from which the step size 1 / tau follows. It takes any
object with these three (see `Loss`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ._checks import choice, listed
from ._types import Floats

__all__ = ["LOSSES", "Loss", "Square", "error", "make_loss"]


@runtime_checkable
class Loss(Protocol):
    """What a method asks of a loss.

    `prediction` and `observed` are arrays of one shape; what is returned has that shape, and is float32 if
    both are.
    """

    @property
    def curvature(self) -> float:
        """A bound of the second derivative: the Lipschitz constant of `derivative` in the prediction."""
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


LOSSES: dict[str, type[Any]] = {
    "square": Square,
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


def error(loss: Loss, prediction: Floats, observed: Floats) -> float:
    """Return the root of twice the mean loss, which for the square loss is the root mean square error.

    >>> round(error(Square(), np.array([1.0, 2.0]), np.array([1.0, 4.0])), 6)
    1.414214
    """
    return float(np.sqrt(2 * np.mean(loss.value(prediction, observed), dtype=np.float64)))
