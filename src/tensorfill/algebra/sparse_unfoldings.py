"""Unfoldings of what lives on the observed entries, and the directions in them that noise does not have.

The Gram matrix ``unfold_d(r) unfold_d(r)^T`` is a sum over columns. On its diagonal are squares of entries, which say
where entries were observed and how noisy they are. Off its diagonal, noise has mean zero. So the eigenvectors without
the diagonal are those of the signal, as far as it stands above the edge: the largest eigenvalue that entries of the
same sizes have if their signs are drawn anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from .._support.ordering import groups_of
from .._support.types import Floats, Integers

AnyArray = NDArray[Any]

MOST_DENSE = 1000
"""The Gram matrix of a mode with more indices than this is never built; its products are."""

MOST_DIRECT = 300
"""Eigenvectors of larger matrices are found by Lanczos iterations."""

FLIPS = 2
"""How often signs are drawn anew."""


@dataclass(frozen=True, eq=False)
class _Columns:
    """The pattern of an unfolding, column by column.

    Parameters
    ----------
    order
        The place of each entry among all.
    rows
        Its row.
    starts
        Where each column with an entry starts, and the number of entries at the end.
    others
        The coordinates of each of these columns in the other modes.
    """

    order: Integers
    rows: Integers
    starts: Integers
    others: Integers


class SparseUnfoldings:
    """Unfoldings of numbers at given entries, whose pattern is made once.

    Parameters
    ----------
    coords
        The coordinates of the entries, one row each.
    shape
        The shape of the tensor.
    modes
        The modes to unfold along.
    """

    def __init__(self, coords: Integers, shape: Sequence[int], modes: Sequence[int]) -> None:
        self.shape, self.modes = tuple(shape), tuple(modes)
        self._columns = {mode: _columns(coords, self.shape, mode) for mode in self.modes}

    def leading(self, mode: int, values: Floats, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return the largest eigenvalues of the Gram matrix without its diagonal, falling, and their eigenvectors."""
        size = self.shape[mode]
        count = min(count, size)
        gram: Any = self._gram(mode, values)
        if size <= MOST_DIRECT or count >= size - 1:
            gram = gram if isinstance(gram, np.ndarray) else gram @ np.eye(size)
            found, vectors = scipy.linalg.eigh(gram, subset_by_index=[size - count, size - 1], check_finite=False)
        else:
            start = rng.standard_normal(size)
            try:
                found, vectors = scipy.sparse.linalg.eigsh(gram, k=count, which="LA", v0=start, tol=1e-4)
            except scipy.sparse.linalg.ArpackError:
                # No two entries share a column, so the matrix is zero, and any directions are as good as others.
                found, vectors = np.zeros(count), np.linalg.qr(rng.standard_normal((size, count)))[0]
        order = np.argsort(-found)
        return found[order], vectors[:, order]

    def edge(self, mode: int, values: Floats, rng: np.random.Generator) -> float:
        """Return the largest eigenvalue that numbers of these sizes have without any structure."""
        flipped = (values * rng.choice([-1.0, 1.0], len(values)) for _ in range(FLIPS))
        return max(float(self.leading(mode, each, 1, rng)[0][0]) for each in flipped)

    def contracted(self, mode: int, values: Floats, vectors: Floats) -> tuple[Integers, Floats]:
        """Return the product with a vector, or with each column of a matrix, along `mode`.

        That is the coordinates in the other modes, and the values there, one row each.
        """
        columns = self._columns[mode]
        shape = (len(columns.starts) - 1, self.shape[mode])
        return columns.others, scipy.sparse.csr_array(
            (values[columns.order], columns.rows, columns.starts), shape=shape
        ) @ vectors

    def columns(self, mode: int, *numbers: AnyArray) -> tuple[AnyArray, ...]:
        """Return an unfolding column by column, as compiled loops take it, with numbers of the entries in its order.

        That is the row of each entry, where each column starts, with the end of the last, its coordinates in the other
        modes, and then the numbers.
        """
        columns = self._columns[mode]
        return columns.rows, columns.starts, columns.others, *(each[columns.order] for each in numbers)

    def pairs(self, mode: int) -> int:
        """Return how many pairs of entries share a column, which is what a Gram matrix costs."""
        lengths = np.diff(self._columns[mode].starts)
        return int(np.sum(lengths * (lengths - 1) // 2))

    def grams_of_pairs(
        self, mode: int, values: Floats, kinds: Integers, places: Integers, rows: tuple[int, int], squares: Floats
    ) -> NDArray[np.float32]:
        """Return rows of the Gram matrix without its diagonal, apart for each pair of kinds of entries.

        Parameters
        ----------
        mode, values
            The mode and the numbers.
        kinds
            The kind of each entry.
        places
            The place of each pair of kinds in the answer, a symmetric matrix.
        rows
            The first row, and the first that is not wanted any more.
        squares
            What the squares of these numbers would be, were all signs drawn anew, is added here for each pair.
        """
        from .compiled.gram import add_grams_of_pairs

        grams = np.zeros((len(squares), rows[1] - rows[0], self.shape[mode]), np.float32)
        place, starts, _, numbers, kind = self.columns(mode, values.astype(np.float64, copy=False), kinds)
        add_grams_of_pairs(place, starts, numbers, kind, places, *rows, grams, squares)
        return grams

    def _gram(self, mode: int, values: Floats) -> Floats | scipy.sparse.linalg.LinearOperator:
        from .compiled.gram import off_diagonal_gram

        columns, size = self._columns[mode], self.shape[mode]
        numbers = values[columns.order].astype(np.float64, copy=False)
        if size <= MOST_DENSE:
            return np.asarray(off_diagonal_gram(columns.rows, columns.starts, numbers, size))
        matrix = scipy.sparse.csc_array((numbers, columns.rows, columns.starts), shape=(size, len(columns.starts) - 1))
        rows, diagonal = matrix.tocsr(), np.bincount(columns.rows, weights=numbers**2, minlength=size)
        return scipy.sparse.linalg.LinearOperator(
            (size, size),
            matvec=lambda x: rows @ (matrix.T @ x.ravel()) - diagonal * x.ravel(),
            dtype=np.float64,
        )


def _columns(coords: Integers, shape: tuple[int, ...], mode: int) -> _Columns:
    others = [other for other in range(len(shape)) if other != mode]
    order, starts = groups_of(coords[:, others], tuple(shape[other] for other in others))
    rows, places = coords[order, mode].astype(np.int64), coords[order[starts]][:, others]
    return _Columns(order, rows, np.append(starts, len(order)).astype(np.int64), places)
