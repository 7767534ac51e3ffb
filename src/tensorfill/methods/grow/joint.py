"""Rank-one terms of mixtures with three modes that are below the edge of noise in each of them.

Contracted with a direction u of one mode, the tensor is a matrix A, whose leading pair completes the term if u is near
enough to the truth. How near depends on what else is known about the pair. The Gram matrices G and H of the other two
modes, too noisy to show the term by themselves, are further evidence: with all of them scaled so that noise has
eigenvalues up to 2, the leading eigenvector of

    [ G    A ]
    [ A^T  H ]

shows a pair as soon as the squares of the strengths in A and in the Gram matrices add up to one. The pair has a best u
in turn. If that is nearer to the truth than the first, a few rounds find the term, even if its first pair explains no
more than those of noise do. So a large number of starts is tried, and fewer and fewer of them are improved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ..._support.parallel import side_by_side
from ..._support.types import Floats, Integers
from ...algebra.sparse_unfoldings import SparseUnfoldings

STARTS = 12
"""The number of directions of a mode from which terms are started."""

ROUNDS = (6, 3)
"""How many of the best terms of a mixture are improved, round by round."""

PROMISING, LAST_ROUNDS = 16, 4
"""How many mixtures have their best term improved further, and by how many rounds."""

SIDE_BY_SIDE, MOST_IN_MATRICES = 48, 2**24
"""Terms that are computed together, which saves passes over the entries, and numbers in their matrices A. The starts
and the rounds all divide the first, which fills registers."""

STEPS = 10
"""The degree of the polynomials that amplify directions and pairs."""

EDGE = 0.8
"""Eigenvalues above this share of the largest of noise are amplified."""


class Found(NamedTuple):
    """A term: a vector for each mode, and by how much it lowers the sum of squares."""

    gain: float
    vectors: list[Floats]


def work_of(entries: int, shape: Sequence[int], cells: int) -> int:
    """Return the approximate number of multiplications for the terms of a mixture, with its Gram matrices."""
    terms = STARTS + sum(ROUNDS)
    return 4 * entries * terms + max(shape) ** 2 * (4 * terms * STEPS + 3 * cells * (cells + 1) // 2)


class Mode:
    """One mode of the mixtures of slices of a sparse tensor; see `algebra.compiled.mixtures`.

    Parameters
    ----------
    unfoldings
        The entries, unfolded along every mode of the mixtures.
    mode
        The mode.
    values, cells
        The values of the entries, and the index of each among the weights.
    """

    def __init__(self, unfoldings: SparseUnfoldings, mode: int, values: Floats, cells: Integers) -> None:
        self.number = mode
        self._size, self._others = unfoldings.shape[mode], np.delete(unfoldings.shape, mode)
        self._entries = unfoldings.columns(mode, values.astype(np.float32), cells)

    def matrices(self, weights: Floats, vectors: Floats) -> Floats:
        """Return the product along the mode of the mixture of each column of weights with a column of vectors."""
        from ...algebra.compiled import mixtures as kernels

        products = np.zeros((*self._others, vectors.shape[1]), np.float32)
        kernels.contract(*self._entries, weights, vectors, products)
        return np.ascontiguousarray(products.transpose(2, 0, 1))

    def least_squares(self, weights: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Return the product with each pair of columns, and the gain of the term with the best third vector."""
        from ...algebra.compiled import mixtures as kernels

        sums, squares = np.zeros((2, self._size, left.shape[1]), np.float32)
        kernels.add_to_rows(*self._entries, weights, left, right, sums, squares)
        gains: Floats = np.sum(sums**2 / np.maximum(squares, np.finfo(np.float32).tiny), axis=0)
        return sums, gains


class Terms(NamedTuple):
    """Terms of some mixtures: gains, with a row for each mixture, vectors of the starting mode, and the others.

    The vectors have an axis for the mixtures, one for the indices, and one for the terms.
    """

    gains: Floats
    own: Floats
    left: Floats
    right: Floats

    def best(self, most: int) -> Terms:
        """Return the best terms of each mixture."""
        best = np.argsort(-self.gains, axis=1)[:, :most]
        vectors = (np.take_along_axis(each, best[:, None, :], axis=2) for each in self[1:])
        return Terms(np.take_along_axis(self.gains, best, axis=1), *vectors)

    def of(self, mixtures: Integers) -> Terms:
        """Return the terms of some of the mixtures."""
        return Terms(*(each[mixtures] for each in self))


