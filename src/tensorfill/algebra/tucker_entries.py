"""Entries of a tensor in Tucker form, and sums over entries, block by block of the core.

The modes are divided into those with a factor matrix and those without. The core has a block for each combination of
indices of the modes without, and an entry depends only on the block of its combination, its group.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np

from .._support.ordering import order_by_modes
from .._support.parallel import parts_of, side_by_side
from .._support.types import Floats, Integers
from .loops import loops
from .unfolding import smallest_index_type


class FactorRows:
    """Factor matrices in one array, as the compiled loops take them.

    Parameters
    ----------
    factors
        One matrix for each mode that has one.
    """

    def __init__(self, factors: Sequence[Floats]) -> None:
        starts = np.cumsum([0, *(factor.size for factor in factors)])[:-1]
        self.flat = np.concatenate([np.zeros(0), *(factor.ravel() for factor in factors)])
        self.starts = starts.astype(np.int64)
        self.ranks = np.array([factor.shape[1] for factor in factors], dtype=np.int64)
        self.bounds = level_bounds([*self.ranks, 1])

    @property
    def arrays(self) -> tuple[Floats, Integers, Integers, Integers]:
        """All rows one after the other, where each factor starts among them, its rank, and where each level starts.

        Level l has as many numbers as a block of the core after a contraction with the first l factors.
        """
        return self.flat, self.starts, self.ranks, self.bounds

    def split(self, flat: Floats) -> list[Floats]:
        """Return an array in the layout of `flat` as a matrix for each factor."""
        parts = np.split(flat, self.starts[1:])
        return [part.reshape(-1, rank) for part, rank in zip(parts, self.ranks, strict=True)]


class EntriesInBlocks:
    """Entries block by block of the core, each in the order of its modes with factors; arranged when first asked for.

    What entries share in their first modes is computed once for all of them, and they share most if sorted by their
    smaller modes first.

    Parameters
    ----------
    coords, values
        The entries, in C order.
    shape
        The shape of the tensor.
    free
        The modes with factors.
    """

    def __init__(self, coords: Integers, values: Floats, shape: Sequence[int], free: Sequence[int]) -> None:
        self._coords, self._values, self._shape = coords, values, tuple(shape)
        self.free = sorted(free, key=lambda mode: (self._shape[mode], mode))
        self.fixed = [mode for mode in range(len(self._shape)) if mode not in self.free]

    @cached_property
    def arranged(self) -> tuple[Integers, Integers, Floats]:
        """The coordinates in the modes with factors, the block of each entry, and the values in double precision."""
        order = order_by_modes(self._coords, self._shape, self.fixed + self.free)
        sizes = [self._shape[mode] for mode in self.fixed]
        groups = np.zeros(len(self._coords), dtype=smallest_index_type(math.prod(sizes)))
        for mode, size in zip(self.fixed, sizes, strict=True):
            groups *= size
            groups += self._coords[order, mode]
        coords = np.empty((len(groups), len(self.free)), dtype=smallest_index_type(max(self._shape)))
        for place, mode in enumerate(self.free):
            coords[:, place] = self._coords[order, mode]
        return coords, groups, self._values[order].astype(np.float64, copy=False)


def level_bounds(sizes: Sequence[int]) -> Integers:
    """Return where arrays of the sizes ``prod(sizes[l:])``, for l = 0, 1, .., start if they are concatenated."""
    lengths = [math.prod(sizes[level:]) for level in range(len(sizes))]
    return np.array([0, *itertools.accumulate(lengths)], dtype=np.int64)


def values_at(coords: Integers, groups: Integers, core: Floats, rows: FactorRows) -> Floats:
    """Return the entries at these coordinates of the modes with factors, each in its group.

    Parameters
    ----------
    coords
        Of shape (entries, modes with factors); C order is fastest.
    groups
        The block of each entry.
    core
        Of shape (blocks, size of a block), in float64.
    rows
        The factors.
    """
    tucker = loops("tucker", len(coords), len(coords) * int(rows.bounds[-1] - rows.bounds[1]))
    out = np.empty(len(coords))
    shares = parts_of(0, len(coords))
    given = coords, groups, core, *rows.arrays
    side_by_side([partial(tucker.values_at, *given, *share, out) for share in itertools.pairwise(shares)])
    return out


def sums_over_blocks(
    coords: Integers, groups: Integers, values: Floats, rows: FactorRows, shape: tuple[int, int]
) -> Floats:
    """Return, for each block, the sum of ``values[p] * kron(a_1[i_1], a_2[i_2], ..)`` over its entries p.

    `shape` is the number of blocks and the size of a block. This is the transpose of `values_at`.
    """
    from .compiled import tucker

    shares = parts_of(0, len(coords), beside=shape[0] * shape[1])
    sums = np.zeros((len(shares) - 1, *shape))
    given = coords, groups, values, *rows.arrays
    tasks = [
        partial(tucker.add_to_core, *given, *share, out)
        for share, out in zip(itertools.pairwise(shares), sums, strict=True)
    ]
    side_by_side(tasks)
    total: Floats = sums.sum(axis=0)
    return total


def gradients(coords: Integers, slopes: Floats, core: Floats, rows: FactorRows) -> tuple[Floats, Floats]:
    """Return the gradients of ``sum_p slopes[p] * X_p`` for the core, and for all factors as one flat array.

    Parameters
    ----------
    coords
        The coordinates of the entries in all modes; C order is fastest.
    slopes
        A number for each entry.
    core
        The whole core as one row, in float64.
    rows
        The factors.
    """
    from .compiled import tucker_derivatives

    shares = parts_of(0, len(coords), beside=core.size)
    to_rows, to_core = (np.zeros((len(shares) - 1, numbers.size)) for numbers in (rows.flat, core))
    given = coords, slopes, core, *rows.arrays
    tasks = [
        partial(tucker_derivatives.add_gradients, *given, *share, *out)
        for share, *out in zip(itertools.pairwise(shares), to_rows, to_core, strict=True)
    ]
    side_by_side(tasks)
    return to_core.sum(axis=0), to_rows.sum(axis=0)


def changes_at(
    coords: Integers, core: Floats, rows: FactorRows, core_change: Floats, row_changes: FactorRows
) -> Floats:
    """Return the derivatives of the entries at these coordinates along a direction of the core and all factors."""
    from .compiled import tucker_derivatives

    out = np.empty(len(coords))
    here, onward = (np.ascontiguousarray(each, dtype=np.float64).ravel() for each in (core, core_change))
    given = coords, here, onward, rows.flat, row_changes.flat, *rows.arrays[1:]
    shares = parts_of(0, len(coords))
    side_by_side([partial(tucker_derivatives.changes_at, *given, *share, out) for share in itertools.pairwise(shares)])
    return out
