"""Products of rows of factor matrices at given entries, and their sums over all entries with the same index.

These are all that a sum of outer products needs to be fitted to some entries of a tensor: nothing of the size of the
tensor is made, and the work goes chunk by chunk, so that the rows gathered for a chunk stay in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse

from .._support.types import Floats, Integers
from .unfolding import smallest_index_type

CHUNK = 2**12
"""The least number of entries in a chunk."""


class EntryChunk:
    """Some entries of a tensor, sorted by the index of each mode.

    Parameters
    ----------
    where
        Their places among all entries.
    coords
        Their coordinates.
    shape
        The shape of the tensor.
    dtype
        The type of the numbers that are added up.
    """

    def __init__(self, where: slice, coords: Integers, shape: Sequence[int], dtype: np.dtype[Any]) -> None:
        self.where = where
        self._columns = [np.ascontiguousarray(coords[:, mode]) for mode in range(len(shape))]
        self._orders, self._sums = [], []
        index_type = smallest_index_type(len(coords))
        for column, size in zip(self._columns, shape, strict=True):
            order = np.argsort(column, kind="stable").astype(index_type)
            starts = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=size))]).astype(index_type)
            numbers = np.zeros(len(order), dtype)
            self._orders.append(order)
            self._sums.append(scipy.sparse.csr_array((numbers, order, starts), shape=(size, len(order))))

    def rows(self, factors: Sequence[Floats]) -> list[Floats]:
        """Return, for each factor, its row at every entry."""
        return [factor.take(column, axis=0) for factor, column in zip(factors, self._columns, strict=True)]

    def add_up(self, mode: int, weights: Floats, products: Floats, out: Floats) -> None:
        """Add ``weights[p] * products[p]`` to the row of `out` with the index of entry p in a mode, for all p."""
        self._sums[mode].data = weights[self._orders[mode]]
        out += self._sums[mode] @ products


def entry_chunks(coords: Integers, shape: Sequence[int], dtype: np.dtype[Any]) -> list[EntryChunk]:
    """Return all entries in chunks.

    A chunk has at least as many entries as a factor has rows, because to add up its entries touches every row.
    """
    length = max(CHUNK, *shape)
    places = [slice(first, first + length) for first in range(0, len(coords), length)]
    return [EntryChunk(where, coords[where], shape, dtype) for where in places]


def contracted(chunks: Sequence[EntryChunk], weights: Floats, factors: Sequence[Floats], mode: int) -> Floats:
    """Return the product of the sparse tensor with these weights and column r of all factors but one, for every r."""
    out = np.zeros_like(factors[mode])
    for chunk in chunks:
        rows = chunk.rows(factors)
        products = reduce(np.multiply, [row for other, row in enumerate(rows) if other != mode])
        chunk.add_up(mode, weights[chunk.where], products, out)
    return out


def products_of_others(arrays: Sequence[Floats]) -> list[Floats]:
    """Return, for each of two or more arrays, the product of all others.

    >>> [int(product) for product in products_of_others([np.array(2), np.array(3), np.array(5), np.array(7)])]
    [105, 70, 42, 30]
    """
    before, after = [arrays[0]], [arrays[-1]]
    for array in arrays[1:-1]:
        before.append(before[-1] * array)
    for array in arrays[-2:0:-1]:
        after.append(after[-1] * array)
    between = [left * right for left, right in zip(before[:-1], after[-2::-1], strict=True)]
    return [after[-1], *between, before[-1]]
