"""Wide tables: one row for each time or sample, one column for each sensor, and a value in each cell.

Every level of the index of the rows, or every leading column of labels, is a mode, and so is every level of the names
of the columns. The result has the same rows and columns.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .._support.checks import listed
from .._support.types import Floats, Integers
from ..labels import Labelled, Labels, shown
from ..observations import Observations
from .libraries import LIBRARIES
from .restoring import Restorer
from .table_library import TableLibrary, WideParts
from .tables import refuse_blank_keys


def take_in_wide(data: Any, missing: str | None, library: TableLibrary) -> Labelled:
    """Return the observations of a wide table, with the labels of its rows and columns.

    Parameters
    ----------
    data
        The table. Null and NaN are missing, and so is a combination of labels without a cell.
    missing
        ``"zero"`` if zeros are missing too.
    library
        The library of the table.
    """
    parts = library.wide(data)
    if parts is None or not parts.columns:
        raise TypeError(
            "a wide table must be a DataFrame with at least one column of numbers, and columns must have different "
            "names; add or rename some."
        )
    values = _values(data, parts, library)
    names = _mode_names(parts)
    own = [*parts.row_keys, *parts.column_levels]
    keys = [_distinct(library.plain(each)) for each in own]
    labels = Labels(tuple(names), tuple(keys))
    codes = [labels.positions(mode, library.plain(each)) for mode, each in enumerate(own)]
    count = len(parts.row_keys)
    for name, each, places in zip(names[:count], keys, codes, strict=False):
        refuse_blank_keys(each, places, name)
    rows = np.stack(codes[:count], axis=1) if count else np.arange(len(values))[:, None]
    columns = np.stack(codes[count:], axis=1)
    if count == 0:
        labels = Labels(("row", *names), (None, *labels.keys))
    _refuse_repeats(rows, labels)
    shape = (
        *(len(values) if each is None else len(each) for each in labels.keys[: max(count, 1)]),
        *map(len, keys[count:]),
    )
    seen = ~np.isnan(values) & ((values != 0) | (missing != "zero"))
    if not seen.any():
        raise ValueError("at least one entry must be observed, but every cell of the table is empty.")
    at = np.argwhere(seen)
    coords = np.concatenate([rows[at[:, 0]], columns[at[:, 1]]], axis=1)
    restore = ToWideTable(library, parts, rows, columns)
    return Labelled(Observations(coords, values[seen], shape), labels, restore)


def _values(data: Any, parts: WideParts, library: TableLibrary) -> Floats:
    """Return the cells as an array, or raise an error that names the columns that do not hold numbers."""
    numbers = {column: library.numbers(data, column) for column in parts.columns}
    wrong = [str(column) for column, each in numbers.items() if each is None]
    if wrong:
        raise TypeError(
            f"the columns of a wide table must hold numbers, but {listed(wrong)} do not; drop or convert them, put "
            "them into the index if they are labels of the rows, or say layout='long'."
        )
    return np.stack([each for each in numbers.values() if each is not None], axis=1)


def _mode_names(parts: WideParts) -> list[str]:
    rows = _named("row", parts.row_names)
    return [*rows, *_named("column", parts.column_names)]


def _named(kind: str, names: Sequence[Hashable | None]) -> list[str]:
    several = len(names) > 1
    return [(f"{kind}_{place}" if several else kind) if name is None else str(name) for place, name in enumerate(names)]


def _distinct(keys: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct labels: numbers and dates sorted, others in the order of the table."""
    unique, first = np.unique(keys, return_index=True) if keys.dtype.kind in "biufmM" else (None, None)
    if unique is not None and first is not None:
        return unique
    found = list(dict.fromkeys(keys.tolist()))
    row = np.empty(len(found), dtype=object)
    row[:] = found
    return row


def _refuse_repeats(rows: Integers, labels: Labels) -> None:
    unique, counts = np.unique(rows, axis=0, return_counts=True)
    if counts.max(initial=1) == 1:
        return
    named = [
        f"{labels.names[mode]}={shown(keys[code])}"
        for mode, (keys, code) in enumerate(zip(labels.keys, unique[int(np.argmax(counts))].tolist(), strict=False))
        if keys is not None
    ]
    raise ValueError(
        f"the rows of a wide table must have different labels, but {counts.max()} of them have {', '.join(named)}; "
        "merge or rename them."
    )


