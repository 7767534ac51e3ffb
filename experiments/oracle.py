"""The error that a synthetic tensor allows: least squares on its CP form, started from the true factors.

It has loops of its own and none of the package's solvers, so that it can be a reference for them. From the package
comes only the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tensorfill.datasets.synthetic import SyntheticTensor
from tensorfill.metrics import rmse

Array = NDArray[np.floating[Any]]
Coords = NDArray[np.integer[Any]]

TOLERANCE = 1e-7
"""Stop when a sweep lowers the sum of squares by less than this, relative to its value."""

MAX_SWEEPS = 100
"""Terms that can be seen settle in a few dozen; only a term far below the noise crawls, and it is better left out."""

MOST_LEFT_OUT = 2

SMALL = 8
"""Modes with fewer indices than this are small."""


class Reference(NamedTuple):
    """The lowest test error of least squares from the truth, and the number of terms that reach it."""

    error: float
    terms: int


def oracle(data: SyntheticTensor) -> Reference:
    """Return the lowest test error of least squares from the truth, with and without its weakest terms.

    A term that is too weak to be seen costs more than it brings. The reference is therefore the best of all terms, all
    but the weakest, and all but the two weakest.
    """
    strongest_first = np.argsort(-term_norms(data))
    fewest = max(1, len(strongest_first) - MOST_LEFT_OUT)
    tried = []
    for terms in range(fewest, len(strongest_first) + 1):
        start = starting_factors(data, strongest_first[:terms])
        factors = least_squares(data.observations.coords, data.observations.values, start)
        tried.append(Reference(rmse(values_at(data.test.coords, factors), data.test.values), terms))
    return min(tried)


def least_squares(coords: Coords, values: Array, factors: Sequence[Array]) -> list[Array]:
    """Return the factors of a CP model after alternating least squares over the observed entries.

    Parameters
    ----------
    coords
        The index of every entry along each mode, one row an entry.
    values
        The observed values.
    factors
        Where to start: a matrix for each mode, of shape (size of the mode, terms).
    """
    coords, factors = np.ascontiguousarray(coords), [factor.copy() for factor in factors]
    total, before = float(values @ values), np.inf
    for _ in range(MAX_SWEEPS):
        for mode, factor in enumerate(factors):
            size, terms = factor.shape
            gram, right = np.zeros((size, terms, terms)), np.zeros((size, terms))
            _add_up(coords, values, *_stacked(factors), mode, gram, right)
            # The pseudo-inverse also answers for an index with fewer entries than terms.
            factors[mode] = (np.linalg.pinv(gram, hermitian=True) @ right[:, :, None])[:, :, 0]
        after = total - float(np.vdot(factors[-1], right))
        if before - after <= TOLERANCE * after:
            break
        before = after
    return factors


def values_at(coords: Coords, factors: Sequence[Array]) -> Array:
    """Return the entries of a CP model."""
    product = np.ones((len(coords), factors[0].shape[1]))
    for mode, factor in enumerate(factors):
        product *= factor[coords[:, mode]]
    total: Array = product.sum(axis=1)
    return total


def term_norms(data: SyntheticTensor) -> Array:
    """Return the Frobenius norm of every term."""
    norms: Array = np.abs(data.weights) * np.prod([np.linalg.norm(f, axis=0) for f in data.factors], axis=0)
    return norms


def strengths(data: SyntheticTensor) -> Array:
    """Return the strength of every term, the strongest first: its energy at the observed entries over the edge.

    The energy is in units of the variance of the noise. The edge, sqrt(I_1 I_2 ..) over the modes with at least eight
    indices, is the energy from which on the leading directions of unfoldings are those of a term rather than of noise,
    even if its vectors in the small modes were known (Baik, Ben Arous and Peche, 2005, for matrices).
    """
    shape = data.observations.shape
    energies = len(data.observations) / math.prod(shape) * (term_norms(data) / data.noise) ** 2
    found: Array = np.sort(energies)[::-1] / math.sqrt(math.prod(size for size in shape if size >= SMALL))
    return found


def starting_factors(data: SyntheticTensor, terms: NDArray[np.intp]) -> list[Array]:
    """Return the true factors of some terms, with the weights multiplied into the first."""
    factors: list[Array] = [factor[:, terms].copy() for factor in data.factors]
    factors[0] *= data.weights[terms]
    return factors


def _stacked(factors: Sequence[Array]) -> tuple[Array, NDArray[np.int64]]:
    """Return all factors one below the other, and the row where each of them starts."""
    return np.concatenate(factors), np.cumsum([0, *(len(factor) for factor in factors[:-1])])


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _add_up(
    coords: Coords, values: Array, stacked: Array, starts: Coords, mode: int, gram: Array, right: Array
) -> None:
    """Add up the normal equations of every index of `mode`: products of the other factors, over its entries."""
    terms = stacked.shape[1]
    row = np.empty(terms)
    for p in range(len(values)):
        row[:] = 1.0
        for other in range(coords.shape[1]):
            if other != mode:
                for t in range(terms):
                    row[t] *= stacked[starts[other] + coords[p, other], t]
        i = coords[p, mode]
        for t in range(terms):
            right[i, t] += values[p] * row[t]
            for u in range(terms):
                gram[i, t, u] += row[t] * row[u]
