"""Encoding of non-numeric columns: texts and categories, booleans, dates and durations.

A category becomes a column of zeros and ones for each of its levels, or one such column if there are two. Its missing
entries get the level with the largest prediction. A date becomes the seconds since the first one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.checks import listed
from .._support.optional import need
from ..adapters.kinds import is_a

MOST_LEVELS = 50
"""A column with more levels than this is refused, because each level would become a feature."""

Numbers = NDArray[np.float64]


def is_mixed(table: Any) -> bool:
    """Return whether this is a DataFrame with non-numeric columns."""
    if is_a(table, "polars", "DataFrame"):
        if all(kind.is_numeric() or str(kind) == "Boolean" for kind in table.dtypes):
            return False
        raise TypeError(
            "a table of polars must hold numbers only, but it has columns of another type; give table.to_pandas()."
        )
    if not is_a(table, "pandas", "DataFrame"):
        return False
    is_number = need("pandas", "tables").api.types.is_numeric_dtype
    return not all(is_number(kind) and not _is_flags(kind) for kind in table.dtypes)


def _is_flags(kind: Any) -> bool:
    return bool(need("pandas", "tables").api.types.is_bool_dtype(kind))


class Column(ABC):
    """A column encoded as one or several numeric columns."""

    name: str

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of the numeric columns."""

    @abstractmethod
    def encoded(self, values: Any) -> Numbers:
        """Return the column as numbers, of shape (n, number of names), with NaN for missing entries."""

    @abstractmethod
    def decoded(self, numbers: Numbers) -> Any:
        """Return entries of the column's type."""


@dataclass(frozen=True)
class PlainColumn(Column):
    """A numeric column, left unchanged."""

    name: str

    @property
    def names(self) -> list[str]:
        """The name."""
        return [self.name]

    def encoded(self, values: Any) -> Numbers:
        """Return the numbers."""
        numbers: Numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)[:, None]
        return numbers

    def decoded(self, numbers: Numbers) -> Any:
        """Return the numbers."""
        return numbers[:, 0]


@dataclass(frozen=True)
class Levels(Column):
    """A column with a few unordered levels.

    Parameters
    ----------
    name
        The column.
    levels
        Its levels.
    """

    name: str
    levels: tuple[Any, ...]

    @property
    def names(self) -> list[str]:
        """A name for each level, or one for the second of two."""
        shown = self.levels[1:] if len(self.levels) == 2 else self.levels
        return [f"{self.name}={level}" for level in shown]

    def encoded(self, values: Any) -> Numbers:
        """Return ones where the column has the level and zeros elsewhere."""
        shown = self.levels[1:] if len(self.levels) == 2 else self.levels
        missing = values.isna().to_numpy()
        flags = np.stack([(values == level).fillna(False).to_numpy(dtype=bool) for level in shown], axis=1)
        return np.where(missing[:, None], np.nan, flags.astype(np.float64))

    def decoded(self, numbers: Numbers) -> Any:
        """Return the level with the largest number."""
        two = len(self.levels) == 2
        best = (numbers[:, 0] > 0.5).astype(int) if two else np.argmax(numbers, axis=1)
        found = np.empty(len(best), dtype=object)
        found[:] = [self.levels[place] for place in best]
        return found


@dataclass(frozen=True)
class Moments(Column):
    """Dates or durations.

    Parameters
    ----------
    name
        The column.
    first
        The first of them, from which seconds are counted.
    """

    name: str
    first: Any

    @property
    def names(self) -> list[str]:
        """The name."""
        return [self.name]

    def encoded(self, values: Any) -> Numbers:
        """Return the seconds since the first."""
        seconds: Numbers = (values - self.first).dt.total_seconds().to_numpy(dtype=np.float64)[:, None]
        return seconds

    def decoded(self, numbers: Numbers) -> Any:
        """Return the moments, in whole seconds."""
        pandas = need("pandas", "tables")
        return self.first + pandas.to_timedelta(np.round(numbers[:, 0]), unit="s")


@dataclass(frozen=True)
class Encoder:
    """Encodes all columns of a table as numbers, and decodes them.

    Parameters
    ----------
    columns
        The columns in their order.
    """

    columns: Sequence[Column]

    @classmethod
    def of(cls, table: Any) -> Encoder:
        """Return the encoder of a table, or raise an error that names the columns that cannot be encoded."""
        if len(set(map(str, table.columns))) < len(table.columns):
            raise ValueError(f"the columns of X must have different names, but {list(table.columns)} was given.")
        found = [_column(str(name), table[name]) for name in table.columns]
        refused = [str(name) for name, each in zip(table.columns, found, strict=True) if each is None]
        if refused:
            raise ValueError(
                f"the columns {listed(refused)} of X hold neither numbers, dates nor categories of 2 to {MOST_LEVELS} "
                "levels; drop or encode them first."
            )
        return cls([each for each in found if each is not None])

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    def encoded(self, table: Any) -> Any:
        """Return the table with numeric columns only."""
        pandas = need("pandas", "tables")
        named = {str(name): table[name] for name in table.columns}
        if list(named) != self.column_names:
            raise ValueError(
                f"X must have the columns that it had in fit, {listed(self.column_names)}, but it has "
                f"{listed(list(named))}."
            )
        names = [name for column in self.columns for name in column.names]
        numbers = [column.encoded(named[column.name]) for column in self.columns]
        return pandas.DataFrame(np.concatenate(numbers, axis=1), index=table.index, columns=names)

    def filled(self, table: Any, numbers: Any) -> Any:
        """Return the table with its missing entries filled from the filled numeric table."""
        made, place = table.copy(), 0
        for name, column in zip(table.columns, self.columns, strict=True):
            width = len(column.names)
            missing = table[name].isna().to_numpy()
            if missing.any():
                values = table[name].astype(np.float64) if isinstance(column, PlainColumn) else table[name].copy()
                values[missing] = column.decoded(np.asarray(numbers)[missing, place : place + width])
                made[name] = values.infer_objects() if values.dtype == object else values
            place += width
        return made


def _column(name: str, values: Any) -> Column | None:
    """Return the encoding of a column; None if it cannot be encoded."""
    types = need("pandas", "tables").api.types
    kind = values.dtype
    if types.is_datetime64_any_dtype(kind) or types.is_timedelta64_dtype(kind):
        return Moments(name, values.min()) if values.notna().any() else None
    objects = types.is_object_dtype(kind)
    inferred = types.infer_dtype(values, skipna=True) if objects else ""
    if inferred in ("integer", "floating", "mixed-integer-float", "decimal"):
        return PlainColumn(name)
    if types.is_numeric_dtype(kind) and not types.is_bool_dtype(kind):
        return None if types.is_complex_dtype(kind) else PlainColumn(name)
    categorical = isinstance(kind, need("pandas", "tables").CategoricalDtype)
    known = inferred in ("string", "boolean") if objects else types.is_bool_dtype(kind) or types.is_string_dtype(kind)
    if not (categorical or known):
        return None
    seen = values.dropna()
    levels = tuple(kind.categories) if categorical else tuple(sorted(seen.unique().tolist()))
    return Levels(name, levels) if 2 <= len(levels) <= MOST_LEVELS and len(seen) > len(levels) else None
