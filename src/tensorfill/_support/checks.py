"""Input validation: an invalid value raises an error of one sentence.

The sentence says what was given, what is allowed and, if it is not obvious, what to do.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterable
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .types import Booleans, Floats, Integers


def whole_number(value: Any, name: str, *, at_least: int = 0) -> int:
    """Return `value` as an int of at least `at_least`.

    >>> whole_number(3, "max_iter", at_least=1)
    3
    >>> whole_number(2.5, "max_iter", at_least=1)
    Traceback (most recent call last):
        ...
    TypeError: max_iter must be a whole number of at least 1, but 2.5 (float) was given.
    """
    allowed = f"{name} must be a whole number of at least {at_least}"
    if isinstance(value, bool):
        raise TypeError(f"{allowed}, but {value!r} (bool) was given.")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{allowed}, but {value!r} ({type(value).__name__}) was given.") from None
    if number < at_least:
        raise ValueError(f"{allowed}, but {number} was given.")
    return number


def real_number(
    value: Any,
    name: str,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    at_most: float = math.inf,
    below: float = math.inf,
) -> float:
    """Return `value` as a finite float within the given bounds.

    >>> real_number(-1, "lam", at_least=0)
    Traceback (most recent call last):
        ...
    ValueError: lam must be a number of at least 0, but -1 was given.
    """
    limits = [
        f"{word} {limit:g}"
        for word, limit in [
            ("of at least", at_least),
            ("above", above),
            ("of at most", at_most),
            ("below", below),
        ]
        if math.isfinite(limit)
    ]
    allowed = f"{name} must be a {'finite ' if not limits else ''}number {' and '.join(limits)}".rstrip()
    if isinstance(value, bool | str | bytes):
        raise TypeError(f"{allowed}, but {value!r} ({type(value).__name__}) was given.")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{allowed}, but {value!r} ({type(value).__name__}) was given.") from None
    inside = at_least <= number <= at_most and above < number < below
    if not (math.isfinite(number) and inside):
        raise ValueError(f"{allowed}, but {value!r} was given.")
    return number


def path_of(value: Any, name: str) -> str | PathLike[str]:
    """Return `value` if it is a path.

    >>> path_of(5, "path")
    Traceback (most recent call last):
        ...
    TypeError: path must be a text or a pathlib.Path, but 5 (int) was given.
    """
    if not isinstance(value, str | PathLike):
        raise TypeError(f"{name} must be a text or a pathlib.Path, but {value!r} ({type(value).__name__}) was given.")
    return value


def function_or_none(value: Any, name: str) -> Any:
    """Return `value` if it can be called, or is None.

    >>> function_or_none(5, "callback")
    Traceback (most recent call last):
        ...
    TypeError: callback must be a function or None, but 5 (int) was given.
    """
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a function or None, but {value!r} ({type(value).__name__}) was given.")
    return value


def float_type(dtype: DTypeLike) -> np.dtype[Any]:
    """Return float32 or float64 as a type of numpy.

    >>> float_type("x")
    Traceback (most recent call last):
        ...
    TypeError: dtype must be float32 or float64, but 'x' was given.
    """
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        wanted = np.dtype(object)
    if wanted not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise TypeError(f"dtype must be float32 or float64, but {dtype!r} was given.")
    return wanted


def choice(value: Any, name: str, allowed: Collection[str]) -> str:
    """Return `value` if it is one of the names in `allowed`.

    >>> choice("lps", "penalty", ["lsp", "mcp"])
    Traceback (most recent call last):
        ...
    ValueError: penalty must be one of 'lsp', 'mcp', but 'lps' was given.
    """
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {listed(allowed)}, but {value!r} was given.")
    return value


def is_auto(value: Any, name: str) -> bool:
    """Return whether a setting is ``"auto"``, to be chosen on held-out entries; refuse any other string.

    >>> is_auto("auto", "lam"), is_auto(0.5, "lam")
    (True, False)
    >>> is_auto("none", "lam")
    Traceback (most recent call last):
        ...
    ValueError: lam must be a number, one number for each regularised mode, or 'auto', but 'none' was given.
    """
    if isinstance(value, str) and value != "auto":
        raise ValueError(
            f"{name} must be a number, one number for each regularised mode, or 'auto', but {value!r} was given."
        )
    return isinstance(value, str)


def listed(names: Iterable[Any]) -> str:
    """Return names quoted and joined by commas, for an error message.

    >>> listed(["lsp", "mcp"])
    "'lsp', 'mcp'"
    """
    return ", ".join(repr(name) for name in names)


def mode_number(value: Any, name: str, ndim: int) -> int:
    """Return the mode of a tensor of order `ndim` as a non-negative number; negative values count from the end."""
    allowed = f"{name} must be a whole number from {-ndim} to {ndim - 1} for a tensor of order {ndim}"
    try:
        mode = operator.index(value)
    except TypeError:
        raise TypeError(f"{allowed}, but {value!r} ({type(value).__name__}) was given.") from None
    if not -ndim <= mode < ndim:
        raise ValueError(f"{allowed}, but {mode} was given.")
    return mode % ndim


def in_words(indices: Iterable[Any]) -> tuple[int, ...]:
    """Return a coordinate as a tuple of Python integers, for an error message."""
    return tuple(int(index) for index in indices)


def sizes(given: Iterable[int], name: str) -> tuple[int, ...]:
    """Return a sequence of whole numbers of at least 1 as a tuple."""
    try:
        numbers = tuple(given)
    except TypeError:
        raise TypeError(f"{name} must be a sequence of whole numbers, but {given!r} was given.") from None
    return tuple(whole_number(size, f"{name}[{mode}]", at_least=1) for mode, size in enumerate(numbers))


def tensor_shape(given: Iterable[int]) -> tuple[int, ...]:
    """Return the shape of a tensor with at least two modes."""
    shape = sizes(given, "shape")
    if len(shape) < 2:
        raise ValueError(f"a tensor must have at least two modes, but shape {shape} was given.")
    if max(shape) >= 2**63:
        raise ValueError(f"each mode must be smaller than 2**63, but shape {shape} was given.")
    return shape


def plain_array(given: ArrayLike, name: str) -> NDArray[Any]:
    """Return a plain NumPy array, without a copy if possible."""
    if np.ma.is_masked(given):
        raise ValueError(f"{name} must not have masked entries, but some are masked; leave them out.")
    try:
        return np.asarray(given)
    except ValueError:
        raise ValueError(f"{name} must be a regular array, but its rows differ in length.") from None


def real_array(given: ArrayLike, name: str) -> Floats:
    """Return a new float64 array in C order, with NaN at the masked entries of a masked array."""
    data = plain_array(np.ma.getdata(given) if isinstance(given, np.ma.MaskedArray) else given, name)
    if data.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, but {data.dtype} was given; convert to float first.")
    with np.errstate(over="ignore"):
        floats = np.array(data, dtype=np.float64, order="C")
    if isinstance(given, np.ma.MaskedArray):
        floats[np.ma.getmaskarray(given)] = np.nan
    return floats


def boolean_array(given: ArrayLike, name: str) -> Booleans:
    """Return a boolean array."""
    flags = plain_array(given, name)
    if flags.dtype.kind != "b":
        raise TypeError(f"{name} must be boolean, but {flags.dtype} was given; convert with astype(bool).")
    return flags


def one_for_each_entry(array: NDArray[Any], count: int, name: str) -> None:
    """Check that an array has one element for each entry."""
    if array.shape != (count,):
        raise ValueError(f"{name} must have shape {(count,)}, one for each entry, but {array.shape} was given.")


def finite_values(values: Floats) -> None:
    """Check that no value is NaN or infinite."""
    wrong = ~np.isfinite(values)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"values must be finite, but row {row} is {values[row]}; leave missing entries out.")


def coordinates(given: ArrayLike, shape: tuple[int, ...]) -> Integers:
    """Return coordinates of entries as an array of shape (n, ndim), each within the tensor.

    >>> coordinates([[0, 7]], (4, 5))
    Traceback (most recent call last):
        ...
    ValueError: coords must be from 0 to 4 in mode 1, but row 0 is (0, 7); count from 0 or give a larger shape.
    """
    coords = plain_array(given, "coords")
    narrow = np.int32 if max(shape) < 2**31 else np.int64
    if coords.size == 0:
        return np.zeros((0, len(shape)), dtype=narrow)
    if coords.dtype.kind not in "iu":
        raise TypeError(f"coords must be integers, but {coords.dtype} was given; convert with astype(int).")
    if coords.ndim != 2 or coords.shape[1] != len(shape):
        raise ValueError(
            f"coords must have one row for each entry and {len(shape)} columns, one for each mode of "
            f"shape {shape}, but an array of shape {coords.shape} was given."
        )
    columns = list(zip(coords.T, shape, strict=True))
    if any(column.min() < 0 or column.max() >= size for column, size in columns):
        wrong = np.stack([(column < 0) | (column >= size) for column, size in columns], axis=1)
        row, mode = divmod(int(wrong.argmax()), len(shape))
        raise ValueError(
            f"coords must be from 0 to {shape[mode] - 1} in mode {mode}, "
            f"but row {row} is {in_words(coords[row])}; count from 0 or give a larger shape."
        )
    return coords.astype(narrow, order="F", copy=False)


def dense_size(shape: tuple[int, ...], itemsize: int, max_bytes: float) -> None:
    """Check that a dense array of this shape holds at most `max_bytes`."""
    # `max_bytes` may be infinite: no limit.
    limit = max_bytes if max_bytes == math.inf else real_number(max_bytes, "max_bytes", above=0)
    needed = math.prod(shape) * itemsize
    if needed > limit:
        raise ValueError(
            f"a dense array of shape {shape} takes {needed:,} bytes, above max_bytes={max_bytes:,}; "
            "raise max_bytes if it fits in memory, or take the entries and slices that you need."
        )


def generator(rng: int | np.random.Generator | None) -> np.random.Generator:
    """Return the random generator for a seed or a generator."""
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    return np.random.default_rng(whole_number(rng, "rng, unless None or a numpy Generator,"))


def seeded(rng: int | np.random.Generator | None) -> tuple[int, np.random.Generator]:
    """Return the seed, drawn at random if none is given, and the generator seeded with it."""
    source = rng if isinstance(rng, np.random.Generator) else np.random.default_rng()
    drawn = rng is None or isinstance(rng, np.random.Generator)
    seed = int(source.integers(2**31)) if drawn else whole_number(rng, "rng")
    return seed, generator(seed)


def checked_bounds(bounds: tuple[float | None, float | None] | None) -> tuple[float, float] | None:
    """Return the lower and the upper bound, infinite where there is none."""
    if bounds is None:
        return None
    try:
        low, high = bounds
        low, high = -math.inf if low is None else float(low), math.inf if high is None else float(high)
    except (TypeError, ValueError):
        raise TypeError(
            f"bounds must be two numbers (low, high), of which one may be None for no limit, but {bounds!r} was given."
        ) from None
    if not low <= high or low == math.inf or high == -math.inf:
        raise ValueError(
            f"bounds must be (low, high) with low at most high and a number between them, but {bounds!r} was given."
        )
    return None if (low, high) == (-math.inf, math.inf) else (low, high)
