"""The regularised modes, and settings with one value for all of them or one for each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

from ..._support.checks import mode_number
from ...algebra.unfolding import columns, large_modes

T = TypeVar("T")

FEWEST_IN_COLUMN = 0.25
"""With fewer observed entries than this for each column of an unfolding, hardly any two entries share a column."""


def default_modes(shape: Sequence[int], entries: float = math.inf) -> tuple[int, ...]:
    """Return the modes that are regularised by default.

    These are the large modes whose unfolding does not have many more columns than there are observed entries, and at
    least the largest two. Low rank relates the rows of an unfolding through entries in the same column. A mode such as
    the month of a rating, with a column for each pair of user and item, has hardly any such entries, and its component
    would take most of the time and memory. A matrix has one mode: its two unfoldings are each other's transpose, so a
    second component would only repeat the first.

    >>> default_modes((300, 300, 3)), default_modes((5, 4, 3)), default_modes((30, 40))
    ((0, 1), (0, 1), (0,))
    >>> default_modes((2_000, 1_500, 12), entries=135_000)
    (0, 1)
    """
    if len(shape) == 2:
        return (0,)
    largest = sorted(range(len(shape)), key=lambda mode: -shape[mode])[:2]
    return tuple(
        mode for mode in large_modes(shape) if mode in largest or entries >= FEWEST_IN_COLUMN * columns(shape, mode)
    )


def regularised_modes(modes: Sequence[int] | None, shape: Sequence[int], entries: float = math.inf) -> tuple[int, ...]:
    """Return the given modes in increasing order, or the default ones for this many entries."""
    if modes is None:
        return default_modes(shape, entries)
    if isinstance(modes, str) or not isinstance(modes, Iterable):
        raise TypeError(
            f"modes must be a list of whole numbers, one for each regularised mode, but {modes!r} was given."
        )
    chosen = sorted({mode_number(mode, "modes", len(shape)) for mode in modes})
    if not chosen or len(chosen) != len(modes):
        raise ValueError(f"modes must name at least one mode and none of them twice, but {tuple(modes)} was given.")
    return tuple(chosen)


def per_mode(value: T | Sequence[T], name: str, modes: Sequence[int]) -> tuple[T, ...]:
    """Return one value for each regularised mode, from one for all or from one for each."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return (value,) * len(modes)  # type: ignore[return-value]
    if len(value) != len(modes):
        raise ValueError(
            f"{name} must be one value or one for each of the {len(modes)} regularised modes {tuple(modes)}, "
            f"but {len(value)} were given."
        )
    return tuple(value)
