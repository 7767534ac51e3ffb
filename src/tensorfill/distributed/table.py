"""A long table that is spread over the workers of a cluster."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .._support.checks import choice, mode_number
from .._support.optional import need
from .._support.ordering import take_rows
from .._support.scaling import ORDINARY
from .._support.types import Floats, Integers
from ..adapters.kinds import MISSING
from ..adapters.tables import ToTable, labels_of_table, no_numbers, refuse_nothing_seen, roles
from ..algebra.unfolding import smallest_index_type
from ..choosing.stages.scale import check_largest
from ..labels import Labels
from .chunks import PANDAS, Chunks, Origin, chunks_of, rows_of
from .tally import Columns, Tally, seen_values, tallied, united

if TYPE_CHECKING:
    from distributed import Client, Future

AT_ONCE = 8
"""The number of tallies that one task combines."""


class SpreadTable:
    """A long table whose chunks are read on the workers of a cluster; it is never in memory as a whole.

    Its labels are the same as for a table in memory with the same rows.

    Parameters
    ----------
    chunks
        The chunks of the table.
    columns
        The roles of its columns.
    client
        The cluster.
    tally
        The keys and counts of all chunks.

    See Also
    --------
    SpreadTable.of : makes one from a Dask table or from Parquet files.
    """

    def __init__(self, chunks: Chunks, columns: Columns, client: Client, tally: Tally) -> None:
        refuse_nothing_seen(tally.rows, 0 if not tally.counts else int(tally.counts[0].sum()))
        self._chunks, self._columns, self._client = chunks, columns, client
        self._keys = tuple(PANDAS.ordered(keys) for keys in tally.keys)
        self.labels: Labels = labels_of_table(PANDAS, columns.keys, self._keys, columns.value)
        # The tally has the keys in the order of the rows.
        self._counts = [
            counts[keys.get_indexer(own)]
            for keys, own, counts in zip(tally.keys, self._keys, tally.counts, strict=True)
        ]
        self.count = int(self._counts[0].sum())
        self._broadcast: Future[Any] | None = None

    @classmethod
    def of(
        cls,
        data: Any,
        client: Client,
        value: str | None = None,
        names: Sequence[str] | None = None,
        dtype: DTypeLike = np.float64,
        missing: str | None = None,
    ) -> Self:
        """Return a table, after one pass over its chunks to find the labels of all modes.

        Parameters
        ----------
        data
            A `dask.dataframe.DataFrame`, or the result of `tensorfill.io.open`: a row for each entry, with a column for
            the label of each mode and one for the value.
        client
            The cluster whose workers read the table.
        value
            The column of values; by default the last.
        names
            The columns of the modes, in their order; by default all but that of the values.
        dtype
            The type of the values, float64 or float32.
        missing
            ``"zero"`` if zeros count as missing too. A row whose value is null or NaN is always missing, but its keys
            are used.
        """
        chunks = chunks_of(data)
        columns = _columns(chunks.empty, value, names, dtype, missing)
        return cls(chunks, columns, client, _tally(chunks, columns, client))

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of labels of each mode."""
        return tuple(len(keys) for keys in self._keys)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self._columns.dtype

    @cached_property
    def restore(self) -> ToTable:
        """Converts an array of the tensor's shape to a pandas table with all its entries."""
        return ToTable(
            PANDAS, tuple(self._columns.all), self._columns.value, self._keys, {"index": [], "series": False}
        )

    def counts(self, mode: int) -> Integers:
        """Return the number of entries of each index of a mode."""
        counts: Integers = self._counts[mode_number(mode, "mode", len(self.shape))]
        return counts

    def pieces(self, mode: int, bounds: ArrayLike, parts: Sequence[int]) -> dict[int, list[Future[Any]]]:
        """Return the entries of some parts of the tensor, as one future for each chunk.

        Parameters
        ----------
        mode
            The mode that is split.
        bounds
            Part `k` has the entries whose index along the mode is from ``bounds[k]`` to ``bounds[k + 1] - 1``.
        parts
            The numbers of the requested parts.

        Returns
        -------
        dict
            For each part the futures, in the order of the table. Each is of ``(coords, values)``: the (n, ndim)
            coordinates in the numbering of the whole tensor, as int32 where that suffices, and the (n,) values. There
            may be none (n = 0).
        """
        split, edges, wanted = mode_number(mode, "mode", len(self.shape)), np.asarray(bounds), tuple(map(int, parts))
        labels, many = self.labels_on_workers(), len(self._chunks.origins)
        run = uuid4().hex
        divided = self._client.map(
            _divided, self._chunks.contents(self._client), self._chunks.origins, [labels] * many,
            key=[(f"tensorfill-read-{run}", number) for number in range(many)],
            columns=self._columns, mode=split, bounds=edges, parts=wanted,
        )  # fmt: skip
        return {
            part: self._client.map(
                operator.getitem, divided, [part] * many,
                key=[(f"tensorfill-piece-{run}", part, number) for number in range(many)],
            )
            for part in wanted
        }  # fmt: skip

    def labels_on_workers(self) -> Future[Any]:
        """Return the labels as a future on all workers; send them again if the workers that held them are lost."""
        if self._broadcast is None or self._broadcast.status != "finished":
            [self._broadcast] = self._client.scatter([self.labels], broadcast=True)
        return self._broadcast


