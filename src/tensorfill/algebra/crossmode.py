"""Products with a component that is folded along one mode and unfolded along another (Proposition 1), for any order.

Let the component be ``fold_j(U V^T)``, with the singular values in `U`, and the unfolding be along mode i. The modes
other than i and j, the `rest`, have the same order inside the rows of V and inside the columns of ``unfold_i``. So V
is read as an array (before i, i, after i, rank), and a block B of columns of ``unfold_i`` as (before j, j, after j,
block); both are views. A product has two stages, with a small array of shape (rest, rank, block), the panels, between
them:

- ``unfold_i^T A``: V is contracted with A over i; then U expands the panels along j, column by column.
- ``unfold_i B``: U contracts B over j, column by column; then the panels are multiplied with V and summed.

No array as large as V is copied. The cost is (N_i + N_j) * rank * block multiplications. If i = j there is one panel,
and V takes the place of U in the stage that runs over the columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from .._support.parallel import side_by_side
from .._support.types import Floats
from .component import Component, WeightedComponent, scaled
from .svd import whole_registers
from .unfolding import Shape, leading_mode, sizes_around

if TYPE_CHECKING:
    from .compiled.kernels import Term

WORTH_SHARING = 2**16
"""Threads share the inner products of a sum if its largest factor has at least this many numbers."""


@dataclass(frozen=True, eq=False)
class CrossModeProduct:
    """The two stages of the products with one component, unfolded along another mode or along its own.

    Parameters
    ----------
    component, weight
        The component, and its weight in a sum.
    shape
        The shape of the tensor.
    mode
        The mode i of the unfolding.
    """

    component: Component
    weight: float
    shape: Shape
    mode: int

    @cached_property
    def _u(self) -> Floats:
        return scaled(self.component, self.weight)

    @property
    def _is_own(self) -> bool:
        return self.component.mode == self.mode

    @property
    def shares_panels(self) -> bool:
        """Whether all ranges of columns add to the same panels, so that each thread needs separate panels."""
        return self._is_own or self.component.mode == leading_mode(self.mode)

    def zero_panels(self, block: int) -> Floats:
        """Return panels of zeros, for a product with `block` columns."""
        rest = 1 if self._is_own else len(self.component.v) // self.shape[self.mode]
        return np.zeros((rest * self.component.rank, block), dtype=self.component.u.dtype)

    def contract(self, a: Floats) -> Floats:
        """Return the panels of ``unfold_i^T a``: its first stage, (mulv1) in the paper."""
        if self._is_own:
            own: Floats = self._u.T @ a
            return own
        from .compiled import kernels

        before, _ = sizes_around(self.shape, self.mode, without=self.component.mode)
        # Columns of zeros fill the last register: what does not fill one is multiplied number by number.
        width = a.shape[1]
        filled = np.zeros((len(a), whole_registers(width, a.dtype)), dtype=a.dtype)
        filled[:, :width] = a
        panels = self.zero_panels(filled.shape[1])
        kernels.contract(False, _writable(self.component.v), filled, before, panels)
        return np.ascontiguousarray(panels[:, :width])

    def term(self, panels: Floats) -> Term:
        """Return the arguments of the loop over the columns: stage two of a left product, one of a right product."""
        if self._is_own:
            return _writable(self.component.v), panels, 1
        return self._u, panels, sizes_around(self.shape, self.component.mode, without=self.mode)[0]

    def finish(self, panels: Floats) -> Floats:
        """Return ``unfold_i b`` from its panels: its second stage, (mulv2) in the paper."""
        if self._is_own:
            own: Floats = self._u @ panels
            return own
        from .compiled import kernels

        before, _ = sizes_around(self.shape, self.mode, without=self.component.mode)
        out = np.zeros((self.shape[self.mode], panels.shape[1]), dtype=panels.dtype)
        kernels.contract(True, _writable(self.component.v), out, before, panels)
        return out


def _writable(array: Floats) -> Floats:
    """Return a writable array in C order: tuples of terms are compiled for one kind of array only."""
    return array if array.flags.writeable and array.flags.c_contiguous else array.copy()


def inner_product(first: Component, second: Component, shape: Shape) -> float:
    """Return the inner product of two components as tensors, without dense arrays."""
    if min(first.rank, second.rank) == 0:
        return 0.0
    if first.mode == second.mode:
        return float(np.vdot((first.u * first.s).T @ (second.u * second.s), first.v.T @ second.v))
    # Each right factor, contracted over the mode of the other component: (rest, its rank, rank of the other).
    one, other = (
        CrossModeProduct(x, 1.0, shape, y.mode).contract(y.u * y.s).reshape(-1, x.rank, y.rank)
        for x, y in ((first, second), (second, first))
    )
    return float(np.vdot(one, np.ascontiguousarray(other.transpose(0, 2, 1))))


def square_of_sum(terms: Sequence[WeightedComponent], shape: Shape) -> float:
    """Return the squared norm of a sum of components of different modes with orthonormal vectors."""
    pairs = list(itertools.combinations(terms, 2))
    tasks = [partial(inner_product, x, y, shape) for (_, x), (_, y) in pairs]
    products = side_by_side(tasks, worth_it=max(part.v.size for _, part in terms) >= WORTH_SHARING)
    squares = sum(weight**2 * float(np.vdot(part.s, part.s)) for weight, part in terms)
    return squares + 2 * sum(v * w * inner for ((v, _), (w, _)), inner in zip(pairs, products, strict=True))


def inner_product_of_sums(
    first: Sequence[WeightedComponent], second: Sequence[WeightedComponent], shape: Shape
) -> float:
    """Return the inner product of two sums of components; for a sum with itself each pair is computed once."""
    pairs = {frozenset((id(x), id(y))): (x, y) for _, x in first for _, y in second}
    tasks = [partial(inner_product, x, y, shape) for x, y in pairs.values()]
    products = side_by_side(tasks, worth_it=max(x.v.size for _, x in first) >= WORTH_SHARING)
    known = dict(zip(pairs, products, strict=True))
    return sum(a * b * known[frozenset((id(x), id(y)))] for a, x in first for b, y in second)
