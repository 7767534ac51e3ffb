"""Sparse storage of components at some columns only, for unfoldings with far more columns than there are entries.

The unfolding along mode d has N_d columns, the product of the sizes of all other modes. Where N_d is far above the
number of observed entries, hardly any column has an entry, and low rank does not determine the others. So component d
is stored at the columns C_d that have one, and is undefined elsewhere: m_d is 1 at the entries of these columns, and 0
at all others.

The components are coupled where they are defined. For components X_d with the weights w_d,

    F_tau = f(X) + L sum_d w_d phi_d(X_d) + tau/2 sum over pairs i < j of w_i w_j |m_i m_j (X_i - X_j)|^2,

with X = sum_d w_d X_d at the observed entries, where all of them are defined. If all are defined everywhere, the last
term is tau/2 [sum_d w_d |X_d|^2 - |X|^2], and F_tau is that of NORT. The step of NORT becomes

    Z_d = m_d [X_d + sum over j of w_j m_j (X_j - X_d)] - grad f(X) / tau,    X_d = prox of (L / tau) phi_d at Z_d,

a proximal gradient step on F_tau with the metric tau w_d for X_d: at an entry where the components T are defined, the
smooth part has the curvature tau [c diag(w) - w w^T] with c = sum over T of w_d <= 1, plus at most tau w w^T at an
observed one, where c = 1. That is no more than tau diag(w). So F_tau decreases at every step, as for NORT.

An entry is in one column of mode i and in one of mode j, and both have the same indices of all other modes, the rest.
So for each rest, every column of C_i intersects every column of C_j, and X_j - X_i is there a matrix of rank r_i + r_j.
A product costs (|C_i| + |C_j|) (r_i + r_j) multiplications for each column of a block.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from .._support.parallel import in_rounds
from .._support.types import Floats, Integers
from .component import Component, scaled
from .extrapolation import extrapolated
from .pattern import SMALLEST_SHARE, as_column, as_row, in_registers
from .storage import LocalPoint, LocalUnfoldings, Point, Smoothing, beyond
from .svd import RoundTrip
from .unfolding import Shape, column_index, smallest_index_type

if TYPE_CHECKING:
    from ..observations import Observations
    from .roughness import Roughness

T = TypeVar("T")


class Side(NamedTuple):
    """The columns of one mode that intersect columns of another, group after group.

    Parameters
    ----------
    starts
        Where each group starts, and their number at the end.
    places
        The positions of the columns among the stored ones.
    across
        Their index along the other mode.
    """

    starts: Integers
    places: Integers
    across: Integers


def observed_columns(coords: Integers, shape: Shape, mode: int) -> Integers:
    """Return the columns of the unfolding along `mode` that have an observed entry, in increasing order.

    >>> observed_columns(np.array([[0, 1, 1], [2, 1, 1], [1, 0, 2]]), (3, 2, 3), 0)
    array([2, 4])
    """
    return np.unique(column_index(coords, shape, mode).astype(np.int64, copy=False))


def coordinates_of(kept: Integers, shape: Shape, mode: int) -> dict[int, Integers]:
    """Return the indices of some columns of the unfolding along `mode`, for each of the other modes."""
    others = [axis for axis in range(len(shape)) if axis != mode]
    return dict(zip(others, np.unravel_index(kept, [shape[axis] for axis in others]), strict=True))


def meeting(kept: Mapping[int, Integers], shape: Shape, mode: int, other: int) -> tuple[Side, Side]:
    """Return the columns of `mode` and of `other` that intersect, in the same groups."""
    rest = [axis for axis in range(len(shape)) if axis not in (mode, other)]
    sizes = [shape[axis] for axis in rest]
    indices = [coordinates_of(kept[each], shape, each) for each in (mode, other)]
    groups = [np.ravel_multi_index(tuple(index[axis] for axis in rest), sizes) for index in indices]
    both = np.intersect1d(groups[0], groups[1])
    sides = []
    for index, group, far in zip(indices, groups, (other, mode), strict=True):
        order = np.argsort(group, kind="stable")
        first, last = (np.searchsorted(group[order], both, side=edge) for edge in ("left", "right"))
        counts = last - first
        starts = np.concatenate([[0], np.cumsum(counts)])
        places = order[np.repeat(first - starts[:-1], counts) + np.arange(starts[-1])]
        sides.append(Side(starts, places, index[far][places]))
    return sides[0], sides[1]


class ColumnStorage:
    """Components stored at the observed columns only; no array is larger than the number of entries times the ranks.

    Parameters
    ----------
    observations
        The entries.
    modes
        The modes of the components.
    """

    def __init__(self, observations: Observations, modes: Sequence[int]) -> None:
        self.shape, coords = observations.shape, observations.coords
        self.kept = {mode: observed_columns(coords, self.shape, mode) for mode in modes}
        self.rows = {mode: as_row(coords[:, mode], self.shape) for mode in modes}
        self.cols = {mode: as_column(self._stored_column(coords, mode)) for mode in modes}
        self.runs = np.array([[0, len(coords)]])
        pairs = itertools.combinations(sorted(modes), 2)
        self._meetings = {pair: meeting(self.kept, self.shape, *pair) for pair in pairs}

    def _stored_column(self, coords: Integers, mode: int) -> Integers:
        """Return the place of the column of each entry among the stored ones."""
        found = np.searchsorted(self.kept[mode], column_index(coords, self.shape, mode))
        return found.astype(smallest_index_type(len(coords)), copy=False)

    def each(self, tasks: Sequence[Callable[[], T]]) -> tuple[T, ...]:
        """Return the results of tasks, one for each mode."""
        return in_rounds(tasks, worth_it=self.runs[0, 1] >= SMALLEST_SHARE)

    def zero(self, mode: int, dtype: np.dtype[np.floating]) -> Component:
        """Return the component of rank zero."""
        return Component(
            mode, np.zeros((self.shape[mode], 0), dtype), np.zeros(0, dtype), np.zeros((len(self.kept[mode]), 0), dtype)
        )

    def point(self, components: Sequence[Component], weights: Sequence[float]) -> LocalPoint:
        """Return the tensor with these components."""
        from .compiled import kernels

        seen = np.zeros(self.runs[0, 1], dtype=components[0].u.dtype)
        for weight, part in zip(weights, components, strict=True):
            if part.rank:
                u = in_registers(scaled(part, weight))
                kernels.add_entries(self.rows[part.mode], self.cols[part.mode], u, part.v, self.runs, seen)
        return Point(tuple(components), tuple(weights), seen)

    def extrapolated(self, now: LocalPoint, before: LocalPoint, gamma: float) -> LocalPoint:
        """Return X_t + gamma (X_t - X_{t-1}), with components of no higher rank than those of X_t."""
        pairs = zip(now.components, before.components, strict=True)
        components = self.each([partial(extrapolated, x, y, gamma) for x, y in pairs])
        return Point(components, now.weights, beyond(now.seen, before.seen, gamma))

    def square(self, point: LocalPoint) -> float:
        """Return sum_d w_d |X_d|^2 less sum_{i < j} w_i w_j |m_i m_j (X_i - X_j)|^2, the squared norm of a whole X."""
        from .compiled import columns as loops

        total = sum(weight * float(np.vdot(part.s, part.s)) for weight, part in point.terms)
        for (w, x), (v, y) in itertools.combinations(point.terms, 2):
            near, far = self.sides(x.mode, y.mode)
            given = (near, x.v, scaled(x, 1.0)), (far, y.v, scaled(y, 1.0))
            total -= w * v * loops.square_of_difference(*given[0], *given[1])
        return float(total)

    def energy(self, roughness: Roughness, point: LocalPoint) -> float:
        """Refuse: what a graph says about the columns that are not kept is unknown."""
        raise ValueError(NO_GRAPHS)

    def release(self, point: LocalPoint) -> None:
        """Do nothing: Python frees arrays."""

    def unfoldings(self, point: LocalPoint, change: Floats, smoothing: Smoothing | None = None) -> LocalUnfoldings:
        """Return a function from modes to the matrices Z_d, with `change` in place of the gradient's part."""
        if smoothing is not None:
            raise ValueError(NO_GRAPHS)
        return nullcontext(lambda mode: ColumnUnfolding(self, mode, point, change))

    def sides(self, mode: int, other: int) -> tuple[Side, Side]:
        """Return the columns of `mode` and of `other` that intersect."""
        if mode < other:
            return self._meetings[mode, other]
        far, near = self._meetings[other, mode]
        return near, far


