"""Reading tables, with pandas: long ones with a row for each entry, and wide ones with a value in each cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._support.optional import need
from ..adapters.registry import take_in
from ..labels import Labelled
from .source import Source
from .text_tables import read_text_table

ROWS_AT_ONCE = 2**13
"""Rows of a Parquet table that are unpacked at a time: a long text may be stored once but occur in all of them."""


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
        ``"long"`` for a row for each entry, ``"wide"`` for a value in each cell beside leading columns of labels; by
        default it is inferred from these.
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
    with opened_parquet(source) as file:
        said = file.metadata
        source.need(max(said.num_rows * said.num_columns, 0))
        return arrow_rows(source, file).to_pandas()


@contextmanager
def opened_parquet(source: Source) -> Iterator[Any]:
    """Open a Parquet file; errors of the library become a sentence."""
    need("pandas", "files")
    parquet = need("pyarrow.parquet", "files")
    with (
        source.read_as("a Parquet table"),
        source.path.open("rb") as stream,
        parquet.ParquetFile(stream, page_checksum_verification=True) as file,
    ):
        yield file


def arrow_rows(
    source: Source, file: Any, groups: Sequence[int] | None = None, columns: Sequence[str] | None = None
) -> Any:
    """Return rows of an open Parquet file as a table of Arrow.

    Parameters
    ----------
    source, file
        The file.
    groups, columns
        The row groups and columns to read; by default all.
    """
    batches = []
    for batch in file.iter_batches(ROWS_AT_ONCE, row_groups=groups, columns=columns):
        source.spend(batch.nbytes)
        batches.append(batch)
    schema = file.schema_arrow
    if columns is not None:
        schema = need("pyarrow", "files").schema([schema.field(name) for name in columns])
    return need("pyarrow", "files").Table.from_batches(batches, schema)
