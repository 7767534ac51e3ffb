"""Weak terms of tensors with small modes: mixtures of the slices along them.

Beside small modes, the unfoldings of the large ones are so wide that hardly two entries share a column, and only strong
terms show. Added up with the right weights over the combinations of indices of the small modes, the cells, the columns
fill up. The weights w are not known, but they are few. With r the residuals, d a large mode and a direction a of it,

    strength(a, w) = sum over columns c and pairs of entries p, q of c in different rows of  a_p w_p r_p a_q w_q r_q

is quadratic in a for given w, and quadratic in w for given a. So both are found in turn, as leading eigenvectors, from
the strongest of many random weights. The weights of a term are an outer product of one vector for each small mode; to
keep them so leaves less room for noise. Noise in r adds about nothing to the sum, because no entry meets itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from ..._support.ordering import groups_of
from ..._support.types import Floats, Integers
from ...algebra.sparse_unfoldings import SparseUnfoldings

DRAWS, STARTS = 150, 16
"""Random weights that are drawn, and the strongest of them that are followed."""

TURNS = 3
"""How often the weights and the direction are found in turn."""

MOST_CELLS = 200
"""With more cells than this there are too many weights to find."""


class Mixture(NamedTuple):
    """A vector for each small mode, the entries added up with them, and the strongest direction of the longest mode."""

    strength: float
    vectors: list[Floats]
    mixed: Floats
    direction: Floats


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
        self.large, self.small = tuple(large), tuple(small)
        self.sizes, self.small_sizes = [shape[mode] for mode in large], [shape[mode] for mode in small]
        self.longest = int(np.argmax(self.sizes))
        self._cells = np.ravel_multi_index(tuple(coords[:, small].T), self.small_sizes)
        self._rows = coords[:, large[self.longest]]
        # Entries that differ in the small modes only are added up.
        self._order, self._starts = groups_of(coords[:, large], tuple(self.sizes))
        self.unfoldings = SparseUnfoldings(coords[self._order[self._starts]][:, large], self.sizes, [self.longest])
        # Entries that differ in the longest mode only, cell by cell within a column.
        others = [mode for mode in large if mode != large[self.longest]]
        in_columns = np.column_stack([coords[:, others], self._cells])
        self._by_cell, self._cell_starts = groups_of(
            in_columns, (*(shape[mode] for mode in others), math.prod(self.small_sizes))
        )
        firsts = in_columns[self._by_cell[self._cell_starts]]
        self._cell_of_group = firsts[:, -1].astype(np.int64)
        fresh = np.flatnonzero(np.any(np.diff(firsts[:, :-1], axis=0) != 0, axis=1)) + 1
        self._column_starts = np.concatenate([[0], fresh, [len(firsts)]]).astype(np.int64)

    def strongest(self, values: Floats, rng: np.random.Generator) -> list[Mixture]:
        """Return mixtures that are found from random weights, the strongest first."""
        drawn = [self._mixture(values, self._random_vectors(rng), rng) for _ in range(DRAWS)]
        found = _strongest_first(drawn)[:STARTS]
        for _ in range(TURNS):
            found = [self._mixture(values, self._vectors(values, each.direction), rng) for each in found]
        return _strongest_first(found)

    def _random_vectors(self, rng: np.random.Generator) -> list[Floats]:
        draws = (rng.standard_normal(size) for size in self.small_sizes)
        return [draw / np.linalg.norm(draw) for draw in draws]

    def _mixture(self, values: Floats, vectors: list[Floats], rng: np.random.Generator) -> Mixture:
        """Return the mixture with these weights."""
        weights = reduce(np.multiply.outer, vectors).ravel()
        mixed = np.add.reduceat((values * weights[self._cells])[self._order], self._starts)
        strengths, directions = self.unfoldings.leading(self.longest, mixed, 1, rng)
        square = float(mixed @ mixed)
        return Mixture(float(strengths[0]) / square if square > 0 else 0.0, vectors, mixed, directions[:, 0])

    def _vectors(self, values: Floats, direction: Floats) -> list[Floats]:
        """Return the vectors whose outer product is near the weights that make a direction strongest."""
        from ...algebra.compiled.gram import off_diagonal_gram

        products = values * direction[self._rows]
        sums = np.add.reduceat(products[self._by_cell], self._cell_starts)
        cells = math.prod(self.small_sizes)
        gram = off_diagonal_gram(self._cell_of_group, self._column_starts, sums, cells)
        # Two entries of one cell meet on the diagonal; an entry does not meet itself there either.
        both = np.bincount(self._cell_of_group, weights=sums**2, minlength=cells)
        gram[np.diag_indices(cells)] = both - np.bincount(self._cells, weights=products**2, minlength=cells)
        left: Floats = np.linalg.eigh(gram)[1][:, -1].reshape(self.small_sizes)
        found = []
        while left.ndim > 1:
            u, _, v = np.linalg.svd(left.reshape(len(left), -1), full_matrices=False)
            found.append(u[:, 0])
            left = v[0].reshape(left.shape[1:])
        return [*found, left]


def mixtures_of(coords: Integers, shape: Sequence[int], large: Sequence[int]) -> Mixtures | None:
    """Return the mixtures of a tensor; None if it has no small modes, or too many cells."""
    cells = math.prod(size for mode, size in enumerate(shape) if mode not in large)
    return Mixtures(coords, shape, large) if 1 < cells <= MOST_CELLS else None


def _strongest_first(mixtures: Sequence[Mixture]) -> list[Mixture]:
    return sorted(mixtures, key=lambda mixture: -mixture.strength)
