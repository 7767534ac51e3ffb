"""Rank-one terms of mixtures with three modes that are below the edge of noise in each of them.

Contracted with a direction u of one mode, the tensor is a matrix A, whose leading pair completes the term if u is near
enough to the truth. How near depends on what else is known of the pair. The Gram matrices G and H of the other two
modes, too noisy to show the term by themselves, are further witnesses: with all of them scaled so that noise has
eigenvalues up to 2, the leading eigenvector of

    [ G    A ]
    [ A^T  H ]

shows a pair as soon as the squares of the strengths in A and in the Gram matrices add up to one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..._support.types import Floats, Integers
from ...algebra.sparse_unfoldings import SparseUnfoldings

STARTS = 8
"""Directions of a mode that terms are started from."""

ROUNDS = (3,)
"""How many of the best terms are improved, and how often."""

STEPS, FIRST_STEPS, LATER_STEPS = 12, 14, 7
"""Degrees of the polynomials that bring out directions, pairs, and pairs that have a start."""

EDGE = 0.8
"""Eigenvalues above this share of the largest of noise are brought out."""

MEMORY = 0.5
"""How much the Gram matrix of a mode counts for its new direction, beside the tensor."""


class Found(NamedTuple):
    """A term: a vector for each mode, and by how much it lowers the sum of squares."""

    gain: float
    vectors: list[Floats]


def work_of(entries: int, shape: Sequence[int]) -> int:
    """Return about how many multiplications the terms of a mixture take."""
    return STARTS * (4 * entries + 2 * (FIRST_STEPS + LATER_STEPS) * max(shape) ** 2)


class Mode:
    """One mode of the mixtures of slices of a sparse tensor; see `algebra.compiled.mixtures`.

    Parameters
    ----------
    unfoldings
        The entries, unfolded along every mode of the mixtures.
    mode
        The mode.
    values, cells
        The values of the entries, and the place of each among the weights.
    """

    def __init__(self, unfoldings: SparseUnfoldings, mode: int, values: Floats, cells: Integers) -> None:
        self.number = mode
        self._size, self._others = unfoldings.shape[mode], np.delete(unfoldings.shape, mode)
        self._entries = unfoldings.columns(mode, values, cells)

    def matrices(self, weights: Floats, vectors: Floats) -> Floats:
        """Return the product of a mixture with each column of a matrix along the mode."""
        from ...algebra.compiled import mixtures as kernels

        found = np.zeros((vectors.shape[1], *self._others))
        kernels.contract(*self._entries, weights, vectors, found)
        return found

    def least_squares(self, weights: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Return the product with each pair of columns, and the gain of the term with the best third vector."""
        from ...algebra.compiled import mixtures as kernels

        sums, squares = np.zeros((2, self._size, left.shape[1]))
        kernels.add_to_rows(*self._entries, weights, left, right, sums, squares)
        gains: Floats = np.sum(sums**2 / np.maximum(squares, np.finfo(float).tiny), axis=0)
        return sums, gains


def joint_terms(mode: Mode, weights: Floats, grams: Sequence[Floats], rng: np.random.Generator) -> list[Found]:
    """Return rank-one terms of a mixture, started from directions of one mode.

    Parameters
    ----------
    mode
        The mode.
    weights
        The weights of the mixture.
    grams
        The Gram matrix of each of the three modes without its diagonal.
    rng
        Draws the starts.
    """
    grams = [_of_unit_noise(gram) for gram in grams]
    own, others = grams[mode.number], [gram for other, gram in enumerate(grams) if other != mode.number]
    u = _units(brought_out(lambda x: own @ x, rng.standard_normal((len(own), STARTS)), STEPS, 2.0))
    random = rng.standard_normal((sum(map(len, others)), STARTS))
    left, right = _pairs(mode, weights, others, u, random, FIRST_STEPS)
    sums, gains = mode.least_squares(weights, left, right)
    for kept in ROUNDS:
        best = np.argsort(-gains)[:kept]
        sums, left, right = sums[:, best], left[:, best], right[:, best]
        remembered = own @ u[:, best] * np.sign(np.sum(sums * u[:, best], axis=0))
        u = _units(_units(sums) + MEMORY * _units(remembered))
        left, right = _pairs(mode, weights, others, u, np.concatenate([left, right]), LATER_STEPS)
        sums, gains = mode.least_squares(weights, left, right)
    found = []
    for gain, *vectors in zip(gains, left.T, right.T, _units(sums).T, strict=True):
        vectors.insert(mode.number, vectors.pop())
        found.append(Found(float(gain), vectors))
    return found


def _pairs(
    mode: Mode, weights: Floats, grams: Sequence[Floats], u: Floats, start: Floats, steps: int
) -> tuple[Floats, Floats]:
    """Return the leading pair of what each direction u leaves of the tensor."""
    first, second = map(len, grams)
    matrices = mode.matrices(weights, u)
    sizes = np.linalg.norm(matrices.reshape(len(matrices), -1), axis=1) * (first**-0.5 + second**-0.5) / 2
    matrices /= np.maximum(sizes, np.finfo(float).tiny)[:, None, None]

    def product(both: Floats) -> Floats:
        left, right = both[:first], both[first:]
        upper = grams[0] @ left + np.matmul(matrices, right.T[:, :, None])[:, :, 0].T
        lower = grams[1] @ right + np.matmul(left.T[:, None, :], matrices)[:, 0, :].T
        return np.concatenate([upper, lower])

    found = brought_out(product, start, steps, 2 * np.sqrt(2))
    return _units(found[:first]), _units(found[first:])


def brought_out(product: Callable[[Floats], Floats], block: Floats, steps: int, radius: float) -> Floats:
    """Return a polynomial of a symmetric matrix times a block, in which large eigenvalues count most.

    The polynomial is that of Chebyshev, small between ``-radius`` and ``EDGE * radius``. Its scale means nothing.

    Parameters
    ----------
    product
        The product with the matrix.
    block
        The block.
    steps
        The degree.
    radius
        The largest eigenvalue that noise has.
    """
    middle, half = radius * (EDGE - 1) / 2, radius * (EDGE + 1) / 2
    last, block = block, (product(block) - middle * block) / half
    for _ in range(steps - 1):
        last, block = block, 2 * (product(block) - middle * block) / half - last
        scale = max(float(np.abs(block).max()), np.finfo(float).tiny)
        last, block = last / scale, block / scale
    return block


def _of_unit_noise(gram: Floats) -> Floats:
    """Return a symmetric matrix scaled so that the eigenvalues of noise of its size go up to 2."""
    scaled: Floats = gram.astype(np.float64) * (
        np.sqrt(len(gram)) / max(float(np.linalg.norm(gram)), np.finfo(float).tiny)
    )
    return scaled


def _units(columns: Floats) -> Floats:
    units: Floats = columns / np.maximum(np.linalg.norm(columns, axis=0), np.finfo(float).tiny)
    return units
