"""The storage of iterates on the workers, behind the interface of `tensorfill.algebra.storage.Storage`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from .._support.types import Floats
from ..algebra.component import Component
from ..algebra.extrapolation import extrapolated
from ..algebra.roughness import Roughness
from ..algebra.storage import Point, Smoothing
from ..algebra.svd import RoundTrip, Unfolding
from ..algebra.unfolding import columns
from .crew import Crew
from .cutting import Cut
from .part import Inner, Term
from .rows import Rows, Seen, Slope, overlaps, spread

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class SpreadStorage:
    """Sparse plus low-rank, in parts on the workers.

    Parameters
    ----------
    crew, cut
        The workers, and how the tensor is cut.
    which
        Which entries: those that are fitted, or all.
    modes
        The regularised modes.
    """

    crew: Crew
    cut: Cut
    which: str
    modes: tuple[int, ...]

    def each(self, tasks: Sequence[Callable[[], T]]) -> tuple[T, ...]:
        """Return the results of tasks, one for each mode; all workers are busy with each of them."""
        return tuple(task() for task in tasks)

    def zero(self, mode: int, dtype: np.dtype[np.floating]) -> Component:
        """Return the component of rank zero along a mode."""
        plain = Component.zero(self.cut.shape, mode, dtype)
        return self.taken(plain)

    def taken(self, component: Component) -> Component:
        """Return a component whose right vectors are on the workers."""
        if isinstance(component.v, Rows):
            return component
        return Component(
            component.mode,
            component.u,
            component.s,
            cast(Any, spread(self.crew, self.cut, component.v, component.mode)),
        )

    def point(self, components: Sequence[Component], weights: Sequence[float]) -> Point:
        """Return the tensor with these components."""
        components = [self.taken(component) for component in components]
        seen = Seen(self.crew, components[0].u.dtype)
        terms = self.terms(components, weights)
        inner: Inner = self.crew.total_each("enter", [(seen.name, self.which, self.modes, each) for each in terms])
        seen.loss, seen.products = inner.loss, inner.products
        return Point(tuple(components), tuple(weights), cast(Any, seen))

    def extrapolated(self, now: Point, before: Point, gamma: float) -> Point:
        """Return X_t + gamma (X_t - X_{t-1}), with components of no higher rank than those of X_t."""
        pairs = list(zip(now.components, before.components, strict=True))
        products = overlaps([(cast(Rows, other.v), cast(Rows, one.v)) for one, other in pairs])
        components = tuple(
            extrapolated(*pair, gamma, overlap=overlap) for pair, overlap in zip(pairs, products, strict=True)
        )
        seen = Seen(self.crew, now.seen.dtype)
        self.crew.later("extrapolate", seen.name, _seen(now).name, _seen(before).name, gamma)
        return Point(components, now.weights, cast(Any, seen))

    def square(self, point: Point) -> float:
        """Return the squared norm of a point whose components have orthonormal vectors."""
        terms, products = point.terms, _seen(point).products
        if products is None:
            raise ValueError("the norm is known of points that were made from components only.")
        squares = sum(weight**2 * float(np.vdot(part.s, part.s)) for weight, part in terms)
        pairs = [(first, second) for place, (first, _) in enumerate(terms) for second, _ in terms[place + 1 :]]
        return squares + 2 * sum(v * w * float(inner) for (v, w), inner in zip(pairs, products, strict=True))

    def energy(self, roughness: Roughness, point: Point) -> float:
        """Refuse graphs, which relate slices of different parts."""
        raise ValueError("graphs need all slices on one machine; leave laplacian out, or bring the table together.")

    def unfoldings(
        self, point: Point, change: Floats, smoothing: Smoothing | None = None
    ) -> Callable[[int], Unfolding]:
        """Return a function from modes to unfoldings, of a point plus `change` at the observed entries."""
        slope = cast(Slope, change)
        standing = Standing(self, self.crew.new_name(), point)
        self.crew.later_each(
            "stand",
            [
                (standing.name, self.which, self.modes, each, slope.seen.name, slope.scale)
                for each in self.terms(point.components, point.weights)
            ],
        )
        return lambda mode: SpreadUnfolding(standing, mode)

    def terms(self, components: Sequence[Component], weights: Sequence[float]) -> list[list[Term]]:
        """Return weighted components as each part is told of them."""
        whole = [
            Term(weight, part.mode, np.ascontiguousarray(part.u), part.s, cast(Rows, part.v).name)
            for weight, part in zip(weights, components, strict=True)
        ]
        return [
            [
                Term(term.weight, term.mode, term.u[rows] if term.mode == self.cut.mode else term.u, term.s, term.v)
                for term in whole
            ]
            for rows in self.cut.ranges
        ]


class Standing:
    """A point Z that all workers stand at; they leave it when nobody refers to it any more."""

    def __init__(self, storage: SpreadStorage, name: int, point: Point) -> None:
        # The point is kept because its arrays are those of Z.
        self.storage, self.name, self._point = storage, name, point
        storage.crew.standing(1)

    def __del__(self) -> None:
        self.storage.crew.drop(self.name)
        self.storage.crew.standing(-1)


@dataclass(frozen=True, eq=False)
class SpreadUnfolding:
    """One unfolding of Z, whose products are computed by all workers."""

    standing: Standing
    mode: int

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        shape = self._storage.cut.shape
        return shape[self.mode], columns(shape, self.mode)

    @property
    def _storage(self) -> SpreadStorage:
        return self.standing.storage

    def round_trip(self, a: Floats) -> RoundTrip:
        """Return B = M^T `a` of this matrix M, B^T B and M B; the next call overwrites B."""
        crew, cut, name = self._storage.crew, self._storage.cut, self.standing.name
        a = np.ascontiguousarray(a)
        block = Rows(crew, (self.shape[1], a.shape[1]), a.dtype, replicated=self.mode == cut.mode)
        if self.mode != cut.mode or cut.parts == 1:
            gram, product = crew.total("round_trip", name, self.mode, a, block.name)
        else:
            rows = [(name, self.mode, a[each]) for each in cut.ranges]
            answers = crew.through_sum("there", rows, block.nbytes, "back", name, self.mode, block.name)
            grams, products = zip(*answers, strict=True)
            gram, product = grams[0], np.concatenate(products)
        return RoundTrip(cast(Any, block), gram, product)

    def left(self, a: Floats) -> Floats:
        """Return the transposed matrix times `a`; the next call overwrites it."""
        return self.round_trip(a).block

    def right(self, b: Floats) -> Floats:
        """Return the matrix times `b`."""
        crew, given = self._storage.crew, (self.standing.name, self.mode, cast(Any, b).name)
        if self.mode != self._storage.cut.mode:
            product: Floats = crew.total("right", *given)
            return product
        return np.concatenate(crew.ask("right", *given))

    def leading(self, count: int) -> None:
        """Leave the leading left singular vectors to products with blocks."""


def _seen(point: Point) -> Seen:
    return cast(Seen, point.seen)
