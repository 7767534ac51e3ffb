"""The CP model: a sum of outer products of vectors, one vector for each mode."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._support.types import Floats, Integers, Matrix
from . import exchange
from .base import Model
from .tucker import Tucker

CHUNK_NUMBERS = 2**18
"""The largest number of intermediate values held at a time while entries are predicted."""

MOST_IN_CORE = 2**20
"""The largest number of elements of a small core: 8 MiB."""


class CPModel(Model):
    """X = sum_r w_r a_r o b_r o c_r, with one vector for each mode in every term.

    Entry by entry, ``X[i_1, .., i_M] = sum over r of weights[r] A_1[i_1, r] .. A_M[i_M, r]``.

    Parameters
    ----------
    shape
        The shape of the tensor.
    weights
        The weights w_r, of shape (R,).
    factors
        One matrix for each mode, of shape (I_d, R).

    Examples
    --------
    >>> CPModel((2, 3), [2.0], [[[1.0], [2.0]], [[1.0], [0.0], [1.0]]]).to_dense()
    array([[2., 0., 2.],
           [4., 0., 4.]])
    """

    kind = "cp"

    def __init__(self, shape: Sequence[int], weights: Floats, factors: Sequence[Floats]) -> None:
        self.shape = tuple(shape)
        self.weights = np.asarray(weights)
        self.factors = tuple(np.asarray(factor) for factor in factors)
        wanted = [(size, *self.weights.shape) for size in self.shape]
        found = [factor.shape for factor in self.factors]
        if self.weights.ndim != 1 or found != wanted:
            raise ValueError(
                f"a CP model of shape {self.shape} must have R weights and a factor of shape (size, R) for each mode, "
                f"but its weights have shape {self.weights.shape} and its factors have {found}."
            )

    @classmethod
    def normalised(cls, factors: Sequence[Floats]) -> Self:
        """Return the sum of the outer products of these columns, with columns of unit length and decreasing weights."""
        lengths = [np.sqrt(np.einsum("ir,ir->r", factor, factor)) for factor in factors]
        weights: Floats = math.prod(lengths)
        order = np.argsort(-weights, kind="stable")
        units = [
            # A column of zeros has no direction and is left unchanged.
            (factor / np.where(length > 0, length, 1))[:, order]
            for factor, length in zip(factors, lengths, strict=True)
        ]
        return cls([len(factor) for factor in factors], weights[order], units)

    def balanced_factors(self) -> list[Floats]:
        """Return factors of the same tensor whose weights are all one, with columns of equal length in every mode."""
        lengths = [np.sqrt(np.einsum("ir,ir->r", factor, factor)) for factor in self.factors]
        total = np.abs(self.weights) * math.prod(lengths)
        each = total ** (1 / self.ndim)
        scales = [each / np.where(length > 0, length, 1) for length in lengths]
        scales[0] = scales[0] * np.where(self.weights < 0, -1, 1)
        pairs = zip(self.factors, scales, strict=True)
        return [(factor * scale).astype(self.dtype, copy=False) for factor, scale in pairs]

    @property
    def has_small_core(self) -> bool:
        """Whether the core of its Tucker form needs little memory."""
        return bool(len(self.weights) ** self.ndim <= MOST_IN_CORE)

    def in_tucker_form(self) -> Tucker:
        """Return the same tensor in Tucker form, with orthonormal factors and a small core."""
        terms = np.arange(len(self.weights))
        core = np.zeros((len(terms),) * self.ndim, dtype=self.dtype)
        core[(terms,) * self.ndim] = self.weights
        return Tucker(self.shape, core, self.factors).orthonormal()

    def plus(self, other: CPModel) -> CPModel:
        """Return the sum with another CP model of the same shape: the terms of both."""
        factors = [np.hstack(pair) for pair in zip(self.factors, other.factors, strict=True)]
        return CPModel(self.shape, np.concatenate([self.weights, other.weights]), factors)

    def __repr__(self) -> str:
        return f"CPModel(shape={self.shape}, ranks={self.ranks})"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the predictions."""
        return self.weights.dtype

    @property
    def ranks(self) -> tuple[int, ...]:
        """The number of terms, as a tuple of one."""
        return self.weights.shape

    @property
    def nbytes(self) -> int:
        """The number of bytes that the model holds."""
        return self.weights.nbytes + sum(factor.nbytes for factor in self.factors)

    def _values_at(self, coords: Integers) -> Floats:
        chunk = max(1, CHUNK_NUMBERS // max(1, len(self.weights)))
        out = np.empty(len(coords), dtype=self.dtype)
        for first in range(0, len(coords), chunk):
            part = coords[first : first + chunk]
            terms = self.factors[0].take(part[:, 0], axis=0)
            for mode in range(1, self.ndim):
                terms *= self.factors[mode].take(part[:, mode], axis=0)
            out[first : first + chunk] = terms @ self.weights
        return out

    def restrict(self, indices: Sequence[Integers]) -> CPModel:
        """Return the model of the sub-tensor with these indices of each mode."""
        factors = [factor[index] for factor, index in zip(self.factors, indices, strict=True)]
        return CPModel([len(index) for index in indices], self.weights, factors)

    def multiplied(self, mode: int, matrix: Matrix) -> CPModel:
        """Return the product with a matrix along `mode`: new slice i is the sum over j of matrix[i, j] * slice j."""
        factors = list(self.factors)
        factors[mode] = matrix.astype(self.dtype) @ factors[mode]
        return CPModel([len(factor) for factor in factors], self.weights, factors)

    def scaled(self, factor: float) -> CPModel:
        """Return the tensor times a number, exactly for a power of two."""
        return CPModel(self.shape, self.weights * factor, self.factors)

    def _dense(self) -> Floats:
        # One matrix product; each side has the rows of about half of the modes.
        sizes = [math.prod(self.shape[:cut]) + math.prod(self.shape[cut:]) for cut in range(1, self.ndim)]
        cut = 1 + int(np.argmin(sizes))
        left, right = row_products(self.factors[:cut]), row_products(self.factors[cut:])
        dense: Floats = (left * self.weights) @ right.T
        return dense.reshape(self.shape)

    def _margin(self, mode: int) -> Floats:
        sums = [factor.sum(axis=0, dtype=np.float64) for other, factor in enumerate(self.factors) if other != mode]
        margin: Floats = self.factors[mode] @ (self.weights * math.prod(sums))
        return margin

    def inner(self, other: Model) -> float:
        """Return the inner product with a model of the same kind, from the matrices A_d^T B_d."""
        if not isinstance(other, CPModel) or other.shape != self.shape:
            raise TypeError(f"the inner product needs models of the same kind and shape, not {self!r} and {other!r}.")
        gram = reduce(np.multiply, [a.T @ b for a, b in zip(self.factors, other.factors, strict=True)])
        return float(self.weights @ gram @ other.weights)

    def to_tensorly(self) -> Any:
        """Return the same tensor as a ``CPTensor`` of TensorLy."""
        return exchange.tensorly_cp(self.weights, self.factors)

    @classmethod
    def from_tensorly(cls, theirs: Any) -> Self:
        """Return the model of a ``CPTensor`` of TensorLy, or of a pair of weights and factors."""
        weights, given = theirs
        factors = [exchange.array_of(factor) for factor in given]
        # TensorLy uses None for weights that are all one.
        ones = np.ones(factors[0].shape[1], factors[0].dtype)
        return cls([len(each) for each in factors], ones if weights is None else exchange.array_of(weights), factors)

    def to_pyttb(self) -> Any:
        """Return the same tensor as a ``ktensor`` of pyttb."""
        return exchange.pyttb_cp(self.weights, self.factors)

    @classmethod
    def from_pyttb(cls, theirs: Any) -> Self:
        """Return the model of a ``ktensor`` of pyttb."""
        return cls(theirs.shape, np.array(theirs.weights), [np.array(each) for each in theirs.factor_matrices])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the model, as a file stores them."""
        return {"weights": self.weights} | {f"factor{mode}": factor for mode, factor in enumerate(self.factors)}

    @classmethod
    def from_arrays(cls, shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model from the arrays of `to_arrays`."""
        return cls(shape, arrays["weights"], [arrays[f"factor{mode}"] for mode in range(len(shape))])


def row_products(factors: Sequence[Floats]) -> Floats:
    """Return the products of one row of each factor, for all combinations of rows in C order."""
    rows = factors[0]
    for factor in factors[1:]:
        rows = (rows[:, None, :] * factor[None, :, :]).reshape(len(rows) * len(factor), rows.shape[1])
    return rows
