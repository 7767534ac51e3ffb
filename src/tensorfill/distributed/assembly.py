"""Assembles the entries of a part of the tensor from the pieces of all chunks of the table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._support.ordering import TOO_FAR, groups_of, sort_keys
from .._support.types import Floats, Integers
from ..adapters.tables import refuse_repeats
from ..observations import Observations

if TYPE_CHECKING:
    from ..labels import Labels

Piece = tuple[Integers, Floats]
"""Coordinates in the numbering of the whole tensor, and values."""


def part_from_pieces(pieces: Sequence[Piece], labels: Labels, mode: int, first: int, last: int) -> Observations:
    """Return the entries of a range of slices, counted from its first slice along the split mode.

    During sorting, an entry is stored as its position in the part and its value. This takes less memory than its
    coordinates, which matters because the pieces are still in memory too.

    Parameters
    ----------
    pieces
        The entries of the part from each chunk; see `SpreadTable.pieces`.
    labels
        The labels of the whole tensor, to name a duplicate entry.
    mode, first, last
        The part has the slices `first` to ``last - 1`` along this mode.
    """
    shape = tuple(
        last - first if axis == mode else 0 if keys is None else len(keys) for axis, keys in enumerate(labels.keys)
    )
    if math.prod(shape) >= TOO_FAR:
        coords, values = (np.concatenate(each) for each in zip(*pieces, strict=True))
        check_duplicates(coords, labels)
        coords[:, mode] -= first
        return Observations(coords, values, shape).astype(values.dtype)
    positions, values = _positions(pieces, shape, mode, first)
    order = np.argsort(positions, kind="stable")
    positions, values = positions[order], values[order]
    del order
    if (positions[1:] == positions[:-1]).any():
        check_duplicates(np.concatenate([coords for coords, _ in pieces]), labels)
    return Observations.from_positions(positions, values, shape)


def _positions(
    pieces: Sequence[Piece], shape: tuple[int, ...], mode: int, first: int
) -> tuple[NDArray[np.int64], Floats]:
    """Return the position of each entry in the part, in C order, and its value."""
    many = sum(len(values) for _, values in pieces)
    positions, numbers = np.empty(many, dtype=np.int64), np.empty(many, dtype=pieces[0][1].dtype)
    begin = 0
    for coords, values in pieces:
        own = slice(begin, begin + len(values))
        place = positions[own]
        place[:] = 0
        for axis, size in enumerate(shape):
            place *= size
            place += coords[:, axis]
            if axis == mode:
                place -= first
        numbers[own] = values
        begin = own.stop
    return positions, numbers


def check_duplicates(coords: Integers, labels: Labels) -> None:
    """Raise an error for duplicate entries, as for a table in memory; the message names the first of them.

    Parameters
    ----------
    coords
        The (n, ndim) coordinates of all entries of a part of the tensor.
    labels
        The labels of the tensor.
    """
    shape = tuple(
        int(own.max(initial=0)) + 1 if keys is None else len(keys)
        for own, keys in zip(coords.T, labels.keys, strict=True)
    )
    if _has_repeats(coords, shape):
        merging = f"table.groupby({list(labels.names)})[{labels.value!r}].mean().reset_index()"
        refuse_repeats(coords, shape, labels, merging)


def _has_repeats(coords: Integers, shape: tuple[int, ...]) -> bool:
    """Return whether some coordinates are equal; for most tensors this needs one number for each entry."""
    keys = sort_keys(coords, shape)
    if len(keys) > 1:
        return len(coords) > 0 and len(groups_of(coords, shape)[1]) < len(coords)
    keys[0].sort()
    return bool((keys[0][1:] == keys[0][:-1]).any())
