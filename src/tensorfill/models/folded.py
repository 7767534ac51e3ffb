"""The model of NORT: a weighted sum of low-rank matrices, each folded into a tensor along its mode."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Self

import numpy as np
from numpy.typing import NDArray

from .._support.types import Floats, Integers, Matrix
from ..algebra.component import Component, LowRank
from ..algebra.crossmode import inner_product_of_sums
from ..algebra.operators import add_dense
from ..algebra.tall import V
from ..algebra.unfolding import column_index, columns, sizes_around, times, unfold
from .base import Model

if TYPE_CHECKING:
    from .tucker import Tucker

CHUNK = 2**16
"""The number of entries predicted at a time; the rows gathered for them fit in the cache."""


class OfComponents(Model, Generic[V]):
    """A model that consists of low-rank matrices, each folded into a tensor along its mode."""

    components: tuple[LowRank[V], ...]
    weights: tuple[float, ...]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, modes={self.modes}, ranks={self.ranks})"

    @property
    def modes(self) -> tuple[int, ...]:
        """The mode of each component."""
        return tuple(component.mode for component in self.components)

    @property
    def terms(self) -> list[tuple[float, LowRank[V]]]:
        """The weighted components."""
        return list(zip(self.weights, self.components, strict=True))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the predictions."""
        return self.components[0].u.dtype

    @property
    def ranks(self) -> tuple[int, ...]:
        """The rank of each component."""
        return tuple(component.rank for component in self.components)


