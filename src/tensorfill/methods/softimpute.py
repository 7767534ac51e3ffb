"""SoftImpute: the nuclear norm of one unfolding (Mazumder, Hastie and Tibshirani 2010).

    minimise  f(X) + lam |unfold_d X|_*

by proximal gradient steps, Z = X - grad f(X) / tau and X = the singular values of unfold_d Z shrunk by lam / tau. For a
matrix with the square loss and tau = 1 this is SoftImpute as published: fill the gaps with the current answer, then
shrink. It is NORT with one mode and the nuclear norm, so the same solver runs it: sparse plus low rank, never dense.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from .._support.checks import mode_number
from .._support.clock import Clock
from ..models import FoldedLowRank, Model
from ..penalties import Nuclear
from .base import STAGES, Axis, Callback, Method, Result, Solver
from .nort.descent import largest_cut
from .nort.method import Nort
from .problem import Problem
from .settings import auto_or, loss_less, none_or, real, setting, whole

RATIO = 0.7
"""The ratio of consecutive lambdas on the path."""

POINTS = 30
"""The number of lambdas on the path."""


def _lambdas(method: SoftImpute, problem: Problem, rng: np.random.Generator, before: Sequence[Axis]) -> Sequence[Axis]:
    """Return falling lambdas, from just below the one at which the answer is zero."""
    nort = replace(method, lam=1.0).as_nort(problem)
    # Data that is zero everywhere has no scale, and any lambda gives zero.
    largest = (largest_cut(nort, problem, rng) or 1.0) * nort.regulariser(problem).tau
    return [Axis("lam", [largest * RATIO**step for step in range(1, POINTS + 1)])]


@dataclass(frozen=True, kw_only=True)
class SoftImpute(Method):
    """SoftImpute on one unfolding: the nuclear norm by proximal gradient steps, for any smooth loss.

    Parameters
    ----------
    lam
        The weight of the nuclear norm, or ``"auto"`` to choose it on held-out entries.
    mode
        The mode of the rows of the unfolding; by default the largest, whose unfolding is nearest to square.
    max_rank
        The largest rank; by default the size of the unfolding.
    momentum
        Whether to extrapolate, which saves iterations, as in `Nort`.
    max_iter, tol
        As in `Method`. The tolerance is tighter: a small lambda changes the objective little in an iteration.

    Examples
    --------
    >>> from tensorfill.datasets import synthetic
    >>> from tensorfill.losses import Square
    >>> data = synthetic((30, 40), rank=2, observed=800, rng=0)
    >>> result = SoftImpute(lam=0.1).solve(Problem(data.observations, Square()), rng=0)
    >>> result.model.modes
    (1,)
    """

    name: ClassVar[str] = "softimpute"
    stages: ClassVar[frozenset[str]] = frozenset(STAGES)
    takes_roughness: ClassVar[bool] = True
    steps_to_gather: ClassVar[int] = 20
    trial_iterations: ClassVar[int | None] = 50

    lam: float | str = setting("auto", check=auto_or(real(at_least=0)), power=loss_less(1), path=_lambdas)
    mode: int | None = None
    max_rank: int | None = setting(None, check=none_or(whole(1)))
    momentum: bool | str = True
    tol: float = 1e-5

    def check(self, problem: Problem) -> None:
        """Raise an error for a lambda below the rounding of the data, as in NORT."""
        super().check(problem)
        self.as_nort(problem).check(problem)

    def rescaled(self, ratio: float) -> Self:
        """Return the settings for `ratio` times as many entries: the singular values of noise grow with its root."""
        return replace(self, lam=float(self.lam) * math.sqrt(ratio))

    def resolved(self, problem: Problem) -> Self:
        """Return the same settings with an explicit mode."""
        return replace(self, mode=self._mode(problem))

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` is a sum of folded low-rank matrices of the shape of the data."""
        return isinstance(model, FoldedLowRank) and model.shape == problem.observations.shape

    def approach(
        self, problem: Problem, *, rng: np.random.Generator, callback: Callback | None, clock: Clock
    ) -> Result | None:
        """Return the answer just above lambda, reached through larger ones.

        From zero a small lambda moves so little in an iteration that the tolerance would stop it far from convergence.
        """
        nort = replace(self.as_nort(problem), descend=True)
        return nort.approach(problem, rng=rng, callback=callback, clock=clock)

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that starts at `start`, or at zero."""
        return self.as_nort(problem).prepare(problem, start, rng)

    def as_nort(self, problem: Problem) -> Nort:
        """Return the same method as NORT with one mode and the nuclear norm."""
        return Nort(
            lam=self.lam,
            penalty=Nuclear(),
            modes=(self._mode(problem),),
            max_rank=self.max_rank,
            momentum=self.momentum,
        )

    def _mode(self, problem: Problem) -> int:
        shape = problem.observations.shape
        return int(np.argmax(shape)) if self.mode is None else mode_number(self.mode, "mode", len(shape))
