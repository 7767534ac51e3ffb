"""Where the observed entries lie in each unfolding, and which thread walks which of them in which order.

Two things decide what a walk over the entries costs: that no two threads write to the same place, and that the rows of
the long side of an unfolding that are at work fit in a core's cache. So the columns of every unfolding are cut into
pieces, ranges of their leading mode, that fit in the cache; a thread has a share of them, and deals with one after the
other. The entries stay in C order for every mode.

- The leading mode of the unfoldings along modes 1, 2, ... is mode 0: the entries of a piece follow one another.
- That of mode 0 is mode 1: every slice of mode 0 gives one run of entries to each piece.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._support.parallel import side_by_side, thread_count
from .._support.types import Floats, Integers
from .component import Component, WeightedComponent, scaled
from .unfolding import Shape, column_index, columns, leading_mode

SMALLEST_SHARE = 2**14
"""Entries below which a thread of its own costs more than it brings."""

CACHED_BYTES, ROW_BYTES = 2**18, 64
"""What the columns of a piece may take of a core's cache, and what one takes with the usual eight numbers."""

SHORTEST_RUN = 16
"""Pieces are made so large that the runs have at least this many entries on average."""


class Share(NamedTuple):
    """What one thread deals with.

    Parameters
    ----------
    pieces
        The q-th piece has the columns ``pieces[q, 0]`` to ``pieces[q, 1]``,
    bounds
        and the runs ``bounds[q]`` to ``bounds[q + 1]``.
    runs
        A run has the entries ``runs[t, 0]`` to ``runs[t, 1]``.
    """

    pieces: Integers
    bounds: Integers
    runs: Integers


class SparsePattern:
    """The observed entries in each unfolding.

    Parameters
    ----------
    coords
        Coordinates of the entries, sorted in C order.
    shape
        Shape of the tensor.
    modes
        The modes whose unfoldings are needed.
    """

    def __init__(self, coords: Integers, shape: Shape, modes: Sequence[int]) -> None:
        self.shape = shape
        self.count = len(coords)
        self.rows = {mode: _unsigned(np.ascontiguousarray(coords[:, mode])) for mode in modes}
        self.cols = {mode: _unsigned(column_index(coords, shape, mode)) for mode in modes}
        threads = min(thread_count(), 1 + self.count // SMALLEST_SHARE)
        self.shares = {mode: self._cut(coords[:, 0], mode, threads) for mode in modes}
        self._kept = threading.local()

    def _cut(self, first: Integers, mode: int, threads: int) -> list[Share]:
        """Return pieces of the columns for each thread, of about as many entries and columns in all."""
        leading, size = self.shape[leading_mode(mode)], columns(self.shape, mode)
        slices = np.unique(first).astype(np.int64) if mode == 0 else np.zeros(1, dtype=np.int64)
        count = min(math.ceil(size * ROW_BYTES / CACHED_BYTES), self.count // (SHORTEST_RUN * len(slices)))
        limits = np.unique(np.linspace(0, leading, max(count, threads) + 1).astype(np.int64))
        if mode == 0:
            # Entries in C order are sorted by this number.
            place = first.astype(np.int64) * size + self.cols[0].astype(np.int64)
            cuts = np.searchsorted(place, slices * size + limits[:, None] * (size // leading))
        else:
            cuts = np.searchsorted(first, limits)[:, None]
        runs = np.stack([cuts[:-1], cuts[1:]], axis=-1)
        pieces = np.stack([limits[:-1], limits[1:]], axis=1) * (size // leading)
        work = (runs[..., 1] - runs[..., 0]).sum(axis=1) + pieces[:, 1] - pieces[:, 0]
        done = np.concatenate([[0], np.cumsum(work)])
        edges = np.unique(np.searchsorted(done, np.linspace(0, done[-1], threads + 1)))
        edges[0], edges[-1] = 0, len(work)
        return [_share(pieces[start:stop], runs[start:stop]) for start, stop in itertools.pairwise(edges)]

    def room(self, use: str, shapes: Sequence[tuple[int, int]], dtype: DTypeLike) -> list[Floats]:
        """Return arrays of these shapes, with anything in them: the same memory at every call for the same use.

        Arrays of this size that are made anew at every step cost page faults, and leave holes in the memory.
        """
        ends = np.cumsum([0, *(math.prod(shape) for shape in shapes)])
        pools: dict[str, Floats] = vars(self._kept)
        if use not in pools or len(pools[use]) < ends[-1] or pools[use].dtype != dtype:
            pools[use] = np.empty(ends[-1], dtype=dtype)
        pairs = zip(itertools.pairwise(ends), shapes, strict=True)
        return [pools[use][start:end].reshape(shape) for (start, end), shape in pairs]

    @property
    def is_shared(self) -> bool:
        """Whether there are so many entries that threads share the work."""
        return any(len(shares) > 1 for shares in self.shares.values())

    def entries(self, components: Sequence[WeightedComponent]) -> Floats:
        """Return the values of a sum of components at the observed entries (Algorithm 1)."""
        out = np.zeros(self.count, dtype=components[0][1].u.dtype)
        for weight, part in components:
            if part.rank:
                self._add_component(part, scaled(part, weight), out)
        return out

    def _add_component(self, part: Component, u: Floats, out: Floats) -> None:
        from .compiled import kernels

        given = self.rows[part.mode], self.cols[part.mode], u, part.v
        side_by_side([partial(kernels.add_entries, *given, share.runs, out) for share in self.shares[part.mode]])


def _unsigned(index: Integers) -> NDArray[Any]:
    """Return an index as unsigned numbers, which a compiled loop need not look at for a minus."""
    unsigned = index.view(np.dtype(f"u{index.dtype.itemsize}"))
    # Of one kind with those that are part of the observations: a loop is compiled for either kind.
    unsigned.flags.writeable = False
    return unsigned


def _share(pieces: Integers, runs: Integers) -> Share:
    """Return a share of pieces, whose runs are ``runs[q]``, some of them empty."""
    present = runs[..., 0] < runs[..., 1]
    bounds = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    return Share(np.ascontiguousarray(pieces), bounds, np.ascontiguousarray(runs[present]))
