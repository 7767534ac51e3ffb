"""Robust completion: NORT for losses with a kink, by one smooth loss after another (Section 4.1 of the paper).

    minimise  sum over the observed entries p of kappa(|X_p - O_p|)  +  sum_d lam_d * phi_d(unfold_d X)

is not smooth where a prediction equals its observation, and NORT needs a gradient. There are two solutions:

- `SmoothedNort` is Algorithm 3: the kink is rounded off within a distance delta, which shrinks from stage to stage. A
  stage is a run of NORT with a warm start from the last.
- If there is noise beside the outliers, a delta far below the noise gains little. `choosing.corrupt.rough_fit`
  estimates the noise, and ``robust.cut_at(1.345 * noise)`` is a loss of curvature 1 for plain NORT, which starts from
  the rough fit. For the absolute difference this is the smoothed loss with delta = 1.345 * noise, up to a factor and a
  constant.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..._support.types import Floats
from ...algebra.tall import E, V
from ...losses import Loss, Square
from ...losses.robust import Robust, SmoothedRobust, Tangent, noise_scale
from ...models import Model
from ..base import Progress, Solver, Unsuited
from ..objective import Objective, Smooth
from ..problem import Problem
from ..settings import real, setting
from .method import STEP_MARGIN, Nort
from .proximal_average import ProximalAverage
from .solver import NortSolver

WIDEST = 3.0
"""The first delta is this many times the size of the residuals; a larger one gives the same answer."""

FASTEST = 0.5
"""If the residuals are far smaller than delta, the next delta is reduced by this factor, or by `shrink` if that is
less."""

STEADY = 0.97
"""The size of the residuals has settled if a stage reduces it by no more than this factor."""

SMALLEST = 1e-4
"""If the data can be fitted exactly, residuals shrink with delta; the last delta is this share of the first."""


@dataclass(frozen=True)
class Smoothing:
    """One of the smooth problems.

    Parameters
    ----------
    loss
        The smooth loss.
    delta
        The distance within which the kink is rounded off.
    first_delta
        The delta of the first stage.
    size
        The size of the residuals at its start.
    last
        Whether it is the last stage.
    """

    loss: Loss
    delta: float
    first_delta: float
    size: float
    last: bool


def _left_out(value: Any, name: str) -> None:
    if value is not None:
        raise ValueError(
            f"{name} must be left out for a robust loss, as it follows the curvature of each stage, "
            f"but {value!r} was given."
        )


@dataclass(frozen=True, kw_only=True)
class SmoothedNort(Nort):
    """Algorithm 3 of the paper: NORT with the kink of the loss rounded off within a distance that shrinks.

    The loss of the problem is a `tensorfill.losses.robust.Robust`. That of a stage is `SmoothedRobust` with delta,
    and tau follows its curvature, kappa_0 / delta. The first delta follows from the residuals of the starting
    point, whereas the paper assumes data between 0 and 1. Each further one is `shrink` times the last, or less if the
    residuals are far smaller. While delta is above the theta of kappa, the loss is the smoothed tangent of kappa,
    kappa_0 |x - o|: kappa itself would have no gradient at most of the entries.

    The last stage is the first whose delta is below `floor` times the size of the residuals, when that has settled, or
    the one that leaves the robust objective unchanged to `tol`. The history has the robust objective, and as `f_tau`
    the function that decreases within each stage.

    Parameters
    ----------
    lam
        As in `Nort`, but there is no search for it.
    penalty, theta, modes, max_rank, tau, momentum, descend, polish, svd, storage, max_iter, tol
        As in `Nort`; tau must be left out.
    shrink
        The ratio of one delta to the last, delta_0 in the paper; between 0 and 1.
    floor
        The last delta, relative to the size of the residuals (see `noise_scale`). With 1.345 the answer is that for
        noise beside the outliers, in fewer iterations.
    stage_tol
        A stage ends when the relative change of F_tau in an iteration is less than this; the last continues
        until `tol`.

    Notes
    -----
    `lam` is relative to kappa, not to squares: with the absolute difference, the `lam` of the square loss divided by
    the size of a residual has the same strength. From zero, a `lam` that is too small admits outliers as ranks and does
    not drop them later; start from the answer of a larger one, or give a `max_rank`.

    Examples
    --------
    >>> from tensorfill import Observations
    >>> from tensorfill.penalties import Nuclear
    >>> table = np.outer(np.arange(1.0, 9.0), np.arange(1.0, 7.0))
    >>> table[2, 3] = 500.0
    >>> problem = Problem(Observations.from_dense(table), Robust(Nuclear()))
    >>> result = SmoothedNort(lam=2.0, penalty=Nuclear()).solve(problem, rng=0)
    >>> round(float(result.model.predict([[2, 3]])[0]), 1)
    12.0
    """

    name: ClassVar[str] = "smoothed_nort"
    stages: ClassVar[frozenset[str]] = frozenset()
    takes_robust: ClassVar[bool] = True

    tau: float | None = setting(None, check=_left_out)
    shrink: float = setting(0.9, check=real(above=0, below=1))
    floor: float = setting(0.1, check=real(above=0))
    stage_tol: float = setting(1e-3, check=real(above=0))

    def check(self, problem: Smooth) -> None:
        """Refuse a lambda that is left open, and entries on other machines: a stage follows from all residuals."""
        if self.open_settings:
            raise Unsuited(
                f"method '{self.name}' is for a robust loss and a given lam, a number or one for each mode, but lam is "
                "'auto'."
            )
        super().check(problem)
        self._entries_of(problem)

    def prepare(self, problem: Objective[E, V], start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that starts at `start`, or at zero."""
        return SmoothedSolver(self, self._entries_of(problem), start, rng)

    def _entries_of(self, problem: Smooth) -> Problem:
        if problem.here is None:
            raise Unsuited(f"method '{self.name}' needs all entries on this machine, but they are on several.")
        return problem.here

    def regulariser(self, problem: Smooth) -> ProximalAverage:
        """Return the regulariser; its tau is NaN for the robust problem, as each stage has its own."""
        if not isinstance(problem.loss, Robust):
            return super().regulariser(problem)
        # Penalties that follow tau are those of the square loss.
        curvature = float(Square().curvature) + (0.0 if problem.roughness is None else problem.roughness.curvature)
        return dataclasses.replace(self._regulariser_at(problem, STEP_MARGIN * curvature), tau=math.nan)

    def resolved(self, problem: Smooth) -> Self:
        """Return the same settings; tau follows the stages."""
        return self

    def approach(self, problem: Smooth, **run: Any) -> None:
        """Return None: the stages come down from a wide delta by themselves."""

    def next_stage(self, stage: Smoothing | None, robust: Robust, residuals: Floats, change: float) -> Smoothing:
        """Return the next stage.

        Parameters
        ----------
        stage
            The stage that has ended, or None at the start.
        robust
            The requested loss.
        residuals
            Prediction minus observation at the current point.
        change
            The change of the robust objective in the stage, relative to its value.
        """
        size, theta = noise_scale(residuals), robust.penalty.reach
        if stage is not None and stage.delta <= min(size, theta) and change <= self.tol:
            return dataclasses.replace(stage, last=True)
        delta = self.shrink * WIDEST * size
        if stage is not None:
            delta = min(max(delta, FASTEST * stage.delta), self.shrink * stage.delta)
        first = delta if stage is None else stage.first_delta
        # Residuals that are still shrinking do not measure the noise.
        steady = stage is not None and size >= STEADY * stage.size
        last = (steady and delta <= self.floor * size) or delta <= SMALLEST * first
        if last:
            delta = min(delta, theta)
        penalty = robust.penalty if delta <= theta else Tangent(robust.penalty.slope_at_zero)
        return Smoothing(SmoothedRobust(penalty, delta), delta, first, size, last)


