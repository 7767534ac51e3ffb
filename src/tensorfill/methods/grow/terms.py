"""Rank-one terms of residuals, including those that no single mode shows.

A direction below the edge of every mode can still be part of a term together with directions of the other modes. So the
leading eigenvectors of every mode, above the edge or not, are each contracted with the residuals. The result is a
tensor with one mode less, and its leading directions complete the start of a term. Least squares for all starts
together, in one pass over the entries, shows which of them explain most.

For tensors with small modes there are other starts; see `mixtures`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from ..._support.types import Floats
from ...algebra.cp_entries import EntriesByIndex
from ...algebra.sparse_unfoldings import SparseUnfoldings
from ...models import CPModel
from .contraction import terms_along

STARTS = 8
"""The number of eigenvectors of each mode from which terms are started."""

FIRST_SWEEPS = 2
ROUNDS = ((40, 2), (12, 4), (6, 8))
"""Sweeps of least squares: on all starts, and then on fewer and fewer of the best."""

CLIPPED_AT = 2.5
"""Residuals are clipped at this multiple of their root mean square before the search for directions."""

ALIKE = 0.5
"""Terms whose cosine is above this count as one."""

RIDGE = 1e-10


def starts_from_modes(unfoldings: SparseUnfoldings, residuals: Floats, rng: np.random.Generator) -> list[list[Floats]]:
    """Return starts of terms, a vector for each mode, from the leading eigenvectors of every mode."""
    clipped = clip(residuals, CLIPPED_AT)
    starts = []
    for mode in unfoldings.modes:
        directions = unfoldings.leading(mode, clipped, STARTS, rng)[1]
        starts += [vectors for _, vectors in terms_along(unfoldings, mode, clipped, directions, rng)]
    return starts


def best_terms(entries: EntriesByIndex, residuals: Floats, starts: Sequence[Sequence[Floats]]) -> list[CPModel]:
    """Return the rank-one terms of the residuals that least squares finds from some starts, the best first."""
    if not residuals.any() or not starts:
        return []
    factors = [np.stack(columns, axis=1) for columns in zip(*starts, strict=True)]
    values = residuals.astype(np.float64, copy=False)
    factors, weights, gains = _fitted(entries, values, factors, FIRST_SWEEPS)
    for most, sweeps in ROUNDS:
        best = _distinct(factors, gains)[:most]
        factors, weights, gains = _fitted(entries, values, [factor[:, best] for factor in factors], sweeps)
    shape, best = entries.shape, _distinct(factors, gains)
    return [CPModel(shape, weights[[term]], [factor[:, [term]] for factor in factors]) for term in best]


def _distinct(factors: Sequence[Floats], gains: Floats) -> list[int]:
    """Return distinct terms, those that explain most first."""
    cosines = np.abs(reduce(np.multiply, [factor.T @ factor for factor in factors]))
    found: list[int] = []
    for term in np.argsort(-gains):
        if np.all(cosines[term, found] <= ALIKE):
            found.append(int(term))
    return found


def clip(values: Floats, at: float) -> Floats:
    """Return values clipped at a multiple of their root mean square, so that a few of them do not dominate."""
    most = at * float(np.sqrt(np.mean(values * values)))
    return np.clip(values, -most, most)


def _fitted(
    entries: EntriesByIndex, values: Floats, factors: list[Floats], sweeps: int
) -> tuple[list[Floats], Floats, Floats]:
    """Return every term, fitted separately by least squares: columns of unit length, weights, and gains.

    The gain of a term is its reduction of the sum of squares.
    """
    factors = [factor / np.maximum(np.linalg.norm(factor, axis=0), np.finfo(float).tiny) for factor in factors]
    weights = gains = np.zeros(factors[0].shape[1])
    for _ in range(sweeps):
        for mode in range(len(factors)):
            squares, sums = entries.separate_normal_equations(values, factors, mode)
            column = sums / (squares + RIDGE * squares.mean(axis=0) + np.finfo(float).tiny)
            gains = np.sum((2 * sums - squares * column) * column, axis=0)
            weights = np.linalg.norm(column, axis=0)
            factors[mode] = column / np.maximum(weights, np.finfo(float).tiny)
    return factors, weights, gains
