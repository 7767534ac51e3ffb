"""Greedy low-rank terms with orthogonal weights (Bahadori, Yu and Liu 2014, their ORTHOGONAL).

    minimise  f(X) = 1/2 sum over observed p of (X_p - O_p)^2 + 1/2 <X, S X>,    X = sum_t w_t fold_{d(t)}(u_t v_t^T),

one term after the other. The next term is the leading singular pair of an unfolding of the gradient: of all modes, the
one that lowers f most. Then the weights of all terms are refitted by least squares, so that the gradient is
orthogonal to every earlier term.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..._support.types import Floats
from ...algebra.component import Component
from ...methods.base import Progress
from ...methods.problem import Problem
from ...methods.settings import auto_or, one_axis, setting, whole
from ...models import FoldedLowRank, Model
from .base import LatentMethod, answer
from .terms import LatentSquares, LatentTerms, LeadingPairs

SWEEPS = 8
"""The sweeps that find a leading pair, which is not refined later."""

RIDGE = 1e-12
"""Added to the diagonal of H, relative to its mean, so that linearly dependent terms can be solved for."""

RANKS = (1, 2, 3, 4, 6, 8, 11, 15, 20, 27, 36, 48, 64)
"""The numbers of terms to try."""


@dataclass(frozen=True, kw_only=True)
class Greedy(LatentMethod):
    """Greedy terms of low rank with weights by least squares, for the square loss, with or without graphs.

    The answer is a sum of low-rank matrices, one for each mode, folded into tensors. An iteration adds one term: a few
    products with the sparse unfoldings of the gradient, and one pass over the entries for each term. Nothing of the
    size of the tensor is allocated. Use it if a few terms are enough, or as a baseline: early terms are
    never revised, and the right vector of a term is zero outside the columns with observed entries, unless a graph
    extends it more.

    Parameters
    ----------
    rank
        The number of terms, or ``"auto"`` to choose it on held-out entries. An iteration adds one term, so there are at
        most ``max_iter`` of them. A model to start from keeps its terms if it has fewer.
    modes
        The modes of the unfoldings; by default those of `Nort`.
    max_iter, tol
        As in `Method`.

    Notes
    -----
    The published method uses the rank-one matrix that lowers the loss most; for missing entries this has no closed
    form, and the leading pair of the gradient with its best weight takes its place.

    References
    ----------
    M. T. Bahadori, Q. R. Yu and Y. Liu, Fast multivariate spatio-temporal analysis via low rank tensor learning,
    NIPS 2014.

    Examples
    --------
    >>> from tensorfill.datasets import synthetic
    >>> from tensorfill.losses import Square
    >>> data = synthetic((20, 20, 20), rank=2, rng=0)
    >>> result = Greedy(rank=4).solve(Problem(data.observations, Square()), rng=0)
    >>> sum(result.model.ranks)
    4
    """

    name: ClassVar[str] = "greedy"
    takes_roughness: ClassVar[bool] = True

    rank: int | str = setting("auto", check=auto_or(whole(1)), path=one_axis("rank", RANKS))

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> GreedySolver:
        """Return a solver that starts at `start`, or at zero if that has all its terms.

        Such terms belong to other entries or another roughness, and no step would be left to improve them.
        """
        blocks = self.blocks_of(start, problem)
        if sum(block.rank for block in blocks) >= int(self.rank):
            blocks = self.blocks_of(None, problem)
        terms = LatentTerms.of(LatentSquares(problem, self.unfolded_modes(problem)), blocks)
        return GreedySolver(terms, int(self.rank), problem, rng)


class GreedySolver:
    """Greedy terms, for one problem.

    Parameters
    ----------
    terms
        The starting point.
    rank
        The number of terms at the end.
    problem
        The observations.
    rng
        Draws the starting vectors of searches for singular vectors.
    """

    def __init__(self, terms: LatentTerms, rank: int, problem: Problem, rng: np.random.Generator) -> None:
        self._terms, self._rank = terms, rank
        self._dtype, self._pairs = problem.observations.dtype, LeadingPairs(rng, SWEEPS)

    def progress(self) -> Progress:
        """Return the current state; the objective decreases at every step."""
        return Progress(self._terms.value, self._terms.value, self._terms.ranks)

    def model(self) -> FoldedLowRank:
        """Return the answer so far."""
        return answer(self._terms.squares.shape, self._terms.blocks, self._dtype)

    def step(self) -> None:
        """Add the term that lowers the objective most, and refit all weights; do nothing if all terms are there."""
        if sum(self._terms.ranks) >= self._rank:
            return
        best, most = None, 0.0
        for pair in self._pairs.find(self._terms.squares, self._terms.residuals, self._terms.blocks):
            term = Component(pair.mode, pair.u, np.ones(1), pair.v)
            fall = 0.5 * float(pair.s[0]) ** 2 / self._terms.squares.products(term, [term])[0].item()
            if fall > most:
                best, most = term, fall
        if best is None:
            return
        more = self._terms.with_term(best)
        refitted = more.reweighted(_least_squares(more))
        if refitted.value < self._terms.value:
            self._terms = refitted


def _least_squares(terms: LatentTerms) -> Floats:
    """Return the weights that minimise the objective, the solution of H w = b."""
    hessian = terms.hessian
    damped = hessian + RIDGE * float(np.trace(hessian)) / len(hessian) * np.eye(len(hessian))
    weights: Floats = np.linalg.solve(damped, terms.slopes)
    return weights
