"""Long tables: one row for each entry, with a column for the label of each mode and one for the value."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .._support.ordering import labels_of
from .._support.types import Booleans, Floats, Integers
from ..labels import Labelled, Labels, shown
from ..observations import Observations
from .layouts import check_labels
from .libraries import LIBRARIES
from .restoring import Restorer
from .table_library import TableLibrary


class UnknownLabelWarning(UserWarning):
    """Rows of a table with a label that a fit does not know."""


Answer = Callable[[Integers], Floats | tuple[Floats, ...]]
"""A function from coordinates to predictions, or to predictions and the two ends of their intervals."""


def take_in_table(
    data: Any, missing: str | None, value: str | None, layout: str | None, library: TableLibrary
) -> Labelled:
    """Return the observations of a long table, with the keys as labels.

    Parameters
    ----------
    data
        The table. Combinations of keys without a row are missing. A row whose value is null or NaN is missing too, but
        its keys are part of the modes.
    missing
        ``"zero"`` if zeros are missing too.
    value
        The column of values; by default the last.
    layout
        ``"long"`` if the caller says so.
    library
        The library of the table.
    """
    table, form = library.opened(data)
    columns = library.columns(table)
    keys, value_column = roles(columns, value)
    values = library.numbers(table, value_column)
    if values is None:
        raise no_numbers(columns, value_column)
    for column in keys:
        refuse_missing_keys(library.missing(table, column), column)
    own = tuple(library.distinct(table, column) for column in keys)
    labels = labels_of_table(library, keys, own, value_column)
    check_labels(labels, values, value, layout)
    coords = _coords(library, table, keys, labels)
    return _entries(library, columns, labels, own, coords, values, missing, form)


def take_in_columns(
    columns: Sequence[str],
    keys: Mapping[str, tuple[NDArray[Any], Integers]],
    values: Floats,
    missing: str | None,
    value: str | None,
    layout: str | None,
) -> Labelled:
    """Return the observations of a long table of pandas whose keys are numbered already.

    Parameters
    ----------
    columns
        The names of the columns.
    keys
        The distinct keys of each column of keys, in the order of the mode, and the position of each row's key.
    values
        The values, NaN where there is none.
    missing
        ``"zero"`` if zeros are missing too.
    value, layout
        As in `take_in_table`.
    """
    library = LIBRARIES["pandas"]
    named, value_column = roles(columns, value)
    own = tuple(library.keys(each) for each, _ in keys.values())
    labels = labels_of_table(library, named, own, value_column)
    check_labels(labels, values, value, layout)
    coords = np.asfortranarray(np.stack([places for _, places in keys.values()]).T)
    return _entries(library, columns, labels, own, coords, values, missing, {"index": [], "series": False}, first_row=1)


def labels_of_table(library: TableLibrary, keys: Sequence[Hashable], own: Sequence[Any], value: Hashable) -> Labels:
    """Return the labels of a long table, from its columns of keys and the keys in the library's type."""
    return Labels(tuple(map(str, keys)), tuple(library.plain(each) for each in own), str(value))


def _entries(
    library: TableLibrary,
    columns: Sequence[Hashable],
    labels: Labels,
    own: tuple[Any, ...],
    coords: Integers,
    values: Floats,
    missing: str | None,
    form: Mapping[str, Any],
    first_row: int = 0,
) -> Labelled:
    """Return the observations of the rows of a long table, which messages count from `first_row`."""
    seen = ~np.isnan(values) & ((values != 0) | (missing != "zero"))
    refuse_nothing_seen(len(values), int(seen.sum()))
    value = next(column for column in columns if str(column) == labels.value)
    keys = [column for column in columns if column != value]
    for column, each, places in zip(keys, labels.keys, coords.T, strict=True):
        refuse_blank_keys(each, places, column, first_row)
    shape = tuple(len(each) for each in own)
    refuse_repeats(coords, shape, labels, library.merging(keys, value))
    restore = ToTable(library, tuple(columns), value, own, form)
    # Without gaps, a large table need not be copied.
    if not seen.all():
        coords, values = coords[seen], values[seen]
    return Labelled(Observations(coords, values, shape), labels, restore)


def answered(
    table: Any, library: TableLibrary, labels: Labels, answer: Answer, within: tuple[int, ...] | None = None
) -> Any:
    """Return a table of keys with a column of predictions, and with two columns for the ends of intervals, if any.

    Parameters
    ----------
    table
        A table with a column for each mode, in any order. Other columns are left unchanged.
    library
        The library of the table.
    labels
        The labels of the fit.
    answer
        Returns the predictions at coordinates.
    within
        The shape of the fit, for NaN in rows with an unknown label; by default such a label is refused.
    """
    columns = set(map(str, library.columns(library.opened(table)[0])))
    coords = coords_of_keys(table, library, labels, known=within is None)
    found = answer(coords) if within is None else _where_known(coords, within, answer)
    parts = found if isinstance(found, tuple) else (found,)
    names = [labels.value, f"{labels.value}_low", f"{labels.value}_high"][: len(parts)]
    for name in names:
        if name in columns:
            raise ValueError(
                f"the table must not have a column {name!r}, which the predictions will have, but it has one; "
                "drop or rename it."
            )
    return library.extended(table, dict(zip(names, parts, strict=True)))


