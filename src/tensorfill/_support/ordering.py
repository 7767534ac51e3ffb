"""The order of entries: sorting coordinates in C order, merging duplicates, numbering groups.

Every key is an int64 that cannot overflow for any shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .checks import in_words
from .types import Booleans, Floats, Integers

TOO_FAR = 2**63
"""The first number that int64 cannot hold."""


def sort_keys(coords: Integers, shape: tuple[int, ...]) -> list[NDArray[np.int64]]:
    """Return int64 keys, most significant first, that sort rows in C order.

    There is one key, the flat position, unless that could reach 2**63; then the modes are divided among several keys.
    """
    keys: list[NDArray[np.int64]] = []
    span = TOO_FAR
    for column, size in zip(coords.T, shape, strict=True):
        if span * size < TOO_FAR:
            keys[-1] *= size
            keys[-1] += column
            span *= size
        else:
            keys.append(column.astype(np.int64))
            span = size
    return keys


def at_positions(positions: Integers, shape: tuple[int, ...]) -> Integers:
    """Return the coordinates of flat positions in C order, the inverse of `sort_keys` where that has one key.

    >>> at_positions(np.array([1, 5]), (2, 3)).tolist()
    [[0, 1], [1, 2]]
    """
    rest = positions.astype(np.int64)
    narrow = np.int32 if max(shape) < 2**31 else np.int64
    coords = np.empty((len(rest), len(shape)), dtype=narrow, order="F")
    for mode in reversed(range(len(shape))):
        np.remainder(rest, shape[mode], out=coords[:, mode], casting="unsafe")
        rest //= shape[mode]
    return coords


def _increasing(keys: list[NDArray[np.int64]]) -> bool:
    """Return whether rows are sorted and distinct."""
    *weightier, key = keys
    rises = key[:-1] < key[1:]
    for key in reversed(weightier):
        rises = (key[:-1] < key[1:]) | ((key[:-1] == key[1:]) & rises)
    return bool(rises.all())


def _sorting(keys: list[NDArray[np.int64]]) -> tuple[Integers, Booleans]:
    """Return the stable sorting order of rows, and whether each sorted row differs from the one before."""
    order = np.lexsort(keys[::-1])
    fresh = np.zeros(len(order), dtype=np.bool_)
    fresh[0] = True
    for key in keys:
        ordered = key[order]
        fresh[1:] |= ordered[1:] != ordered[:-1]
    return order, fresh


def in_order(coords: Integers, values: Floats, shape: tuple[int, ...], duplicates: str) -> tuple[Integers, Floats]:
    """Return coordinates and values sorted in C order, each coordinate once."""
    keys = sort_keys(coords, shape)
    if _increasing(keys):
        return coords, values
    order, fresh = _sorting(keys)
    if fresh.all():
        return take_rows(coords, order), values[order]
    if duplicates == "error":
        repeats = order[~fresh]
        row = int(repeats.min())
        raise ValueError(
            f"coords must be distinct, but row {row} repeats {in_words(coords[row])} and {repeats.size:,} of "
            f"{len(coords):,} rows are repeats; give duplicates='mean', 'last' or 'sum' to merge them."
        )
    starts = np.flatnonzero(fresh)
    return take_rows(coords, order[starts]), _merged(values[order], starts, duplicates)


def _merged(values: Floats, starts: Integers, duplicates: str) -> Floats:
    """Return one value for each run of values, which begin at `starts`."""
    ends = np.append(starts[1:], len(values))
    if duplicates == "last":
        return values.take(ends - 1)
    with np.errstate(over="ignore"):
        merged: Floats = np.add.reduceat(values, starts)
    if not np.isfinite(merged).all():
        raise ValueError("the sum of repeated entries must be finite, but one is not; scale the values down.")
    return merged / (ends - starts) if duplicates == "mean" else merged


def order_by_modes(coords: Integers, shape: tuple[int, ...], modes: Sequence[int]) -> Integers | slice:
    """Return the order that sorts rows, given in C order, by all modes: by the first of `modes`, then by the next.

    >>> order_by_modes(np.array([[0, 0], [0, 1], [1, 0]]), (2, 2), [1, 0]).tolist()
    [0, 2, 1]
    """
    if list(modes) == sorted(modes):
        return slice(None)
    keys = sort_keys(coords[:, modes], tuple(shape[mode] for mode in modes))
    return np.lexsort(keys[::-1])


def groups_of(coords: Integers, shape: tuple[int, ...]) -> tuple[Integers, Integers]:
    """Return an order that groups equal rows, in C order, and where each group starts in it.

    >>> order, starts = groups_of(np.array([[1, 0], [0, 2], [1, 0]]), (2, 3))
    >>> order.tolist(), starts.tolist()
    ([1, 0, 2], [0, 1])
    """
    order, fresh = _sorting(sort_keys(coords, shape))
    return order, np.flatnonzero(fresh)


def labels_of(coords: Integers, shape: tuple[int, ...]) -> Integers:
    """Return the number of each row among the distinct rows in C order.

    >>> labels_of(np.array([[1, 0], [0, 2], [1, 0]]), (2, 3)).tolist()
    [1, 0, 1]
    """
    order, fresh = _sorting(sort_keys(coords, shape))
    labels = np.empty(len(order), dtype=np.int64)
    labels[order] = np.cumsum(fresh) - 1
    return labels


def joint_keys(shape: tuple[int, ...], *sets: Integers) -> list[Integers]:
    """Return an int64 for each row of several sets of coordinates, in C order, equal for equal rows of any set.

    >>> [keys.tolist() for keys in joint_keys((2, 3), np.array([[1, 0], [0, 2]]), np.array([[0, 2]]))]
    [[3, 2], [2]]
    """
    if math.prod(shape) < TOO_FAR:
        return [sort_keys(coords, shape)[0] for coords in sets]
    labels = labels_of(np.concatenate(sets), shape)
    return np.split(labels, np.cumsum([len(coords) for coords in sets])[:-1])


def fibre_keys(shape: tuple[int, ...], mode: int, *sets: Integers) -> list[Integers]:
    """Return an int64 for each row of several sets of coordinates, consecutive along the fibres of a mode.

    A key is the index within its fibre, plus a multiple of the size of the mode that tells the fibre.

    >>> [keys.tolist() for keys in fibre_keys((2, 3), 0, np.array([[1, 0], [0, 2]]), np.array([[1, 2]]))]
    [[1, 4], [5]]
    """
    others = [other for other in range(len(shape)) if other != mode]
    if math.prod(shape) < TOO_FAR:
        order = [*others, mode]
        return joint_keys(tuple(shape[other] for other in order), *(coords[:, order] for coords in sets))
    # The distinct fibres are numbered, so that keys stay small.
    labels = labels_of(np.concatenate([coords[:, others] for coords in sets]), tuple(shape[other] for other in others))
    numbers = np.split(labels, np.cumsum([len(coords) for coords in sets])[:-1])
    return [number * shape[mode] + coords[:, mode] for number, coords in zip(numbers, sets, strict=True)]


def take_rows(coords: Integers, rows: Integers) -> Integers:
    """Return some rows, laid out so that the coordinates of each mode are contiguous."""
    taken = np.empty((len(rows), coords.shape[1]), dtype=coords.dtype, order="F")
    for mode in range(coords.shape[1]):
        np.take(coords[:, mode], rows, out=taken[:, mode])
    return taken
