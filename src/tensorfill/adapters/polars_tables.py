"""Tables of polars."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._support.optional import need
from .._support.types import Booleans, Floats, Integers
from .table_library import TableLibrary, WideParts, no_label, zone_of


class Polars(TableLibrary):
    """DataFrames of polars."""

    name: ClassVar[str] = "polars"

    @property
    def _polars(self) -> Any:
        return need("polars", "tables")

    def merging(self, keys: Sequence[Hashable], value: Hashable) -> str:
        """Return the code that merges rows with the same keys into their mean."""
        return f"table.group_by({list(keys)}).agg(pl.mean({value!r}))"

    def numbers(self, table: Any, column: Hashable) -> Floats | None:
        """Return a column of numbers, with NaN for null, or None if the column holds something else."""
        polars = self._polars
        values = table[column]
        if not values.dtype.is_numeric() and values.dtype != polars.Boolean:
            return None
        floats: Floats = values.cast(polars.Float64).fill_null(np.nan).to_numpy()
        return floats

    def missing(self, table: Any, column: Hashable) -> Booleans:
        """Return the mask of null and NaN in a column."""
        values = table[column]
        flags: Booleans = values.is_null().to_numpy()
        return flags | values.is_nan().fill_null(False).to_numpy() if values.dtype.is_float() else flags

    def distinct(self, table: Any, column: Hashable) -> Any:
        """Return the distinct keys of a column, as a Series.

        An Enum has all its categories, in their order. A Categorical has those that occur, in the order of the rows.
        """
        polars = self._polars
        values = table[column]
        if isinstance(values.dtype, polars.Enum):
            return polars.Series(values.dtype.categories, dtype=values.dtype)
        if isinstance(values.dtype, polars.Categorical):
            return values.unique(maintain_order=True)
        if values.dtype.is_nested():
            raise no_label(column, 0, str(values.dtype))
        return values.unique().sort()

    def keys(self, labels: NDArray[Any]) -> Any:
        """Return labels as a Series."""
        return self._polars.Series(labels)

    def plain(self, column: Any) -> NDArray[Any]:
        """Return a column of keys as an array; times with a time zone are converted to UTC."""
        keys: NDArray[Any] = column.to_numpy()
        return keys

    def take(self, keys: Any, places: Integers) -> Any:
        """Return the keys at the given places, as a column."""
        return keys.gather(places)

    def table(self, columns: Mapping[Hashable, Any]) -> Any:
        """Return a table with these columns."""
        return self._polars.DataFrame(dict(columns))

    def extended(self, table: Any, columns: Mapping[str, Floats]) -> Any:
        """Return a table with these columns added."""
        return table.with_columns(**columns)

    def described(self, keys: Any) -> dict[str, Any]:
        """Return the metadata of keys that a file must store besides their labels."""
        polars = self._polars
        kind = next((name for name in ("Enum", "Categorical") if isinstance(keys.dtype, getattr(polars, name))), None)
        return {"type": kind, "zone": getattr(keys.dtype, "time_zone", None)}

    def rebuilt(self, keys: NDArray[Any], words: Mapping[str, Any]) -> Any:
        """Return keys in the library's type, from labels and the result of `described`."""
        polars, zone, kind = self._polars, zone_of(words), words.get("type")
        if kind not in (None, "Enum", "Categorical"):
            raise ValueError(f"there is no type of labels {str(kind)[:40]!r}")
        if kind is not None:
            names = list(map(str, keys.tolist()))
            return polars.Series(names, dtype=polars.Enum(names) if kind == "Enum" else polars.Categorical)
        made = polars.Series(keys.tolist() if keys.dtype.kind in "OU" else keys, strict=False)
        if zone and keys.dtype.kind == "M":
            made = made.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        return made

    def wide(self, data: Any) -> WideParts | None:
        """Return the labels of the rows and columns of a table read as wide; None if that is impossible.

        The row labels are the leading columns that hold no numbers, or a first column of distinct, increasing whole
        numbers.
        """
        names, lead = data.columns, 0
        while lead < len(names) and not (data.dtypes[lead].is_numeric() or data.dtypes[lead] == self._polars.Boolean):
            lead += 1
        if lead == 0 and names and data.dtypes[0].is_integer():
            first = data[names[0]]
            lead = int(first.null_count() == 0 and first.is_unique().all() and first.is_sorted())
        rows = [data[name] for name in names[:lead]]
        distinct = lead > 0 and not data[names[:lead]].is_duplicated().any()
        return self._parts(rows, names[:lead], names[lead:], distinct=distinct)

    def _parts(self, rows: Sequence[Any], row_names: Sequence[Any], columns: Any, *, distinct: bool) -> WideParts:
        header = self._polars.Series(columns)
        return WideParts(rows, list(row_names), [header], [None], header.to_list(), False, distinct)

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
        return self._parts(rows, row_names, columns[0], distinct=True)

    def widened(self, parts: WideParts, cells: Floats) -> Any:
        """Return the wide table with these labels and cells."""
        lead = {str(name): key for name, key in zip(parts.row_names, parts.row_keys, strict=True)}
        return self._polars.DataFrame(lead | {str(name): cells[:, place] for place, name in enumerate(parts.columns)})

    def beside(self, tables: Mapping[str, Any], parts: WideParts) -> Any:
        """Return wide tables side by side, each with a suffix on its column names."""
        first = next(iter(tables.values()))
        columns = {name: first[name] for name in map(str, parts.row_names)}
        for name in map(str, parts.columns):
            columns |= {f"{name}{ending}": table[name] for ending, table in tables.items()}
        return self._polars.DataFrame(columns)