def _where_known(coords: Integers, shape: tuple[int, ...], answer: Answer) -> tuple[Floats, ...]:
    """Return the answer at coordinates within a shape, and NaN at others, with a warning that counts these."""
    known: Booleans = np.all((coords >= 0) & (coords < shape), axis=1)
    found = answer(coords[known])
    if not known.all():
        warnings.warn(
            f"{int((~known).sum()):,} of {len(known):,} rows have a label that the fit does not know, and get NaN.",
            UnknownLabelWarning,
            stacklevel=5,
        )
    whole = []
    for part in found if isinstance(found, tuple) else (found,):
        column = np.full(len(known), np.nan, dtype=part.dtype)
        column[known] = part
        whole.append(column)
    return tuple(whole)


def coords_of_keys(table: Any, library: TableLibrary, labels: Labels, *, known: bool = True) -> Integers:
    """Return the coordinates of the entries in a table of labels with a column for each mode, in any order.

    A label that the fit does not know is refused, unless `known` is False; then its coordinate is negative.
    """
    opened, _ = library.opened(table)
    columns = {str(column): column for column in library.columns(opened)}
    for name in labels.names:
        if name not in columns:
            raise ValueError(
                f"the table must have a column for each mode, {', '.join(map(repr, labels.names))}, but it has no "
                f"{name!r}; rename its columns, or give coordinates as an array of whole numbers."
            )
    return _coords(library, opened, [columns[name] for name in labels.names], labels, known=known)


def roles(columns: Sequence[Hashable], value: str | None) -> tuple[list[Hashable], Hashable]:
    """Return the columns of keys, and the column of values."""
    if len(set(map(str, columns))) < len(columns):
        raise ValueError(
            f"the columns of a table must have different names, but {list(columns)} was given; rename some."
        )
    if len(columns) < 3:
        raise ValueError(
            "a long table must have a column of values and at least two columns of keys, but the columns are "
            f"{list(columns)}; give an array instead, or add the missing columns."
        )
    named = {str(column): column for column in columns}
    if value is None:
        chosen = columns[-1]
    elif str(value) in named:
        chosen = named[str(value)]
    else:
        raise ValueError(f"value must be a column of the table, one of {list(columns)}, but {value!r} was given.")
    return [column for column in columns if column != chosen], chosen


def _coords(
    library: TableLibrary, table: Any, keys: Sequence[Hashable], labels: Labels, *, known: bool = True
) -> Integers:
    find = labels.positions if known else labels.found
    found = [find(mode, library.plain(table[column])) for mode, column in enumerate(keys)]
    return np.stack(found, axis=1)


def no_numbers(columns: Sequence[Hashable], value: Hashable) -> TypeError:
    """Return the error for a column of values that holds something else."""
    return TypeError(
        f"the column of values must hold numbers, but {value!r} does not; give another of {list(columns)} as "
        "value, or convert it."
    )


def refuse_missing_keys(missing: Booleans, column: Hashable, row: Callable[[int], str] = "row {}".format) -> None:
    """Refuse rows without a key.

    Parameters
    ----------
    missing
        Which rows have none.
    column
        The column of the keys.
    row
        Returns the name of a row in the message.
    """
    if missing.any():
        raise ValueError(
            f"every row must have all its keys, but {column!r} has none in {row(int(missing.argmax()))}; leave out "
            "rows without keys, or say layout='wide' if each cell of the table is a value."
        )


def refuse_blank_keys(keys: NDArray[Any] | None, places: Integers, column: Hashable, first_row: int = 0) -> None:
    """Refuse a blank text as a key, which is a key that is missing.

    Parameters
    ----------
    keys
        The distinct keys of a column.
    places
        The position of each row's key among them.
    column
        The column.
    first_row
        The number of the first row in the message.
    """
    texts = [] if keys is None or keys.dtype.kind not in "OUT" else keys.tolist()
    blank = [place for place, key in enumerate(texts) if isinstance(key, str) and not key.strip()]
    if blank:
        refuse_missing_keys(np.isin(places, blank), column, lambda row: f"row {row + first_row:,}")