NO_GRAPHS = (
    "components that are kept at observed columns only take no graphs; give storage='sparse', or leave laplacian out."
)


@dataclass(frozen=True, eq=False)
class ColumnUnfolding:
    """The matrix Z_d, restricted to the stored columns.

    Parameters
    ----------
    storage
        The stored columns and their entries.
    mode
        The mode d.
    point
        The components.
    values
        What is added at the observed entries.
    """

    storage: ColumnStorage
    mode: int
    point: LocalPoint
    values: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of stored columns."""
        return self.storage.shape[self.mode], len(self.storage.kept[self.mode])

    def leading(self, count: int) -> None:
        """Return None: the leading left singular vectors are found by products with blocks."""

    def decomposed(self, svd: str, count: int) -> None:
        """Leave all singular triplets to products with blocks."""

    def round_trip(self, a: Floats) -> RoundTrip[Floats]:
        """Return B = M^T `a` of this matrix M, B^T B and M B."""
        block = self.left(a)
        return RoundTrip(block, block.T @ block, self.right(block))

    def left(self, a: Floats) -> Floats:
        """Return the transposed matrix times `a`."""
        from .compiled import columns as loops
        from .compiled import kernels

        a = np.ascontiguousarray(a, dtype=self.values.dtype)
        own, others = self._own_and_others
        out = np.ascontiguousarray(own.v @ (scaled(own, 1.0).T @ a))
        for weight, other in others:
            near, far = self.storage.sides(self.mode, other.mode)
            first, second = (far, other.v, scaled(other, 1.0)), (near, own.v, scaled(own, 1.0))
            loops.add_difference(*first, *second, weight, a, out, False)
        rows, cols = self.storage.rows[self.mode], self.storage.cols[self.mode]
        kernels.add_products(False, rows, cols, self.values, a, self.storage.runs, out)
        return out

    def right(self, b: Floats) -> Floats:
        """Return the matrix times `b`."""
        from .compiled import columns as loops
        from .compiled import kernels

        b = np.ascontiguousarray(b, dtype=self.values.dtype)
        own, others = self._own_and_others
        out = np.ascontiguousarray(scaled(own, 1.0) @ (own.v.T @ b))
        for weight, other in others:
            near, far = self.storage.sides(self.mode, other.mode)
            first, second = (near, own.v, scaled(own, 1.0)), (far, other.v, scaled(other, 1.0))
            loops.add_difference(*first, *second, -weight, b, out, True)
        rows, cols = self.storage.rows[self.mode], self.storage.cols[self.mode]
        kernels.add_products(True, rows, cols, self.values, b, self.storage.runs, out)
        return out

    @property
    def _own_and_others(self) -> tuple[Component, list[tuple[float, Component]]]:
        own = next(part for part in self.point.components if part.mode == self.mode)
        # Two components of rank zero do not differ, and there may be as many columns as entries to find that out.
        return own, [(weight, part) for weight, part in self.point.terms if part is not own and part.rank + own.rank]
