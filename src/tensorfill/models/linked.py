"""A model of what is expected, as scores: a curve of every entry of another model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._support.types import Floats, Integers, Matrix
from ..losses.links import Link
from .base import MODELS, Model
from .dense import Dense

INNER, LINK = "inner.", "link."
"""The prefixes of the names of the inner model's arrays, and of the numbers of the link."""


class Linked(Model):
    """X = link(L): every entry of a model L, which estimates what is expected, turned into a score by a curve.

    A model of rates or probabilities has low rank, and its scores have not. Predictions and slices cost what those of L
    cost; sums and products over all entries go through the dense tensor.

    Parameters
    ----------
    model
        The model L, of any kind; its type is the type of the predictions.
    link
        The curve.

    Examples
    --------
    >>> from tensorfill.models import CPModel
    >>> rates = CPModel((2, 3), [2.0], [[[1.0], [2.0]], [[1.0], [3.0], [1.0]]])
    >>> np.exp(Linked(rates, Link(low=0.0, width=0.01)).to_dense()).round(6)
    array([[ 2.,  6.,  2.],
           [ 4., 12.,  4.]])
    """

    kind = "linked"

    def __init__(self, model: Model, link: Link) -> None:
        self.shape = model.shape
        self.model = model
        self.link = link

    def __repr__(self) -> str:
        return f"Linked({self.model!r}, {self.link!r})"

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
        return self.link(self.model._values_at(coords))

    def restrict(self, indices: Sequence[Integers]) -> Linked:
        """Return the model of the sub-tensor with these indices of each mode."""
        return Linked(self.model.restrict(indices), self.link)

    def multiplied(self, mode: int, matrix: Matrix) -> Dense:
        """Return the product with a matrix along `mode`, which is dense."""
        return self._as_dense().multiplied(mode, matrix)

    def scaled(self, factor: float) -> Linked:
        """Return the tensor times a number, exactly for a power of two."""
        link = replace(self.link, intercept=self.link.intercept * factor, slope=self.link.slope * factor)
        return Linked(self.model, link)

    def _dense(self) -> Floats:
        return self.link(self.model._dense())

    def _as_dense(self) -> Dense:
        return Dense(self.to_dense(max_bytes=math.inf), self.ranks)

    def _margin(self, mode: int) -> Floats:
        return self._as_dense()._margin(mode)

    def inner(self, other: Model) -> float:
        """Return the inner product with another linked model, through the dense tensors."""
        if not isinstance(other, Linked) or other.shape != self.shape:
            raise TypeError(f"the inner product needs models of the same kind and shape, not {self!r} and {other!r}.")
        return self._as_dense().inner(other._as_dense())

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the model, as a file stores them, with the kind of the inner model as text."""
        inner = {f"{INNER}{name}": array for name, array in self.model.to_arrays().items()}
        # Files hold finite numbers only; what is infinite is so by default.
        link = {f"{LINK}{name}": np.array(value) for name, value in asdict(self.link).items() if math.isfinite(value)}
        return {"inner": np.array(self.model.kind)} | link | inner

    @classmethod
    def from_arrays(cls, shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model from the arrays of `to_arrays`."""
        inner = {name.removeprefix(INNER): arrays[name] for name in arrays if name.startswith(INNER)}
        link = {name.removeprefix(LINK): float(arrays[name]) for name in arrays if name.startswith(LINK)}
        return cls(MODELS[str(arrays["inner"])].from_arrays(shape, inner), Link(**link))