def refuse_nothing_seen(rows: int, entries: int) -> None:
    """Refuse a table without entries."""
    if rows == 0:
        raise ValueError("at least one entry must be observed, but the table has no rows.")
    if entries == 0:
        raise ValueError(f"at least one entry must be observed, but none of {rows:,} rows has a value.")


def refuse_repeats(coords: Integers, shape: tuple[int, ...], labels: Labels, merging: str) -> None:
    """Refuse rows with the same keys; `merging` is the code that merges them."""
    group = labels_of(coords, shape)
    counts = np.bincount(group)
    if len(counts) == len(group):
        return
    row = int((counts[group] > 1).argmax())
    named = zip(labels.names, labels.keys, coords[row].tolist(), strict=True)
    keys = ", ".join(f"{name}={shown(own[place])}" for name, own, place in named if own is not None)
    raise ValueError(
        f"rows must have different keys, but {counts[group[row]]} rows have {keys}, and {len(group) - len(counts):,} "
        f"of {len(group):,} rows are repeats; leave some out, or merge them first, as in {merging}."
    )


@dataclass(frozen=True, eq=False)
class ToTable(Restorer):
    """Turns an array into a long table with all combinations of the keys, the last key running fastest.

    Parameters
    ----------
    of
        The library of the table.
    columns
        The columns, in their order.
    value
        The column of the values.
    keys
        The keys of each mode, in the library's type.
    form
        The original form of the table, for `TableLibrary.closed`.
    """

    kind: ClassVar[str] = "table"
    libraries: ClassVar[tuple[str, ...]] = tuple(LIBRARIES)
    words: ClassVar[dict[str, Any]] = {
        "columns": list[str],
        "value": str,
        "keys": list[dict[str, Any]],
        "form": dict[str, Any],
    }
    of: TableLibrary
    columns: tuple[Hashable, ...]
    value: Hashable
    keys: tuple[Any, ...]
    form: Mapping[str, Any]

    @property
    def library(self) -> str:
        """The package that the object belongs to."""
        return self.of.name

    def __call__(self, dense: Floats) -> Any:
        """Return the table."""
        return self.of.closed(self._table(dense, [np.arange(size) for size in dense.shape]), self.form)

    def part(self, block: Floats, places: Sequence[Integers], kept: Sequence[int], labels: Labels) -> Any:
        """Return a part of the tensor as a long table with a column for each mode, also for those with one index."""
        return self._table(block, places)

    def _table(self, block: Floats, places: Sequence[Integers]) -> Any:
        """Return a long table of a block, from the indices of each mode in it."""
        made: dict[Hashable, Any] = {}
        mode = 0
        for column in self.columns:
            if column == self.value:
                made[column] = block.ravel()
                continue
            own = places[mode].reshape([-1 if axis == mode else 1 for axis in range(block.ndim)])
            made[column] = self.of.take(self.keys[mode], np.broadcast_to(own, block.shape).ravel())
            mode += 1
        return self.of.table(made)

    def with_ends(self, dense: Floats, low: Floats, high: Floats) -> Any:
        """Return the table with two more columns, for the ends of intervals."""
        table = self(dense)
        if not hasattr(table, "columns"):
            table = table.to_frame()
        name = str(self.value)
        return self.of.extended(table, {f"{name}_low": low.ravel(), f"{name}_high": high.ravel()})

    def grown(self, labels: Labels, shape: tuple[int, ...]) -> Self:
        """Return the restorer of a larger tensor with these labels."""
        own = tuple(
            self.of.rebuilt(keys, self.of.described(old))
            for keys, old in zip(labels.keys, self.keys, strict=True)
            if keys is not None
        )
        return replace(self, keys=own)

    def described(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a file must store; column names become text."""
        words = {
            "library": self.of.name,
            "columns": [str(column) for column in self.columns],
            "value": str(self.value),
            "keys": [self.of.described(each) for each in self.keys],
            "form": {
                name: list(map(str, part)) if isinstance(part, list) else part for name, part in self.form.items()
            },
        }
        return words, {}

    @classmethod
    def rebuilt(cls, labels: Labels, words: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the restorer, from its labels and the result of `described`."""
        library, columns, value = LIBRARIES[words["library"]], words["columns"], words["value"]
        if len(set(columns)) != len(labels.names) + 1 or len(columns) != len(set(columns)) or value not in columns:
            raise ValueError(f"a table of {len(labels.names)} modes cannot have the columns {str(columns)[:60]}")
        if len(words["keys"]) != len(labels.names) or any(keys is None for keys in labels.keys):
            raise ValueError("each mode of a table must have labels")
        library.check_form(words["form"], columns)
        own = tuple(
            library.rebuilt(keys, described)
            for keys, described in zip(labels.keys, words["keys"], strict=True)
            if keys is not None
        )
        return cls(library, tuple(columns), value, own, words["form"])
