"""Least squares for the core and for the rows of each factor of a Tucker model, over the observed entries.

Each is a linear problem with normal equations ``G z = b``, and is solved with one of two ridges:

    (G + eps) z = b + eps z_before     is tied to the previous solution, and determines only what the entries do not;
    (G + nu) z = b                     shrinks to zero according to the noise.

For the second, let v be the variance of the residuals. A row of an orthonormal factor of a mode of size I has a mean
square of 1 / I for each number, so its ridge is nu = v I. That of the core is v over its mean square. Without it,
sweeps with many new directions diverge.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._support.clock import check_time
from .._support.parallel import parts_of, side_by_side
from .._support.types import Floats, Integers
from ..algebra.loops import loops
from ..algebra.svd import whole_registers
from ..algebra.tucker_entries import EntriesInBlocks, FactorRows, level_bounds, sums_over_blocks, values_at
from ..models import Tucker
from ..observations import Observations

RIDGE = 1e-8
"""The default ridge, relative to the mean diagonal of the normal matrix."""

MOST_DIRECT = 512
"""A larger block of the core is solved for by conjugate gradients, without a normal matrix."""

GRADIENT_TOLERANCE = 1e-4
"""Conjugate gradients for the core end when the gradient has decreased to this share."""

FEW_STEPS, MOST_STEPS = 10, 40
"""They take the first number of steps where entries are spread evenly. Where they take more, the normal matrix is
cheaper; and where that would be too large, they end after the second number."""

MOST_IN_NORMAL = 2_000
"""The largest size of a block for which there is a normal matrix."""

LEAST_CORE = 1e-3
"""The least mean square of the core, relative to that which the entries would need."""

LEAST_SQUARES = 1e-14
"""Sums of squares below this share of the total are rounding."""


class LeastSquares:
    """Least squares for a Tucker model on the observed entries, one linear problem at a time.

    Parameters
    ----------
    observations
        The entries to fit.
    start
        The starting point.
    free
        The modes whose factors are fitted; the factors of the others must be identities.
    ridge
        The strength with which a solution is tied to the previous one.
    shrink
        Whether to shrink according to the noise instead.
    entries
        The entries in blocks, if they have been arranged already.
    """

    def __init__(
        self,
        observations: Observations,
        start: Tucker,
        free: Sequence[int],
        ridge: float = RIDGE,
        *,
        shrink: bool = False,
        entries: EntriesInBlocks | None = None,
    ) -> None:
        self._shape, self._dtype, self._ridge = observations.shape, observations.dtype, ridge
        self._shrink = shrink
        if entries is None:
            entries = EntriesInBlocks(observations.coords, observations.values, observations.shape, free)
        self._free, self._fixed = entries.free, entries.fixed
        self._factors = [start.factors[mode].astype(np.float64) for mode in self._free]
        sizes = [self._shape[mode] for mode in self._fixed]
        blocks = start.core.transpose(self._fixed + self._free).astype(np.float64)
        self._core = blocks.reshape(math.prod(sizes), *(factor.shape[1] for factor in self._factors))
        self._coords, self._groups, self._values = entries.arranged
        self._total = float(self._values @ self._values)
        self.sum_of_squares = self._total
        if self._core.any():
            residuals = self._values - self._seen()
            self._remember(float(residuals @ residuals))

    def _seen(self) -> Floats:
        """Return the model at the entries, in the order in which they are stored."""
        return values_at(self._coords, self._groups, self._blocks, FactorRows(self._factors))

    @property
    def _blocks(self) -> Floats:
        """The core with one row for each block."""
        return self._core.reshape(len(self._core), -1)

    def _remember(self, sum_of_squares: float) -> None:
        self.sum_of_squares = max(sum_of_squares, LEAST_SQUARES * self._total)

    @property
    def unknowns(self) -> int:
        """The number of free parameters: those of the factors up to a change of basis, and the core."""
        in_factors = sum(rank * max(size - rank, 0) for size, rank in (factor.shape for factor in self._factors))
        return int(self._core.size + in_factors)

    @property
    def variance(self) -> float:
        """The variance of the residuals."""
        return variance_of(self.sum_of_squares, len(self._values), self.unknowns)

    def model(self) -> Tucker:
        """Return the current model, in the precision of the observations."""
        ranks = [factor.shape[1] for factor in self._factors]
        core = self._core.reshape(*(self._shape[mode] for mode in self._fixed), *ranks)
        core = core.transpose(np.argsort(self._fixed + self._free))
        found = dict(zip(self._free, self._factors, strict=True))
        factors = [found[mode] if mode in found else np.eye(size) for mode, size in enumerate(self._shape)]
        return Tucker(
            self._shape,
            np.array(core, dtype=self._dtype, order="C"),
            [factor.astype(self._dtype) for factor in factors],
        )

    def state(self) -> dict[str, Any]:
        """Return the core, the factors and the residuals, as arrays that later sweeps do not change."""
        return {"core": self._core.copy(), "factors": list(self._factors), "left": self.sum_of_squares}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the core, the factors and the residuals of a state."""
        self._core, self._factors, self.sum_of_squares = state["core"], list(state["factors"]), state["left"]

    def sweep(self) -> None:
        """Solve for the rows of every factor, and then for the core."""
        if not self._core.size:
            return
        for mode in sorted(self._free):
            check_time()
            self.fit_rows(mode)
        self.fit_core()

    def fit_core(self) -> None:
        """Solve for the core: block by block, ``sum_p x_p x_p^T vec(core) = sum_p o_p x_p``.

        The features x_p are ``kron(A_1[i_1], A_2[i_2], ..)``.
        """
        if self._core[0].size <= MOST_DIRECT or not self._fit_core_by_gradients():
            self._fit_core_directly()

    def _fit_core_directly(self) -> None:
        """Solve for the core with the normal matrix of each block."""
        rows = FactorRows(self._factors)
        features, pairs = padded(self._factors[-1]), padded(_pairs(self._factors[-1]))
        sizes = rows.ranks * (rows.ranks + 1) // 2
        gram_bounds = level_bounds([*sizes[:-1], pairs.shape[1]])
        sum_bounds = level_bounds([*rows.ranks[:-1], features.shape[1]])
        each = max(pairs.shape[1], int(gram_bounds[-1] - gram_bounds[1]))
        tucker = loops("tucker", len(self._values), len(self._values) * each)
        bounds = np.searchsorted(self._groups, np.arange(len(self._core) + 1))
        shrinkage, left = self._core_shrinkage(), self._total
        for block, first, last in zip(self._core, bounds[:-1], bounds[1:], strict=True):
            check_time()
            shares = parts_of(first, last, beside=block.size)
            grams, sums = (np.zeros((len(shares) - 1, 1, each[-1])) for each in (gram_bounds, sum_bounds))
            given = self._coords, self._values, *rows.arrays[:3]
            made = features, pairs, gram_bounds, sum_bounds
            side_by_side(
                [
                    partial(tucker.core_normal_equations, *given, *share, *made, gram, total)
                    for share, gram, total in zip(itertools.pairwise(shares), grams, sums, strict=True)
                ]
            )
            normal = _from_pairs(_total(grams, gram_bounds, sizes), rows.ranks.tolist())
            rhs = _total(sums, sum_bounds, rows.ranks).ravel()
            solution = self._solved(normal, rhs, block.ravel(), shrinkage)
            block[...] = solution.reshape(block.shape)
            left += float(solution @ normal @ solution - 2 * rhs @ solution)
        self._remember(left)

    def _fit_core_by_gradients(self) -> bool:
        """Solve for the core by conjugate gradients, whose products cost one rank per entry.

        Returns whether the core has been solved for; if not, too many steps are needed.
        """
        rows, shape = FactorRows(self._factors), (len(self._core), self._core[0].size)
        entries = self._coords, self._groups
        shrinkage = self._core_shrinkage()
        core = np.array(self._blocks)
        residuals = self._values - values_at(*entries, core, rows)
        gradient = sums_over_blocks(*entries, residuals, rows, shape) - shrinkage * core
        enough = GRADIENT_TOLERANCE * float(np.linalg.norm(sums_over_blocks(*entries, self._values, rows, shape)))
        direction, square = gradient, float(np.vdot(gradient, gradient))
        has_matrix = shape[1] <= MOST_IN_NORMAL
        for _ in range(FEW_STEPS if has_matrix else MOST_STEPS):
            if math.sqrt(square) <= enough:
                break
            check_time()
            change = values_at(*entries, direction, rows)
            step = square / (float(change @ change) + shrinkage * float(np.vdot(direction, direction)))
            core += step * direction
            residuals -= step * change
            gradient = sums_over_blocks(*entries, residuals, rows, shape) - shrinkage * core
            square, last = float(np.vdot(gradient, gradient)), square
            direction = gradient + (square / last) * direction
        if has_matrix and math.sqrt(square) > enough:
            return False
        self._core[...] = core.reshape(self._core.shape)
        self._remember(float(residuals @ residuals))
        return True

    def fit_rows(self, mode: int) -> None:
        """Solve for the rows of the factor of a mode.

        Over the entries p of row i, that is ``sum_p w_p w_p^T a_i = sum_p o_p w_p``. The features w_p are the core
        contracted with the rows of the other factors. The factor is orthonormalised again, by a change of basis that is
        undone in the core.
        """
        place = self._free.index(mode)
        factor = self._factors[place]
        size, rank = factor.shape
        others = [other for other in range(len(self._free)) if other != place]
        rows = FactorRows([self._factors[other] for other in others])
        core = padded(np.moveaxis(self._core, place + 1, -1).reshape(-1, rank))
        each = core.shape[1] * max(rank + 1, int(rows.bounds[-1] - rows.bounds[1]))
        tucker = loops("tucker", len(self._values), len(self._values) * each)
        shares = parts_of(0, len(self._values), beside=size * rank)
        sums = np.zeros((len(shares) - 1, size * (rank + 1), core.shape[1]))
        own, rest = (np.ascontiguousarray(self._coords[:, modes]) for modes in (place, others))
        given = own, self._groups, rest, self._values, core, *rows.arrays
        side_by_side(
            [
                partial(tucker.row_normal_equations, *given, *share, rank, total)
                for share, total in zip(itertools.pairwise(shares), sums, strict=True)
            ]
        )
        found = sums.sum(axis=0).reshape(size, rank + 1, -1)[..., :rank]
        gram, rhs = found[:, :rank], found[:, rank]
        solution = self._solved(gram, rhs, factor, self.variance * size if self._shrink else 0.0)
        predicted = np.matmul(gram, solution[..., None])[..., 0]
        self._remember(self._total + float(np.vdot(solution, predicted - 2 * rhs)))
        self._factors[place], change = np.linalg.qr(solution)
        self._core = np.ascontiguousarray(
            np.moveaxis(np.tensordot(change, self._core, axes=(1, place + 1)), 0, place + 1)
        )

    def _core_shrinkage(self) -> float:
        """Return the ridge of the core according to the noise."""
        if not self._shrink:
            return 0.0
        # The initial mean square of the core is the norm of the entries spread over it.
        whole = self._total / len(self._values) * math.prod(self._shape) / self._core.size
        square = float(np.mean(self._core**2)) or whole
        return self.variance / max(square, LEAST_CORE * whole, np.finfo(np.float64).tiny)

    def _solved(self, gram: Floats, rhs: Floats, before: Floats, shrinkage: float) -> Floats:
        """Return the solutions z of ``G z = b`` with the requested ridge."""
        scale = np.trace(gram, axis1=-2, axis2=-1) / gram.shape[-1]
        # Where no entry determines it, the solution is the previous one or, with shrinkage, zero.
        hold = np.where(scale > 0, self._ridge * scale, 1.0)
        damped = gram + (hold + shrinkage)[..., None, None] * np.eye(gram.shape[-1])
        if self._shrink:
            return np.asarray(np.linalg.solve(damped, rhs[..., None])[..., 0])
        open_part = rhs - np.matmul(gram, before[..., None])[..., 0]
        return np.asarray(before + np.linalg.solve(damped, open_part[..., None])[..., 0])


