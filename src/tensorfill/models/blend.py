"""A weighted sum of models: the answer where several methods together predict better than any one of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._support.types import Floats, Integers, Matrix
from .base import MODELS, Model

PART = "inner"
"""What the names of the arrays of each part begin with, followed by its number."""


class Blend(Model):
    """X = w_1 X_1 + w_2 X_2 + ..: a weighted sum of models of any kinds.

    Parameters
    ----------
    models
        The parts, of the same shape and type; the first one is what the blend is called by.
    weights
        The weight of each part.

    Examples
    --------
    >>> from tensorfill.models import CPModel, Dense
    >>> ones = CPModel((2, 3), [1.0], [np.ones((2, 1)), np.ones((3, 1))])
    >>> Blend([ones, Dense(np.arange(6.0).reshape(2, 3))], [0.5, 0.5]).to_dense()
    array([[0.5, 1. , 1.5],
           [2. , 2.5, 3. ]])
    """

    kind = "blend"

    def __init__(self, models: Sequence[Model], weights: Sequence[float] | Floats) -> None:
        shapes = {model.shape for model in models}
        if len(shapes) != 1 or len(models) != len(weights):
            raise ValueError(
                f"models must be one or more of the same shape, with one weight each, but {len(models)} models of "
                f"{len(shapes)} shapes and {len(weights)} weights were given."
            )
        self.models = tuple(models)
        self.weights: Floats = np.asarray(weights, dtype=np.float64)
        self.shape = models[0].shape

    def __repr__(self) -> str:
        return f"Blend({', '.join(f'{weight:.2g} * {model!r}' for weight, model in self._pairs)})"

    @property
    def _pairs(self) -> list[tuple[float, Model]]:
        return list(zip(self.weights.tolist(), self.models, strict=True))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the predictions, that of the first part."""
        return self.models[0].dtype

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks of the first part."""
        return self.models[0].ranks

    @property
    def nbytes(self) -> int:
        """The number of bytes that the model holds."""
        return sum(model.nbytes for model in self.models) + self.weights.nbytes

    def _values_at(self, coords: Integers) -> Floats:
        return self._summed([model._values_at(coords) for model in self.models])

    def _dense(self) -> Floats:
        return self._summed([model._dense() for model in self.models])

    def _summed(self, parts: Sequence[Floats]) -> Floats:
        """Return the weighted sum of what the parts say."""
        total = sum(weight * part for weight, part in zip(self.weights, parts, strict=True))
        return np.asarray(total).astype(self.dtype, copy=False)

    def restrict(self, indices: Sequence[Integers]) -> Blend:
        """Return the model of the sub-tensor with these indices of each mode."""
        return Blend([model.restrict(indices) for model in self.models], self.weights)

    def multiplied(self, mode: int, matrix: Matrix) -> Blend:
        """Return the product with a matrix along `mode`: new slice i is the sum over j of matrix[i, j] * slice j."""
        return Blend([model.multiplied(mode, matrix) for model in self.models], self.weights)

    def orthonormal(self) -> Blend:
        """Return the same tensor with orthonormal factors of each part that has factors."""
        return Blend([model.orthonormal() for model in self.models], self.weights)

    def scaled(self, factor: float) -> Blend:
        """Return the tensor times a number, exactly for a power of two."""
        return Blend([model.scaled(factor) for model in self.models], self.weights)

    def _margin(self, mode: int) -> Floats:
        margin: Floats = sum(weight * model._margin(mode) for weight, model in self._pairs)  # type: ignore[assignment]
        return margin

    def inner(self, other: Model) -> float:
        """Return the inner product with another blend: that of every two parts, which are made dense if kinds differ.

        Parts of different kinds that are too large to be made dense raise an error.
        """
        if not isinstance(other, Blend) or other.shape != self.shape:
            raise TypeError(f"the inner product needs models of the same kind and shape, not {self!r} and {other!r}.")
        return math.fsum(w * v * inner_product(one, two) for w, one in self._pairs for v, two in other._pairs)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the model, as a file stores them, with the kind of each part as text."""
        arrays: dict[str, NDArray[Any]] = {"weights": self.weights}
        for number, model in enumerate(self.models):
            arrays[f"{PART}{number}"] = np.array(model.kind)
            arrays |= {f"{PART}{number}.{name}": array for name, array in model.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model from the arrays of `to_arrays`."""
        models = []
        for number in range(len(np.atleast_1d(arrays["weights"]))):
            prefix = f"{PART}{number}."
            own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            models.append(MODELS[str(arrays[f"{PART}{number}"])].from_arrays(shape, own))
        return cls(models, arrays["weights"])


def inner_product(one: Model, two: Model) -> float:
    """Return the inner product of two models of the same shape, which are made dense if their kinds differ."""
    try:
        return one.inner(two)
    except TypeError:
        dense = [model.to_dense().astype(np.float64, copy=False).ravel() for model in (one, two)]
        return float(dense[0] @ dense[1])
