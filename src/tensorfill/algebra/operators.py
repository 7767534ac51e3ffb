"""The unfoldings of a tensor as linear operators: sparse plus low-rank, and dense."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from .._support.parallel import side_by_side
from .._support.types import Floats
from .component import Component, WeightedComponent
from .crossmode import SeenFrom
from .pattern import Share, SparsePattern
from .unfolding import around, columns, unfold

if TYPE_CHECKING:
    from .compiled.kernels import Term

T = TypeVar("T")

TERMS_AT_ONCE = 4
"""The walk over the columns is compiled for this number of terms, or a multiple of it."""

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
        from .compiled import kernels

        seen, a = self._seen, np.ascontiguousarray(a, dtype=self.values.dtype)
        panels = self._run([partial(part.contract, a) for part in seen])
        terms = _terms(seen, panels)
        (out,) = self.pattern.room("left", [(self.shape[1], a.shape[1])], self.values.dtype)
        entries = self.pattern.rows[self.mode], self.pattern.cols[self.mode], self.values
        self._run([partial(kernels.walk_columns, False, terms, *entries, a, *share, out) for share in self._shares])
        return out

    def right(self, b: Floats) -> Floats:
        """Return the matrix times `b`."""
        from .compiled import kernels

        seen, b = self._seen, np.ascontiguousarray(b, dtype=self.values.dtype)
        # Panels to which different pieces add are made for every thread.
        common = [None if part.adds_up else part.no_panels(b.shape[1]) for part in seen]

        def gathered(share: Share) -> tuple[Floats, list[Floats]]:
            total = np.zeros((self.shape[0], b.shape[1]), dtype=b.dtype)
            panels = [
                part.no_panels(b.shape[1]) if each is None else each for part, each in zip(seen, common, strict=True)
            ]
            entries = self.pattern.cols[self.mode], self.pattern.rows[self.mode], self.values
            kernels.walk_columns(True, _terms(seen, panels), *entries, b, *share, total)
            return total, panels

        totals, panels = zip(*self._run([partial(gathered, share) for share in self._shares]), strict=True)
        whole = [
            sum(same[1:], same[0]) if part.adds_up else same[0]
            for part, same in zip(seen, zip(*panels, strict=True), strict=True)
        ]
        finished = self._run([partial(part.finish, each) for part, each in zip(seen, whole, strict=True)])
        total: Floats = np.sum([*totals, *finished], axis=0)
        return total

    @property
    def _seen(self) -> list[SeenFrom]:
        shape = self.pattern.shape
        return [SeenFrom(part, weight, shape, self.mode) for weight, part in self.components]

    @property
    def _shares(self) -> list[Share]:
        return self.pattern.shares[self.mode]

    def _run(self, tasks: Sequence[Callable[[], T]]) -> tuple[T, ...]:
        return side_by_side(tasks, worth_it=self.pattern.is_shared)


def _terms(seen: Sequence[SeenFrom], panels: Sequence[Floats]) -> tuple[Term, ...]:
    """Return what the walk over the columns takes, filled up with nothing: it is compiled for every number of terms."""
    terms = [part.term(each) for part, each in zip(seen, panels, strict=True)]
    nothing = np.zeros((1, 0), dtype=panels[0].dtype), np.zeros((0, panels[0].shape[1]), dtype=panels[0].dtype), 1
    return (*terms, *[nothing] * (-len(terms) % TERMS_AT_ONCE))


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
