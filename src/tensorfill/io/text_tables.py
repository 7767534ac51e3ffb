"""Tables in text files, .csv and .tsv, read in parts.

Every line must have as many fields as the first, which has the names of the columns. Only the tensor is kept in memory:
an integer for each label of a row, and its value.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .._support.checks import listed
from .._support.optional import need
from .._support.types import Floats, Integers
from ..adapters.registry import columns_of_values, looks_wide, take_in, take_in_columns
from ..labels import Labelled
from .source import Source
from .triples import LABEL_BYTES

NO_VALUE = ("", "NA", "N/A", "na", "NaN", "nan", "NAN", "null", "NULL", "None")
"""Texts that denote a missing value in a column of values; as labels they are ordinary texts."""

SAMPLE = 10_000
"""The number of leading rows that decide whether a table is wide."""

BLOCK = 2**22
"""The number of bytes that are read at a time; no line may be longer."""

ROW = "row"
"""The name given to an unnamed first column."""

ENOUGH_NUMBERS = 4
"""This many increasing or decreasing numbers in the first line are column names rather than a row of data."""

_WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_PADDED = re.compile(r"0\d+")


def read_text_table(
    source: Source, separator: str, missing: str | None, value: str | None, layout: str | None
) -> Labelled:
    """Return the tensor of a long or wide table."""
    need("pandas", "files")
    text = _Text.of(source, separator)
    if layout == "wide" or (layout is None and value is None):
        sample = text.sample()
        if layout == "wide" or looks_wide(sample):
            return _wide(text, sample, missing)
    return _long(text, missing, value, layout)


@dataclass(frozen=True)
class _Text:
    """A table in a text file whose first line has been read.

    Parameters
    ----------
    source
        The file.
    separator
        The separator of fields.
    names
        The names of the columns.
    lines
        The lines up to the first row.
    has_rows
        Whether there are any rows.
    """

    source: Source
    separator: str
    names: tuple[str, ...]
    lines: int
    has_rows: bool

    @classmethod
    def of(cls, source: Source, separator: str) -> _Text:
        """Return the table in a file."""
        with source.read_as("a table"), source.opened() as stream:
            rows = csv.reader(_texts(source, stream), delimiter=separator)
            first = next((row for row in rows if row), [])
            lines, has_rows = rows.line_num, any(rows)
        if not first:
            raise ValueError(f"{source.path} must have a first line with the names of its columns, but it is empty.")
        unnamed = [place for place, name in enumerate(first) if not name.strip()]
        if unnamed and (unnamed != [0] or len(first) == 1):
            raise ValueError(
                f"each column of {source.path} must have a name in the first line, but column {unnamed[-1] + 1} of "
                f"{len(first)} has none; name it, or remove it."
            )
        if len(set(first)) < len(first):
            twice = next(name for name in first if first.count(name) > 1)
            raise ValueError(
                f"the columns of {source.path} must have different names, but {twice!r} is there twice; rename one."
            )
        return cls(source, separator, tuple(first), lines, has_rows)

    def _batches(self) -> Iterator[Any]:
        arrow = need("pyarrow.csv", "files")
        wrong: list[Any] = []

        def refused(row: Any) -> str:
            wrong.append(row)
            return "error"

        with self.source.opened() as stream:
            try:
                yield from arrow.open_csv(
                    stream,
                    arrow.ReadOptions(
                        use_threads=False, block_size=BLOCK, skip_rows=self.lines, column_names=list(self.names)
                    ),
                    arrow.ParseOptions(delimiter=self.separator, newlines_in_values=True, invalid_row_handler=refused),
                    arrow.ConvertOptions(
                        column_types={name: need("pyarrow", "files").string() for name in self.names},
                        strings_can_be_null=False,
                        null_values=[],
                    ),
                )
            except need("pyarrow", "files").ArrowInvalid as error:
                if not wrong:
                    raise
                fields, found = wrong[0].expected_columns, wrong[0].actual_columns
                where = "a line" if wrong[0].number is None else f"line {wrong[0].number}"
                raise ValueError(
                    f"each line of {self.source.path} must have {fields} fields, as the first has, but {where} has "
                    f"{found}: {_short(str(wrong[0].text))}; correct or remove it, or put fields with a separator in "
                    "quotes."
                ) from error

    def sample(self) -> Any:
        """Return the first rows as a table of pandas, with numeric columns where all fields are numbers."""
        for batch in self.parts():
            rows = batch.slice(0, SAMPLE)
            columns = {name: _typed(rows.column(place)) for place, name in enumerate(self.names)}
            return need("pandas", "files").DataFrame(columns)
        return need("pandas", "files").DataFrame(columns=list(self.names))

    def parts(self) -> Iterator[Any]:
        """Yield the rows in parts, as tables of Arrow, every field as a text."""
        with self.source.read_as("a table"):
            yield from self._batches() if self.has_rows else ()

    def numbers(self, batch: Any, name: str, before: int) -> Floats:
        """Return a column of numbers, in a part of the table after `before` rows."""
        column = batch.column(self.names.index(name))
        floats = _floats(column)
        if floats is None:
            first = _first_that_is_no_number(column)
            raise TypeError(
                f"the column of values must hold numbers, but {name!r} of {self.source.path} has "
                f"{_short(column[first].as_py())} in row {before + first + 1:,}; correct it, or give another column, "
                f"one of {listed(self.names)[:500]}, as value."
            )
        return floats


def _texts(source: Source, stream: IO[bytes]) -> Iterator[str]:
    for number, line in enumerate(source.lines(stream, BLOCK)):
        yield line.decode("utf-8-sig" if number == 0 else "utf-8")


def _long(text: _Text, missing: str | None, value: str | None, layout: str | None) -> Labelled:
    """Return the tensor of a table with a row for each entry."""
    named = [name for name in text.names if name.strip()]
    column = named[-1] if value is None else str(value)
    if column not in named:
        raise ValueError(f"value must be a column of the table, one of {listed(named)[:500]}, but {value!r} was given.")
    if value is None and _is_number(column):
        raise ValueError(
            f"the first line of {text.source.path} must have the names of its columns, but it is "
            f"{_short(text.separator.join(text.names))}, which looks like data; add a line with names before it."
        )
    keys = {name: _Labels() for name in text.names if name != column}
    values: list[Floats] = []
    rows = 0
    for batch in text.parts():
        text.source.spend(batch.num_rows * (8 + 4 * len(keys)))
        values.append(text.numbers(batch, column, rows))
        for name, labels in keys.items():
            text.source.spend(LABEL_BYTES * labels.add(batch.column(text.names.index(name))))
        rows += batch.num_rows
    unnamed = text.names[0] if text.names[0] not in named else None
    if unnamed is not None:
        _check_it_numbers_rows(text.source, len(keys.pop(unnamed)), rows)
    numbers = np.concatenate(values) if values else np.zeros(0)
    values.clear()
    found = {name: labels.found() for name, labels in keys.items()}
    return take_in_columns(named, found, numbers, missing, value, layout)


def _check_it_numbers_rows(source: Source, distinct: int, rows: int) -> None:
    """Raise an error for an unnamed first column, unless it only numbers the rows, as written by pandas."""
    if distinct < rows:
        raise ValueError(
            f"each column of {source.path} must have a name in the first line, but the first has none, and its labels "
            "repeat; name it."
        )


class _Labels:
    """The labels of a column, numbered in the order in which they first appear."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._rows: list[Integers] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, column: Any) -> int:
        """Add the labels of further rows, and return how many of them are new."""
        before = len(self._numbers)
        encoded = column.dictionary_encode()
        own = [self._numbers.setdefault(each, len(self._numbers)) for each in encoded.dictionary.to_pylist()]
        self._rows.append(np.array(own, dtype=np.int32)[encoded.indices.to_numpy()])
        return len(self._numbers) - before

    def found(self) -> tuple[NDArray[Any], Integers]:
        """Return the labels in their order, and the position of each row's label."""
        keys = typed_labels(list(self._numbers))
        order = np.argsort(keys, kind="stable")
        places = np.empty(len(order), dtype=np.int32)
        places[order] = np.arange(len(order), dtype=np.int32)
        rows = np.concatenate(self._rows) if self._rows else np.zeros(0, dtype=np.int32)
        # The rows of a large table need not be kept twice.
        self._rows.clear()
        return keys[order], places.take(rows, out=rows, mode="clip")