class FoldedLowRank(OfComponents[Floats]):
    """X = sum_d w_d fold_d(u_d diag(s_d) v_d^T), equation (lowrf) of the paper with the weights that it omits.

    Parameters
    ----------
    shape
        The shape of the tensor.
    components
        One component for each regularised mode.
    weights
        One weight for each component; the weights of a whole tensor sum to one.
    """

    kind = "folded"

    def __init__(self, shape: Sequence[int], components: Sequence[Component], weights: Sequence[float]) -> None:
        self.shape = tuple(shape)
        self.components = tuple(components)
        self.weights = tuple(float(weight) for weight in weights)

    @classmethod
    def from_tucker(cls, model: Tucker, modes: Sequence[int], weights: Sequence[float]) -> Self:
        """Return a Tucker model as components that are all equal to it, so the weights must sum to one.

        Parameters
        ----------
        model
            The tensor, with orthonormal factors (see `Tucker.orthonormal`).
        modes, weights
            The modes of the components, and their weights.

        Examples
        --------
        >>> from tensorfill.models import Tucker
        >>> model = Tucker((2, 3), [[2.0]], [[[0.6], [0.8]], [[1.0], [0.0], [0.0]]])
        >>> FoldedLowRank.from_tucker(model, [0, 1], [0.5, 0.5]).to_dense()
        array([[1.2, 0. , 0. ],
               [1.6, 0. , 0. ]])
        """
        return cls(model.shape, [_unfolded(model, mode) for mode in modes], weights)

    @property
    def nbytes(self) -> int:
        """The number of bytes that the model holds."""
        return sum(component.nbytes for component in self.components)

    def _values_at(self, coords: Integers) -> Floats:
        out = np.zeros(len(coords), dtype=self.dtype)
        for weight, part in self.terms:
            u = part.u * (weight * part.s)
            for first in range(0, len(coords), CHUNK):
                chunk = coords[first : first + CHUNK]
                cols = column_index(chunk, self.shape, part.mode)
                out[first : first + CHUNK] += np.einsum("pr,pr->p", u[chunk[:, part.mode]], part.v[cols])
        return out

    def truncated(self, ranks: Sequence[int]) -> FoldedLowRank:
        """Return the model with only the first ``ranks[d]`` singular values of component d."""
        parts = [
            Component(part.mode, part.u[:, :rank], part.s[:rank], part.v[:, :rank])
            for part, rank in zip(self.components, ranks, strict=True)
        ]
        return FoldedLowRank(self.shape, parts, self.weights)

    def orthonormal(self) -> FoldedLowRank:
        """Return the same tensor with orthonormal singular vectors, which a restricted model does not have."""
        return FoldedLowRank(self.shape, [part.orthonormal() for part in self.components], self.weights)

    def restrict(self, indices: Sequence[Integers]) -> FoldedLowRank:
        """Return the model of the sub-tensor with these indices of each mode."""
        parts = []
        for part in self.components:
            others = [index for mode, index in enumerate(indices) if mode != part.mode]
            sizes = [size for mode, size in enumerate(self.shape) if mode != part.mode]
            v = part.v.reshape(*sizes, part.rank)[np.ix_(*others)].reshape(math.prod(map(len, others)), part.rank)
            parts.append(Component(part.mode, part.u[indices[part.mode]], part.s, v))
        return FoldedLowRank([len(index) for index in indices], parts, self.weights)

    @classmethod
    def joined(cls, parts: Iterable[FoldedLowRank], mode: int, shape: Sequence[int]) -> FoldedLowRank:
        """Return the model of a tensor from models of ranges of its slices, the inverse of `restrict` along one mode.

        Parameters
        ----------
        parts
            The models of the first slices along `mode`, of the next ones, and so on. They differ only in their shape
            and in what belongs to their slices.
        mode
            The mode.
        shape
            The shape of the whole tensor.

        Examples
        --------
        >>> whole = FoldedLowRank((2, 1), [Component(0, np.eye(2), np.array([3.0, 1.0]), np.ones((1, 2)))], [1.0])
        >>> parts = [whole.restrict([np.array([index]), np.array([0])]) for index in range(2)]
        >>> FoldedLowRank.joined(parts, 0, (2, 1)).to_dense().ravel()
        array([3., 1.])
        """
        whole: list[Component] = []
        weights: tuple[float, ...] = ()
        first = 0
        for part in parts:
            if not whole:
                whole, weights = [_room_for(own, mode, shape) for own in part.components], part.weights
            last = first + part.shape[mode]
            for own, all_of_it in zip(part.components, whole, strict=True):
                if own.mode == mode:
                    all_of_it.u[first:last] = own.u
                    continue
                before, after = sizes_around(shape, mode, without=own.mode)
                rows = all_of_it.v.reshape(before, shape[mode], after * own.rank)
                rows[:, first:last] = own.v.reshape(before, last - first, after * own.rank)
            first = last
        return cls(shape, whole, weights)

    def multiplied(self, mode: int, matrix: Matrix) -> FoldedLowRank:
        """Return the product with a matrix along `mode`: new slice i is the sum over j of matrix[i, j] * slice j."""
        matrix = matrix.astype(self.dtype)
        shape = tuple(matrix.shape[0] if axis == mode else size for axis, size in enumerate(self.shape))
        parts = []
        for part in self.components:
            if part.mode == mode:
                parts.append(Component(mode, matrix @ part.u, part.s, part.v))
                continue
            before, after = sizes_around(self.shape, mode, without=part.mode)
            v = times(matrix, part.v.reshape(before, self.shape[mode], after * part.rank), 1)
            parts.append(Component(part.mode, part.u, part.s, v.reshape(columns(shape, part.mode), part.rank)))
        return FoldedLowRank(shape, parts, self.weights)

    def scaled(self, factor: float) -> FoldedLowRank:
        """Return the tensor times a number, exactly for a power of two."""
        parts = [replace(part, s=part.s * factor) for part in self.components]
        return FoldedLowRank(self.shape, parts, self.weights)

    def _dense(self) -> Floats:
        out = np.zeros(self.shape, dtype=self.dtype)
        for weight, part in self.terms:
            add_dense(part, weight, out)
        return out

    def _margin(self, mode: int) -> Floats:
        out = np.zeros(self.shape[mode])
        for weight, part in self.terms:
            if part.mode == mode:
                rows, sums = part.u, part.v.sum(axis=0, dtype=np.float64)
            else:
                before, after = sizes_around(self.shape, mode, without=part.mode)
                v = part.v.reshape(before, self.shape[mode], after, part.rank)
                rows, sums = v.sum(axis=(0, 2), dtype=np.float64), part.u.sum(axis=0, dtype=np.float64)
            out += rows @ (weight * part.s * sums)
        return out

    def inner(self, other: Model) -> float:
        """Return the inner product with a model of the same kind, without dense arrays."""
        if not isinstance(other, FoldedLowRank) or other.shape != self.shape:
            raise TypeError(f"the inner product needs models of the same kind and shape, not {self!r} and {other!r}.")
        return inner_product_of_sums(self.terms, other.terms, self.shape)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the model, as a file stores them."""
        arrays = {"modes": np.array(self.modes), "weights": np.array(self.weights)}
        for part in self.components:
            arrays |= {f"u{part.mode}": part.u, f"s{part.mode}": part.s, f"v{part.mode}": part.v}
        return arrays

    @classmethod
    def from_arrays(cls, shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model from the arrays of `to_arrays`."""
        parts = stored_components(shape, arrays, lambda mode: columns(shape, mode))
        return cls(shape, parts, arrays["weights"].tolist())


