"""The model of NORT for very sparse data: low-rank matrices that are known at some of their columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .._support.types import Floats, Integers, Matrix
from ..algebra.columns import coordinates_of
from ..algebra.component import Component
from ..algebra.unfolding import column_index, columns, unfold
from .base import DENSE_LIMIT, Model
from .folded import CHUNK, FoldedLowRank, OfComponents, stored_components

if TYPE_CHECKING:
    from .tucker import Tucker


class FoldedColumns(OfComponents[Floats]):
    """Low-rank matrices, each folded into a tensor along its mode, and known at some columns only.

    At an entry, the model is the mean of the components that are known at its columns, with their weights,

        X = sum_d w_d m_d fold_d(u_d diag(s_d) v_d^T) / sum_d w_d m_d,

    with m_d one at the entries of kept columns of mode d and zero elsewhere, or zero if there are none.

    Parameters
    ----------
    shape
        The shape of the tensor.
    components
        One component for each regularised mode; the rows of its `v` are those of the kept columns.
    weights
        One weight for each component.
    kept
        The numbers of the kept columns of each component, in increasing order.

    Examples
    --------
    >>> part = Component(0, np.eye(2)[:, :1], np.array([3.0]), np.array([[1.0], [2.0]]))
    >>> FoldedColumns((2, 2, 2), [part], [1.0], [np.array([0, 3])]).to_dense()[0]
    array([[3., 0.],
           [0., 6.]])
    """

    kind = "folded_columns"

    def __init__(
        self,
        shape: Sequence[int],
        components: Sequence[Component],
        weights: Sequence[float],
        kept: Sequence[Integers],
    ) -> None:
        self.shape = tuple(shape)
        self.components = tuple(components)
        self.weights = tuple(float(weight) for weight in weights)
        self.kept = tuple(np.asarray(each) for each in kept)

    @classmethod
    def from_tucker(
        cls, model: Tucker, modes: Sequence[int], weights: Sequence[float], kept: Sequence[Integers]
    ) -> Self:
        """Return a Tucker model as components that agree, at the kept columns of each mode.

        Parameters
        ----------
        model
            The tensor.
        modes, weights, kept
            The modes of the components, their weights, and their columns.
        """
        parts = [_unfolded(model, mode, each) for mode, each in zip(modes, kept, strict=True)]
        return cls(model.shape, parts, weights, kept)

    @property
    def nbytes(self) -> int:
        """The number of bytes that the model holds."""
        return sum(component.nbytes + each.nbytes for component, each in zip(self.components, self.kept, strict=True))

    def _values_at(self, coords: Integers) -> Floats:
        out, speaking = np.zeros(len(coords), dtype=self.dtype), np.zeros(len(coords), dtype=self.dtype)
        for weight, part, kept in zip(self.weights, self.components, self.kept, strict=True):
            scale = (weight * part.s).astype(self.dtype)
            for first in range(0, len(coords), CHUNK):
                chunk = coords[first : first + CHUNK]
                found, place = _found(kept, column_index(chunk, self.shape, part.mode))
                at = first + np.flatnonzero(found)
                out[at] += np.einsum("pr,pr,r->p", part.u[chunk[found, part.mode]], part.v[place[found]], scale)
                speaking[at] += weight
        return np.divide(out, speaking, out=out, where=speaking > 0)

    @classmethod
    def from_folded(cls, model: FoldedLowRank) -> Self:
        """Return a model whose components are known at all columns."""
        kept = [np.arange(columns(model.shape, part.mode)) for part in model.components]
        return cls(model.shape, model.components, model.weights, kept)

    def at_columns(self, kept: Mapping[int, Integers]) -> FoldedColumns:
        """Return the same components at other columns of some modes, zero where they were not known."""
        pairs = zip(self.components, self.kept, strict=True)
        parts = [_moved(part, own, kept.get(part.mode, own)) for part, own in pairs]
        return FoldedColumns(
            self.shape, parts, self.weights, [kept.get(m, own) for m, own in zip(self.modes, self.kept, strict=True)]
        )

    def expanded(self) -> FoldedLowRank:
        """Return the same components at all columns, zero where they were not known."""
        everywhere = self.at_columns({mode: np.arange(columns(self.shape, mode)) for mode in self.modes})
        return FoldedLowRank(self.shape, everywhere.components, self.weights)

    def orthonormal(self) -> FoldedColumns:
        """Return the same tensor with orthonormal singular vectors, which those of a restricted one are not."""
        return FoldedColumns(self.shape, [part.orthonormal() for part in self.components], self.weights, self.kept)

    def scaled(self, factor: float) -> FoldedColumns:
        """Return the tensor times a number, exactly for a power of two."""
        parts = [replace(part, s=part.s * factor) for part in self.components]
        return FoldedColumns(self.shape, parts, self.weights, self.kept)

    def restrict(self, indices: Sequence[Integers]) -> FoldedColumns:
        """Return the model of the sub-tensor with these indices of each mode."""
        shape = [len(index) for index in indices]
        parts, kept = [], []
        for part, own in zip(self.components, self.kept, strict=True):
            # An index that is requested several times repeats its columns.
            place, number = np.arange(len(own)), np.zeros(len(own), dtype=np.int64)
            for axis, index in coordinates_of(own, self.shape, part.mode).items():
                order = np.argsort(indices[axis], kind="stable")
                wanted = index[place]
                first, last = (np.searchsorted(indices[axis], wanted, side, sorter=order) for side in ("left", "right"))
                counts = last - first
                ends = np.cumsum(counts)
                which = np.repeat(np.arange(len(place)), counts)
                new = order[np.arange(len(which)) + np.repeat(first - ends + counts, counts)]
                place, number = place[which], number[which] * shape[axis] + new
            order = np.argsort(number)
            parts.append(Component(part.mode, part.u[indices[part.mode]], part.s, part.v[place[order]]))
            kept.append(number[order])
        return FoldedColumns(shape, parts, self.weights, kept)

    def multiplied(self, mode: int, matrix: Matrix) -> FoldedColumns:
        """Return the model whose components are multiplied by a matrix along `mode`.

        Component by component, new slice i is the sum over j of matrix[i, j] * slice j, and is known at the columns
        where all these slices are. Where all components are known, and where slices are only selected, this is the
        product of the tensor itself.
        """
        matrix = scipy.sparse.csr_array(matrix.astype(self.dtype))
        shape = tuple(matrix.shape[0] if axis == mode else size for axis, size in enumerate(self.shape))
        parts, kept = [], []
        for part, own in zip(self.components, self.kept, strict=True):
            if part.mode == mode:
                parts.append(Component(mode, matrix @ part.u, part.s, part.v))
                kept.append(own)
                continue
            indices = coordinates_of(own, self.shape, part.mode)
            # One product for each kept column and each new slice that it contributes to.
            products = scipy.sparse.csr_array(matrix.T)[indices[mode]].tocoo()
            source, slices = products.coords
            where = {axis: index[source] for axis, index in indices.items()} | {mode: slices}
            numbers = np.ravel_multi_index(tuple(where.values()), [shape[axis] for axis in where])
            new, first, target, count = np.unique(numbers, return_index=True, return_inverse=True, return_counts=True)
            sums = scipy.sparse.csr_array((products.data, (target.ravel(), source)), shape=(len(new), len(own)))
            known = count == np.diff(matrix.indptr)[slices[first]]
            parts.append(Component(part.mode, part.u, part.s, np.asarray(sums[known] @ part.v)))
            kept.append(new[known])
        return FoldedColumns(shape, parts, self.weights, kept)

    def _dense(self) -> Floats:
        out = np.empty(self.shape, dtype=self.dtype)
        for first, part in enumerate(out):
            coords = np.indices(part.shape).reshape(part.ndim, -1).T
            own = np.column_stack([np.full(len(coords), first), coords])
            part[...] = self._values_at(own).reshape(part.shape)
        return out

    def _margin(self, mode: int) -> Floats:
        axes = tuple(axis for axis in range(self.ndim) if axis != mode)
        margin: Floats = self._every_entry("the margins").sum(axis=axes, dtype=np.float64)
        return margin

    def _every_entry(self, what: str) -> Floats:
        """Return all entries, because each entry is a mean over different components and sums need them all."""
        if math.prod(self.shape) * self.dtype.itemsize > DENSE_LIMIT:
            raise ValueError(
                f"{what} of {self!r} would take every entry, more than {DENSE_LIMIT:,} bytes; "
                "predict the entries that you need, and sum these."
            )
        return self._dense()

    def inner(self, other: Model) -> float:
        """Return the inner product with a model of the same kind, of dense tensors up to `DENSE_LIMIT`."""
        if not isinstance(other, FoldedColumns) or other.shape != self.shape:
            raise TypeError(f"the inner product needs models of the same kind and shape, not {self!r} and {other!r}.")
        return float(np.vdot(self._every_entry("the norm"), other._every_entry("the norm")))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the model, as a file stores them."""
        arrays = {"modes": np.array(self.modes), "weights": np.array(self.weights)}
        for part, kept in zip(self.components, self.kept, strict=True):
            arrays |= {f"u{part.mode}": part.u, f"s{part.mode}": part.s, f"v{part.mode}": part.v}
            arrays[f"columns{part.mode}"] = kept
        return arrays

    @classmethod
    def from_arrays(cls, shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model from the arrays of `to_arrays`."""
        parts = stored_components(shape, arrays, lambda mode: arrays[f"columns{mode}"].size)
        kept = [arrays[f"columns{part.mode}"] for part in parts]
        for part, own in zip(parts, kept, strict=True):
            inside = own.ndim == 1 and (len(own) == 0 or (own[0] >= 0 and own[-1] < columns(shape, part.mode)))
            if not inside or (np.diff(own) <= 0).any():
                raise ValueError(f"the columns of mode {part.mode} must be places in increasing order")
        return cls(shape, parts, arrays["weights"].tolist(), kept)


def _found(kept: Integers, wanted: Integers) -> tuple[NDArray[np.bool_], Integers]:
    """Return which of the wanted columns are kept, and their positions."""
    place = np.searchsorted(kept, wanted).clip(max=max(len(kept) - 1, 0))
    return (kept[place] == wanted if len(kept) else np.zeros(len(wanted), dtype=bool)), place


def _moved(part: Component, own: Integers, wanted: Integers) -> Component:
    """Return a component at other columns, with orthonormal singular vectors; zero where it is not known."""
    if np.array_equal(own, wanted):
        return part
    found, place = _found(own, wanted)
    v = np.zeros((len(wanted), part.rank), dtype=part.v.dtype)
    v[found] = part.v[place[found]]
    return Component(part.mode, part.u, part.s, v).orthonormal()


def _unfolded(model: Tucker, mode: int, kept: Integers) -> Component:
    """Return a Tucker model unfolded along a mode, at some columns, as a singular value decomposition."""
    rows = {axis: model.factors[axis][index] for axis, index in coordinates_of(kept, model.shape, mode).items()}
    v = np.empty((len(kept), model.ranks[mode]), dtype=model.dtype)
    core = unfold(model.core, mode)
    for first in range(0, len(kept), CHUNK):
        piece = slice(first, first + CHUNK)
        products = np.ones((len(kept[piece]), 1), dtype=model.dtype)
        for factor in rows.values():
            products = np.einsum("ca,cb->cab", products, factor[piece]).reshape(len(products), -1)
        v[piece] = products @ core.T
    return Component(mode, model.factors[mode], np.ones(model.ranks[mode], dtype=model.dtype), v).orthonormal()
