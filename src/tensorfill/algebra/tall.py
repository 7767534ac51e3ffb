"""Tall matrices: what the algebra asks of a matrix that may be too long for one machine."""

from __future__ import annotations

from typing import Any, Protocol, Self, TypeVar

import numpy as np

from .._support.types import Floats

T_contra = TypeVar("T_contra", contravariant=True)


class Wide(Protocol[T_contra]):
    """A transposed tall matrix."""

    def __matmul__(self, tall: T_contra, /) -> Floats:
        """Return the small product with a tall matrix."""


class Tall(Protocol):
    """A matrix with few columns, which small matrices multiply: an array, or rows on the workers of a cluster."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its numbers."""

    @property
    def nbytes(self) -> int:
        """The number of bytes of the whole matrix."""

    @property
    def T(self) -> Wide[Self]:
        """The transposed matrix."""

    def __matmul__(self, small: Floats, /) -> Self:
        """Return the product with a small matrix."""

    def __add__(self, other: Self, /) -> Self:
        """Return the sum."""


V = TypeVar("V", bound=Tall)
"""The tall matrices of a storage: arrays, or rows on workers."""

E = TypeVar("E")
"""What a storage has for a number at each observed entry: an array, or the name of one on workers."""
