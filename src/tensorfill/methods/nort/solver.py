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

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Generic

import numpy as np

from ..._support.types import Floats
from ...algebra.component import LowRank
from ...algebra.storage import Point, Storage
from ...algebra.svd import Unfolding, subspace_svd, whole_registers
from ...algebra.tall import E, V
from ...models import Model
from ..base import Progress
from ..objective import Objective
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
class Iterate(Generic[E, V]):
    """The tensor after a step, the directions that the next step starts from, and its objective."""

    point: Point[E, V]
    bases: Sequence[Floats]
    progress: Progress


class NortSolver(Generic[E, V]):
    """NORT, for one problem.

    Parameters
    ----------
    problem
        The observations, the loss and the roughness of graphs; its entries may be on other machines.
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
        problem: Objective[E, V],
        regulariser: ProximalAverage,
        storage: Storage[E, V],
        momentum: Momentum,
        svd: str,
        start: Model | None,
        rng: np.random.Generator,
    ) -> None:
        self._problem, self._regulariser, self._storage = problem, regulariser, storage
        self._momentum, self._svd, self._rng = momentum, svd, rng
        components = problem.components_of(start, self._regulariser.modes, storage)
        self._now = self._before = self._iterate(components, [component.u for component in components])

    def progress(self) -> Progress:
        """Return the current state."""
        return self._now.progress

    @property
    def seen(self) -> E:
        """The answer so far at the observed entries."""
        return self._now.point.seen

    def model(self) -> Model:
        """Return the answer so far."""
        return self._problem.model_of(self._now.point, self._storage)

    def step(self) -> None:
        """Make one iteration of Algorithm 2."""
        gamma = self._momentum.gamma
        after = self._stepped(gamma)
        accepted = gamma > 0 and after.progress.f_tau <= self._now.progress.f_tau
        if gamma > 0 and not accepted:
            self._storage.release(after.point)
            del after  # the next one takes as much memory
            after = self._stepped(0.0)
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

    def _described(self, iterate: Iterate[E, V]) -> dict[str, Any]:
        return {
            "model": self._problem.model_of(iterate.point, self._storage),
            "bases": list(iterate.bases),
            "progress": asdict(iterate.progress),
        }

    def _standing(self, described: Mapping[str, Any]) -> Iterate[E, V]:
        components = self._problem.components_of(described["model"], self._regulariser.modes, self._storage)
        point = self._storage.point(components, self._regulariser.weights)
        return Iterate(point, described["bases"], Progress(**described["progress"]))

    def _stepped(self, gamma: float) -> Iterate[E, V]:
        """Return the iterate after a step from X_t + gamma (X_t - X_{t-1}); X_{t-1} makes room for it."""
        with self._unfolding_beyond(gamma) as unfolding:
            matrices = [unfolding(mode) for mode in self._regulariser.modes]
            starts = [self._starting_block(d, matrix) for d, matrix in enumerate(matrices)]
            tasks = [partial(self._proximal, d, *given) for d, given in enumerate(zip(matrices, starts, strict=True))]
            components, bases = zip(*self._storage.each(tasks), strict=True)
            # What is as long as the entries makes room for the values of X_{t+1}.
            del matrices, tasks
        return self._iterate(components, bases, extrapolated=gamma > 0)

    @contextmanager
    def _unfolding_beyond(self, gamma: float) -> Iterator[Callable[[int], Unfolding[V]]]:
        """Yield the unfoldings of Z = V - grad f(V) / tau for V = X_t + gamma (X_t - X_{t-1}).

        X_{t-1} is not needed from here on, and its memory makes room for X_{t+1}. A run that goes on after an
        interruption starts from X_t without momentum.
        """
        storage, problem, step = self._storage, self._problem, 1 / self._regulariser.tau
        now, before, self._before = self._now.point, self._before.point, self._now
        point = storage.extrapolated(now, before, gamma) if gamma > 0 else now
        change = problem.gradient(point.seen, -step, overwrite=point is not now)
        smoothing = None if problem.roughness is None else (problem.roughness, step)
        if gamma == 0 and before is not now:
            storage.release(before)
        del before
        with storage.unfoldings(point, change, smoothing) as unfolding:
            yield unfolding
        if point is not now:
            storage.release(point)

    def _iterate(
        self, components: Sequence[LowRank[V]], bases: Sequence[Floats], *, extrapolated: bool = False
    ) -> Iterate[E, V]:
        """Return the tensor with these components, with its objective and F_tau."""
        point = self._storage.point(components, self._regulariser.weights)
        values = [component.s for component in components]
        square, roughness = self._storage.square(point), self._problem.roughness
        energy = 0.0 if roughness is None else self._storage.energy(roughness, point)
        objective = self._problem.value(point.seen) + energy / 2 + self._regulariser.penalty(values)
        f_tau = objective + self._regulariser.disagreement(values, square)
        return Iterate(point, bases, Progress(objective, f_tau, point.ranks, extrapolated))

    def _proximal(self, d: int, matrix: Unfolding[V], start: Floats) -> tuple[LowRank[V], Floats]:
        """Return the component X_d, and the directions that the next iteration starts from."""
        found = matrix.decomposed(self._svd, start.shape[1])
        if found is None:
            known = start if self._now.bases[d].shape[1] else matrix.leading(start.shape[1])
            found = subspace_svd(matrix, *((start, FIRST_SWEEPS) if known is None else (known, 1)))
        shrunk = self._regulariser.prox(d, found.s)
        rank = len(shrunk)
        u = np.ascontiguousarray(found.u[:, :rank])
        component = LowRank(self._regulariser.modes[d], u, shrunk, found.v(rank))
        return component, found.u[:, : whole_registers(rank + EXTRA_DIRECTIONS, u.dtype)]

    def _starting_block(self, d: int, matrix: Unfolding[V]) -> Floats:
        """Return the directions of the last iteration, filled up with random ones."""
        basis, rank = self._now.bases[d], self._now.point.components[d].rank
        # If every direction exceeds the threshold, there may be more, so twice as many are followed.
        wanted = rank + (max(rank, EXTRA_DIRECTIONS) if rank == basis.shape[1] > 0 else EXTRA_DIRECTIONS)
        if basis.shape[1] == 0:
            wanted = FIRST_RANK + EXTRA_DIRECTIONS
        most = self._regulariser.max_ranks[d] + EXTRA_DIRECTIONS
        wanted = min(whole_registers(min(wanted, most), basis.dtype), *matrix.shape)
        fresh = self._rng.standard_normal((matrix.shape[0], max(wanted - basis.shape[1], 0)))
        return np.hstack([basis[:, :wanted], fresh.astype(basis.dtype)])