@dataclass(frozen=True, eq=False)
class ToWideTable(Restorer):
    """Turns an array into a table with the rows and columns of the original.

    Parameters
    ----------
    of
        The library of the table.
    parts
        The labels of the rows and columns in the library's types.
    rows, columns
        The index of each row, and of each column, along each of their modes.
    """

    kind: ClassVar[str] = "wide table"
    libraries: ClassVar[tuple[str, ...]] = tuple(LIBRARIES)
    words: ClassVar[dict[str, Any]] = {
        "in_index": bool,
        "row_names": list[str | None],
        "column_names": list[str | None],
        "types": list[dict[str, Any]],
    }
    of: TableLibrary
    parts: WideParts
    rows: Integers
    columns: Integers

    @property
    def library(self) -> str:
        """The package that the object belongs to."""
        return self.of.name

    def __call__(self, dense: Floats) -> Any:
        """Return the table."""
        cells = dense[(*(each[:, None] for each in self.rows.T), *(each[None, :] for each in self.columns.T))]
        return self.of.widened(self.parts, cells)

    def with_ends(self, dense: Floats, low: Floats, high: Floats) -> Any:
        """Return the table with the ends of each column beside it, as ``s1``, ``s1_low`` and ``s1_high``."""
        return self.of.beside({"": self(dense), "_low": self(low), "_high": self(high)}, self.parts)

    def grown(self, labels: Labels, shape: tuple[int, ...]) -> Self:
        """Return the restorer of all combinations of the labels of a larger tensor."""
        count = self.rows.shape[1]
        rows, columns = (
            np.stack([axis.ravel() for axis in np.indices(sizes)], axis=1) for sizes in (shape[:count], shape[count:])
        )
        words = self.described()[0]
        return type(self).rebuilt(labels, words, {"rows": rows, "columns": columns})

    def described(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a file must store; names become text."""
        parts = self.parts
        words = {
            "library": self.of.name,
            "in_index": parts.in_index,
            "row_names": [None if name is None else str(name) for name in parts.row_names],
            "column_names": [None if name is None else str(name) for name in parts.column_names],
            "types": [self.of.described(each) for each in (*parts.row_keys, *parts.column_levels)],
        }
        return words, {"rows": self.rows, "columns": self.columns}

    @classmethod
    def rebuilt(cls, labels: Labels, words: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the restorer, from its labels and the result of `described`."""
        library = LIBRARIES[words["library"]]
        rows, columns = arrays["rows"], arrays["columns"]
        own = [keys for keys in labels.keys if keys is not None]
        _check_places(rows, columns, labels)
        if len(own) != len(words["types"]) or len(own) != len(words["row_names"]) + len(words["column_names"]):
            raise ValueError("each mode of a wide table must have a name and a type")
        if len(words["column_names"]) != columns.shape[1]:
            raise ValueError("each mode of the columns of a wide table must have a name")
        codes = [*rows.T, *columns.T]
        codes = codes[len(codes) - len(own) :]
        made = [
            library.take(library.rebuilt(keys, kind), code)
            for keys, kind, code in zip(own, words["types"], codes, strict=True)
        ]
        count = len(words["row_names"])
        parts = library.wide_parts(
            made[:count], words["row_names"], made[count:], words["column_names"], in_index=words["in_index"]
        )
        return cls(library, parts, rows, columns)


def _check_places(rows: NDArray[Any], columns: NDArray[Any], labels: Labels) -> None:
    """Raise an error if rows or columns of a wide table are not valid positions of the labels."""
    if any(each.ndim != 2 or each.dtype.kind not in "iu" for each in (rows, columns)):
        raise ValueError("the rows and columns of a wide table must be whole numbers")
    codes = [*rows.T, *columns.T]
    if len(codes) != len(labels.keys):
        raise ValueError(f"a wide table has {len(labels.keys)} modes, but its rows and columns have {len(codes)}")
    for code, keys in zip(codes, labels.keys, strict=True):
        if code.min(initial=0) < 0 or code.max(initial=0) >= (len(code) if keys is None else len(keys)):
            raise ValueError("a row or column of a wide table has no label")
