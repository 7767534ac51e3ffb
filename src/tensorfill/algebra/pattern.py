"""Where the observed entries lie in each unfolding, and which thread walks which of them in which order.

Two things decide what a walk over the entries costs: that no two threads write to the same place, and that the rows of
the long side of an unfolding that are at work fit in a core's cache. The entries stay in C order for every mode.

- The columns of modes 1, 2, ... name the first index. Threads take whole slices of mode 0, and within one slice a walk
  meets columns that lie together.
- The columns of mode 0 are all others, and each slice runs over all of them again. So they are cut into blocks that
  fit in the cache, each slice gives one run to each block, and a walk takes block by block; threads take whole blocks.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._types import Floats, Integers
from ..parallel import side_by_side, thread_count
from . import kernels
from .component import Component, WeightedComponent
from .unfolding import Shape, column_index, columns

SMALLEST_SHARE = 2**14
"""Entries below which a thread of its own costs more than it brings."""

CACHED_BYTES, ROW_BYTES = 2**18, 64
"""What a block of columns may take of a core's cache, and what one column takes with the usual eight numbers."""

SHORTEST_RUN = 16
"""Blocks are made so large that the runs have at least this many entries on average."""


@dataclass(frozen=True, eq=False)
class Share:
    """What one thread walks.

    Parameters
    ----------
    runs
        The entries ``runs[q, 0]`` to ``runs[q, 1]`` for each q, in the order of the walk.
    first, last
        All columns of these entries are in this range, and those of other shares are not.
    """

    runs: Integers
    first: int
    last: int


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
        slices = _cut_by_slice(coords[:, 0], shape[0], threads)
        self.shares = {mode: [_as_share(part, columns(shape, mode) // shape[0]) for part in slices] for mode in modes}
        if 0 in modes:
            self.shares[0] = _cut_by_block(coords[:, 0], self.cols[0], columns(shape, 0), threads)

        self._kept = threading.local()

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
                self._add_component(part, part.u * (weight * part.s).astype(part.u.dtype), out)
        return out

    def _add_component(self, part: Component, u: Floats, out: Floats) -> None:
        rows, cols = self.rows[part.mode], self.cols[part.mode]
        self._each_share(part.mode, lambda share: kernels.add_entries(rows, cols, u, part.v, share.runs, out))

    def add_left(self, mode: int, values: Floats, a: Floats, out: Floats, others: Sequence[Floats] = ()) -> None:
        """Add to `out` the transposed sparse unfolding, with these values at the entries, times `a`, and the others."""

        def add(share: Share) -> None:
            mine = slice(share.first, share.last)
            for other in others:
                out[mine] += other[mine]
            kernels.add_products(self.rows[mode], self.cols[mode], values, a, share.runs, out)

        self._each_share(mode, add)

    def right_parts(self, mode: int, values: Floats, b: Floats) -> list[Callable[[], Floats]]:
        """Return tasks whose answers add up to the sparse unfolding, with these values at the entries, times `b`."""

        def part(share: Share) -> Floats:
            out = np.zeros((self.shape[mode], b.shape[1]), dtype=b.dtype)
            kernels.add_products(self.cols[mode], self.rows[mode], values, b, share.runs, out)
            return out

        return [partial(part, share) for share in self.shares[mode]]

    def _each_share(self, mode: int, work: Callable[[Share], None]) -> None:
        side_by_side([partial(work, share) for share in self.shares[mode]])


def _unsigned(index: Integers) -> NDArray[Any]:
    """Return an index as unsigned numbers, which a compiled loop need not look at for a minus."""
    return index.view(np.dtype(f"u{index.dtype.itemsize}"))


def _cut_by_slice(first: Integers, size: int, threads: int) -> list[tuple[int, int, int, int]]:
    """Return entries from and to, and slices of mode 0 from and to, for each thread: of about as many entries each."""
    cuts = np.linspace(0, len(first), threads + 1).astype(np.int64)
    cuts[1:-1] = np.searchsorted(first, first[cuts[1:-1]])
    cuts = np.unique(cuts)
    slices = [0, *(int(first[cut]) for cut in cuts[1:-1]), size]
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), slices[:-1], slices[1:], strict=True))


def _as_share(part: tuple[int, int, int, int], columns_each: int) -> Share:
    start, stop, first, last = part
    return Share(np.array([[start, stop]], dtype=np.int64), first * columns_each, last * columns_each)


def _cut_by_block(first: Integers, cols: NDArray[Any], size: int, threads: int) -> list[Share]:
    """Return for each thread blocks of the columns of mode 0, of about as many entries in all."""
    slices = np.unique(first).astype(np.int64)
    blocks = min(math.ceil(size * ROW_BYTES / CACHED_BYTES), len(first) // (SHORTEST_RUN * len(slices)))
    limits = np.unique(np.linspace(0, size, max(blocks, 4 * threads if threads > 1 else 1) + 1).astype(np.int64))
    # Entries in C order are sorted by this number.
    place = first.astype(np.int64) * size + cols.astype(np.int64)
    cuts = np.searchsorted(place, slices * size + limits[:, None])
    runs = np.stack([cuts[:-1], cuts[1:]], axis=-1)
    entries = np.concatenate([[0], np.cumsum((runs[..., 1] - runs[..., 0]).sum(axis=1))])
    edges = np.unique(np.searchsorted(entries, np.linspace(0, entries[-1], threads + 1)))
    edges[0], edges[-1] = 0, len(runs)
    return [
        Share(_without_empty(runs[a:b].reshape(-1, 2)), int(limits[a]), int(limits[b]))
        for a, b in itertools.pairwise(edges)
    ]


def _without_empty(runs: Integers) -> Integers:
    return np.ascontiguousarray(runs[runs[:, 0] < runs[:, 1]])
