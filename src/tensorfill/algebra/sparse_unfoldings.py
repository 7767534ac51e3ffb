"""Unfoldings of values at the observed entries, and their directions above the noise.

The Gram matrix ``unfold_d(r) unfold_d(r)^T`` is a sum over columns. On its diagonal are sums of squares, which only
depend on where entries were observed and how noisy they are. Off the diagonal, noise has mean zero. So the eigenvectors
of the matrix without its diagonal are those of the signal, if its eigenvalues exceed the edge: the largest eigenvalue
for entries of the same sizes with random signs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from .._support.clock import Clock
from .._support.ordering import groups_of
from .._support.types import Floats, Integers
from .loops import loops

AnyArray = NDArray[Any]

MOST_DENSE = 1000
"""For modes with more indices than this, the Gram matrix is not built; only its products are computed."""

MOST_DIRECT = 300
"""Eigenvectors of larger matrices are computed by Lanczos iterations."""

MOST_RESTARTS = 100
"""Lanczos iterations are restarted at most this often. Eigenvalues that need more are crowded together, as those of
noise are."""

MOST_RESTARTED = 2**16
"""For modes with more indices, Lanczos iterations are not restarted, since each costs several passes over vectors of
this length."""

STEPS = 32
"""The Lanczos iterations for a long mode. Eigenvalues apart from the others have converged by then, and the largest one
of noise is known up to a hundredth, as it is for noise that is compared with it."""

FLIPS = 2
"""How often random signs are drawn."""


@dataclass(frozen=True, eq=False)
class _Columns:
    """The pattern of an unfolding, column by column.

    Parameters
    ----------
    order
        The position of each entry among all entries.
    rows
        The row of each entry.
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
    """Unfoldings of values at given entries, whose pattern is computed once.

    Parameters
    ----------
    coords
        The coordinates of the entries, one row each.
    shape
        The shape of the tensor.
    modes
        The modes to unfold along.
    clock
        Long work raises `TimeUp` when it expires.
    """

    def __init__(
        self, coords: Integers, shape: Sequence[int], modes: Sequence[int], clock: Clock | None = None
    ) -> None:
        self.shape, self.modes, self.clock = tuple(shape), tuple(modes), clock or Clock()
        self._columns = {mode: _columns(coords, self.shape, mode) for mode in self.modes}

    def leading(self, mode: int, values: Floats, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return the largest eigenvalues, decreasing, of the Gram matrix without its diagonal, and eigenvectors.

        There may be fewer than `count` for large matrices: no more are positive than there are columns.
        """
        size = self.shape[mode]
        count = min(count, size)
        gram: Any = self._gram(mode, values)
        if size <= MOST_DIRECT or count >= size - 1:
            gram = gram if isinstance(gram, np.ndarray) else gram @ np.eye(size)
            found, vectors = scipy.linalg.eigh(gram, subset_by_index=[size - count, size - 1], check_finite=False)
        else:
            solve = _by_lanczos if size <= MOST_RESTARTED else _by_one_krylov_space
            found, vectors = solve(gram, min(count, len(self._columns[mode].starts) - 1), rng)
        order = np.argsort(-found)
        return found[order], vectors[:, order]

    def edge(self, mode: int, values: Floats, rng: np.random.Generator) -> float:
        """Return the largest eigenvalue that values of these sizes have without any structure."""
        flipped = (values * rng.choice([-1.0, 1.0], len(values)) for _ in range(FLIPS))
        return max(float(self.leading(mode, each, 1, rng)[0][0]) for each in flipped)

    def visible_share(self, mode: int, values: Floats, rng: np.random.Generator) -> float:
        """Return the share of the squares of the values from which on a rank-one term is above the edge of noise.

        A term with a share s of the mean square v raises the product of two entries of a column by s v on average, so
        that its eigenvalue is about 2 s v times the number of such pairs for each index. The share is above one, or
        infinite, if no term can be seen.
        """
        squares = 2 * self.pairs(mode) / self.shape[mode] * float(np.mean(values**2))
        return self.edge(mode, values, rng) / squares if squares else math.inf

    def contracted(self, mode: int, values: Floats, vectors: Floats) -> tuple[Integers, Floats]:
        """Return the product with a vector, or with each column of a matrix, along `mode`.

        The result is the coordinates in the other modes and the values there, one row each.
        """
        columns = self._columns[mode]
        shape = (len(columns.starts) - 1, self.shape[mode])
        return columns.others, scipy.sparse.csr_array(
            (values[columns.order], columns.rows, columns.starts), shape=shape
        ) @ vectors

    def columns(self, mode: int, *numbers: AnyArray) -> tuple[AnyArray, ...]:
        """Return an unfolding in column order, as compiled loops take it, with arrays of the entries in this order.

        The result is the row of each entry, the start of each column and the end of the last one, the coordinates of
        the columns in the other modes, and then the arrays.
        """
        columns = self._columns[mode]
        return columns.rows, columns.starts, columns.others, *(each[columns.order] for each in numbers)

    def pairs(self, mode: int) -> int:
        """Return the number of pairs of entries that share a column, which is the cost of a Gram matrix."""
        lengths = np.diff(self._columns[mode].starts)
        return int(np.sum(lengths * (lengths - 1) // 2))

    def grams_of_pairs(
        self, mode: int, values: Floats, kinds: Integers, places: Integers, rows: tuple[int, int], squares: Floats
    ) -> NDArray[np.float32]:
        """Return rows of the Gram matrix without its diagonal, separately for each pair of kinds of entries.

        Parameters
        ----------
        mode, values
            The mode, and the values at the entries.
        kinds
            The kind of each entry.
        places
            The place of each pair of kinds in the result, a symmetric matrix.
        rows
            The first row, and the end of the range of rows.
        squares
            An array to which the expected squares of these numbers under random signs are added, for each pair.
        """
        from .compiled.gram import add_grams_of_pairs

        grams = np.zeros((len(squares), rows[1] - rows[0], self.shape[mode]), np.float32)
        place, starts, _, numbers, kind = self.columns(mode, values.astype(np.float64, copy=False), kinds)
        add_grams_of_pairs(place, starts, numbers, kind, places, *rows, grams, squares)
        return grams

    def _gram(self, mode: int, values: Floats) -> Floats | scipy.sparse.linalg.LinearOperator:
        columns, size = self._columns[mode], self.shape[mode]
        numbers = values[columns.order].astype(np.float64, copy=False)
        if size <= MOST_DENSE:
            numbers_in_all = min(size * (len(columns.starts) - 1), len(numbers) + 2 * self.pairs(mode))
            gram = loops("gram", len(numbers), numbers_in_all)
            return np.asarray(gram.off_diagonal_gram(columns.rows, columns.starts, numbers, size))
        matrix = scipy.sparse.csc_array((numbers, columns.rows, columns.starts), shape=(size, len(columns.starts) - 1))
        rows, diagonal = matrix.tocsr(), np.bincount(columns.rows, weights=numbers**2, minlength=size)

        def product(vector: Floats) -> Floats:
            self.clock.check()
            made: Floats = rows @ (matrix.T @ vector.ravel()) - diagonal * vector.ravel()
            return made

        return scipy.sparse.linalg.LinearOperator((size, size), matvec=product, dtype=np.float64)


def _by_lanczos(gram: Any, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues of a symmetric matrix, and eigenvectors; fewer if the others are too crowded."""
    start = rng.standard_normal(gram.shape[0])
    try:
        found, vectors = scipy.sparse.linalg.eigsh(gram, k=count, which="LA", v0=start, tol=1e-4, maxiter=MOST_RESTARTS)
    except scipy.sparse.linalg.ArpackNoConvergence as stopped:
        found, vectors = stopped.eigenvalues, stopped.eigenvectors
    except scipy.sparse.linalg.ArpackError:
        found = np.zeros(0)
    if not len(found):
        # The matrix is zero, because no two entries share a column, or all its eigenvalues are alike: any direction is
        # as good as another.
        found, vectors = np.zeros(count), np.linalg.qr(rng.standard_normal((len(start), count)))[0]
    return found, vectors


def _by_one_krylov_space(gram: Any, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return approximations of the largest eigenvalues of a symmetric matrix, and vectors, after `STEPS` products.

    There are fewer if the products end in a smaller space. The basis is kept in single precision and orthogonal to
    rounding: each new vector is made orthogonal to all others, twice.
    """
    size = gram.shape[0]
    basis, projected = np.empty((STEPS, size), np.float32), np.zeros((STEPS, STEPS))
    vector, scale = rng.standard_normal(size), 0.0
    for step in range(STEPS):
        basis[step] = vector / np.linalg.norm(vector)
        vector = gram @ basis[step].astype(np.float64)
        scale = max(scale, float(np.linalg.norm(vector)))
        known = basis[: step + 1]
        for _ in range(2):
            part = known @ vector.astype(np.float32)
            projected[: step + 1, step] += part
            vector -= part @ known
        if np.linalg.norm(vector) <= np.finfo(np.float32).eps * scale:
            break
    found, mix = np.linalg.eigh(projected[: step + 1, : step + 1], UPLO="U")
    return found[-count:], (mix[:, -count:].T.astype(np.float32) @ known).T.astype(np.float64)


def _columns(coords: Integers, shape: tuple[int, ...], mode: int) -> _Columns:
    others = [other for other in range(len(shape)) if other != mode]
    order, starts = groups_of(coords[:, others], tuple(shape[other] for other in others))
    rows, places = coords[order, mode].astype(np.int64), coords[order[starts]][:, others]
    return _Columns(order, rows, np.append(starts, len(order)).astype(np.int64), places)