def typed_labels(texts: Sequence[str]) -> NDArray[Any]:
    """Return labels as numbers, if each has the usual form of its number and no number has two forms.

    Examples
    --------
    >>> typed_labels(["10", "2"]), typed_labels(["00501", "2"]), typed_labels(["0.5", "1"]), typed_labels(["1", "1.0"])
    (array([10,  2]), array(['00501', '2'], dtype=object), array([0.5, 1. ]), array(['1', '1.0'], dtype=object))
    """
    if texts and all(map(_WHOLE.fullmatch, texts)):
        return np.array(list(map(int, texts)))
    if texts and all(map(_NUMBER.fullmatch, texts)):
        numbers = np.array(list(map(float, texts)))
        if np.isfinite(numbers).all() and len(np.unique(numbers)) == len(set(texts)):
            return numbers
    return np.array(texts, dtype=object)


def _floats(column: Any) -> Floats | None:
    """Return a column of texts as numbers, with NaN where there is no value; None if a text is not a number."""
    arrow, compute = need("pyarrow", "files"), need("pyarrow.compute", "files")
    texts = compute.replace_substring_regex(compute.utf8_trim_whitespace(column), r"^\+", "")
    gaps = compute.is_in(texts, value_set=arrow.array(NO_VALUE))
    filled = compute.if_else(gaps, arrow.scalar(None, arrow.string()), texts)
    for first in (arrow.float64(), arrow.bool_()):
        try:
            numbers = compute.cast(compute.cast(filled, first), arrow.float64())
        except arrow.ArrowInvalid:
            continue
        floats: Floats = numbers.to_numpy(zero_copy_only=False)
        return floats
    return None


