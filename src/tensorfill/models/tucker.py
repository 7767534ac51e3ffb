"""The Tucker model: a small core tensor, multiplied by a factor matrix along each mode."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._support.types import Floats, Integers, Matrix
from ..algebra.component import WeightedComponent
from ..algebra.tucker_entries import FactorRows, values_at
from ..algebra.unfolding import smallest_index_type, unfold
from . import exchange
from .base import Model
from .folded import FoldedLowRank

CHUNK = 2**20
"""The largest number of entries that are predicted at a time."""


NOTHING = 1e-6
"""Directions shorter than this, relative to the vectors they come from, or than the root of the precision, are
rounding."""


class Tucker(Model):
    """X = core x_1 A_1 x_2 A_2 .. x_M A_M.

    Entry by entry, ``X[i_1, .., i_M] = sum over k of core[k_1, .., k_M] A_1[i_1, k_1] .. A_M[i_M, k_M]``.

    Parameters
    ----------
    shape
        The shape of the tensor.
    core
        An array of shape (r_1, .., r_M).
    factors
        One matrix for each mode, of shape (I_d, r_d).

    Examples
    --------
    >>> Tucker((2, 3), [[2.0]], [[[1.0], [2.0]], [[1.0], [0.0], [1.0]]]).to_dense()
    array([[2., 0., 2.],
           [4., 0., 4.]])
    """

    kind = "tucker"

    def __init__(self, shape: Sequence[int], core: Floats, factors: Sequence[Floats]) -> None:
        self.shape = tuple(shape)
        self.core = np.asarray(core)
        self.factors = tuple(np.asarray(factor) for factor in factors)
        wanted = list(zip(self.shape, self.core.shape, strict=False))
        found = [factor.shape for factor in self.factors]
        if self.core.ndim != len(self.shape) or found != wanted:
            raise ValueError(
                f"a Tucker model of shape {self.shape} must have a factor of shape (size, rank) for each mode, "
                f"but its core has shape {self.core.shape} and its factors have {found}."
            )

    @classmethod
    def from_folded(cls, model: FoldedLowRank) -> Self:
        """Return the projection of a model of NORT onto its subspaces.

        The factor of a regularised mode is an orthonormal basis of the left singular vectors of its component. The
        factor of any other mode is the identity, except that a matrix with one component uses its right singular
        vectors for the other mode. A component of rank zero gets one constant vector, so that least squares has
        something to start from. If all components have rank zero, the core is zero.

        Examples
        --------
        >>> from tensorfill.algebra.component import Component
        >>> part = Component(0, np.eye(2)[:, :1], np.array([3.0]), np.eye(4)[:, :1])
        >>> Tucker.from_folded(FoldedLowRank((2, 4), [part], [1.0]))
        Tucker(shape=(2, 4), ranks=(1, 1))
        """
        found = {part.mode: _basis(part.u) for part in model.components}
        if model.ndim == 2 and len(found) == 1:
            found[1 - model.modes[0]] = _basis(model.components[0].v)
        free = dict(sorted(found.items()))
        core: Floats = sum(_projected(term, model.shape, free) for term in model.terms)  # type: ignore[assignment]
        identities = {
            mode: np.eye(size, dtype=model.dtype) for mode, size in enumerate(model.shape) if mode not in free
        }
        return cls(model.shape, core, [(free | identities)[mode] for mode in range(model.ndim)])

    def __repr__(self) -> str:
        return f"Tucker(shape={self.shape}, ranks={self.ranks})"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the predictions."""
        return self.core.dtype

    @property
    def ranks(self) -> tuple[int, ...]:
        """The multilinear ranks, one for each mode."""
        return self.core.shape

    @property
    def nbytes(self) -> int:
        """The number of bytes that the model holds."""
        return self.core.nbytes + sum(factor.nbytes for factor in self.factors)

    def _values_at(self, coords: Integers) -> Floats:
        out = np.empty(len(coords), dtype=self.dtype)
        core = np.ascontiguousarray(self.core, dtype=np.float64).reshape(1, -1)
        rows = FactorRows([factor.astype(np.float64) for factor in self.factors])
        if core.size == 0:
            return np.zeros_like(out)
        for first in range(0, len(coords), CHUNK):
            # Copies of one type and memory layout, and writeable, so that the loop is compiled only once.
            part = np.array(coords[first : first + CHUNK], dtype=smallest_index_type(max(self.shape)), order="C")
            out[first : first + CHUNK] = values_at(part, np.zeros(len(part), dtype=np.int32), core, rows)
        return out

    def restrict(self, indices: Sequence[Integers]) -> Tucker:
        """Return the model of the sub-tensor with these indices of each mode."""
        factors = [factor[index] for factor, index in zip(self.factors, indices, strict=True)]
        return Tucker([len(index) for index in indices], self.core, factors)

    def orthonormal(self) -> Tucker:
        """Return the same tensor with orthonormal factors."""
        pairs = [np.linalg.qr(factor) for factor in self.factors]
        core = _multiplied(self.core, {mode: change for mode, (_, change) in enumerate(pairs)})
        return Tucker(self.shape, core, [basis for basis, _ in pairs])

    def with_directions(self, directions: Mapping[int, Floats]) -> Tucker:
        """Return the same tensor with more columns in some factors, orthonormal to the others, and zeros in the core.

        Parameters
        ----------
        directions
            Columns by mode. Those within the span of the factor are left out.
        """
        factors, more = list(self.factors), [0] * self.ndim
        for mode, columns in directions.items():
            found = _beyond(factors[mode], columns)
            factors[mode], more[mode] = np.hstack([factors[mode], found]), found.shape[1]
        return Tucker(self.shape, np.pad(self.core, [(0, count) for count in more]), factors)

    def plus(self, other: Tucker) -> Tucker:
        """Return the sum with another Tucker model of the same shape: the factors are concatenated in every mode."""
        around = zip(self.core.shape, other.core.shape, strict=True)
        core = np.pad(self.core, [(0, more) for _, more in around])
        core[tuple(slice(own, None) for own in self.core.shape)] = other.core
        return Tucker(self.shape, core, [np.hstack(pair) for pair in zip(self.factors, other.factors, strict=True)])

    def truncated(self, ranks: Mapping[int, int]) -> Tucker:
        """Return the strongest directions of some modes: the leading left singular vectors of the unfolded core.

        Examples
        --------
        >>> Tucker((2, 2), np.diag([1.0, 5.0]), [np.eye(2), np.eye(2)]).truncated({0: 1}).to_dense()
        array([[0., 0.],
               [0., 5.]])
        """
        core, factors = self.core, list(self.factors)
        for mode, rank in ranks.items():
            basis = np.linalg.svd(unfold(core, mode), full_matrices=False)[0][:, :rank]
            core = _multiplied(core, {mode: basis.T})
            factors[mode] = factors[mode] @ basis
        return Tucker(self.shape, core, factors)

    def multiplied(self, mode: int, matrix: Matrix) -> Tucker:
        """Return the product with a matrix along `mode`: new slice i is the sum over j of matrix[i, j] * slice j."""
        factors = list(self.factors)
        factors[mode] = matrix.astype(self.dtype) @ factors[mode]
        return Tucker([len(factor) for factor in factors], self.core, factors)

    def scaled(self, factor: float) -> Tucker:
        """Return the tensor times a number, exactly for a power of two."""
        return Tucker(self.shape, self.core * factor, self.factors)

    def _dense(self) -> Floats:
        return np.array(_multiplied(self.core, dict(enumerate(self.factors))), order="C")

    def _margin(self, mode: int) -> Floats:
        sums = [factor.sum(axis=0, dtype=np.float64, keepdims=True) for factor in self.factors]
        core = _multiplied(self.core, {other: row for other, row in enumerate(sums) if other != mode})
        margin: Floats = self.factors[mode] @ core.reshape(-1).astype(np.float64, copy=False)
        return margin

    def inner(self, other: Model) -> float:
        """Return the inner product with a model of the same kind, from the matrices A_d^T B_d and the two cores."""
        if not isinstance(other, Tucker) or other.shape != self.shape:
            raise TypeError(f"the inner product needs models of the same kind and shape, not {self!r} and {other!r}.")
        grams = [a.T @ b for a, b in zip(self.factors, other.factors, strict=True)]
        return float(np.vdot(self.core, _multiplied(other.core, dict(enumerate(grams)))))

    def to_tensorly(self) -> Any:
        """Return the same tensor as a ``TuckerTensor`` of TensorLy."""
        return exchange.tensorly_tucker(self.core, self.factors)

    @classmethod
    def from_tensorly(cls, theirs: Any) -> Self:
        """Return the model of a ``TuckerTensor`` of TensorLy, or of a pair of core and factors."""
        core, given = theirs
        factors = [exchange.array_of(factor) for factor in given]
        return cls([len(factor) for factor in factors], exchange.array_of(core), factors)

    def to_pyttb(self) -> Any:
        """Return the same tensor as a ``ttensor`` of pyttb."""
        return exchange.pyttb_tucker(self.core, self.factors)

    @classmethod
    def from_pyttb(cls, theirs: Any) -> Self:
        """Return the model of a ``ttensor`` of pyttb."""
        return cls(theirs.shape, theirs.core.double(), [np.array(each) for each in theirs.factor_matrices])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the model, as a file stores them."""
        return {"core": self.core} | {f"factor{mode}": factor for mode, factor in enumerate(self.factors)}

    @classmethod
    def from_arrays(cls, shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model from the arrays of `to_arrays`."""
        return cls(shape, arrays["core"], [arrays[f"factor{mode}"] for mode in range(len(shape))])


