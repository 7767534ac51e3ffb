"""Which weights of the slices along small modes are likely to show a weak term.

Let w have a number for each combination of indices of the small modes, a cell. The slices of a tensor, added up with
these weights, have in each large mode a Gram matrix without diagonal, G(w). Its squared norm beyond what noise has,

    f(w) = sum over modes of |G(w)|^2 - expected |G(w)|^2 of noise,

is raised by the square of a term's energy where w has the weights of the term. Since G(w) is a quadratic form of w,
f is a quartic form, whose coefficients take one pass over the pairs of entries that share a column. So f is known for
all weights at once. A weak term does not have the highest value, for noise reaches higher somewhere. But f has only
about a hundred local maxima among the outer products of two vectors of five numbers, and near the weights of a term
there often is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from ..._support.types import Floats, Integers
from ...algebra.sparse_unfoldings import SparseUnfoldings

CLIMBS = 400
"""How many of the random weights are those from which local maxima are climbed to."""

DRAWS = 4000
"""Random weights that are compared."""

STEPS, STEP = 30, 0.5
"""Steps of a climb, and the length of each, where vectors have length one."""

ALIKE = 0.8
"""Weights whose squared cosine is above this are not both returned."""

MOST_IN_BLOCK = 2**23
"""Numbers in a block of the rows of all Gram matrices, which are built block by block."""


class LikelyWeights:
    """The quartic form of the weights for numbers at the entries of a sparse tensor.

    Parameters
    ----------
    unfoldings
        The unfoldings of the large modes, whose columns do not depend on the small ones.
    cells
        The cell of each entry.
    sizes
        The sizes of the small modes.
    values
        The numbers.
    """

    def __init__(self, unfoldings: SparseUnfoldings, cells: Integers, sizes: Sequence[int], values: Floats) -> None:
        self._unfoldings, self._cells, self._sizes = unfoldings, cells, tuple(sizes)
        # Without units, so that single precision holds their products.
        self._values = values / (np.sqrt(np.mean(values * values)) or 1.0)
        self._count = int(np.prod(self._sizes))
        self._rows, self._columns = np.tril_indices(self._count)
        self._place = np.zeros((self._count, self._count), dtype=np.int64)
        self._place[self._rows, self._columns] = self._place[self._columns, self._rows] = np.arange(len(self._rows))
        self._coefficients: Floats = np.sum([self._form(mode) for mode in unfoldings.modes], axis=0)

    def _form(self, mode: int) -> Floats:
        """Return the coefficients for one mode, where noise has the same size in all modes."""
        form, squares = np.zeros((len(self._rows), len(self._rows))), np.zeros(len(self._rows))
        for _, grams in self._blocks(mode, squares):
            form += grams @ grams.T
        total = float(squares.sum())
        return (form - np.diag(squares)) * (self._unfoldings.shape[mode] / total if total else 0.0)

    def _blocks(self, mode: int, squares: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield rows of the Gram matrices of all pairs of cells, one matrix a row; add their squares to `squares`."""
        size, pairs = self._unfoldings.shape[mode], len(self._rows)
        block = max(1, MOST_IN_BLOCK // (pairs * size))
        for first in range(0, size, block):
            rows = first, min(size, first + block)
            grams = self._unfoldings.grams_of_pairs(mode, self._values, self._cells, self._place, rows, squares)
            yield slice(*rows), grams.reshape(pairs, -1)

    def grams(self, mode: int, weights: Floats) -> Floats:
        """Return the Gram matrix of a mode for each row of weights, for values with a mean square of one."""
        size = self._unfoldings.shape[mode]
        found = np.empty((len(weights), size, size), np.float32)
        products = self._products(weights).astype(np.float32)
        for rows, grams in self._blocks(mode, np.zeros(len(self._rows))):
            found[:, rows] = (products @ grams).reshape(len(weights), -1, size)
        return found

    def _products(self, weights: Floats) -> Floats:
        products: Floats = weights[:, self._rows] * weights[:, self._columns]
        return products

    def at(self, weights: Floats) -> Floats:
        """Return the value for each row of weights."""
        products = self._products(weights)
        values: Floats = np.sum((products @ self._coefficients) * products, axis=1)
        return values

    def _slope(self, weights: Floats) -> Floats:
        """Return the gradient at each row of weights, up to a factor."""
        products = self._products(weights)
        linear = (products @ self._coefficients)[:, self._place]
        diagonal = np.arange(self._count)
        slope: Floats = (linear @ weights[:, :, None])[:, :, 0] + linear[:, diagonal, diagonal] * weights
        return slope

    def most_likely(self, most: int, rng: np.random.Generator) -> list[list[Floats]]:
        """Return at most so many weights, each a vector for every small mode: local maxima first, then random ones.

        Both are in the order of their values, and none are much alike.
        """
        random = [_units(rng.standard_normal((DRAWS, size))) for size in self._sizes]
        climbed = [each[:CLIMBS] for each in random]
        for _ in range(STEPS):
            for mode in range(len(climbed)):
                slope = self._slope(outer(climbed)).reshape(CLIMBS, *self._sizes)
                climbed[mode] = _units(climbed[mode] + STEP * _units(_contracted(slope, climbed, mode)))
        found: list[list[Floats]] = []
        taken = np.zeros((0, self._count))
        for vectors in (climbed, random):
            weights = outer(vectors)
            for number in np.argsort(-self.at(weights)):
                if len(found) == most:
                    break
                if np.all((taken @ weights[number]) ** 2 < ALIKE):
                    found.append([each[number] for each in vectors])
                    taken = np.vstack([taken, weights[number]])
        return found


def _units(rows: Floats) -> Floats:
    units: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(float).tiny)
    return units


def outer(vectors: Sequence[Floats]) -> Floats:
    """Return the outer product of the vectors in each row, one row each."""
    return reduce(lambda left, right: (left[:, :, None] * right[:, None, :]).reshape(len(left), -1), vectors)


def _contracted(tensors: Floats, vectors: Sequence[Floats], kept: int) -> Floats:
    """Return each tensor multiplied with its vectors in all modes but one."""
    for mode in reversed(range(len(vectors))):
        if mode != kept:
            across = [1] * tensors.ndim
            across[0], across[mode + 1] = vectors[mode].shape
            tensors = np.sum(tensors * vectors[mode].reshape(across), axis=mode + 1)
    return tensors
