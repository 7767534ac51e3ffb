"""The interface of restorers, which turn an array back into the kind of object that was given, also after a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from .._support.types import Floats, Integers
from ..labels import Labels


class Restorer(ABC):
    """Turns an array of the tensor's shape into the kind of object that was given."""

    kind: ClassVar[str]

    libraries: ClassVar[tuple[str, ...]]
    """The packages that the object can belong to."""

    words: ClassVar[dict[str, Any]]
    """The type hint of everything that `described` returns as words."""

    @property
    @abstractmethod
    def library(self) -> str:
        """The package that the object belongs to."""

    @abstractmethod
    def __call__(self, dense: Floats) -> Any:
        """Return the object."""

    def part(self, block: Floats, places: Sequence[Integers], kept: Sequence[int], labels: Labels) -> Any:
        """Return a part of the tensor, with its labels where the library has a way to write them.

        Parameters
        ----------
        block
            The entries, with an axis for every mode.
        places
            The indices of each mode in the part.
        kept
            The modes of which several indices were asked for; the others have one, and no axis in the answer.
        labels
            The labels of the whole tensor.
        """
        return block.reshape([len(places[mode]) for mode in kept])

    @abstractmethod
    def described(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a file must store besides the labels: words and numbers for JSON, and arrays by name."""

    @classmethod
    @abstractmethod
    def rebuilt(cls, labels: Labels, words: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the restorer, from its labels and the result of `described`, whose words have the right types.

        What does not fit together raises a ValueError.
        """

    def with_ends(self, dense: Floats, low: Floats, high: Floats) -> Any:
        """Return the object with the ends of intervals beside its values; by default three objects."""
        return self(dense), self(low), self(high)

    def grown(self, labels: Labels, shape: tuple[int, ...]) -> Restorer | None:
        """Return the restorer of a larger tensor with these labels; None if the object cannot hold it."""
        return None


def regrown(restore: Any, labels: Labels, shape: tuple[int, ...]) -> Restorer | None:
    """Return what restores a tensor that has grown, or None to leave it an array."""
    return restore.grown(labels, shape) if isinstance(restore, Restorer) else None
