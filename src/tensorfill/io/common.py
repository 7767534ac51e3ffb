"""What readers and writers of all formats share."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.checks import choice
from .._support.types import Booleans, Floats, Integers
from ..labels import Labelled, Labels
from ..models.base import DENSE_LIMIT
from ..observations import Observations

Mask = str | PathLike[str] | ArrayLike
"""Where entries were observed: an array, or the path of one; what is not zero was observed."""


def dense_labelled(
    array: NDArray[Any],
    labels: Labels | None = None,
    *,
    missing: str | None = None,
    mask: Mask | None = None,
    restore: Callable[[Floats], Any] | None = None,
) -> Labelled:
    """Return the observations of an array that a file holds in full.

    Parameters
    ----------
    array
        The numbers; NaN is missing.
    labels
        The names of its modes and indices, if it has any.
    missing
        ``"zero"`` where a zero is missing too; None and ``"nan"`` leave it at NaN.
    mask
        Where entries were observed, for the modes of `array` or for the first ones.
    restore
        What `Labelled` takes.
    """
    kind = choice("nan" if missing is None else missing, "missing for a file that holds every entry", ("nan", "zero"))
    seen: Booleans = array != 0 if kind == "zero" else np.ones(array.shape, dtype=np.bool_)
    if mask is not None:
        seen &= _spread(_flags(mask), array.shape)
    return Labelled(Observations.from_dense(array, seen), labels or Labels.plain(array.ndim), restore)


def _flags(mask: Mask) -> Booleans:
    """Return True where a mask is not zero."""
    if isinstance(mask, str | PathLike):
        path = Path(mask)
        if path.suffix.lower() in (".jpg", ".jpeg"):
            raise ValueError(
                f"mask must tell exactly what was observed, but {path} is a JPEG, which changes values; save it as PNG."
            )
        from .formats import read

        mask = read(path).observations.to_dense(fill=0.0)
    flags: Booleans = np.asarray(mask) != 0
    return flags


def _spread(flags: Booleans, shape: tuple[int, ...]) -> Booleans:
    """Return a mask for all modes, given for all or for the first ones, as a grey picture is for a coloured one."""
    if flags.shape == shape:
        return flags
    if flags.shape != shape[: flags.ndim]:
        raise ValueError(
            f"mask must have the shape of the data, {shape}, or of its first modes, but {flags.shape} was given."
        )
    return np.broadcast_to(flags.reshape(flags.shape + (1,) * (len(shape) - flags.ndim)), shape)


@dataclass(frozen=True, eq=False)
class Content:
    """What is to be written.

    Parameters
    ----------
    values
        What was seen of a tensor, or an array with all of it.
    labels
        The names of its modes and indices.
    given
        The object that the caller gave, which its own format can write as it is.
    """

    values: Observations | NDArray[Any]
    labels: Labels
    given: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        return self.values.shape

    @property
    def is_sparse(self) -> bool:
        """Whether coordinates and values are at hand rather than an array."""
        return isinstance(self.values, Observations) and not self.values.is_dense

    def dense(self) -> NDArray[Any]:
        """Return an array with NaN where an entry is missing."""
        if not isinstance(self.values, Observations):
            return self.values
        needed = math.prod(self.shape) * 8
        if not self.values.is_dense and needed > DENSE_LIMIT:
            raise ValueError(
                f"a file that holds every entry would take {needed:,} bytes for shape {self.shape}, "
                f"above {DENSE_LIMIT:,}; write .tns, .npz, .csv or .parquet, which hold only what was seen."
            )
        return self.values.to_dense(max_bytes=math.inf)

    def whole(self, what: str) -> NDArray[Any]:
        """Return an array with nothing missing, which is all that some formats can hold."""
        array = self.dense()
        missing = int(np.count_nonzero(np.isnan(array))) if array.dtype.kind == "f" else 0
        if missing:
            raise ValueError(
                f"{what} cannot hold missing entries, but {missing:,} of {array.size:,} are missing; "
                "fill them first, or write .npz."
            )
        return array

    def entries(self) -> tuple[Integers, Floats]:
        """Return the coordinates and the values of what is not missing."""
        values = self.values if isinstance(self.values, Observations) else Observations.from_dense(self.values)
        return values.coords, values.values


def warn_of_lost_labels(labels: Labels, what: str) -> None:
    """Warn where labels are left out because a format has no place for them."""
    lost = [name for name, keys in zip(labels.names, labels.keys, strict=True) if keys is not None]
    if lost:
        warnings.warn(
            f"{what} holds no labels, so those of {', '.join(map(repr, lost))} are left out; "
            "write .npz, .nc, .csv or .parquet to keep them.",
            stacklevel=4,
        )


@contextmanager
def read_as(path: Path, what: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn what a library says of a file that it cannot read into a sentence."""
    try:
        yield
    except errors as error:
        # The first sentence: what follows is advice to those who call the library themselves.
        reason = " ".join(str(error).split()).partition(". ")[0].rstrip(".") or type(error).__name__
        raise ValueError(
            f"{path} cannot be read as {what}, so it is damaged or of another format ({reason})."
        ) from error


def chosen_array(path: Path, sizes: dict[str, tuple[int, ...]], name: str | None, candidates: Sequence[str]) -> str:
    """Return the name of the array to take from a file that may hold several.

    Parameters
    ----------
    path
        The file, for the sentence.
    sizes
        The shape of each array of numbers that the file holds, by name.
    name
        The array that the caller wants, if they said.
    candidates
        The arrays that may be a tensor.
    """
    held = ", ".join(f"{each!r} {shape}" for each, shape in sizes.items()) or "none"
    if name is None and len(candidates) == 1:
        return candidates[0]
    if name is None:
        raise ValueError(
            f"name must say which array of {path} to take unless just one can be a tensor, and it holds {held}."
        )
    if name not in sizes:
        raise ValueError(
            f"name must be that of an array of numbers in {path}, but {name!r} was given; it holds {held}."
        )
    return name
