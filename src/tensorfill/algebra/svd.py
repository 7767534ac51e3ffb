"""Truncated singular value decompositions of an unfolding that is known by its products."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.linalg

from .._types import Floats


class Unfolding(Protocol):
    """A matrix known by its products with blocks of vectors."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    def left(self, a: Floats) -> Floats:
        """Return the transposed matrix times `a`."""

    def right(self, b: Floats) -> Floats:
        """Return the matrix times `b`."""


def orthonormal(block: Floats) -> Floats:
    """Return an orthonormal basis of the columns of a tall `block`, by small Gram matrices.

    Columns are first brought to one length, so that only their angles decide how well the Gram matrix is
    conditioned; directions that depend on the others are dropped, and nearly dependent ones are
    orthonormalised twice.
    """
    smallest = 100 * np.finfo(block.dtype).eps
    for _ in range(3):
        gram = block.T @ block
        length = np.sqrt(np.diagonal(gram))
        nonzero = length > 0
        block, length = block[:, nonzero], length[nonzero]
        gram = gram[np.ix_(nonzero, nonzero)] / np.outer(length, length)
        eigenvalues, vectors = scipy.linalg.eigh(gram, check_finite=False)
        keep = eigenvalues > smallest * max(1, len(eigenvalues))
        vectors = (vectors / length[:, None])[:, keep] / np.sqrt(eigenvalues[keep])
        block = block @ vectors.astype(block.dtype, copy=False)
        if len(eigenvalues) == 0 or eigenvalues[0] > 0.1:
            break
    return block


def subspace_svd(matrix: Unfolding, start: Floats, sweeps: int) -> tuple[Floats, Floats, Floats]:
    """Return the leading singular triplets by block subspace iteration from the columns of `start`.

    Each sweep multiplies once with the transposed matrix and once with the matrix; a Rayleigh-Ritz step turns
    the last block into singular vectors. One sweep is enough where `start` comes from a nearby matrix.

    Returns
    -------
    u, s, v
        With as many triplets as `start` has independent columns, from large to small.
    """
    a = start
    for _ in range(sweeps):
        b = orthonormal(matrix.left(a))
        a = matrix.right(b)
    u, s, wt = scipy.linalg.svd(a, full_matrices=False, check_finite=False)
    return u, s, b @ wt.T


def exact_svd(matrix: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the full decomposition of a dense matrix."""
    u, s, vt = scipy.linalg.svd(matrix, full_matrices=False, check_finite=False)
    return u, s, vt.T


def gram_svd(matrix: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the decomposition of a dense matrix by the Gram matrix of its shorter side.

    Several times cheaper than `exact_svd` for a long matrix. Singular values below the root of the rounding error, as a
    share of the largest, cannot be told from zero this way and are left out.
    """
    rows, cols = matrix.shape
    if rows > cols:
        v, s, u = gram_svd(matrix.T)
        return u, s, v
    _, u = scipy.linalg.eigh(matrix @ matrix.T, check_finite=False)
    u = u[:, ::-1]
    v = matrix.T @ u
    s = np.sqrt(np.einsum("ir,ir->r", v, v))
    keep = s > 10 * np.sqrt(np.finfo(matrix.dtype).eps) * s[0] if rows else s > 0
    return u[:, keep], s[keep], v[:, keep] / s[keep]


def singular_values_of_sum(
    first: tuple[Floats, Floats, Floats], second: tuple[Floats, Floats, Floats], weights: tuple[float, float]
) -> Floats:
    """Return the singular values of ``weights[0] * u1 diag(s1) v1^T + weights[1] * u2 diag(s2) v2^T``.

    Both terms have orthonormal factors. The sum is ``[u1 u2] C [v1 v2]^T`` with a diagonal core C, and only the
    small Gram matrices of the stacked factors are formed.
    """
    (u1, s1, v1), (u2, s2, v2) = first, second
    core = np.concatenate([weights[0] * s1, weights[1] * s2])
    left, right = _stacked_root(u1, u2), _stacked_root(v1, v2)
    values: Floats = scipy.linalg.svdvals((left * core) @ right.T, check_finite=False)
    return values


def _stacked_root(first: Floats, second: Floats) -> Floats:
    """Return R with ``R^T R`` the Gram matrix of two orthonormal blocks side by side.

    With C the cosines between the blocks, R = [[1, C], [0, S]] and S^T S = 1 - C^T C, the sines.
    """
    cosines = first.T @ second
    eigenvalues, vectors = scipy.linalg.eigh(np.eye(cosines.shape[1]) - cosines.T @ cosines, check_finite=False)
    sines = np.sqrt(np.maximum(eigenvalues, 0))[:, None] * vectors.T
    top = np.hstack([np.eye(len(cosines)), cosines])
    bottom = np.hstack([np.zeros((len(sines), len(cosines))), sines])
    return np.vstack([top, bottom])
