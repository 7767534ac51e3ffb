"""The tensor ring and the tensor train: every entry is a product of small matrices, one from the core of each mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._support.types import Floats, Integers, Matrix
from ..algebra.ring import ring_of, transfer
from ..algebra.unfolding import times
from . import exchange
from .base import Model

CHUNK_NUMBERS = 2**18
"""The largest number of intermediate values held at a time while entries are predicted."""


class TensorRing(Model):
    """X[i_1, .., i_M] = trace(G_1[i_1] G_2[i_2] .. G_M[i_M]), with a small matrix for each index of each mode.

    Parameters
    ----------
    shape
        The shape of the tensor.
    cores
        One array for each mode, of shape (r_d, I_d, r_{d+1}), where r_{M+1} = r_1; ``G_d[i]`` is ``cores[d][:, i, :]``.

    Examples
    --------
    >>> turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> core = np.stack([np.eye(2), turn], axis=1)
    >>> TensorRing((2, 2), [core, core]).to_dense()
    array([[ 2.,  0.],
           [ 0., -2.]])
    """

    kind = "ring"

    def __init__(self, shape: Sequence[int], cores: Sequence[Floats]) -> None:
        self.shape = tuple(shape)
        self.cores = tuple(np.asarray(core) for core in cores)
        found = [core.shape for core in self.cores]
        fits = len(found) == len(self.shape) and all(
            len(core) == 3 and core[1] == size and core[2] == after[0]
            for core, after, size in zip(found, [*found[1:], *found[:1]], self.shape, strict=True)
        )
        if not fits:
            raise ValueError(
                f"a {type(self).__name__} of shape {self.shape} must have a core of shape (rank before, size, rank "
                f"after) for each mode, where the ranks of neighbours agree, but its cores have {found}."
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, ranks={self.ranks})"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the predictions."""
        return self.cores[0].dtype

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks r_1, .., r_M; the rank of a mode links its core to the previous one."""
        return tuple(len(core) for core in self.cores)

    @property
    def nbytes(self) -> int:
        """The number of bytes that the model holds."""
        return sum(core.nbytes for core in self.cores)

    def _values_at(self, coords: Integers) -> Floats:
        matrices = [np.ascontiguousarray(core.transpose(1, 0, 2)) for core in self.cores]
        chunk = max(1, CHUNK_NUMBERS // max(1, *(each[0].size if len(each) else 0 for each in matrices)))
        out = np.empty(len(coords), dtype=self.dtype)
        for first in range(0, len(coords), chunk):
            part = coords[first : first + chunk]
            product = matrices[0].take(part[:, 0], axis=0)
            for mode in range(1, self.ndim - 1):
                product = product @ matrices[mode].take(part[:, mode], axis=0)
            last = matrices[-1].take(part[:, -1], axis=0)
            out[first : first + chunk] = np.einsum("pab,pba->p", product, last)
        return out

    def restrict(self, indices: Sequence[Integers]) -> Self:
        """Return the model of the sub-tensor with these indices of each mode."""
        cores = [core[:, index] for core, index in zip(self.cores, indices, strict=True)]
        return type(self)([len(index) for index in indices], cores)

    def multiplied(self, mode: int, matrix: Matrix) -> Self:
        """Return the product with a matrix along `mode`: new slice i is the sum over j of matrix[i, j] * slice j."""
        cores = list(self.cores)
        cores[mode] = times(matrix.astype(self.dtype), cores[mode], 1)
        return type(self)([core.shape[1] for core in cores], cores)

    def scaled(self, factor: float) -> Self:
        """Return the tensor times a number, exactly for a power of two."""
        return type(self)(self.shape, [self.cores[0] * factor, *self.cores[1:]])

    def _dense(self) -> Floats:
        return ring_of(self.cores)

    def _margin(self, mode: int) -> Floats:
        sums = [core.sum(axis=1, dtype=np.float64) for core in self.cores]
        around = reduce(np.matmul, sums[mode + 1 :] + sums[:mode])
        margin: Floats = np.einsum("aib,ba->i", self.cores[mode].astype(np.float64, copy=False), around)
        return margin

    def inner(self, other: Model) -> float:
        """Return the inner product with a ring or train of the same shape, by the product of transfer matrices.

        The transfer matrix of a mode is the sum over i of ``kron(G_d[i], H_d[i])``, and the inner product is the trace
        of the product.
        """
        if not isinstance(other, TensorRing) or other.shape != self.shape:
            raise TypeError(f"the inner product needs models of the same kind and shape, not {self!r} and {other!r}.")
        pairs = [(a.astype(np.float64), b.astype(np.float64)) for a, b in zip(self.cores, other.cores, strict=True)]
        return float(np.einsum("acac->", transfer(pairs)))

    def to_tensorly(self) -> Any:
        """Return the same tensor as a ``TRTensor`` of TensorLy, or a ``TTTensor`` for a train."""
        return exchange.tensorly_chain(self.cores, self.kind)

    @classmethod
    def from_tensorly(cls, theirs: Any) -> Self:
        """Return the model of a ``TRTensor`` of TensorLy, or of a ``TTTensor`` for a train."""
        cores = [exchange.array_of(core) for core in theirs]
        return cls([core.shape[1] for core in cores], cores)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the model, as a file stores them."""
        return {f"core{mode}": core for mode, core in enumerate(self.cores)}

    @classmethod
    def from_arrays(cls, shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model from the arrays of `to_arrays`."""
        return cls(shape, [arrays[f"core{mode}"] for mode in range(len(shape))])


class TensorTrain(TensorRing):
    """X[i_1, .., i_M] = G_1[i_1] G_2[i_2] .. G_M[i_M]: an open ring, whose first rank is one.

    Parameters
    ----------
    shape
        The shape of the tensor.
    cores
        One array for each mode, of shape (r_d, I_d, r_{d+1}), where r_1 and r_{M+1} are 1.

    Examples
    --------
    >>> TensorTrain((2, 3), [[[[1.0], [2.0]]], [[[1.0], [0.0], [3.0]]]]).to_dense()
    array([[1., 0., 3.],
           [2., 0., 6.]])
    """

    kind = "train"

    def __init__(self, shape: Sequence[int], cores: Sequence[Floats]) -> None:
        super().__init__(shape, cores)
        if len(self.cores[0]) != 1:
            raise ValueError(
                f"the first and the last rank of a tensor train must be 1, but they are {len(self.cores[0])}; "
                "use TensorRing."
            )

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks between neighbouring modes, one fewer than there are modes."""
        return super().ranks[1:]
