"""Reading tables, with pandas: long ones with a row for each entry, and wide ones with a value in each cell."""

from __future__ import annotations

from typing import Any

from .._support.optional import need
from ..adapters.registry import take_in
from ..labels import Labelled
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
    with (
        source.read_as("a Parquet table"),
        source.path.open("rb") as stream,
        parquet.ParquetFile(stream, page_checksum_verification=True) as file,
    ):
        said = file.metadata
        source.need(max(said.num_rows * said.num_columns, 0))
        batches = []
        for batch in file.iter_batches(ROWS_AT_ONCE):
            source.spend(batch.nbytes)
            batches.append(batch)
        return arrow.Table.from_batches(batches, file.schema_arrow).to_pandas()
