"""Facts in any of the accepted forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.checks import coordinates, plain_array, tensor_shape
from .._support.types import Booleans, Integers
from .triples import Triples, one_numbering

Facts = Triples | Mapping[str, Triples] | Iterable[Triples] | ArrayLike
"""Triples, several of them (a list, or the dict of `read_archive`), or rows of (head, tail, relation)."""

Gathered = list[Triples] | NDArray[Any]


def gathered(given: Facts) -> Gathered:
    """Return Triples as a list, and anything else as an array."""
    if isinstance(given, Triples):
        return [given]
    if isinstance(given, np.ndarray):
        return given
    if isinstance(given, Mapping):
        given = list(given.values())
    if isinstance(given, Iterable):
        items: list[Any] = list(given)
        if items and any(isinstance(item, Triples) for item in items):
            one_numbering(items)
            return items
        return plain_array(items, "coords")
    return plain_array(given, "coords")


def shape_of(stated: Any, name: str, *facts: Gathered) -> tuple[int, ...]:
    """Return the stated shape, or else that of the first Triples among the facts."""
    if stated is None:
        shapes = [part.shape for given in facts if isinstance(given, list) for part in given]
        if not shapes:
            raise ValueError(
                f"the shape of the tensor must be known, but there is no {name} and no Triples were given; "
                "give Triples instead of an array."
            )
        stated = shapes[0]
    shape = tensor_shape(stated)
    if len(shape) != 3:
        raise ValueError(
            f"a knowledge graph is a tensor of three modes, (heads, tails, relations), but {name} is {shape}."
        )
    return shape


def coords_of(given: Gathered, shape: tuple[int, ...], name: str) -> Integers:
    """Return facts as an (n, 3) array of (head, tail, relation) within the tensor."""
    if isinstance(given, list):
        for part in given:
            if part.shape != shape:
                raise ValueError(
                    f"{name} must be facts of a tensor of shape {shape}, but those given are of shape {part.shape}; "
                    "give the parts of one graph."
                )
        return np.concatenate([part.coords for part in given])
    return coordinates(given, shape).astype(np.int64)


class FactRows:
    """Distinct rows of whole numbers, each with its own number, in which other rows can be found.

    Columns are joined one by one, and the joined columns are renumbered each time, so that keys stay below n^2 for any
    numbers.
    """

    def __init__(self, rows: Integers) -> None:
        self._levels: list[tuple[Integers, Integers]] = []
        number = np.zeros(len(rows), dtype=np.int64)
        for column in rows.T:
            values, place = np.unique(column, return_inverse=True)
            joined, number = np.unique(number * len(values) + place, return_inverse=True)
            self._levels.append((values, joined))
        self.count = len(self._levels[-1][1])

    def find(self, rows: Integers) -> Integers:
        """Return the number of each row, and -1 for unknown rows."""
        if self.count == 0:
            return np.full(len(rows), -1)
        number: Integers = np.zeros(len(rows), dtype=np.int64)
        found = np.ones(len(rows), dtype=np.bool_)
        for column, (values, joined) in zip(rows.T, self._levels, strict=True):
            place = _place(values, column, found)
            number = _place(joined, number * len(values) + place, found)
        return np.where(found, number, -1)


def _place(ordered: Integers, wanted: Integers, found: Booleans) -> Integers:
    """Return the position of each number among sorted ones, and clear `found` for those that are not there."""
    place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    found &= ordered[place] == wanted
    return place
