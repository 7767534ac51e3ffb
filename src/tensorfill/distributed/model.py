"""A model whose parts are on the workers of a cluster, each of them the model of a range of slices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from .._support.checks import real_number
from .._support.optional import need
from .._support.types import Floats, Integers, Matrix
from .._support.words import bytes_in_words
from ..models import FoldedLowRank
from ..models.base import DENSE_LIMIT, Model
from .cluster import check_reachable, reached

if TYPE_CHECKING:
    from distributed import Client, Future


@dataclass(frozen=True)
class Outline:
    """The properties of a model that do not need its factors.

    Parameters
    ----------
    modes, ranks
        The mode of each component, and its rank.
    dtype
        The type of the predictions.
    nbytes
        The bytes of a part.
    """

    modes: tuple[int, ...]
    ranks: tuple[int, ...]
    dtype: np.dtype[Any]
    nbytes: int

    @classmethod
    def of(cls, part: FoldedLowRank) -> Self:
        """Return the outline of a part of a model, on its worker."""
        return cls(part.modes, part.ranks, part.dtype, part.nbytes)


class SpreadModel(Model):
    """A folded low-rank model in parts on the workers of a cluster.

    Predictions are made on the workers. Methods that need all factors in one place raise an error; `together` gathers
    the factors.

    Parameters
    ----------
    client
        The cluster.
    shape
        The shape of the tensor.
    mode, bounds
        Part k has the slices ``bounds[k]`` to ``bounds[k + 1] - 1`` along this mode.
    parts
        Futures of the parts, each a `FoldedLowRank` of its slices.
    lasting
        Whether parts can be restored from files if a worker is lost.
    """

    def __init__(
        self,
        client: Client,
        shape: Sequence[int],
        mode: int,
        bounds: Sequence[int],
        parts: Sequence[Future[Any]],
        *,
        lasting: bool = False,
    ) -> None:
        self.client, self.shape, self.mode, self.parts = client, tuple(shape), mode, list(parts)
        self.bounds, self.lasting = tuple(int(bound) for bound in bounds), lasting
        need("distributed", "dask").wait(self.parts)
        self._outlines: list[Outline] = self.ask(Outline.of, "outline")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, ranks={self.ranks}, parts={len(self.parts)})"

    @property
    def modes(self) -> tuple[int, ...]:
        """The mode of each component."""
        return self._outlines[0].modes

    @property
    def ranks(self) -> tuple[int, ...]:
        """The rank of each component."""
        return self._outlines[0].ranks

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the predictions."""
        return self._outlines[0].dtype

    @property
    def nbytes(self) -> int:
        """The number of bytes that the parts hold together."""
        return sum(outline.nbytes for outline in self._outlines)

    def ask(self, function: Callable[..., Any], name: str, *given: Sequence[Any]) -> list[Any]:
        """Apply a function to each part on its worker, and return the results.

        Parameters
        ----------
        function
            A function of the part.
        name
            The name of the tasks.
        *given
            Further arguments, one for each part.
        """
        self._check_parts()
        run = uuid4().hex
        keys = [(f"tensorfill-{name}-{run}", number) for number in range(len(self.parts))]
        with reached(self.client):
            answers: list[Any] = self.client.gather(self.client.map(function, self.parts, *given, key=keys))
        return answers

    def _check_parts(self) -> None:
        """Raise an error if the model is gone, because Dask would wait for its worker."""
        if not self.parts:
            raise ValueError("the fit was closed, and its model is gone; load it, or complete the table again.")
        check_reachable(self.client)
        if not self.lasting and any(part.status in ("pending", "cancelled", "lost") for part in self.parts):
            raise ConnectionError(
                "a Dask worker is gone, and its part of the model with it; load the fit from the folder that it was "
                "saved to, or complete the table again."
            )

    def _values_at(self, coords: Integers) -> Floats:
        self._check_parts()
        rows, asked = zip(*routed(coords, self.mode, self.bounds), strict=True)
        sent = self.client.scatter(list(asked), hash=False)
        values = np.empty(len(coords), dtype=self.dtype)
        for own, found in zip(rows, self.ask(_predicted, "predict", sent), strict=True):
            values[own] = found
        return values

    def together(self, *, max_bytes: float = DENSE_LIMIT) -> FoldedLowRank:
        """Return the model in the memory of this machine.

        Parameters
        ----------
        max_bytes
            The largest model to gather, in bytes; a larger one raises an error.
        """
        limit = real_number(max_bytes, "max_bytes", above=0) if np.isfinite(max_bytes) else max_bytes
        if self.nbytes > limit:
            raise ValueError(
                f"the model takes {bytes_in_words(self.nbytes)}, above max_bytes={max_bytes:,.0f}; raise max_bytes if "
                "it fits in memory, or ask the model where it is."
            )
        self._check_parts()
        return FoldedLowRank.joined((future.result() for future in self.parts), self.mode, self.shape)

    def restrict(self, indices: Sequence[Integers]) -> Any:
        """Return the model of the sub-tensor with these indices of each mode, in the memory of this machine."""
        order = np.argsort(indices[self.mode], kind="stable")
        wanted = indices[self.mode][order]
        shape = tuple(len(index) for index in indices)
        places = part_of(wanted, self.bounds)
        own = [
            [wanted[places == part] - first if axis == self.mode else index for axis, index in enumerate(indices)]
            for part, first in enumerate(self.bounds[:-1])
        ]
        parts = self.ask(FoldedLowRank.restrict, "restrict", own)
        sorted_parts = FoldedLowRank.joined(parts, self.mode, shape)
        back = [np.argsort(order) if axis == self.mode else np.arange(size) for axis, size in enumerate(shape)]
        return sorted_parts.restrict(back)

    def scaled(self, factor: float) -> SpreadModel:
        """Return the tensor times a number; a power of two causes no rounding."""
        run = uuid4().hex
        keys = [(f"tensorfill-scale-{run}", number) for number in range(len(self.parts))]
        scaled = self.client.map(FoldedLowRank.scaled, self.parts, [factor] * len(self.parts), key=keys)
        return SpreadModel(self.client, self.shape, self.mode, self.bounds, scaled, lasting=self.lasting)

    def _dense(self) -> Floats:
        return np.concatenate(self.ask(FoldedLowRank._dense, "dense"), axis=self.mode)

    def _margin(self, mode: int) -> Floats:
        margins = self.ask(FoldedLowRank.margin, "margin", [mode] * len(self.parts))
        return np.concatenate(margins) if mode == self.mode else np.sum(margins, axis=0)

    def inner(self, other: Model) -> float:
        """Return the inner product with a model of the same parts; nothing dense is built."""
        if not isinstance(other, SpreadModel) or (other.shape, other.mode, other.bounds) != (
            self.shape,
            self.mode,
            self.bounds,
        ):
            raise TypeError(f"the inner product needs models of the same parts, not {self!r} and {other!r}.")
        return float(sum(self.ask(FoldedLowRank.inner, "inner", other.parts)))

    def multiplied(self, mode: int, matrix: Matrix) -> Model:
        """Refuse to mix the slices of different parts."""
        self._refuse()

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Refuse to bring the factors together unasked."""
        self._refuse()

    @classmethod
    def from_arrays(cls, shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Refuse: a model on workers has no arrays here."""
        raise ValueError("a model on the workers of a cluster is not in a file")

    def _refuse(self) -> NoReturn:
        raise TypeError(
            "the model is in parts on the workers of a cluster; bring it to this machine first, with "
            "fit.together() or tensorfill.load."
        )


def part_of(indices: Integers, bounds: Sequence[int]) -> Integers:
    """Return the part of each index along the split mode."""
    return np.searchsorted(bounds, indices, side="right") - 1


def routed(coords: Integers, mode: int, bounds: Sequence[int]) -> list[tuple[Integers, Integers]]:
    """Return for each part its rows of `coords`, and their coordinates within the part."""
    part = part_of(coords[:, mode], bounds)
    order = np.argsort(part, kind="stable")
    starts = np.searchsorted(part[order], np.arange(len(bounds)))
    found: list[tuple[Integers, Integers]] = []
    for number, first in enumerate(bounds[:-1]):
        rows = order[starts[number] : starts[number + 1]]
        own = coords[rows]
        own[:, mode] -= first
        found.append((rows, own))
    return found


def _predicted(part: FoldedLowRank, coords: Integers) -> Floats:
    return part.predict(coords)
