"""Tables of pandas."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._support.conforming import conforms
from .._support.optional import need
from .._support.types import Booleans, Floats, Integers
from .kinds import is_a
from .table_library import TableLibrary, WideParts, no_label, zone_of

NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal", "boolean")
"""The types that pandas infers for object columns of numbers."""

LONGEST_TYPE = 100
"""The largest length of the name of a type."""


class Pandas(TableLibrary):
    """DataFrames of pandas, and Series with a MultiIndex; named index levels are keys too."""

    name: ClassVar[str] = "pandas"

    @property
    def _pandas(self) -> Any:
        return need("pandas", "tables")

    def opened(self, data: Any) -> tuple[Any, dict[str, Any]]:
        """Return a table with all keys as columns, and the form that `closed` needs to undo this."""
        series = is_a(data, "pandas", "Series")
        if series and None in data.index.names:
            raise ValueError(
                "a Series must have its keys as named levels of its index, but a level has no name; name the levels "
                "with data.rename_axis, or give data.reset_index()."
            )
        table = data.to_frame("value" if data.name is None else data.name) if series else data
        levels = [name for name in table.index.names if name is not None]
        both = [name for name in levels if name in table.columns]
        if both:
            raise ValueError(f"a key must be a column or a level of the index, but {both[0]!r} is both; rename one.")
        # An unnamed level only numbers the rows.
        unnamed = [place for place, name in enumerate(table.index.names) if name is None]
        if levels:
            table = table.reset_index(level=unnamed, drop=True) if unnamed else table
            table = table.reset_index()
        return table, {"index": levels, "series": series}

    def closed(self, table: Any, form: Mapping[str, Any]) -> Any:
        """Return a table in its original form, the inverse of `opened`."""
        if form["index"]:
            table = table.set_index(list(form["index"]))
        return table.iloc[:, 0] if form["series"] else table

    def check_form(self, form: Mapping[str, Any], columns: Sequence[str]) -> None:
        """Raise an error if `closed` cannot take this form, read from a file, for a table with these columns."""
        levels: Any = form.get("index")
        series = form.get("series")
        # A Series has only an index and values.
        if not conforms(levels, list[str]) or not isinstance(series, bool) or len(form) > 2:
            raise ValueError(f"a table of pandas has no form {str(form)[:60]}")
        if (
            len(set(levels)) != len(levels)
            or not set(levels) < set(columns)
            or (series and len(columns) - 1 > len(levels))
        ):
            raise ValueError(f"a table of pandas with columns {str(columns)[:60]} has no index {str(levels)[:60]}")

    def merging(self, keys: Sequence[Hashable], value: Hashable) -> str:
        """Return the code that merges rows with the same keys into their mean."""
        return f"table.groupby({list(keys)}, as_index=False)[{value!r}].mean()"

    def numbers(self, table: Any, column: Hashable) -> Floats | None:
        """Return a column of numbers, with NaN for null, or None if the column holds something else."""
        types = self._pandas.api.types
        values = table[column]
        if values.dtype == object and types.infer_dtype(values, skipna=True) in NUMBERS:
            values = values.astype("float64")
        if not types.is_numeric_dtype(values.dtype) or types.is_complex_dtype(values.dtype):
            return None
        floats: Floats = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return floats

    def missing(self, table: Any, column: Hashable) -> Booleans:
        """Return the mask of null and NaN in a column."""
        return np.asarray(table[column].isna())

    def distinct(self, table: Any, column: Hashable) -> Any:
        """Return the distinct keys of a column, as an Index."""
        pandas = self._pandas
        values = table[column]
        if isinstance(values.dtype, pandas.CategoricalDtype):
            return pandas.CategoricalIndex(values.cat.categories, dtype=values.dtype)
        try:
            return self.ordered(pandas.Index(values.unique()))
        except TypeError:
            row = next(row for row, key in enumerate(values) if not isinstance(key, Hashable))
            raise no_label(column, row, type(values.iloc[row]).__name__) from None

    def ordered(self, keys: Any) -> Any:
        """Return distinct keys, in the order of the rows, in the order of the mode."""
        if isinstance(keys.dtype, self._pandas.CategoricalDtype):
            return keys
        try:
            return keys.sort_values()
        except TypeError:
            # A mixture of texts and numbers cannot be sorted, so it stays in the order of the rows.
            return keys

    def numbered(self, table: Any, column: Hashable) -> tuple[Any, Integers]:
        """Return the distinct keys of a column in the order of the rows, as an Index, and each row's position.

        Those of a categorical column are its categories.
        """
        values = table[column]
        if isinstance(values.dtype, self._pandas.CategoricalDtype):
            return self.distinct(table, column), values.cat.codes.to_numpy(dtype=np.int64)
        places, keys = self._pandas.factorize(values)
        return self._pandas.Index(keys), places

    def united(self, parts: Sequence[Any]) -> tuple[Any, list[Integers]]:
        """Return the distinct keys of several parts of a column, and the positions of the keys of each part.

        Parameters
        ----------
        parts
            The distinct keys of each part, as `numbered` returns them. The keys of the whole are in the same order, and
            categories are united.
        """
        pandas = self._pandas
        categorical = [isinstance(each.dtype, pandas.CategoricalDtype) for each in parts]
        if any(categorical) and not all(categorical):
            raise TypeError("keys must be categorical in all parts of a column or in none, but some are; convert them.")
        if any(categorical) and any(each.dtype != parts[0].dtype for each in parts if each.ordered or parts[0].ordered):
            raise TypeError(
                "ordered categories must be the same in all parts of a column, but some differ; set the same ones."
            )
        plain = [each.categories if all(categorical) else each for each in parts]
        places, keys = pandas.factorize(plain[0].append(plain[1:]))
        if all(categorical):
            keys = pandas.CategoricalIndex(keys, categories=keys, ordered=parts[0].ordered)
        return pandas.Index(keys), np.split(places, np.cumsum([len(each) for each in parts])[:-1])

    def keys(self, labels: NDArray[Any]) -> Any:
        """Return labels as an Index."""
        return self._pandas.Index(labels)

    def plain(self, column: Any) -> NDArray[Any]:
        """Return a column of keys as an array; times with a time zone are converted to UTC."""
        index = self._pandas.Index(column)
        if getattr(index.dtype, "tz", None) is not None:
            index = index.tz_convert(None)
        keys: NDArray[Any] = index.to_numpy()
        return keys

    def take(self, keys: Any, places: Integers) -> Any:
        """Return the keys at the given places, as a column."""
        return keys.take(places)

    def table(self, columns: Mapping[Hashable, Any]) -> Any:
        """Return a table with these columns."""
        return self._pandas.DataFrame(dict(columns))

    def extended(self, table: Any, columns: Mapping[str, Floats]) -> Any:
        """Return a table with these columns added."""
        return table.assign(**columns)

    def described(self, keys: Any) -> dict[str, Any]:
        """Return the metadata of keys that a file must store besides their labels."""
        categories = getattr(keys, "categories", None)
        if isinstance(keys.dtype, self._pandas.CategoricalDtype) and categories is not None:
            return {"ordered": bool(keys.ordered)} | self.described(categories)
        zone = getattr(keys.dtype, "tz", None)
        return {"type": str(keys.dtype), "zone": None if zone is None else str(zone)}

    def rebuilt(self, keys: NDArray[Any], words: Mapping[str, Any]) -> Any:
        """Return keys in the library's type, from labels and the result of `described`."""
        pandas, zone, kind = self._pandas, zone_of(words), words.get("type")
        if not isinstance(kind, str) or len(kind) > LONGEST_TYPE or not isinstance(words.get("ordered", False), bool):
            raise ValueError(f"there is no type of labels {str(kind)[:40]!r}")
        index = pandas.Index(keys)
        try:
            index = index.tz_localize("UTC").tz_convert(zone) if zone else index
            changed = index.astype(kind)
            index = changed if changed.is_unique and not changed.hasnans else index
        except (TypeError, ValueError, AttributeError, KeyError, OverflowError):
            # Labels of a type that a file stores as text remain text.
            pass
        if "ordered" in words:
            return pandas.CategoricalIndex(index, categories=index, ordered=words["ordered"])
        return index

    def wide(self, data: Any) -> WideParts | None:
        """Return the labels of the rows and columns of a table read as wide; None if that is impossible.

        The row labels are those of the index, unless it only numbers the rows. Then they are the leading columns that
        hold no numbers, or a first column of distinct, increasing whole numbers.
        """
        if not is_a(data, "pandas", "DataFrame") or not data.columns.is_unique:
            return None
        index, header = data.index, data.columns
        names = list(index.names)
        numbered = names == [None] and self._pandas.api.types.is_integer_dtype(index.dtype)
        levels = [header.get_level_values(place) for place in range(header.nlevels)]
        if not numbered or header.nlevels > 1:
            keys = [index.get_level_values(place) for place in range(index.nlevels)]
            return WideParts(
                keys, names, levels, list(header.names), list(header), True, bool(index.is_unique), index, header
            )  # fmt: skip
        lead = self._leading(data)
        rest = header[lead:]
        return WideParts(
            row_keys=[self._pandas.Index(data.iloc[:, place]) for place in range(lead)],
            row_names=list(header[:lead]),
            column_levels=[rest],
            column_names=[header.name],
            columns=list(rest),
            in_index=False,
            distinct_rows=lead > 0 and not data.iloc[:, :lead].duplicated().any(),
            index=index,
        )

    def _leading(self, data: Any) -> int:
        """Return how many of the first columns hold labels of the rows."""
        types = self._pandas.api.types
        lead = 0
        while lead < data.shape[1] and not types.is_numeric_dtype(data.dtypes.iloc[lead]):
            lead += 1
        if lead == 0 and data.shape[1] and types.is_integer_dtype(data.dtypes.iloc[0]):
            first = data.iloc[:, 0]
            lead = int(first.is_unique and first.is_monotonic_increasing)
        return lead

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
        index = self._index(rows, row_names) if in_index else None
        header = self._index(columns, column_names)
        return WideParts(rows, row_names, columns, column_names, list(header), in_index, True, index, header)

    def _index(self, levels: Sequence[Any], names: Sequence[Hashable | None]) -> Any:
        pandas = self._pandas
        if len(levels) > 1:
            return pandas.MultiIndex.from_arrays(list(levels), names=list(names))
        return pandas.Index(levels[0], name=names[0]) if levels else None

    def widened(self, parts: WideParts, cells: Floats) -> Any:
        """Return the wide table with these labels and cells."""
        pandas = self._pandas
        header = self._index(parts.column_levels, parts.column_names) if parts.header is None else parts.header
        made = pandas.DataFrame(cells, index=parts.index, columns=header)
        if parts.in_index or not len(parts.row_keys):
            return made
        lead = {name: key.array for name, key in zip(parts.row_names, parts.row_keys, strict=True)}
        return pandas.concat([pandas.DataFrame(lead, index=made.index), made], axis=1)

    def beside(self, tables: Mapping[str, Any], parts: WideParts) -> Any:
        """Return wide tables side by side, each with a suffix on its column names, or on their last level."""
        pandas = self._pandas
        lead = 0 if parts.in_index else len(parts.row_keys)
        first = next(iter(tables.values()))
        named = [
            table.iloc[:, lead:].set_axis(self._with_ending(table.columns[lead:], ending), axis=1)
            for ending, table in tables.items()
        ]
        # A column and the ends of its intervals are adjacent.
        order = np.arange(len(named) * named[0].shape[1]).reshape(len(named), -1).T.ravel()
        return pandas.concat([first.iloc[:, :lead], pandas.concat(named, axis=1).iloc[:, order]], axis=1)

    def _with_ending(self, header: Any, ending: str) -> Any:
        levels = [header.get_level_values(place) for place in range(header.nlevels)]
        last = [f"{name}{ending}" for name in levels[-1]] if ending else levels[-1]
        return self._index([*levels[:-1], last], header.names)
