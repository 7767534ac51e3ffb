"""Reading tables, with pandas: long ones with a row for each entry, and wide ones with a value in each cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._support.optional import need
from ..adapters.registry import columns_of_values, looks_wide, take_in
from ..labels import Labelled
from .common import read_as

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
        table = pandas.read_parquet(path, page_checksum_verification=True)
    return take_in(table, missing=missing, value=value, layout=layout)
