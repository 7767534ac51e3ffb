"""Tables, with pandas: long ones with a row for each entry, and wide ones with a value in each cell."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from .._support.optional import need
from .._support.types import Integers
from ..adapters.registry import columns_of_values, looks_wide, take_in
from ..labels import Labelled
from .atomic import written_beside
from .common import Content, read_as

NO_VALUE = ("", "NA", "N/A", "na", "NaN", "nan", "NAN", "null", "NULL", "None")
"""Texts that mean a missing value in a column of values; as a label each is an ordinary text."""

SAMPLE = 10_000
"""The first so many rows show whether a table is wide."""


def read_csv(
    path: Path, *, missing: str | None = None, value: str | None = None, layout: str | None = None
) -> Labelled:
    """Read a table with commas between its columns and a first line with their names.

    Parameters
    ----------
    path
        The file, gzipped if its name ends in .gz.
    missing
        ``"absent"``, the default: absent rows and empty values are missing; ``"zero"``: zeros are missing too.
    value
        The column with the values; by default the last.
    layout
        ``"long"`` for a row for each entry, ``"wide"`` for a value in each cell beside first columns of labels; by
        default what these tell.
    """
    return _read_text(path, ",", missing, value, layout)


def read_tsv(
    path: Path, *, missing: str | None = None, value: str | None = None, layout: str | None = None
) -> Labelled:
    """Read a table as `read_csv` does, with tabs between its columns."""
    return _read_text(path, "\t", missing, value, layout)


def _read_text(path: Path, separator: str, missing: str | None, value: str | None, layout: str | None) -> Labelled:
    pandas = need("pandas", "files")
    errors = pandas.errors
    with read_as(path, "a table", errors.ParserError, errors.EmptyDataError, UnicodeDecodeError, OSError):
        how = {"sep": separator, "keep_default_na": False}
        if layout == "wide" or (layout is None and value is None):
            some = pandas.read_csv(path, nrows=SAMPLE, na_values=list(NO_VALUE), **how)
            if layout == "wide" or looks_wide(some):
                return _read_wide(path, some, missing, how)
        values = pandas.read_csv(path, sep=separator, nrows=0).columns[-1] if value is None else value
        # A label may be the text NA, such as the code of Namibia; only a value can be missing.
        table = pandas.read_csv(path, na_values={values: NO_VALUE}, low_memory=False, **how, **_exact(pandas))
    return take_in(table, missing=missing, value=value, layout="long")


def _read_wide(path: Path, some: Any, missing: str | None, how: dict[str, Any]) -> Labelled:
    """Read a wide table, whose first rows are known."""
    pandas = need("pandas", "files")
    columns = columns_of_values(some)
    empty = {column: list(NO_VALUE) for column in columns}
    table = pandas.read_csv(path, na_values=empty, low_memory=False, **how, **_exact(pandas))
    return take_in(table, missing=missing, layout="wide")


def _exact(pandas: Any) -> dict[str, str]:
    """Return the option with which pandas reads numbers exactly; from version 3 on this is its default."""
    return {"float_precision": "round_trip"} if int(pandas.__version__.partition(".")[0]) < 3 else {}


def read_parquet(
    path: Path, *, missing: str | None = None, value: str | None = None, layout: str | None = None
) -> Labelled:
    """Read a Parquet table.

    Parameters
    ----------
    path
        The file.
    missing, value, layout
        As in `read_csv`.
    """
    pandas, arrow = need("pandas", "files"), need("pyarrow", "files")
    with read_as(path, "a Parquet table", arrow.ArrowException, OSError):
        table = pandas.read_parquet(path)
    return take_in(table, missing=missing, value=value, layout=layout)


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
    given = content.given
    if value is None and isinstance(given, pandas.DataFrame):
        # Only the names of an index with a single header can stand in a first line.
        if looks_wide(given) and given.columns.nlevels == 1 and columns_of_values(given) == list(given.columns):
            return given.rename_axis(index=content.labels.names[: given.index.nlevels]).reset_index()
        if not any(given.index.names) and given.columns.nlevels == 1:
            return given
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
