"""ADMM, LRTC and HaLRTC: penalties on several unfoldings by the alternating direction method of multipliers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from ..._support.checks import is_auto, real_number, whole_number
from ..._support.clock import Clock
from ..._support.types import Floats
from ...algebra.spectral import singular_values
from ...algebra.unfolding import columns
from ...losses import Square
from ...methods.base import Callback, Result, Solver, Unsuited
from ...methods.nort.method import Nort
from ...methods.nort.modes import regularised_modes
from ...methods.nort.proximal_average import ProximalAverage
from ...methods.problem import Problem
from ...methods.settings import loss_less, none_or, one_axis, one_of, real, setting
from ...models import Dense, Model
from ...penalties import TNN, Nuclear, Penalty, make_penalty
from .fidelity import Fidelity, Fixed, fidelity_to
from .interpolating import Interpolating
from .settings import Overlapped, Penalised
from .splitting import FixedSolver, PenalisedSolver, Zeta, first_zeta, low_rank_parts


@dataclass(frozen=True, kw_only=True)
class Admm(Overlapped):
    """ADMM: nuclear norms of several unfoldings, each with a copy of the tensor (Tomioka, Hayashi and Kashima 2010).

    It minimises f(X) + sum_d lam_d |unfold_d X|_*, for any smooth loss and with graph Laplacians. The square loss has a
    closed form at each entry; other losses take a few Newton steps there. A graph has a copy of the tensor too, and its
    step is a linear system along its mode. The answer is that of `PaApg` without the error of the proximal average, at
    more memory: two tensors for each regularised mode. An iteration costs as much as one of `PaApg`. Use it to find the
    exact convex minimum.

    Parameters
    ----------
    lam
        The weight of the nuclear norm: one number, one for each mode, or ``"auto"`` to choose it on held-out entries.
    modes
        The regularised modes; by default those of `Nort`.
    zeta
        The weight of the agreement of the copies. By default it starts at the scale of the data and follows the
        residuals, which changes the number of iterations but not the minimum; a number keeps it fixed.
    max_iter, tol
        As in `Method`.

    References
    ----------
    R. Tomioka, K. Hayashi and H. Kashima. Estimation of low-rank tensors via convex optimization. arXiv:1010.0789,
    2010.

    Examples
    --------
    >>> from tensorfill.datasets import synthetic
    >>> from tensorfill.losses import Square
    >>> data = synthetic((10, 9, 8), rank=1, rng=0)
    >>> Admm(lam=0.1).solve(Problem(data.observations, Square()), rng=0).model
    FoldedLowRank(shape=(10, 9, 8), modes=(0, 1, 2), ranks=(1, 1, 1))
    """

    takes_roughness: ClassVar[bool] = True
    whole_tensors: ClassVar[int] = 24

    zeta: float | None = setting(None, check=none_or(real(above=0)), power=loss_less(2))
    tol: float = 1e-5

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that starts at `start`, or at zero."""
        regulariser, fidelity = self.regulariser(problem), fidelity_to(problem)
        zeta = Zeta(begun(self.zeta, regulariser, fidelity), "balances" if self.zeta is None else "stays")
        return PenalisedSolver(problem, regulariser, fidelity, zeta, start)


ALWAYS, IF_APART = 1.05, 1.2
"""The growth of zeta: in every iteration, as in transdim, or only if the copies have not come closer."""

SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)
"""The shares of free singular values that are tried if observed entries are fixed."""


