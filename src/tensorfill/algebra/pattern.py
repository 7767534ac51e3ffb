"""The places of the observed entries in each unfolding, and the order in which threads process them.

A loop over the entries is fast if no two threads write to the same place, and if the part of the long factor that is in
use fits in a core's cache. So the columns of every unfolding are cut into pieces, ranges of their leading mode, that
fit in the cache. A thread takes a share of the pieces and processes them one after the other. How many shares there are
does not depend on the number of threads, and so no result does. The entries stay in C order for every mode.

- The leading mode of the unfoldings along modes 1, 2, ... is mode 0: the entries of a piece are consecutive.
- The leading mode of the unfolding along mode 0 is mode 1: each slice of mode 0 contributes one run of entries to each
  piece.
"""

from __future__ import annotations

import bisect
import itertools
import math
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._support.parallel import MOST_PARTS, side_by_side
from .._support.types import Floats, Integers
from .component import Component, WeightedComponent, scaled
from .svd import lanes_of
from .unfolding import Shape, column_index, columns, leading_mode, smallest_index_type

SMALLEST_SHARE = 2**14
"""With fewer entries than this, another thread costs more time than it saves."""

CACHED_BYTES, ROW_BYTES = 2**19, 64
"""The bytes of a core's cache for the columns of a piece, and the bytes of one column with the usual eight numbers."""

SHORTEST_RUN = 16
"""Pieces are large enough for runs of at least this many entries on average."""


class Share(NamedTuple):
    """A share of the work, done by one thread.

    Parameters
    ----------
    pieces
        Piece q has the columns ``pieces[q, 0]`` to ``pieces[q, 1]``.
    bounds
        Piece q has the runs ``bounds[q]`` to ``bounds[q + 1]``.
    runs
        Run t has the entries ``runs[t, 0]`` to ``runs[t, 1]``.
    """

    pieces: Integers
    bounds: Integers
    runs: Integers


