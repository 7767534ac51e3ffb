"""The proximal average of the penalties of several unfoldings: the regulariser g_tau and its proximal step.

With L = sum_d lam_d and w_d = lam_d / L,

    prox of g_tau / tau at Z  =  sum_d w_d fold_d(X_d),   X_d = prox of (L / tau) phi_d at unfold_d Z,
    g_tau(X)  =  sum_d w_d [tau/2 |X_d|^2 + L phi_d(X_d)] - tau/2 |X|^2

at the components X_d that the step returns (Proposition 2 of the paper, with the weights that it omits).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._support.types import Floats
from ...penalties import Penalty


@dataclass(frozen=True)
class ProximalAverage:
    """The regulariser of one problem.

    Parameters
    ----------
    modes
        The regularised modes.
    lam
        One for each mode.
    penalties
        One for each mode.
    max_ranks
        One for each mode.
    tau
        Inverse step length.
    """

    modes: tuple[int, ...]
    lam: tuple[float, ...]
    penalties: tuple[Penalty, ...]
    max_ranks: tuple[int, ...]
    tau: float

    @property
    def total(self) -> float:
        """The sum L of all lambdas."""
        return sum(self.lam)

    @property
    def weights(self) -> tuple[float, ...]:
        """The w_d; all equal if no mode is penalised."""
        total = self.total
        return tuple(value / total if total else 1 / len(self.lam) for value in self.lam)

    def prox(self, d: int, s: Floats) -> Floats:
        """Return the singular values of X_d, those that are not zero, from the singular values of unfold_d Z."""
        shrunk = self.penalties[d].prox(s[: self.max_ranks[d]], self.total / self.tau)
        return shrunk[: np.count_nonzero(shrunk > 0)]

    def penalty(self, values: Sequence[Floats]) -> float:
        """Return sum_d lam_d phi_d(X_d) from the singular values of each X_d."""
        terms = zip(self.lam, self.penalties, values, strict=True)
        return sum(lam * penalty.value(s) for lam, penalty, s in terms)

    def disagreement(self, values: Sequence[Floats], square: float) -> float:
        """Return tau/2 [sum_d w_d |X_d|^2 - |X|^2], the disagreement of the components, with `square` = |X|^2."""
        squares = sum(weight * float(np.vdot(s, s)) for weight, s in zip(self.weights, values, strict=True))
        return self.tau / 2 * (squares - square)
