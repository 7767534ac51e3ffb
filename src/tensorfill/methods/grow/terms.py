"""Rank-one terms of residuals, also those that no single mode shows.

A direction below the edge of every mode can still be a term together with directions of the other modes. So the
leading eigenvectors of every mode, above the edge or not, are each contracted with the residuals. What is left is a
tensor of one mode less, and its leading directions complete the start of a term. Least squares for all starts side by
side, one pass over the entries for all of them, shows which of them explain most.

Tensors with small modes get further starts; see `mixtures`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse

from ..._support.types import Floats, Integers
from ...algebra.sparse_unfoldings import SparseUnfoldings
from ...models import CPModel
from ..cp_least_squares import sums_over_rows
from .mixtures import Mixtures

STARTS = 8
"""Eigenvectors of each mode that a term is started from."""

FIRST_SWEEPS, LAST_SWEEPS = 4, 8
"""Sweeps of least squares on all starts, and then on the best of them."""

BEST = 6
"""How many starts are followed to the end."""

CLIPPED_AT = 2.5
"""Residuals are clipped at this multiple of their root mean square before directions are looked for."""

BEST_MIXTURES = 8
"""How many mixtures of slices a term is started from."""

ALIKE = 1e-3
"""Terms whose gains differ by less than this share are one term."""

POWER_STEPS = 10
"""Steps of the power method for the leading pair of a matrix."""

RIDGE = 1e-10


def terms_of(
    coords: Integers,
    residuals: Floats,
    unfoldings: SparseUnfoldings,
    mixtures: Mixtures | None,
    rng: np.random.Generator,
) -> list[CPModel]:
    """Return rank-one terms of the residuals, those that explain most first."""
    if not residuals.any():
        return []
    shape, clipped = unfoldings.shape, clip(residuals, CLIPPED_AT)
    starts = []
    for mode in unfoldings.modes:
        for vector in unfoldings.leading(mode, clipped, STARTS, rng)[1].T:
            others = _leading_term(*unfoldings.contracted(mode, clipped, vector), _without(shape, mode), rng)
            starts.append([*others[:mode], vector, *others[mode:]])
    if mixtures is not None:
        starts += _from_mixtures(mixtures, clipped, rng)
    factors = [np.stack(columns, axis=1) for columns in zip(*starts, strict=True)]
    entries = np.array(coords, dtype=np.int64, order="C"), residuals.astype(np.float64)
    factors, _, gains = _fitted(*entries, factors, FIRST_SWEEPS)
    best = np.argsort(-gains)[:BEST]
    factors, weights, gains = _fitted(*entries, [factor[:, best] for factor in factors], LAST_SWEEPS)
    found: list[int] = []
    for term in np.argsort(-gains):
        if all(abs(gains[term] - gains[other]) > ALIKE * abs(gains[term]) for other in found):
            found.append(int(term))
    return [CPModel(shape, weights[[term]], [factor[:, [term]] for factor in factors]) for term in found]


def _from_mixtures(mixtures: Mixtures, values: Floats, rng: np.random.Generator) -> list[list[Floats]]:
    """Return starts of terms from mixtures of the slices along the small modes."""
    longest, starts = mixtures.longest, []
    for mixture in mixtures.strongest(values, rng)[:BEST_MIXTURES]:
        contracted = mixtures.unfoldings.contracted(longest, mixture.mixed, mixture.direction)
        others = _leading_term(*contracted, _without(mixtures.sizes, longest), rng)
        columns = [*others[:longest], mixture.direction, *others[longest:], *mixture.vectors]
        known = dict(zip([*mixtures.large, *mixtures.small], columns, strict=True))
        starts.append([known[mode] for mode in sorted(known)])
    return starts


def _without(shape: Sequence[int], mode: int) -> list[int]:
    """Return the sizes of all other modes."""
    return [size for other, size in enumerate(shape) if other != mode]


def clip(values: Floats, at: float) -> Floats:
    """Return values clipped at a multiple of their root mean square, so that a few cannot decide by themselves."""
    most = at * float(np.sqrt(np.mean(values * values)))
    return np.clip(values, -most, most)


def _leading_term(coords: Integers, values: Floats, shape: Sequence[int], rng: np.random.Generator) -> list[Floats]:
    """Return one direction for each mode: the leading one of the largest mode, then those of what is left."""
    if len(shape) == 1:
        sums: Floats = np.bincount(coords[:, 0], weights=values, minlength=shape[0]).astype(float)
        return [_unit(sums)]
    if len(shape) == 2:
        matrix = scipy.sparse.csr_array((values, (coords[:, 0], coords[:, 1])), shape=tuple(shape))
        right: Floats = rng.standard_normal(shape[1])
        for _ in range(POWER_STEPS):
            left = _unit(matrix @ right)
            right = _unit(matrix.T @ left)
        return [left, right]
    mode = int(np.argmax(shape))
    unfoldings = SparseUnfoldings(coords, shape, [mode])
    direction = unfoldings.leading(mode, values, 1, rng)[1][:, 0]
    others = _leading_term(*unfoldings.contracted(mode, values, direction), _without(shape, mode), rng)
    return [*others[:mode], direction, *others[mode:]]


def _unit(vector: Floats) -> Floats:
    unit: Floats = vector / max(float(np.linalg.norm(vector)), np.finfo(float).tiny)
    return unit


def _fitted(
    coords: Integers, values: Floats, factors: list[Floats], sweeps: int
) -> tuple[list[Floats], Floats, Floats]:
    """Return every term after least squares by itself: columns of length one, weights, and gains.

    The gain of a term is how much it lowers the sum of squares.
    """
    from ...algebra.compiled import cp as kernels

    factors = [factor / np.maximum(np.linalg.norm(factor, axis=0), np.finfo(float).tiny) for factor in factors]
    weights = gains = np.zeros(factors[0].shape[1])
    for _ in range(sweeps):
        for mode, factor in enumerate(factors):
            squares, sums = sums_over_rows(
                kernels.separate_normal_equations, coords, values, factors, mode, factor.shape[1:]
            )
            column = sums / (squares + RIDGE * squares.mean(axis=0) + np.finfo(float).tiny)
            gains = np.sum((2 * sums - squares * column) * column, axis=0)
            weights = np.linalg.norm(column, axis=0)
            factors[mode] = column / np.maximum(weights, np.finfo(float).tiny)
    return factors, weights, gains