def _multiplied(tensor: Floats, matrices: Mapping[int, Floats]) -> Floats:
    """Return the product of a tensor with ``matrices[d]`` along each mode d that has one."""
    for mode, matrix in matrices.items():
        tensor = np.moveaxis(np.tensordot(matrix, tensor, axes=(1, mode)), 0, mode)
    return tensor


def _basis(vectors: Floats) -> Floats:
    """Return an orthonormal basis of the span of the columns, or one constant vector if there are none."""
    if vectors.shape[1] == 0:
        return np.full((len(vectors), 1), len(vectors) ** -0.5, dtype=vectors.dtype)
    # The vectors of a sub-tensor, as returned by `restrict`, are not orthonormal.
    basis: Floats = np.linalg.qr(vectors)[0]
    return basis


def _beyond(basis: Floats, columns: Floats) -> Floats:
    """Return an orthonormal basis of the columns' part outside the span of an orthonormal basis."""
    room = max(len(basis) - basis.shape[1], 0)
    beyond = columns - basis @ (basis.T @ columns)
    found, lengths, _ = np.linalg.svd(beyond, full_matrices=False)
    least = max(NOTHING, math.sqrt(np.finfo(basis.dtype).eps)) * float(np.linalg.norm(columns))
    found = found[:, : int(np.sum(lengths > least))][:, :room]
    # A second time, because the division by small lengths magnifies the rounding errors of the first.
    return np.asarray(np.linalg.qr(found - basis @ (basis.T @ found))[0]).astype(basis.dtype, copy=False)


def _projected(term: WeightedComponent, shape: Sequence[int], bases: Mapping[int, Floats]) -> Floats:
    """Return the product of a weighted component with ``bases[d]^T`` along each mode d that has a basis."""
    weight, part = term
    others = [mode for mode in range(len(shape)) if mode != part.mode]
    v = part.v.reshape(*(shape[mode] for mode in others), part.rank)
    v = _multiplied(v, {place: bases[mode].T for place, mode in enumerate(others) if mode in bases})
    u = (bases[part.mode].T @ part.u) * (weight * part.s)
    core = np.moveaxis(np.tensordot(u, v, axes=(1, -1)), 0, part.mode)
    return core.astype(part.u.dtype, copy=False)
