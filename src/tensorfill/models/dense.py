"""A tensor with every entry stored: the result of a fit with a smooth field, which has no compact form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.checks import real_array
from .._support.types import Floats, Integers, Matrix
from ..algebra.unfolding import times
from .base import Model


class Dense(Model):
    """All entries of a tensor.

    Parameters
    ----------
    array
        The entries.
    ranks
        The ranks of its low-rank part, if it has one.

    Examples
    --------
    >>> Dense([[1.0, 2.0], [3.0, 4.0]]).predict([[1, 0]])
    array([3.])
    """

    kind = "dense"

    def __init__(self, array: ArrayLike, ranks: Sequence[int] = ()) -> None:
        narrow = isinstance(array, np.ndarray) and array.dtype == np.float32
        self.array = np.ascontiguousarray(array) if narrow else real_array(array, "the array of a dense model")
        self.shape = self.array.shape
        self._ranks = tuple(int(rank) for rank in ranks)

    def __repr__(self) -> str:
        return f"Dense(shape={self.shape}, ranks={self.ranks})"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the predictions."""
        return self.array.dtype

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks of the low-rank part."""
        return self._ranks

    @property
    def nbytes(self) -> int:
        """The number of bytes that the model holds."""
        return self.array.nbytes

    def _values_at(self, coords: Integers) -> Floats:
        values: Floats = self.array[tuple(coords.T)]
        return values

    def restrict(self, indices: Sequence[Integers]) -> Dense:
        """Return the model of the sub-tensor with these indices of each mode."""
        return Dense(self.array[np.ix_(*indices)], self.ranks)

    def multiplied(self, mode: int, matrix: Matrix) -> Dense:
        """Return the product with a matrix along `mode`: new slice i is the sum over j of matrix[i, j] * slice j."""
        return Dense(times(matrix.astype(self.dtype), self.array, mode), self.ranks)

    def scaled(self, factor: float) -> Dense:
        """Return the tensor times a number, exactly for a power of two."""
        return Dense(self.array * factor, self.ranks)

    def _dense(self) -> Floats:
        return self.array.copy()

    def _margin(self, mode: int) -> Floats:
        others = tuple(axis for axis in range(self.ndim) if axis != mode)
        margin: Floats = self.array.sum(axis=others, dtype=np.float64)
        return margin

    def inner(self, other: Model) -> float:
        """Return the inner product with a model of the same kind."""
        if not isinstance(other, Dense) or other.shape != self.shape:
            raise TypeError(f"the inner product needs models of the same kind and shape, not {self!r} and {other!r}.")
        return float(np.vdot(self.array, other.array))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the model, as a file stores them."""
        return {"array": self.array, "ranks": np.array(self.ranks, dtype=np.int64)}

    @classmethod
    def from_arrays(cls, shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model from the arrays of `to_arrays`."""
        return cls(arrays["array"], arrays["ranks"].tolist())
