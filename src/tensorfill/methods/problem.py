"""What is asked: the observations, the loss that measures how well an answer fits them, and how smooth it is to be."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .._support.types import Floats
from ..algebra.roughness import Roughness
from ..algebra.storage import DenseStorage, SparseStorage, Storage
from ..losses import Loss
from ..observations import Observations

PIECE = 2**15
"""Entries whose losses are added up at a time, so that what a loss makes on the way stays in the cache."""


@dataclass(frozen=True, eq=False)
class Problem:
    """The smooth part of the objective, f(X) = sum over the observed entries of loss(X_p, O_p) + 1/2 <X, S X>.

    Parameters
    ----------
    observations
        The entries that were seen.
    loss
        How a prediction is compared with them.
    roughness
        The form 1/2 <X, S X> of graph Laplacians, or None where there are none.
    """

    observations: Observations
    loss: Loss
    roughness: Roughness | None = None
    _storages: dict[tuple[int, ...] | None, Storage] = field(default_factory=dict, init=False, repr=False)

    @property
    def curvature(self) -> float:
        """The Lipschitz constant rho of the gradient."""
        return float(self.loss.curvature) + (0.0 if self.roughness is None else self.roughness.curvature)

    def with_roughness(self, roughness: Roughness | None) -> Problem:
        """Return the problem with another roughness; what is stored of the observations is shared."""
        other = replace(self, roughness=roughness)
        object.__setattr__(other, "_storages", self._storages)
        return other

    def with_loss(self, loss: Loss) -> Problem:
        """Return the problem with another loss; what is stored of the observations is shared."""
        other = replace(self, loss=loss)
        object.__setattr__(other, "_storages", self._storages)
        return other

    def value(self, seen: Floats) -> float:
        """Return the sum of the losses for a tensor with the values `seen` at the observed entries."""
        values = self.observations.values
        pieces = [slice(first, first + PIECE) for first in range(0, len(values), PIECE)]
        return sum(float(self.loss.value(seen[piece], values[piece]).sum()) for piece in pieces)

    def gradient(self, seen: Floats) -> Floats:
        """Return the gradient of the losses at the observed entries, zero at all others (equation l_gradient)."""
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
