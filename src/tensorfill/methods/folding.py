"""From models to the components that NORT and its relatives work with, and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..algebra.columns import ColumnStorage
from ..algebra.component import Component
from ..algebra.entries import Entries
from ..algebra.storage import LocalPoint, LocalStorage
from ..models import FoldedColumns, FoldedLowRank, Model


def starting_components(
    start: Model | None, observations: Entries, modes: Sequence[int], storage: LocalStorage | None = None
) -> list[Component]:
    """Return one component for each mode: that of `start`, or zero if it has none.

    It has a row for each column that the storage keeps, and for all columns without a storage.
    """
    shape, dtype = observations.shape, observations.dtype
    found: dict[int, Component] = {}
    if start is not None:
        if not isinstance(start, FoldedLowRank | FoldedColumns) or start.shape != shape:
            raise ValueError(
                f"start must be a model that NORT made for a tensor of shape {shape}, but it is {start!r}."
            )
        if isinstance(storage, ColumnStorage):
            if isinstance(start, FoldedLowRank):
                start = FoldedColumns.from_folded(start)
            start = start.at_columns(storage.kept)
        elif isinstance(start, FoldedColumns):
            start = start.expanded()
        found = {part.mode: part for part in start.components}
    zero = partial(Component.zero, shape) if storage is None else storage.zero
    return [(found[mode] if mode in found else zero(mode, dtype)).astype(dtype) for mode in modes]


def model_of(point: LocalPoint, shape: tuple[int, ...], storage: LocalStorage) -> FoldedLowRank | FoldedColumns:
    """Return a point as a model, which is known where the storage keeps its components."""
    if isinstance(storage, ColumnStorage):
        kept = [storage.kept[part.mode] for part in point.components]
        return FoldedColumns(shape, point.components, point.weights, kept)
    return FoldedLowRank(shape, point.components, point.weights)
