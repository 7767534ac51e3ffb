"""Where an iterate lives: as components with its values at the observed entries, or as a dense tensor as well.

Both storages answer the same questions, so that a method is written once: what is the tensor with these components,
what is the inner product of two of them, plain or weighted by how rough they are, and what are the unfoldings of a
combination of them that is smoothed and then changed at the observed entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .._types import Floats
from .component import Component, WeightedComponent, side_by_side
from .crossmode import inner_product_of_sums
from .operators import DenseUnfolding, SparsePlusLowRank, add_dense
from .pattern import SparsePattern
from .roughness import Roughness
from .svd import Unfolding

if TYPE_CHECKING:
    from ..observations import Observations


@dataclass(frozen=True, eq=False)
class Point:
    """A tensor ``sum_d weights[d] * components[d]``.

    Parameters
    ----------
    components, weights
        What it is the sum of.
    seen
        Its values at the observed entries.
    full
        All its values, where the storage is dense.
    """

    components: tuple[Component, ...]
    weights: tuple[float, ...]
    seen: Floats
    full: Floats | None = None

    @property
    def terms(self) -> list[WeightedComponent]:
        """The weighted components."""
        return list(zip(self.weights, self.components, strict=True))

    @property
    def ranks(self) -> tuple[int, ...]:
        """Rank of each component."""
        return tuple(component.rank for component in self.components)


Combination = Sequence[tuple[float, Point]]
Smoothing = tuple[Roughness, float]


class Storage(Protocol):
    """What a method asks of a storage."""

    def point(self, components: Sequence[Component], weights: Sequence[float]) -> Point:
        """Return the tensor with these components."""

    def inner(self, first: Point, second: Point) -> float:
        """Return the inner product of two tensors."""

    def energy(self, roughness: Roughness, first: Point, second: Point) -> float:
        """Return the inner product of one tensor with S times the other."""

    def unfoldings(
        self, combination: Combination, change: Floats, smoothing: Smoothing | None = None
    ) -> Callable[[int], Unfolding]:
        """Return the unfoldings, by mode, of a combination to which `change` is added at the observed entries.

        Before that it is smoothed, if a roughness and a step are given: multiplied with I - step S.
        """


class SparseStorage:
    """Sparse plus low-rank: nothing of the size of the tensor is ever made."""

    def __init__(self, observations: Observations, modes: Sequence[int]) -> None:
        self._shape = observations.shape
        self._pattern = SparsePattern(observations.coords, observations.shape, modes)

    def point(self, components: Sequence[Component], weights: Sequence[float]) -> Point:
        """Return the tensor with these components."""
        terms = list(zip(weights, components, strict=True))
        return Point(tuple(components), tuple(weights), self._pattern.entries(terms))

    def inner(self, first: Point, second: Point) -> float:
        """Return the inner product of two tensors."""
        return inner_product_of_sums(first.terms, second.terms, self._shape)

    def energy(self, roughness: Roughness, first: Point, second: Point) -> float:
        """Return the inner product of one tensor with S times the other."""
        return inner_product_of_sums(first.terms, roughness.of_terms(second.terms, self._shape), self._shape)

    def unfoldings(
        self, combination: Combination, change: Floats, smoothing: Smoothing | None = None
    ) -> Callable[[int], Unfolding]:
        """Return the unfoldings, by mode, of a combination, smoothed, to which `change` is added where observed."""
        factors = [factor for factor, _ in combination]
        parts = list(zip(*(point.terms for _, point in combination), strict=True))
        shapes = [(len(same[0][1].v), sum(part.rank for _, part in same)) for same in parts]
        room = self._pattern.room("stacked", shapes, change.dtype)
        terms = [side_by_side(factors, same, out) for same, out in zip(parts, room, strict=True)]
        if smoothing is not None:
            roughness, step = smoothing
            terms = roughness.stepped(terms, self._shape, step)
        return lambda mode: SparsePlusLowRank(self._pattern, mode, terms, change)


class DenseStorage:
    """A dense tensor beside the components: cheaper where much of the tensor is observed, or it is small."""

    def __init__(self, observations: Observations) -> None:
        self._shape = observations.shape
        self._positions = observations.positions

    def point(self, components: Sequence[Component], weights: Sequence[float]) -> Point:
        """Return the tensor with these components."""
        full = np.zeros(self._shape, dtype=components[0].u.dtype)
        for weight, component in zip(weights, components, strict=True):
            add_dense(component, weight, full)
        return Point(tuple(components), tuple(weights), full.ravel()[self._positions], full)

    def inner(self, first: Point, second: Point) -> float:
        """Return the inner product of two tensors."""
        return float(np.vdot(_full(first), _full(second)))

    def energy(self, roughness: Roughness, first: Point, second: Point) -> float:
        """Return the inner product of one tensor with S times the other."""
        return float(np.vdot(_full(first), roughness.of_dense(_full(second))))

    def unfoldings(
        self, combination: Combination, change: Floats, smoothing: Smoothing | None = None
    ) -> Callable[[int], Unfolding]:
        """Return the unfoldings, by mode, of a combination, smoothed, to which `change` is added where observed."""
        total = np.zeros(self._shape, dtype=change.dtype)
        for factor, point in combination:
            total += factor * _full(point)
        if smoothing is not None:
            roughness, step = smoothing
            total -= step * roughness.of_dense(total)
        total.ravel()[self._positions] += change
        return lambda mode: DenseUnfolding(total, mode)


def _full(point: Point) -> Floats:
    if point.full is None:
        raise ValueError("A point of the sparse storage was given to the dense storage.")
    return point.full
