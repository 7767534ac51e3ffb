"""What is asked: the observations, and the loss that measures how well an answer fits them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ._types import Floats
from .algebra.storage import DenseStorage, SparseStorage, Storage
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
    _storages: dict[tuple[int, ...] | None, Storage] = field(default_factory=dict, init=False, repr=False)

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

    def sparse_storage(self, modes: tuple[int, ...]) -> Storage:
        """Return the sparse storage for these modes, made once however many methods are run."""
        if modes not in self._storages:
            self._storages[modes] = SparseStorage(self.observations, modes)
        return self._storages[modes]

    def dense_storage(self) -> Storage:
        """Return the dense storage, made once however many methods are run."""
        if None not in self._storages:
            self._storages[None] = DenseStorage(self.observations)
        return self._storages[None]
