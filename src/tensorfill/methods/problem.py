"""The problem that a method solves: the observations, the loss, and the roughness of graphs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from .._support.types import Floats
from ..algebra.pieces import in_pieces
from ..algebra.roughness import Roughness
from ..algebra.storage import DenseStorage, SparseStorage, Storage
from ..losses import Loss
from ..observations import Observations


@dataclass(frozen=True, eq=False)
class Problem:
    """The smooth part of the objective, f(X) = sum over the observed entries of loss(X_p, O_p) + 1/2 <X, S X>.

    Parameters
    ----------
    observations
        The observed entries.
    loss
        How predictions are compared with them.
    roughness
        The form 1/2 <X, S X> of graph Laplacians, or None without graphs.
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
        """Return the problem with another roughness; both share the stored observations."""
        other = replace(self, roughness=roughness)
        object.__setattr__(other, "_storages", self._storages)
        return other

    def with_loss(self, loss: Loss) -> Problem:
        """Return the problem with another loss; both share the stored observations."""
        other = replace(self, loss=loss)
        object.__setattr__(other, "_storages", self._storages)
        return other

    def value(self, seen: Floats) -> float:
        """Return the sum of the losses for a tensor with the values `seen` at the observed entries."""
        values = self.observations.values
        return sum(in_pieces(len(values), lambda piece: float(self.loss.value(seen[piece], values[piece]).sum())))

    def gradient(self, seen: Floats, scale: float = 1.0) -> Floats:
        """Return `scale` times the gradient of the losses at the observed entries (equation l_gradient).

        It is zero at all other entries.
        """
        values, out = self.observations.values, np.empty_like(seen)

        def fill(piece: slice) -> None:
            np.multiply(self.loss.derivative(seen[piece], values[piece]), scale, out=out[piece])

        in_pieces(len(values), fill)
        return out

    def sparse_storage(self, modes: tuple[int, ...]) -> Storage:
        """Return the sparse storage for these modes, made once for all methods."""
        if modes not in self._storages:
            self._storages[modes] = SparseStorage(self.observations, modes)
        return self._storages[modes]

    def dense_storage(self) -> Storage:
        """Return the dense storage, made once for all methods."""
        if None not in self._storages:
            self._storages[None] = DenseStorage(self.observations)
        return self._storages[None]
