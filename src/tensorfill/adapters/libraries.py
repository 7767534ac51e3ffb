"""The libraries whose tables are read: pandas and polars."""

from __future__ import annotations

from typing import Any

from .kinds import is_a
from .pandas_tables import Pandas
from .polars_tables import Polars
from .table_library import TableLibrary

LIBRARIES: dict[str, TableLibrary] = {"pandas": Pandas(), "polars": Polars()}
"""The libraries by name."""


def library_of(data: Any) -> TableLibrary | None:
    """Return the library whose table this is, or None."""
    if is_a(data, "pandas", "DataFrame", "Series"):
        return LIBRARIES["pandas"]
    return LIBRARIES["polars"] if is_a(data, "polars", "DataFrame") else None


def is_spread(data: Any) -> bool:
    """Return whether this is a distributed table: a Dask table, or a description of Parquet files."""
    return is_a(data, "dask", "DataFrame") or is_a(data, "tensorfill", "ParquetFiles")


def unread_table(data: Any) -> str | None:
    """Return the code that converts a table of a kind that is not supported, or None for anything else."""
    if is_a(data, "polars", "LazyFrame"):
        return "data.collect()"
    if is_a(data, "dask", "DataFrame", "Series"):
        return "data.compute(), or give a table of Dask to tensorfill.complete, which does not bring it together"
    if is_a(data, "tensorfill", "ParquetFiles"):
        return "it to tensorfill.complete, or read each file with tensorfill.io.read"
    return "data.to_pandas()" if is_a(data, "pyarrow", "Table", "RecordBatch") else None
