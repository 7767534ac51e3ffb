"""Weights of the slices along small modes that are likely to show a weak term.

Let w have a number for each combination of indices of the small modes, a cell. The slices of a tensor, added up with
these weights, have in each large mode a Gram matrix without diagonal, G(w). Its squared norm beyond what noise has,

    f(w) = sum over modes of |G(w)|^2 - expected |G(w)|^2 of noise,

is raised by the square of a term's energy where w has the weights of the term. Since G(w) is a quadratic form of w,
f is a quartic form, whose coefficients take one pass over the pairs of entries that share a column. So f is known for
all weights at once. A weak term does not have the highest value, because noise reaches higher somewhere, and near the
edge of noise it is hardly above the average. So f only ranks the weights to try, and these are kept apart from each
other.

Weights need not equal those of a term, but how near they must be determines how many are needed, which grows fast with
the sizes of the small modes. Of 1,800 weights, at least one has a squared cosine of 0.56 with any product of two
vectors of five numbers; for vectors that sum to zero, 460 are enough. So it helps to know that data is centred.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from ..._support.types import Floats, Integers
from ...algebra.sparse_unfoldings import SparseUnfoldings

DRAWS = 20_000
"""The number of random weights that are compared."""

ALIKE = (0.56, 0.72, 0.85)
"""Weights whose squared cosine is above this are similar. Those that differ by the first of these come first, and then
those that differ by the next."""

AT_ONCE = 500
"""The number of weights that are compared with the selected ones at a time."""

MOST_IN_BLOCK, MOST_STORED = 2**23, 2**26
"""The largest size of a block, such as some rows of all Gram matrices, and of all Gram matrices if they are stored."""


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
        # Scaled to unit size, so that single precision can hold their products.
        self.values: Floats = values / (np.sqrt(np.mean(values * values)) or 1.0)
        self._count = int(np.prod(self._sizes))
        self._rows, self._columns = np.tril_indices(self._count)
        self._place = np.zeros((self._count, self._count), dtype=np.int64)
        self._place[self._rows, self._columns] = self._place[self._columns, self._rows] = np.arange(len(self._rows))
        numbers = len(self._rows) * sum(unfoldings.shape[mode] ** 2 for mode in unfoldings.modes)
        self._stored: dict[int, list[tuple[slice, Floats]]] = {}
        self._is_stored = numbers <= MOST_STORED
        self._coefficients: Floats = np.sum([self._form(mode) for mode in unfoldings.modes], axis=0)

    def _form(self, mode: int) -> Floats:
        """Return the coefficients for one mode, scaled so that noise has the same size in all modes."""
        form, squares = np.zeros((len(self._rows), len(self._rows))), np.zeros(len(self._rows))
        for rows, grams in self._blocks(mode, squares):
            form += grams @ grams.T
            if self._is_stored:
                self._stored.setdefault(mode, []).append((rows, grams))
        total = float(squares.sum())
        return (form - np.diag(squares)) * (self._unfoldings.shape[mode] / total if total else 0.0)

    def _blocks(self, mode: int, squares: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield rows of the Gram matrices of all pairs of cells, one matrix per row; add their squares to `squares`."""
        size, pairs = self._unfoldings.shape[mode], len(self._rows)
        block = max(1, MOST_IN_BLOCK // (pairs * size))
        for first in range(0, size, block):
            rows = first, min(size, first + block)
            grams = self._unfoldings.grams_of_pairs(mode, self.values, self._cells, self._place, rows, squares)
            yield slice(*rows), grams.reshape(pairs, -1)

    def grams(self, mode: int, weights: Floats) -> Floats:
        """Return the Gram matrix of a mode for each row of weights, for values with a mean square of one."""
        size = self._unfoldings.shape[mode]
        found = np.empty((len(weights), size, size), np.float32)
        products = self._products(weights).astype(np.float32)
        for rows, grams in self._stored.get(mode) or self._blocks(mode, np.zeros(len(self._rows))):
            found[:, rows] = (products @ grams).reshape(len(weights), -1, size)
        return found

    def _products(self, weights: Floats) -> Floats:
        products: Floats = weights[:, self._rows] * weights[:, self._columns]
        return products

    def at(self, weights: Floats) -> Floats:
        """Return the value for each row of weights."""
        values = np.empty(len(weights))
        some = max(1, MOST_IN_BLOCK // len(self._rows))
        for first in range(0, len(weights), some):
            products = self._products(weights[first : first + some])
            values[first : first + some] = np.sum((products @ self._coefficients) * products, axis=1)
        return values

    def most_likely(self, most: int, centred: Sequence[bool], rng: np.random.Generator) -> list[list[Floats]]:
        """Return random weights, each a vector for every small mode: distinct, and the most likely first.

        Parameters
        ----------
        most
            The largest number of weights.
        centred
            For each small mode, whether its vectors sum to zero.
        rng
            Draws the weights.
        """
        drawn = [rng.standard_normal((DRAWS, size)) for size in self._sizes]
        random = [_units(_centred(each) if is_so else each) for each, is_so in zip(drawn, centred, strict=True)]
        weights = outer(random)
        order = np.argsort(-self.at(weights))
        found: list[int] = []
        for alike in ALIKE:
            found = _with_others(weights, order, found, most, alike)
        return [[each[number] for each in random] for number in found]


def _with_others(rows: Floats, order: Integers, found: Sequence[int], most: int, alike: float) -> list[int]:
    """Return at most `most` rows: those in `found`, and others, in order, whose squared cosines are below `alike`.

    The rows have length one.
    """
    taken = list(found)
    for first in range(0, len(order), AT_ONCE):
        if len(taken) >= most:
            break
        some = order[first : first + AT_ONCE]
        # Most are similar to one that was selected before, and need not be compared with each other.
        some = some[np.all((rows[some] @ rows[taken].T) ** 2 < alike, axis=1)]
        apart = (rows[some] @ rows[some].T) ** 2 < alike
        here: list[int] = []
        for number in range(len(some)):
            if apart[number, here].all():
                here.append(number)
        taken += some[here].tolist()
    return taken[:most]


def _centred(rows: Floats) -> Floats:
    centred: Floats = rows - rows.mean(axis=1, keepdims=True)
    return centred


def _units(rows: Floats) -> Floats:
    units: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(float).tiny)
    return units


def outer(vectors: Sequence[Floats]) -> Floats:
    """Return the outer product of the vectors in each row, one row each."""
    return reduce(lambda left, right: (left[:, :, None] * right[:, None, :]).reshape(len(left), -1), vectors)
