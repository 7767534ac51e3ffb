"""The current model of a run, whose right factors are on the workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._support.fingerprints import fingerprint
from .._support.types import Floats, Integers, Matrix
from ..algebra.component import LowRank
from ..models import Model
from ..models.folded import OfComponents
from .crew import Crew
from .cutting import Cut
from .model import SpreadModel
from .part import Term
from .rows import Rows


class WorkingModel(OfComponents[Rows]):
    """A folded low-rank model within a run on workers.

    It delegates the methods of a tensor to the same model in parts on the workers, which is made when it is first
    needed.

    Parameters
    ----------
    crew, cut
        The workers, and how the tensor is cut.
    components, weights
        One component and its weight for each regularised mode.
    """

    def __init__(self, crew: Crew, cut: Cut, components: Sequence[LowRank[Rows]], weights: Sequence[float]) -> None:
        self.crew, self.cut, self.shape = crew, cut, cut.shape
        self.components = tuple(components)
        self.weights = tuple(float(weight) for weight in weights)

    @property
    def fingerprint(self) -> str:
        """A short text that identifies the model, however the tensor is cut."""
        # The left factors determine the right ones.
        known = [(part.mode, part.u, part.s, part.v.shape, str(part.v.dtype)) for part in self.components]
        return fingerprint(self.shape, self.weights, known)

    @property
    def nbytes(self) -> int:
        """The number of bytes that the model holds, here and on the workers."""
        return sum(component.nbytes for component in self.components)

    @property
    def told(self) -> list[list[Term]]:
        """The weighted components as they are sent to each part."""
        return told(self.cut, self.components, self.weights)

    @cached_property
    def left_there(self) -> SpreadModel:
        """The same model in parts, which stay on the workers after the run."""
        parts = self.crew.left_there("model", [(each,) for each in self.told])
        return SpreadModel(self.crew.client, self.shape, self.cut.mode, self.cut.bounds, parts)

    def _values_at(self, coords: Integers) -> Floats:
        return self.left_there.predict(coords)

    def restrict(self, indices: Sequence[Integers]) -> Any:
        """Return the model of the sub-tensor with these indices of each mode, in the memory of this machine."""
        return self.left_there.restrict(indices)

    def multiplied(self, mode: int, matrix: Matrix) -> Model:
        """Refuse to mix the slices of different parts."""
        return self.left_there.multiplied(mode, matrix)

    def scaled(self, factor: float) -> WorkingModel:
        """Return the tensor times a number; a power of two causes no rounding."""
        parts = [LowRank(part.mode, part.u, part.s * factor, part.v) for part in self.components]
        return WorkingModel(self.crew, self.cut, parts, self.weights)

    def _dense(self) -> Floats:
        return self.left_there.to_dense(max_bytes=float("inf"))

    def _margin(self, mode: int) -> Floats:
        return self.left_there.margin(mode)

    def inner(self, other: Model) -> float:
        """Return the inner product with a model of the same run; nothing dense is built."""
        return self.left_there.inner(other.left_there if isinstance(other, WorkingModel) else other)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Refuse to bring the factors together unasked."""
        return self.left_there.to_arrays()

    @classmethod
    def from_arrays(cls, shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Refuse: a model of a run has no arrays here."""
        raise ValueError("a model of a run on workers is not in a file")


def told(cut: Cut, components: Sequence[LowRank[Rows]], weights: Sequence[float]) -> list[list[Term]]:
    """Return weighted components as they are sent to each part, with its rows of the left factors."""
    whole = [
        Term(weight, part.mode, np.ascontiguousarray(part.u), part.s, part.v.name)
        for weight, part in zip(weights, components, strict=True)
    ]
    return [[replace(term, u=term.u[rows]) if term.mode == cut.mode else term for term in whole] for rows in cut.ranges]
