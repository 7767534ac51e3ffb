"""The unfoldings of a tensor as linear operators: sparse plus low-rank, or dense."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import scipy.linalg
import scipy.sparse

from .._support.parallel import side_by_side
from .._support.types import Floats
from .component import Component, WeightedComponent
from .crossmode import CrossModeProduct
from .loops import loops
from .pattern import Share, SparsePattern
from .svd import Decomposition, RoundTrip, exact_svd, gram_svd
from .unfolding import columns, sizes_around, smallest_index_type, unfold

if TYPE_CHECKING:
    from .compiled.kernels import Term

T = TypeVar("T")

TERMS_AT_ONCE = 4
"""The loop over the columns is compiled only for multiples of this number of terms."""

LARGEST_GRAM, MOST_PAIRS = 1000, 64
"""Exact left vectors are computed up to this number of rows, and up to this number of pairs for each entry."""

SMALLEST_BATCHED_MATRIX = 16
"""With fewer columns than this, a batch of small products costs more than one product with a copy."""


@dataclass(frozen=True, eq=False)
class SparsePlusLowRank:
    """One unfolding of a sum of components and a sparse tensor, equations (tenztu) and (tenztv) of the paper."""

    pattern: SparsePattern
    mode: int
    components: Sequence[WeightedComponent]
    values: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.pattern.shape[self.mode], columns(self.pattern.shape, self.mode)

    def round_trip(self, a: Floats, use: str = "block") -> RoundTrip[Floats]:
        """Return B = M^T `a` of this matrix M, B^T B and M B; the next call for the same use overwrites B."""
        a = np.ascontiguousarray(a, dtype=self.values.dtype)
        (block,) = self.pattern.room(use, [(self.shape[1], a.shape[1])], self.values.dtype)
        return self._walk(block, a)

    def leading(self, count: int) -> Floats | None:
        """Return exact leading left singular vectors, if there is only a sparse tensor and they are cheap.

        They are eigenvectors of the small matrix M M^T, a sum over all pairs of entries of a column.
        """
        size, length = self.shape
        if size > LARGEST_GRAM or any(component.rank for _, component in self.components):
            return None
        rows, cols = self.pattern.rows[self.mode], self.pattern.cols[self.mode]
        counts = np.bincount(cols.astype(np.int64), minlength=length)
        if counts @ counts > MOST_PAIRS * len(cols):
            return None
        off_diagonal = loops("gram", len(cols), int(counts @ counts)).off_diagonal_gram
        gram = np.zeros((size, size))
        # One range of columns after the other: copies of all entries would take more memory than an iteration.
        for share in self._shares:
            first, last = share.pieces[0, 0], share.pieces[-1, 1]
            here = np.flatnonzero((cols >= first) & (cols < last))
            place = rows[here].astype(np.int64), cols[here].astype(np.int64) - first
            values = self.values[here].astype(np.float64, copy=False)
            matrix = scipy.sparse.coo_array((values, place), shape=(size, last - first)).tocsc()
            index, starts = matrix.indices.astype(np.int32), matrix.indptr.astype(smallest_index_type(len(cols)))
            gram += off_diagonal(index, starts, matrix.data, size)
            gram[np.diag_indices(size)] += np.bincount(place[0], weights=values**2, minlength=size)
        found = scipy.linalg.eigh(gram, subset_by_index=[size - count, size - 1], check_finite=False)[1]
        return np.ascontiguousarray(found[:, ::-1], dtype=self.values.dtype)

    def decomposed(self, svd: str, count: int) -> None:
        """Leave all singular triplets to products with blocks."""

    def left(self, a: Floats) -> Floats:
        """Return the transposed matrix times `a`; the next call overwrites it."""
        return self.round_trip(a).block

    def right(self, b: Floats) -> Floats:
        """Return the matrix times `b`."""
        return self._walk(np.ascontiguousarray(b, dtype=self.values.dtype)).product

    def _walk(self, block: Floats, a: Floats | None = None) -> RoundTrip[Floats]:
        """Return the products with a block, which is filled with the transposed matrix times `a` if that is given."""
        from .compiled import kernels

        products, width, outward = self._products, block.shape[1], a is not None
        if a is None:
            a = np.zeros((self.shape[0], width), dtype=block.dtype)
        # Panels to which several threads would add are allocated for each thread, and summed afterwards.
        common = [None if product.shares_panels else product.zero_panels(width) for product in products]
        given = self._run([partial(product.contract, a) for product in products]) if outward else ()
        terms = _terms(products, given) if outward else ()
        place = self.mode == 0, self.mode == len(self.pattern.shape) - 1
        entries = self.pattern.rows[self.mode], self.pattern.cols[self.mode], self.values

        def walked(share: Share) -> tuple[Floats, Floats, list[Floats]]:
            gram, total = np.zeros((width, width), dtype=block.dtype), np.zeros_like(a)
            panels = [
                product.zero_panels(width) if each is None else each
                for product, each in zip(products, common, strict=True)
            ]
            back = _terms(products, panels)
            kernels.walk_columns(outward, *place, terms or back, back, *entries, *share, a, block, gram, total)
            return gram, total, panels

        grams, totals, panels = zip(*self._run([partial(walked, share) for share in self._shares]), strict=True)
        whole = [
            sum(same[1:], same[0]) if product.shares_panels else same[0]
            for product, same in zip(products, zip(*panels, strict=True), strict=True)
        ]
        finished = self._run([partial(product.finish, each) for product, each in zip(products, whole, strict=True)])
        # One array takes up all parts: stacked, those of a long mode would be copied.
        product = totals[0]
        for part in (*totals[1:], *finished):
            product += part
        return RoundTrip(block, sum(grams[1:], grams[0]), product)

    @property
    def _products(self) -> list[CrossModeProduct]:
        shape = self.pattern.shape
        return [CrossModeProduct(part, weight, shape, self.mode) for weight, part in self.components]

    @property
    def _shares(self) -> list[Share]:
        return self.pattern.shares[self.mode]

    def _run(self, tasks: Sequence[Callable[[], T]]) -> tuple[T, ...]:
        return side_by_side(tasks, worth_it=self.pattern.is_shared)


def _terms(products: Sequence[CrossModeProduct], panels: Sequence[Floats]) -> tuple[Term, ...]:
    """Return the terms for the loop over the columns, padded with empty ones to a multiple of `TERMS_AT_ONCE`.

    numba compiles the loop for each number of terms, so there should be few different numbers.
    """
    terms = [product.term(each) for product, each in zip(products, panels, strict=True)]
    empty = np.zeros((1, 0), dtype=panels[0].dtype), np.zeros((0, panels[0].shape[1]), dtype=panels[0].dtype), 1
    return (*terms, *[empty] * (-len(terms) % TERMS_AT_ONCE))


@dataclass(frozen=True, eq=False)
class DenseUnfolding:
    """One unfolding of a dense tensor; products use BLAS on views."""

    tensor: Floats
    mode: int

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.tensor.shape[self.mode], columns(self.tensor.shape, self.mode)

    @property
    def matrix(self) -> Floats:
        """The unfolding itself, a view for the first and last modes."""
        return unfold(self.tensor, self.mode)

    def leading(self, count: int) -> None:
        """Return None: the leading left singular vectors are found by methods for dense matrices."""

    def decomposed(self, svd: str, count: int) -> Decomposition[Floats] | None:
        """Return all singular triplets, if they are asked for or cheaper than the first `count`."""
        if svd == "exact":
            return exact_svd(self.matrix)
        return gram_svd(self.matrix) if svd == "auto" and 2 * count > min(self.shape) else None

    def round_trip(self, a: Floats) -> RoundTrip[Floats]:
        """Return B = M^T `a` of this matrix M, B^T B and M B."""
        block = self.left(a)
        return RoundTrip(block, block.T @ block, self.right(block))

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
        before, after = sizes_around(self.tensor.shape, self.mode)
        return self.tensor.reshape(before, self.tensor.shape[self.mode], after)

    @property
    def _batched(self) -> bool:
        before, after = sizes_around(self.tensor.shape, self.mode)
        return before > 1 and after >= SMALLEST_BATCHED_MATRIX


def add_dense(component: Component, weight: float, out: Floats) -> None:
    """Add a component, as a dense tensor, to `out`, an array in C order."""
    if component.rank == 0:
        return
    mode, rows = component.mode, out.shape[component.mode]
    u = (component.u * (weight * component.s)).astype(out.dtype, copy=False)
    before, after = sizes_around(out.shape, mode)
    if after == 1:
        out.reshape(before, rows)[...] += component.v @ u.T
    else:
        out.reshape(before, rows, after)[...] += u @ component.v.reshape(before, after, component.rank).transpose(
            0, 2, 1
        )
