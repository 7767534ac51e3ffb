"""What is asked: the observations, and the loss that measures how well an answer fits them."""

from __future__ import annotations

from dataclasses import dataclass

from ._types import Floats
from .losses import Loss
from .observations import Observations


@dataclass(frozen=True, eq=False)
class Problem:
    """The smooth part of the objective, f(X) = sum over the observed entries of loss(X_p, O_p).

    Parameters
    ----------
    observations
        The entries that were seen.
    loss
        How a prediction is compared with them.
    """

    observations: Observations
    loss: Loss

    @property
    def curvature(self) -> float:
        """The Lipschitz constant rho of the gradient."""
        return float(self.loss.curvature)

    def value(self, seen: Floats) -> float:
        """Return f for a tensor with the values `seen` at the observed entries."""
        return float(self.loss.value(seen, self.observations.values).sum())

    def gradient(self, seen: Floats) -> Floats:
        """Return the gradient of f at the observed entries; it is zero at all others (equation l_gradient)."""
        return self.loss.derivative(seen, self.observations.values)
