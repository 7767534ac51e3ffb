"""A table in parts on workers: how it is divided, and whether it fits in their memory."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from .._support.fingerprints import fingerprint
from .._support.words import bytes_in_words
from ..algebra.unfolding import columns
from ..choosing.holdout.splits import ENOUGH
from ..labels import Labels
from ..losses import Loss
from ..models import Model
from .assembly import Piece, part_from_pieces
from .cluster import Connection
from .crew import Crew
from .cutting import Cut, cut_evenly
from .model import SpreadModel
from .part import ALL, FITTED, Part
from .problem import SpreadProblem, SpreadSplit, SpreadValues, working
from .table import SpreadTable

USUAL_RANK = 10
"""A rank that often suffices, to estimate the memory before the rank is chosen."""

BLOCKS = 5
"""The peak number of arrays of the size of the right factors on a worker: two iterates, the extrapolated point, the
block of an unfolding, and the next iterate."""

VECTORS = 5
"""The peak number of vectors with a number for each entry on a worker."""

OF_LIMIT = 0.9
"""The share of the memory of a worker that its part may need."""

MOST_HELD_OUT = 1_000_000
"""The maximum number of held-out entries: more would not improve the choice."""


class Session:
    """A table whose entries are on the workers, in parts, within a context.

    Parameters
    ----------
    connection
        The cluster.
    table
        The table, with its labels.
    loss
        How predictions are compared with its values.
    modes, rank
        The regularised modes, by number, and their expected rank.
    beside
        A file in a folder that all workers can access, next to which they write snapshots in case one of them is lost;
        without one, they use a temporary folder if all of them are on this machine.
    """

    def __init__(
        self,
        connection: Connection,
        table: SpreadTable,
        loss: Loss,
        modes: Sequence[int],
        rank: int = USUAL_RANK,
        beside: Path | None = None,
    ) -> None:
        self.connection, self.table, self.loss = connection, table, loss
        workers = sorted(connection.client.ncores())
        split = int(np.argmax(table.shape))
        self.cut = cut_evenly(table.shape, split, table.counts(split), len(workers))
        self._check_memory(rank, modes)
        self._folder = None
        if beside is not None or connection.is_local:
            self._folder = tempfile.mkdtemp(prefix="tensorfill-", dir=None if beside is None else beside.parent)
        self.crew = Crew(connection.client, workers[: self.cut.parts], self._source, self._folder)
        self._pieces: dict[int, list[Any]] = {}

    def __enter__(self) -> Self:
        """Send the entries to the workers."""
        with ExitStack() as unless_made:
            unless_made.callback(self.close)
            # One pass over the table for all parts.
            self._pieces = self.table.pieces(self.cut.mode, self.cut.bounds, range(self.cut.parts))
            self.crew.make()
            unless_made.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def split(self, share: float, seed: int) -> SpreadSplit:
        """Hold out a share of the entries, drawn on the workers, and return the split."""
        share = min(share, MOST_HELD_OUT / self.table.count)
        answers = self.crew.settle("hold_out", [(share, seed)] * self.cut.parts)
        fitted = sum(count for count, _, _ in answers)
        held_out = SpreadValues(np.concatenate([values for _, _, values in answers]))
        return SpreadSplit(self._problem(FITTED, fitted, f"without {share} by {seed}"), held_out)

    def whole(self) -> SpreadProblem:
        """Return the problem of all entries, and free the memory of a split."""
        self.crew.settle("take_all", [()] * self.cut.parts)
        return self._problem(ALL, self.table.count)

    def errors(self, model: Model) -> tuple[float, float]:
        """Return the root mean square errors of a model, and of 0, at the observed entries."""
        every = max(1, self.table.count // ENOUGH)
        losses = self.crew.ask_each("some_losses", [(ALL, each, every) for each in working(model).told])
        zero = math.sqrt(self.crew.total("squared_norm", ALL) / self.table.count)
        return math.sqrt(2 * float(np.mean(np.concatenate(losses)))), zero

    def left_there(self, model: Model) -> SpreadModel:
        """Return a model of the run as one that stays on the workers after the session."""
        return working(model).left_there

    def close(self) -> None:
        """Remove the entries and everything computed from them from the workers."""
        self._pieces.clear()
        # Lost workers have nothing to remove.
        with suppress(OSError):
            self.crew.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @cached_property
    def fingerprint(self) -> str:
        """Identifies the table, however it is cut."""
        entries = sum(self.crew.ask("digest")) % 2**64
        return fingerprint(self.table.labels.names, self.table.shape, str(self.table.dtype), self.loss, entries)

    def _problem(self, which: str, count: int, known_as: str = "") -> SpreadProblem:
        return SpreadProblem.of(
            self.crew, self.cut, which, self.loss, count, self.table.dtype, f"{self.fingerprint} {known_as}"
        )

    def _source(self, part: int) -> tuple[Callable[..., Part], Sequence[Any]]:
        pieces = self._pieces.pop(part, None) or self.table.pieces(self.cut.mode, self.cut.bounds, [part])[part]
        return assembled, [self.cut, part, self.loss, self.table.labels_on_workers(), *pieces]

    def _check_memory(self, rank: int, modes: Sequence[int]) -> None:
        """Raise an error if the table does not fit in the memory of the workers, before anything is sent to them."""
        limits = self.connection.client.run(memory_limit)
        counts = np.add.reduceat(self.table.counts(self.cut.mode), self.cut.bounds[:-1])
        needed = [
            memory_of(self.cut, part, int(count), self.table.dtype, rank, modes) for part, count in enumerate(counts)
        ]
        least = min((limit for limit in limits.values() if limit), default=0)
        if least and max(needed) > OF_LIMIT * least:
            raise MemoryError(
                f"a worker would need {bytes_in_words(max(needed))} for its part of the table at rank {rank}, but a "
                f"worker of this cluster may use {bytes_in_words(least)}; add workers, or give them more memory, "
                "modes without the longest unfoldings, or dtype=float32."
            )


def memory_of(cut: Cut, part: int, count: int, dtype: np.dtype[Any], rank: int, modes: Sequence[int]) -> float:
    """Estimate the number of bytes that a part needs on its worker.

    Parameters
    ----------
    cut, part, count
        How the tensor is cut, which part this is, and how many entries it has.
    dtype
        The type of the values.
    rank
        The rank of each component.
    modes
        The regularised modes.
    """
    shape = cut.shape_of(part)
    index = 4 if max(shape) < 2**31 else 8
    # All entries, the fitted ones, and their places in each unfolding.
    entries = count * (2 * (len(shape) * index + dtype.itemsize) + VECTORS * dtype.itemsize)
    places = sum(count * (index + (4 if columns(shape, mode) < 2**31 else 8)) for mode in modes)
    factors = sum(columns(shape, mode) * rank * dtype.itemsize * BLOCKS for mode in modes)
    return float(entries + places + factors)


def memory_limit(dask_worker: Any) -> int:
    """Return the memory limit of the current worker in bytes; 0 means no limit."""
    return int(dask_worker.memory_manager.memory_limit or 0)


def assembled(cut: Cut, number: int, loss: Loss, labels: Labels, *pieces: Piece) -> Part:
    """Assemble a part on its worker, from the pieces of all chunks of the table."""
    first, last = cut.bounds[number], cut.bounds[number + 1]
    return Part(cut, number, part_from_pieces(pieces, labels, cut.mode, first, last), loss)
