"""The interface of all models."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.checks import coordinates, dense_size, mode_number
from .._support.fingerprints import fingerprint
from .._support.parallel import one_blas_thread
from .._support.types import Floats, Integers, Matrix

DENSE_LIMIT = 2**30
"""The default limit for a dense array, in bytes."""

MODELS: dict[str, type[Model]] = {}
"""The model classes by their `kind`, the name used in files."""


class Model(ABC):
    """Base class of models: tensors that are represented without storing every entry.

    A model predicts at any coordinates, returns slices and fibres when it is indexed like an array, and becomes dense
    only on request. A subclass that defines `kind` is registered in `MODELS`, so that it can be read from a file.
    """

    kind: ClassVar[str]
    shape: tuple[int, ...]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            MODELS[cls.kind] = cls

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The type of the predictions."""

    @property
    @abstractmethod
    def ranks(self) -> tuple[int, ...]:
        """The ranks of the model."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The number of bytes that the model holds."""

    @abstractmethod
    def _values_at(self, coords: Integers) -> Floats:
        """Return the entries at coordinates that are known to be valid."""

    @abstractmethod
    def restrict(self, indices: Sequence[Integers]) -> Self:
        """Return the model of the sub-tensor with these indices of each mode."""

    @abstractmethod
    def multiplied(self, mode: int, matrix: Matrix) -> Model:
        """Return the product with a matrix along `mode`: new slice i is the sum over j of matrix[i, j] * slice j."""

    def orthonormal(self) -> Model:
        """Return the same tensor with orthonormal factors, as methods start from; by default it is as it is."""
        return self

    @abstractmethod
    def scaled(self, factor: float) -> Self:
        """Return the tensor times a number, exactly for a power of two."""

    @abstractmethod
    def _dense(self) -> Floats:
        """Return all entries, without a limit on their number."""

    @abstractmethod
    def _margin(self, mode: int) -> Floats:
        """Return the sums over all other modes, for a mode that is known to be valid."""

    @abstractmethod
    def inner(self, other: Model) -> float:
        """Return the inner product with a model of the same kind, without dense arrays."""

    @abstractmethod
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the model, as a file stores them."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model from the arrays of `to_arrays`."""

    @property
    def ndim(self) -> int:
        """The order of the tensor, its number of modes."""
        return len(self.shape)

    @property
    def fingerprint(self) -> str:
        """A string that identifies the model by its content."""
        return fingerprint(self.kind, self.shape, self.to_arrays())

    def margin(self, mode: int) -> Floats:
        """Return the sum of each slice along `mode`, in float64, without dense arrays."""
        return self._margin(mode_number(mode, "mode", self.ndim))

    @one_blas_thread
    def norm(self) -> float:
        """Return the Frobenius norm."""
        return math.sqrt(max(self.inner(self), 0.0))

    def to_tensorly(self) -> Any:
        """Return the same tensor as an object of TensorLy, if TensorLy has this kind of model."""
        raise TypeError(
            f"TensorLy has CP, Tucker, tensor train and tensor ring, but the model is {self!r}; "
            "give it to_dense(), or take a method such as 'cp', 'grow' or 'tucker_als'."
        )

    def to_pyttb(self) -> Any:
        """Return the same tensor as an object of pyttb, if pyttb has this kind of model."""
        raise TypeError(
            f"pyttb has CP and Tucker, but the model is {self!r}; "
            "give it to_dense(), or take a method such as 'cp', 'grow' or 'tucker_als'."
        )

    @one_blas_thread
    def predict(self, coords: ArrayLike) -> Floats:
        """Return the entries at `coords`, of shape (n, ndim), without dense arrays."""
        return self._values_at(coordinates(coords, self.shape))

    @one_blas_thread
    def to_dense(self, *, max_bytes: float = DENSE_LIMIT) -> Floats:
        """Return all entries as an array, or raise an error if it would hold more than `max_bytes`."""
        dense_size(self.shape, self.dtype.itemsize, max_bytes)
        return self._dense()

    def __getitem__(self, key: Any) -> Floats:
        """Return a part of the tensor as a dense array, indexed by integers, slices, ``...``, lists or masks.

        An integer removes its mode. Several lists or masks select the outer product of their indices, as with
        ``numpy.ix_``.
        """
        indices, drop = _indices_of(key, self.shape)
        part: Floats = self.restrict(indices).to_dense().squeeze(axis=drop)[()]
        return part


def _indices_of(key: Any, shape: tuple[int, ...]) -> tuple[list[Integers], tuple[int, ...]]:
    """Return the indices that `key` selects in each mode, and the modes that an integer removes."""
    keys = list(key) if isinstance(key, tuple) else [key]
    gaps = [place for place, part in enumerate(keys) if part is Ellipsis]
    missing = len(shape) - len(keys) + len(gaps)
    if len(gaps) > 1 or missing < 0:
        raise IndexError(
            f"a tensor of order {len(shape)} takes at most {len(shape)} indices and one '...', but {key!r} was given."
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
    """Return the indices that an integer, slice, list or mask selects in one mode."""
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
            f"mode {mode} must be indexed by a whole number, a slice, '...', a list of whole numbers or a mask of "
            f"{size} truth values, but {part!r} was given.".replace("\n", "")
        )
    index = np.atleast_1d(given).astype(np.int64)
    wrong = (index < -size) | (index >= size)
    if wrong.any():
        raise IndexError(f"indices of mode {mode} must be from {-size} to {size - 1}, but {index[wrong][0]} was given.")
    return index % size
