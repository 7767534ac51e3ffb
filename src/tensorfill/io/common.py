"""Helpers shared by the readers and writers of all formats."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.checks import choice
from .._support.types import Booleans, Floats, Integers
from ..adapters.registry import take_in
from ..labels import Labelled, Labels
from ..models.base import DENSE_LIMIT
from ..observations import Observations

LONGEST_NAME, MOST_NAMED = 40, 8
"""The largest length of a name, and the largest number of names, in a message."""

Mask = ArrayLike
"""A mask: an array that is nonzero where entries were observed."""


def dense_labelled(
    array: NDArray[Any],
    labels: Labels | None = None,
    *,
    missing: str | None = None,
    mask: Mask | None = None,
    restore: Callable[[Floats], Any] | None = None,
) -> Labelled:
    """Return the observations of a dense array from a file.

    Parameters
    ----------
    array
        The numbers; NaN is missing.
    labels
        The labels of the array, if it has any.
    missing
        ``"zero"`` if zeros are missing too; None and ``"nan"`` if only NaN is.
    mask
        Nonzero where entries were observed, for all modes of `array` or for the leading ones.
    restore
        As in `Labelled`.
    """
    kind = choice("nan" if missing is None else missing, "missing for a file that holds every entry", ("nan", "zero"))
    seen: Booleans = array != 0 if kind == "zero" else np.ones(array.shape, dtype=np.bool_)
    if mask is not None:
        seen &= _spread(np.asarray(mask) != 0, array.shape)
    return Labelled(Observations.from_dense(array, seen), labels or Labels.plain(array.ndim), restore)


def _spread(flags: Booleans, shape: tuple[int, ...]) -> Booleans:
    """Return a mask for all modes from one for the leading modes, for example for the pixels of a colour picture."""
    if flags.shape == shape:
        return flags
    if flags.shape != shape[: flags.ndim]:
        raise ValueError(
            f"mask must have the shape of the data, {shape}, or of its first modes, but {flags.shape} was given."
        )
    return np.broadcast_to(flags.reshape(flags.shape + (1,) * (len(shape) - flags.ndim)), shape)


@dataclass(frozen=True, eq=False)
class Content:
    """A tensor to be written.

    Parameters
    ----------
    labels
        The names of its modes and indices.
    given
        The object that was given, which some formats can write unchanged.
    taken
        Its entries, if they are known already.
    """

    labels: Labels
    given: Any
    taken: Observations | NDArray[Any] | None = None

    @cached_property
    def values(self) -> Observations | NDArray[Any]:
        """The observed entries of a tensor, or an array."""
        # An object that is written unchanged is not converted, which may not even be possible for a table.
        return take_in(self.given).observations if self.taken is None else self.taken

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        return self.values.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the entries."""
        entries: NDArray[Any] = self.values.values if isinstance(self.values, Observations) else self.values
        return entries.dtype

    @property
    def is_sparse(self) -> bool:
        """Whether the entries are stored as coordinates and values, not as an array."""
        return isinstance(self.values, Observations) and not self.values.is_dense

    def dense(self) -> NDArray[Any]:
        """Return an array with NaN where an entry is missing."""
        if not isinstance(self.values, Observations):
            return self.values
        needed = math.prod(self.shape) * 8
        if not self.values.is_dense and needed > DENSE_LIMIT:
            raise ValueError(
                f"a file that holds every entry would take {needed:,} bytes for shape {self.shape}, "
                f"above {DENSE_LIMIT:,}; write .tns, .npz, .csv or .parquet, which hold only observed entries."
            )
        return self.values.to_dense(max_bytes=math.inf)

    def whole(self, what: str) -> NDArray[Any]:
        """Return an array without missing entries, for formats that cannot hold them."""
        array = self.dense()
        missing = int(np.count_nonzero(np.isnan(array))) if array.dtype.kind == "f" else 0
        if missing:
            raise ValueError(
                f"{what} cannot hold missing entries, but {missing:,} of {array.size:,} are missing; "
                "fill them first, or write .npz."
            )
        return array

    def entries(self) -> tuple[Integers, Floats]:
        """Return the coordinates and the values of the entries that are not missing."""
        values = self.values if isinstance(self.values, Observations) else Observations.from_dense(self.values)
        return values.coords, values.values


def warn_of_lost_labels(labels: Labels, what: str) -> None:
    """Warn of labels that are left out because a format cannot hold them."""
    lost = [name for name, keys in zip(labels.names, labels.keys, strict=True) if keys is not None]
    if lost:
        warnings.warn(
            f"{what} holds no labels, so those of {', '.join(map(repr, lost))} are left out; "
            "write .npz, .nc, .csv or .parquet to keep them.",
            stacklevel=4,
        )


def chosen_array(path: Path, sizes: dict[str, tuple[int, ...]], name: str | None, candidates: Sequence[str]) -> str:
    """Return the name of the array to take from a file that may hold several.

    Parameters
    ----------
    path
        The file, for error messages.
    sizes
        The shape of each array of numbers that the file holds, by name.
    name
        The requested array, if any.
    candidates
        The arrays that may be a tensor.
    """
    held = _listed(sizes) or "none"
    if name is None and len(candidates) == 1:
        return candidates[0]
    if name is None:
        raise ValueError(
            f"name must say which array of {path} to read unless exactly one can be a tensor, and it holds {held}."
        )
    if name not in sizes:
        raise ValueError(
            f"name must be the name of an array of numbers in {path}, but {name!r} was given; it holds {held}."
        )
    return name


def _listed(sizes: dict[str, tuple[int, ...]]) -> str:
    """Return the names and shapes of arrays as text for a message, only the first if there are many."""
    first = [f"{each[:LONGEST_NAME]!r} {shape}" for each, shape in list(sizes.items())[:MOST_NAMED]]
    return ", ".join(first) + (f" and {len(sizes) - MOST_NAMED:,} more" if len(sizes) > MOST_NAMED else "")
