"""The layout of a table: long, with a row for each entry, or wide, with a value in each cell.

A table is read without a question only if there is one way to read it. In a long table, labels are texts, dates,
categories, whole numbers, or numbers that repeat, and only the last column can hold values. In a wide table, rows have
labels that are all different, and everything else is numbers. If a column before the last can hold values too, an error
asks for `layout` or `value`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.checks import listed
from .._support.types import Floats
from ..labels import Labels
from .table_library import TableLibrary

LAYOUTS = ("long", "wide")
"""The layouts of tables: a row for each entry, or a value in each cell."""

FEWEST_ROWS, ENOUGH_ROWS = 3, 10
"""With fewer rows, labels may be distinct by chance: the limits with gaps in the other columns, and without."""

ENOUGH_COLUMNS = 3
"""With fewer columns of numbers beside the labels, a table without gaps is taken for a long one."""

MOST_NUMBERED = 4
"""With more columns of numbers than this before the last, all of them like it, a table may be wide."""

OWN = 0.5
"""If more than this share of the rows have a number of their own in a column, it may hold values."""


def is_wide(data: Any, library: TableLibrary) -> bool:
    """Return whether a table is wide rather than long.

    In a long table some column before the last holds labels that repeat. A table is wide if the labels of its rows are
    all different, and the other columns hold only numbers. If row labels are only a first column, these numbers must
    also have gaps or fractions, which labels do not have. If both layouts are possible, an error asks for `layout`.
    `check_labels` then looks at a table that is read as long.
    """
    parts = library.wide(data)
    if parts is None or not parts.columns:
        return False
    if len(parts.column_levels) > 1:
        return True
    if len(set(parts.columns)) < len(parts.columns) or not len(parts.row_keys) or len(parts.columns) < 2:
        return False
    numbers = [library.numbers(data, column) for column in parts.columns]
    found = [each for each in numbers if each is not None]
    if len(found) < len(numbers):
        return False
    gaps = any(np.isnan(each).any() for each in found[:-1])
    # A long table has no use for such an index, or cannot have such gaps. Labels that repeat are refused later.
    if parts.in_index and (gaps or set(parts.row_names) == {None}):
        return True
    if not parts.distinct_rows:
        return False
    fractions = any(has_fractions(each) for each in found[:-1])
    rows = len(found[0])
    if (gaps and rows >= FEWEST_ROWS) or (
        fractions and (parts.in_index or (len(found) >= ENOUGH_COLUMNS and rows >= ENOUGH_ROWS))
    ):
        return True
    if parts.in_index and len(found) > ENOUGH_COLUMNS:
        return True
    if rows >= ENOUGH_ROWS and (parts.in_index or len(found) > ENOUGH_COLUMNS):
        raise two_readings(parts.columns, parts.columns[-1])
    return False


def has_fractions(column: Floats) -> bool:
    """Return whether a number is not whole."""
    finite = column[np.isfinite(column)]
    return bool(np.any(finite != np.round(finite)))


def _some(columns: Sequence[Hashable], most: int = 3) -> str:
    first = listed(list(map(str, columns[:most])))
    return first if len(columns) <= most else f"{first} and {len(columns) - most:,} more"


def check_labels(labels: Labels, values: Floats, value: str | None, layout: str | None) -> None:
    """Refuse a long table in which other columns than that of the values may hold values.

    Parameters
    ----------
    labels
        The labels, from the columns that are taken for them.
    values
        The column that is taken for the values.
    value, layout
        What the caller says of the table. With ``layout="long"`` all columns but one are labels.
    """
    # Columns with the names of modes without names are written by tensorfill itself.
    if layout is not None or labels.names == Labels.plain(len(labels.names)).names:
        return
    keys = dict(zip(labels.names, labels.keys, strict=True))
    numbers = {
        name: own.astype(np.float64) for name, own in keys.items() if own is not None and own.dtype.kind in "iuf"
    }
    doubtful = [name for name, own in numbers.items() if _differs(own, len(values)) and has_fractions(own)]
    if value is not None:
        if doubtful:
            raise ValueError(
                f"labels should repeat, but {_some(doubtful)} may hold values beside {value!r}, since most rows have a "
                f"number of their own there; leave out columns that are no labels, or say layout='long' beside "
                f"value={value!r} if they are."
            )
        return
    fractions = has_fractions(values)
    if not fractions and _differs(values[np.isfinite(values)], len(values)):
        # Nothing distinguishes the last column from others that differ from row to row too.
        doubtful = [name for name, own in numbers.items() if _differs(own, len(values))]
    alike = not fractions or any(map(has_fractions, numbers.values()))
    many = len(numbers) == len(keys) > MOST_NUMBERED and alike
    if doubtful or many:
        raise two_readings([*(list(keys) if many else doubtful), labels.value], labels.value)


def _differs(numbers: NDArray[Any], rows: int) -> bool:
    """Return whether most rows have a number of their own; few rows may have so by chance."""
    return rows >= ENOUGH_ROWS and len(np.unique(numbers)) > OWN * rows


def two_readings(columns: Sequence[Hashable], value: Hashable) -> ValueError:
    """Return the error for a table with several columns that may hold values, of which `value` is the last."""
    return ValueError(
        f"the table can be read in two ways, since each of {_some(columns)} may hold values; say layout='wide' if all "
        f"of them do, layout='long' if only {value!r} does and the others hold labels, or name the values with value= "
        "and leave out columns that hold neither."
    )
