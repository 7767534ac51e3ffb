"""Full decompositions of the unfoldings of a dense tensor, by the Gram matrix of the shorter side.

An unfolding is usually short and wide. The eigenvectors u of M M^T are the left singular vectors of M, and a function
of the singular values becomes one product, u g(s) / s u^T M: far cheaper than a singular value decomposition of M. Gram
matrices are accumulated in float64. A singular value below 1e-8 times the largest is lost in the rounding of its
square, and one of 1e-5 times the largest still has six correct digits. So `shrunk_component` decomposes M itself if it
is to keep a smaller one than that.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from .._support.types import Floats
from .component import Component
from .svd import exact_svd
from .unfolding import fold, times, unfold

SMALLEST_BY_GRAM = 1e-5
"""Singular values that are kept must be at least this share of the largest, or the matrix itself is decomposed."""

OfValues = Callable[[Floats], Floats]
"""A function of all singular values at once, in decreasing order."""


def singular_values(tensor: Floats, mode: int) -> Floats:
    """Return the singular values of an unfolding, in decreasing order, in float64.

    >>> singular_values(np.array([[3.0, 0.0, 0.0], [0.0, 0.0, 4.0]]), 0)
    array([4., 3.])
    """
    return _roots(scipy.linalg.eigh(_gram(unfold(tensor, mode)), eigvals_only=True, check_finite=False))


def shrunk_component(tensor: Floats, mode: int, prox: OfValues) -> Component:
    """Return an unfolding with its singular values replaced by ``prox`` of them; zeros are dropped.

    >>> tensor = np.array([[3.0, 0.0, 0.0], [0.0, 0.0, 4.0]])
    >>> shrunk_component(tensor, 0, lambda s: np.maximum(s - 3, 0)).s
    array([1.])
    """
    matrix = unfold(tensor, mode)
    is_wide = matrix.shape[0] <= matrix.shape[1]
    s, vectors = _decomposed(matrix)
    shrunk = _kept(prox(s))
    rank = len(shrunk)
    if rank and s[rank - 1] < SMALLEST_BY_GRAM * s[0]:
        found = exact_svd(matrix)
        shrunk = _kept(prox(found.s))
        rank = len(shrunk)
        return Component(mode, found.u[:, :rank], shrunk, np.ascontiguousarray(found.v(rank)))
    short = np.ascontiguousarray(vectors[:, :rank].astype(matrix.dtype, copy=False))
    long = (matrix.T if is_wide else matrix) @ short
    long /= s[:rank].astype(matrix.dtype)
    u, v = (short, long) if is_wide else (long, short)
    return Component(mode, u, shrunk.astype(matrix.dtype, copy=False), v)


def rescaled_unfolding(tensor: Floats, mode: int, factor: OfValues) -> tuple[Floats, Floats]:
    """Return the tensor with the singular values of an unfolding multiplied by ``factor`` of them, and the values.

    The factor must be finite for values of zero. It may be large where values are small, but its products with values
    below 1e-8 times the largest are rounding errors.

    >>> tensor = np.array([[3.0, 0.0, 0.0], [0.0, 0.0, 4.0]])
    >>> rescaled_unfolding(tensor, 0, lambda s: 1 / np.maximum(s, 4))[0]
    array([[0.75, 0.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    matrix = unfold(tensor, mode)
    s, vectors = _decomposed(matrix)
    square = ((vectors * factor(s)) @ vectors.T).astype(matrix.dtype, copy=False)
    if matrix.shape[0] <= matrix.shape[1]:
        return times(square, tensor, mode), s
    return np.ascontiguousarray(fold(matrix @ square, mode, tensor.shape)), s


def _decomposed(matrix: Floats) -> tuple[Floats, Floats]:
    """Return all singular values, in decreasing order, and the singular vectors of the shorter side, in float64."""
    squares, vectors = scipy.linalg.eigh(_gram(matrix), check_finite=False)
    return _roots(squares), vectors[:, ::-1]


def _gram(matrix: Floats) -> Floats:
    short = (matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T).astype(np.float64, copy=False)
    gram: Floats = short @ short.T
    return gram


def _roots(squares: Floats) -> Floats:
    roots: Floats = np.sqrt(np.maximum(squares[::-1], 0))
    return roots


def _kept(s: Floats) -> Floats:
    return s[: np.count_nonzero(s > 0)]
