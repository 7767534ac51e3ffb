"""ADMM on whole tensors: every part of the objective has a separate copy of X, and multipliers make the copies agree.

    minimise  f(X) + sum_k g_k(Y_k)   with  Y_k = X for every k

where g_k is lam_d phi(unfold_d Y) for a regularised mode d, or the roughness 1/2 <Y, S_m Y> along a mode m with a
graph. With multipliers T_k and a weight zeta, an iteration is

    Y_k  =  prox of g_k / zeta at X - T_k / zeta
    X    =  the minimum of f(X) + K zeta / 2 |X - A|^2,    A = the mean of Y_k + T_k / zeta over all K copies
    T_k  =  T_k + zeta (Y_k - X)

Fixed observed entries are the limit of an ever larger weight of f.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from ..._support.types import Floats
from ...algebra.component import Component
from ...algebra.operators import add_dense
from ...algebra.roughness import Operator
from ...algebra.spectral import shrunk_component, singular_values
from ...algebra.unfolding import times
from ...methods.base import Progress
from ...methods.folding import starting_components
from ...methods.nort.proximal_average import ProximalAverage
from ...methods.problem import Problem
from ...models import Dense, FoldedLowRank, Model
from ...penalties import Penalty, weight_for_cut
from .fidelity import Fidelity, Fixed
from .tensors import mode_by_mode

FIRST_THRESHOLD = 0.3
"""The first zeta makes the singular value threshold this share of the largest singular value of the data."""

UNBALANCED = 5.0
"""Zeta changes if one relative residual is this many times the other."""

NEARER = 0.98
"""Copies have come closer if their distance is at most this share of the previous one."""

MOST_GROWTH = 1e10
"""The largest growth of zeta; singular value thresholds are then far below rounding."""


class SplitPart(Protocol):
    """The interface of a part of the objective, which has a separate copy of X."""

    def prox(self, target: Floats, zeta: float) -> Copy:
        """Return the minimum of g(Y) + zeta / 2 |Y - target|^2."""

    def multiplier(self, copy: Copy) -> Floats:
        """Return minus a gradient of g at Y: the multiplier of a warm start."""

    def value(self, full: Floats) -> float:
        """Return g(X)."""


@dataclass(frozen=True, eq=False)
class Copy:
    """A copy Y of X, with its rank and, if it is a folded low-rank matrix, that matrix."""

    full: Floats
    rank: int | None = None
    component: Component | None = None

    @classmethod
    def of(cls, component: Component, like: Floats) -> Copy:
        """Return a folded low-rank matrix as a copy with the shape of another tensor."""
        out = np.zeros(like.shape, like.dtype)
        add_dense(component, 1.0, out)
        return cls(out, component.rank, component)


@dataclass(frozen=True, eq=False)
class LowRankPart:
    """The penalty on the singular values of one unfolding, with a limit on its rank."""

    mode: int
    lam: float
    penalty: Penalty
    max_rank: int

    def prox(self, target: Floats, zeta: float) -> Copy:
        """Return the tensor with shrunk singular values of its unfolding."""
        weight = self.lam / zeta
        shrunk = shrunk_component(target, self.mode, lambda s: self.penalty.prox(s[: self.max_rank], weight))
        return Copy.of(shrunk, target)

    def multiplier(self, copy: Copy) -> Floats:
        """Return -lam u phi'(s) v^T."""
        slope, part = getattr(self.penalty, "slope", None), copy.component
        if slope is None or part is None:
            return np.zeros_like(copy.full)
        steep = np.asarray(slope(part.s), dtype=part.s.dtype)
        return Copy.of(Component(self.mode, part.u, -self.lam * steep, part.v), copy.full).full

    def value(self, full: Floats) -> float:
        """Return the penalty of the unfolding of a tensor."""
        return self.lam * self.penalty.value(singular_values(full, self.mode))