class SparsePattern:
    """The observed entries in each unfolding.

    Parameters
    ----------
    coords
        The coordinates of the entries, sorted in C order.
    shape
        The shape of the tensor.
    modes
        The modes whose unfoldings are needed.
    """

    def __init__(self, coords: Integers, shape: Shape, modes: Sequence[int]) -> None:
        self.shape = shape
        self.count = len(coords)
        self.rows = {mode: as_row(coords[:, mode], shape) for mode in modes}
        self.cols = {mode: as_column(column_index(coords, shape, mode)) for mode in modes}
        count = min(MOST_PARTS, 1 + self.count // SMALLEST_SHARE)
        self.shares = {mode: self._cut(coords, mode, count) for mode in modes}
        self._kept = threading.local()

    def _cut(self, coords: Integers, mode: int, shares: int) -> list[Share]:
        """Return about `shares` shares, balanced by their numbers of entries plus columns."""
        first, leading, size = coords[:, 0], self.shape[leading_mode(mode)], columns(self.shape, mode)
        slices = np.unique(first).astype(np.int64) if mode == 0 else np.zeros(1, dtype=np.int64)
        count = min(math.ceil(size * ROW_BYTES / CACHED_BYTES), self.count // (SHORTEST_RUN * len(slices)))
        limits = np.unique(np.linspace(0, leading, max(count, shares) + 1).astype(np.int64))
        if mode == 0:
            # Entries in C order are sorted by this number.
            place = first.astype(smallest_index_type(self.shape[0] * leading))
            place *= leading
            place += coords[:, 1].astype(place.dtype, copy=False)
            cuts = np.searchsorted(place, (slices * leading + limits[:, None]).astype(place.dtype))
        else:
            # NumPy would copy the coordinates of all entries first.
            cuts = np.array([bisect.bisect_left(first, limit) for limit in limits])[:, None]
        runs = np.stack([cuts[:-1], cuts[1:]], axis=-1)
        pieces = np.stack([limits[:-1], limits[1:]], axis=1) * (size // leading)
        work = (runs[..., 1] - runs[..., 0]).sum(axis=1) + pieces[:, 1] - pieces[:, 0]
        done = np.concatenate([[0], np.cumsum(work)])
        edges = np.unique(np.searchsorted(done, np.linspace(0, done[-1], shares + 1)))
        edges[0], edges[-1] = 0, len(work)
        return [_share(pieces[start:stop], runs[start:stop]) for start, stop in itertools.pairwise(edges)]

    def room(self, use: str, shapes: Sequence[tuple[int, int]], dtype: DTypeLike) -> list[Floats]:
        """Return uninitialised arrays of these shapes, in the same memory at every call for the same use.

        Allocating arrays of this size at every step would cost page faults and fragment the memory.
        """
        ends = np.cumsum([0, *(math.prod(shape) for shape in shapes)])
        pools: dict[str, Floats] = vars(self._kept)
        if use not in pools or len(pools[use]) < ends[-1] or pools[use].dtype != dtype:
            pools[use] = np.empty(ends[-1], dtype=dtype)
        pairs = zip(itertools.pairwise(ends), shapes, strict=True)
        return [pools[use][start:end].reshape(shape) for (start, end), shape in pairs]

    @property
    def is_shared(self) -> bool:
        """Whether several threads share the work."""
        return any(len(shares) > 1 for shares in self.shares.values())

    def entries(self, components: Sequence[WeightedComponent], out: Floats | None = None) -> Floats:
        """Return the values of a sum of components at the observed entries (Algorithm 1), in `out` if it fits."""
        dtype = components[0][1].u.dtype
        out = out if out is not None and out.dtype == dtype else np.empty(self.count, dtype)
        out[:] = 0
        for weight, part in components:
            if part.rank:
                self._add_component(part, in_registers(scaled(part, weight)), out)
        return out

    def left(self, mode: int, values: Floats, a: Floats) -> Floats:
        """Return the transposed unfolding of the sparse tensor with these values times `a`."""
        from .compiled import kernels

        out = np.zeros((columns(self.shape, mode), a.shape[1]), dtype=values.dtype)
        given = False, self.rows[mode], self.cols[mode], values, np.ascontiguousarray(a)
        side_by_side([partial(kernels.add_products, *given, share.runs, out) for share in self.shares[mode]])
        return out

    def _add_component(self, part: Component, u: Floats, out: Floats) -> None:
        from .compiled import kernels

        given = self.rows[part.mode], self.cols[part.mode], u, part.v
        side_by_side([partial(kernels.add_entries, *given, share.runs, out) for share in self.shares[part.mode]])


def in_registers(u: Floats) -> Floats:
    """Return the rows of u in the layout of `kernels.add_entries`: in two registers if they need two.

    The second register ends the row. Numbers that it shares with the first are zero in it.

    >>> in_registers(np.arange(1.0, 6.0)[None]).tolist()
    [[1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 5.0]]
    """
    rank, lanes = u.shape[1], lanes_of(u.dtype)
    if not lanes < rank < 2 * lanes:
        return u
    return np.hstack([u[:, :lanes], np.zeros((len(u), 2 * lanes - rank), u.dtype), u[:, lanes:]])


def as_row(index: Integers, shape: Shape) -> NDArray[Any]:
    """Return the index of entries along one mode in 16 bits if those along all modes fit, and in 32 or 64 otherwise."""
    size = max(shape)
    return _for_loops(index.astype(np.uint16 if size <= 2**16 else np.uint32 if size <= 2**32 else np.uint64))


def as_column(index: Integers) -> NDArray[Any]:
    """Return the columns of entries, an array of their own, in the width that they have."""
    return _for_loops(index.view(f"u{index.dtype.itemsize}"))


def _for_loops(index: NDArray[Any]) -> NDArray[Any]:
    """Return an unsigned index, which compiled loops do not test for negative values, as they are compiled for."""
    # Coordinates of observations are read-only, and a loop would be compiled again for writable arrays.
    index.flags.writeable = False
    return index


def _share(pieces: Integers, runs: Integers) -> Share:
    """Return a share of pieces; piece q has the runs ``runs[q]``, without the empty ones."""
    present = runs[..., 0] < runs[..., 1]
    bounds = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    return Share(np.ascontiguousarray(pieces), bounds, np.ascontiguousarray(runs[present]))
