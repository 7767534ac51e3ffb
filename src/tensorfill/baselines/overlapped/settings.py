"""The settings of methods with a penalty on the singular values of several unfoldings, and their regulariser.

    minimise  f(X) + sum_d lam_d phi(unfold_d X)

Lambda, the penalty and the modes are those of `Nort`, whose regulariser is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from ..._support.checks import is_auto
from ..._support.clock import Clock
from ...losses import Square
from ...losses.robust import Robust
from ...methods.base import STAGES, Callback, Method, Result
from ...methods.nort.descent import largest_cut
from ...methods.nort.method import Nort
from ...methods.nort.proximal_average import ProximalAverage
from ...methods.nort.units import regulariser_in_unit
from ...methods.problem import Problem
from ...methods.settings import Power, loss_less, own_search, setting
from ...models import FoldedLowRank, Model
from ...penalties import Nuclear, Penalty, cut, weight_for_cut

RATIO = 0.6
"""The ratio of consecutive thresholds on a path."""

TRIAL_ITERATIONS = 40
TRIAL_TOLERANCE = 1e-6
"""The stopping rules at each point of a path; the best is then run to convergence."""


@dataclass(frozen=True, kw_only=True)
class Overlapped(Method):
    """Base class of these methods: lambda, the modes, the search for lambda, and the descent to a given one.

    Parameters
    ----------
    lam, modes
        As in `Nort`.
    """

    stages: ClassVar[frozenset[str]] = frozenset(STAGES)
    descends: ClassVar[bool] = False
    searched_by: ClassVar[str] = "cuts"

    other_powers: ClassVar[Mapping[str, Power]] = {"objective": loss_less(0), "cut": loss_less(1)}

    lam: float | Sequence[float] | str = setting("auto", check=is_auto, power=loss_less(1), path=own_search)
    modes: Sequence[int] | None = None

    def check(self, problem: Problem) -> None:
        """Raise the errors of NORT with the same regulariser: a tau below the curvature, a lambda below rounding."""
        super().check(problem)
        if not self.is_fixed:
            self.as_nort().check(_with_curvature(problem))

    @property
    def is_fixed(self) -> bool:
        """Whether observed entries are fixed, so that lambda is not relative to a loss."""
        return False

    def as_nort(self) -> Nort:
        """Return the settings of NORT with the same regulariser."""
        return Nort(lam=self.lam, penalty=Nuclear(), modes=self.modes, storage="dense")

    def regulariser(self, problem: Problem) -> ProximalAverage:
        """Return the modes, and the lambda and the penalty of each, of these settings for a problem."""
        return self.as_nort().regulariser(_with_curvature(problem))

    def weighted(self, lam: float | Sequence[float], penalty: Penalty) -> Self:
        """Return the method with a lambda and a penalty."""
        return replace(self, lam=lam)

    def resolved(self, problem: Problem) -> Self:
        """Return the same settings with the modes, and the lambda and the penalty of each, made explicit."""
        found = self.regulariser(problem)
        return replace(self.weighted(found.lam, found.penalties[0]), modes=found.modes)

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` is a sum of folded low-rank matrices of the shape of the data."""
        return isinstance(model, FoldedLowRank) and model.shape == problem.observations.shape

    def largest_cut(self, problem: Problem, rng: np.random.Generator) -> float:
        """Return the singular value threshold at which the answer is zero, in units of the curvature."""
        if isinstance(problem.loss, Robust):
            # The slope of an absolute error is a sign, for any size of the error.
            signs = np.sign(problem.observations.values)
            problem = Problem(problem.observations.with_values(signs), Square())
        return largest_cut(self.as_nort(), problem, rng)

    def approach(
        self, problem: Problem, *, rng: np.random.Generator, callback: Callback | None, clock: Clock
    ) -> Result | None:
        """Return the answer just above lambda, reached through larger ones.

        From zero, a small lambda moves so little in an iteration that the tolerance would stop it far from convergence,
        and a nonconvex penalty would keep arbitrary directions of the first steps.
        """
        result = None
        for stage in self._stages(problem, rng):
            start = None if result is None else result.model
            result = stage.solve(problem, start=start, rng=rng, callback=callback, clock=clock)
            if not result.finished:
                break
        return result

    def _stages(self, problem: Problem, rng: np.random.Generator) -> Iterator[Self]:
        """Return the method with decreasing lambdas, all above the requested one."""
        found = self.regulariser(problem)
        largest = self.largest_cut(problem, rng)
        if found.total == 0 or largest == 0:
            return
        penalty, weight = found.penalties[0], found.total / found.tau
        last, now = cut(penalty, weight, largest=largest), RATIO * largest
        while now * RATIO > last:
            scale = weight_for_cut(penalty, now) / weight
            stage = self.weighted([scale * lam for lam in found.lam], penalty)
            short = min(self.max_iter, TRIAL_ITERATIONS)
            yield replace(stage, max_iter=short, tol=max(self.tol, TRIAL_TOLERANCE))
            now *= RATIO


@dataclass(frozen=True, kw_only=True)
class Penalised(Overlapped):
    """Base class of methods that take any penalty.

    Parameters
    ----------
    penalty, theta
        As in `Nort`, but the same for all modes.
    max_rank
        As in `Nort`.
    """

    penalty: str | Penalty = "lsp"
    theta: float | str = setting("auto", check=is_auto)
    max_rank: int | Sequence[int] | None = None

    def in_unit(self, exponent: int, loss: float, order: int) -> Self:
        """Return the same settings for data that is divided by ``2**exponent``."""
        changed = regulariser_in_unit(self.lam, self.penalty, self.theta, exponent, loss)
        return replace(super().in_unit(exponent, loss, order), **changed)

    def as_nort(self) -> Nort:
        """Return the settings of NORT with the same regulariser."""
        # While lambda is open the penalty is too, and the threshold at which the answer is zero does not depend on it.
        given = (Nuclear(), "auto") if self.open_settings else (self.penalty, self.theta)
        return replace(super().as_nort(), penalty=given[0], theta=given[1], max_rank=self.max_rank)

    def weighted(self, lam: float | Sequence[float], penalty: Penalty) -> Self:
        """Return the method with a lambda and a penalty."""
        return replace(self, lam=lam, penalty=penalty, theta="auto")


def _with_curvature(problem: Problem) -> Problem:
    """Return a problem whose curvature sets the unit of lambda; that of absolute errors is 1."""
    return problem.with_loss(Square()) if isinstance(problem.loss, Robust) else problem
