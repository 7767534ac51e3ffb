"""Long tables in Parquet files that are opened but not read: their schema, and the chunks to read."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from .._support.optional import need
from ..adapters.libraries import LIBRARIES
from .source import Source
from .tables import arrow_rows, opened_parquet

ENDINGS = (".parquet", ".pq")
"""The endings of Parquet files."""

ROWS_OF_A_CHUNK = 2**20
"""Small row groups of a file are read together, up to this number of rows."""


@dataclass(frozen=True)
class ParquetChunk:
    """Consecutive row groups of a Parquet file.

    Parameters
    ----------
    path
        The file.
    groups
        The numbers of the row groups.
    first, rows
        The number of the first row in the file, and the number of rows.
    max_bytes
        The largest size of the unpacked rows, in bytes; by default half of the memory of the machine that reads them.
    """

    path: Path
    groups: tuple[int, ...]
    first: int
    rows: int
    max_bytes: float | None = None

    def read(self, columns: Sequence[str]) -> Any:
        """Return some columns of the rows, as a table of pandas."""
        source = Source(self.path, self.max_bytes)
        source.check_it_is_there()
        with opened_parquet(source) as file:
            # Without the pandas metadata of an index, its levels are columns like any other keys.
            return arrow_rows(source, file, self.groups, columns).to_pandas(ignore_metadata=True)


@dataclass(frozen=True, eq=False)
class ParquetFiles:
    """A long table in one or more Parquet files, of which only the metadata was read.

    Parameters
    ----------
    paths
        The files, in the order of their rows.
    empty
        The table without its rows, as a pandas table with all keys as columns.
    chunks
        The parts that can be read independently.

    See Also
    --------
    tensorfill.io.open : opens files.
    """

    paths: tuple[Path, ...]
    empty: Any
    chunks: tuple[ParquetChunk, ...]

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.empty.columns)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(chunk.rows for chunk in self.chunks)

    def __repr__(self) -> str:
        files = "1 file" if len(self.paths) == 1 else f"{len(self.paths):,} files"
        return f"{type(self).__name__}({files}, {self.rows:,} rows, columns={self.columns})"


def open_files(path: str | PathLike[str], *, max_bytes: float | None = None) -> ParquetFiles:
    """Open a long table in Parquet files that may be larger than memory; only metadata is read.

    Parameters
    ----------
    path
        A file, a folder with Parquet files, or a pattern such as ``"entries/*.parquet"``. Files are sorted by name.
        Those whose names begin with a dot or an underscore are left out.
    max_bytes
        The largest size of an unpacked chunk of a file, in bytes; by default half of the memory of the machine that
        reads it.

    Returns
    -------
    ParquetFiles
        What `tensorfill.distributed.complete` takes.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> folder = Path(tempfile.mkdtemp())
    >>> pd.DataFrame({"user": [1, 2], "item": [1, 1], "stars": [4.0, 5.0]}).to_parquet(folder / "0.parquet")
    >>> open_files(folder)
    ParquetFiles(1 file, 2 rows, columns=['user', 'item', 'stars'])
    """
    paths = _found(Path(path))
    opened = [_described(Source(each, max_bytes)) for each in paths]
    schema = opened[0][0]
    for each, (other, _) in zip(paths, opened, strict=True):
        _refuse_other_columns(paths[0], schema, each, other)
    chunks = [
        ParquetChunk(each, groups, first, rows, max_bytes)
        for each, (_, sizes) in zip(paths, opened, strict=True)
        for groups, first, rows in _together(sizes)
    ]
    with Source(paths[0]).read_as("a Parquet table"):
        return ParquetFiles(tuple(paths), _empty(schema, paths[0]), tuple(chunks))


def _found(path: Path) -> list[Path]:
    """Return the files that a path denotes, sorted by name, as absolute paths, which other processes need."""
    if path.is_dir():
        found = [each for each in path.iterdir() if each.name.lower().endswith(ENDINGS)]
        wanted = f"the folder {path} has no Parquet file, which ends in {' or '.join(ENDINGS)}"
    elif path.exists():
        return [path.absolute()]
    elif glob.has_magic(str(path)):
        found = [Path(each) for each in glob.glob(str(path), recursive=True) if Path(each).is_file()]
        wanted = f"no file is like {path}"
    else:
        found, wanted = [], f"there is no file or folder {path}"
    kept = sorted(each.absolute() for each in found if not each.name.startswith((".", "_")))
    if not kept:
        raise FileNotFoundError(f"{wanted[0].upper()}{wanted[1:]}; check the path.")
    return kept


def _described(source: Source) -> tuple[Any, list[int]]:
    """Return the schema of a file and the number of rows of each row group."""
    with source.named("a Parquet table"), opened_parquet(source) as file:
        said = file.metadata
        return file.schema_arrow, [said.row_group(group).num_rows for group in range(said.num_row_groups)]


def _refuse_other_columns(first: Path, schema: Any, path: Path, other: Any) -> None:
    if schema.equals(other, check_metadata=False):
        return
    here, there = ([f"{field.name}: {field.type}" for field in each] for each in (other, schema))
    raise ValueError(
        f"all files must have the same columns, but {path} has {', '.join(here)}, and {first} has {', '.join(there)}; "
        "write them alike, or open them apart."
    )


def _empty(schema: Any, path: Path) -> Any:
    """Return a table without rows; the levels of an index are its first columns, as for a table in memory."""
    if len(set(schema.names)) < len(schema.names):
        raise ValueError(f"the columns of {path} must have different names, but they are {schema.names}; rename some.")
    for level in (schema.pandas_metadata or {}).get("index_columns", []):
        if isinstance(level, dict) and level.get("name") is not None:
            raise ValueError(
                f"{path} has an index {level['name']!r} that only counts the rows of the file, which cannot be a key; "
                "write it with table.reset_index()."
            )
    described = LIBRARIES["pandas"].opened(schema.empty_table().to_pandas())[0]
    # Columns that are numbers in pandas have text names in the file.
    names = list(map(str, described.columns))
    return need("pyarrow", "files").schema([schema.field(name) for name in names]).empty_table().to_pandas()


def _together(sizes: Sequence[int]) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Return row groups that are read together, the row at which they begin, and their number of rows."""
    groups: tuple[int, ...] = ()
    first = rows = 0
    for group, size in enumerate(sizes):
        if groups and rows + size > ROWS_OF_A_CHUNK:
            yield groups, first, rows
            groups, first, rows = (), first + rows, 0
        groups, rows = (*groups, group), rows + size
    if groups:
        yield groups, first, rows
