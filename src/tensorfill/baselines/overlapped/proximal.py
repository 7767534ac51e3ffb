"""PA-APG and GDPAN: proximal gradient steps with the proximal average, on the whole tensor.

With L = sum_d lam_d and w_d = lam_d / L,

    Z  =  V - grad f(V) / tau
    X  =  sum_d w_d fold_d(X_d),   X_d = prox of (L / tau) phi at unfold_d Z

PA-APG extrapolates V = X_t + (t - 1) / t+ (X_t - X_{t-1}) with Nesterov's t, GDPAN uses V = X_t. Both form full
tensors and decompose whole unfoldings, which NORT avoids. The steps minimise f plus the proximal average of the
penalties, which approaches their sum as tau grows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self

import numpy as np

from ..._support.types import Floats
from ...algebra.component import Component
from ...algebra.operators import add_dense
from ...algebra.spectral import shrunk_component
from ...methods.base import Progress, Solver
from ...methods.folding import starting_components
from ...methods.nort.method import Nort
from ...methods.nort.proximal_average import ProximalAverage
from ...methods.problem import Problem
from ...methods.settings import loss_less, none_or, real, setting
from ...models import FoldedLowRank, Model
from .settings import Overlapped, Penalised
from .tensors import mode_by_mode


@dataclass(frozen=True, kw_only=True)
class PaApg(Overlapped):
    """PA-APG: nuclear norms of several unfoldings by accelerated proximal gradient steps (Yu 2013).

    It minimises f(X) + sum_d lam_d |unfold_d X|_*, up to the error of the proximal average, for any smooth loss and
    with graph Laplacians. Use it as the convex counterpart of `Nort`: it has one minimum, and shrinks all singular
    values by the same amount, so its answer is biased. An iteration decomposes every regularised unfolding in full: for
    a tensor of I entries about 4 I I_d operations for mode d, and 9 I_d^3 for its Gram matrix.

    Parameters
    ----------
    lam
        The weight of the nuclear norm: one number, one for each mode, or ``"auto"`` to choose it on held-out entries.
    modes
        The regularised modes; by default those of `Nort`.
    tau
        Inverse step length; by default just above the curvature of the loss. A larger one brings the answer closer
        to the problem with the exact sum of norms, and costs iterations.
    max_iter, tol
        As in `Method`.

    References
    ----------
    Y.-L. Yu. Better approximation and faster algorithm using the proximal average. NIPS 2013.

    Examples
    --------
    >>> from tensorfill.datasets import synthetic
    >>> from tensorfill.losses import Square
    >>> data = synthetic((10, 9, 8), rank=1, rng=0)
    >>> PaApg(lam=0.1).solve(Problem(data.observations, Square()), rng=0).model
    FoldedLowRank(shape=(10, 9, 8), modes=(0, 1, 2), ranks=(1, 1, 1))
    """

    name: ClassVar[str] = "pa_apg"
    takes_roughness: ClassVar[bool] = True
    whole_tensors: ClassVar[int] = 14

    tau: float | None = setting(None, check=none_or(real(above=0)), power=loss_less(2))
    tol: float = 1e-5

    def as_nort(self) -> Nort:
        """Return the settings of NORT with the same regulariser."""
        return replace(super().as_nort(), tau=self.tau)

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that starts at `start`, or at zero."""
        return ProximalSolver(problem, self.regulariser(problem), start, accelerated=True)


