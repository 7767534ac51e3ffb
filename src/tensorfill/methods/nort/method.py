"""NORT, the nonconvex regularised tensor method (Algorithm 2 of the paper), and sNORT, the same without momentum.

    minimise  f(X) + sum_d lam_d * phi_d(unfold_d X)

With L = sum_d lam_d and w_d = lam_d / L, an iteration is, from the extrapolated point V,

    Z   = V - grad f(V) / tau
    X_d = prox of (L / tau) phi_d at unfold_d Z
    X   = sum_d w_d fold_d(X_d)

an exact proximal gradient step on F_tau = f + g_tau, where

    g_tau(X) = sum_d w_d [tau/2 |X_d|^2 + L phi_d(X_d)] - tau/2 |X|^2.

F_tau falls at every step for tau above the curvature of f, whatever the penalty. The momentum keeps it so: a step from
an extrapolated V that ends higher than it began is made again from X. Algorithm 2 asks for F_tau at V before the step
instead, which costs about as much as a fifth of the step itself and is hardly ever refused. So V may be any point: the
sparse storage takes one of the rank of X that is near the extrapolated one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import numpy as np

from ..._support.checks import choice, mode_number, real_number, whole_number
from ..._support.types import Floats
from ...algebra.component import Component
from ...algebra.operators import DenseUnfolding
from ...algebra.storage import Point, Storage
from ...algebra.svd import Unfolding, exact_svd, gram_svd, subspace_svd, whole_registers
from ...algebra.unfolding import columns
from ...models import FoldedLowRank, Model
from ...observations import Observations
from ...penalties import LSP, Penalty
from ..base import Method, Progress, Solver
from ..problem import Problem
from .memory import check_factors_fit, dense_is_faster
from .momentum import make_momentum
from .proximal_average import ProximalAverage

EXTRA_DIRECTIONS = 3
"""Directions followed beyond the rank, so that a singular value that grows is seen."""

FIRST_RANK = 5
"""The rank for which the first iteration has room, if the limit allows it."""

FIRST_SWEEPS = 20
"""Sweeps of the subspace iteration where nothing is known of the singular vectors yet. What a nonconvex penalty admits
it hardly lets go, so that directions which have not settled would stay as critical points that fit noise."""

STEP_MARGIN = 1.01
"""The default tau is this much above the curvature."""

SMALLEST_MODE = 8
"""Modes with fewer indices are not regularised by default: their unfolding is of low rank already."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Nort(Method):
    """The settings of NORT.

    Parameters
    ----------
    lam
        How strongly each regularised mode is pulled towards low rank: one number, or one for each mode.
    penalty
        What is paid for each singular value: one penalty, or one for each regularised mode.
    modes
        The regularised modes; by default `default_modes`.
    max_rank
        No component exceeds this rank: one number, or one for each regularised mode.
    tau
        Inverse step length; by default just above the curvature of the loss. A larger one brings the answer closer
        to the problem with the exact sum of penalties, and costs iterations.
    momentum
        ``"restart"`` (also ``True``) extrapolates by (k - 1) / (k + 2) in the k-th step since the last refusal,
        ``"adaptive"`` doubles and halves the extrapolation as Algorithm 2 does, ``False`` is sNORT.
    svd
        ``"exact"`` decomposes every unfolding in full, which only dense storage can; ``"subspace"`` follows the
        leading singular vectors from one iteration to the next; ``"auto"`` does so too, until there are so many that a
        full decomposition by Gram matrices is cheaper.
    storage
        ``"sparse"``, ``"dense"``, or ``"auto"``, which takes the faster for the size and density of the data.
    """

    lam: float | Sequence[float]
    penalty: Penalty | Sequence[Penalty] = field(default_factory=lambda: LSP(1.0))
    modes: Sequence[int] | None = None
    max_rank: int | Sequence[int] | None = None
    tau: float | None = None
    momentum: bool | str = True
    svd: str = "auto"
    storage: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        make_momentum(self.momentum)
        choice(self.svd, "svd", ["auto", "exact", "subspace"])
        choice(self.storage, "storage", ["auto", "sparse", "dense"])

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that stands at `start`, or at zero."""
        return NortSolver(self, problem, start, rng)

    def regulariser(self, problem: Problem) -> ProximalAverage:
        """Return the regulariser that these settings mean for a problem."""
        shape = problem.observations.shape
        modes = regularised_modes(self.modes, shape)
        lam = [real_number(value, "lam", at_least=0) for value in per_mode(self.lam, "lam", modes)]
        limits = per_mode(self.max_rank, "max_rank", modes)
        most = [min(shape[mode], columns(shape, mode)) for mode in modes]
        ranks = [
            full if limit is None else min(full, whole_number(limit, "max_rank", at_least=1))
            for limit, full in zip(limits, most, strict=True)
        ]
        tau = STEP_MARGIN * problem.curvature if self.tau is None else real_number(self.tau, "tau", above=0)
        return ProximalAverage(modes, tuple(lam), per_mode(self.penalty, "penalty", modes), tuple(ranks), tau)

    def storage_for(self, problem: Problem, modes: tuple[int, ...]) -> Storage:
        """Return where the iterates live."""
        if self.storage == "dense" or (self.storage == "auto" and dense_is_faster(problem.observations)):
            return problem.dense_storage()
        if self.svd == "exact":
            raise ValueError("svd='exact' needs dense storage; give storage='dense' too, or leave svd='auto'.")
        check_factors_fit(problem.observations, modes)
        return problem.sparse_storage(modes)


def default_modes(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the modes that are regularised unless the caller says which.

    All with at least `SMALLEST_MODE` indices, and the two largest in any case. A matrix has one: its two
    unfoldings are each other's transpose, so that a second component would only repeat the first.

    >>> default_modes((300, 300, 3)), default_modes((5, 4, 3)), default_modes((30, 40))
    ((0, 1), (0, 1), (0,))
    """
    if len(shape) == 2:
        return (0,)
    largest = sorted(range(len(shape)), key=lambda mode: -shape[mode])[:2]
    return tuple(mode for mode, size in enumerate(shape) if size >= SMALLEST_MODE or mode in largest)


