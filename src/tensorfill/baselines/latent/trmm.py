"""The squared latent norm by its dual problem on spheres (Nimishakavi, Jawanpuria and Mishra 2018).

    minimise  1/2 sum over observed p of (X_p - O_p)^2 + lam/2 sum_d |unfold_d X_d|_*^2,    X = sum_d X_d.

A squared nuclear norm is the least of trace(X_d^T T^-1 X_d) over positive matrices T of trace one. With
T_d = B_d B_d^T, |B_d|_F = 1, the problem becomes a function of these small factors, the value of a linear
system on the observed entries:

    g(B) = max over z of  <z, O> - 1/2 z^T K z = 1/2 <z, O>  at  K z = O,

    K z = z + 1/lam sum_d P(fold_d(B_d B_d^T unfold_d z)).

The answer is X = 1/lam sum_d fold_d(B_d B_d^T unfold_d z), so z = P(O - X) are the residuals. Inner conjugate gradients
solve for z, and outer ones go along the spheres: the gradient of g is - 1/lam unfold_d z (unfold_d z)^T B_d. For any z,

    <z, O> - 1/2 |z|^2 - 1/(2 lam) sum_d |unfold_d z|_2^2

is a lower bound of the minimum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from ..._support.types import Floats
from ...algebra.component import Component
from ...algebra.svd import subspace_svd
from ...methods.base import Axis, Progress
from ...methods.problem import Problem
from ...methods.settings import auto_or, real, setting, whole
from ...models import FoldedLowRank, Model
from .base import LatentMethod, answer, leading_start
from .terms import LatentSquares, LeadingPairs

RATIO = 0.4
"""The ratio of consecutive lambdas on the path."""

POINTS = 10
"""The number of lambdas on the path."""

RANKS = (20, 40)
FIRST_RANK = 10
"""The numbers of columns of the factors to try, and the number while lambda is chosen."""

INNER_TOLERANCE = 1e-6
INNER_STEPS = 100
"""Inner conjugate gradients end at residuals of this size relative to the observations, or after this many steps."""

SWEEPS = 3
SMALL = 0.1
"""The sweeps for the initial singular vectors, and their size relative to factors of a warm start."""

SUFFICIENT = 1e-4
"""A step must lower g by this share of the decrease that the gradient predicts."""

MOST_HALVINGS = 12
"""After this many halvings without a decrease of g, the point is not changed."""


def _lambdas(method: Trmm, problem: Problem, rng: np.random.Generator, before: Sequence[Axis]) -> Sequence[Axis]:
    """Return falling lambdas, from the one at which the leading term of the observed entries, by itself, is halved."""
    squares = LatentSquares(problem, method.unfolded_modes(problem))
    found = LeadingPairs(rng, SWEEPS).find(squares, -squares.values, method.blocks_of(None, problem))
    unit = max((squares.products(_alone(term), [_alone(term)])[0].item() for term in found), default=1.0)
    return [Axis("lam", [unit * RATIO**step for step in range(POINTS)], meanwhile=unit)]


def _columns(method: Trmm, problem: Problem, rng: np.random.Generator, before: Sequence[Axis]) -> Sequence[Axis]:
    """Return larger ranks; with a given lambda, nothing has been tried with the first rank yet."""
    return [Axis("rank", RANKS if before else (FIRST_RANK, *RANKS), meanwhile=FIRST_RANK)]


@dataclass(frozen=True, kw_only=True)
class Trmm(LatentMethod):
    """The squared latent nuclear norm by Riemannian conjugate gradients on its dual problem, for the square loss.

    The answer is a sum of low-rank matrices, one for each mode, folded into tensors. An iteration solves one or two
    linear systems on the observed entries, each by some tens of conjugate gradient steps of about 2 r multiplications
    per entry and mode. Nothing of the size of the tensor is allocated. Use it as a convex baseline for sparse data
    that keeps ranks small without a limit; like all latent norms it shrinks large values.

    Parameters
    ----------
    lam
        The weight of the squared norms, or ``"auto"`` to choose it on held-out entries, from large to small.
    rank
        The columns of the factor of each mode, at most its size, or ``"auto"`` to choose it on held-out entries. The
        problem is convex, so larger ranks than needed only cost time.
    modes
        The modes of the unfoldings; by default those of `Nort`.
    max_iter, tol
        As in `Method`.

    Notes
    -----
    The published method offers trust regions too. Here conjugate gradients are used, whose linear systems start from
    the last solution, and the factors start with the leading singular vectors of the observed entries.

    References
    ----------
    M. Nimishakavi, P. Jawanpuria and B. Mishra, A dual framework for low-rank tensor completion, NeurIPS 2018.

    Examples
    --------
    >>> from tensorfill.datasets import synthetic
    >>> from tensorfill.losses import Square
    >>> data = synthetic((20, 20, 20), rank=2, rng=0)
    >>> result = Trmm(lam=0.01, rank=4).solve(Problem(data.observations, Square()), rng=0)
    >>> result.model.ranks
    (4, 4, 4)
    """

    name: ClassVar[str] = "trmm"
    trial_iterations: ClassVar[int | None] = 8

    lam: float | str = setting("auto", check=auto_or(real(above=0)), path=_lambdas)
    rank: int | str = setting("auto", check=auto_or(whole(1)), path=_columns)

    def rescaled(self, ratio: float) -> Self:
        """Return the settings for `ratio` times as many entries: the singular values of noise grow with its root."""
        return replace(self, lam=float(self.lam) * math.sqrt(ratio))

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> TRMMSolver:
        """Return a solver whose factors start at those of `start`, or at leading vectors of the observed entries."""
        dual = Dual(LatentSquares(problem, self.unfolded_modes(problem)), float(self.lam))
        blocks = self.blocks_of(start, problem)
        given = [block.u * np.sqrt(block.s) for block in blocks]
        factors = [
            _sphere(_completed(dual.squares, mode, factor, int(self.rank), rng))
            for mode, factor in zip(dual.squares.modes, given, strict=True)
        ]
        return TRMMSolver(dual, factors, problem)


class Solution(NamedTuple):
    """The inner solution at some factors.

    Parameters
    ----------
    factors
        B_d.
    z
        The solution of the linear system.
    value
        g.
    """

    factors: list[Floats]
    z: Floats
    value: float


class Dual:
    """The function g of the factors.

    Parameters
    ----------
    squares
        The loss.
    lam
        The weight of the squared norms.
    """

    def __init__(self, squares: LatentSquares, lam: float) -> None:
        self.squares, self.lam = squares, lam

    def rights(self, factors: Sequence[Floats], z: Floats) -> list[Floats]:
        """Return (unfold_d z)^T B_d for every mode."""
        return [self.squares.left(mode, z, factor) for mode, factor in zip(self.squares.modes, factors, strict=True)]

    def parts(self, factors: Sequence[Floats], z: Floats) -> list[Component]:
        """Return 1/lam fold_d(B_d B_d^T unfold_d z), whose sum is X."""
        return [
            Component(mode, factor, np.full(factor.shape[1], 1 / self.lam), right)
            for mode, factor, right in zip(self.squares.modes, factors, self.rights(factors, z), strict=True)
        ]

    def solved(self, factors: list[Floats], start: Floats) -> Solution:
        """Return the solution of K z = O by conjugate gradients."""
        values, z = self.squares.values, start.copy()
        enough = (INNER_TOLERANCE * float(np.linalg.norm(values))) ** 2
        image = z + self.squares.seen(self.parts(factors, z))
        left = values - image
        along, square = left, float(left @ left)
        for _ in range(INNER_STEPS):
            if square <= enough:
                break
            product = along + self.squares.seen(self.parts(factors, along))
            length = square / float(along @ product)
            z += length * along
            left = left - length * product
            square, last = float(left @ left), square
            along = left + (square / last) * along
        # <z, O> - 1/2 z^T K z, with K z = O - left.
        return Solution(factors, z, 0.5 * float(z @ (values + left)))

    def gradient(self, solution: Solution) -> list[Floats]:
        """Return the gradient of g along the spheres."""
        found = []
        for block in self.parts(solution.factors, solution.z):
            slope = -self.squares.unfolding(block.mode, solution.z, []).right(block.v) / self.lam
            found.append(slope - float(np.vdot(slope, block.u)) * block.u)
        return found


class TRMMSolver:
    """Conjugate gradients on the spheres, for one problem.

    Parameters
    ----------
    dual
        The function to minimise.
    factors
        The starting point.
    problem
        The observations.
    """

    def __init__(self, dual: Dual, factors: list[Floats], problem: Problem) -> None:
        self._dual, self._dtype = dual, problem.observations.dtype
        self._now = dual.solved(factors, np.zeros_like(dual.squares.values))
        self._gradient = dual.gradient(self._now)
        self._along = [-each for each in self._gradient]
        self._length = 1.0 / max(math.sqrt(_product(self._gradient, self._gradient)), np.finfo(np.float64).tiny)

    def progress(self) -> Progress:
        """Return the current state; the value of the dual problem decreases at every step."""
        return Progress(self._now.value, self._now.value, tuple(factor.shape[1] for factor in self._now.factors))

    def model(self) -> FoldedLowRank:
        """Return the answer so far."""
        parts = self._dual.parts(self._now.factors, self._now.z)
        return answer(self._dual.squares.shape, parts, self._dtype)

    def step(self) -> None:
        """Go along the conjugate direction, or along the gradient if that is not a descent direction."""
        for along in (self._along, [-each for each in self._gradient]):
            there = self._searched(along)
            if there is not None:
                break
        else:
            return
        gradient = self._dual.gradient(there)
        pairs = list(zip(there.factors, self._gradient, along, strict=True))
        before = [_tangent(factor, last) for factor, last, _ in pairs]
        onward = [_tangent(factor, each) for factor, _, each in pairs]
        change = [new - old for new, old in zip(gradient, before, strict=True)]
        # The Hestenes-Stiefel rule; a negative value restarts the method.
        curvature = _product(onward, change)
        share = max(0.0, _product(gradient, change) / curvature) if curvature else 0.0
        self._now, self._gradient = there, gradient
        self._along = [share * each - slope for each, slope in zip(onward, gradient, strict=True)]

    def _searched(self, along: Sequence[Floats]) -> Solution | None:
        """Return the solution along a direction at which g has decreased enough, or None if there is none."""
        now, slope = self._now, _product(self._gradient, along)
        if not slope < 0:
            return None
        length = self._length
        for _ in range(MOST_HALVINGS):
            factors = [_sphere(factor + length * each) for factor, each in zip(now.factors, along, strict=True)]
            there = self._dual.solved(factors, now.z)
            # The parabola through g and its slope at the start, and g at the new point.
            bend = there.value - now.value - length * slope
            best = -slope * length**2 / (2 * bend) if bend > 0 else 4 * length
            if there.value < now.value + SUFFICIENT * length * slope:
                self._length = min(best, 4 * length)
                return there
            length = min(max(best, length / 10), length / 2)
        return None


def _alone(term: Component) -> Component:
    return Component(term.mode, term.u, np.ones(1), term.v)


def _sphere(factor: Floats) -> Floats:
    """Return a factor of length one."""
    return factor / float(np.linalg.norm(factor))


def _tangent(factor: Floats, direction: Floats) -> Floats:
    """Return the part of a direction along the sphere."""
    return direction - float(np.vdot(factor, direction)) * factor


def _product(x: Sequence[Floats], y: Sequence[Floats]) -> float:
    return float(sum(np.vdot(a, b) for a, b in zip(x, y, strict=True)))


def _completed(squares: LatentSquares, mode: int, factor: Floats, rank: int, rng: np.random.Generator) -> Floats:
    """Return a factor with leading left singular vectors of the observed entries appended, up to the rank."""
    size = squares.shape[mode]
    missing = min(rank, size) - factor.shape[1]
    if missing <= 0:
        return factor
    found = subspace_svd(squares.unfolding(mode, squares.values, []), leading_start(size, missing, rng), SWEEPS)
    scale = SMALL * float(np.linalg.norm(factor)) if factor.size else 1.0
    more = found.u[:, :missing] * np.sqrt(found.s[:missing])
    length = float(np.linalg.norm(more))
    if length == 0:
        more, length = np.eye(size, missing), math.sqrt(missing)
    return np.hstack([factor, more * ((scale or 1.0) / length)])
