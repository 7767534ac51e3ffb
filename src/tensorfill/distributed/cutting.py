"""How a tensor is cut along one mode into parts, each of which is a smaller tensor.

A part has the slices of a range of indices of the split mode p. Its unfolding along another mode j has the columns of
``unfold_j`` that belong to the range, and so the rows of V_j. Its unfolding along p has the rows of the range, and so
the rows of U_p, and all columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._support.types import Floats, Integers
from ..algebra.unfolding import Shape, columns


@dataclass(frozen=True)
class Cut:
    """A tensor that is cut along a mode.

    Parameters
    ----------
    shape
        The shape of the whole tensor.
    mode
        The mode p along which it is cut.
    bounds
        Part k has the indices ``bounds[k]`` to ``bounds[k + 1]``.
    """

    shape: Shape
    mode: int
    bounds: tuple[int, ...]

    @property
    def parts(self) -> int:
        """The number of parts."""
        return len(self.bounds) - 1

    @property
    def ranges(self) -> list[slice]:
        """The indices of each part."""
        return [slice(first, last) for first, last in itertools.pairwise(self.bounds)]

    def shape_of(self, part: int) -> Shape:
        """Return the shape of a part."""
        sizes = list(self.shape)
        sizes[self.mode] = self.bounds[part + 1] - self.bounds[part]
        return tuple(sizes)

    def rows_of(self, v: Floats, mode: int, part: int) -> Floats:
        """Return the rows of V_j that a part holds: those of its range, or all for the split mode."""
        if mode == self.mode:
            return v
        return np.ascontiguousarray(self._by_split_mode(v, mode, self.shape)[:, self.ranges[part]]).reshape(
            columns(self.shape_of(part), mode), v.shape[1]
        )

    def joined(self, pieces: Sequence[Floats], mode: int) -> Floats:
        """Return V_j from the rows of every part."""
        if mode == self.mode:
            return pieces[0]
        blocks = [self._by_split_mode(piece, mode, self.shape_of(part)) for part, piece in enumerate(pieces)]
        return np.concatenate(blocks, axis=1).reshape(columns(self.shape, mode), pieces[0].shape[1])

    def part_of(self, indices: Integers) -> Integers:
        """Return the part of each index along the split mode."""
        return np.searchsorted(np.asarray(self.bounds), indices, side="right") - 1

    def _by_split_mode(self, v: Floats, mode: int, shape: Shape) -> Floats:
        """Return rows of V_j as an array (modes before p, p, modes after p and the rank), a view."""
        others = [size for axis, size in enumerate(shape) if axis != mode]
        place = self.mode - (mode < self.mode)
        before = int(np.prod(others[:place], dtype=np.int64))
        after = int(np.prod(others[place + 1 :], dtype=np.int64))
        return v.reshape(before, others[place], after * v.shape[1])


def cut_evenly(shape: Shape, mode: int, counts: Integers, parts: int) -> Cut:
    """Return a cut into parts with about the same number of entries each.

    An index with many entries may be a part by itself.

    Parameters
    ----------
    shape, mode
        The shape of the tensor, and the mode to cut.
    counts
        The number of entries of each index of the mode.
    parts
        The number of parts; there are fewer if fewer indices have entries.

    Examples
    --------
    >>> cut_evenly((5, 4), 0, np.array([1, 1, 9, 1, 1]), 3).bounds
    (0, 2, 3, 5)
    """
    parts = min(parts, shape[mode])
    done = np.concatenate([[0], np.cumsum(counts)])
    bounds = [0]
    for part in range(1, parts):
        # The remaining entries are shared by the remaining parts, each of which has at least one index.
        wanted = done[bounds[-1]] + (done[-1] - done[bounds[-1]]) / (parts - part + 1)
        above = int(np.searchsorted(done, wanted))
        nearest = above if done[above] - wanted <= wanted - done[above - 1] else above - 1
        bounds.append(min(max(nearest, bounds[-1] + 1), shape[mode] - (parts - part)))
    # A range without any entry goes to the part before it.
    filled = [first for first, last in itertools.pairwise((*bounds, shape[mode])) if done[first] < done[last]]
    return Cut(shape, mode, (0, *filled[1:], shape[mode]))