def regularised_modes(modes: Sequence[int] | None, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the modes that the caller names, in increasing order, or the default ones."""
    if modes is None:
        return default_modes(shape)
    if isinstance(modes, str) or not isinstance(modes, Iterable):
        raise TypeError(
            f"modes must be a list of whole numbers, one for each regularised mode, but {modes!r} was given."
        )
    chosen = sorted({mode_number(mode, "modes", len(shape)) for mode in modes})
    if not chosen or len(chosen) != len(modes):
        raise ValueError(f"modes must name at least one mode and none of them twice, but {tuple(modes)} was given.")
    return tuple(chosen)


def per_mode(value: T | Sequence[T], name: str, modes: Sequence[int]) -> tuple[T, ...]:
    """Return one value for each regularised mode, from one for all or from one for each."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return (value,) * len(modes)  # type: ignore[return-value]
    if len(value) != len(modes):
        raise ValueError(
            f"{name} must be one value or one for each of the {len(modes)} regularised modes {tuple(modes)}, "
            f"but {len(value)} were given."
        )
    return tuple(value)


@dataclass(frozen=True, eq=False)
class Iterate:
    """The tensor at the end of a step, the directions to start from in the next one, and what is known of it."""

    point: Point
    bases: Sequence[Floats]
    progress: Progress


class NortSolver:
    """NORT at work on one problem."""

    def __init__(self, settings: Nort, problem: Problem, start: Model | None, rng: np.random.Generator) -> None:
        self._problem = problem
        self._regulariser = settings.regulariser(problem)
        self._storage = settings.storage_for(problem, self._regulariser.modes)
        self._momentum = make_momentum(settings.momentum)
        self._svd = settings.svd
        self._rng = rng
        components = _starting_components(start, problem.observations, self._regulariser.modes)
        self._now = self._before = self._iterate(components, [component.u for component in components])

    def progress(self) -> Progress:
        """Return where it stands."""
        return self._now.progress

    @property
    def seen(self) -> Floats:
        """The answer so far at the observed entries."""
        return self._now.point.seen

    def model(self) -> FoldedLowRank:
        """Return the answer so far."""
        point = self._now.point
        return FoldedLowRank(self._problem.observations.shape, point.components, point.weights)

    def step(self) -> None:
        """Make one iteration of Algorithm 2."""
        gamma = self._momentum.gamma
        unfolding = self._unfolding_beyond(gamma)
        # From here on X_{t-1} is not asked for any more, and what it holds makes room for X_{t+1}. Whoever goes on
        # after an interruption starts from X_t without momentum.
        self._before = self._now
        after = self._step(unfolding, extrapolated=gamma > 0)
        accepted = gamma > 0 and after.progress.f_tau <= self._now.progress.f_tau
        if gamma > 0 and not accepted:
            after = self._step(self._unfolding_beyond(0.0), extrapolated=False)
        self._momentum.update(accepted)
        self._now = after

    def _unfolding_beyond(self, gamma: float) -> Callable[[int], Unfolding]:
        """Return the unfoldings of Z = V - grad f(V) / tau for V = X_t + gamma (X_t - X_{t-1})."""
        now, before = self._now.point, self._before.point
        point = self._storage.extrapolated(now, before, gamma) if gamma > 0 else now
        change = self._problem.gradient(point.seen)
        change *= -1 / self._regulariser.tau
        roughness = self._problem.roughness
        smoothing = None if roughness is None else (roughness, 1 / self._regulariser.tau)
        return self._storage.unfoldings(point, change, smoothing)

    def _step(self, unfolding: Callable[[int], Unfolding], *, extrapolated: bool) -> Iterate:
        """Return where a step to Z ends, after the proximal step of every mode."""
        matrices = [unfolding(mode) for mode in self._regulariser.modes]
        starts = [self._starting_block(d, matrix) for d, matrix in enumerate(matrices)]
        tasks = [partial(self._proximal, d, *given) for d, given in enumerate(zip(matrices, starts, strict=True))]
        components, bases = zip(*self._storage.each(tasks), strict=True)
        return self._iterate(components, bases, extrapolated=extrapolated)

    def _iterate(
        self, components: Sequence[Component], bases: Sequence[Floats], *, extrapolated: bool = False
    ) -> Iterate:
        """Return the tensor with these components, and what is to be known of it."""
        point = self._storage.point(components, self._regulariser.weights)
        values = [component.s for component in components]
        square, roughness = self._storage.square(point), self._problem.roughness
        energy = 0.0 if roughness is None else self._storage.energy(roughness, point)
        objective = self._problem.value(point.seen) + energy / 2 + self._regulariser.penalty(values)
        f_tau = objective + self._regulariser.disagreement(values, square)
        return Iterate(point, bases, Progress(objective, f_tau, point.ranks, extrapolated))

    def _proximal(self, d: int, matrix: Unfolding, start: Floats) -> tuple[Component, Floats]:
        """Return the component of X_d, and the directions to start from in the next iteration."""
        if isinstance(matrix, DenseUnfolding) and self._svd == "exact":
            found = exact_svd(matrix.matrix)
        elif isinstance(matrix, DenseUnfolding) and self._svd == "auto" and 2 * start.shape[1] > min(matrix.shape):
            found = gram_svd(matrix.matrix)
        else:
            found = subspace_svd(matrix, start, sweeps=1 if self._now.bases[d].shape[1] else FIRST_SWEEPS)
        shrunk = self._regulariser.prox(d, found.s)
        rank = len(shrunk)
        u = np.ascontiguousarray(found.u[:, :rank])
        component = Component(self._regulariser.modes[d], u, shrunk, found.v(rank))
        return component, found.u[:, : whole_registers(rank + EXTRA_DIRECTIONS, u.dtype)]

    def _starting_block(self, d: int, matrix: Unfolding) -> Floats:
        """Return the directions of the last iteration, with random ones where they are too few."""
        basis, rank = self._now.bases[d], self._now.point.components[d].rank
        # Where every direction passed, there may be more to find: follow twice as many from here.
        wanted = rank + (max(rank, EXTRA_DIRECTIONS) if rank == basis.shape[1] > 0 else EXTRA_DIRECTIONS)
        if basis.shape[1] == 0:
            wanted = FIRST_RANK + EXTRA_DIRECTIONS
        most = self._regulariser.max_ranks[d] + EXTRA_DIRECTIONS
        wanted = min(whole_registers(min(wanted, most), basis.dtype), *matrix.shape)
        fresh = self._rng.standard_normal((matrix.shape[0], max(wanted - basis.shape[1], 0)))
        return np.hstack([basis[:, :wanted], fresh.astype(basis.dtype)])


def _starting_components(start: Model | None, observations: Observations, modes: Sequence[int]) -> list[Component]:
    """Return one component for each mode, from `start` where it has one and zero elsewhere."""
    shape, dtype = observations.shape, observations.dtype
    found: dict[int, Component] = {}
    if start is not None:
        if not isinstance(start, FoldedLowRank) or start.shape != shape:
            raise ValueError(
                f"start must be a model that NORT made for a tensor of shape {shape}, but it is {start!r}."
            )
        found = {part.mode: part for part in start.components}
    return [found.get(mode, Component.zero(shape, mode, dtype)).astype(dtype) for mode in modes]