@dataclass(frozen=True, eq=False)
class SmoothPart:
    """The roughness 1/2 <Y, S Y> along one mode, with the eigenvalues and eigenvectors of S."""

    mode: int
    values: Floats
    vectors: Floats

    @classmethod
    def of(cls, operator: Operator, mode: int, size: int) -> SmoothPart:
        """Return the part for a matrix that is given by its products."""
        matrix = operator(np.eye(size))
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        return cls(mode, np.maximum(values, 0), vectors)

    def prox(self, target: Floats, zeta: float) -> Copy:
        """Return zeta (S + zeta I)^-1 along the mode."""
        return Copy(self._along(target, zeta / (self.values + zeta)))

    def multiplier(self, copy: Copy) -> Floats:
        """Return -S Y."""
        return self._along(copy.full, -self.values)

    def value(self, full: Floats) -> float:
        """Return 1/2 <X, S X>."""
        return float(np.vdot(full, self._along(full, self.values))) / 2

    def _along(self, tensor: Floats, factors: Floats) -> Floats:
        return times(((self.vectors * factors) @ self.vectors.T).astype(tensor.dtype), tensor, self.mode)


@dataclass(frozen=True)
class Zeta:
    """The rule for the weight of the agreement of the copies.

    Parameters
    ----------
    first
        The first value.
    rule
        ``"grows"`` in every iteration; ``"settles"``: it grows only if the copies have not come closer, which a
        nonconvex penalty may need; ``"balances"`` the residuals, for convex problems; or ``"stays"``.
    growth
        The ratio of consecutive values, if it grows.
    """

    first: float
    rule: str = "balances"
    growth: float = 1.0

    def grown(self, zeta: float) -> float:
        """Return the next value, if it grows."""
        return min(zeta * self.growth, MOST_GROWTH * self.first)


def first_zeta(given: float | None, lam: float, penalty: Penalty, scale: float) -> float:
    """Return the first zeta: the given one, or one with a threshold relative to the largest singular value."""
    if given is not None:
        return given
    # Without a penalty, or for data that is zero everywhere, any value works.
    return lam / weight_for_cut(penalty, FIRST_THRESHOLD * scale) if lam > 0 and scale > 0 else 1.0


@dataclass(frozen=True, eq=False)
class State:
    """X, the multipliers, the ranks of the copies, the low-rank copies, zeta, and the distance of the copies.

    The copies themselves are not stored, because the next ones do not depend on them.
    """

    full: Floats
    multipliers: Sequence[Floats]
    ranks: tuple[int, ...]
    components: tuple[Component, ...]
    zeta: float
    apart: float = math.inf


class SplittingSolver(ABC):
    """ADMM.

    Parameters
    ----------
    fidelity
        The data term.
    parts
        The other parts of the objective.
    zeta
        The rule for zeta.
    begin
        The starting point.
    """

    def __init__(self, fidelity: Fidelity, parts: Sequence[SplitPart], zeta: Zeta, begin: State) -> None:
        self._fidelity, self._parts, self._zeta = fidelity, parts, zeta
        self._now, self._progress = begin, self._measured(begin)

    def progress(self) -> Progress:
        """Return the current state."""
        return self._progress

    @abstractmethod
    def model(self) -> Model:
        """Return the answer so far."""

    @abstractmethod
    def _measured(self, state: State) -> Progress:
        """Return the objective of a state."""

    def step(self) -> None:
        """Make one iteration."""
        now = self._now
        zeta = self._zeta.grown(now.zeta) if self._zeta.rule == "grows" else now.zeta
        tasks = [partial(self._proximal, k, zeta) for k in range(len(self._parts))]
        copies = mode_by_mode(tasks, now.full.size)
        near = sum(now.multipliers[1:], now.multipliers[0]) / zeta
        for copy in copies:
            near += copy.full
        near /= len(copies)
        full = self._fidelity.closest(near, len(copies) * zeta)
        # The differences of the copies from X overwrite them, and the new multipliers overwrite these.
        multipliers = [copy.full for copy in copies]
        for gap in multipliers:
            gap -= full
        apart = _norm(*multipliers)
        for gap, old in zip(multipliers, now.multipliers, strict=True):
            gap *= zeta
            gap += old
        if self._zeta.rule == "balances":
            zeta *= _balance(now.full, full, apart, multipliers, zeta)
        elif self._zeta.rule == "settles" and apart > NEARER * now.apart:
            zeta = self._zeta.grown(zeta)
        ranks = tuple(copy.rank for copy in copies if copy.rank is not None)
        after = State(full, multipliers, ranks, self._low_rank(copies), zeta, apart)
        self._now, self._progress = after, self._measured(after)

    def _proximal(self, k: int, zeta: float) -> Copy:
        target = self._now.multipliers[k] / -zeta
        target += self._now.full
        return self._parts[k].prox(target, zeta)

    def _low_rank(self, copies: Sequence[Copy]) -> tuple[Component, ...]:
        """Return the low-rank copies, if the answer consists of them."""
        return tuple(copy.component for copy in copies if copy.component is not None)


