"""The settings of NORT."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from ..._support.checks import is_auto, real_number, whole_number
from ..._support.clock import Clock
from ..._support.parallel import one_blas_thread
from ...algebra.columns import ColumnStorage
from ...algebra.storage import DenseStorage, Storage
from ...algebra.tall import E, V
from ...algebra.unfolding import columns
from ...losses import Square
from ...models import FoldedColumns, FoldedLowRank, Model, Tucker
from ...models.folded import OfComponents
from ...observations import Observations
from ...penalties import Nuclear, Penalty, make_penalty
from ...penalties.family import SCALED_BY_CUT
from ...penalties.thresholds import has_threshold, is_set_to_zero
from ..base import STAGES, Callback, Method, Result, Solver
from ..loop import ResumableSolver
from ..memory import are_alone, dense_is_faster
from ..objective import Objective, Smooth
from ..problem import Problem
from ..settings import Power, flag_or, loss_less, one_of, own_search, setting
from .descent import RankGuard, approached
from .modes import per_mode, regularised_modes
from .momentum import make_momentum
from .polishing import PolishingSolver, TuckerPolish
from .proximal_average import ProximalAverage
from .solver import NortSolver
from .units import regulariser_in_unit

STEP_MARGIN = 1.01
"""The ratio of the default tau to the curvature."""

ROUNDING = 1e-9
"""A tau below the curvature by at most this share counts as equal, because that of graphs is found by iterations."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Nort(Method):
    """NORT: nonconvex regularised tensor completion (Algorithm 2 of the paper).

    Parameters
    ----------
    lam
        The weight of the penalty, which pulls each regularised mode towards low rank: one number, one for each mode,
        or ``"auto"`` to choose it on held-out entries.
    penalty
        The penalty on singular values: ``"lsp"``, ``"nuclear"``, ``"capped_l1"``, ``"tnn"``, ``"scad"``, ``"mcp"``, an
        object with `value` and `prox`, or one of these for each regularised mode.
    theta
        The parameter of a penalty given by name: one number, one for each regularised mode, or ``"auto"``. With
        ``lam="auto"`` it is chosen on held-out entries; otherwise the penalty bends at its singular value threshold.
    modes
        The regularised modes; by default those of eight indices or more, unless their unfolding has many more columns
        than there are entries (see `default_modes`).
    max_rank
        The largest rank of a component: one number, or one for each regularised mode.
    tau
        Inverse step length; by default just above the curvature of the loss. A larger one brings the answer closer
        to the problem with the exact sum of penalties, and costs iterations. With ``lam="auto"``, held-out entries
        choose whether it is larger.
    momentum
        ``"restart"`` (also ``True``) extrapolates by (k - 1) / (k + 2) in the k-th step since the last rejection,
        ``"adaptive"`` doubles and halves the extrapolation as Algorithm 2 does, ``False`` is sNORT.
    descend
        Whether `tensorfill.complete` reaches a given lambda through larger ones, if it has no warm start.
        ``"auto"`` does so unless `max_rank` is given: a rank limit also keeps ranks small, and preserves weak
        directions.
    polish
        Whether alternating least squares on the ranks found so far takes large steps between those of NORT (see
        `tensorfill.methods.nort.polishing`). Such a step is kept only if the objective falls, so the answer is a
        critical point of the same objective, reached sooner. ``"auto"`` does so for large sparse data with the square
        loss and without graphs, unless the penalty is the nuclear norm, which shrinks, unlike least squares. A
        search for lambda does so only if this is ``True``.
    svd
        ``"exact"`` decomposes every unfolding in full, which needs dense storage; ``"subspace"`` follows the
        leading singular vectors from one iteration to the next; ``"auto"`` does that too, until a full decomposition by
        Gram matrices is cheaper.
    storage
        ``"sparse"``, ``"dense"``, ``"columns"``, or ``"auto"``, which depends on the size and density of the data. With
        ``"columns"``, components are stored at the observed columns only, and an entry is predicted by the components
        that are stored at its columns (see `tensorfill.algebra.columns`). ``"auto"`` does so if that is cheaper (see
        `tensorfill.methods.memory.observed_columns_are_cheaper`) and there are no graphs.
    max_iter, tol
        As in `Method`.
    """

    name: ClassVar[str] = "nort"
    searched_by: ClassVar[str] = "nort"
    stages: ClassVar[frozenset[str]] = frozenset(STAGES)
    takes_roughness: ClassVar[bool] = True
    steps_to_gather: ClassVar[int] = 20

    other_powers: ClassVar[Mapping[str, Power]] = {"objective": loss_less(0), "cut": 1}

    # `regulariser_in_unit` has the units of lambda, of the penalty and of theta.
    lam: float | Sequence[float] | str = setting("auto", check=is_auto, path=own_search)
    penalty: str | Penalty | Sequence[str | Penalty] = "lsp"
    theta: float | Sequence[float] | str = setting("auto", check=is_auto)
    modes: Sequence[int] | None = None
    max_rank: int | Sequence[int] | None = None
    tau: float | None = setting(None, power=loss_less(2))
    momentum: bool | str = setting(True, check=lambda value, name: make_momentum(value))
    descend: bool | str = setting("auto", check=flag_or("auto"))
    polish: bool | str = setting("auto", check=flag_or("auto"))
    svd: str = setting("auto", check=one_of("auto", "exact", "subspace"))
    storage: str = setting("auto", check=one_of("auto", "sparse", "dense", "columns"))

    def in_unit(self, exponent: int, loss: float, order: int) -> Self:
        """Return the same settings for data that is divided by ``2**exponent``."""
        changed = regulariser_in_unit(self.lam, self.penalty, self.theta, exponent, loss)
        return replace(super().in_unit(exponent, loss, order), **changed)

    def check(self, problem: Smooth) -> None:
        """Refuse settings that cannot work: a tau, a lambda, or a polish that is not for this problem."""
        self._check_kind(problem)
        if self.polish is True and problem.here is None:
            raise ValueError("polish=True needs all entries on this machine, but they are on several; leave it out.")
        if self.polish is True and self.is_silent_somewhere(problem):
            raise ValueError(
                "polish=True needs components at all columns, but this tensor has so many columns that components are "
                "kept at the observed ones only; leave polish='auto', or give storage='sparse'."
            )
        if not self.open_settings and self.max_rank is None:
            # With a rank limit, which every trial of a search has, a lambda is not reached through larger ones.
            self._check_lambda(problem)
        elif self.tau is not None:
            self._step_of(problem)
        if self.polish is True and not _is_least_squares(problem):
            raise ValueError(
                "polish=True needs loss 'square' without graphs, but the loss is "
                f"{problem.loss!r}{'' if problem.roughness is None else ' with graphs'}; leave polish='auto'."
            )

    def relates_nothing(self, problem: Smooth, modes: tuple[int, ...]) -> bool:
        """Return whether components are kept at observed columns only, and next to no column has two entries."""
        here = problem.here
        return here is not None and self.keeps_observed_columns(here, modes) and are_alone(here.observations, modes)

    def is_silent_somewhere(self, problem: Smooth) -> bool:
        """Return whether components are kept at some columns only, and say nothing at the others."""
        return self.keeps_observed_columns(problem, self._modes_for(problem))

    def can_start_from(self, model: Model, problem: Smooth) -> bool:
        """Return whether `model` consists of folded low-rank matrices of the shape of the data."""
        return isinstance(model, OfComponents) and model.shape == problem.observations.shape

    def approach(
        self, problem: Objective[E, V], *, rng: np.random.Generator, callback: Callback | None, clock: Clock
    ) -> Result | None:
        """Return the answer just above lambda, reached through larger ones, if `descend` asks for it."""
        if not (self.max_rank is None if self.descend == "auto" else self.descend):
            return None
        return approached(self, problem, rng=rng, callback=callback, clock=clock)

    @one_blas_thread
    def solve(
        self,
        problem: Objective[E, V],
        *,
        start: Model | None = None,
        held_out: Observations | None = None,
        rng: np.random.Generator | int | None = None,
        callback: Callback | None = None,
        clock: Clock | None = None,
        at_least: int = 0,
    ) -> Result:
        """Iterate until a stop rule holds; see `Method.solve`. The entries of the problem may be on other machines."""
        with problem.at_work():
            return self._solved(
                problem,
                lambda: self.check(problem),
                lambda draws: self.prepare(problem, start, draws),
                start=start,
                held_out=held_out,
                rng=rng,
                callback=callback,
                clock=clock,
                at_least=at_least,
            )

    def prepare(self, problem: Objective[E, V], start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that starts at `start`, or at zero."""
        regulariser = self.regulariser(problem)
        convex = all(isinstance(penalty, Nuclear) for penalty in regulariser.penalties)
        # In data that is small or mostly observed, a step of NORT is cheap and effective, and ranks may be high.
        is_large = not dense_is_faster(problem.observations) and not convex
        may_polish = is_large and _is_least_squares(problem)
        # A polish works with single entries.
        here = problem.here
        solver: ResumableSolver
        if here is not None and (self.polish is True or (self.polish == "auto" and may_polish)):
            polish = TuckerPolish(here.observations, rng)
            solver = PolishingSolver(self.solver(here, start, rng), lambda at: self.solver(here, at, rng), polish)
        else:
            solver = self.solver(problem, start, rng)
        # From zero, the first steps of a small lambda may pass through high ranks that later steps reduce.
        guarded = is_large and self.max_rank is None and start is not None
        return problem.watched(RankGuard(solver, self, problem) if guarded else solver)

    def solver(self, problem: Objective[E, V], start: Model | None, rng: np.random.Generator) -> NortSolver[E, V]:
        """Return Algorithm 2 at `start`, or at zero."""
        regulariser = self.regulariser(problem)
        storage = self.storage_for(problem, regulariser.modes)
        return NortSolver(problem, regulariser, storage, make_momentum(self.momentum), self.svd, start, rng)

    def regulariser(self, problem: Smooth) -> ProximalAverage:
        """Return the regulariser that these settings mean for a problem."""
        return self._regulariser_at(problem, self._step_of(problem))

    def _regulariser_at(self, problem: Smooth, tau: float) -> ProximalAverage:
        """Return the regulariser for this tau."""
        shape = problem.observations.shape
        modes = self._modes_for(problem)
        # While lambda is open, any value gives the modes, the rank limits and tau.
        given = 1.0 if is_auto(self.lam, "lam") else self.lam
        lam = tuple(real_number(value, "lam", at_least=0) for value in per_mode(given, "lam", modes))
        limits = per_mode(self.max_rank, "max_rank", modes)
        most = [min(shape[mode], columns(shape, mode)) for mode in modes]
        ranks = tuple(
            full if limit is None else min(full, whole_number(limit, "max_rank", at_least=1))
            for limit, full in zip(limits, most, strict=True)
        )
        return ProximalAverage(modes, lam, self._penalties(modes, sum(lam) / tau), ranks, tau)

    def _check_lambda(self, problem: Smooth) -> None:
        """Refuse a lambda that takes nothing away, and would be reached after hundreds of larger ones."""
        found = self.regulariser(problem)
        if found.total == 0 or not math.isfinite(found.tau):
            return
        # No singular value of the first step from zero is larger than this.
        largest = problem.slope_at_zero / found.tau
        rounding = float(np.finfo(problem.observations.dtype).eps) * largest
        penalty, weight = found.penalties[0], found.total / found.tau
        if not is_set_to_zero(penalty, weight, rounding, largest=largest) and has_threshold(penalty, largest):
            raise ValueError(
                f"lam={found.total:.3g} in all keeps singular values of {rounding:.3g}, which is the rounding of the "
                f"largest, {largest:.3g}; raise lam, leave lam='auto', or give lam=0 for no penalty."
            )

    def _step_of(self, problem: Smooth) -> float:
        """Return tau, just above the curvature by default; with less, steps need not lower the objective."""
        curvature = problem.curvature
        if self.tau is None:
            return STEP_MARGIN * curvature
        tau = real_number(self.tau, "tau", above=0)
        if tau < curvature * (1 - ROUNDING):
            raise ValueError(
                f"tau must be at least {curvature:.6g}, the curvature of the loss and of its graphs, but {self.tau!r} "
                "was given; leave it out for a tau just above that."
            )
        return tau

    def _modes_for(self, problem: Smooth) -> tuple[int, ...]:
        return regularised_modes(self.modes, problem.observations.shape, len(problem.observations))

    def resolved(self, problem: Smooth) -> Self:
        """Return the same settings with the modes, the lambda and the penalty of each mode, and tau made explicit."""
        found = self.regulariser(problem)
        same = all(penalty == found.penalties[0] for penalty in found.penalties)
        return replace(
            self,
            lam=found.lam,
            penalty=found.penalties[0] if same else found.penalties,
            theta="auto",
            modes=found.modes,
            tau=found.tau,
        )

    def _penalties(self, modes: Sequence[int], weight: float) -> tuple[Penalty, ...]:
        """Return the penalty of each regularised mode; `weight` is L / tau."""
        penalties: tuple[Any, ...] = per_mode(self.penalty, "penalty", modes)
        thetas: tuple[Any, ...] = per_mode(self.theta, "theta", modes)
        pairs = zip(penalties, thetas, strict=True)
        return tuple(_made(penalty, None if is_auto(theta, "theta") else theta, weight) for penalty, theta in pairs)

    def storage_for(self, problem: Objective[E, V], modes: tuple[int, ...]) -> Storage[E, V]:
        """Return where the iterates live."""
        storage = problem.storage_for(self.storage, modes)
        if self.svd == "exact" and not isinstance(storage, DenseStorage):
            raise ValueError("svd='exact' needs dense storage; give storage='dense' too, or leave svd='auto'.")
        return storage

    def folded(
        self, problem: Problem, model: Tucker, modes: tuple[int, ...], weights: Sequence[float]
    ) -> FoldedLowRank | FoldedColumns:
        """Return a Tucker model with orthonormal factors in the form of the storage."""
        storage = self.storage_for(problem, modes)
        if isinstance(storage, ColumnStorage):
            return FoldedColumns.from_tucker(model, modes, weights, [storage.kept[mode] for mode in modes])
        return FoldedLowRank.from_tucker(model, modes, weights)

    def keeps_observed_columns(self, problem: Smooth, modes: tuple[int, ...]) -> bool:
        """Return whether components are kept at the observed columns only."""
        return problem.keeps_observed_columns(self.storage, modes)


def _is_least_squares(problem: Smooth) -> bool:
    """Return whether the smooth part of the objective is a sum of squares over the observed entries."""
    return isinstance(problem.loss, Square) and problem.roughness is None


def _made(penalty: str | Penalty, theta: float | str | None, weight: float) -> Penalty:
    """Return the penalty of one mode; without a theta it bends at its threshold."""
    if theta is not None or not isinstance(penalty, str):
        return make_penalty(penalty, theta)  # type: ignore[arg-type]
    if penalty == "tnn":
        raise ValueError("theta must be given for penalty 'tnn' if lam is: the number of free singular values.")
    if penalty in SCALED_BY_CUT:
        # LSP has its threshold at the root of the weight, the others at the weight itself.
        return SCALED_BY_CUT[penalty]((math.sqrt(weight) if penalty == "lsp" else weight) or 1.0)
    return make_penalty(penalty)
