"""Long tables, by pandas: a row for each entry, a column for each mode with its labels, and one with the values."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from .._support.optional import need
from .._support.types import Integers
from ..labels import Labelled
from .atomic import written_beside
from .common import Content, read_as

NO_VALUE = ("", "NA", "N/A", "na", "NaN", "nan", "NAN", "null", "NULL", "None")
"""Texts that stand for a missing value; as a label each of them stands for itself."""


def read_csv(path: Path, *, missing: str | None = None, value: str | None = None) -> Labelled:
    """Read a table with commas between its columns and a first line with their names.

    Parameters
    ----------
    path
        The file, gzipped if its name ends in .gz.
    missing
        ``"absent"``, the default: rows that are not there and empty values are missing; ``"zero"`` for zeros as well.
    value
        The column with the values; by default the last.
    """
    return _read_text(path, ",", missing, value)


def read_tsv(path: Path, *, missing: str | None = None, value: str | None = None) -> Labelled:
    """Read a table as `read_csv` does, with tabs between its columns."""
    return _read_text(path, "\t", missing, value)


def _read_text(path: Path, separator: str, missing: str | None, value: str | None) -> Labelled:
    from ..adapters.registry import take_in

    pandas = need("pandas", "files")
    errors = pandas.errors
    with read_as(path, "a table", errors.ParserError, errors.EmptyDataError, UnicodeDecodeError, OSError):
        values = pandas.read_csv(path, sep=separator, nrows=0).columns[-1] if value is None else value
        # A label may be the text NA, as Namibia's code is; only a value can be missing.
        table = pandas.read_csv(
            path,
            sep=separator,
            keep_default_na=False,
            na_values={values: NO_VALUE},
            low_memory=False,
            **_exact(pandas),
        )
    return take_in(table, missing=missing, value=value)


def _exact(pandas: Any) -> dict[str, str]:
    """Return what makes pandas read numbers to the last digit, which it does by itself from version 3 on."""
    return {"float_precision": "round_trip"} if int(pandas.__version__.partition(".")[0]) < 3 else {}


def read_parquet(path: Path, *, missing: str | None = None, value: str | None = None) -> Labelled:
    """Read a Parquet table.

    Parameters
    ----------
    path
        The file.
    missing, value
        As in `read_csv`.
    """
    from ..adapters.registry import take_in

    pandas, arrow = need("pandas", "files"), need("pyarrow", "files")
    with read_as(path, "a Parquet table", arrow.ArrowException, OSError):
        table = pandas.read_parquet(path)
    return take_in(table, missing=missing, value=value)


def write_csv(path: Path, content: Content, *, value: str | None = None) -> None:
    """Write a table with commas between its columns, gzipped if its name ends in .gz.

    Parameters
    ----------
    path
        The file.
    content
        What to write; missing entries are left out.
    value
        The column with the values; by default as the labels say.
    """
    _write_text(path, ",", content, value)


def write_tsv(path: Path, content: Content, *, value: str | None = None) -> None:
    """Write a table as `write_csv` does, with tabs between its columns."""
    _write_text(path, "\t", content, value)


def _write_text(path: Path, separator: str, content: Content, value: str | None) -> None:
    table = _table(content, value)
    with written_beside(path) as file:
        if path.suffix.lower() == ".gz":
            with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as zipped:
                table.to_csv(zipped, sep=separator, index=False)
        else:
            table.to_csv(file, sep=separator, index=False)


def write_parquet(path: Path, content: Content, *, value: str | None = None) -> None:
    """Write a Parquet table.

    Parameters
    ----------
    path
        The file.
    content, value
        As in `write_csv`.
    """
    need("pyarrow", "files")
    table = _table(content, value)
    with written_beside(path) as file:
        table.to_parquet(file, index=False, engine="pyarrow")


def _table(content: Content, value: str | None) -> Any:
    """Return a pandas table of the entries that are not missing, by their labels; one that was given, as it is.

    An index of which nothing was observed has a row without a value, so that reading finds it again.
    """
    pandas = need("pandas", "files")
    if value is None and isinstance(content.given, pandas.DataFrame) and not any(content.given.index.names):
        return content.given
    labels = content.labels
    column = labels.value if value is None else value
    if column in labels.names:
        raise ValueError(f"value must be the name of no mode, but {column!r} is one of {', '.join(labels.names)}.")
    coords, values = content.entries()
    empty = _of_empty_slices(coords, content.shape)
    if len(empty):
        coords, values = np.concatenate([coords, empty]), np.append(values, np.full(len(empty), np.nan))
    columns: dict[str, Any] = {}
    for mode, (name, keys) in enumerate(zip(labels.names, labels.keys, strict=True)):
        index = coords[:, mode]
        columns[name] = index if keys is None else np.asarray(keys)[index]
    return pandas.DataFrame(columns | {column: values})


def _of_empty_slices(coords: Integers, shape: tuple[int, ...]) -> Integers:
    """Return coordinates, none of them observed, that name each index of which nothing was."""
    rows = []
    for mode, size in enumerate(shape):
        unseen = np.setdiff1d(np.arange(size), coords[:, mode])
        named = np.zeros((len(unseen), len(shape)), dtype=np.int64)
        named[:, mode] = unseen
        rows.append(named)
    return np.unique(np.concatenate(rows), axis=0)
