"""A model of a tensor of which one mode, such as time, is two in the model: rows, and slots of a row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .._support.checks import mode_number, tensor_shape, whole_number
from .._support.types import Floats, Integers, Matrix
from .base import MODELS, Model
from .blend import inner_product

INNER = "inner."
"""The prefix of the names of the inner model's arrays."""

WEIGHTS = ("weights", "columns", "starts")
"""The names of the arrays of a sparse matrix of weights."""


@dataclass(frozen=True)
class Folding:
    """Which mode of a tensor becomes two.

    Index t becomes row t // period and slot t % period, two modes at the place of the one, so that entries keep their
    order. The last row may be longer than the mode.

    Parameters
    ----------
    shape
        The shape of the tensor.
    mode, period
        The mode, and the number of slots of a row.

    Examples
    --------
    >>> folding = Folding((3, 50), 1, 24)
    >>> folding.folded_shape, folding.folded(np.array([[2, 49]])).tolist()
    ((3, 3, 24), [[2, 2, 1]])
    """

    shape: tuple[int, ...]
    mode: int
    period: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tensor_shape(self.shape))
        object.__setattr__(self, "mode", mode_number(self.mode, "mode", len(self.shape)))
        object.__setattr__(self, "period", whole_number(self.period, "period", at_least=1))

    @property
    def size(self) -> int:
        """The size of the mode."""
        return self.shape[self.mode]

    @cached_property
    def folded_shape(self) -> tuple[int, ...]:
        """The shape of the folded tensor."""
        rows = -(-self.size // self.period)
        return (*self.shape[: self.mode], rows, self.period, *self.shape[self.mode + 1 :])

    def folded(self, coords: Integers) -> Integers:
        """Return coordinates in the folded tensor."""
        return self._replaced(coords, *np.divmod(coords[:, self.mode].astype(np.int64), self.period))

    def _replaced(self, coords: Integers, rows: Integers, slots: Integers) -> Integers:
        out = np.empty((len(coords), len(self.shape) + 1), dtype=np.int64, order="F")
        out[:, : self.mode] = coords[:, : self.mode]
        out[:, self.mode], out[:, self.mode + 1] = rows, slots
        out[:, self.mode + 2 :] = coords[:, self.mode + 1 :]
        return out

    def unfolded(self, coords: Integers) -> Integers:
        """Return coordinates in the tensor from those in the folded one."""
        out = np.delete(coords, self.mode + 1, axis=1).astype(np.int64)
        out[:, self.mode] = coords[:, self.mode].astype(np.int64) * self.period + coords[:, self.mode + 1]
        return np.asfortranarray(out)


class Unfolded(Model):
    """X of which one mode is two, rows and slots, in another model L: ``X[i, t] = L[i, t // P, t % P]``.

    Slices of X that are selected or combined are sums of slices of L with weights, of which only those that are not
    zero are held: ``X[i, s] = sum_t W[s, t] L[i, t // P, t % P]``.

    Parameters
    ----------
    model
        The model L, of any kind but this one.
    mode
        The mode of X, whose rows and slots are the modes `mode` and `mode` + 1 of L. The slots are P.
    size
        The size of the mode; without weights at most the number of rows times P. What L has beyond it is not used.
    weights
        The weights W, with a column for each row and slot; None for those of the formula above.

    Examples
    --------
    >>> from tensorfill.models import Dense
    >>> model = Unfolded(Dense(np.arange(12.0).reshape(2, 2, 3)), 1, 5)
    >>> model.shape, model.predict([[0, 4], [1, 3]]).tolist()
    ((2, 5), [4.0, 9.0])
    """

    kind = "unfolded"

    def __init__(self, model: Model, mode: int, size: int, weights: Matrix | None = None) -> None:
        held = math.prod(model.shape[mode : mode + 2]) if 0 <= mode <= model.ndim - 2 else 0
        fits = size <= held if weights is None else weights.shape == (size, held)
        if isinstance(model, Unfolded) or model.ndim < 3 or not fits or not 0 <= mode <= model.ndim - 2:
            raise ValueError(
                f"the model must have rows and slots for the {size:,} indices of mode {mode}, and must not be unfolded "
                f"itself, but it is {model!r}."
            )
        self.model, self.mode = model, mode
        self.weights = None if weights is None else scipy.sparse.csr_array(weights)
        self.shape = (*model.shape[:mode], size, *model.shape[mode + 2 :])

    def __repr__(self) -> str:
        return f"Unfolded({self.model!r}, shape={self.shape}, mode={self.mode}, period={self.period})"

    @property
    def period(self) -> int:
        """The number of slots of a row."""
        return self.model.shape[self.mode + 1]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.model.shape[self.mode]

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
        return self.model.nbytes + sum(array.nbytes for array in self._weight_arrays().values())

    @property
    def _all_weights(self) -> Any:
        """The weights, also if they are those of every model."""
        if self.weights is not None:
            return self.weights
        size = self.shape[self.mode]
        return scipy.sparse.csr_array(scipy.sparse.eye_array(size, self.rows * self.period))

    def _like(self, model: Model) -> Unfolded:
        return Unfolded(model, self.mode, self.shape[self.mode], self.weights)

    def _values_at(self, coords: Integers) -> Floats:
        if not len(coords):
            return np.zeros(0, dtype=self.dtype)
        folding = Folding(self.shape, self.mode, self.period)
        if self.weights is None:
            return self.model._values_at(folding.folded(coords))
        own = self.weights[coords[:, self.mode]]
        counts = np.diff(own.indptr)
        moved = coords[np.repeat(np.arange(len(coords)), counts)].astype(np.int64)
        moved[:, self.mode] = own.indices
        values = own.data * self.model._values_at(folding.folded(moved))
        return np.bincount(np.repeat(np.arange(len(coords)), counts), values, len(coords)).astype(self.dtype)

    def restrict(self, indices: Sequence[Integers]) -> Unfolded:
        """Return the model of the sub-tensor with these indices of each mode."""
        index = np.asarray(indices[self.mode], dtype=np.int64)
        before, after = list(indices[: self.mode]), list(indices[self.mode + 1 :])
        every = [np.arange(size) for size in self.model.shape[self.mode : self.mode + 2]]
        if np.array_equal(index, np.arange(self.shape[self.mode])):
            return self._like(self.model.restrict([*before, *every, *after]))
        if not len(index):
            return Unfolded(self.model.restrict([*before, index, every[1], *after]), self.mode, 0)
        chosen = scipy.sparse.coo_array(self._all_weights[index])
        row, slot = np.divmod(chosen.coords[1], self.period)
        (rows, row), (slots, slot) = (np.unique(each, return_inverse=True) for each in (row, slot))
        columns = row.ravel() * len(slots) + slot.ravel()
        weights = scipy.sparse.csr_array(
            (chosen.data, (chosen.coords[0], columns)), shape=(len(index), len(rows) * len(slots))
        )
        return Unfolded(self.model.restrict([*before, rows, slots, *after]), self.mode, len(index), weights)

    def multiplied(self, mode: int, matrix: Matrix) -> Unfolded:
        """Return the product with a matrix along `mode`: new slice i is the sum over j of matrix[i, j] * slice j."""
        if mode != self.mode:
            return self._like(self.model.multiplied(mode + (mode > self.mode), matrix))
        weights = scipy.sparse.csr_array(scipy.sparse.csr_array(matrix) @ self._all_weights)
        return Unfolded(self.model, self.mode, matrix.shape[0], weights)

    def orthonormal(self) -> Unfolded:
        """Return the same tensor with orthonormal factors of the inner model."""
        return self._like(self.model.orthonormal())

    def scaled(self, factor: float) -> Unfolded:
        """Return the tensor times a number, exactly for a power of two."""
        return self._like(self.model.scaled(factor))

    def _dense(self) -> Floats:
        shape, size = self.model.shape, self.shape[self.mode]
        whole = self.model._dense().reshape(*shape[: self.mode], self.rows * self.period, *shape[self.mode + 2 :])
        if self.weights is None:
            return np.ascontiguousarray(whole[(slice(None),) * self.mode + (slice(size),)])
        flat = np.moveaxis(whole, self.mode, 0)
        others = flat.shape[1:]
        combined = (self.weights @ flat.reshape(len(flat), math.prod(others))).reshape(size, *others)
        return np.ascontiguousarray(np.moveaxis(combined, 0, self.mode), dtype=self.dtype)

    def _margin(self, mode: int) -> Floats:
        if mode == self.mode:
            model, count = self.model, 1.0
            for other, size in enumerate(self.model.shape):
                if other not in (self.mode, self.mode + 1):
                    # Weights that sum to one keep an offset additive.
                    model = model.multiplied(other, np.full((1, size), 1 / max(size, 1), dtype=self.dtype))
                    count *= size
            return np.asarray(self._all_weights @ (count * model._dense().astype(np.float64).ravel()))
        total = np.zeros(self.shape[mode])
        for rows, slots, count in self._alike():
            part = self._part(rows).multiplied(self.mode + 1, slots[None, :] / count)
            total += count * part._margin(mode + (mode > self.mode))
        return total

    def _alike(self) -> list[tuple[Integers, Floats, float]]:
        """Return rows with the same total weights of their slots, these, and their sum or 1 if it is zero."""
        totals = self._all_weights.sum(axis=0).reshape(self.rows, self.period)
        distinct, which = np.unique(totals, axis=0, return_inverse=True)
        found: list[tuple[Integers, Floats, float]] = []
        for number, slots in enumerate(distinct):
            if slots.any():
                count = float(slots.sum())
                found.append((np.flatnonzero(which.ravel() == number), slots, count or 1.0))
        return found

    def _part(self, rows: Integers, slots: Integers | None = None) -> Model:
        """Return the inner model of some rows, and of some of their slots."""
        chosen: list[Integers] = [np.arange(size) for size in self.model.shape]
        chosen[self.mode] = rows
        if slots is not None:
            chosen[self.mode + 1] = slots
        return self.model.restrict(chosen)

    def inner(self, other: Model) -> float:
        """Return the inner product with a model of the same kind, of which the same mode is unfolded.

        No dense arrays are made, but for parts of different kinds.
        """
        if not isinstance(other, Unfolded) or other.shape != self.shape or type(other.model) is not type(self.model):
            raise TypeError(f"the inner product needs models of the same kind and shape, not {self!r} and {other!r}.")
        if other.mode != self.mode or (self.weights is None and other.weights is None and other.period != self.period):
            raise TypeError(
                "the inner product needs models with the same mode unfolded from the same period, not modes "
                f"{self.mode} and {other.mode} from {self.period} and {other.period}."
            )
        if self.weights is None and other.weights is None:
            full, left = divmod(self.shape[self.mode], self.period)
            parts = [(np.arange(full), np.arange(self.period)), (np.array([full]), np.arange(left))]
            return sum(
                inner_product(self._part(rows, slots), other._part(rows, slots))
                for rows, slots in parts
                if len(rows) and len(slots)
            )
        return self._inner_by_slots(other)

    def _inner_by_slots(self, other: Unfolded) -> float:
        """Return the inner product as a sum over pairs of slots, of which the rows are combined."""
        gram = scipy.sparse.coo_array(self._all_weights.T @ other._all_weights)
        (row, slot), (their_row, their_slot) = (
            np.divmod(each, model.period) for each, model in zip(gram.coords, (self, other), strict=True)
        )
        pairs, which = np.unique(np.stack([slot, their_slot]), axis=1, return_inverse=True)
        total = 0.0
        for number, (one, two) in enumerate(pairs.T):
            mine = which.ravel() == number
            places = (their_row[mine], row[mine])
            matrix = scipy.sparse.csr_array((gram.data[mine], places), shape=(other.rows, self.rows))
            combined = self._part(np.arange(self.rows), np.array([one])).multiplied(self.mode, matrix)
            total += inner_product(combined, other._part(np.arange(other.rows), np.array([two])))
        return total

    def _weight_arrays(self) -> dict[str, NDArray[Any]]:
        if self.weights is None:
            return {}
        own = self.weights
        return dict(zip(WEIGHTS, (own.data, own.indices.astype(np.int64), own.indptr.astype(np.int64)), strict=True))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the model, as a file stores them, with the kind of the inner model as text."""
        grid = np.array([self.mode, self.rows, self.period], dtype=np.int64)
        arrays = {"inner": np.array(self.model.kind), "grid": grid} | self._weight_arrays()
        return arrays | {f"{INNER}{name}": array for name, array in self.model.to_arrays().items()}

    @classmethod
    def from_arrays(cls, shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model from the arrays of `to_arrays`."""
        inner = {name.removeprefix(INNER): arrays[name] for name in arrays if name.startswith(INNER)}
        mode, rows, period = _stored_grid(arrays["grid"], len(shape))
        kind = str(arrays["inner"])
        if kind not in MODELS or kind == cls.kind:
            raise ValueError(f"there is no inner model of kind {kind[:40]!r}")
        weights = _stored_weights(arrays, (shape[mode], rows * period)) if WEIGHTS[0] in arrays else None
        folded = (*shape[:mode], rows, period, *shape[mode + 1 :])
        model = MODELS[kind].from_arrays(folded, inner)
        if model.shape != folded:
            raise ValueError(f"its inner model must have the shape {folded}, but it has {model.shape}")
        return cls(model, mode, shape[mode], weights)


def _stored_grid(grid: NDArray[Any], ndim: int) -> tuple[int, int, int]:
    """Return the mode, rows and slots as a file has them."""
    if grid.shape != (3,) or grid.dtype.kind not in "iu" or not 0 <= grid[0] < ndim or (grid[1:] < 0).any():
        raise ValueError("its unfolded mode, rows and slots must be three whole numbers within the tensor")
    mode, rows, period = (int(each) for each in grid)
    return mode, rows, period


def _stored_weights(arrays: Mapping[str, NDArray[Any]], shape: tuple[int, int]) -> Any:
    """Return a sparse matrix as a file has it."""
    data, columns, starts = (arrays[name] for name in WEIGHTS)
    whole = columns.dtype.kind in "iu" and starts.dtype.kind in "iu" and starts.shape == (shape[0] + 1,)
    sound = (
        whole and data.shape == columns.shape == (int(starts[-1]),) and starts[0] == 0 and (np.diff(starts) >= 0).all()
    )
    if not sound or (len(columns) and not 0 <= columns.min() <= columns.max() < shape[1]) or data.dtype.kind != "f":
        raise ValueError("its weights must be a sparse matrix with a row for each index and a column for each slot")
    return scipy.sparse.csr_array((data, columns, starts), shape=shape)
