"""Truncated singular value decompositions of an unfolding that is given by its products with blocks of vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol

import numpy as np
import scipy.linalg

from .._support.clock import check_time
from .._support.types import Floats
from .pieces import PIECE
from .tall import Tall, V


class RoundTrip(NamedTuple, Generic[V]):
    """The products of a matrix M with some vectors A, there and back.

    Parameters
    ----------
    block
        B = M^T A.
    gram
        B^T B.
    product
        M B.
    """

    block: V
    gram: Floats
    product: Floats


class Unfolding(Protocol[V]):
    """A matrix given by its products with blocks of vectors."""

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""

    def round_trip(self, a: Floats) -> RoundTrip[V]:
        """Return B = M^T `a` of this matrix M, B^T B and M B; the next call may overwrite B."""

    def left(self, a: Floats) -> V:
        """Return the transposed matrix times `a`; the next call may overwrite it."""

    def right(self, b: V) -> Floats:
        """Return the matrix times `b`."""

    def leading(self, count: int) -> Floats | None:
        """Return the first `count` left singular vectors, or None if products with blocks find them sooner."""

    def decomposed(self, svd: str, count: int) -> Decomposition[V] | None:
        """Return all singular triplets, or None if products with blocks are to find the first `count` of them.

        Parameters
        ----------
        svd
            ``"exact"``, ``"subspace"``, or ``"auto"`` for what is cheaper.
        count
            How many are wanted.
        """


@dataclass(frozen=True, eq=False)
class Decomposition(Generic[V]):
    """Singular triplets, in decreasing order; right vectors are computed on request, as many as needed.

    Parameters
    ----------
    u, s
        The left singular vectors and the singular values.
    block, mix
        The right singular vectors are ``block @ mix``.
    """

    u: Floats
    s: Floats
    block: V
    mix: Floats

    def v(self, count: int | None = None) -> V:
        """Return the first `count` right singular vectors, by default all."""
        return self.block @ self.mix[:, :count]


def whitening(block: Tall) -> tuple[Floats, float]:
    """Return T such that the columns of ``block @ T`` are orthonormal, and the condition of the block.

    T is computed from the small Gram matrix of the block, after its columns are scaled to length one, so that only
    their angles matter. Linearly dependent directions are dropped. The condition is the least eigenvalue of the scaled
    Gram matrix, which is 1 for orthogonal columns.
    """
    return whitening_by(block.T @ block)


def whitening_by(gram: Floats) -> tuple[Floats, float]:
    """Return the result of `whitening` for a block with this Gram matrix."""
    length = np.sqrt(np.diagonal(gram))
    # A column of length zero is divided by one; it has no direction and is dropped below.
    length = np.where(length > 0, length, 1)
    eigenvalues, vectors = np.linalg.eigh(gram / (length[:, None] * length))
    keep = eigenvalues > 100 * np.finfo(gram.dtype).eps * max(1, len(eigenvalues))
    mix = (vectors / length[:, None])[:, keep] / np.sqrt(eigenvalues[keep])
    return mix.astype(gram.dtype, copy=False), float(eigenvalues[0]) if len(eigenvalues) else 1.0


REGISTER_BITS = 256
"""The width of SIMD registers (AVX2), which common processors have had for ten years."""


def whole_registers(width: int, dtype: np.dtype[np.floating]) -> int:
    """Return `width` rounded up until the rows of a block fill whole SIMD registers, which costs no extra time.

    >>> whole_registers(6, np.dtype(np.float64)), whole_registers(6, np.dtype(np.float32))
    (8, 8)
    """
    lanes = lanes_of(dtype)
    return -(-width // lanes) * lanes


def lanes_of(dtype: np.dtype[np.floating]) -> int:
    """Return how many numbers fill a SIMD register."""
    return REGISTER_BITS // (8 * dtype.itemsize)


WELL_CONDITIONED = 0.1
"""If the least eigenvalue is above this, one whitening is accurate up to rounding."""


def orthonormal(block: V) -> V:
    """Return an orthonormal basis of the columns of a tall `block`; nearly dependent columns are whitened again."""
    for number in range(3):
        mix, least = whitening(block)
        block = block @ mix if number == 0 else turned(block, mix)
        if least > WELL_CONDITIONED:
            break
    return block


def turned(block: V, mix: Floats) -> V:
    """Return ``block @ mix``, in the memory of the block if it has the size: new memory of a long one is slow."""
    if not isinstance(block, np.ndarray) or mix.shape != (block.shape[1],) * 2:
        return block @ mix
    for first in range(0, len(block), PIECE):
        rows = block[first : first + PIECE]
        rows[...] = rows @ mix
    return block


def subspace_svd(matrix: Unfolding[V], start: Floats, sweeps: int) -> Decomposition[V]:
    """Return the leading singular triplets by block subspace iteration from the columns of `start`.

    Each sweep multiplies once with the transposed matrix and once with the matrix. A Rayleigh-Ritz step turns the last
    block into singular vectors. One sweep is enough if `start` comes from a nearby matrix. The block is usually nearly
    orthogonal and is whitened after both products, because ``matrix @ (block @ mix) = (matrix @ block) @ mix``.
    """
    a = start
    for _ in range(sweeps):
        check_time()
        block, gram, product = matrix.round_trip(a)
        mix, least = whitening_by(gram)
        if least <= np.sqrt(np.finfo(gram.dtype).eps):
            block = orthonormal(block @ mix)
            mix = np.eye(block.shape[1], dtype=block.dtype)
            product = matrix.right(block)
        elif least <= WELL_CONDITIONED:
            mix = mix @ whitening(block @ mix)[0]
        a = product @ mix
    u, s, wt = np.linalg.svd(a, full_matrices=False) if len(a) < LONG else _svd_by_products(a)
    return Decomposition(u, s, block, mix @ wt.T)


LONG = 2**16
"""A matrix with at least this many rows does not fit in a core's cache, and is decomposed by products with blocks."""


