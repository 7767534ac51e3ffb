"""The unfoldings of a tensor as linear operators: sparse plus low-rank, and dense."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._types import Floats, Integers
from . import kernels
from .component import Component, WeightedComponent
from .crossmode import left_product, right_product
from .unfolding import Shape, around, column_index, columns, unfold

SMALLEST_BATCHED_MATRIX = 16
"""Below this many columns, a batch of small products costs more than one product with a copy."""


class SparsePattern:
    """Where the observed entries lie in each unfolding, and which thread walks which of them.

    Parameters
    ----------
    coords
        Coordinates of the entries, sorted in C order.
    shape
        Shape of the tensor.
    modes
        The modes whose unfoldings are needed.
    """

    def __init__(self, coords: Integers, shape: Shape, modes: Sequence[int]) -> None:
        threads = kernels.thread_count()
        self.shape = shape
        self.count = len(coords)
        self.rows = {mode: np.ascontiguousarray(coords[:, mode]) for mode in modes}
        self.cols = {mode: column_index(coords, shape, mode) for mode in modes}
        self._even = self._even_shares(threads)
        self._by_slice = self._shares_by_slice(coords, threads)
        self._by_column = self._shares_by_column(coords, threads) if 0 in modes else self._by_slice

    def entries(self, components: Sequence[WeightedComponent]) -> Floats:
        """Return the values of a sum of components at the observed entries (Algorithm 1)."""
        out = np.zeros(self.count, dtype=components[0][1].u.dtype)
        for weight, part in components:
            if part.rank:
                u = part.u * (weight * part.s).astype(part.u.dtype)
                kernels.add_entries(self.rows[part.mode], self.cols[part.mode], u, part.v, self._even, out)
        return out

    def add_left(self, mode: int, values: Floats, a: Floats, out: Floats) -> None:
        """Add to `out` the transposed sparse unfolding, with these values at the entries, times `a`."""
        tiles = self._by_column if mode == 0 else self._by_slice
        kernels.add_left(self.rows[mode], self.cols[mode], values, a, tiles, out)

    def right(self, mode: int, values: Floats, b: Floats) -> Floats:
        """Return the sparse unfolding, with these values at the entries, times `b`."""
        # A copy of the rows for each thread must not cost more than walking the entries.
        shares = self._even_shares(max(1, min(self._even.shape[1] - 1, self.count // self.shape[mode])))
        out = np.zeros((shares.shape[1] - 1, self.shape[mode], b.shape[1]), dtype=b.dtype)
        kernels.add_right(self.rows[mode], self.cols[mode], values, b, shares, out)
        total: Floats = out.sum(axis=0)
        return total

    def _even_shares(self, threads: int) -> Integers:
        return np.linspace(0, self.count, threads + 1).astype(np.int64)[None, :]

    def _shares_by_slice(self, coords: Integers, threads: int) -> Integers:
        """Cut where the first coordinate changes: no two shares then meet a column of modes 1, 2, ..."""
        first = coords[:, 0]
        cuts = self._even_shares(threads)
        cuts[0, 1:-1] = np.searchsorted(first, first[cuts[0, 1:-1]])
        return cuts

    def _shares_by_column(self, coords: Integers, threads: int) -> Integers:
        """Cut every slice of mode 0 at the same columns: no two shares then meet a column of mode 0."""
        cols = self.cols[0]
        slices = np.concatenate([[0], np.flatnonzero(np.diff(coords[:, 0])) + 1, [self.count]])
        limits = np.linspace(0, columns(self.shape, 0), threads + 1).astype(np.int64)
        tiles = np.empty((len(slices) - 1, threads + 1), dtype=np.int64)
        tiles[:, 0], tiles[:, -1] = slices[:-1], slices[1:]
        for t in range(1, threads):
            below = np.concatenate([[0], np.cumsum(cols < limits[t])])
            tiles[:, t] = slices[:-1] + below[slices[1:]] - below[slices[:-1]]
        return tiles


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
        """Return the transposed matrix times `a`."""
        out = np.zeros((self.shape[1], a.shape[1]), dtype=self.values.dtype)
        for weight, part in self.components:
            if part.rank:
                out += left_product(part, weight, self.pattern.shape, self.mode, a)
        self.pattern.add_left(self.mode, self.values, a, out)
        return out

    def right(self, b: Floats) -> Floats:
        """Return the matrix times `b`."""
        out = self.pattern.right(self.mode, self.values, b)
        for weight, part in self.components:
            if part.rank:
                out += right_product(part, weight, self.pattern.shape, self.mode, b)
        return out


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
