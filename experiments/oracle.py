"""The error that a synthetic tensor allows: least squares on its CP form, started from the true factors.

Plain NumPy, and none of the package's solvers, so that it can be a reference for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.datasets.synthetic import SyntheticTensor
from tensorfill.metrics import rmse

Array = NDArray[np.floating[Any]]
Places = Sequence[NDArray[np.int64]]
"""The index of every entry along each mode."""

TOLERANCE = 1e-9
"""Stop when a sweep lowers the sum of squares by less than this, relative to its value."""

MAX_SWEEPS = 300
"""Terms that can be seen settle in a few dozen; only a term far below the noise crawls, and it is better left out."""

MOST_LEFT_OUT = 2


def oracle_rmse(data: SyntheticTensor) -> float:
    """Return the lowest test error of least squares from the truth, with and without its weakest terms.

    A term that is too weak to be seen costs more than it brings. The reference is therefore the best of all terms, all
    but the weakest, and all but the two weakest.
    """
    observed, tested = _places(data.observations.coords), _places(data.test.coords)
    strongest_first = np.argsort(-_term_norms(data))
    fewest = max(1, len(strongest_first) - MOST_LEFT_OUT)
    errors = []
    for terms in range(fewest, len(strongest_first) + 1):
        start = _starting_factors(data, strongest_first[:terms])
        factors = least_squares(observed, data.observations.values, start)
        errors.append(rmse(_products(tested, factors).sum(axis=0), data.test.values))
    return min(errors)


def least_squares(places: Places, values: Array, factors: Sequence[Array]) -> list[Array]:
    """Return the factors of a CP model after alternating least squares over the observed entries.

    Parameters
    ----------
    places
        The index of every entry along each mode.
    values
        The observed values.
    factors
        Where to start: a matrix for each mode, of shape (terms, size of the mode).
    """
    factors = [factor.copy() for factor in factors]
    before = np.inf
    for _ in range(MAX_SWEEPS):
        for mode in range(len(factors)):
            factors[mode] = _solved_rows(places, values, factors, mode)
        after = float(np.sum((values - _products(places, factors).sum(axis=0)) ** 2))
        if before - after <= TOLERANCE * after:
            break
        before = after
    return factors


def _solved_rows(places: Places, values: Array, factors: Sequence[Array], mode: int) -> Array:
    """Return the best factor of one mode: for each of its indices, a normal system over the entries there."""
    design = _products(places, factors, leave_out=mode)
    terms, size = factors[mode].shape

    def summed(of_entries: Array) -> Array:
        return np.bincount(places[mode], weights=of_entries, minlength=size).astype(np.float64)

    gram = np.empty((size, terms, terms))
    for i in range(terms):
        for j in range(i + 1):
            gram[:, i, j] = gram[:, j, i] = summed(design[i] * design[j])
    right = np.stack([summed(column * values) for column in design], axis=1)
    # The pseudo-inverse also answers for an index with fewer entries than terms.
    solution: Array = np.linalg.pinv(gram, hermitian=True) @ right[:, :, None]
    return np.ascontiguousarray(solution[:, :, 0].T)


def _products(places: Places, factors: Sequence[Array], leave_out: int | None = None) -> Array:
    """Return the product of the factors at every entry, of shape (terms, entries)."""
    product = np.ones((len(factors[0]), len(places[0])))
    for mode, (place, factor) in enumerate(zip(places, factors, strict=True)):
        if mode != leave_out:
            product *= factor[:, place]
    return product


def _places(coords: NDArray[np.integer[Any]]) -> list[NDArray[np.int64]]:
    return [np.ascontiguousarray(column, dtype=np.int64) for column in coords.T]


def _term_norms(data: SyntheticTensor) -> Array:
    """Return the Frobenius norm of every term."""
    norms: Array = np.abs(data.weights) * np.prod([np.linalg.norm(f, axis=0) for f in data.factors], axis=0)
    return norms


def _starting_factors(data: SyntheticTensor, terms: NDArray[np.intp]) -> list[Array]:
    """Return the true factors of some terms, with the weights multiplied into the first."""
    factors: list[Array] = [factor[:, terms].T.copy() for factor in data.factors]
    factors[0] *= data.weights[terms, None]
    return factors
