"""Unfoldings of values at the observed entries, and their directions above the noise.

The Gram matrix ``unfold_d(r) unfold_d(r)^T`` is a sum over columns. On its diagonal are sums of squares, which only
depend on where entries were observed and how noisy they are. Off the diagonal, noise has mean zero. So the eigenvectors
of the matrix without its diagonal are those of the signal, if its eigenvalues exceed the edge: the largest eigenvalue
for entries of the same sizes with random signs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray

from .._support.clock import Clock
from .._support.ordering import groups_of
from .._support.types import Floats, Integers
from .loops import loops
from .unfolding import smallest_index_type

AnyArray = NDArray[Any]

MOST_DENSE = 1000
"""For modes with more indices than this, the Gram matrix is not built; only its products are computed."""

MOST_DIRECT = 300
"""Eigenvectors of larger matrices are computed in Krylov spaces."""

WIDTH = 16
"""The vectors that a Krylov space starts from. They fill two registers, so that a product with all of them takes little
longer than with one."""

STEPS = 14
"""The products with these vectors. Eigenvalues above those of noise have converged by then, and the largest one of
noise is known to less than a hundredth, as it is for noise that is compared with it."""

LONG = 2**16
"""For modes with more indices, a Krylov space starts from one vector, to have fewer of this length."""

LONG_STEPS = 32
"""The products with one vector, after which an eigenvalue is known nearly as well."""

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
        product, scale = self._gram(mode, values)
        if size <= MOST_DIRECT or count >= size - 1:
            gram = product(np.eye(size))
            found, vectors = scipy.linalg.eigh(gram, subset_by_index=[size - count, size - 1], check_finite=False)
        else:
            found, vectors = _in_krylov_space(product, size, min(count, len(self._columns[mode].starts) - 1), rng)
        order = np.argsort(-found)
        return scale * found[order], vectors[:, order]

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

    def _gram(self, mode: int, values: Floats) -> tuple[Callable[[Floats], Floats], float]:
        """Return the product of the Gram matrix without its diagonal with a block, and the scale of the matrix.

        The block may be in single precision, which has no room for squares of any values. So they are divided by the
        largest.
        """
        columns, size = self._columns[mode], self.shape[mode]
        most = float(np.abs(values).max(initial=0.0)) or 1.0
        numbers = values[columns.order].astype(np.float64, copy=False) / most
        if size <= MOST_DENSE:
            numbers_in_all = min(size * (len(columns.starts) - 1), len(numbers) + 2 * self.pairs(mode))
            compute = loops("gram", len(numbers), numbers_in_all)
            gram = np.asarray(compute.off_diagonal_gram(columns.rows, columns.starts, numbers, size))
            return lambda block: gram.astype(block.dtype, copy=False) @ block, most**2

        def product(block: Floats) -> Floats:
            self.clock.check()
            made, width = np.zeros_like(block), block.shape[1]
            compute = loops("gram", len(numbers), len(numbers) * width)
            compute.add_gram_times(columns.rows, columns.starts, numbers, block, made)
            return made

        numbers = numbers.astype(np.float32)
        return product, most**2


def _in_krylov_space(
    product: Callable[[Floats], Floats], size: int, count: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return approximations of the largest eigenvalues of a symmetric matrix, and vectors, after a few products.

    They are those of the matrix within the space of random vectors and their products, a block of them at a time. The
    basis is in single precision. Each new block is made orthogonal to all others, and again after its own vectors are,
    since what is left of them may be rounding.
    """
    width, steps = (1, LONG_STEPS) if size > LONG else (min(WIDTH, size), STEPS)
    steps = min(steps, size // width)
    basis, projected = np.empty((steps * width, size), np.float32), np.zeros((steps * width, steps * width))
    block, scale = _orthonormal(rng.standard_normal((size, width), np.float32)), 0.0
    for end in range(width, steps * width + 1, width):
        basis[end - width : end] = block.T
        known, made = basis[:end], product(np.ascontiguousarray(block))
        scale = max(scale, float(np.linalg.norm(made)))
        part = known @ made
        projected[:end, end - width : end] = part
        made -= known.T @ part
        if end == len(basis) or np.linalg.norm(made) <= np.finfo(np.float32).eps * scale:
            break
        block = _orthonormal(made)
        block = _orthonormal(block - known.T @ (known @ block))
    found, mix = np.linalg.eigh(projected[:end, :end], UPLO="U")
    return found[-count:], (mix[:, -count:].T.astype(np.float32) @ known).T.astype(np.float64)


def _orthonormal(columns: Floats) -> Floats:
    """Return an orthonormal basis of the columns; if they are dependent, with further vectors."""
    # NumPy's takes three times as long.
    return np.asarray(scipy.linalg.qr(columns, mode="economic", overwrite_a=True, check_finite=False)[0])


def _columns(coords: Integers, shape: tuple[int, ...], mode: int) -> _Columns:
    others = [other for other in range(len(shape)) if other != mode]
    order, starts = groups_of(coords[:, others], tuple(shape[other] for other in others))
    number = smallest_index_type(len(order))
    rows, places = coords[order, mode].astype(smallest_index_type(shape[mode])), coords[order[starts]][:, others]
    return _Columns(order.astype(number), rows, np.append(starts, len(order)).astype(number), places)