def _first_that_is_no_number(column: Any) -> int:
    """Return the first field that is no number; if each is one, the first truth value, which is none among numbers."""
    for place in range(len(column)):
        if _floats(column.slice(place, 1)) is None:
            return place
    return [text.strip().lower() in ("true", "false") for text in column.to_pylist()].index(True)


def _typed(column: Any) -> Any:
    """Return a column of texts as numbers, unless one of them is not a number or has leading zeros."""
    texts = column.to_pylist()
    floats = None if any(map(_PADDED.fullmatch, texts)) else _floats(column)
    if floats is None:
        return np.array(texts, dtype=object)
    whole = texts and all(map(_WHOLE.fullmatch, texts))
    return np.array(list(map(int, texts))) if whole else floats


def _wide(text: _Text, sample: Any, missing: str | None) -> Labelled:
    """Return the tensor of a table with a value in each cell, given its first rows."""
    values = list(columns_of_values(sample))
    if looks_like_data(values):
        raise ValueError(
            f"the first line of {text.source.path} must have the names of its columns, but it is "
            f"{_short(text.separator.join(text.names))}, which looks like data; add a line with names before it."
        )
    columns: dict[str, list[Any]] = {name: [] for name in text.names}
    rows = 0
    for batch in text.parts():
        text.source.spend(8 * batch.num_rows * len(text.names))
        for place, name in enumerate(text.names):
            part = text.numbers(batch, name, rows) if name in values else batch.column(place).to_pylist()
            columns[name].append(part)
        rows += batch.num_rows
    named = {
        name if name.strip() else _free(ROW, text.names): (
            np.concatenate(parts) if name in values else typed_labels([each for part in parts for each in part])
        )
        for name, parts in columns.items()
        if parts
    }
    return take_in(need("pandas", "files").DataFrame(named), missing=missing, layout="wide")


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def looks_like_data(names: Sequence[Any]) -> bool:
    """Return whether the column names of a wide table look like a row of values.

    Examples
    --------
    >>> looks_like_data(["a", "b"]), looks_like_data(["2021", "2022"]), looks_like_data(["1.5", "0.5"])
    (False, False, True)
    """
    numbers = [float(name) for name in map(str, names) if _is_number(name)]
    if len(numbers) < len(names) or not numbers:
        return bool(numbers)
    steps = np.diff(numbers)
    in_order = bool(np.all(steps > 0) or np.all(steps < 0))
    return not (in_order and (len(numbers) >= ENOUGH_NUMBERS or all(number.is_integer() for number in numbers)))


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}...")
