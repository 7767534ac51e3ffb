"""The interface of restorers, which turn an array back into the input's kind, also for a fit read from a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from .._support.types import Floats, Integers
from ..labels import Labels


class Restorer(ABC):
    """Turns an array of the tensor's shape into an object of the input's kind."""

    kind: ClassVar[str]

    libraries: ClassVar[tuple[str, ...]]
    """The packages that the object can belong to."""

    words: ClassVar[dict[str, Any]]
    """The type hint of each item in the first dictionary of `described`."""

    @property
    @abstractmethod
    def library(self) -> str:
        """The package that the object belongs to."""

    @abstractmethod
    def __call__(self, dense: Floats) -> Any:
        """Return the object."""

    def part(self, block: Floats, places: Sequence[Integers], kept: Sequence[int], labels: Labels) -> Any:
        """Return a part of the tensor, with labels if the library supports them.

        Parameters
        ----------
        block
            The entries, with an axis for every mode.
        places
            The indices of the part in each mode.
        kept
            The modes that keep an axis; the others were indexed by a single number.
        labels
            The labels of the whole tensor.
        """
        return block.reshape([len(places[mode]) for mode in kept])

    @abstractmethod
    def described(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a file must store besides the labels: a dictionary for JSON, and arrays by name."""

    @classmethod
    @abstractmethod
    def rebuilt(cls, labels: Labels, words: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the restorer, from its labels and the result of `described`, whose types are checked already.

        Inconsistent parts raise a ValueError.
        """

    def with_ends(self, dense: Floats, low: Floats, high: Floats) -> Any:
        """Return the object with the ends of intervals beside its values; by default as three objects."""
        return self(dense), self(low), self(high)

    def grown(self, labels: Labels, shape: tuple[int, ...]) -> Restorer | None:
        """Return the restorer of a larger tensor with these labels; None if the object cannot hold it."""
        return None


def regrown(restore: Any, labels: Labels, shape: tuple[int, ...]) -> Restorer | None:
    """Return the restorer of a tensor that has grown, or None to leave it an array."""
    return restore.grown(labels, shape) if isinstance(restore, Restorer) else None
