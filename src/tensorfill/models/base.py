"""What an answer can do, whatever its form."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.checks import coordinates, dense_size, mode_number
from .._support.types import Floats, Integers

DENSE_LIMIT = 2**30
"""Bytes above which a dense array is made only when the caller says so."""


class Model(ABC):
    """A tensor that is known without being stored entry by entry.

    A model predicts at any coordinates, gives slices and fibres by indexing as an array does, and becomes dense only
    when asked to.
    """

    kind: ClassVar[str]
    shape: tuple[int, ...]

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Type of the predictions."""

    @property
    @abstractmethod
    def ranks(self) -> tuple[int, ...]:
        """The ranks of the form."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes held."""

    @abstractmethod
    def _values_at(self, coords: Integers) -> Floats:
        """Return the entries at coordinates that are known to be good."""

    @abstractmethod
    def restrict(self, indices: Sequence[Integers]) -> Self:
        """Return the model of the sub-tensor with these indices of each mode."""

    @abstractmethod
    def multiplied(self, mode: int, matrix: Floats) -> Model:
        """Return the model of the tensor whose slices along `mode` are combinations of the present ones.

        Slice i of the result is the sum over j of matrix[i, j] times slice j.
        """

    @abstractmethod
    def _dense(self) -> Floats:
        """Return all entries, whatever their number."""

    @abstractmethod
    def _margin(self, mode: int) -> Floats:
        """Return the sums over all other modes, for a mode that is known to be good."""

    @abstractmethod
    def inner(self, other: Model) -> float:
        """Return the inner product with a model of the same kind, neither made dense."""

    @abstractmethod
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that make up the model, for a file."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model made of the arrays of `to_arrays`."""

    @property
    def ndim(self) -> int:
        """Order of the tensor."""
        return len(self.shape)

    def margin(self, mode: int) -> Floats:
        """Return for each index of `mode` the sum of all entries that have it, in float64; nothing dense is built."""
        return self._margin(mode_number(mode, "mode", self.ndim))

    def norm(self) -> float:
        """Return the Frobenius norm."""
        return math.sqrt(max(self.inner(self), 0.0))

    def predict(self, coords: ArrayLike) -> Floats:
        """Return the entries at `coords`, of shape (n, ndim); nothing dense is built."""
        return self._values_at(coordinates(coords, self.shape))

    def to_dense(self, *, max_bytes: float = DENSE_LIMIT) -> Floats:
        """Return all entries as an array, unless it would hold more than `max_bytes`."""
        dense_size(self.shape, self.dtype.itemsize, max_bytes)
        return self._dense()

    def __getitem__(self, key: Any) -> Floats:
        """Return a part of the tensor as a dense array, indexed by whole numbers, slices, ``...``, lists or masks.

        A list or mask keeps its mode, and several of them take their outer product, as ``numpy.ix_`` does.
        """
        indices, drop = _indices_of(key, self.shape)
        part: Floats = self.restrict(indices).to_dense().squeeze(axis=drop)[()]
        return part


def _indices_of(key: Any, shape: tuple[int, ...]) -> tuple[list[Integers], tuple[int, ...]]:
    """Return the indices of each mode that `key` means, and the modes that a whole number takes away."""
    keys = list(key) if isinstance(key, tuple) else [key]
    gaps = [place for place, part in enumerate(keys) if part is Ellipsis]
    missing = len(shape) - len(keys) + len(gaps)
    if len(gaps) > 1 or missing < 0:
        raise IndexError(
            f"A tensor of order {len(shape)} takes at most {len(shape)} indices and one '...', but {key!r} was given."
        )
    place = gaps[0] if gaps else len(keys)
    keys[place : place + 1] = [slice(None)] * missing
    indices, drop = [], []
    for mode, (part, size) in enumerate(zip(keys, shape, strict=True)):
        indices.append(_index_of(part, mode, size))
        if not isinstance(part, slice) and np.ndim(part) == 0:
            drop.append(mode)
    return indices, tuple(drop)


def _index_of(part: Any, mode: int, size: int) -> Integers:
    """Return the indices of one mode that a whole number, slice, list or mask means."""
    if isinstance(part, slice):
        return np.arange(*part.indices(size))
    try:
        given = np.asarray(part)
    except ValueError:
        given = np.asarray(None)
    if given.dtype == bool and given.shape == (size,):
        return np.flatnonzero(given)
    if given.ndim > 1 or (given.size and given.dtype.kind not in "iu"):
        raise IndexError(
            f"mode {mode} is indexed by whole numbers, slices, '...', lists of whole numbers or {size} truth values, "
            f"but {part!r} was given.".replace("\n", "")
        )
    index = np.atleast_1d(given).astype(np.int64)
    wrong = (index < -size) | (index >= size)
    if wrong.any():
        raise IndexError(f"index {index[wrong][0]} of mode {mode} is outside its size {size}.")
    return index % size
