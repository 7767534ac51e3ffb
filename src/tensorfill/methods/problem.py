"""The problem that a method solves: the observations, the loss, the roughness of graphs, and an offset."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from .._support.types import Floats, Integers
from ..algebra.columns import ColumnStorage
from ..algebra.pattern import SparsePattern
from ..algebra.pieces import in_pieces
from ..algebra.roughness import Roughness
from ..algebra.storage import DenseStorage, SparseStorage, Storage
from ..losses import Huber, Loss, Square
from ..observations import Observations

if TYPE_CHECKING:
    from .loop import Solver


@dataclass(frozen=True, eq=False)
class Problem:
    """The smooth part of the objective, f(X) = sum over the observed entries of loss(X_p + B_p, O_p) + 1/2 <X, S X>.

    Parameters
    ----------
    observations
        The observed entries.
    loss
        The loss of a prediction.
    roughness
        The form 1/2 <X, S X> of graph Laplacians, or None without graphs.
    offset
        The offset B_p that is added to the prediction of each observed entry before the comparison; None for zero. It
        is set by `beyond`.
    """

    observations: Observations
    loss: Loss
    roughness: Roughness | None = None
    offset: Floats | None = None
    _storages: dict[Hashable, Storage] = field(default_factory=dict, init=False, repr=False)

    is_spread: ClassVar[bool] = False
    """Whether the entries are distributed over several machines, with one kind of storage."""

    @property
    def curvature(self) -> float:
        """The Lipschitz constant rho of the gradient."""
        return float(self.loss.curvature) + (0.0 if self.roughness is None else self.roughness.curvature)

    @property
    def norm(self) -> float:
        """The norm of the observed values."""
        return float(np.linalg.norm(self.observations.values))

    @property
    def slope_at_zero(self) -> float:
        """The norm of the gradient at zero."""
        slope = self.gradient(np.zeros_like(self.observations.values))
        return float(np.linalg.norm(slope.astype(np.float64, copy=False)))

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

    def beyond(self, known: Floats) -> Problem:
        """Return the problem for a correction of a tensor with the values `known` at the observed entries.

        For a loss of differences this is the problem with the residuals as values. For every other loss `known` is an
        offset, which changes neither the curvature nor the stored observations.
        """
        values = self.observations.values
        known = known.astype(values.dtype, copy=False)
        if isinstance(self.loss, Square | Huber):
            return replace(self, observations=self.observations.with_values(values - known))
        other = replace(self, offset=known if self.offset is None else self.offset + known)
        object.__setattr__(other, "_storages", self._storages)
        return other

    def losses(self, seen: Floats, where: slice | Integers = slice(None)) -> Floats:
        """Return the loss of each entry for a tensor with the values `seen` there.

        Parameters
        ----------
        seen
            The values of the tensor at these entries.
        where
            The observed entries to use; by default all.
        """
        return self.loss.value(self._compared(seen, where), self.observations.values[where])

    def slopes(self, seen: Floats, where: slice | Integers = slice(None)) -> Floats:
        """Return the derivative of the loss of each entry, for the same arguments as `losses`."""
        return self.loss.derivative(self._compared(seen, where), self.observations.values[where])

    def _compared(self, seen: Floats, where: slice | Integers) -> Floats:
        """Return the predictions to compare with the observed values."""
        return seen if self.offset is None else seen + self.offset[where]

    def value(self, seen: Floats) -> float:
        """Return the sum of the losses for a tensor with the values `seen` at the observed entries."""
        return sum(in_pieces(len(seen), lambda piece: float(self.losses(seen[piece], piece).sum())))

    def gradient(self, seen: Floats, scale: float = 1.0) -> Floats:
        """Return `scale` times the gradient of the losses at the observed entries (equation l_gradient).

        It is zero at all other entries.
        """
        out = np.empty_like(seen)

        def fill(piece: slice) -> None:
            np.multiply(self.slopes(seen[piece], piece), scale, out=out[piece])

        in_pieces(len(seen), fill)
        return out

    def watched(self, solver: Solver) -> Solver:
        """Return a solver of this problem, possibly wrapped to do more work around each step."""
        return solver

    def sparse_storage(self, modes: tuple[int, ...]) -> SparseStorage:
        """Return the sparse storage for these modes, created once for all methods."""
        if modes not in self._storages:
            self._storages[modes] = SparseStorage(self.observations, modes)
        return cast(SparseStorage, self._storages[modes])

    def column_storage(self, modes: tuple[int, ...], sparse: tuple[int, ...]) -> ColumnStorage:
        """Return the storage of components at observed columns for the modes `sparse`, and at all for the others."""
        if (modes, sparse) not in self._storages:
            self._storages[modes, sparse] = ColumnStorage(self.observations, modes, sparse)
        return cast(ColumnStorage, self._storages[modes, sparse])

    def pattern(self, modes: tuple[int, ...]) -> SparsePattern:
        """Return the positions of the observed entries in the unfoldings along these modes, computed once."""
        return self.sparse_storage(modes).pattern

    def dense_storage(self) -> Storage:
        """Return the dense storage, created once for all methods."""
        if None not in self._storages:
            self._storages[None] = DenseStorage(self.observations)
        return self._storages[None]
