"""The slices of a mode that have entries, and how the others follow from them.

A slice i without any entry is a weighted mean of the slices that have some,

    X_i = sum_j w_ij X_j,    sum_j w_ij = 1.

Either all weights are equal, or they are those of neighbours. The slices with entries are a list, and nothing here has
the length of the mode unless every index is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse

from .._support.types import Booleans, Floats, Integers

NEIGHBOURS = 16
"""A slice is predicted from at most this many neighbours."""

AT_A_TIME = 2**12
"""The number of slices whose weights are computed together, which limits the memory."""


@dataclass(frozen=True)
class Neighbours:
    """The weights of neighbouring slices by ordinary kriging.

    It is the best linear prediction if the squared difference of two slices grows as a power of their distance. With an
    exponent of one that is linear interpolation, with a larger one it is smoother, and a nugget averages over more
    neighbours.

    Parameters
    ----------
    exponent
        The squared difference of two slices grows as this power of their distance.
    nugget
        The variance of the noise of a slice, relative to the squared difference of direct neighbours.

    Examples
    --------
    >>> Neighbours(1.0).weights(np.array([2]), np.array([[0, 3, 4]])).round(3).tolist()
    [[0.333, 0.667, 0.0]]
    """

    exponent: float
    nugget: float = 0.0

    def weights(self, places: Integers, sources: Integers) -> Floats:
        """Return the weight of each of the sources, of shape (n, k), in the slices at `places`."""
        count, each = sources.shape
        between = np.abs(sources[:, :, None] - sources[:, None, :]).astype(float) ** self.exponent
        # A row and a column of ones make the weights sum to one.
        system = np.ones((count, each + 1, each + 1))
        system[:, :each, :each] = between - self.nugget * np.eye(each)
        system[:, each, each] = 0.0
        right = np.ones((count, each + 1, 1))
        right[:, :each, 0] = np.abs(places[:, None] - sources).astype(float) ** self.exponent
        weights: Floats = np.linalg.solve(system, right)[:, :each, 0]
        return weights


@dataclass(frozen=True, eq=False)
class Empty:
    """The empty slices of a mode that lie between others, or those at either end of it, without a list of them.

    Parameters
    ----------
    size
        The number of slices of the mode.
    kept
        The slices that are not empty, in increasing order.
    between
        Whether the empty slices lie between these.

    Examples
    --------
    >>> inside, ends = (Empty(9, np.array([2, 3, 6]), between) for between in (True, False))
    >>> inside.at(np.arange(len(inside))).tolist(), ends.at(np.arange(len(ends))).tolist()
    ([4, 5], [0, 1, 7, 8])
    """

    size: int
    kept: Integers
    between: bool

    def __len__(self) -> int:
        inside = int(self.kept[-1] - self.kept[0]) + 1 - len(self.kept)
        return inside if self.between else self.size - len(self.kept) - inside

    def has(self, indices: Integers) -> Booleans:
        """Return which of the indices are among these slices."""
        inside = (indices > self.kept[0]) & (indices < self.kept[-1])
        found: Booleans = (inside if self.between else ~inside) & ~np.isin(indices, self.kept)
        return found

    def at(self, numbers: Integers) -> Integers:
        """Return these slices by their numbers among them, in increasing order."""
        first, last = self.kept[0], self.kept[-1]
        if not self.between:
            return np.where(numbers < first, numbers, numbers - first + last + 1)
        before = self.kept - first - np.arange(len(self.kept))
        places: Integers = first + numbers + np.searchsorted(before, numbers, side="right")
        return places


@dataclass(frozen=True, eq=False)
class Slices:
    """The slices of a mode that have entries, and how the others follow from them.

    Parameters
    ----------
    size
        The number of slices of the mode.
    kept
        The slices with entries, in increasing order.
    between, beyond
        The weights of neighbours in the slices that lie between these, and at either end of the mode; None for the mean
        of all slices with entries.
    """

    size: int
    kept: Integers
    between: Neighbours | None = None
    beyond: Neighbours | None = None

    @property
    def empty(self) -> tuple[Empty, Empty]:
        """The empty slices between those with entries, and those at either end."""
        return Empty(self.size, self.kept, between=True), Empty(self.size, self.kept, between=False)

    def same_as(self, other: Slices | None) -> bool:
        """Return whether others are the same slices with the same weights."""
        return other is not None and (
            (self.size, self.between, self.beyond) == (other.size, other.between, other.beyond)
            and np.array_equal(self.kept, other.kept)
        )

    def place_of(self, indices: Integers) -> Integers:
        """Return where indices are in the list of slices with entries; -1 for an empty slice."""
        place = np.searchsorted(self.kept, indices).clip(max=len(self.kept) - 1)
        return np.where(self.kept[place] == indices, place, -1)

    def combined(self, indices: Integers) -> tuple[scipy.sparse.csr_array, Integers]:
        """Return the weights of the slices with entries, and the row of them that each of the indices has."""
        place = self.place_of(indices)
        rows = np.empty(len(indices), dtype=np.int64)
        own = np.flatnonzero(place >= 0)
        rows[own] = np.arange(len(own))
        blocks = [_weights(np.ones(len(own)), place[own][:, None], len(self.kept))]
        averaged = np.flatnonzero(place < 0)
        for group, neighbours in zip(self.empty, (self.between, self.beyond), strict=True):
            if neighbours is not None:
                near = np.flatnonzero(group.has(indices))
                rows[near] = sum(block.shape[0] for block in blocks) + np.arange(len(near))
                blocks.append(self._near(indices[near], neighbours))
                averaged = np.setdiff1d(averaged, near, assume_unique=True)
        if len(averaged):
            rows[averaged] = sum(block.shape[0] for block in blocks)
            blocks.append(self._mean())
        return scipy.sparse.vstack(blocks, format="csr"), rows

    def parts(self) -> Iterator[tuple[scipy.sparse.csr_array, int]]:
        """Yield the weights of all slices, a few at a time, with the number of slices that have each of them."""
        yield scipy.sparse.csr_array(scipy.sparse.eye_array(len(self.kept))), 1
        for group, neighbours in zip(self.empty, (self.between, self.beyond), strict=True):
            if neighbours is None and len(group):
                yield self._mean(), len(group)
            elif neighbours is not None:
                for first in range(0, len(group), AT_A_TIME):
                    numbers = np.arange(first, min(first + AT_A_TIME, len(group)))
                    yield self._near(group.at(numbers), neighbours), 1

    def totals(self) -> Floats:
        """Return the sum of the weights of each slice with entries, over all slices of the mode."""
        totals: Floats = np.zeros(len(self.kept))
        for weights, count in self.parts():
            totals += count * np.asarray(weights.sum(axis=0)).ravel()
        return totals

    def _mean(self) -> scipy.sparse.csr_array:
        return scipy.sparse.csr_array(np.full((1, len(self.kept)), 1 / len(self.kept)))

    def _near(self, places: Integers, neighbours: Neighbours) -> scipy.sparse.csr_array:
        """Return the weights of neighbours; each slice has a small system, and these are solved in parts."""
        near = nearest(self.kept, places)
        parts = np.array_split(np.arange(len(places)), max(math.ceil(len(places) / AT_A_TIME), 1))
        weights = np.concatenate([neighbours.weights(places[part], self.kept[near[part]]) for part in parts])
        return _weights(weights.ravel(), near, len(self.kept))


def _weights(weights: Floats, columns: Integers, count: int) -> scipy.sparse.csr_array:
    """Return a matrix of `count` columns with the same number of weights in every row."""
    rows = np.repeat(np.arange(len(columns)), columns.shape[1])
    return scipy.sparse.csr_array((weights, (rows, columns.ravel())), shape=(len(columns), count))


def nearest(kept: Integers, places: Integers) -> Integers:
    """Return the positions in `kept`, which is sorted, of the neighbours of each place, as many on either side."""
    each = min(NEIGHBOURS, len(kept))
    first = np.clip(np.searchsorted(kept, places) - each // 2, 0, len(kept) - each)
    return first[:, None] + np.arange(each)
