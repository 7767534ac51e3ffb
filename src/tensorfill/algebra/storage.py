"""How an iterate is stored: as components with its values at the observed entries, or as a dense tensor in addition.

Both storages have the same interface, so a method is written once. A storage makes a point from components,
extrapolates from two points, computes the norm and the roughness of a point, and returns the unfoldings of a point that
is smoothed and then changed at the observed entries.

What is as long as the data may be on other machines. So a point and a storage have two type variables: E for a number
at each entry, and V for tall matrices. Here both are arrays; `tensorfill.distributed` has others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

from .._support.parallel import in_rounds, side_by_side
from .._support.types import Floats
from .component import Component, LowRank
from .crossmode import inner_product_of_sums, square_of_sum
from .extrapolation import extrapolated_into
from .operators import DenseUnfolding, SparsePlusLowRank, add_dense
from .pattern import SparsePattern
from .pieces import in_pieces
from .roughness import Roughness
from .svd import Unfolding
from .tall import E, V

if TYPE_CHECKING:
    from ..observations import Observations


T = TypeVar("T")

WORTH_SHARING = 2**16
"""Threads share the modes of a dense tensor if it has at least this many entries."""


@dataclass(frozen=True, eq=False)
class Point(Generic[E, V]):
    """A tensor ``sum_d weights[d] * components[d]``.

    Parameters
    ----------
    components, weights
        The components and their weights in the sum.
    seen
        The values at the observed entries.
    full
        All values, if the storage is dense.
    """

    components: tuple[LowRank[V], ...]
    weights: tuple[float, ...]
    seen: E
    full: Floats | None = None

    @property
    def terms(self) -> list[tuple[float, LowRank[V]]]:
        """The weighted components."""
        return list(zip(self.weights, self.components, strict=True))

    @property
    def ranks(self) -> tuple[int, ...]:
        """The rank of each component."""
        return tuple(component.rank for component in self.components)


Smoothing = tuple[Roughness, float]
"""A roughness S and a step: smoothing multiplies by I - step S."""


class Storage(Protocol[E, V]):
    """The interface of a storage."""

    def each(self, tasks: Sequence[Callable[[], T]]) -> tuple[T, ...]:
        """Return the results of tasks, one for each mode, computed by threads if the tensor is large enough."""

    def zero(self, mode: int, dtype: np.dtype[np.floating]) -> LowRank[V]:
        """Return the component of rank zero along a mode."""

    def point(self, components: Sequence[LowRank[V]], weights: Sequence[float]) -> Point[E, V]:
        """Return the tensor with these components."""

    def extrapolated(self, now: Point[E, V], before: Point[E, V], gamma: float) -> Point[E, V]:
        """Return X_t + gamma (X_t - X_{t-1}); the next call may overwrite its arrays.

        X_{t-1} is released, unless it is X_t.
        """

    def square(self, point: Point[E, V]) -> float:
        """Return the squared norm of a point whose components have orthonormal vectors."""

    def energy(self, roughness: Roughness, point: Point[E, V]) -> float:
        """Return the inner product <X, S X> of a point X."""

    def unfoldings(
        self, point: Point[E, V], change: E, smoothing: Smoothing | None = None
    ) -> AbstractContextManager[Callable[[int], Unfolding[V]]]:
        """Return a context with a function from modes to unfoldings, of a point plus `change` at the observed entries.

        The point is first multiplied with I - step S, if a smoothing is given. Neither the unfoldings nor the change
        are used after the context.
        """

    def release(self, point: Point[E, V]) -> None:
        """Let go of the values of a point at the entries, once; its components may live on, in a model."""


LocalPoint = Point[Floats, Floats]
"""A point whose arrays are on this machine."""

LocalStorage = Storage[Floats, Floats]
"""A storage on this machine."""

LocalUnfoldings = AbstractContextManager[Callable[[int], Unfolding[Floats]]]
"""A function from modes to unfoldings on this machine, in a context that has nothing to tidy up."""


class SparseStorage:
    """Sparse plus low-rank: no array as large as the tensor is ever allocated."""

    def __init__(self, observations: Observations, modes: Sequence[int]) -> None:
        self._shape = observations.shape
        self.pattern = SparsePattern(observations.coords, observations.shape, modes)
        self._spare: list[Floats] = []

    def each(self, tasks: Sequence[Callable[[], T]]) -> tuple[T, ...]:
        """Return the results of tasks, one for each mode."""
        return in_rounds(tasks, worth_it=self.pattern.is_shared)

    def zero(self, mode: int, dtype: np.dtype[np.floating]) -> Component:
        """Return the component of rank zero along a mode."""
        return Component.zero(self._shape, mode, dtype)

    def point(self, components: Sequence[Component], weights: Sequence[float]) -> LocalPoint:
        """Return the tensor with these components."""
        terms = list(zip(weights, components, strict=True))
        try:
            spare = self._spare.pop()
        except IndexError:  # none yet, or another thread took it
            spare = None
        return Point(tuple(components), tuple(weights), self.pattern.entries(terms, spare))

    def extrapolated(self, now: LocalPoint, before: LocalPoint, gamma: float) -> LocalPoint:
        """Return X_t + gamma (X_t - X_{t-1}), with components of no higher rank than those of X_t.

        The values at the observed entries are exact, while the components have an error of second order in the distance
        of the two points. Computing them from the components would cost more than this error matters.
        """
        pairs = list(zip(now.components, before.components, strict=True))
        room = self.pattern.room("extrapolated", [x.v.shape for x, _ in pairs], now.seen.dtype)
        seen = now.seen.copy() if now is before else beyond(now.seen, before.seen, gamma, out=before.seen)
        components = self.each(
            [partial(extrapolated_into, out, x, y, gamma) for (x, y), out in zip(pairs, room, strict=True)]
        )
        return Point(components, now.weights, seen)

    def square(self, point: LocalPoint) -> float:
        """Return the squared norm of a point."""
        return square_of_sum(point.terms, self._shape)

    def energy(self, roughness: Roughness, point: LocalPoint) -> float:
        """Return the inner product <X, S X> of a point X."""
        return inner_product_of_sums(point.terms, roughness.of_terms(point.terms, self._shape), self._shape)

    def release(self, point: LocalPoint) -> None:
        """Keep the values for the next point: arrays of several sizes that come and go leave gaps in the memory."""
        self._spare.append(point.seen)

    def unfoldings(self, point: LocalPoint, change: Floats, smoothing: Smoothing | None = None) -> LocalUnfoldings:
        """Return a function from modes to unfoldings, of a smoothed point plus `change` at the observed entries."""
        terms = point.terms
        if smoothing is not None:
            roughness, step = smoothing
            terms = roughness.stepped(terms, self._shape, step)
        return nullcontext(lambda mode: SparsePlusLowRank(self.pattern, mode, terms, change))


class DenseStorage:
    """A dense tensor in addition to the components: faster if a large share is observed or the tensor is small."""

    def __init__(self, observations: Observations) -> None:
        self._shape = observations.shape
        self._positions = observations.positions

    def each(self, tasks: Sequence[Callable[[], T]]) -> tuple[T, ...]:
        """Return the results of tasks, one for each mode."""
        return side_by_side(tasks, worth_it=math.prod(self._shape) >= WORTH_SHARING)

    def zero(self, mode: int, dtype: np.dtype[np.floating]) -> Component:
        """Return the component of rank zero along a mode."""
        return Component.zero(self._shape, mode, dtype)

    def point(self, components: Sequence[Component], weights: Sequence[float]) -> LocalPoint:
        """Return the tensor with these components."""
        full = np.zeros(self._shape, dtype=components[0].u.dtype)
        for weight, component in zip(weights, components, strict=True):
            add_dense(component, weight, full)
        return Point(tuple(components), tuple(weights), full.ravel()[self._positions], full)

    def extrapolated(self, now: LocalPoint, before: LocalPoint, gamma: float) -> LocalPoint:
        """Return X_t + gamma (X_t - X_{t-1}) without components, which no method needs."""
        full = beyond(_full(now), _full(before), gamma)
        return Point((), (), beyond(now.seen, before.seen, gamma), full)

    def square(self, point: LocalPoint) -> float:
        """Return the squared norm of a point."""
        return float(np.vdot(_full(point), _full(point)))

    def energy(self, roughness: Roughness, point: LocalPoint) -> float:
        """Return the inner product <X, S X> of a point X."""
        return float(np.vdot(_full(point), roughness.of_dense(_full(point))))

    def release(self, point: LocalPoint) -> None:
        """Do nothing: Python frees arrays."""

    def unfoldings(self, point: LocalPoint, change: Floats, smoothing: Smoothing | None = None) -> LocalUnfoldings:
        """Return a function from modes to unfoldings, of a smoothed point plus `change` at the observed entries."""
        total = _full(point).copy()
        if smoothing is not None:
            roughness, step = smoothing
            total -= step * roughness.of_dense(total)
        total.ravel()[self._positions] += change
        return nullcontext(lambda mode: DenseUnfolding(total, mode))


def beyond(now: Floats, before: Floats, gamma: float, out: Floats | None = None) -> Floats:
    """Return ``now + gamma * (now - before)``, in `out` if that is given, which may be `before`."""
    out = np.empty_like(now) if out is None else out
    given = now.reshape(-1), before.reshape(-1), out.reshape(-1)

    def fill(piece: slice) -> None:
        x, y, result = (each[piece] for each in given)
        np.subtract(x, y, out=result)
        result *= gamma
        result += x

    in_pieces(now.size, fill)
    return out


def _full(point: LocalPoint) -> Floats:
    if point.full is None:
        raise ValueError(
            "a point of the dense storage must have all its values, but one of the sparse storage was given."
        )
    return point.full
