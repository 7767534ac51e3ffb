"""The observed entries of a tensor: coordinates and values (sparse), or an array and a mask (dense).

Every input is validated here once. Later code can rely on distinct, sorted coordinates within the shape and on finite,
immutable values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from numbers import Real
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ._support.checks import (
    boolean_array,
    choice,
    coordinates,
    dense_size,
    finite_values,
    float_type,
    generator,
    in_words,
    mode_number,
    one_for_each_entry,
    real_array,
    real_number,
    sizes,
    tensor_shape,
)
from ._support.fingerprints import fingerprint
from ._support.html import card
from ._support.ordering import TOO_FAR, at_positions, in_order, labels_of, sort_keys, take_rows
from ._support.types import Booleans, Floats, Integers
from ._support.words import percent, written
from ._support.words import sizes as shape_in_words

_Array = TypeVar("_Array", bound=NDArray[Any])

_DUPLICATES = ("error", "mean", "last", "sum")
_SPLITS = ("entry", "fibre", "slice", "block")


class Observations:
    """The observed entries of a tensor: coordinates and values (sparse), or an array and a mask (dense).

    The object is immutable: its arrays are read-only copies. A zero is an observation like any other; entries that
    are not listed are missing.

    Parameters
    ----------
    coords : (n, ndim) array of integers
        One row for each observed entry, one column for each mode, counted from 0, in any order.
    values : (n,) array of numbers
        The observed values, all finite; they are held as float64.
    shape : sequence of int
        The sizes of the modes, two or more of them. Their product may exceed 2**63.
    duplicates : {"error", "mean", "last", "sum"}, optional
        How to combine values with the same coordinates.

    See Also
    --------
    from_dense : observations of an array with missing entries.

    Examples
    --------
    >>> obs = Observations([[2, 0, 1], [0, 3, 1]], [5.0, 0.0], shape=(3, 4, 2))
    >>> obs
    Observations(shape=(3, 4, 2), observed=2 of 24 (8.33%), sparse)
    >>> obs.coords.tolist(), obs.values.tolist()
    ([[0, 3, 1], [2, 0, 1]], [0.0, 5.0])
    """

    shape: tuple[int, ...]
    _dense: tuple[Floats, Booleans] | None

    def __init__(
        self, coords: ArrayLike, values: ArrayLike, shape: Iterable[int], *, duplicates: str = "error"
    ) -> None:
        choice(duplicates, "duplicates", _DUPLICATES)
        lengths = tensor_shape(shape)
        numbers = real_array(values, "values")
        indices = coordinates(coords, lengths)
        one_for_each_entry(numbers, len(indices), "values")
        if len(indices) == 0:
            raise ValueError("at least one entry must be observed, but coords and values are empty.")
        finite_values(numbers)
        ordered, merged = in_order(indices, numbers, lengths, duplicates)
        # If nothing had to be sorted, this may still be the array that the user gave.
        ordered = ordered.copy(order="F") if ordered is indices else ordered
        self._hold_sparse(ordered, merged, lengths)

    @classmethod
    def from_dense(cls, array: ArrayLike, mask: ArrayLike | None = None) -> Self:
        """Return the observations of an array with missing entries, kept as an array and a mask.

        Parameters
        ----------
        array : array of numbers
            NaN is missing, and so are the masked entries of a numpy masked array.
        mask : array of bool, optional
            True where `array` was observed. Where it is False, the value in `array` is ignored.

        Examples
        --------
        >>> Observations.from_dense([[0.0, np.nan], [3.0, 4.0]])
        Observations(shape=(2, 2), observed=3 of 4 (75%), dense)
        """
        data = real_array(array, "array")
        tensor_shape(data.shape)
        seen: Booleans = ~np.isnan(data)
        if mask is not None:
            flags = boolean_array(mask, "mask")
            if flags.shape != data.shape:
                raise ValueError(f"mask must have the array's shape {data.shape}, but {flags.shape} was given.")
            seen &= flags
        endless = np.isinf(data) & seen
        if endless.any():
            where = in_words(np.unravel_index(int(endless.argmax()), data.shape))
            raise ValueError(
                f"array must be finite where it was observed, but {data[where]} was given at {where}; "
                "give NaN, or False in the mask, where an entry is missing."
            )
        if not seen.any():
            raise ValueError(f"at least one entry must be observed, but all {seen.size:,} are missing.")
        data[~seen] = 0.0
        return cls._of_dense(data, seen)

    @classmethod
    def from_positions(cls, positions: Integers, values: Floats, shape: Iterable[int]) -> Self:
        """Return the observations at increasing flat positions in C order, without sorting them.

        Parameters
        ----------
        positions : (n,) array of int64
            The position of each entry, each larger than the one before.
        values : (n,) array of float64 or float32
            The observed values, all finite; they keep their type.
        shape : sequence of int
            The sizes of the modes, with a product below 2**63.

        Examples
        --------
        >>> Observations.from_positions(np.array([1, 5]), np.array([2.0, 3.0]), (2, 3)).coords.tolist()
        [[0, 1], [1, 2]]
        """
        sizes_of_modes = tensor_shape(shape)
        one_for_each_entry(values, len(positions), "values")
        finite_values(values)
        rises = len(positions) > 0 and positions[0] >= 0 and bool((positions[1:] > positions[:-1]).all())
        if not rises or positions[-1] >= math.prod(sizes_of_modes):
            raise ValueError(f"positions must increase from 0 or more within a tensor of shape {sizes_of_modes}.")
        return cls._of_sparse(at_positions(positions, sizes_of_modes), values, sizes_of_modes)

    @classmethod
    def _of_sparse(cls, coords: Integers, values: Floats, shape: tuple[int, ...]) -> Self:
        """Return observations from coordinates and values that are checked and sorted already."""
        made = cls.__new__(cls)
        made._hold_sparse(coords, values, shape)
        return made

    @classmethod
    def _of_dense(cls, array: Floats, mask: Booleans) -> Self:
        """Return observations from a C-ordered array and its mask that are checked already."""
        made = cls.__new__(cls)
        vars(made).update(shape=array.shape, _dense=(_frozen(array), _frozen(mask)))
        return made

    def _hold_sparse(self, coords: Integers, values: Floats, shape: tuple[int, ...]) -> None:
        """Set the attributes, which dense storage would compute on demand."""
        vars(self).update(shape=shape, _dense=None, coords=_frozen(coords), values=_frozen(values))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Observations cannot be changed, so {name} cannot be set; make new ones.")

    @property
    def ndim(self) -> int:
        """The order of the tensor."""
        return len(self.shape)

    @cached_property
    def _count(self) -> int:
        return len(self.values) if self._dense is None else int(np.count_nonzero(self._dense[1]))

    def __len__(self) -> int:
        return self._count

    @property
    def density(self) -> float:
        """The fraction of the tensor's entries that was observed."""
        return len(self) / math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values: float64, or float32 after `astype`."""
        return self.values.dtype if self._dense is None else self._dense[0].dtype

    @property
    def is_dense(self) -> bool:
        """Whether an array and a mask are stored rather than coordinates and values."""
        return self._dense is not None

    @property
    def array(self) -> Floats:
        """The stored array, in C order (dense storage only); where `mask` is False its values have no meaning."""
        return self._stored("array")[0]

    @property
    def mask(self) -> Booleans:
        """The stored mask, True where observed (dense storage only)."""
        return self._stored("mask")[1]

    def _stored(self, name: str) -> tuple[Floats, Booleans]:
        if self._dense is None:
            raise AttributeError(f"sparse observations have no {name}; to_dense() builds one.")
        return self._dense

    @cached_property
    def coords(self) -> Integers:
        """The (n, ndim) coordinates of the observed entries, sorted in C order."""
        return _frozen(coordinates(np.argwhere(self.mask), self.shape))

    @cached_property
    def values(self) -> Floats:
        """The (n,) observed values, in the order of `coords`."""
        return _frozen(self.array[self.mask])

    @cached_property
    def positions(self) -> NDArray[np.int64]:
        """The (n,) flat C-order positions of the observed entries, in the order of `coords`."""
        if self._dense is not None:
            return _frozen(np.flatnonzero(self.mask).astype(np.int64, copy=False))
        if math.prod(self.shape) >= TOO_FAR:
            raise ValueError(
                f"a tensor of shape {self.shape} has 2**63 entries or more, too many for flat positions; "
                "use coords instead."
            )
        return _frozen(sort_keys(self.coords, self.shape)[0])

    @cached_property
    def fingerprint(self) -> str:
        """A string that identifies the entries by their coordinates and values."""
        places = self.coords if self._dense is None else np.packbits(self._dense[1])
        return fingerprint(self.shape, self.is_dense, places, self.values)

    def astype(self, dtype: DTypeLike) -> Self:
        """Return the observations with values of float32 or float64.

        >>> Observations([[0, 1]], [2.5], (2, 2)).astype(np.float32).dtype
        dtype('float32')
        """
        wanted = float_type(dtype)
        return self if wanted == self.dtype else self._revalued(_rounded(self.values, wanted))

    def with_values(self, values: ArrayLike) -> Self:
        """Return observations at the same coordinates with new values, in the order of `values`.

        >>> obs = Observations([[0, 1], [1, 0]], [2.0, 4.0], (2, 2))
        >>> obs.with_values(obs.values / 2).values.tolist()
        [1.0, 2.0]
        """
        numbers = real_array(values, "values")
        one_for_each_entry(numbers, len(self), "values")
        finite_values(numbers)
        return self._revalued(_rounded(numbers, self.dtype))

    def _revalued(self, values: Floats) -> Self:
        if self._dense is None:
            return self._of_sparse(self.coords, values, self.shape)
        array = np.zeros(self.shape, dtype=values.dtype)
        array[self.mask] = values
        return self._of_dense(array, self.mask)

    def select(self, keep: ArrayLike) -> Self:
        """Return the observations where `keep`, one boolean for each of `values`, is True.

        With dense storage the array is shared, and only the mask changes.

        >>> obs = Observations.from_dense([[1.0, np.nan], [3.0, 4.0]])
        >>> obs.select(obs.values > 2).coords.tolist()
        [[1, 0], [1, 1]]
        """
        kept = boolean_array(keep, "keep")
        one_for_each_entry(kept, len(self), "keep")
        if not kept.any():
            raise ValueError("keep must be True for at least one entry, but it is False for all of them.")
        if self._dense is None:
            return self._of_sparse(take_rows(self.coords, np.flatnonzero(kept)), self.values[kept], self.shape)
        mask = self.mask.copy()
        mask[self.mask] = kept
        return self._of_dense(self.array, mask)

    def to_dense(self, fill: float = np.nan, *, max_bytes: float = 2**30) -> Floats:
        """Return an array with the observed values and `fill` elsewhere.

        Parameters
        ----------
        fill : float, optional
            The value of entries that were not observed.
        max_bytes : int, optional
            The largest allowed array in bytes; a larger one raises a ValueError.

        Examples
        --------
        >>> Observations([[0, 1], [1, 0]], [2.0, 0.0], (2, 2)).to_dense()
        array([[nan,  2.],
               [ 0., nan]])
        """
        if not isinstance(fill, Real):
            raise TypeError(f"fill must be a real number, but {fill!r} ({type(fill).__name__}) was given.")
        dense_size(self.shape, self.dtype.itemsize, max_bytes)
        return self._filled(float(fill))

    def _filled(self, fill: float) -> Floats:
        if self._dense is not None:
            return np.where(self.mask, self.array, self.dtype.type(fill))
        positions = self.positions
        array = np.full(self.shape, fill, dtype=self.dtype)
        array.reshape(-1)[positions] = self.values
        return array

    def split(
        self,
        fraction: float = 0.1,
        *,
        by: str = "entry",
        mode: int | None = None,
        block: Sequence[int] | None = None,
        rng: int | np.random.Generator | None = None,
    ) -> tuple[Self, Self]:
        """Return a training part and a held-out part, both with the same storage as these observations.

        Groups of entries are drawn at random until they hold about `fraction` of all entries. Groups more than twice
        as large as that are drawn last. Each part has at least one group.

        Parameters
        ----------
        fraction : float, optional
            The fraction of the entries to hold out, between 0 and 1.
        by : {"entry", "fibre", "slice", "block"}, optional
            What is held out together: single entries; fibres along `mode` (entries that share every other
            index); slices of `mode` (entries that share its index); or boxes of a regular grid.
        mode : int, optional
            The mode of the fibres or slices; needed for these, refused otherwise.
        block : sequence of int, optional
            The sizes of the boxes, one for each mode; about a tenth of each mode if not given.
        rng : int, numpy.random.Generator or None, optional
            The seed or generator of the draw.

        Examples
        --------
        >>> obs = Observations.from_dense(np.ones((4, 5, 6)))
        >>> training, held_out = obs.split(0.25, by="slice", mode=0, rng=0)
        >>> len(training), len(held_out), len(set(held_out.coords[:, 0].tolist()))
        (90, 30, 1)
        """
        share = real_number(fraction, "fraction", above=0, below=1)
        labels = self.group_numbers(choice(by, "by", _SPLITS), mode, block)
        if labels.max() == 0:
            raise ValueError(
                f"split by={by!r} needs at least two groups of entries, but the {len(self):,} observed make "
                "only one; split by something smaller or give more entries."
            )
        held = _drawn(labels, share, generator(rng))
        return self.select(~held), self.select(held)

    def group_numbers(self, by: str, mode: int | None = None, block: Sequence[int] | None = None) -> Integers:
        """Return the number of each entry's group; the groups are those of `split`."""
        if (mode is None) == (by in ("fibre", "slice")):
            raise ValueError(
                "mode must be given for by='fibre' and by='slice' and left out otherwise, "
                f"but by={by!r} came with mode={mode!r}."
            )
        if block is not None and by != "block":
            raise ValueError(f"block is for by='block' only, but by={by!r} came with block={block!r}.")
        if by == "entry":
            return np.arange(len(self))
        if by == "block":
            steps = _checked_block(block, self.shape)
            grid = tuple(-(-size // step) for size, step in zip(self.shape, steps, strict=True))
            return labels_of(self.coords // np.array(steps, dtype=self.coords.dtype), grid)
        chosen = mode_number(mode, "mode", self.ndim)
        shared = [chosen] if by == "slice" else [m for m in range(self.ndim) if m != chosen]
        return labels_of(self.coords[:, shared], tuple(self.shape[m] for m in shared))

    def __repr__(self) -> str:
        kind = "dense" if self.is_dense else "sparse"
        observed = f"{len(self):,} of {math.prod(self.shape):,} ({100 * self.density:.3g}%)"
        return f"{type(self).__name__}(shape={self.shape}, observed={observed}, {kind})"

    def _repr_html_(self) -> str:
        values = self.values
        mean = written(float(values.mean(dtype=np.float64)))
        facts = [
            ("observed", f"{len(self):,} of {math.prod(self.shape):,} entries ({percent(self.density)})"),
            ("values", f"from {written(float(values.min()))} to {written(float(values.max()))}, mean {mean}"),
            ("stored", f"{'dense' if self.is_dense else 'sparse'}, {self.dtype}"),
        ]
        return card(f"Observations of a {shape_in_words(self.shape, times='×')} tensor", facts)


def _frozen(array: _Array) -> _Array:
    array.flags.writeable = False
    return array


def _checked_block(block: Sequence[int] | None, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes of the boxes, none of them larger than the tensor."""
    if block is None:
        return tuple(max(1, round(size / 10)) for size in shape)
    steps = sizes(block, "block")
    if len(steps) != len(shape):
        raise ValueError(f"block must have {len(shape)} sizes, one for each mode, but {steps} was given.")
    return tuple(min(pair) for pair in zip(steps, shape, strict=True))


def _drawn(labels: Integers, fraction: float, rng: np.random.Generator) -> Booleans:
    """Return True for the entries of groups drawn until about `fraction` of the entries is reached."""
    target = min(max(round(fraction * len(labels)), 1), len(labels) - 1)
    counts = np.bincount(labels)
    order = rng.permutation(len(counts))
    oversized = counts[order] > 2 * target
    order = np.concatenate([order[~oversized], order[oversized]])
    reached = np.cumsum(counts[order])[:-1]
    chosen = np.zeros(len(counts), dtype=np.bool_)
    chosen[order[: np.abs(reached - target).argmin() + 1]] = True
    return chosen[labels]


def _rounded(values: Floats, dtype: np.dtype[Any]) -> Floats:
    """Return values in another type, or raise an error if it cannot hold them."""
    with np.errstate(over="ignore"):
        rounded = values.astype(dtype, copy=False)
    if not np.isfinite(rounded).all():
        first = values[np.isinf(rounded).argmax()]
        raise ValueError(f"values must fit in {dtype}, but {first} is too large for it; keep float64.")
    return rounded
