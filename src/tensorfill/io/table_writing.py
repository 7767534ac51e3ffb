"""Writing tables, with pandas."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._support.checks import listed
from .._support.optional import need
from .._support.types import Integers
from ..labels import Labels
from .atomic import written_beside
from .common import Content

SEPARATORS = {"csv": ",", "tsv": "\t"}
"""The column separators, by format."""

_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def write_csv(path: Path, content: Content, *, value: str | None = None, safe: bool = False) -> None:
    """Write a table with commas between its columns, gzipped if its name ends in .gz.

    Parameters
    ----------
    path
        The file.
    content
        What to write; missing entries are left out.
    value
        The column with the values; by default the name in the labels.
    safe
        Whether to put an apostrophe before texts that a spreadsheet would interpret as formulas; see
        `without_formulas`.
    """
    write_table(path, "csv", _table(content, value), safe=safe)


def write_tsv(path: Path, content: Content, *, value: str | None = None, safe: bool = False) -> None:
    """Write a table as `write_csv` does, with tabs between its columns."""
    write_table(path, "tsv", _table(content, value), safe=safe)


def write_parquet(path: Path, content: Content, *, value: str | None = None) -> None:
    """Write a Parquet table.

    Parameters
    ----------
    path
        The file.
    content, value
        As in `write_csv`.
    """
    write_table(path, "parquet", _table(content, value))


def write_table(path: Path, kind: str, table: Any, *, safe: bool = False) -> None:
    """Write a pandas table without its index.

    Parameters
    ----------
    path
        The file; a text is gzipped if its name ends in .gz.
    kind
        ``"csv"``, ``"tsv"`` or ``"parquet"``, which gets a checksum for each of its pages.
    table
        The table.
    safe
        As in `write_csv`.
    """
    if kind == "parquet":
        need("pyarrow", "files")
        with written_beside(path) as file:
            table.to_parquet(file, index=False, engine="pyarrow", write_page_checksum=True)
        return
    with written_beside(path) as file:
        if path.suffix.lower() == ".gz":
            with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as zipped:
                write_text(zipped, kind, table, safe=safe)
        else:
            write_text(file, kind, table, safe=safe)


def write_text(file: IO[Any] | gzip.GzipFile, kind: str, table: Any, *, safe: bool = False) -> None:
    """Write a pandas table to an open file, as ``"csv"`` or ``"tsv"``; `safe` as in `write_csv`."""
    shown = without_formulas(table) if safe else table
    shown.to_csv(file, sep=SEPARATORS[kind], index=False, lineterminator="\n")


def without_formulas(table: Any) -> Any:
    """Return a table with an apostrophe before each text that a spreadsheet would interpret as a formula.

    These are texts, including column names, that begin with ``=``, ``+``, ``-`` or ``@``, or with a tab or line end. A
    number is not a formula: neither -5 nor the text "-5" is changed.

    Examples
    --------
    >>> import pandas
    >>> without_formulas(pandas.DataFrame({"who": ["=1+1", "-5", "Ann"], "x": [-1.5, 0.0, 1.0]}))["who"].tolist()
    ["'=1+1", '-5', 'Ann']
    """
    kinds = need("pandas", "files").api.types
    safe = table.copy(deep=False)
    for number in range(table.shape[1]):
        column = table.iloc[:, number]
        if not (kinds.is_numeric_dtype(column) or column.dtype.kind in "mM"):
            safe.isetitem(number, column.astype(object).map(_harmless))
    safe.columns = [_harmless(name) for name in table.columns]
    return safe


def _harmless(cell: Any) -> Any:
    if not isinstance(cell, str) or not _FORMULA.match(cell) or _NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


def check_table(path: Path, content: Content) -> None:
    """Raise an error if a table cannot hold such a tensor."""
    check_columns([content.labels.value], content.labels)


def check_parquet(path: Path, content: Content) -> None:
    """Raise an error if a Parquet table cannot hold such a tensor."""
    check_table(path, content)
    arrow = need("pyarrow", "files")
    for name, keys in zip(content.labels.names, content.labels.keys, strict=True):
        try:
            arrow.array(np.asarray(() if keys is None else keys), from_pandas=True)
        except arrow.ArrowException as error:
            raise ValueError(
                f"the labels of {name!r} must be all numbers, all texts or all dates to be written as Parquet; "
                "write .csv."
            ) from error


def check_columns(columns: Iterable[str], labels: Labels) -> None:
    """Raise an error if a column of values would have the name of a mode."""
    for column in columns:
        if column in labels.names:
            raise ValueError(
                f"a column of values must not have the name of a mode, but {column!r} is one of "
                f"{listed(labels.names)}; rename the mode."
            )


def _table(content: Content, value: str | None) -> Any:
    """Return a pandas table of the entries that are not missing, with their labels; a given table stays unchanged.

    An index without any observed entry gets a row without a value, so that it is found when the file is read.
    """
    pandas = need("pandas", "files")
    given = content.given
    if value is None and isinstance(given, pandas.DataFrame):
        # Only an index with a single header can be written with its names in the first line.
        if _labels_rows_by_index(given, content.labels):
            return given.rename_axis(index=content.labels.names[: given.index.nlevels]).reset_index()
        if not any(given.index.names) and given.columns.nlevels == 1:
            return given
    labels = content.labels
    column = labels.value if value is None else value
    check_columns([column], labels)
    coords, values = content.entries()
    empty = _of_empty_slices(coords, content.shape)
    if len(empty):
        coords, values = np.concatenate([coords, empty]), np.append(values, np.full(len(empty), np.nan))
    columns: dict[str, Any] = {}
    for mode, (name, keys) in enumerate(zip(labels.names, labels.keys, strict=True)):
        index = coords[:, mode]
        columns[name] = index if keys is None else np.asarray(keys)[index]
    return pandas.DataFrame(columns | {column: values})


def _labels_rows_by_index(table: Any, labels: Labels) -> bool:
    """Return whether a table is wide, with the labels of its rows in its index and a single header."""
    index = table.index
    numbered = not any(index.names) and need("pandas", "files").api.types.is_integer_dtype(index.dtype)
    wide = len(labels.names) > index.nlevels and set(labels.names).isdisjoint(map(str, table.columns))
    return wide and not numbered and table.columns.nlevels == 1


def _of_empty_slices(coords: Integers, shape: tuple[int, ...]) -> Integers:
    """Return unobserved coordinates that together cover each index without any observed entry."""
    rows = []
    for mode, size in enumerate(shape):
        unseen = np.setdiff1d(np.arange(size), coords[:, mode])
        named = np.zeros((len(unseen), len(shape)), dtype=np.int64)
        named[:, mode] = unseen
        rows.append(named)
    return np.unique(np.concatenate(rows), axis=0)
