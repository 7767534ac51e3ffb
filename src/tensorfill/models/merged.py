"""A model of a tensor some of whose modes are treated as one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .._support.types import Floats, Integers, Matrix
from .base import MODELS, Model

INNER = "inner."
"""The prefix of the names of the inner model's arrays."""

LONGEST = 2**31
"""A merged mode has at most this many indices."""

Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Grouping:
    """Which modes of a tensor are treated as one.

    The index in a merged mode is the position in C order within its modes, which are in increasing order. A merged mode
    stands at the place of its first mode, and the other modes keep their order.

    Parameters
    ----------
    shape
        The shape of the tensor.
    groups
        The modes that are merged; see `checked_groups`.

    Examples
    --------
    >>> grouping = Grouping((2, 3, 4), ((0, 2),))
    >>> grouping.parts, grouping.merged_shape, grouping.merged(np.array([[1, 2, 3]])).tolist()
    (((0, 2), (1,)), (8, 3), [[7, 2]])
    """

    shape: tuple[int, ...]
    groups: Groups

    def __post_init__(self) -> None:
        groups = checked_groups(self.groups)
        object.__setattr__(self, "shape", tuple(int(size) for size in self.shape))
        object.__setattr__(self, "groups", groups)
        ndim = len(self.shape)
        if any(mode >= ndim for group in groups for mode in group):
            raise ValueError(f"groups must be of modes from 0 to {ndim - 1}, but {groups!r} was given.")
        longest = max(self.merged_shape)
        if groups and longest > LONGEST:
            raise ValueError(
                f"a merged mode must have at most {LONGEST:,} indices, but {groups!r} of the shape {self.shape} gives "
                f"{longest:,}."
            )

    @cached_property
    def parts(self) -> Groups:
        """The modes of which each mode of the merged tensor is made."""
        return parts_of(self.groups, len(self.shape))

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The mode of the merged tensor that each mode is part of."""
        place = {mode: number for number, part in enumerate(self.parts) for mode in part}
        return tuple(place[mode] for mode in range(len(self.shape)))

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The modes in the order in which the merged tensor has them."""
        return tuple(mode for part in self.parts for mode in part)

    @cached_property
    def merged_shape(self) -> tuple[int, ...]:
        """The shape of the merged tensor."""
        return tuple(math.prod(self.sizes(part)) for part in self.parts)

    def sizes(self, part: Iterable[int]) -> tuple[int, ...]:
        """Return the sizes of some modes."""
        return tuple(self.shape[mode] for mode in part)

    def merged(self, coords: Integers) -> Integers:
        """Return coordinates in the merged tensor."""
        out = np.zeros((len(coords), len(self.parts)), dtype=np.int64, order="F")
        for place, part in enumerate(self.parts):
            for mode in part:
                out[:, place] *= self.shape[mode]
                out[:, place] += coords[:, mode]
        return out

    def apart(self, coords: Integers) -> Integers:
        """Return coordinates in the tensor from those in the merged one."""
        out = np.empty((len(coords), len(self.shape)), dtype=np.int64, order="F")
        for place, part in enumerate(self.parts):
            for mode, index in zip(part, np.unravel_index(coords[:, place], self.sizes(part)), strict=True):
                out[:, mode] = index
        return out


def checked_groups(groups: Any) -> Groups:
    """Return groups of modes in increasing order, or refuse them with one sentence.

    >>> checked_groups([(2, 1)])
    ((1, 2),)
    """
    try:
        found = tuple(sorted(tuple(sorted(group)) for group in groups))
    except TypeError:
        found = ((),)
    named = [mode for group in found for mode in group]
    whole = all(isinstance(mode, int | np.integer) and not isinstance(mode, bool) and mode >= 0 for mode in named)
    if not whole or any(len(group) < 2 for group in found) or len(set(named)) < len(named):
        raise ValueError(
            "groups must each have two or more different modes, counted from 0, and no mode may be in two of them, as "
            f"in [(1, 2)], but {groups!r} was given."
        )
    return tuple(tuple(int(mode) for mode in group) for group in found)


def parts_of(groups: Groups, ndim: int) -> Groups:
    """Return the modes of which each mode of a merged tensor is made.

    >>> parts_of(((1, 3),), 4)
    ((0,), (1, 3), (2,))
    """
    first = {group[0]: group for group in groups}
    later = {mode for group in groups for mode in group[1:]}
    return tuple(first.get(mode, (mode,)) for mode in range(ndim) if mode not in later)


