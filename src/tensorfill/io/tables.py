"""Long tables, with pandas: a row for each entry, a column of labels for each mode, and a column of values."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from .._support.optional import need
from .._support.types import Integers
from ..adapters.registry import take_in
from ..labels import Labelled
from .atomic import written_beside
from .common import Content, read_as

NO_VALUE = ("", "NA", "N/A", "na", "NaN", "nan", "NAN", "null", "NULL", "None")
"""Texts that mean a missing value in the column of values; as a label each is an ordinary text."""


def read_csv(path: Path, *, missing: str | None = None, value: str | None = None) -> Labelled:
    """Read a table with commas between its columns and a first line with their names.

    Parameters
    ----------
    path
        The file, gzipped if its name ends in .gz.
    missing
        ``"absent"``, the default: absent rows and empty values are missing; ``"zero"``: zeros are missing too.
    value
        The column with the values; by default the last.
    """
    return _read_text(path, ",", missing, value)


def read_tsv(path: Path, *, missing: str | None = None, value: str | None = None) -> Labelled:
    """Read a table as `read_csv` does, with tabs between its columns."""
    return _read_text(path, "\t", missing, value)


def _read_text(path: Path, separator: str, missing: str | None, value: str | None) -> Labelled:
    pandas = need("pandas", "files")
    errors = pandas.errors
    with read_as(path, "a table", errors.ParserError, errors.EmptyDataError, UnicodeDecodeError, OSError):
        values = pandas.read_csv(path, sep=separator, nrows=0).columns[-1] if value is None else value
        # A label may be the text NA, such as the code of Namibia; only a value can be missing.
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
    """Return the option with which pandas reads numbers exactly; from version 3 on this is its default."""
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
    """Return a pandas table of the entries that are not missing, with their labels; a given table stays unchanged.

    An index without any observed entry gets a row without a value, so that reading finds it again.
    """
    pandas = need("pandas", "files")
    if value is None and isinstance(content.given, pandas.DataFrame) and not any(content.given.index.names):
        return content.given
    labels = content.labels
    column = labels.value if value is None else value
    if column in labels.names:
        raise ValueError(f"value must not be the name of a mode, but {column!r} is one of {', '.join(labels.names)}.")
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
    """Return coordinates that name each index without any observed entry; none of them was observed."""
    rows = []
    for mode, size in enumerate(shape):
        unseen = np.setdiff1d(np.arange(size), coords[:, mode])
        named = np.zeros((len(unseen), len(shape)), dtype=np.int64)
        named[:, mode] = unseen
        rows.append(named)
    return np.unique(np.concatenate(rows), axis=0)