def _svd_by_products(matrix: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the singular value decomposition of a long, narrow matrix, without its nearly dependent directions.

    It takes half a dozen products, where LAPACK goes through the matrix several times for each column. They are in
    double precision, because what Gram matrices tell apart is the square root of rounding.
    """
    exact = matrix.astype(np.float64, copy=False)
    basis = orthonormal(exact)
    u, s, vt = np.linalg.svd(basis.T @ exact, full_matrices=False)
    return turned(basis, u).astype(matrix.dtype, copy=False), s.astype(matrix.dtype), vt.astype(matrix.dtype)


def exact_svd(matrix: Floats) -> Decomposition[Floats]:
    """Return the full decomposition of a dense matrix."""
    u, s, vt = scipy.linalg.svd(matrix, full_matrices=False, check_finite=False)
    return Decomposition(u, s, vt.T, np.eye(len(s), dtype=matrix.dtype))


def gram_svd(matrix: Floats) -> Decomposition[Floats]:
    """Return the decomposition of a dense matrix by the Gram matrix of its shorter side.

    This is several times cheaper than `exact_svd` for a long matrix. Singular values below the square root of the
    rounding error, relative to the largest, cannot be distinguished from zero this way and are left out.
    """
    rows, cols = matrix.shape
    if rows <= cols:
        u = scipy.linalg.eigh(matrix @ matrix.T, check_finite=False)[1][:, ::-1]
        v = matrix.T @ u
        s = np.sqrt(np.einsum("ir,ir->r", v, v))
    else:
        v = scipy.linalg.eigh(matrix.T @ matrix, check_finite=False)[1][:, ::-1]
        u = matrix @ v
        s = np.sqrt(np.einsum("ir,ir->r", u, u))
    keep = s > 10 * np.sqrt(np.finfo(matrix.dtype).eps) * s.max(initial=0)
    s = s[keep]
    if rows <= cols:
        return Decomposition(u[:, keep], s, v, np.eye(v.shape[1], dtype=v.dtype)[:, keep] / s)
    return Decomposition(u[:, keep] / s, s, v, np.eye(v.shape[1], dtype=v.dtype)[:, keep])
