"""From a Tucker model to a sum of outer products that is as near as its number of terms allows.

The core is small, so its CP form is found by dense alternating least squares. Random starts often end in bad critical
points. A core whose two largest ranks are at least the number of terms has an exact start: two random mixtures of its
slices are diagonalised together, and their common eigenvectors are the columns of one factor.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from ..._support.types import Floats
from ...algebra.unfolding import unfold
from ...models import CPModel, Tucker
from ...models.cp import row_products

EIGENVECTOR_STARTS = 3
RANDOM_STARTS = 1

SWEEPS = 200
TOLERANCE = 1e-10
"""A squared error below this share of the squared norm of the core counts as zero."""

LEAST_FALL = 1e-3
"""Sweeps end when the squared error falls by less than this share. A core with an exact form gains more at every sweep;
for others, a rough start is enough."""

RIDGE = 1e-12


def cp_form(model: Tucker, terms: int, rng: np.random.Generator) -> CPModel:
    """Return a CP model near a Tucker model, the best of several starts."""
    if not (terms and model.core.size):
        return CPModel.normalised([np.zeros((size, terms), model.dtype) for size in model.shape])
    # Scaled to unit size, so that the ridge does not depend on the data.
    size = float(np.linalg.norm(model.core)) or 1.0
    core = model.core.astype(np.float64) / size
    best, lowest = None, np.inf
    for number in range(EIGENVECTOR_STARTS + RANDOM_STARTS):
        start = _from_eigenvectors(core, terms, rng) if number < EIGENVECTOR_STARTS else None
        if start is None or not all(np.isfinite(factor).all() for factor in start):
            start = [rng.standard_normal((size, terms)) for size in model.core.shape]
        factors, error = _fitted(core, start)
        if error < lowest:
            best, lowest = factors, error
        if lowest < TOLERANCE:
            break
    if best is None:
        best = [np.zeros((size, terms)) for size in model.core.shape]
    best[0] = best[0] * size
    return CPModel.normalised([basis @ factor for basis, factor in zip(model.factors, best, strict=True)])


def _fitted(core: Floats, factors: list[Floats]) -> tuple[list[Floats], float]:
    """Return the factors after alternating least squares on all entries of the core, and the relative squared error."""
    total, last = float(np.vdot(core, core)), np.inf
    for _ in range(SWEEPS):
        for mode in range(core.ndim):
            others = [factor for other, factor in enumerate(factors) if other != mode]
            gram = reduce(np.multiply, [other.T @ other for other in others])
            damped = gram + RIDGE * max(np.trace(gram) / len(gram), RIDGE) * np.eye(len(gram))
            products = unfold(core, mode) @ row_products(others)
            factors[mode] = np.linalg.solve(damped, products.T).T
        factors = CPModel.normalised(factors).balanced_factors()
        left = unfold(core, 0) - factors[0] @ row_products(factors[1:]).T
        error = float(np.vdot(left, left)) / total if total > 0 else 0.0
        if last - error < max(TOLERANCE, LEAST_FALL * error):
            break
        last = error
    return factors, error


def _from_eigenvectors(core: Floats, terms: int, rng: np.random.Generator) -> list[Floats] | None:
    """Return factors from the common eigenvectors of two mixtures of slices; None if the ranks are too small."""
    first, second, *rest = sorted(range(core.ndim), key=lambda mode: -core.shape[mode])
    slices = core.transpose(first, second, *rest).reshape(core.shape[first], core.shape[second], -1)
    if slices.shape[2] < 2 or min(slices.shape[:2]) < terms:
        return None
    one, two = (slices @ rng.standard_normal(slices.shape[2]) for _ in range(2))
    left = np.linalg.svd(np.hstack([one, two]), full_matrices=False)[0][:, :terms]
    right = np.linalg.svd(np.hstack([one.T, two.T]), full_matrices=False)[0][:, :terms]
    try:
        mixing = np.linalg.solve((left.T @ two @ right).T, (left.T @ one @ right).T).T
        vectors = np.linalg.eig(mixing)[1]
    except np.linalg.LinAlgError:
        return None
    # A pair of complex eigenvectors spans the same plane as its real and imaginary parts.
    columns = left @ np.where(np.abs(vectors.imag) > 0, vectors.real + vectors.imag, vectors.real)
    columns /= np.maximum(np.linalg.norm(columns, axis=0), np.finfo(float).tiny)
    partners = np.linalg.lstsq(columns, slices.reshape(len(slices), -1), rcond=None)[0]
    factors: list[Floats] = [np.zeros((size, terms)) for size in core.shape]
    factors[first] = columns
    for term in range(terms):
        partner = partners[term].reshape(core.shape[second], *(core.shape[mode] for mode in rest))
        for place, mode in enumerate((second, *rest)):
            factors[mode][:, term] = np.linalg.svd(unfold(partner, place), full_matrices=False)[0][:, 0]
    return factors
