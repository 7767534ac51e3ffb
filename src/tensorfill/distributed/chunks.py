"""The chunks of a long table: row groups of Parquet files, or partitions of a Dask table."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..adapters.kinds import is_a
from ..adapters.pandas_tables import Pandas
from ..io.parquet_files import ParquetChunk, ParquetFiles

if TYPE_CHECKING:
    from distributed import Client

PANDAS = Pandas()
"""Every chunk is a pandas table."""


@dataclass(frozen=True)
class Origin:
    """Where the rows of a chunk come from.

    Parameters
    ----------
    name
        The name of the file or partition in messages.
    first
        The number of the first row there.
    """

    name: str
    first: int = 0

    def row(self, place: int) -> str:
        """Return the name of a row of the chunk in messages."""
        return f"row {self.first + place} of {self.name}"


class Chunks(Protocol):
    """The chunks of a long table.

    Every pass over the table requests the contents again, so that none of them stays in memory between passes.
    """

    @property
    def empty(self) -> Any:
        """The table without its rows, with all keys as columns."""

    @property
    def origins(self) -> Sequence[Origin]:
        """Where the rows of each chunk come from."""

    def contents(self, client: Client) -> Sequence[Any]:
        """Return for each chunk the argument of `rows_of` on a worker: a description, or a future of a table."""


@dataclass(frozen=True, eq=False)
class FileChunks:
    """The chunks of Parquet files."""

    files: ParquetFiles

    @property
    def empty(self) -> Any:
        """The table without its rows, with all keys as columns."""
        return self.files.empty

    @property
    def origins(self) -> Sequence[Origin]:
        """Where the rows of each chunk come from."""
        return [Origin(str(chunk.path), chunk.first) for chunk in self.files.chunks]

    def contents(self, client: Client) -> Sequence[Any]:
        """Return descriptions, with which workers read the files."""
        return self.files.chunks


@dataclass(frozen=True, eq=False)
class Partitions:
    """The partitions of a Dask DataFrame."""

    table: Any

    @property
    def empty(self) -> Any:
        """The table without its rows, with all keys as columns."""
        return PANDAS.opened(self.table._meta)[0]

    @property
    def origins(self) -> Sequence[Origin]:
        """Where the rows of each chunk come from."""
        return [Origin(f"partition {number}") for number in range(self.table.npartitions)]

    def contents(self, client: Client) -> Sequence[Any]:
        """Return futures of the partitions."""
        futures: Sequence[Any] = client.compute(list(self.table.to_delayed()))
        return futures


def chunks_of(data: Any) -> Chunks:
    """Return the chunks of a Dask DataFrame, or of the result of `tensorfill.io.open`."""
    if isinstance(data, ParquetFiles):
        return FileChunks(data)
    if is_a(data, "dask", "DataFrame"):
        return Partitions(data)
    raise TypeError(
        "a table for Dask must be a dask.dataframe.DataFrame or what tensorfill.io.open returns, but a "
        f"{type(data).__name__} was given; give it to tensorfill.complete, or make one with dask.dataframe.from_pandas."
    )


def rows_of(content: Any, columns: Sequence[Hashable]) -> Any:
    """Return some columns of a chunk as a pandas table, on a worker."""
    if isinstance(content, ParquetChunk):
        return content.read([str(column) for column in columns])
    return PANDAS.opened(content)[0][list(columns)]