def _room_for(part: Component, mode: int, shape: Sequence[int]) -> Component:
    """Return a component with space for all slices along `mode`, given that of some slices."""
    if part.mode == mode:
        return replace(part, u=np.empty((shape[mode], part.rank), dtype=part.u.dtype))
    return replace(part, v=np.empty((columns(shape, part.mode), part.rank), dtype=part.v.dtype))


def stored_components(
    shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]], length: Callable[[int], int]
) -> list[Component]:
    """Return the components stored in the arrays of a file, or raise an error if the arrays do not fit together.

    Parameters
    ----------
    shape
        The shape of the tensor.
    arrays
        ``modes``, ``weights`` and, for each mode, the factors.
    length
        Returns the number of rows of the right factor of a mode.
    """
    modes, weights = arrays["modes"], arrays["weights"]
    if modes.ndim != 1 or modes.dtype.kind not in "iu" or weights.shape != modes.shape or len(modes) == 0:
        raise ValueError("a folded model must have a mode and a weight for each of its components")
    if modes.min() < 0 or modes.max() >= len(shape):
        raise ValueError(f"a folded model of shape {shape} has no mode {modes.max()}")
    parts = [Component(int(m), arrays[f"u{m}"], arrays[f"s{m}"], arrays[f"v{m}"]) for m in modes]
    for part in parts:
        rank = part.s.shape
        if len(rank) != 1 or [part.u.shape, part.v.shape] != [(shape[part.mode], *rank), (length(part.mode), *rank)]:
            raise ValueError(f"the component of mode {part.mode} does not fit a model of shape {shape}")
    return parts


def _unfolded(model: Tucker, mode: int) -> Component:
    """Return the singular value decomposition of an unfolded Tucker model with orthonormal factors.

    The factors do not change singular values, so the unfolded core is decomposed.
    """
    u, s, vt = np.linalg.svd(unfold(model.core, mode), full_matrices=False)
    rank = np.count_nonzero(s > len(s) * np.finfo(s.dtype).eps * s.max(initial=0))
    others = [
        (size, factor)
        for axis, (size, factor) in enumerate(zip(model.ranks, model.factors, strict=True))
        if axis != mode
    ]
    v = vt[:rank].T.reshape(*(size for size, _ in others), rank)
    for place, (_, factor) in enumerate(others):
        v = np.moveaxis(np.tensordot(factor, v, axes=(1, place)), 0, place)
    return Component(mode, model.factors[mode] @ u[:, :rank], s[:rank], v.reshape(columns(model.shape, mode), rank))


def nothing(shape: tuple[int, ...], dtype: Any = np.float64) -> FoldedLowRank:
    """Return the model of a tensor of zeros."""
    return FoldedLowRank(shape, [Component.zero(shape, 0, np.dtype(dtype))], [1.0])