def variance_of(sum_of_squares: float, entries: int, unknowns: int) -> float:
    """Return the variance of the residuals of a model with this many parameters."""
    return sum_of_squares / max(entries - unknowns, 0.1 * entries)


def padded(rows: Floats) -> Floats:
    """Return rows padded with zeros to whole SIMD registers."""
    count, width = rows.shape
    out = np.zeros((count, whole_registers(width, rows.dtype)), dtype=rows.dtype)
    out[:, :width] = rows
    return out


def _pairs(rows: Floats) -> Floats:
    """Return ``a[k] * a[m]`` of every row a, for all pairs with m <= k."""
    k, m = np.tril_indices(rows.shape[1])
    return rows[:, k] * rows[:, m]


def _total(sums: Floats, bounds: Integers, sizes: Integers) -> Floats:
    """Return the sum over threads of the first level, with one axis per mode and without the padding of the last."""
    whole: Floats = sums[:, 0, : bounds[1]].sum(axis=0).reshape(*sizes[:-1], -1)
    return whole[..., : sizes[-1]]


def mirrored(lower: Floats) -> Floats:
    """Return symmetric matrices from their lower triangles."""
    full: Floats = np.tril(lower) + np.tril(lower, -1).swapaxes(-1, -2)
    return full


def _from_pairs(gram: Floats, ranks: Sequence[int]) -> Floats:
    """Return the matrix (k_1 k_2 .., m_1 m_2 ..) from an array with one axis per mode, over its pairs m_d <= k_d."""
    for mode, rank in enumerate(ranks):
        k, m = np.maximum(*np.ogrid[:rank, :rank]), np.minimum(*np.ogrid[:rank, :rank])
        gram = gram.take((k * (k + 1) // 2 + m).ravel(), axis=mode)
    order, size = len(ranks), math.prod(ranks)
    gram = gram.reshape([rank for rank in ranks for _ in "km"])
    return gram.transpose(*range(0, 2 * order, 2), *range(1, 2 * order, 2)).reshape(size, size)
