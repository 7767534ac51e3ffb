"""The storage of iterates on the workers, behind the interface of `tensorfill.algebra.storage.Storage`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn, TypeVar

import numpy as np

from .._support.types import Floats
from ..algebra.component import Component, LowRank
from ..algebra.extrapolation import extrapolated
from ..algebra.roughness import Roughness
from ..algebra.storage import Point, Smoothing
from ..algebra.svd import RoundTrip
from ..algebra.unfolding import columns
from .crew import Crew
from .cutting import Cut
from .part import Inner
from .rows import Rows, Seen, overlaps, spread
from .working import told

T = TypeVar("T")

SpreadPoint = Point[Seen, Rows]
"""A point on the workers."""


@dataclass(frozen=True, eq=False)
class SpreadStorage:
    """Sparse plus low-rank, in parts on the workers.

    Parameters
    ----------
    crew, cut
        The workers, and how the tensor is cut.
    which
        Which entries to use: the fitted ones, or all.
    modes
        The regularised modes.
    """

    crew: Crew
    cut: Cut
    which: str
    modes: tuple[int, ...]

    def each(self, tasks: Sequence[Callable[[], T]]) -> tuple[T, ...]:
        """Return the results of tasks, one for each mode; each task keeps all workers busy."""
        return tuple(task() for task in tasks)

    def zero(self, mode: int, dtype: np.dtype[np.floating]) -> LowRank[Rows]:
        """Return the component of rank zero along a mode."""
        return self.taken(Component.zero(self.cut.shape, mode, dtype))

    def taken(self, component: Component) -> LowRank[Rows]:
        """Send the right vectors of a component to the workers."""
        v = spread(self.crew, self.cut, component.v, component.mode)
        return LowRank(component.mode, component.u, component.s, v)

    def point(self, components: Sequence[LowRank[Rows]], weights: Sequence[float]) -> SpreadPoint:
        """Return the tensor with these components."""
        seen = Seen(self.crew, components[0].u.dtype)
        terms = told(self.cut, components, weights)
        inner: Inner = self.crew.total_each("enter", [(seen.name, self.which, self.modes, each) for each in terms])
        seen.inner = inner
        return Point(tuple(components), tuple(weights), seen)

    def release(self, point: SpreadPoint) -> None:
        """Free the values of a point at the entries, on the workers."""
        point.seen.release()

    def extrapolated(self, now: SpreadPoint, before: SpreadPoint, gamma: float) -> SpreadPoint:
        """Return X_t + gamma (X_t - X_{t-1}), with components of no higher rank than those of X_t."""
        pairs = list(zip(now.components, before.components, strict=True))
        products = overlaps([(other.v, one.v) for one, other in pairs])
        components = tuple(
            extrapolated(*pair, gamma, overlap=overlap) for pair, overlap in zip(pairs, products, strict=True)
        )
        seen = Seen(self.crew, now.seen.dtype)
        self.crew.later("extrapolate", seen.name, now.seen.name, before.seen.name, gamma)
        if before is not now:
            self.release(before)
        return Point(components, now.weights, seen)

    def square(self, point: SpreadPoint) -> float:
        """Return the squared norm of a point whose components have orthonormal vectors."""
        terms, inner = point.terms, point.seen.inner
        if inner is None:
            raise ValueError("the norm is known of points that were made from components only.")
        squares = sum(weight**2 * float(np.vdot(part.s, part.s)) for weight, part in terms)
        pairs = [(first, second) for place, (first, _) in enumerate(terms) for second, _ in terms[place + 1 :]]
        return squares + 2 * sum(v * w * float(each) for (v, w), each in zip(pairs, inner.products, strict=True))

    def energy(self, roughness: Roughness, point: SpreadPoint) -> NoReturn:
        """Raise an error for graphs, which relate slices of different parts."""
        raise ValueError(NO_GRAPHS)

    @contextmanager
    def unfoldings(
        self, point: SpreadPoint, change: Seen, smoothing: Smoothing | None = None
    ) -> Iterator[Callable[[int], SpreadUnfolding]]:
        """Set all workers to a point plus `change` at the entries; yield a function that returns its unfoldings."""
        if smoothing is not None:
            raise ValueError(NO_GRAPHS)
        with self.crew.standing() as name:
            terms = told(self.cut, point.components, point.weights)
            self.crew.later_each("stand", [(name, self.which, self.modes, each, change.name) for each in terms])
            # The workers have already stored it with the point.
            change.release()
            yield lambda mode: SpreadUnfolding(self.crew, self.cut, name, mode)


NO_GRAPHS = "graphs need all slices on one machine; leave laplacian out, or bring the table together."


@dataclass(frozen=True, eq=False)
class SpreadUnfolding:
    """One unfolding of the current point of all workers, which compute its products.

    Parameters
    ----------
    crew, cut
        The workers, and how the tensor is cut.
    standing
        The name of the point.
    mode
        The mode.
    """

    crew: Crew
    cut: Cut
    standing: int
    mode: int

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        shape = self.cut.shape
        return shape[self.mode], columns(shape, self.mode)

    def round_trip(self, a: Floats) -> RoundTrip[Rows]:
        """Return B = M^T `a` of this matrix M, B^T B and M B; the next call overwrites B."""
        crew, cut, name = self.crew, self.cut, self.standing
        a = np.ascontiguousarray(a)
        block = Rows(crew, (self.shape[1], a.shape[1]), a.dtype, replicated=self.mode == cut.mode)
        if self.mode != cut.mode or cut.parts == 1:
            gram, product = crew.total("round_trip", name, self.mode, a, block.name)
        else:
            rows = [(name, self.mode, a[each]) for each in cut.ranges]
            answers = crew.through_sum("there", rows, block.nbytes, "back", name, self.mode, block.name)
            grams, products = zip(*answers, strict=True)
            gram, product = grams[0], np.concatenate(products)
        return RoundTrip(block, gram, product)

    def left(self, a: Floats) -> Rows:
        """Return the transposed matrix times `a`; the next call overwrites it."""
        return self.round_trip(a).block

    def right(self, b: Rows) -> Floats:
        """Return the matrix times `b`."""
        given = self.standing, self.mode, b.name
        if self.mode != self.cut.mode:
            product: Floats = self.crew.total("right", *given)
            return product
        return np.concatenate(self.crew.ask("right", *given))

    def leading(self, count: int) -> None:
        """Return None: the leading left singular vectors come from products with blocks."""

    def decomposed(self, svd: str, count: int) -> None:
        """Return None: all singular triplets come from products with blocks."""
