"""RTDGC: nuclear norms of several unfoldings plus the absolute errors of the observed entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...losses.robust import Robust, make_robust
from ...methods.base import STAGES, Solver
from ...methods.problem import Problem
from ...methods.settings import loss_less, none_or, real, setting
from ...models import Model
from .admm import begun
from .fidelity import Absolute
from .settings import Overlapped
from .splitting import PenalisedSolver, Zeta


@dataclass(frozen=True, kw_only=True)
class Rtdgc(Overlapped):
    """RTDGC: robust completion with nuclear norms of several unfoldings (Gu, Gui and Han 2014).

    It minimises |E|_1 + sum_d lam_d |unfold_d X|_* with X + E = O at the observed entries, by ADMM: the entries of E
    are soft-thresholded. Use it as a convex baseline for data with some grossly corrupt entries. It costs
    as much as `Admm`.

    The errors of the fit are always absolute ones. With ``loss="l1"`` held-out entries are scored by them too, so that
    lambda is chosen in spite of corrupt entries among them; with ``loss="square"`` held-out entries are scored by
    squares.

    Parameters
    ----------
    lam
        The weight of the nuclear norm relative to absolute errors: one number, one for each mode, or ``"auto"`` to
        choose it on held-out entries. It does not depend on the units of the data.
    modes
        The regularised modes; by default those of `Nort`.
    zeta
        The weight of the agreement of the copies, as in `Admm`.
    max_iter, tol
        As in `Method`.

    Notes
    -----
    The original has multipliers for X + E = O too. Here X and E are updated jointly, in closed form, so that this holds
    at every iteration.

    References
    ----------
    Q. Gu, H. Gui and J. Han. Robust tensor decomposition with gross corruption. NIPS 2014.
    """

    stages: ClassVar[frozenset[str]] = frozenset(STAGES) - {"laplacian", "refine"}
    square_only: ClassVar[bool] = True
    takes_robust: ClassVar[bool] = True
    whole_tensors: ClassVar[int] = 24

    zeta: float | None = setting(None, check=none_or(real(above=0)), power=loss_less(2))
    tol: float = 1e-5

    def powers(self, loss: float, order: int) -> Mapping[str, float]:
        """Return the powers for absolute errors, regardless of the loss at held-out entries."""
        return super().powers(1, order)

    def largest_cut(self, problem: Problem, rng: np.random.Generator) -> float:
        """Return the singular value threshold at which the answer is zero."""
        return super().largest_cut(_robust(problem), rng)

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that starts at `start`, or at zero."""
        regulariser, fidelity = self.regulariser(problem), Absolute(_robust(problem))
        zeta = Zeta(begun(self.zeta, regulariser, fidelity), "balances" if self.zeta is None else "stays")
        return PenalisedSolver(problem, regulariser, fidelity, zeta, start)


def _robust(problem: Problem) -> Problem:
    """Return the problem with the loss of the fit: its own if that is robust, otherwise the absolute difference."""
    return problem if isinstance(problem.loss, Robust) else problem.with_loss(make_robust("l1"))  # type: ignore[arg-type]