@dataclass(frozen=True)
class StagedProgress(Progress):
    """The state of a method in stages; the tolerance refers to the last stage only."""

    last: bool = False

    @property
    def merit(self) -> float:
        """The value that the tolerance refers to."""
        return self.f_tau if self.last else math.nan


class SmoothedSolver:
    """Algorithm 3, for one problem, an iteration of Algorithm 2 at a time."""

    def __init__(self, settings: SmoothedNort, problem: Problem, start: Model | None, rng: np.random.Generator) -> None:
        if not isinstance(problem.loss, Robust):
            raise TypeError(
                "SmoothedNort is for a robust loss, such as Robust(Nuclear()) for the absolute difference, "
                f"but the loss is {problem.loss!r}; take Nort for it."
            )
        self._settings, self._problem, self._robust, self._rng = settings, problem, problem.loss, rng
        # The residuals of the starting point do not depend on the loss.
        standing = settings.solver(problem.with_loss(Square()), start, rng)
        self._stage = settings.next_stage(None, self._robust, self._residuals(standing), math.inf)
        self._solver = self._begun(self._stage, standing.model())
        self._progress = self._progress_of(self._stage, self._solver)
        self._objective_before, self._settled = self._progress.objective, False

    @property
    def stage(self) -> Smoothing:
        """The current stage."""
        return self._stage

    def progress(self) -> Progress:
        """Return the current state, with the robust objective."""
        return self._progress

    def model(self) -> Model:
        """Return the answer so far."""
        return self._solver.model()

    def step(self) -> None:
        """Make one iteration, of the next stage if the current one has ended."""
        stage, solver, objective_before = self._stage, self._solver, self._objective_before
        if self._settled and not stage.last:
            objective = self._progress.objective
            change = abs(objective_before - objective) / max(abs(objective), np.finfo(np.float64).tiny)
            stage = self._settings.next_stage(stage, self._robust, self._residuals(solver), change)
            objective_before = objective
            if stage.loss is not self._stage.loss:
                solver = self._begun(stage, solver.model())
        before = solver.progress().f_tau
        solver.step()
        after = solver.progress().f_tau
        self._progress = self._progress_of(stage, solver)
        self._settled = abs(before - after) <= self._settings.stage_tol * abs(after)
        self._stage, self._solver, self._objective_before = stage, solver, objective_before

    def _begun(self, stage: Smoothing, start: Model) -> NortSolver[Floats, Floats]:
        """Return NORT at the beginning of a stage."""
        return self._settings.solver(self._problem.with_loss(stage.loss), start, self._rng)

    def _residuals(self, solver: NortSolver[Floats, Floats]) -> Floats:
        """Return prediction less observation."""
        residuals: Floats = solver.seen - self._problem.observations.values
        return residuals

    def _progress_of(self, stage: Smoothing, solver: NortSolver[Floats, Floats]) -> Progress:
        """Return the progress of a stage, with the robust objective in place of the smooth one."""
        now, seen = solver.progress(), solver.seen
        rounding = self._problem.with_loss(stage.loss).value(seen) - self._problem.value(seen)
        return StagedProgress(now.objective - rounding, now.f_tau, now.ranks, now.momentum, last=stage.last)
