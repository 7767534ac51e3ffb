"""Sequences of records that can be indexed by row, or by column name as arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from .html import card

R = TypeVar("R")


class Records(Sequence[R], Generic[R]):
    """Records of one dataclass."""

    columns: ClassVar[tuple[str, ...]]

    def __init__(self, records: Iterable[R] = ()) -> None:
        self._records = tuple(records)

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[R]:
        return iter(self._records)

    @overload
    def __getitem__(self, key: int) -> R: ...
    @overload
    def __getitem__(self, key: slice) -> Self: ...
    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...
    def __getitem__(self, key: int | slice | str) -> R | Self | NDArray[Any]:
        if isinstance(key, slice):
            return type(self)(self._records[key])
        if not isinstance(key, str):
            return self._records[key]
        column = self._column(key)
        if column is None:
            raise KeyError(f"There is no column {key!r}; the columns are {', '.join(self.columns)}.")
        return column

    def _column(self, name: str) -> NDArray[Any] | None:
        """Return a column by name, or None if there is none."""
        if name not in self.columns:
            return None
        cells = [getattr(record, name) for record in self._records]
        try:
            return np.array(cells)
        except ValueError:
            # Tuples of several lengths have no common shape.
            column = np.empty(len(cells), dtype=object)
            column[:] = cells
            return column

    def _repr_html_(self) -> str:
        head = list(self._shown or self.columns)
        rows = [[_cell(getattr(record, name)) for name in head] for record in self._records]
        return card(repr(self), (), [self._shown.get(name, name) for name in head], rows)

    _shown: ClassVar[Mapping[str, str]] = {}
    """The columns that a notebook shows, with their headings; all of them if empty."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the records as dictionaries, ready for a table."""
        return [
            {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}  # type: ignore[arg-type]
            for record in self._records
        ]


def _cell(value: Any) -> str:
    """Return a value as the text of a table cell: numbers with six significant digits, and nothing for NaN."""
    if isinstance(value, float):
        return "" if value != value else f"{value:,.6g}" if abs(value) < 1e9 else f"{value:.6g}"
    if isinstance(value, tuple):
        return " ".join(map(_cell, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_cell(each)}" for name, each in value.items())
    return str(getattr(value, "name", value))
