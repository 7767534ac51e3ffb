"""Rank-one terms of unfoldings, X = sum_t w_t fold_{d(t)}(u_t v_t^T), and the quadratic function of their weights.

For the square loss over the observed entries P and a roughness S, the objective is quadratic in the weights:

    f(w) = 1/2 |P X - O|^2 + 1/2 <X, S X> = 1/2 |O|^2 - b^T w + 1/2 w^T H w,

    H_st = <A_s, (P + S) A_t>,    b_t = <A_t, O>,    A_t = fold(u_t v_t^T).

The column of H of a new term is one product of a sparse matrix, the new term at the observed entries, with the right
vectors of all terms; with a roughness it is sparse plus low-rank. Nothing of the size of the tensor is allocated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._support.types import Floats
from ...algebra.component import Component, WeightedComponent
from ...algebra.operators import SparsePlusLowRank
from ...algebra.pattern import SparsePattern
from ...algebra.roughness import Roughness
from ...algebra.svd import subspace_svd
from ...methods.problem import Problem
from .base import leading_start

WIDTH = 8
"""The number of columns of the block that finds a leading pair; the others give the next pair a warm start."""


class LatentSquares:
    """The square loss at the observed entries, for tensors that are sums of folded low-rank matrices.

    Parameters
    ----------
    problem
        The observations, and the roughness of graphs.
    modes
        The modes of the unfoldings.
    """

    def __init__(self, problem: Problem, modes: tuple[int, ...]) -> None:
        self.shape, self.modes = problem.observations.shape, modes
        self.values = problem.observations.values.astype(np.float64)
        self._pattern: SparsePattern = problem.pattern(modes)
        self._roughness: Roughness | None = problem.roughness

    @property
    def is_rough(self) -> bool:
        """Whether the objective has the roughness of graphs."""
        return self._roughness is not None

    def seen(self, blocks: Sequence[Component]) -> Floats:
        """Return a sum of components at the observed entries."""
        return self._pattern.entries([(1.0, block) for block in blocks])

    def unfolding(self, mode: int, seen: Floats, blocks: Sequence[Component]) -> SparsePlusLowRank:
        """Return the unfolding of S X plus a sparse tensor with the values `seen` at the observed entries."""
        rough: list[WeightedComponent] = []
        if self._roughness is not None:
            rough = self._roughness.of_terms([(1.0, block) for block in blocks], self.shape)
        # The loop over the columns needs at least one term.
        terms = rough or [(1.0, Component.zero(self.shape, mode, seen.dtype))]
        return SparsePlusLowRank(self._pattern, mode, terms, seen)

    def left(self, mode: int, seen: Floats, a: Floats) -> Floats:
        """Return the transposed unfolding of a sparse tensor with the values `seen` times `a`."""
        return self._pattern.left(mode, seen, a)

    def products(self, term: Component, blocks: Sequence[Component]) -> tuple[Floats, float]:
        """Return <A_s, (P + S) A> of a term A with every term A_s of the blocks, and <A, O>."""
        seen = self.seen([term])
        found = []
        for block in blocks:
            image = self.unfolding(block.mode, seen, [term]).right(block.v) if block.rank else block.u
            found.append(np.einsum("ir,ir->r", block.u, image))
        return np.concatenate(found), float(seen @ self.values)


@dataclass(frozen=True, eq=False)
class LatentTerms:
    """Rank-one terms with their weights.

    Parameters
    ----------
    squares
        The loss.
    blocks
        The terms of each mode: a component with unit vectors, and the weights as singular values.
    hessian, slopes
        H and b, in the order of the blocks.
    """

    squares: LatentSquares
    blocks: tuple[Component, ...]
    hessian: Floats
    slopes: Floats

    @classmethod
    def of(cls, squares: LatentSquares, blocks: Sequence[Component]) -> LatentTerms:
        """Return the terms of these blocks; H costs a pass over the entries for every pair."""
        found = [squares.products(term, blocks) for block in blocks for term in _single_terms(block)]
        hessian = np.array([row for row, _ in found]).reshape(len(found), len(found))
        return cls(squares, tuple(blocks), (hessian + hessian.T) / 2, np.array([slope for _, slope in found]))

    @property
    def weights(self) -> Floats:
        """The weight of every term."""
        return np.concatenate([block.s for block in self.blocks])

    @property
    def ranks(self) -> tuple[int, ...]:
        """The number of terms of each mode."""
        return tuple(block.rank for block in self.blocks)

    @cached_property
    def residuals(self) -> Floats:
        """The gradient of the loss at the observed entries."""
        return self.squares.seen(self.blocks) - self.squares.values

    @cached_property
    def value(self) -> float:
        """The objective."""
        weights, seen = self.weights, self.residuals + self.squares.values
        # The roughness is the part of the quadratic form beyond the observed entries.
        rough = float(weights @ self.hessian @ weights - seen @ seen) if self.squares.is_rough else 0.0
        return 0.5 * float(self.residuals @ self.residuals) + 0.5 * rough

    def with_term(self, term: Component) -> LatentTerms:
        """Return the terms with one more, of weight zero."""
        place = [block.mode for block in self.blocks].index(term.mode)
        block = self.blocks[place]
        longer = Component(
            term.mode, np.hstack([block.u, term.u]), np.append(block.s, 0.0), np.hstack([block.v, term.v])
        )
        blocks = (*self.blocks[:place], longer, *self.blocks[place + 1 :])
        column, slope = self.squares.products(term, blocks)
        at = sum(self.ranks[: place + 1])
        hessian = np.insert(np.insert(self.hessian, at, 0.0, axis=0), at, 0.0, axis=1)
        hessian[at], hessian[:, at] = column, column
        return LatentTerms(self.squares, blocks, hessian, np.insert(self.slopes, at, slope))

    def reweighted(self, weights: Floats) -> LatentTerms:
        """Return the terms with other weights, without those of weight zero."""
        kept, ends = weights != 0, np.cumsum(self.ranks)[:-1]
        blocks = tuple(
            Component(block.mode, block.u[:, keep], new[keep], np.ascontiguousarray(block.v[:, keep]))
            for block, new, keep in zip(self.blocks, np.split(weights, ends), np.split(kept, ends), strict=True)
        )
        return LatentTerms(self.squares, blocks, self.hessian[np.ix_(kept, kept)], self.slopes[kept])


class LeadingPairs:
    """Finds the leading singular pairs of the gradient during a run, each with a warm start from the last.

    Parameters
    ----------
    rng
        Draws the starting vectors of the first search.
    sweeps
        The number of sweeps of a search.
    """

    def __init__(self, rng: np.random.Generator, sweeps: int) -> None:
        self._rng, self._sweeps = rng, sweeps
        self._last: dict[int, Floats] = {}

    def find(
        self, squares: LatentSquares, residuals: Floats, blocks: Sequence[Component], count: int = 1
    ) -> list[Component]:
        """Return, for each mode, the largest singular values of minus the gradient and their vectors."""
        found = []
        for mode in squares.modes:
            gradient = squares.unfolding(mode, residuals, blocks)
            start = leading_start(gradient.shape[0], WIDTH, self._rng, self._last.get(mode))
            decomposed = subspace_svd(gradient, start, self._sweeps)
            if len(decomposed.s) and decomposed.s[0] > 0:
                found.append(Component(mode, -decomposed.u[:, :count], decomposed.s[:count], decomposed.v(count)))
                self._last[mode] = decomposed.u
        return found


def _single_terms(block: Component) -> list[Component]:
    """Return the terms of a block as separate components."""
    return [
        Component(block.mode, block.u[:, [r]], np.ones(1), np.ascontiguousarray(block.v[:, [r]]))
        for r in range(block.rank)
    ]
