"""Weak terms of tensors with small modes: mixtures of the slices along them.

Beside small modes, the unfoldings of the large ones are so wide that hardly two entries share a column, and only strong
terms show. Added up with the right weights over the combinations of indices of the small modes, the cells, the columns
fill up, and a term of a fraction of the energy shows. The weights are not known, but they are few: the outer product of
one vector for each small mode. So many are drawn at random, and terms are started from the leading directions of every
mixture.

The leading direction need not be that of the term, nor is its eigenvalue worth much as a sign: a term below the edge of
noise is spread over several of the leading directions. That is why several of them are tried, in every large mode, and
why they are judged by the term as a whole.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from ..._support.ordering import groups_of
from ..._support.types import Floats, Integers
from ...algebra.sparse_unfoldings import SparseUnfoldings
from .contraction import terms_along

DRAWS, TIMES, MOST_DRAWS = 5, 3, 300
"""Random weights that are drawn: so many, so many times more for each degree of freedom that they have, and at most."""

MOST_PAIRS = 1.5e9
"""The draws are as few as make this many pairs of entries that share a column, which is what they cost."""

DIRECTIONS = 4
"""Leading directions of each large mode that are followed."""

STARTS = 128
"""The strongest starts that are kept."""

MOST_CELLS = 200
"""With more cells than this there are too many weights to find."""


class Mixtures:
    """Mixtures of the slices along the small modes of a sparse tensor.

    Parameters
    ----------
    coords, shape
        The entries, and the shape of the tensor.
    large
        The modes that are not small.
    """

    def __init__(self, coords: Integers, shape: Sequence[int], large: Sequence[int]) -> None:
        small = [mode for mode in range(len(shape)) if mode not in large]
        self._modes = [*large, *small]
        self._small_sizes = [shape[mode] for mode in small]
        self._cells = np.ravel_multi_index(tuple(coords[:, small].T), self._small_sizes)
        # Entries that differ in the small modes only are added up.
        sizes = [shape[mode] for mode in large]
        self._order, self._starts = groups_of(coords[:, large], tuple(sizes))
        self._unfoldings = SparseUnfoldings(coords[self._order[self._starts]][:, large], sizes, range(len(sizes)))
        pairs = sum(self._unfoldings.pairs(mode) for mode in self._unfoldings.modes)
        freedom = sum(size - 1 for size in self._small_sizes)
        self.draws = min(MOST_DRAWS, DRAWS * TIMES**freedom, math.ceil(MOST_PAIRS / max(pairs, 1)))

    def starts(self, values: Floats, rng: np.random.Generator) -> list[list[Floats]]:
        """Return starts of terms, a vector for each mode, the strongest first."""
        found = [start for _ in range(self.draws) for start in self._starts_of_a_draw(values, rng)]
        strongest = heapq.nlargest(STARTS, found, key=lambda start: start[0])
        return [[vectors[self._modes.index(mode)] for mode in range(len(vectors))] for _, vectors in strongest]

    def _starts_of_a_draw(self, values: Floats, rng: np.random.Generator) -> list[tuple[float, list[Floats]]]:
        draws = [rng.standard_normal(size) for size in self._small_sizes]
        weights = [draw / np.linalg.norm(draw) for draw in draws]
        mixed = self.mixed(values, weights)
        size = float(np.linalg.norm(mixed)) or 1.0
        found = []
        for mode in self._unfoldings.modes:
            _, directions = self._unfoldings.leading(mode, mixed, DIRECTIONS, rng)
            terms = terms_along(self._unfoldings, mode, mixed, directions, rng)
            found += [(strength / size, [*vectors, *weights]) for strength, vectors in terms]
        return found

    def mixed(self, values: Floats, weights: Sequence[Floats]) -> Floats:
        """Return the sums over the small modes with a vector of weights for each."""
        products = values * reduce(np.multiply.outer, weights).ravel()[self._cells]
        sums: Floats = np.add.reduceat(products[self._order], self._starts)
        return sums


def mixtures_of(coords: Integers, shape: Sequence[int], large: Sequence[int]) -> Mixtures | None:
    """Return the mixtures of a tensor; None if it has no small modes, or too many cells."""
    cells = math.prod(size for mode, size in enumerate(shape) if mode not in large)
    return Mixtures(coords, shape, large) if 1 < cells <= MOST_CELLS else None