@dataclass(frozen=True, kw_only=True)
class Gdpan(Penalised):
    """GDPAN: any penalty on several unfoldings by proximal gradient steps (Zhong and Kwok 2014).

    It minimises f(X) + sum_d lam_d phi(unfold_d X), up to the error of the proximal average, for any smooth loss, any
    penalty and with graph Laplacians. The iterates are those of `Nort` with ``momentum=False``, at the cost of full
    decompositions (see `PaApg`). Use it as a reference for what NORT saves.

    Parameters
    ----------
    lam
        The weight of the penalty: one number, one for each mode, or ``"auto"`` to choose it on held-out entries.
    penalty
        The penalty on singular values, by name or as an object, as in `Nort`.
    theta
        The parameter of a penalty given by name. With ``lam="auto"`` it is chosen on held-out entries; otherwise the
        penalty bends at its singular value threshold.
    max_rank
        The largest rank, one number or one for each mode; by default there is no limit.
    modes
        The regularised modes; by default those of `Nort`.
    tau
        Inverse step length, as in `PaApg`.
    max_iter, tol
        As in `Method`.

    Notes
    -----
    The original uses relatives of the nuclear norm with one weight for all modes and a step just below 1 / rho. This
    one takes the steps of `Nort`, so that both can be compared. `tensorfill.complete` reaches lambda through larger
    ones, which keeps nonconvex penalties out of bad critical points.

    References
    ----------
    L. W. Zhong and J. T. Kwok. Gradient descent with proximal average for nonconvex and composite regularization. AAAI
    2014.
    """

    name: ClassVar[str] = "gdpan"
    takes_roughness: ClassVar[bool] = True
    descends: ClassVar[bool] = True
    whole_tensors: ClassVar[int] = 14

    tau: float | None = setting(None, check=none_or(real(above=0)), power=loss_less(2))

    def as_nort(self) -> Nort:
        """Return the settings of NORT with the same regulariser."""
        return replace(super().as_nort(), tau=self.tau)

    def resolved(self, problem: Problem) -> Self:
        """Return the same settings with the modes, lambda, the penalty and tau made explicit."""
        return replace(super().resolved(problem), tau=self.regulariser(problem).tau)

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that starts at `start`, or at zero."""
        return ProximalSolver(problem, self.regulariser(problem), start, accelerated=False)


@dataclass(frozen=True, eq=False)
class DenseIterate:
    """A tensor with its components X_d."""

    full: Floats
    components: tuple[Component, ...]
    progress: Progress


class ProximalSolver:
    """Proximal gradient steps on one problem.

    Parameters
    ----------
    problem, regulariser
        The smooth part, and the proximal average of the penalties.
    start
        A sum of folded low-rank matrices, or None for zero.
    accelerated
        Whether to extrapolate.
    """

    def __init__(
        self, problem: Problem, regulariser: ProximalAverage, start: Model | None, *, accelerated: bool
    ) -> None:
        self._problem, self._regulariser, self._accelerated = problem, regulariser, accelerated
        self._positions = problem.observations.positions
        self._t = 1.0
        components = starting_components(start, problem.observations, regulariser.modes)
        self._now = self._iterate(components)
        self._before = self._now.full

    def progress(self) -> Progress:
        """Return the current state."""
        return self._now.progress

    def model(self) -> FoldedLowRank:
        """Return the answer so far."""
        return FoldedLowRank(self._problem.observations.shape, self._now.components, self._regulariser.weights)

    def step(self) -> None:
        """Make one proximal gradient step."""
        now, t = self._now, (1 + math.sqrt(1 + 4 * self._t**2)) / 2
        point = now.full + (self._t - 1) / t * (now.full - self._before) if self._accelerated else now.full.copy()
        self._descend(point)
        tasks = [partial(self._proximal, d, point) for d in range(len(self._regulariser.modes))]
        after = self._iterate(mode_by_mode(tasks, point.size), extrapolated=self._accelerated and self._t > 1)
        self._before, self._now, self._t = now.full, after, t

    def _descend(self, point: Floats) -> None:
        """Turn V into V - grad f(V) / tau."""
        tau, roughness = self._regulariser.tau, self._problem.roughness
        change = self._problem.gradient(point.ravel()[self._positions], -1 / tau)
        if roughness is not None:
            point -= roughness.of_dense(point) / tau
        point.ravel()[self._positions] += change

    def _proximal(self, d: int, point: Floats) -> Component:
        return shrunk_component(point, self._regulariser.modes[d], partial(self._regulariser.prox, d))

    def _iterate(self, components: Sequence[Component], *, extrapolated: bool = False) -> DenseIterate:
        """Return the tensor with these components, with its objective and F_tau."""
        problem, regulariser = self._problem, self._regulariser
        full = np.zeros(problem.observations.shape, problem.observations.dtype)
        for weight, component in zip(regulariser.weights, components, strict=True):
            add_dense(component, weight, full)
        values = [component.s for component in components]
        objective = problem.value(full.ravel()[self._positions]) + regulariser.penalty(values)
        if problem.roughness is not None:
            objective += float(np.vdot(full, problem.roughness.of_dense(full))) / 2
        # With momentum, nothing decreases at every step.
        f_tau = math.nan
        if not self._accelerated:
            f_tau = objective + regulariser.disagreement(values, float(np.vdot(full, full)))
        ranks = tuple(component.rank for component in components)
        return DenseIterate(full, tuple(components), Progress(objective, f_tau, ranks, extrapolated))
