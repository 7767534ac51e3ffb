"""Tables: long ones with a row for each entry, and wide ones with a value in each cell."""

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
from .common import Content
from .source import Source
from .text_tables import read_text_table

ROWS_AT_ONCE = 2**13
"""Rows of a Parquet table that are unpacked at a time: a long text may be stored once and be there in all of them."""


def read_csv(
    source: Source, *, missing: str | None = None, value: str | None = None, layout: str | None = None
) -> Labelled:
    """Read a table with commas between its columns and a first line with their names.

    Parameters
    ----------
    source
        The file, gzipped or not.
    missing
        ``"absent"``, the default: absent rows and empty values are missing; ``"zero"``: zeros are missing too.
    value
        The column with the values; by default the last.
    layout
        ``"long"`` for a row for each entry, ``"wide"`` for a value in each cell beside first columns of labels; by
        default what these tell.
    """
    return read_text_table(source, ",", missing, value, layout)


def read_tsv(
    source: Source, *, missing: str | None = None, value: str | None = None, layout: str | None = None
) -> Labelled:
    """Read a table as `read_csv` does, with tabs between its columns."""
    return read_text_table(source, "\t", missing, value, layout)


def read_parquet(
    source: Source, *, missing: str | None = None, value: str | None = None, layout: str | None = None
) -> Labelled:
    """Read a Parquet table.

    Parameters
    ----------
    source
        The file.
    missing, value, layout
        As in `read_csv`.
    """
    return take_in(parquet_table(source), missing=missing, value=value, layout=layout)


def parquet_table(source: Source) -> Any:
    """Return the table of a Parquet file, as one of pandas."""
    need("pandas", "files")
    arrow, parquet = need("pyarrow", "files"), need("pyarrow.parquet", "files")
    with source.read_as("a Parquet table"), source.path.open("rb") as stream, parquet.ParquetFile(stream) as file:
        said = file.metadata
        source.need(max(said.num_rows * said.num_columns, 0))
        batches = []
        for batch in file.iter_batches(ROWS_AT_ONCE):
            source.spend(batch.nbytes)
            batches.append(batch)
        return arrow.Table.from_batches(batches, file.schema_arrow).to_pandas()


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