class PenalisedSolver(SplittingSolver):
    """ADMM for a loss and penalties; the answer is the mean of the low-rank copies.

    Parameters
    ----------
    problem, regulariser
        The observed entries with the graphs, and the penalties of the modes.
    fidelity
        The data term.
    zeta
        The rule for zeta.
    start
        A sum of folded low-rank matrices, or None for zero.
    """

    def __init__(
        self, problem: Problem, regulariser: ProximalAverage, fidelity: Fidelity, zeta: Zeta, start: Model | None
    ) -> None:
        self._shape, self._weights, self._regulariser = problem.observations.shape, regulariser.weights, regulariser
        graphs = {} if problem.roughness is None else problem.roughness.parts
        self._graphs = [SmoothPart.of(part, mode, self._shape[mode]) for mode, part in graphs.items()]
        parts = [*low_rank_parts(regulariser), *self._graphs]
        components = starting_components(start, problem.observations, regulariser.modes)
        full = self._mean(components)
        copies = [*(Copy.of(each, full) for each in components), *(Copy(full) for _ in self._graphs)]
        multipliers = [part.multiplier(copy) for part, copy in zip(parts, copies, strict=True)]
        ranks = tuple(component.rank for component in components)
        super().__init__(fidelity, parts, zeta, State(full, multipliers, ranks, tuple(components), zeta.first))

    def model(self) -> FoldedLowRank:
        """Return the answer so far."""
        return FoldedLowRank(self._shape, self._now.components, self._weights)

    def _mean(self, components: Sequence[Component]) -> Floats:
        full = np.zeros(self._shape, components[0].u.dtype)
        for weight, component in zip(self._weights, components, strict=True):
            add_dense(component, weight, full)
        return full

    def _measured(self, state: State) -> Progress:
        """Return the loss of the mean of the low-rank copies, and the penalty of each copy."""
        full = self._mean(state.components)
        objective = self._fidelity.value(full) + sum(graph.value(full) for graph in self._graphs)
        objective += self._regulariser.penalty([component.s for component in state.components])
        return Progress(objective, math.nan, state.ranks)


class FixedSolver(SplittingSolver):
    """ADMM with fixed observed entries; the answer is X, which contains them.

    The objective is that of X itself, at the cost of computing its singular values.

    Parameters
    ----------
    fidelity
        The observed entries.
    parts, zeta
        The norms, and the rule for zeta.
    start
        All entries, or None for zeros beside the observed ones.
    """

    def __init__(self, fidelity: Fixed, parts: Sequence[SplitPart], zeta: Zeta, start: Floats | None) -> None:
        zero = np.zeros_like(fidelity.first_step())
        full = fidelity.closest(zero.copy() if start is None else np.array(start, dtype=zero.dtype), 0.0)
        super().__init__(fidelity, parts, zeta, State(full, [zero] * len(parts), (0,) * len(parts), (), zeta.first))

    def model(self) -> Dense:
        """Return the answer so far."""
        return Dense(self._now.full, self._now.ranks)

    def _low_rank(self, copies: Sequence[Copy]) -> tuple[Component, ...]:
        return ()

    def _measured(self, state: State) -> Progress:
        values = mode_by_mode([partial(part.value, state.full) for part in self._parts], state.full.size)
        return Progress(sum(values), math.nan, state.ranks)


def low_rank_parts(regulariser: ProximalAverage) -> list[SplitPart]:
    """Return the penalties of the unfoldings as parts."""
    each = zip(regulariser.modes, regulariser.lam, regulariser.penalties, regulariser.max_ranks, strict=True)
    return [LowRankPart(*given) for given in each]


def _balance(before: Floats, now: Floats, apart: float, multipliers: Sequence[Floats], zeta: float) -> float:
    """Return the factor of zeta that balances the primal and dual residuals, both relative."""
    tiny, root = np.finfo(float).tiny, math.sqrt(len(multipliers))
    primal = apart / max(root * _norm(now), tiny)
    dual = zeta * root * _norm(now - before) / max(_norm(*multipliers), tiny)
    if primal > UNBALANCED * dual:
        return 2.0
    return 0.5 if dual > UNBALANCED * primal else 1.0


def _norm(*tensors: Floats) -> float:
    return math.sqrt(sum(float(np.vdot(each, each)) for each in tensors))
