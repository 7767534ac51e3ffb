"""The unfoldings of a tensor as linear operators: sparse plus low-rank, and dense."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from .._types import Floats
from ..parallel import side_by_side
from .component import Component, WeightedComponent
from .crossmode import left_product, right_product
from .pattern import SparsePattern
from .unfolding import around, columns, unfold

SMALLEST_BATCHED_MATRIX = 16
"""Below this many columns, a batch of small products costs more than one product with a copy."""


@dataclass(frozen=True, eq=False)
class SparsePlusLowRank:
    """One unfolding of a sum of components and a sparse tensor, equations (tenztu) and (tenztv) of the paper."""

    pattern: SparsePattern
    mode: int
    components: Sequence[WeightedComponent]
    values: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.pattern.shape[self.mode], columns(self.pattern.shape, self.mode)

    def left(self, a: Floats) -> Floats:
        """Return the transposed matrix times `a`, in an array that holds it until the next call."""
        terms = self._present
        room = self.pattern.room("left", [(self.shape[1], a.shape[1])] * max(len(terms), 1), self.values.dtype)
        products: list[Callable[[], Floats]] = [
            partial(left_product, part, weight, self.pattern.shape, self.mode, a, out)
            for (weight, part), out in zip(terms, room, strict=False)
        ]
        if products:
            self._run(products)
        else:
            room[0][...] = 0
        self.pattern.add_left(self.mode, self.values, a, room[0], room[1:])
        return room[0]

    def right(self, b: Floats) -> Floats:
        """Return the matrix times `b`."""
        products: list[Callable[[], Floats]] = [
            partial(right_product, part, weight, self.pattern.shape, self.mode, b) for weight, part in self._present
        ]
        total: Floats = np.sum(self._run(products + self.pattern.right_parts(self.mode, self.values, b)), axis=0)
        return total

    @property
    def _present(self) -> list[WeightedComponent]:
        return [(weight, part) for weight, part in self.components if part.rank]

    def _run(self, tasks: Sequence[Callable[[], Floats]]) -> tuple[Floats, ...]:
        return side_by_side(tasks) if self.pattern.is_shared else tuple(task() for task in tasks)


@dataclass(frozen=True, eq=False)
class DenseUnfolding:
    """One unfolding of a dense tensor, by BLAS on views of it."""

    tensor: Floats
    mode: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.tensor.shape[self.mode], columns(self.tensor.shape, self.mode)

    @property
    def matrix(self) -> Floats:
        """The unfolding itself, a view for the first and last modes."""
        return unfold(self.tensor, self.mode)

    def left(self, a: Floats) -> Floats:
        """Return the transposed matrix times `a`."""
        if not self._batched:
            plain: Floats = self.matrix.T @ a
            return plain
        batch: Floats = self._grouped.transpose(0, 2, 1) @ a
        return batch.reshape(self.shape[1], a.shape[1])

    def right(self, b: Floats) -> Floats:
        """Return the matrix times `b`."""
        if not self._batched:
            plain: Floats = self.matrix @ b
            return plain
        batch: Floats = self._grouped @ b.reshape(*self._grouped.shape[::2], b.shape[1])
        total: Floats = batch.sum(axis=0)
        return total

    @property
    def _grouped(self) -> Floats:
        before, after = around(self.tensor.shape, self.mode)
        return self.tensor.reshape(before, self.tensor.shape[self.mode], after)

    @property
    def _batched(self) -> bool:
        before, after = around(self.tensor.shape, self.mode)
        return before > 1 and after >= SMALLEST_BATCHED_MATRIX


def add_dense(component: Component, weight: float, out: Floats) -> None:
    """Add a component, as a dense tensor, to `out`, an array in C order."""
    if component.rank == 0:
        return
    mode, rows = component.mode, out.shape[component.mode]
    u = (component.u * (weight * component.s)).astype(out.dtype, copy=False)
    before, after = around(out.shape, mode)
    if after == 1:
        out.reshape(before, rows)[...] += component.v @ u.T
    else:
        out.reshape(before, rows, after)[...] += u @ component.v.reshape(before, after, component.rank).transpose(
            0, 2, 1
        )
