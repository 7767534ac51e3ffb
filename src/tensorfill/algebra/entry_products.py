"""Sums of outer products at given entries, and sums over these entries.

These operations are enough to fit a sum of outer products to some entries of a tensor. Nothing of the size of the
tensor is allocated. All factors have the same number of columns, the terms, and are concatenated in one flat array.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._support.parallel import parts_of, side_by_side
from .._support.types import Floats, Integers
from .loops import loops
from .unfolding import smallest_index_type


class TermEntries:
    """Some entries of a tensor; C order is fastest.

    Parameters
    ----------
    coords
        Their coordinates, one row each.
    shape
        The shape of the tensor.
    """

    def __init__(self, coords: Integers, shape: Sequence[int]) -> None:
        self._coords = np.array(coords, dtype=smallest_index_type(max(shape)), order="C")
        self._shape = tuple(shape)

    def values(self, flat: Floats, terms: int) -> Floats:
        """Return the sum of outer products at the entries."""
        cp = self._loops(terms)
        out = np.empty(len(self._coords), dtype=flat.dtype)
        shares = itertools.pairwise(parts_of(0, len(self._coords)))
        side_by_side([partial(cp.values_at, self._coords, flat, self._starts(terms), terms, *x, out) for x in shares])
        return out

    def gradient(self, slopes: Floats, flat: Floats, terms: int) -> Floats:
        """Return the gradient of ``sum_p slopes[p] * X_p`` for all factors, in the same flat layout."""
        given = self._coords, slopes, flat, self._starts(terms), terms
        return self._summed(partial(self._loops(terms).add_gradients, *given), flat.shape, flat.dtype)

    def contracted(self, values: Floats, factors: Sequence[Floats], mode: int) -> Floats:
        """Return the product of the sparse tensor with these values and all factors but one, column by column."""
        flat, terms = np.concatenate([factor.ravel() for factor in factors]), factors[0].shape[1]
        given = self._coords, values, mode, flat, self._starts(terms)
        return self._summed(partial(self._loops(terms).add_contracted, *given), factors[mode].shape, flat.dtype)

    def _loops(self, terms: int) -> Any:
        return loops("cp", len(self._coords), len(self._coords) * terms)

    def _starts(self, terms: int) -> Integers:
        """Return where each factor starts in the flat array."""
        return np.cumsum([0, *(size * terms for size in self._shape[:-1])]).astype(np.int64)

    def _summed(self, add: Callable[..., None], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Floats:
        """Return the sum over the parts of the entries, each accumulated in a separate array."""
        shares = parts_of(0, len(self._coords), beside=int(np.prod(shape)))
        sums = np.zeros((len(shares) - 1, *shape), dtype)
        side_by_side([partial(add, *share, out) for share, out in zip(itertools.pairwise(shares), sums, strict=True)])
        total: Floats = sums.sum(axis=0)
        return total
