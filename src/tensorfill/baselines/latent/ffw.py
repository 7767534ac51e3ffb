"""Frank-Wolfe on the scaled latent nuclear norm (Guo, Yao and Kwok 2017).

    minimise  F(X) = 1/2 sum over observed p of (X_p - O_p)^2 + lam |X|,

    |X| = the least  sum_d |unfold_d X_d|_* / sqrt(I_d)  over all  X = sum_d X_d.

The ball of this norm is spanned by the terms sqrt(I_d) fold_d(u v^T) with unit vectors u and v. The term that the
gradient points at is the leading singular pair of one of its unfoldings, a sparse matrix: the one with the largest
sqrt(I_d) sigma_d. A step adds the leading terms of every mode, and then corrects all terms jointly: with U_d and V_d
orthonormal bases of the left and right vectors, it lowers

    f(sum_d fold_d(U_d S_d V_d^T)) + lam sum_d |S_d|_* / sqrt(I_d)

over the small matrices S_d, by proximal gradient steps. X is the minimum if no sqrt(I_d) sigma_d is above lam.
Otherwise the residuals R = P(O - X), scaled by t = min(1, lam / the largest of these), are feasible for the dual
problem, and

    gap = F(X) - (1/2 |O|^2 - 1/2 |O - t R|^2)  >=  F(X) - the minimum,

so every step bounds the distance from the minimum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from ..._support.clock import Clock
from ..._support.types import Floats
from ...algebra.component import Component
from ...methods.base import Axis, Callback, Progress, Result
from ...methods.problem import Problem
from ...methods.settings import auto_or, loss_less, real, setting
from ...models import FoldedLowRank, Model
from .base import LatentMethod, answer
from .terms import LatentSquares, LeadingPairs

RATIO = 0.5
"""The ratio of consecutive lambdas on the path."""

POINTS = 12
"""The number of lambdas on the path."""

PATH_STEPS = 8
"""The largest number of steps at each point of a path."""

NEW_TERMS = 4
"""The number of terms that a step adds in each mode."""

SWEEPS = 2
"""The sweeps that find them; the next step has a warm start."""

CORRECTIONS = 10
"""The number of proximal gradient steps after new terms."""

NOTHING = 1e-10
"""A vector with a smaller share than this outside a basis lies in its span; smaller singular values are rounding."""


def _lambdas(method: Ffw, problem: Problem, rng: np.random.Generator, before: Sequence[Axis]) -> Sequence[Axis]:
    """Return falling lambdas, from just below the one at which the answer is zero."""
    squares = LatentSquares(problem, method.unfolded_modes(problem))
    found = LeadingPairs(rng, SWEEPS).find(squares, -squares.values, method.blocks_of(None, problem))
    # Data that is zero everywhere has no scale, and any lambda gives zero.
    largest = _steepness(found, squares.shape) or 1.0
    return [Axis("lam", [largest * RATIO**step for step in range(1, POINTS + 1)])]


@dataclass(frozen=True, kw_only=True)
class Ffw(LatentMethod):
    """The scaled latent nuclear norm by Frank-Wolfe steps, for the square loss.

    The answer is a sum of low-rank matrices, one for each mode, folded into tensors. An iteration takes a few products
    with the sparse unfoldings of the gradient, and ten corrections of about 2 k multiplications per entry with k terms.
    Nothing of the size of the tensor is allocated. Use it as a convex baseline for sparse data: it has no bad minima,
    but large values are shrunk, so other methods are more accurate for data of truly low rank.

    Parameters
    ----------
    lam
        The weight of the norm, or ``"auto"`` to choose it on held-out entries, from large to small.
    modes
        The modes of the unfoldings; by default those of `Nort`.
    max_iter, tol
        As in `Method`.

    Notes
    -----
    The published method adds the term of one mode, and changes only its weight against all others, by a line search.
    Here the leading terms of all modes, which are computed anyway, are added, and all terms are corrected within their
    span, which saves most of the steps. The bound of the norm that Frank-Wolfe steps otherwise need is then
    unnecessary, so the norm has a weight instead.

    References
    ----------
    X. Guo, Q. Yao and J. T. Kwok, Efficient sparse low-rank tensor completion using the Frank-Wolfe algorithm, AAAI
    2017.

    Examples
    --------
    >>> from tensorfill.datasets import synthetic
    >>> from tensorfill.losses import Square
    >>> data = synthetic((20, 20, 20), rank=2, rng=0)
    >>> result = Ffw(lam=0.1).solve(Problem(data.observations, Square()), rng=0)
    >>> result.model.modes
    (0, 1, 2)
    """

    name: ClassVar[str] = "ffw"
    trial_iterations: ClassVar[int | None] = PATH_STEPS

    lam: float | str = setting("auto", check=auto_or(real(at_least=0)), power=loss_less(1), path=_lambdas)

    def rescaled(self, ratio: float) -> Self:
        """Return the settings for `ratio` times as many entries: the singular values of noise grow with its root."""
        return replace(self, lam=float(self.lam) * math.sqrt(ratio))

    def approach(
        self, problem: Problem, *, rng: np.random.Generator, callback: Callback | None, clock: Clock
    ) -> Result | None:
        """Return the answer just above lambda, reached through larger ones: a fraction of the steps from zero."""
        result = None
        for lam in replace(self, lam="auto").axes(problem, rng)[0].values:
            if lam * RATIO <= float(self.lam):
                break
            stage = replace(self, lam=lam, max_iter=min(self.max_iter, PATH_STEPS))
            start = None if result is None else result.model
            result = stage.solve(problem, start=start, rng=rng, callback=callback, clock=clock)
            if not result.finished:
                break
        return result

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> FFWSolver:
        """Return a solver that starts at `start`, or at zero."""
        squares = LatentSquares(problem, self.unfolded_modes(problem))
        return FFWSolver(squares, self.blocks_of(start, problem), float(self.lam), problem, rng)


class FFWSolver:
    """Frank-Wolfe steps with corrections, for one problem.

    Parameters
    ----------
    squares
        The loss.
    blocks
        The starting point, one component for each mode.
    lam
        The weight of the norm.
    problem
        The observations.
    rng
        Draws the starting vectors of searches for singular vectors.

    Attributes
    ----------
    gap
        An upper bound of the distance of the objective before the last step from the minimum.
    """

    def __init__(
        self,
        squares: LatentSquares,
        blocks: Sequence[Component],
        lam: float,
        problem: Problem,
        rng: np.random.Generator,
    ) -> None:
        self._squares, self._blocks, self._lam = squares, tuple(blocks), lam
        self._dtype, self._pairs = problem.observations.dtype, LeadingPairs(rng, SWEEPS)
        self._prices = [lam / math.sqrt(squares.shape[mode]) for mode in squares.modes]
        self._residuals: Floats = squares.seen(blocks) - squares.values
        self._objective = _objective(self._residuals, self._prices, [block.s for block in blocks])
        self.gap = math.inf

    def progress(self) -> Progress:
        """Return the current state; the objective decreases at every step."""
        return Progress(self._objective, self._objective, tuple(block.rank for block in self._blocks))

    def model(self) -> FoldedLowRank:
        """Return the answer so far."""
        return answer(self._squares.shape, self._blocks, self._dtype)

    def step(self) -> None:
        """Add the terms that the gradient points at in each mode, and correct all terms within their span."""
        found = self._pairs.find(self._squares, self._residuals, self._blocks, NEW_TERMS)
        gap = self._gap(_steepness(found, self._squares.shape))
        terms = {term.mode: term for term in found}
        correction = LatentCorrection(self._squares, [_span(block, terms) for block in self._blocks], self._prices)
        for _ in range(CORRECTIONS):
            correction.step()
        # At the minimum, rounding may increase the objective.
        if correction.objective < self._objective:
            self._blocks = correction.blocks()
            self._residuals, self._objective = correction.residuals, correction.objective
        self.gap = gap

    def _gap(self, steepness: float) -> float:
        """Return the objective minus a value of the dual problem."""
        scale, values = self._lam / max(self._lam, steepness, np.finfo(np.float64).tiny), self._squares.values
        left = values + scale * self._residuals
        return self._objective - 0.5 * float(values @ values - left @ left)


class Span(NamedTuple):
    """The matrices U S V^T between two orthonormal bases, and the current S.

    Parameters
    ----------
    mode
        The mode of the unfolding.
    u, v
        The bases.
    core
        S.
    """

    mode: int
    u: Floats
    v: Floats
    core: Floats


class LatentCorrection:
    """Accelerated proximal gradient steps on the small matrices of some spans; the objective decreases at every step.

    Parameters
    ----------
    squares
        The loss.
    spans
        The starting point.
    prices
        The weight of the nuclear norm of each of them.

    Attributes
    ----------
    residuals, objective
        The residuals and the objective of the current matrices.
    """

    def __init__(self, squares: LatentSquares, spans: Sequence[Span], prices: Sequence[float]) -> None:
        self._squares, self._spans, self._prices = squares, spans, prices
        self._cores = self._last = [span.core for span in spans]
        self.residuals = self._last_residuals = self._residuals_of(self._cores)
        spectra = [np.linalg.svd(core, compute_uv=False) for core in self._cores]
        self.objective = _objective(self.residuals, prices, spectra)
        self._since = 0

    def step(self) -> None:
        """Step from the extrapolated point, or from the last one if that does not lower the objective."""
        for gamma in {self._since / (self._since + 3): None, 0.0: None}:
            start = [now + gamma * (now - last) for now, last in zip(self._cores, self._last, strict=True)]
            cores, spectra = self._proximal(start, self.residuals + gamma * (self.residuals - self._last_residuals))
            residuals = self._residuals_of(cores)
            objective = _objective(residuals, self._prices, spectra)
            if objective <= self.objective:
                self._last, self._last_residuals = self._cores, self.residuals
                self._cores, self.residuals, self.objective = cores, residuals, objective
                self._since += 1
                return
            self._since = 0

    def _proximal(self, start: Sequence[Floats], residuals: Floats) -> tuple[list[Floats], list[Floats]]:
        """Return the matrices after a proximal gradient step, and their singular values."""
        # The sum of one orthonormal part for each mode has at most this curvature.
        step = 1 / len(start)
        cores, spectra = [], []
        for span, core, price in zip(self._spans, start, self._prices, strict=True):
            slope = span.u.T @ self._squares.unfolding(span.mode, residuals, []).right(span.v)
            u, s, vt = np.linalg.svd(core - step * slope, full_matrices=False)
            shrunk = np.maximum(s - step * price, 0)
            cores.append((u * shrunk) @ vt)
            spectra.append(shrunk)
        return cores, spectra

    def _residuals_of(self, cores: Sequence[Floats]) -> Floats:
        parts = [
            Component(span.mode, span.u @ core, np.ones(core.shape[1]), span.v)
            for span, core in zip(self._spans, cores, strict=True)
        ]
        return self._squares.seen(parts) - self._squares.values

    def blocks(self) -> tuple[Component, ...]:
        """Return the components by their singular values, without those that are zero."""
        found = []
        for span, core in zip(self._spans, self._cores, strict=True):
            u, s, vt = np.linalg.svd(core, full_matrices=False)
            rank = int(np.count_nonzero(s > NOTHING * s.max(initial=0)))
            found.append(Component(span.mode, span.u @ u[:, :rank], s[:rank], span.v @ vt[:rank].T))
        return tuple(found)


def _objective(residuals: Floats, prices: Sequence[float], spectra: Sequence[Floats]) -> float:
    norm = sum(price * float(np.sum(s)) for price, s in zip(prices, spectra, strict=True))
    return 0.5 * float(residuals @ residuals) + norm


def _span(block: Component, terms: Mapping[int, Component]) -> Span:
    """Return the span of a component and of the new term of its mode, if there is one."""
    u, v = block.u, block.v
    if block.mode in terms:
        term = terms[block.mode]
        u, v = _with_columns(u, term.u), _with_columns(v, term.v)
    core = np.zeros((u.shape[1], v.shape[1]))
    core[: block.rank, : block.rank] = np.diag(block.s)
    return Span(block.mode, u, v, core)


def _with_columns(basis: Floats, columns: Floats) -> Floats:
    """Return an orthonormal basis extended by the part of orthonormal columns outside its span, if any."""
    # A second time, because the division magnifies the rounding errors of the first.
    for _ in range(2):
        columns = columns - basis @ (basis.T @ columns)
        lengths, vectors = np.linalg.eigh(columns.T @ columns)
        kept = lengths > NOTHING
        columns = columns @ (vectors[:, kept] / np.sqrt(lengths[kept]))
    return np.hstack([basis, columns])


def _steepness(found: Sequence[Component], shape: Sequence[int]) -> float:
    """Return the largest sqrt(I_d) sigma_d."""
    return max((float(term.s[0]) * math.sqrt(shape[term.mode]) for term in found), default=0.0)
