"""One pass over a long table, chunk by chunk: the distinct keys of each mode, and the number of entries of each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from .._support.types import Booleans, Floats, Integers
from ..adapters.tables import no_numbers, refuse_missing_keys
from .chunks import PANDAS, Origin, rows_of


@dataclass(frozen=True, eq=False)
class Columns:
    """The roles of the columns of a long table.

    Parameters
    ----------
    keys
        The columns of the modes, in their order.
    value
        The column of the values.
    missing
        ``"zero"`` if zeros count as missing too.
    dtype
        The type of the values.
    """

    keys: tuple[Hashable, ...]
    value: Hashable
    missing: str | None
    dtype: np.dtype[Any]

    @property
    def all(self) -> list[Hashable]:
        """All columns that are read."""
        return [*self.keys, self.value]


@dataclass(frozen=True, eq=False)
class Tally:
    """The keys and counts of consecutive chunks.

    Parameters
    ----------
    keys
        The distinct keys of each mode, in the order of the rows.
    counts
        The number of entries of each of these keys.
    rows
        The number of rows, including those without a value.
    largest
        The size of the largest value.
    refusal
        The error of the first invalid chunk, if there is one; the other fields are then meaningless.
    """

    keys: tuple[Any, ...] = ()
    counts: tuple[Integers, ...] = ()
    rows: int = 0
    largest: float = 0.0
    refusal: Exception | None = None


def tallied(content: Any, origin: Origin, *, columns: Columns) -> Tally:
    """Return the tally of one chunk, on a worker.

    The error of an invalid chunk is returned, not raised: the message then always names the first such chunk of the
    table, in whatever order they are read, and workers do not log it.
    """
    try:
        table = rows_of(content, columns.all)
        seen, values = seen_values(table, columns, origin)
        for column in columns.keys:
            refuse_missing_keys(PANDAS.missing(table, column), column, origin.row)
    except (ValueError, TypeError, OSError) as error:
        return Tally(refusal=type(error)(str(error)))
    keys, counts = [], []
    for column in columns.keys:
        own, places = PANDAS.numbered(table, column)
        keys.append(own)
        counts.append(np.bincount(places[seen], minlength=len(own)))
    return Tally(tuple(keys), tuple(counts), len(table), float(np.abs(values).max(initial=0.0)))


def united(tallies: Sequence[Tally]) -> Tally:
    """Return the combined tally of groups of chunks, in their order."""
    for each in tallies:
        if each.refusal is not None:
            return each
    keys, counts = [], []
    try:
        for mode in range(len(tallies[0].keys)):
            own, places = PANDAS.united([each.keys[mode] for each in tallies])
            keys.append(own)
            total = np.zeros(len(own), dtype=np.int64)
            for each, place in zip(tallies, places, strict=True):
                total[place] += each.counts[mode]
            counts.append(total)
    except TypeError as error:
        return Tally(refusal=error)
    largest = max((each.largest for each in tallies), default=0.0)
    return Tally(tuple(keys), tuple(counts), sum(each.rows for each in tallies), largest)


def seen_values(table: Any, columns: Columns, origin: Origin) -> tuple[Booleans, Floats]:
    """Return which rows of a chunk have a value, and their values."""
    numbers = PANDAS.numbers(table, columns.value)
    if numbers is None:
        raise _refused_column(table, columns, origin)
    seen = ~np.isnan(numbers) & ((numbers != 0) | (columns.missing != "zero"))
    with np.errstate(over="ignore"):
        values = numbers.astype(columns.dtype, copy=False)
    wrong = np.isinf(values)
    if wrong.any():
        row = int(wrong.argmax())
        limit = "finite" if np.isinf(numbers[row]) else f"within the range of {columns.dtype}"
        raise ValueError(
            f"values must be {limit}, but {columns.value!r} is {numbers[row]} in {origin.row(row)}; leave out what is "
            "missing, or correct it."
        )
    return seen, values if seen.all() else values[seen]


def _refused_column(table: Any, columns: Columns, origin: Origin) -> Exception:
    """Return the error for a column of values that are not numbers, perhaps in a single row."""
    values, missing = table[columns.value], PANDAS.missing(table, columns.value)
    for row, each in enumerate(values.tolist() if values.dtype == object else []):
        if not isinstance(each, Number) and not missing[row]:
            return ValueError(
                f"values must be numbers, but {columns.value!r} is {each!r} in {origin.row(row)}; leave out what is "
                "missing, or correct it."
            )
    return no_numbers(columns.all, columns.value)