class Merged(Model):
    """X with some of its modes merged is the tensor of another model, which has fewer modes.

    Entry by entry, ``X[i, j, k] = L[i, j * K + k]`` if the modes 1 and 2 are merged, and mode 2 has K indices.

    Parameters
    ----------
    model
        The model L of the merged tensor, of any kind but this one.
    shape
        The shape of X.
    groups
        The modes that are merged: each group has two or more modes, which need not be neighbours. The index in a merged
        mode is the position in C order within its modes, which are in increasing order. A merged mode stands at the
        place of its first mode, and the other modes keep their order.

    Examples
    --------
    >>> from tensorfill.models import CPModel
    >>> table = CPModel((2, 6), [1.0], [[[1.0], [10.0]], np.arange(6.0)[:, None]])
    >>> model = Merged(table, (2, 2, 3), [(1, 2)])
    >>> model.shape, model.predict([[0, 1, 0], [1, 1, 2]]).tolist()
    ((2, 2, 3), [3.0, 50.0])
    """

    kind = "merged"

    def __init__(self, model: Model, shape: Iterable[int], groups: Iterable[Iterable[int]]) -> None:
        self.grouping = Grouping(tuple(shape), tuple(tuple(group) for group in groups))
        if isinstance(model, Merged) or model.shape != self.grouping.merged_shape:
            raise ValueError(
                f"the model must have the shape of the merged tensor, {self.grouping.merged_shape}, and must not be "
                f"merged itself, but it is {model!r}."
            )
        self.model = model
        self.shape = self.grouping.shape

    def __repr__(self) -> str:
        return f"Merged({self.model!r}, shape={self.shape}, groups={self.groups})"

    @property
    def groups(self) -> Groups:
        """The modes that are merged."""
        return self.grouping.groups

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the predictions, that of the inner model."""
        return self.model.dtype

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks of the inner model."""
        return self.model.ranks

    @property
    def nbytes(self) -> int:
        """The number of bytes that the model holds."""
        return self.model.nbytes

    def _values_at(self, coords: Integers) -> Floats:
        return self.model._values_at(self.grouping.merged(coords))

    def restrict(self, indices: Sequence[Integers]) -> Merged:
        """Return the model of the sub-tensor with these indices of each mode."""
        rows = []
        for part in self.grouping.parts:
            row = np.zeros(1, dtype=np.int64)
            for mode in part:
                row = (row[:, None] * self.shape[mode] + np.asarray(indices[mode], dtype=np.int64)).ravel()
            rows.append(row)
        return Merged(self.model.restrict(rows), [len(index) for index in indices], self.groups)

    def multiplied(self, mode: int, matrix: Matrix) -> Merged:
        """Return the product with a matrix along `mode`: new slice i is the sum over j of matrix[i, j] * slice j."""
        place = self.grouping.places[mode]
        part = self.grouping.parts[place]
        at = part.index(mode)
        before, after = (math.prod(self.grouping.sizes(modes)) for modes in (part[:at], part[at + 1 :]))
        shape = [matrix.shape[0] if other == mode else size for other, size in enumerate(self.shape)]
        if len(part) > 1:
            # The other modes of the group stay as they are, so that nearly all of the matrix is zeros.
            ends = [scipy.sparse.eye_array(count, dtype=matrix.dtype) for count in (before, after)]
            within = scipy.sparse.kron(ends[0], scipy.sparse.csr_array(matrix))
            matrix = scipy.sparse.csr_array(scipy.sparse.kron(within, ends[1]))
        return Merged(self.model.multiplied(place, matrix), shape, self.groups)

    def orthonormal(self) -> Merged:
        """Return the same tensor with orthonormal factors of the inner model."""
        return Merged(self.model.orthonormal(), self.shape, self.groups)

    def scaled(self, factor: float) -> Merged:
        """Return the tensor times a number, exactly for a power of two."""
        return Merged(self.model.scaled(factor), self.shape, self.groups)

    def _dense(self) -> Floats:
        order = self.grouping.order
        whole = self.model._dense().reshape(self.grouping.sizes(order))
        return np.ascontiguousarray(whole.transpose(np.argsort(order)))

    def _margin(self, mode: int) -> Floats:
        place = self.grouping.places[mode]
        part = self.grouping.parts[place]
        others = tuple(axis for axis, other in enumerate(part) if other != mode)
        margin: Floats = self.model._margin(place).reshape(self.grouping.sizes(part)).sum(axis=others)
        return margin

    def inner(self, other: Model) -> float:
        """Return the inner product with a model of the same kind and the same groups, without dense arrays."""
        if not isinstance(other, Merged) or other.shape != self.shape or type(other.model) is not type(self.model):
            raise TypeError(f"the inner product needs models of the same kind and shape, not {self!r} and {other!r}.")
        if other.groups != self.groups:
            raise TypeError(
                f"the inner product needs models with the same modes merged, not {self.groups} and {other.groups}."
            )
        return self.model.inner(other.model)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the model, as a file stores them, with the kind of the inner model as text."""
        arrays = {"inner": np.array(self.model.kind), "places": np.array(self.grouping.places, dtype=np.int64)}
        return arrays | {f"{INNER}{name}": array for name, array in self.model.to_arrays().items()}

    @classmethod
    def from_arrays(cls, shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model from the arrays of `to_arrays`."""
        inner = {name.removeprefix(INNER): arrays[name] for name in arrays if name.startswith(INNER)}
        grouping = Grouping(shape, _stored_groups(arrays["places"]))
        if arrays["places"].tolist() != list(grouping.places):
            raise ValueError("its merged modes must have a place for each mode of the tensor")
        kind = str(arrays["inner"])
        if kind not in MODELS or kind == cls.kind:
            raise ValueError(f"there is no inner model of kind {kind[:40]!r}")
        return cls(MODELS[kind].from_arrays(grouping.merged_shape, inner), shape, grouping.groups)


def _stored_groups(places: NDArray[Any]) -> Groups:
    """Return the modes that have the same place."""
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise ValueError("the places of its modes must be whole numbers")
    groups = (tuple(np.flatnonzero(places == place).tolist()) for place in np.unique(places))
    return tuple(group for group in groups if len(group) > 1)
