"""A model of the slices that have entries, in their places in a tensor with long modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .._support.types import Floats, Integers, Matrix
from .base import MODELS, Model
from .centred import Centred
from .merged import Merged
from .slices import Neighbours, Slices
from .unfolded import Unfolded

INNER = "inner."
"""The prefix of the names of the inner model's arrays."""


class Placed(Model):
    """X = L x_1 W_1 .. x_M W_M: a model L of the slices with entries, and weights W_m that make all slices of these.

    A row of W_m selects a slice with entries, or averages slices for one that has none. The weights of an index are
    computed when it is asked for, so that nothing has the length of a mode.

    Parameters
    ----------
    model
        The model L, of any kind but this one.
    slices
        For each mode, which slices L has and how the others follow from them; None for a mode that L has as a whole.

    Examples
    --------
    >>> from tensorfill.models import CPModel
    >>> small = CPModel((2, 2), [1.0], [[[1.0], [3.0]], [[1.0], [10.0]]])
    >>> model = Placed(small, [Slices(10**9, np.array([5, 700])), None])
    >>> model.shape, model.predict([[5, 1], [700, 1], [600_000_000, 1]]).tolist()
    ((1000000000, 2), [10.0, 30.0, 20.0])
    """

    kind = "placed"

    def __init__(self, model: Model, slices: Sequence[Slices | None]) -> None:
        found = [size if each is None else len(each.kept) for size, each in zip(model.shape, slices, strict=True)]
        if isinstance(model, Placed) or model.shape != tuple(found):
            raise ValueError(f"the model must have the slices with entries, {tuple(found)}, but it is {model!r}.")
        self.model = model
        self.slices = tuple(slices)
        self.shape = tuple(
            size if each is None else each.size for size, each in zip(model.shape, self.slices, strict=True)
        )

    def __repr__(self) -> str:
        return f"Placed({self.model!r}, shape={self.shape})"

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
        return self.model.nbytes + sum(each.kept.nbytes for each in self.slices if each is not None)

    def with_slices(self, mode: int, slices: Slices) -> Placed:
        """Return the model with other weights of a mode, for some of the slices that it has."""
        own = self.slices[mode]
        if own is None:
            raise ValueError(f"mode {mode} has all its slices; give a mode with a list of them.")
        rows: list[Integers] = [np.arange(size) for size in self.model.shape]
        rows[mode] = own.place_of(slices.kept)
        model = self.model if len(slices.kept) == len(own.kept) else self.model.restrict(rows)
        return Placed(model, [slices if other == mode else each for other, each in enumerate(self.slices)])

    def part(self, indices: Sequence[Integers]) -> Model:
        """Return the sub-tensor with these indices of each mode, as a model of the inner kind."""
        model, rows = self._reached(indices)
        return model.restrict(rows)

    def _reached(self, indices: Sequence[Integers]) -> tuple[Model, list[Integers]]:
        """Return a model of the inner kind that has all these indices, and their numbers in it."""
        model, rows = self.model, list(indices)
        for mode, each in enumerate(self.slices):
            if each is None:
                continue
            place = each.place_of(rows[mode])
            if (place < 0).any():
                distinct, which = np.unique(rows[mode], return_inverse=True)
                weights, place = each.combined(distinct)
                model, place = model.multiplied(mode, weights), place[which.ravel()]
            rows[mode] = place
        return model, rows

    def _values_at(self, coords: Integers) -> Floats:
        if not len(coords):
            return self.model._values_at(coords)
        model, rows = self._reached(list(coords.T))
        return model._values_at(np.stack(rows, axis=1))

    def restrict(self, indices: Sequence[Integers]) -> Placed:
        """Return the model of the sub-tensor with these indices of each mode."""
        return Placed(self.part(indices), [None] * self.ndim)

    def multiplied(self, mode: int, matrix: Matrix) -> Placed:
        """Return the product with a matrix along `mode`: new slice i is the sum over j of matrix[i, j] * slice j."""
        own = self.slices[mode]
        if own is None:
            return Placed(self.model.multiplied(mode, matrix), self.slices)
        if not scipy.sparse.issparse(matrix):
            used = np.arange(own.size)
        else:
            # Only the slices that the matrix takes are asked for.
            entries = scipy.sparse.coo_array(matrix)
            used, column = np.unique(entries.coords[1], return_inverse=True)
            places = (entries.coords[0], column.ravel())
            matrix = scipy.sparse.csr_array((entries.data, places), shape=(matrix.shape[0], len(used)))
        weights, rows = own.combined(used)
        chosen = scipy.sparse.csr_array((np.ones(len(rows)), (np.arange(len(rows)), rows)))
        model = self.model.multiplied(mode, matrix @ chosen @ weights)
        return Placed(model, [None if other == mode else each for other, each in enumerate(self.slices)])

    def orthonormal(self) -> Model:
        """Return the same tensor with orthonormal factors; of the inner kind, if that has all slices."""
        model = self.model.orthonormal()
        return Placed(model, self.slices) if any(each is not None for each in self.slices) else model

    def scaled(self, factor: float) -> Placed:
        """Return the tensor times a number, exactly for a power of two."""
        return Placed(self.model.scaled(factor), self.slices)

    def _dense(self) -> Floats:
        return self.part([np.arange(size) for size in self.shape])._dense()

    def _margin(self, mode: int) -> Floats:
        model, count = self.model, 1
        for other, each in enumerate(self.slices):
            if each is not None and other != mode:
                # Weights that sum to one keep an offset additive.
                model = model.multiplied(other, each.totals()[None, :] / each.size)
                count *= each.size
        margin: Floats = count * model._margin(mode)
        own = self.slices[mode]
        if own is None:
            return margin
        weights, rows = own.combined(np.arange(own.size))
        whole: Floats = (weights @ margin)[rows]
        return whole

    def inner(self, other: Model) -> float:
        """Return the inner product with a model of the same kind and the same slices, without dense arrays."""
        if not isinstance(other, Placed) or other.shape != self.shape or type(other.model) is not type(self.model):
            raise TypeError(f"the inner product needs models of the same kind and shape, not {self!r} and {other!r}.")
        pairs = zip(self.slices, other.slices, strict=True)
        if not all(each is their if each is None else each.same_as(their) for each, their in pairs):
            raise TypeError(
                "the inner product needs models with entries in the same slices, filled in the same way, but two with "
                "others were given; predict the entries that you need, and sum these."
            )
        return _inner(self.model, other.model, list(self.slices), 0)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the model, as a file stores them, with the kind of the inner model as text."""
        arrays: dict[str, NDArray[Any]] = {"inner": np.array(self.model.kind)}
        for mode, each in enumerate(self.slices):
            if each is not None:
                arrays[f"kept{mode}"] = each.kept
                arrays |= {
                    f"{name}{mode}": np.array([way.exponent, way.nugget], dtype=np.float64)
                    for name, way in (("between", each.between), ("beyond", each.beyond))
                    if way is not None
                }
        return arrays | {f"{INNER}{name}": array for name, array in self.model.to_arrays().items()}

    @classmethod
    def from_arrays(cls, shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model from the arrays of `to_arrays`."""
        inner = {name.removeprefix(INNER): arrays[name] for name in arrays if name.startswith(INNER)}
        slices = [_stored_slices(mode, size, arrays) for mode, size in enumerate(shape)]
        sizes = tuple(size if each is None else len(each.kept) for size, each in zip(shape, slices, strict=True))
        kind = str(arrays["inner"])
        if kind not in MODELS or kind == cls.kind:
            raise ValueError(f"there is no inner model of kind {kind[:40]!r}")
        return cls(MODELS[kind].from_arrays(sizes, inner), slices)