def _columns(
    empty: Any, value: str | None, names: Sequence[str] | None, dtype: DTypeLike, missing: str | None
) -> Columns:
    """Return the roles of the columns of a table, with the checks that need no rows."""
    if missing is not None:
        choice(missing, "missing, unless None,", MISSING)
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise TypeError(f"dtype must be float32 or float64, but {kind} was given.")
    given = PANDAS.columns(empty)
    keys, chosen = roles(given, value)
    # The type of the values in a column of objects is not known until it is read.
    if empty[chosen].dtype != object and PANDAS.numbers(empty, chosen) is None:
        raise no_numbers(given, chosen)
    if names is not None:
        keys = _modes(names, keys)
    return Columns(tuple(keys), chosen, missing, kind)


def _modes(names: Sequence[str], keys: Sequence[Hashable]) -> list[Hashable]:
    """Return the columns with these names."""
    named = {str(column): column for column in keys}
    wanted = [names] if isinstance(names, str) else [str(name) for name in names]
    if len(set(wanted)) < len(wanted) or len(wanted) < 2 or not set(wanted) <= set(named):
        raise ValueError(
            f"names must be two or more different columns of keys, among {', '.join(map(repr, named))}, but {names!r} "
            "was given."
        )
    return [named[name] for name in wanted]


def _tally(chunks: Chunks, columns: Columns, client: Client) -> Tally:
    """Return the tally of all chunks; an invalid one raises an error."""
    origins = chunks.origins
    if not origins:
        return Tally()
    run = uuid4().hex
    found = client.map(
        tallied, chunks.contents(client), origins,
        key=[(f"tensorfill-labels-{run}", number) for number in range(len(origins))], columns=columns,
    )  # fmt: skip
    level = 0
    while len(found) > 1:
        groups = [found[first : first + AT_ONCE] for first in range(0, len(found), AT_ONCE)]
        keys = [(f"tensorfill-unite-labels-{run}", level, number) for number in range(len(groups))]
        found, level = client.map(united, groups, key=keys), level + 1
    tally: Tally = found[0].result()
    if tally.refusal is not None:
        raise tally.refusal
    # Workers fit values as they are, in the unit of the table.
    check_largest(tally.largest, columns.dtype.name, ORDINARY, " on several machines")
    return tally


def _divided(
    content: Any,
    origin: Origin,
    labels: Labels,
    *,
    columns: Columns,
    mode: int,
    bounds: Integers,
    parts: Sequence[int],
) -> dict[int, tuple[Integers, Floats]]:
    """Return the coordinates and values of the entries of one chunk that belong to each part, on a worker."""
    coords, values = coded(rows_of(content, columns.all), columns, labels, origin)
    # Arrow would keep the memory of the rows for later reads, but there may be none.
    need("pyarrow", "dask").default_memory_pool().release_unused()
    part = np.searchsorted(bounds, coords[:, mode], side="right") - 1
    order = np.argsort(part, kind="stable")
    starts = np.searchsorted(part[order], [[each, each + 1] for each in parts])
    rows = {each: order[first:last] for each, (first, last) in zip(parts, starts, strict=True)}
    return {each: (take_rows(coords, own), values[own]) for each, own in rows.items()}


def coded(table: Any, columns: Columns, labels: Labels, origin: Origin) -> tuple[Integers, Floats]:
    """Return the coordinates and values of the entries of a chunk."""
    seen, values = seen_values(table, columns, origin)
    shape = [len(keys) for keys in labels.keys if keys is not None]
    coords = np.empty((len(values), len(shape)), dtype=smallest_index_type(max(shape)), order="F")
    for mode, column in enumerate(columns.keys):
        # Each label is looked up once.
        keys, places = PANDAS.numbered(table, column)
        coords[:, mode] = labels.positions(mode, PANDAS.plain(keys))[places[seen]]
    return coords, values