class JointTerms:
    """Terms of several mixtures, computed together, that start from directions of one mode.

    Parameters
    ----------
    mode
        The mode.
    weights
        The weights of each mixture, a row each.
    grams
        The Gram matrices of every mixture without their diagonals, for each of the three modes.
    """

    def __init__(self, mode: Mode, weights: Floats, grams: Sequence[Floats]) -> None:
        self._mode, self._weights = mode, weights.astype(np.float32)
        grams = [_of_unit_noise(gram) for gram in grams]
        self._own = grams.pop(mode.number)
        self._others = grams

    def found(self, rng: np.random.Generator) -> Terms:
        """Return the best of the terms from random starts."""
        mixtures, size, _ = self._own.shape
        start = rng.standard_normal((mixtures, size, STARTS), np.float32)
        own = brought_out(lambda x: self._own @ x, start, 2.0)
        both = sum(gram.shape[1] for gram in self._others)
        found = self._completed(own, rng.standard_normal((mixtures, both, STARTS), np.float32))
        for kept in ROUNDS:
            found = self.improved(found.best(kept))
        return found

    def improved(self, terms: Terms) -> Terms:
        """Return the terms with a pair that fits their vector, and then a vector that fits the pair.

        The vectors of a true term get nearer to the truth at every round, even from a very small cosine.
        """
        return self._completed(terms.own, np.concatenate([terms.left, terms.right], axis=1))

    def _completed(self, own: Floats, start: Floats) -> Terms:
        """Return the terms with each vector and the pair that is amplified from `start` along it."""
        mixtures, _, terms = own.shape
        room = MOST_IN_MATRICES // math.prod(gram.shape[1] for gram in self._others)
        together = max(1, min(SIDE_BY_SIDE, room) // terms)
        parts = [slice(first, first + together) for first in range(0, mixtures, together)]
        found = side_by_side([partial(self._part_completed, part, own[part], start[part]) for part in parts])
        return Terms(*(np.concatenate(each) for each in zip(*found, strict=True)))

    def _part_completed(self, part: slice, own: Floats, start: Floats) -> Terms:
        terms = own.shape[2]
        weights = np.repeat(self._weights[part], terms, axis=0).T.copy()
        matrices = self._mode.matrices(weights, _side_by_side(_units(own)))
        grams = [gram[part] for gram in self._others]
        pairs = _pairs(grams, matrices.reshape(-1, terms, *matrices.shape[1:]), start)
        sums, gains = self._mode.least_squares(weights, *map(_side_by_side, pairs))
        sums = sums.reshape(len(sums), -1, terms).transpose(1, 0, 2)
        return Terms(gains.reshape(-1, terms), _units(sums), *pairs)


def joint_terms(
    mode: Mode, weights: Floats, grams: Sequence[Floats], rng: np.random.Generator
) -> tuple[Floats, dict[int, Found]]:
    """Return the largest gain of each mixture, and the terms of the most promising ones by number.

    These terms are improved further.

    Parameters
    ----------
    mode, weights, grams
        As for `JointTerms`.
    rng
        Draws the starts.
    """
    terms = JointTerms(mode, weights, grams).found(rng).best(1)
    gains = terms.gains[:, 0]
    best = np.argsort(-gains)[:PROMISING]
    promising, terms = JointTerms(mode, weights[best], [gram[best] for gram in grams]), terms.of(best)
    for _ in range(LAST_ROUNDS):
        terms = promising.improved(terms)
    improved = {}
    for number, gain, own, *vectors in zip(best, *terms, strict=True):
        vectors.insert(mode.number, own)
        improved[int(number)] = Found(float(gain[0]), [vector[:, 0].astype(np.float64) for vector in vectors])
    return gains, improved


def _side_by_side(vectors: Floats) -> Floats:
    """Return the vectors of all mixtures as columns."""
    return vectors.transpose(1, 0, 2).reshape(vectors.shape[1], -1)


def _pairs(grams: Sequence[Floats], matrices: Floats, start: Floats) -> tuple[Floats, Floats]:
    """Return the leading pair of each matrix, with Gram matrices as further evidence."""
    first, second = matrices.shape[2:]
    sizes = np.linalg.norm(matrices, axis=(2, 3), keepdims=True) * (first**-0.5 + second**-0.5) / 2
    matrices /= np.maximum(sizes, np.finfo(np.float32).tiny)

    def product(both: Floats) -> Floats:
        left, right = both[:, :first], both[:, first:]
        across = matrices @ right.transpose(0, 2, 1)[..., None], left.transpose(0, 2, 1)[:, :, None] @ matrices
        upper = grams[0] @ left + across[0][..., 0].transpose(0, 2, 1)
        return np.concatenate([upper, grams[1] @ right + across[1][:, :, 0].transpose(0, 2, 1)], axis=1)

    found = brought_out(product, start, 2 * math.sqrt(2))
    return _units(found[:, :first]), _units(found[:, first:])


def brought_out(product: Callable[[Floats], Floats], block: Floats, radius: float) -> Floats:
    """Return a polynomial of a symmetric matrix times a block, which amplifies large eigenvalues.

    It is a Chebyshev polynomial, small between ``-radius`` and ``EDGE * radius``. Its scale is arbitrary.

    Parameters
    ----------
    product
        The product with the matrix.
    block
        The block.
    radius
        The largest eigenvalue of noise.
    """
    middle, half = radius * (EDGE - 1) / 2, radius * (EDGE + 1) / 2
    last, block = block, (product(block) - middle * block) / half
    for _ in range(STEPS - 1):
        last, block = block, 2 * (product(block) - middle * block) / half - last
        scale = max(float(np.abs(block).max()), float(np.finfo(np.float32).tiny))
        last, block = last / scale, block / scale
    return block


def _of_unit_noise(grams: Floats) -> Floats:
    """Return symmetric matrices, each scaled so that the eigenvalues of noise of its size reach 2."""
    sizes = np.linalg.norm(grams, axis=(1, 2), keepdims=True) / math.sqrt(grams.shape[1])
    scaled: Floats = grams / np.maximum(sizes, np.finfo(np.float32).tiny)
    return scaled


def _units(vectors: Floats) -> Floats:
    units: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return units
