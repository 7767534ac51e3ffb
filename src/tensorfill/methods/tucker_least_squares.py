"""Least squares for the core and for the rows of each factor of a Tucker model, over the observed entries."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from .._support.parallel import side_by_side, thread_count
from .._support.types import Floats, Integers
from ..algebra.unfolding import smallest_index_type
from ..models import Tucker
from ..observations import Observations

RIDGE = 1e-8
"""The default ridge, relative to the mean diagonal of the normal matrix."""


class LeastSquares:
    """A Tucker model at work on the observed entries, one linear problem at a time.

    Parameters
    ----------
    observations
        The entries to fit.
    start
        Where to start.
    free
        The modes whose factors are fitted, in increasing order; the factors of the others must be identities.
    ridge
        How strongly a solution holds to the one before.
    """

    def __init__(self, observations: Observations, start: Tucker, free: Sequence[int], ridge: float = RIDGE) -> None:
        self._shape, self._dtype, self._ridge = observations.shape, observations.dtype, ridge
        self._free = list(free)
        self._fixed = [mode for mode in range(start.ndim) if mode not in self._free]
        self._factors = [start.factors[mode].astype(np.float64) for mode in self._free]
        sizes = [self._shape[mode] for mode in self._fixed]
        blocks = start.core.transpose(self._fixed + self._free).astype(np.float64)
        self._core = blocks.reshape(math.prod(sizes), *(factor.shape[1] for factor in self._factors))
        self._hold(observations, sizes)

    def _hold(self, observations: Observations, sizes: Sequence[int]) -> None:
        """Keep the entries block by block, each in C order."""
        groups = np.zeros(len(observations), dtype=np.int64)
        for mode, size in zip(self._fixed, sizes, strict=True):
            groups = groups * size + observations.coords[:, mode]
        order = np.argsort(groups, kind="stable") if self._fixed else slice(None)
        index = smallest_index_type(max(self._shape))
        self._groups = groups[order]
        self._coords = np.ascontiguousarray(observations.coords[order][:, self._free], dtype=index)
        self._values = observations.values[order].astype(np.float64)

    def model(self) -> Tucker:
        """Return the model as it stands, in the precision of the observations."""
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

    def sweep(self) -> None:
        """Solve for the rows of every factor, and then for the core."""
        if not self._core.size:
            return
        for place in range(len(self._free)):
            self.fit_rows(place)
        self.fit_core()

    def fit_core(self) -> None:
        """Solve for the core: block by block, ``sum_p x_p x_p^T vec(core) = sum_p o_p x_p``.

        The features x_p are ``kron(A_1[i_1], A_2[i_2], ..)``.
        """
        from ..algebra.compiled import tucker as tucker_kernels

        flat, starts, ranks = _flattened(self._factors)
        pairs = ranks * (ranks + 1) // 2
        gram_bounds, sum_bounds = _level_bounds(pairs), _level_bounds(ranks)
        bounds = np.searchsorted(self._groups, np.arange(len(self._core) + 1))
        for block, first, last in zip(self._core, bounds[:-1], bounds[1:], strict=True):
            # A copy of the normal matrix for each thread must not cost more than walking the entries.
            shares = _shares(first, last, most=(last - first) // block.size)
            grams, sums = (np.zeros((len(shares) - 1, each[-1])) for each in (gram_bounds, sum_bounds))
            given = self._coords, self._values, flat, starts, ranks
            side_by_side(
                [
                    partial(tucker_kernels.core_normal_equations, *given, *share, gram_bounds, sum_bounds, gram, total)
                    for share, gram, total in zip(itertools.pairwise(shares), grams, sums, strict=True)
                ]
            )
            normal = _from_pairs(grams[:, : gram_bounds[1]].sum(axis=0).reshape(pairs), ranks.tolist())
            rhs = sums[:, : sum_bounds[1]].sum(axis=0)
            block[...] = _solved(normal, rhs, block.ravel(), self._ridge).reshape(block.shape)

    def fit_rows(self, place: int) -> None:
        """Solve for the rows of a factor, ``sum_p w_p w_p^T a_i = sum_p o_p w_p`` over the entries p of row i.

        The features w_p are the core contracted with the rows of the other factors. The factor is made orthonormal
        again, by a change of basis that the core undoes.
        """
        from ..algebra.compiled import tucker as tucker_kernels

        factor = self._factors[place]
        size, rank = factor.shape
        others = [mode for mode in range(len(self._free)) if mode != place]
        flat, starts, ranks = _flattened([self._factors[mode] for mode in others])
        core = np.ascontiguousarray(np.moveaxis(self._core, place + 1, -1)).reshape(len(self._core), -1)
        shares = _shares(0, len(self._values), most=len(self._values) // (size * rank))
        gram, rhs = np.zeros((len(shares) - 1, size, rank, rank)), np.zeros((len(shares) - 1, size, rank))
        rows, rest = (np.ascontiguousarray(self._coords[:, modes]) for modes in (place, others))
        given = rows, self._groups, rest, self._values, core, flat, starts, ranks
        side_by_side(
            [
                partial(tucker_kernels.row_normal_equations, *given, *share, gram[t], rhs[t])
                for t, share in enumerate(itertools.pairwise(shares))
            ]
        )
        rows = _solved(_mirrored(gram.sum(axis=0)), rhs.sum(axis=0), factor, self._ridge)
        self._factors[place], change = np.linalg.qr(rows)
        self._core = np.ascontiguousarray(
            np.moveaxis(np.tensordot(change, self._core, axes=(1, place + 1)), 0, place + 1)
        )


def _flattened(factors: Sequence[Floats]) -> tuple[Floats, Integers, Integers]:
    """Return the factors in one array, where each starts in it, and their ranks."""
    starts = np.cumsum([0, *(factor.size for factor in factors)])[:-1]
    flat = np.concatenate([np.zeros(0), *(factor.ravel() for factor in factors)])
    return flat, starts.astype(np.int64), np.array([factor.shape[1] for factor in factors], dtype=np.int64)


def _level_bounds(sizes: Integers) -> Integers:
    """Return where arrays of the sizes ``prod(sizes[l:])``, for l = 0, 1, .., start if one follows the other."""
    lengths = np.cumprod(sizes[::-1])[::-1]
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _shares(first: int, last: int, *, most: int) -> Integers:
    """Return where the entries from `first` to `last` are cut for the threads, into `most` shares at most."""
    return np.linspace(first, last, max(1, min(thread_count(), most)) + 1).astype(np.int64)


def _mirrored(lower: Floats) -> Floats:
    """Return symmetric matrices from their lower triangles."""
    full: Floats = lower + np.tril(lower, -1).swapaxes(-1, -2)
    return full


def _from_pairs(gram: Floats, ranks: Sequence[int]) -> Floats:
    """Return the matrix (k_1 k_2 .., m_1 m_2 ..) from an array with one axis a mode, over its pairs m_d <= k_d."""
    for mode, rank in enumerate(ranks):
        k, m = np.maximum(*np.ogrid[:rank, :rank]), np.minimum(*np.ogrid[:rank, :rank])
        gram = gram.take((k * (k + 1) // 2 + m).ravel(), axis=mode)
    order, size = len(ranks), math.prod(ranks)
    gram = gram.reshape([rank for rank in ranks for _ in "km"])
    return gram.transpose(*range(0, 2 * order, 2), *range(1, 2 * order, 2)).reshape(size, size)


def _solved(gram: Floats, rhs: Floats, before: Floats, ridge: float) -> Floats:
    """Return the solutions of ``(gram + eps) (z - before) = rhs - gram before``, `before` where `gram` is zero."""
    scale = np.trace(gram, axis1=-2, axis2=-1) / gram.shape[-1]
    eps = np.where(scale > 0, ridge * scale, 1.0)
    open_part = rhs - np.matmul(gram, before[..., None])[..., 0]
    damped = gram + eps[..., None, None] * np.eye(gram.shape[-1])
    solution: Floats = before + np.linalg.solve(damped, open_part[..., None])[..., 0]
    return solution