@dataclass(frozen=True, kw_only=True)
class Lrtc(Penalised):
    """LRTC: any penalty on several unfoldings by ADMM (Chen, Yang and Sun 2020).

    It minimises f(X) + sum_d lam_d phi(unfold_d X) as `Admm` does, for any smooth loss and any penalty. With
    ``observed="fixed"`` and ``penalty="tnn"`` it is the version of transdim, the authors' software, for the square loss
    only: observed entries are fixed, and each unfolding has the truncated nuclear norm. An iteration costs as
    much as one of `PaApg`, or half as much again with observed entries fixed. Use it to compare with published figures;
    `Nort` minimises the same objective with less memory.

    Parameters
    ----------
    lam
        The weight of the penalty: one number, one for each mode, or ``"auto"`` to choose it on held-out entries. If
        observed entries are fixed, only its ratio to zeta matters, and the default is one over the number of modes.
    penalty
        The penalty on singular values, by name or as an object, as in `Nort`.
    theta
        The parameter of a penalty given by name. With ``lam="auto"`` it is chosen on held-out entries; otherwise the
        penalty bends at its singular value threshold. If observed entries are fixed and the penalty is ``"tnn"``, it is
        the number of free singular values or, if below one, their share in each unfolding, rounded up.
    max_rank
        The largest rank, one number or one for each mode; by default there is no limit.
    modes
        The regularised modes; by default those of `Nort`.
    observed
        ``"fitted"`` for a loss, or ``"fixed"`` to keep observed entries unchanged.
    zeta
        The first weight of the agreement of the copies, rho in transdim; by default it follows the scale of the data.
    growth
        The ratio of consecutive zetas, at least 1; by default 1.05 with fixed entries, in every iteration, and
        otherwise 1.2, in iterations that do not bring the copies closer. A nonconvex iteration needs it to converge.
    max_iter, tol
        As in `Method`.

    Notes
    -----
    transdim stops when the answer changes little, this implementation when the objective does. The answer of transdim
    is the mean of the copies; with fixed entries, it is X itself here; they agree at the end.

    References
    ----------
    X. Chen, J. Yang and L. Sun. A nonconvex low-rank tensor completion model for spatiotemporal traffic data
    imputation. Transportation Research Part C 117, 2020.
    """

    takes_roughness: ClassVar[bool] = True
    whole_tensors: ClassVar[int] = 24

    theta: float | str = setting("auto", path=one_axis("theta", SHARES))
    observed: str = setting("fitted", check=one_of("fitted", "fixed"))
    zeta: float | None = setting(None, check=none_or(real(above=0)), power=loss_less(2))
    growth: float | None = setting(None, check=none_or(real(at_least=1)))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_fixed and isinstance(self.penalty, str) and self.penalty not in ("tnn", "nuclear"):
            raise ValueError(
                "penalty must be 'tnn', 'nuclear' or an object if observed entries are fixed, because theta has no "
                f"threshold to follow, but {self.penalty!r} was given."
            )

    @property
    def is_fixed(self) -> bool:
        """Whether observed entries are fixed."""
        return self.observed == "fixed"

    @property
    def open_settings(self) -> tuple[str, ...]:
        """Lambda, and with it theta; only theta if observed entries are fixed."""
        truncated = isinstance(self.penalty, str) and self.penalty == "tnn"
        chosen = "lam" if not self.is_fixed else "theta" if truncated else None
        return tuple(name for name in super().open_settings if name == chosen)

    def powers(self, loss: float, order: int) -> Mapping[str, float]:
        """Return the powers; if observed entries are fixed, the objective is the norm alone, with zeta."""
        return {"objective": 1, "zeta": -1} if self.is_fixed else super().powers(loss, order)

    def in_unit(self, exponent: int, loss: float, order: int) -> Self:
        """Return the same settings for data that is divided by ``2**exponent``."""
        return super().in_unit(exponent, 1 if self.is_fixed else loss, order)

    @property
    def searched_by(self) -> str:  # type: ignore[override]
        """By falling thresholds, or by a walk along theta if observed entries are fixed."""
        return "walk" if self.is_fixed else "cuts"

    def check(self, problem: Problem) -> None:
        """Raise an error for other losses than the square loss, and for graphs, if observed entries are fixed."""
        super().check(problem)
        if self.is_fixed and (not isinstance(problem.loss, Square) or problem.roughness is not None):
            raise Unsuited(
                f"method '{self.name}' with observed='fixed' takes loss 'square' without graphs only, but the loss is "
                f"{problem.loss!r}{'' if problem.roughness is None else ' with graphs'}."
            )

    def regulariser(self, problem: Problem) -> ProximalAverage:
        """Return the modes, and the lambda and the penalty of each, of these settings for a problem."""
        if not self.is_fixed:
            return super().regulariser(problem)
        shape = problem.observations.shape
        modes = regularised_modes(self.modes, shape)
        lam = 1 / len(modes) if is_auto(self.lam, "lam") else self.lam
        penalties = [self._penalty_of(min(shape[mode], columns(shape, mode))) for mode in modes]
        given = Nort(lam=lam, penalty=penalties, modes=modes, max_rank=self.max_rank, storage="dense")
        return given.regulariser(problem)

    def _penalty_of(self, size: int) -> Penalty:
        """Return the penalty of an unfolding with `size` singular values."""
        if not isinstance(self.penalty, str):
            return make_penalty(self.penalty)
        if self.penalty == "nuclear":
            return Nuclear()
        theta = 1 if is_auto(self.theta, "theta") else real_number(self.theta, "theta", at_least=0)
        return TNN(math.ceil(theta * size) if theta < 1 else whole_number(theta, "theta of 'tnn'"))

    def resolved(self, problem: Problem) -> Self:
        """Return the same settings with the modes, and the lambda and the penalty of each, made explicit."""
        if not self.is_fixed:
            return super().resolved(problem)
        found = self.regulariser(problem)
        return replace(self, lam=found.lam, modes=found.modes)

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` is an answer of the same kind and shape."""
        if not self.is_fixed:
            return super().can_start_from(model, problem)
        return isinstance(model, Dense) and model.shape == problem.observations.shape

    def approach(
        self, problem: Problem, *, rng: np.random.Generator, callback: Callback | None, clock: Clock
    ) -> Result | None:
        """Return the answer just above lambda; with fixed entries the threshold decreases anyway."""
        return None if self.is_fixed else super().approach(problem, rng=rng, callback=callback, clock=clock)

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that starts at `start`, or at zero."""
        regulariser = self.regulariser(problem)
        if self.is_fixed:
            fixed = Fixed(problem)
            growing = Zeta(begun(self.zeta, regulariser, fixed), "grows", self.growth or ALWAYS)
            return FixedSolver(fixed, low_rank_parts(regulariser), growing, all_entries(start))
        fidelity = fidelity_to(problem)
        settling = Zeta(begun(self.zeta, regulariser, fidelity), "settles", self.growth or IF_APART)
        return PenalisedSolver(problem, regulariser, fidelity, settling, start)


@dataclass(frozen=True, kw_only=True)
class Halrtc(Interpolating):
    """HaLRTC: the nuclear norms of several unfoldings, with observed entries fixed (Liu et al. 2013).

    It minimises sum_d w_d |unfold_d X|_* over all X with the given observed entries, by ADMM. There is no lambda: it
    suits data with little noise, which it reproduces. An iteration costs half as much again as one of `PaApg`. The
    answer has all entries of the tensor, and takes as much memory.

    Parameters
    ----------
    weights
        The weight of the norm of each mode: one number for all, one for each, or ``"auto"`` to choose them on held-out
        entries: equal ones, one mode alone, or one with less weight than the others.
    modes
        The regularised modes; by default those of `Nort`.
    zeta
        The weight of the agreement of the copies. By default it starts at the scale of the data and follows the
        residuals, which changes the number of iterations but not the minimum; a number keeps it fixed.
    max_iter, tol
        As in `Method`.

    References
    ----------
    J. Liu, P. Musialski, P. Wonka and J. Ye. Tensor completion for estimating missing values in visual data. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 35, 2013.

    Examples
    --------
    >>> from tensorfill.datasets import synthetic
    >>> from tensorfill.losses import Square
    >>> data = synthetic((10, 9, 8), rank=1, noise=0.0, rng=0)
    >>> model = Halrtc(weights=1.0).solve(Problem(data.observations, Square()), rng=0).model
    >>> bool(np.abs(model.predict(data.test.coords) - data.test.values).max() < 1e-3)
    True
    """

    whole_tensors: ClassVar[int] = 16

    zeta: float | None = setting(None, check=none_or(real(above=0)), power=-1)
    tol: float = 1e-5

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that starts at `start`, or at zeros beside the observed entries."""
        regulariser, fidelity = self.regulariser(problem), Fixed(problem)
        zeta = Zeta(begun(self.zeta, regulariser, fidelity), "balances" if self.zeta is None else "stays")
        return FixedSolver(fidelity, low_rank_parts(regulariser), zeta, all_entries(start))


def begun(given: float | None, regulariser: ProximalAverage, fidelity: Fidelity) -> float:
    """Return the first zeta of a problem."""
    scale = singular_values(fidelity.first_step(), regulariser.modes[0])[0]
    return first_zeta(given, max(regulariser.lam), regulariser.penalties[0], float(scale))


def all_entries(start: Model | None) -> Floats | None:
    """Return the entries of a model to start from."""
    return None if start is None else start.to_dense(max_bytes=math.inf)
