"""The interface of table libraries, so that their tables are read in the same way."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from .._support.types import Booleans, Floats, Integers

ZONE = re.compile(r"[A-Za-z0-9_+:-]+(/[A-Za-z0-9_+:-]+)*")
"""The names of time zones, such as ``Europe/Paris`` or ``UTC+01:00``."""


@dataclass(frozen=True, eq=False)
class WideParts:
    """The labels of a wide table.

    Parameters
    ----------
    row_keys, row_names
        The labels of the rows along each of their modes, as columns in the library's type, and the names of these
        modes, None for an unnamed one. There are none if rows are only numbered.
    column_levels, column_names
        The same for the columns of values.
    columns
        The names of the columns of values in the table.
    in_index
        Whether the labels of the rows are an index, rather than the first columns.
    distinct_rows
        Whether no two rows have the same labels.
    index, header
        The index of the rows and of the columns, for a library that has them.
    """

    row_keys: Sequence[Any]
    row_names: Sequence[Hashable | None]
    column_levels: Sequence[Any]
    column_names: Sequence[Hashable | None]
    columns: Sequence[Hashable]
    in_index: bool
    distinct_rows: bool = True
    index: Any = None
    header: Any = None


def zone_of(words: Mapping[str, Any]) -> str | None:
    """Return the time zone that a file describes; anything but a plain name is refused."""
    zone = words.get("zone")
    if zone is None:
        return None
    # Some libraries accept a path as a name.
    if not isinstance(zone, str) or not ZONE.fullmatch(zone) or zone.lower().startswith("dateutil"):
        raise ValueError(f"there is no time zone {str(zone)[:40]!r}")
    return zone


def no_label(column: Hashable, row: int, kind: str) -> TypeError:
    """Return the error for a key of a kind that cannot be a label."""
    return TypeError(
        f"the labels of {column!r} must be numbers, texts or dates, but row {row} has a {kind}; convert with str."
    )


class TableLibrary(ABC):
    """The operations on the tables of one library."""

    name: ClassVar[str]

    def opened(self, data: Any) -> tuple[Any, dict[str, Any]]:
        """Return a table with all keys as columns, and the form that `closed` needs to undo this."""
        return data, {}

    def closed(self, table: Any, form: Mapping[str, Any]) -> Any:
        """Return a table in its original form."""
        return table

    def check_form(self, form: Mapping[str, Any], columns: Sequence[str]) -> None:
        """Raise an error if `closed` cannot take this form, read from a file, for a table with these columns."""
        if form:
            raise ValueError(f"a table of {self.name} has no form {str(form)[:60]}")

    def columns(self, table: Any) -> list[Hashable]:
        """Return the names of the columns."""
        return list(table.columns)

    @abstractmethod
    def merging(self, keys: Sequence[Hashable], value: Hashable) -> str:
        """Return the code that merges rows with the same keys into their mean."""

    @abstractmethod
    def numbers(self, table: Any, column: Hashable) -> Floats | None:
        """Return a column of numbers, with NaN for null, or None if the column holds something else."""

    @abstractmethod
    def missing(self, table: Any, column: Hashable) -> Booleans:
        """Return the mask of null and NaN in a column."""

    @abstractmethod
    def distinct(self, table: Any, column: Hashable) -> Any:
        """Return the distinct keys of a column in the order of the mode, as a column in the library's type.

        Categories keep their order and include unused ones. Other keys are sorted if possible.
        """

    @abstractmethod
    def keys(self, labels: NDArray[Any]) -> Any:
        """Return labels as a column in the library's type."""

    @abstractmethod
    def plain(self, column: Any) -> NDArray[Any]:
        """Return a column of keys as an array; times with a time zone are converted to UTC."""

    @abstractmethod
    def take(self, keys: Any, places: Integers) -> Any:
        """Return the keys at the given places, as a column."""

    @abstractmethod
    def table(self, columns: Mapping[Hashable, Any]) -> Any:
        """Return a table with these columns."""

    @abstractmethod
    def extended(self, table: Any, columns: Mapping[str, Floats]) -> Any:
        """Return a table with these columns added."""

    @abstractmethod
    def described(self, keys: Any) -> dict[str, Any]:
        """Return the metadata of keys that a file must store besides their labels."""

    @abstractmethod
    def rebuilt(self, keys: NDArray[Any], words: Mapping[str, Any]) -> Any:
        """Return keys in the library's type, from labels and the result of `described`, which is validated here."""

    @abstractmethod
    def wide(self, data: Any) -> WideParts | None:
        """Return the labels of the rows and columns of a table read as wide; None if that is impossible."""

    @abstractmethod
    def wide_parts(
        self,
        rows: Sequence[Any],
        row_names: Sequence[Hashable | None],
        columns: Sequence[Any],
        column_names: Sequence[Hashable | None],
        *,
        in_index: bool,
    ) -> WideParts:
        """Return the labels of a wide table from those along each mode."""

    @abstractmethod
    def widened(self, parts: WideParts, cells: Floats) -> Any:
        """Return the wide table with these labels and cells."""

    @abstractmethod
    def beside(self, tables: Mapping[str, Any], parts: WideParts) -> Any:
        """Return wide tables of the same form side by side, each with a suffix on its column names."""
