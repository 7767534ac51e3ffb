"""Weak terms of tensors with small modes: mixtures of the slices along them.

Beside small modes, the unfoldings of the large ones are so wide that hardly any two entries share a column, and only
strong terms are visible. Summed with the right weights over the combinations of indices of the small modes, the cells,
the columns fill up, and much weaker terms become visible. The weights are not known, but some are more likely than
others; see `weights`. Terms are started from the leading directions of every likely mixture.

The leading direction need not be that of the term, nor is its eigenvalue a reliable sign: a term below the edge of
noise is spread over several of the leading directions. So several of them are tried, in every large mode, and they are
judged by how much the term as a whole explains. Its inner product with the values is not a good criterion, because it
is also large for a term that fits a few large numbers.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from ..._support.clock import Clock
from ..._support.ordering import groups_of
from ..._support.types import Floats, Integers
from ...algebra.sparse_unfoldings import SparseUnfoldings
from .contraction import separate_terms
from .joint import Found, Mode, joint_terms, work_of
from .terms import CLIPPED_AT, clip
from .weights import LikelyWeights, outer

MOST_WEIGHTS, MOST_WORK = 1500, 2e11
"""The largest number of weights to try, and the largest number of multiplications for them."""

MORE_IF_CENTRED = 4
"""The factor by which more are tried if terms sum to zero along all small modes: each is ten times as likely to
succeed."""

MOST_SEPARATE, MOST_PAIRS = 240, 1.5e9
"""The same if terms cannot be searched for jointly: the sum over the modes, and pairs of entries that share a
column."""

TOGETHER, MOST_IN_GRAMS = 64, 2**24
"""The number of weights that are processed together, and the size of their Gram matrices of a mode."""

CLEARLY_ABOVE = 20.0
"""A term ends the search if its gain is this much above the median of the first gains of all weights, where one is the
distance from there to the lower quartile. The best of noise is at 3 to 11, terms at the edge are at 20 to 60."""

STARTS = 32
"""The number of starts that are kept, those that explain most."""

MOST_CELLS = 50
"""With more cells than this there are too many weights to try."""

MOST_INDICES = 1000
"""For modes with more indices, Gram matrices for each pair of cells are too large."""


class Starts(NamedTuple):
    """Starts of terms, a vector for each mode, and whether the best of them may hide others."""

    vectors: list[list[Floats]]
    may_hide_others: bool


class Mixtures:
    """Mixtures of the slices along the small modes of a sparse tensor.

    Parameters
    ----------
    coords, shape
        The entries, and the shape of the tensor.
    large
        The modes that are not small.
    clock
        The work raises `TimeUp` when it expires.
    """

    def __init__(
        self, coords: Integers, shape: Sequence[int], large: Sequence[int], clock: Clock | None = None
    ) -> None:
        self._clock = clock or Clock()
        small = [mode for mode in range(len(shape)) if mode not in large]
        self._modes = [*large, *small]
        self._small_sizes = [shape[mode] for mode in small]
        self._cells = np.ravel_multi_index(tuple(coords[:, small].T), self._small_sizes)
        sizes = [shape[mode] for mode in large]
        dense = [place for place, size in enumerate(sizes) if size <= MOST_INDICES]
        self._entries = SparseUnfoldings(coords[:, large], sizes, dense, self._clock)
        # Entries that differ only in the small modes are summed.
        self._order, self._starts = groups_of(coords[:, large], tuple(sizes))
        self._places = np.array(coords[self._order[self._starts]][:, large], dtype=np.int64, order="C")
        self._unfoldings = SparseUnfoldings(self._places, sizes, range(len(sizes)), self._clock)
        pairs = sum(self._unfoldings.pairs(mode) for mode in self._unfoldings.modes)
        self._is_joint = len(sizes) == 3 == len(dense)
        # Without joint terms, every mode is tried with all weights.
        most, limit = (
            (MOST_WEIGHTS, MOST_WORK / work_of(len(coords), sizes, math.prod(self._small_sizes)))
            if self._is_joint
            else (MOST_SEPARATE / len(sizes), MOST_PAIRS / max(pairs, 1))
        )
        self.most_weights = math.ceil(min(most, limit))

    def starts(self, residuals: Floats, rng: np.random.Generator, centred: Collection[int] = ()) -> Starts:
        """Return starts of terms, those that explain most first.

        Parameters
        ----------
        residuals
            The residuals of the entries.
        rng
            Draws the weights to try.
        centred
            The modes along which terms sum to zero.
        """
        if not residuals.any():
            return Starts([], may_hide_others=False)
        values = clip(residuals, CLIPPED_AT)
        likely = LikelyWeights(self._entries, self._cells, self._small_sizes, values)
        are_centred = [mode in centred for mode in self._modes[-len(self._small_sizes) :]]
        most = self.most_weights * (MORE_IF_CENTRED if all(are_centred) else 1)
        tried = likely.most_likely(most, are_centred, rng)
        found, may_hide_others = (self._jointly if self._is_joint else self._separately)(likely, tried, rng)
        best = heapq.nlargest(STARTS, found, key=lambda start: start.gain)
        in_order = [[vectors[self._modes.index(mode)] for mode in range(len(vectors))] for _, vectors in best]
        return Starts(in_order, may_hide_others)

    def _jointly(
        self, likely: LikelyWeights, tried: Sequence[list[Floats]], rng: np.random.Generator
    ) -> tuple[list[Found], bool]:
        """Return starts from directions of one mode for each of the weights, and whether one is clearly a term.

        A clear term ends the search.
        """
        starts: list[Found] = []
        modes = [Mode(self._entries, mode, likely.values, self._cells) for mode in range(3)]
        room = MOST_IN_GRAMS // max(self._unfoldings.shape) ** 2
        gains = np.zeros(0)
        together = max(1, min(TOGETHER, room, math.ceil(len(tried) / 3)))
        for number, first in enumerate(range(0, len(tried), together)):
            self._clock.check()
            some = tried[first : first + together]
            rows = outer([np.stack(vectors) for vectors in zip(*some, strict=True)])
            grams = [likely.grams(mode, rows) for mode in range(3)]
            # Other weights are more useful than the same weights in another mode.
            first_gains, found = joint_terms(modes[number % 3], rows, grams, rng)
            starts += [Found(gain, [*vectors, *some[place]]) for place, (gain, vectors) in found.items()]
            gains = np.append(gains, first_gains)
            low, middle = np.quantile(gains, [0.25, 0.5])
            if max(term.gain for term in found.values()) > middle + CLEARLY_ABOVE * (middle - low):
                return starts, True
        return starts, False

    def _separately(
        self, likely: LikelyWeights, tried: Sequence[list[Floats]], rng: np.random.Generator
    ) -> tuple[list[Found], bool]:
        """Return starts from directions of every mode, with each of the weights; they may hide others."""
        starts: list[Found] = []
        ones = np.ones_like(likely.values)
        for weights in tried:
            self._clock.check()
            mixed = self.mixed(likely.values, weights), self.mixed(ones, [each**2 for each in weights])
            found = separate_terms(self._unfoldings, *mixed, rng)
            starts += [Found(gain, [*vectors, *weights]) for gain, vectors in found]
        return starts, True

    def mixed(self, values: Floats, weights: Sequence[Floats]) -> Floats:
        """Return the sums over the small modes with a vector of weights for each."""
        products = values * reduce(np.multiply.outer, weights).ravel()[self._cells]
        sums: Floats = np.add.reduceat(products[self._order], self._starts)
        return sums


def mixtures_of(
    coords: Integers, shape: Sequence[int], large: Sequence[int], clock: Clock | None = None
) -> Mixtures | None:
    """Return the mixtures of a tensor; None if it has no small modes, or too many cells or indices."""
    cells = math.prod(size for mode, size in enumerate(shape) if mode not in large)
    may_be = 1 < cells <= MOST_CELLS and min(shape[mode] for mode in large) <= MOST_INDICES
    return Mixtures(coords, shape, large, clock) if may_be else None
