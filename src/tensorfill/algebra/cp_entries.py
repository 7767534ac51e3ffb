"""Sums over the observed entries for models that are sums of outer products, for each index of a mode."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.parallel import parts_of, side_by_side
from .._support.types import Floats, Integers
from .loops import loops
from .svd import whole_registers

AnyArray = NDArray[Any]

FEWEST_TOGETHER, MOST_TOGETHER = 2**13, 2**15
"""The entries that are sorted together: their products stay in the cache, and entries with the same index are summed in
registers."""

FOR_EACH_INDEX = 8
"""Within these bounds, this number of entries is sorted together for each index of a mode."""

NUMBERS_EACH = 8
"""The threads together have at most this many sums for each entry, or one thread has all."""


class EntriesByIndex:
    """Entries and, for each mode, their places in the order of their indices.

    Parameters
    ----------
    coords
        The coordinates, one row each, in C order.
    shape
        The shape of the tensor.
    """

    def __init__(self, coords: Integers, shape: Sequence[int]) -> None:
        self.coords, self.shape = _fixed(np.asarray(coords, order="F")), tuple(shape)
        self._places: dict[int, Integers] = {}

    def together(self, mode: int) -> int:
        """Return how many entries are sorted together for a mode."""
        return min(max(FOR_EACH_INDEX * self.shape[mode], FEWEST_TOGETHER), MOST_TOGETHER)

    def places(self, mode: int) -> Integers:
        """Return the place of each entry among those sorted together in the order of their indices, computed once."""
        if mode not in self._places:
            index = np.ascontiguousarray(self.coords[:, mode])
            # NumPy sorts short integers by counting.
            index = index.astype(np.uint16) if self.shape[mode] <= 2**16 else index
            places, together = np.empty(len(index), np.uint16), self.together(mode)
            for first in range(0, len(index), together):
                order = np.argsort(index[first : first + together], kind="stable")
                places[first + order] = np.arange(len(order))
            self._places[mode] = places
        return self._places[mode]

    def normal_equations(self, values: Floats, factors: Sequence[Floats], mode: int) -> tuple[Floats, Floats]:
        """Return the sums of ``w_p w_p^T`` and of ``o_p w_p`` over the entries p of each index of a mode.

        The feature w_p is the product of the rows of the other factors, and o_p the value. Above the diagonal, the sums
        of ``w_p w_p^T`` have no meaning.
        """
        terms, sums = factors[mode].shape[1], self._sums(values, factors, mode, separate=False)
        return sums[:, :terms, :terms], sums[:, terms, :terms]

    def separate_normal_equations(self, values: Floats, factors: Sequence[Floats], mode: int) -> tuple[Floats, Floats]:
        """Return the sums of ``w_p^2`` and ``o_p w_p``, term by term, for many models with one term each."""
        terms, sums = factors[mode].shape[1], self._sums(values, factors, mode, separate=True)
        return sums[:, 0, :terms], sums[:, 1, :terms]

    def _sums(self, values: Floats, factors: Sequence[Floats], mode: int, *, separate: bool) -> Floats:
        """Return the sums for each index of a mode; the threads share the entries."""
        entries, terms = len(values), factors[mode].shape[1]
        height, width = 2 if separate else terms + 1, whole_registers(terms + 1, np.dtype(np.float64))
        # A register may end behind the last row.
        flat = np.concatenate([*(factor.ravel() for factor in factors), np.zeros(width)])[None]
        starts = np.cumsum([0, *(factor.size for factor in factors)])[:-1].astype(np.int64)
        size, together = self.shape[mode] * height, self.together(mode)
        shares = parts_of(0, entries, beside=max(together, size * width // NUMBERS_EACH))
        shares[1:-1] -= shares[1:-1] % together
        sums = np.zeros((len(shares) - 1, size, width))
        add = loops("cp", entries, entries * height * width).normal_equations
        given = self.places(mode), self.coords, _fixed(values), mode, flat, starts, terms, together, separate
        tasks = zip(itertools.pairwise(shares), sums, strict=True)
        side_by_side([partial(add, *given, *share, out) for share, out in tasks])
        for part in sums[1:]:
            sums[0] += part
        whole: Floats = sums[0].reshape(-1, height, width)
        return whole


def _fixed(array: AnyArray) -> AnyArray:
    """Return a view that cannot be written to. Loops are compiled for these, and would be again for other entries."""
    view = array.view()
    view.flags.writeable = False
    return view