def _inner(one: Model, other: Model, slices: Sequence[Slices | None], mode: int) -> float:
    """Return the sum over all slices of the modes from `mode` on, each as often as there are slices of its weights."""
    if mode == len(slices):
        return one.inner(other)
    own = slices[mode]
    if own is None:
        return _inner(one, other, slices, mode + 1)
    return sum(
        count * _inner(one.multiplied(mode, weights), other.multiplied(mode, weights), slices, mode + 1)
        for weights, count in own.parts()
    )


def _stored_slices(mode: int, size: int, arrays: Mapping[str, NDArray[Any]]) -> Slices | None:
    """Return the slices of a mode as a file has them, or raise a ValueError that says what is wrong."""
    if f"kept{mode}" not in arrays:
        return None
    kept = stored_kept(arrays[f"kept{mode}"], size)
    return Slices(size, kept, *(_stored_way(f"{name}{mode}", arrays) for name in ("between", "beyond")))


def stored_kept(kept: NDArray[Any], size: int) -> Integers:
    """Return the slices with entries of a mode as a file has them, if they are in order and within the mode."""
    ordered = kept.ndim == 1 and kept.dtype.kind in "iu" and len(kept) and (kept[1:] > kept[:-1]).all()
    if not ordered or not 0 <= kept[0] <= kept[-1] < size:
        raise ValueError(f"its slices must be whole numbers from 0 to {size - 1} in increasing order")
    return kept.astype(np.int64)


def _stored_way(name: str, arrays: Mapping[str, NDArray[Any]]) -> Neighbours | None:
    if name not in arrays:
        return None
    numbers = arrays[name]
    if numbers.shape != (2,) or not (0 < numbers[0] < 2 and numbers[1] >= 0):
        raise ValueError(f"{name!r} must be an exponent between 0 and 2 and a nugget of 0 or more")
    return Neighbours(*map(float, numbers))


def core_of(model: Model) -> Model:
    """Return what a method can start from: a model without the mean and the effects."""
    if isinstance(model, Placed):
        return Placed(core_of(model.model), model.slices)
    if isinstance(model, Merged):
        return Merged(core_of(model.model), model.shape, model.groups)
    if isinstance(model, Unfolded):
        return Unfolded(core_of(model.model), model.mode, model.shape[model.mode], model.weights)
    return model.model if isinstance(model, Centred) else model
