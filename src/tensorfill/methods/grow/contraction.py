"""From one direction of a sparse tensor to a rank-one term: contract, and take the leading directions of the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy.sparse

from ..._support.clock import Clock
from ..._support.types import Floats, Integers
from ...algebra.sparse_unfoldings import SparseUnfoldings
from .joint import Found

POWER_STEPS = 10
"""Steps of the power method for the leading pair of a matrix."""

MOST_DENSE = 10**6
"""A matrix with at most this many entries is stored as a whole."""


DIRECTIONS = 8
"""The number of leading directions of each mode from which terms are started."""


def separate_terms(
    unfoldings: SparseUnfoldings, values: Floats, squares: Floats, rng: np.random.Generator
) -> list[Found]:
    """Return rank-one terms that start from the leading directions of every mode.

    Their gains are approximate: a term is assumed to be spread evenly over the entries. `squares` is the weight of the
    square of a term at each of these.
    """
    share = float(squares.sum()) / math.prod(unfoldings.shape)
    found = []
    for mode in unfoldings.modes:
        directions = unfoldings.leading(mode, values, DIRECTIONS, rng)[1]
        terms = terms_along(unfoldings, mode, values, directions, rng)
        found += [Found(strength**2 / share, vectors) for strength, vectors in terms]
    return found


def terms_along(
    unfoldings: SparseUnfoldings, mode: int, values: Floats, directions: Floats, rng: np.random.Generator
) -> list[tuple[float, list[Floats]]]:
    """Return, for each column of `directions`, a vector for every mode, with that column for `mode`, and its strength.

    The strength is the inner product of the values with the outer product of the vectors.
    """
    others, contracted = unfoldings.contracted(mode, values, directions)
    sizes = [size for other, size in enumerate(unfoldings.shape) if other != mode]
    found = []
    for direction, column in zip(directions.T, contracted.T, strict=True):
        unfoldings.clock.check()
        strength, vectors = _leading_term(others, column, sizes, rng, unfoldings.clock)
        found.append((strength, [*vectors[:mode], direction, *vectors[mode:]]))
    return found


def _leading_term(
    coords: Integers, values: Floats, shape: Sequence[int], rng: np.random.Generator, clock: Clock
) -> tuple[float, list[Floats]]:
    """Return one direction for each mode: the leading one of the largest mode, and then those of the rest."""
    if len(shape) == 1:
        sums: Floats = np.bincount(coords[:, 0], weights=values, minlength=shape[0]).astype(float)
        return float(np.linalg.norm(sums)), [_unit(sums)]
    if len(shape) == 2:
        return _leading_pair(_matrix(coords, values, shape), rng.standard_normal(shape[1]))
    mode = int(np.argmax(shape))
    unfoldings = SparseUnfoldings(coords, shape, [mode], clock)
    direction = unfoldings.leading(mode, values, 1, rng)[1]
    return terms_along(unfoldings, mode, values, direction, rng)[0]


def _matrix(coords: Integers, values: Floats, shape: Sequence[int]) -> Floats | scipy.sparse.csr_array:
    """Return the matrix with these distinct entries."""
    if math.prod(shape) > MOST_DENSE:
        return scipy.sparse.csr_array((values, (coords[:, 0], coords[:, 1])), shape=tuple(shape))
    matrix = np.zeros(shape)
    matrix[coords[:, 0], coords[:, 1]] = values
    return matrix


def _leading_pair(matrix: Floats | scipy.sparse.csr_array, right: Floats) -> tuple[float, list[Floats]]:
    """Return the leading singular value and vectors by the power method, which starts from `right`."""
    for _ in range(POWER_STEPS):
        left = _unit(matrix @ right)
        product: Floats = matrix.T @ left
        right = _unit(product)
    return float(np.linalg.norm(product)), [left, right]


def _unit(vector: Floats) -> Floats:
    unit: Floats = vector / max(float(np.linalg.norm(vector)), np.finfo(float).tiny)
    return unit
