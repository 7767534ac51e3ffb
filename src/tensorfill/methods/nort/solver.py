"""The iteration of NORT (Algorithm 2 of the paper), and of sNORT, the same without momentum.

    minimise  f(X) + sum_d lam_d * phi_d(unfold_d X)

With L = sum_d lam_d and w_d = lam_d / L, an iteration is, from the extrapolated point V,

    Z   = V - grad f(V) / tau
    X_d = prox of (L / tau) phi_d at unfold_d Z
    X   = sum_d w_d fold_d(X_d)

an exact proximal gradient step on F_tau = f + g_tau, where

    g_tau(X) = sum_d w_d [tau/2 |X_d|^2 + L phi_d(X_d)] - tau/2 |X|^2.

F_tau decreases at every step if tau is above the curvature of f, for any penalty. Momentum keeps this: a step from an
extrapolated V that ends higher than it began is made again from X. Algorithm 2 evaluates F_tau at V before the step
instead. That costs about a fifth of the step and is rarely rejected. V may be any point, so the sparse storage uses one
of the rank of X that is close to the extrapolated one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from ..._support.types import Floats
from ...algebra.columns import ColumnStorage
from ...algebra.component import Component
from ...algebra.operators import DenseUnfolding
from ...algebra.storage import Point, Storage
from ...algebra.svd import Unfolding, exact_svd, gram_svd, subspace_svd, whole_registers
from ...models import FoldedColumns, FoldedLowRank, Model
from ...observations import Observations
from ..base import Progress
from ..problem import Problem
from .momentum import Momentum
from .proximal_average import ProximalAverage

EXTRA_DIRECTIONS = 3
"""Directions followed beyond the rank, so that growing singular values are detected."""

FIRST_RANK = 5
"""The rank limit of the first iteration, if the limit of the run is not lower."""

FIRST_SWEEPS = 20
"""Sweeps of the subspace iteration when the singular vectors are still unknown. A nonconvex penalty rarely drops a
direction again. Directions that have not converged would stay, as critical points that fit noise."""


@dataclass(frozen=True, eq=False)
class Iterate:
    """The tensor after a step, the directions that the next step starts from, and its objective."""

    point: Point
    bases: Sequence[Floats]
    progress: Progress


class NortSolver:
    """NORT, for one problem.

    Parameters
    ----------
    problem
        The observations, the loss and the roughness of graphs.
    regulariser
        The penalties, their weights, tau and the rank limits.
    storage
        The storage of the iterates.
    momentum
        The extrapolation rule.
    svd
        The decomposition of unfoldings: ``"auto"``, ``"exact"`` or ``"subspace"``.
    start
        A model of NORT to start from, or None for zero.
    rng
        Draws the directions that are added to a subspace.
    """

    def __init__(
        self,
        problem: Problem,
        regulariser: ProximalAverage,
        storage: Storage,
        momentum: Momentum,
        svd: str,
        start: Model | None,
        rng: np.random.Generator,
    ) -> None:
        self._problem, self._regulariser, self._storage = problem, regulariser, storage
        self._momentum, self._svd, self._rng = momentum, svd, rng
        components = starting_components(start, problem.observations, self._regulariser.modes, storage)
        self._now = self._before = self._iterate(components, [component.u for component in components])

    def progress(self) -> Progress:
        """Return the current state."""
        return self._now.progress

    @property
    def seen(self) -> Floats:
        """The answer so far at the observed entries."""
        return self._now.point.seen

    def model(self) -> FoldedLowRank | FoldedColumns:
        """Return the answer so far."""
        shape, point = self._problem.observations.shape, self._now.point
        if isinstance(self._storage, ColumnStorage):
            kept = [self._storage.kept[mode] for mode in self._regulariser.modes]
            return FoldedColumns(shape, point.components, point.weights, kept)
        return FoldedLowRank(shape, point.components, point.weights)

    def step(self) -> None:
        """Make one iteration of Algorithm 2."""
        gamma = self._momentum.gamma
        unfolding = self._unfolding_beyond(gamma)
        # X_{t-1} is not needed from here on, and its memory is reused for X_{t+1}. A run that continues after an
        # interruption starts from X_t without momentum.
        self._before = self._now
        after = self._step(unfolding, extrapolated=gamma > 0)
        accepted = gamma > 0 and after.progress.f_tau <= self._now.progress.f_tau
        if gamma > 0 and not accepted:
            after = self._step(self._unfolding_beyond(0.0), extrapolated=False)
        self._momentum.update(accepted)
        self._now = after

    def state(self) -> dict[str, Any]:
        """Return the last two iterates and the momentum."""
        return {
            "now": self._described(self._now),
            "before": None if self._before is self._now else self._described(self._before),
            "momentum": dict(vars(self._momentum)),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the state of another solver."""
        self._now = self._standing(state["now"])
        self._before = self._now if state["before"] is None else self._standing(state["before"])
        vars(self._momentum).update(state["momentum"])

    def _described(self, iterate: Iterate) -> dict[str, Any]:
        point = iterate.point
        return {
            "model": FoldedLowRank(self._problem.observations.shape, point.components, point.weights),
            "bases": list(iterate.bases),
            "progress": asdict(iterate.progress),
        }

    def _standing(self, described: Mapping[str, Any]) -> Iterate:
        model = described["model"]
        point = self._storage.point(model.components, model.weights)
        return Iterate(point, described["bases"], Progress(**described["progress"]))

    def _unfolding_beyond(self, gamma: float) -> Callable[[int], Unfolding]:
        """Return the unfoldings of Z = V - grad f(V) / tau for V = X_t + gamma (X_t - X_{t-1})."""
        now, before = self._now.point, self._before.point
        point = self._storage.extrapolated(now, before, gamma) if gamma > 0 else now
        change = self._problem.gradient(point.seen, -1 / self._regulariser.tau)
        roughness = self._problem.roughness
        smoothing = None if roughness is None else (roughness, 1 / self._regulariser.tau)
        return self._storage.unfoldings(point, change, smoothing)

    def _step(self, unfolding: Callable[[int], Unfolding], *, extrapolated: bool) -> Iterate:
        """Return the iterate after the proximal step of every mode at Z."""
        matrices = [unfolding(mode) for mode in self._regulariser.modes]
        starts = [self._starting_block(d, matrix) for d, matrix in enumerate(matrices)]
        tasks = [partial(self._proximal, d, *given) for d, given in enumerate(zip(matrices, starts, strict=True))]
        components, bases = zip(*self._storage.each(tasks), strict=True)
        return self._iterate(components, bases, extrapolated=extrapolated)

    def _iterate(
        self, components: Sequence[Component], bases: Sequence[Floats], *, extrapolated: bool = False
    ) -> Iterate:
        """Return the tensor with these components, with its objective and F_tau."""
        point = self._storage.point(components, self._regulariser.weights)
        values = [component.s for component in components]
        square, roughness = self._storage.square(point), self._problem.roughness
        energy = 0.0 if roughness is None else self._storage.energy(roughness, point)
        objective = self._problem.value(point.seen) + energy / 2 + self._regulariser.penalty(values)
        f_tau = objective + self._regulariser.disagreement(values, square)
        return Iterate(point, bases, Progress(objective, f_tau, point.ranks, extrapolated))

    def _proximal(self, d: int, matrix: Unfolding, start: Floats) -> tuple[Component, Floats]:
        """Return the component X_d, and the directions that the next iteration starts from."""
        if isinstance(matrix, DenseUnfolding) and self._svd == "exact":
            found = exact_svd(matrix.matrix)
        elif isinstance(matrix, DenseUnfolding) and self._svd == "auto" and 2 * start.shape[1] > min(matrix.shape):
            found = gram_svd(matrix.matrix)
        else:
            known = start if self._now.bases[d].shape[1] else matrix.leading(start.shape[1])
            found = subspace_svd(matrix, *((start, FIRST_SWEEPS) if known is None else (known, 1)))
        shrunk = self._regulariser.prox(d, found.s)
        rank = len(shrunk)
        u = np.ascontiguousarray(found.u[:, :rank])
        component = Component(self._regulariser.modes[d], u, shrunk, found.v(rank))
        return component, found.u[:, : whole_registers(rank + EXTRA_DIRECTIONS, u.dtype)]

    def _starting_block(self, d: int, matrix: Unfolding) -> Floats:
        """Return the directions of the last iteration, completed by random ones."""
        basis, rank = self._now.bases[d], self._now.point.components[d].rank
        # If every direction exceeds the threshold, there may be more, so twice as many are followed.
        wanted = rank + (max(rank, EXTRA_DIRECTIONS) if rank == basis.shape[1] > 0 else EXTRA_DIRECTIONS)
        if basis.shape[1] == 0:
            wanted = FIRST_RANK + EXTRA_DIRECTIONS
        most = self._regulariser.max_ranks[d] + EXTRA_DIRECTIONS
        wanted = min(whole_registers(min(wanted, most), basis.dtype), *matrix.shape)
        fresh = self._rng.standard_normal((matrix.shape[0], max(wanted - basis.shape[1], 0)))
        return np.hstack([basis[:, :wanted], fresh.astype(basis.dtype)])


def starting_components(
    start: Model | None, observations: Observations, modes: Sequence[int], storage: Storage | None = None
) -> list[Component]:
    """Return one component for each mode: that of `start`, or zero if it has none.

    It has a row for each column in the storage, or for all columns without a storage.
    """
    shape, dtype = observations.shape, observations.dtype
    found: dict[int, Component] = {}
    if start is not None:
        if not isinstance(start, FoldedLowRank | FoldedColumns) or start.shape != shape:
            raise ValueError(
                f"start must be a model that NORT made for a tensor of shape {shape}, but it is {start!r}."
            )
        if isinstance(storage, ColumnStorage):
            if isinstance(start, FoldedLowRank):
                start = FoldedColumns.from_folded(start)
            start = start.at_columns(storage.kept)
        elif isinstance(start, FoldedColumns):
            start = start.expanded()
        found = {part.mode: part for part in start.components}
    zero = partial(Component.zero, shape) if storage is None else storage.zero
    return [(found[mode] if mode in found else zero(mode, dtype)).astype(dtype) for mode in modes]
