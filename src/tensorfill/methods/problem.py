"""The problem that a method solves: the observations, the loss, the roughness of graphs, and an offset."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

import numpy as np

from .._support.types import Floats, Integers
from ..algebra.columns import ColumnStorage
from ..algebra.component import Component
from ..algebra.cp_entries import EntriesByIndex
from ..algebra.pattern import SparsePattern
from ..algebra.pieces import in_pieces
from ..algebra.roughness import Roughness
from ..algebra.storage import DenseStorage, LocalPoint, LocalStorage, SparseStorage
from ..algebra.tucker_entries import EntriesInBlocks
from ..losses import Huber, Loss, Square
from ..models import FoldedColumns, FoldedLowRank, Model
from ..observations import Observations
from .folding import model_of, starting_components
from .loop import ResumableSolver, Solver
from .memory import check_factors_fit, dense_is_faster, observed_columns_are_cheaper

Modes = tuple[int, ...]


@dataclass(eq=False)
class Storages:
    """The storages of some observations, by their modes, each made when it is first asked for."""

    sparse: dict[Modes, SparseStorage] = field(default_factory=dict)
    columns: dict[Modes, ColumnStorage] = field(default_factory=dict)
    observed_are_cheaper: dict[Modes, bool] = field(default_factory=dict)
    dense: DenseStorage | None = None
    # Least squares share these while one of them is at work; no one else needs them.
    blocks: WeakValueDictionary[Modes, EntriesInBlocks] = field(default_factory=WeakValueDictionary)
    indices: WeakValueDictionary[Modes, EntriesByIndex] = field(default_factory=WeakValueDictionary)

    def __reduce__(self) -> tuple[type[Storages], tuple[()]]:
        # In another process they are made again, when they are asked for.
        return Storages, ()


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
    _storages: Storages = field(default_factory=Storages, init=False, repr=False)

    @property
    def here(self) -> Problem:
        """The problem itself: its entries are on this machine."""
        return self

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

    def gradient(self, seen: Floats, scale: float = 1.0, *, overwrite: bool = False) -> Floats:
        """Return `scale` times the gradient of the losses at the observed entries (equation l_gradient).

        It is zero at all other entries. It takes the place of `seen` if it may overwrite that.
        """
        out = seen if overwrite else np.empty_like(seen)

        def fill(piece: slice) -> None:
            np.multiply(self.slopes(seen[piece], piece), scale, out=out[piece])

        in_pieces(len(seen), fill)
        return out

    # For NORT, which also works with entries on other machines; see `tensorfill.methods.objective`

    def watched(self, solver: ResumableSolver) -> Solver:
        """Return the solver."""
        return solver

    def at_work(self) -> AbstractContextManager[object]:
        """Return a context for one run, at whose end nothing is to be tidied up."""
        return nullcontext()

    def components_of(self, start: Model | None, modes: Sequence[int], storage: LocalStorage) -> list[Component]:
        """Return one component for each mode: that of `start`, or zero if it has none."""
        return starting_components(start, self.observations, modes, storage)

    def model_of(self, point: LocalPoint, storage: LocalStorage) -> FoldedLowRank | FoldedColumns:
        """Return a point of a storage as a model."""
        return model_of(point, self.observations.shape, storage)

    # Where iterates live

    def storage_for(self, kind: str, modes: Modes) -> LocalStorage:
        """Return a storage of a kind: ``"sparse"``, ``"dense"``, ``"columns"``, or ``"auto"`` for what suits best."""
        if kind == "dense" or (kind == "auto" and dense_is_faster(self.observations)):
            return self.dense_storage()
        if self.keeps_observed_columns(kind, modes):
            return self.column_storage(modes)
        check_factors_fit(self.observations, modes)
        return self.sparse_storage(modes)

    def keeps_observed_columns(self, kind: str, modes: Modes) -> bool:
        """Return whether a storage of this kind keeps components at the observed columns only."""
        if kind == "columns":
            return len(self.observations.shape) > 2
        if kind != "auto" or self.roughness is not None:
            return False
        known = self._storages.observed_are_cheaper
        if modes not in known:
            known[modes] = observed_columns_are_cheaper(self.observations, modes)
        return known[modes]

    def sparse_storage(self, modes: Modes) -> SparseStorage:
        """Return the sparse storage for these modes, made once for all methods."""
        if modes not in self._storages.sparse:
            self._storages.sparse[modes] = SparseStorage(self.observations, modes)
        return self._storages.sparse[modes]

    def column_storage(self, modes: Modes) -> ColumnStorage:
        """Return the storage of components at observed columns for these modes, made once for all methods."""
        if modes not in self._storages.columns:
            self._storages.columns[modes] = ColumnStorage(self.observations, modes)
        return self._storages.columns[modes]

    def pattern(self, modes: Modes) -> SparsePattern:
        """Return the places of the observed entries in the unfoldings along these modes, made once for all methods."""
        return self.sparse_storage(modes).pattern

    def dense_storage(self) -> DenseStorage:
        """Return the dense storage, made once for all methods."""
        if self._storages.dense is None:
            self._storages.dense = DenseStorage(self.observations)
        return self._storages.dense

    # For least squares

    def entries_in_blocks(self, free: Sequence[int]) -> EntriesInBlocks:
        """Return the entries in blocks, for factors of the modes `free`; the same ones while anyone holds them."""
        entries = EntriesInBlocks(self.observations.coords, self.observations.values, self.observations.shape, free)
        return self._storages.blocks.setdefault(tuple(entries.free), entries)

    def entries_by_index(self) -> EntriesByIndex:
        """Return the entries by their index in each mode; the same ones while anyone holds them."""
        entries = EntriesByIndex(self.observations.coords, self.observations.shape)
        return self._storages.indices.setdefault((), entries)
