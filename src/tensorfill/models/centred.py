"""A model plus an additive tensor: the result of a fit to centred data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._support.types import Floats, Integers, Matrix
from .additive import Additive
from .base import MODELS, Model
from .cp import CPModel
from .dense import Dense
from .tucker import Tucker

INNER = "inner."
"""The prefix of the names of the inner model's arrays."""


class Centred(Model):
    """X = L + A: an additive offset A, and a model L of the data minus that offset.

    Entry by entry, ``X[i_1, .., i_M] = L[i_1, .., i_M] + mean + effects[1][i_1] + .. + effects[M][i_M]``.

    Parameters
    ----------
    model
        The model L, of any kind; its type is the type of the predictions.
    offset
        The offset A, of the same shape.

    Examples
    --------
    >>> from tensorfill.models import Tucker
    >>> low_rank = Tucker((2, 3), [[2.0]], [[[1.0], [2.0]], [[1.0], [0.0], [1.0]]])
    >>> Centred(low_rank, Additive(10.0, ([0.0, 1.0], [0.0, 0.0, -1.0]))).to_dense()
    array([[12., 10., 11.],
           [15., 11., 14.]])
    """

    kind = "centred"

    def __init__(self, model: Model, offset: Additive) -> None:
        if offset.shape != model.shape:
            raise ValueError(
                f"offset must have the model's shape {model.shape}, with one effect for each index of each mode, "
                f"but {offset.shape} was given."
            )
        self.shape = model.shape
        self.model = model
        self.offset = offset

    def __repr__(self) -> str:
        return f"Centred({self.model!r}, mean={self.offset.mean:.6g})"

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
        return self.model.nbytes + self.offset.nbytes

    def _values_at(self, coords: Integers) -> Floats:
        values = self.model._values_at(coords)
        return values + self.offset.values_at(coords).astype(values.dtype, copy=False)

    def restrict(self, indices: Sequence[Integers]) -> Centred:
        """Return the model of the sub-tensor with these indices of each mode."""
        return Centred(self.model.restrict(indices), self.offset.restrict(indices))

    def multiplied(self, mode: int, matrix: Matrix) -> Centred:
        """Return the product with a matrix along `mode`: new slice i is the sum over j of matrix[i, j] * slice j.

        The offset stays additive only if the rows of the matrix sum to one. Otherwise the result is dense.
        """
        if not np.allclose(matrix.sum(axis=1), 1.0, atol=1e-6):
            whole = Dense(self.to_dense(max_bytes=math.inf), self.ranks).multiplied(mode, matrix)
            return Centred(whole, Additive(0.0, tuple(np.zeros(size) for size in whole.shape)))
        effects = list(self.offset.effects)
        effects[mode] = matrix @ effects[mode]
        return Centred(self.model.multiplied(mode, matrix), Additive(self.offset.mean, tuple(effects)))

    def scaled(self, factor: float) -> Centred:
        """Return the tensor times a number, exactly for a power of two."""
        return Centred(self.model.scaled(factor), self.offset.scaled(factor))

    def _dense(self) -> Floats:
        out = self.model._dense()
        self.offset.add_to(out)
        return out

    def _margin(self, mode: int) -> Floats:
        return self.model._margin(mode) + self.offset.margin(mode)

    def inner(self, other: Model) -> float:
        """Return the inner product with a centred model of the same inner kind, without dense arrays.

        ``<L + A, M + B> = <L, M> + <A, M> + <B, L + A>``; a product with an offset needs only the margins of the other
        tensor.
        """
        if not isinstance(other, Centred) or other.shape != self.shape or type(other.model) is not type(self.model):
            raise TypeError(f"the inner product needs models of the same kind and shape, not {self!r} and {other!r}.")
        modes = range(self.ndim)
        return (
            self.model.inner(other.model)
            + self.offset.inner([other.model._margin(mode) for mode in modes])
            + other.offset.inner([self._margin(mode) for mode in modes])
        )

    def low_rank(self) -> CPModel | Tucker:
        """Return the same tensor as one CP or Tucker model, with the offset as a term of rank one for each mode."""
        offset = self.offset.in_cp_form(self.dtype)
        if isinstance(self.model, CPModel):
            return self.model.plus(offset)
        if isinstance(self.model, Tucker):
            return self.model.plus(offset.in_tucker_form())
        raise TypeError(f"only a CP or Tucker model takes up its offset, but the model is {self.model!r}.")

    def to_tensorly(self) -> Any:
        """Return the same tensor as an object of TensorLy, with the offset as further terms."""
        return self.low_rank().to_tensorly()

    def to_pyttb(self) -> Any:
        """Return the same tensor as an object of pyttb, with the offset as further terms."""
        return self.low_rank().to_pyttb()

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the model, as a file stores them, with the kind of the inner model as text."""
        effects = {f"effects{mode}": effect for mode, effect in enumerate(self.offset.effects)}
        inner = {f"{INNER}{name}": array for name, array in self.model.to_arrays().items()}
        return {"inner": np.array(self.model.kind), "mean": np.array(self.offset.mean)} | effects | inner

    @classmethod
    def from_arrays(cls, shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model from the arrays of `to_arrays`."""
        inner = {name.removeprefix(INNER): arrays[name] for name in arrays if name.startswith(INNER)}
        effects = tuple(arrays[f"effects{mode}"] for mode in range(len(shape)))
        return cls(MODELS[str(arrays["inner"])].from_arrays(shape, inner), Additive(float(arrays["mean"]), effects))
