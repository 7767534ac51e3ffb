"""Slices without any observed entry, filled from the other slices of their mode.

Low rank alone leaves such a slice at zero, which is never a good answer. A slice i is predicted as a weighted mean of
the slices that have entries,

    X_i = sum_j w_ij X_j,    sum_j w_ij = 1.

Either all weights are equal, or they are those of ordinary kriging: the best linear prediction if the squared
difference of two slices grows as |i - j|^a with their distance. With a = 1 that is linear interpolation, with a larger
exponent it is smoother, and a nugget averages over more neighbours. Held-out slices decide. They lie as the empty ones
do: a slice that has entries is predicted from others that are no nearer, on either side, than those of an empty slice.
Empty slices at either end of a mode have others on one side only, and are judged apart.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy.sparse

from ..._support.clock import Clock
from ..._support.scaling import VALUE
from ..._support.types import Booleans, Floats, Integers
from ...labels import Labels
from ...losses import Loss, expected, restore
from ...methods.problem import Problem
from ...models import Model
from ...observations import Observations
from ..error_bars import SliceErrors
from .base import After

EXPONENTS = (1.0, 1.5, 1.9)
NUGGETS = (0.0, 0.3, 3.0)
"""How fast slices become unlike each other with their distance, and their noise, relative to direct neighbours."""

NEIGHBOURS = 16
"""A slice is predicted from at most this many neighbours."""

AT_A_TIME = 2**14
"""The number of slices whose weights are computed together."""

PAIRS = 200
"""How often a slice with entries is held out in place of an empty one."""

ENTRIES = 100
"""At most this many entries of a held-out slice are predicted each time."""

STANDARD_ERRORS = 2.0
"""Neighbours must be better than the mean of all slices by this many standard errors."""


@dataclass(frozen=True)
class Neighbours:
    """The weights of neighbouring slices by ordinary kriging.

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


@dataclass(frozen=True)
class SliceFill:
    """How empty slices of a mode were filled.

    Parameters
    ----------
    mode
        The mode.
    slices
        The slices.
    neighbours
        The weights of neighbouring slices; None for the mean of all other slices.
    error
        The root mean square error of slices that were held out; NaN if none could be.
    """

    mode: int
    slices: tuple[int, ...]
    neighbours: Neighbours | None = None
    error: float = field(metadata=VALUE, default=float("nan"))

    def __str__(self) -> str:
        return "the mean of the other slices" if self.neighbours is None else "their neighbouring slices"


@dataclass(frozen=True)
class EmptySlices(After):
    """Fill slices without any observed entry from the other slices of their mode.

    Parameters
    ----------
    fills
        How they were filled, for each mode that has some.
    without
        Modes whose empty slices stay as they are, such as those with a graph.
    """

    name: ClassVar[str] = "fill"
    title: ClassVar[str] = "Empty slices"
    chosen: ClassVar[bool] = False

    fills: tuple[SliceFill, ...] = ()
    without: tuple[int, ...] = ()

    def in_words(self, labels: Labels) -> str:
        """Return what the slices of each mode were filled from."""
        # Slices inside a mode and at its ends may be filled in the same way.
        return "; ".join(dict.fromkeys(f"{labels.names[fill.mode]}: from {fill}" for fill in self.fills))

    @property
    def modes(self) -> Iterable[int]:
        """The modes with empty slices."""
        return [fill.mode for fill in self.fills]

    def improve(self, problem: Problem, model: Model, clock: Clock, near: Model | None = None) -> Model:
        """Return the model with its empty slices filled as the entries of the problem suggest."""
        return fill_empty_slices(model, problem.observations, problem.loss, without=self.without).model


@dataclass(frozen=True, eq=False)
class Filled:
    """A model with its empty slices filled.

    Parameters
    ----------
    model
        The model.
    fills
        How the empty slices of each mode were filled.
    errors
        The errors at held-out slices of each of these modes.
    """

    model: Model
    fills: Sequence[SliceFill] = ()
    errors: Sequence[SliceErrors] = ()


def fill_empty_slices(model: Model, observations: Observations, loss: Loss, *, without: Collection[int] = ()) -> Filled:
    """Fill the slices without any observed entry, except along the modes `without`.

    Parameters
    ----------
    model
        A model of the tensor; what it has in empty slices is not used.
    observations, loss
        The data, and how predictions are compared with it.
    without
        Modes whose empty slices stay as they are, such as those with a graph.
    """
    # Its own generator, so that nothing else depends on whether slices are empty.
    rng = np.random.default_rng(0)
    fills: list[SliceFill] = []
    errors: list[SliceErrors] = []
    for mode, size in enumerate(observations.shape):
        present = np.zeros(size, dtype=bool)
        present[observations.coords[:, mode]] = True
        if mode in without or present.all():
            continue
        found = []
        for empty in _alike(present):
            fill, error = _HeldOutSlices(model, observations, loss, mode, present, empty).best(rng)
            found.append(fill)
            errors.append(error)
        model = _extended(model, mode, present, found)
        fills += found
    return Filled(model, fills, errors)


def _alike(present: Booleans) -> list[Integers]:
    """Return the empty slices between others, and those at either end of the mode; without those there are none of."""
    kept, empty = np.flatnonzero(present), np.flatnonzero(~present)
    inside = (empty > kept[0]) & (empty < kept[-1])
    return [group for group in (empty[inside], empty[~inside]) if len(group)]


def _extended(model: Model, mode: int, present: Booleans, fills: Sequence[SliceFill]) -> Model:
    """Return a model whose empty slices are weighted means of the others."""
    kept = np.flatnonzero(present)
    count, whole = len(kept), [np.arange(size) for size in model.shape]
    row_of = np.empty(len(present), dtype=np.int64)
    row_of[kept] = np.arange(count)
    blocks = [scipy.sparse.eye_array(count)]
    for fill in fills:
        empty, last = np.array(fill.slices), sum(block.shape[0] for block in blocks)
        if fill.neighbours is None:
            blocks.append(scipy.sparse.csr_array(np.full((1, count), 1 / count)))
            row_of[empty] = last
        else:
            near = _nearest(kept, empty)
            pairs = np.repeat(np.arange(len(empty)), near.shape[1]), near.ravel()
            # Each slice has a separate small system; they are solved in parts to limit the memory.
            parts = np.array_split(np.arange(len(empty)), math.ceil(len(empty) / AT_A_TIME))
            weights = np.concatenate([fill.neighbours.weights(empty[part], kept[near[part]]) for part in parts]).ravel()
            blocks.append(scipy.sparse.csr_array((weights, pairs), shape=(len(empty), count)))
            row_of[empty] = last + np.arange(len(empty))
    matrix = scipy.sparse.vstack(blocks, format="csr")
    combined = model.restrict([*whole[:mode], kept, *whole[mode + 1 :]]).multiplied(mode, matrix)
    filled = combined.restrict([*whole[:mode], row_of, *whole[mode + 1 :]])
    return filled.orthonormal()


def _nearest(kept: Integers, places: Integers) -> Integers:
    """Return the positions in `kept`, which is sorted, of the neighbours of each place, as many on either side."""
    each = min(NEIGHBOURS, len(kept))
    first = np.clip(np.searchsorted(kept, places) - each // 2, 0, len(kept) - each)
    return first[:, None] + np.arange(each)


@dataclass(frozen=True, eq=False)
class _HeldOutSlices:
    """Ways to fill some empty slices of a mode, tried on slices that have entries."""

    model: Model
    observations: Observations
    loss: Loss
    mode: int
    present: Booleans
    empty: Integers

    def best(self, rng: np.random.Generator) -> tuple[SliceFill, SliceErrors]:
        """Return the best way, and its errors at held-out slices.

        The mean of the others is preferred, unless neighbours are clearly better.
        """
        ways = [None, *(Neighbours(power, nugget) for power in EXPONENTS for nugget in NUGGETS)]
        slices = tuple(self.empty.tolist())
        rounds = [self._predicted(*pair, ways, rng) for pair in self._pairs(rng)]
        if not rounds:
            return SliceFill(self.mode, slices), SliceErrors(self.mode, self.empty, np.zeros(0), 0)
        entries = np.concatenate([entries for entries, _ in rounds])
        around = np.concatenate([found for _, found in rounds], axis=1)
        predictions = np.vstack([self._mean_of_others(self.observations.coords[entries]), around])
        values = self.observations.values[entries]
        losses = np.stack([self.loss.value(each, values) for each in predictions])
        _, number = np.unique(self.observations.coords[entries, self.mode], return_inverse=True)
        way, count = _best_row(losses, number), int(number.max()) + 1
        fill = SliceFill(self.mode, slices, ways[way], float(np.sqrt(2 * losses[way].mean())))
        residuals = np.abs(expected(self.loss, predictions[way]) - restore(self.loss, values))
        return fill, SliceErrors(self.mode, self.empty, residuals, count)

    def _pairs(self, rng: np.random.Generator) -> list[tuple[int, Integers]]:
        """Return slices to hold out, each with those that may predict it: no nearer than those of an empty slice."""
        kept = np.flatnonzero(self.present)
        found = []
        for number, stand_in in enumerate(rng.choice(self.empty, PAIRS)):
            target = kept[number % len(kept)]
            gaps = kept - stand_in
            left, right = (
                np.max(gaps[gaps < 0], initial=-len(self.present)),
                np.min(gaps[gaps > 0], initial=len(self.present)),
            )
            allowed = kept[(kept - target <= left) | (kept - target >= right)]
            if len(allowed):
                found.append((int(target), allowed))
        return found

    def _predicted(
        self, target: int, allowed: Integers, ways: Sequence[Neighbours | None], rng: np.random.Generator
    ) -> tuple[Integers, Floats]:
        """Return entries of a held-out slice, by number, and what neighbours predict there in each way."""
        entries = self._entries[self._first[target] : self._first[target + 1]]
        if len(entries) > ENTRIES:
            entries = rng.choice(entries, ENTRIES, replace=False)
        sources = allowed[_nearest(allowed, np.array([target]))]
        coords = self.observations.coords[entries]
        around = np.stack([self._at(coords, source) for source in sources[0]])
        weights = [way.weights(np.array([target]), sources)[0] for way in ways if way is not None]
        return entries, np.stack(weights) @ around

    @cached_property
    def _entries(self) -> Integers:
        """The entries by number, ordered by their slice."""
        return np.argsort(self.observations.coords[:, self.mode], kind="stable")

    @cached_property
    def _first(self) -> Integers:
        """Where the entries of each slice begin in this order."""
        counts = np.bincount(self.observations.coords[:, self.mode], minlength=len(self.present))
        return np.concatenate([[0], np.cumsum(counts)])

    def _at(self, coords: Integers, place: int) -> Floats:
        """Return the model at entries moved to another slice."""
        moved = coords.copy()
        moved[:, self.mode] = place
        return self.model.predict(moved)

    def _mean_of_others(self, coords: Integers) -> Floats:
        """Return the mean over the slices with entries, without the slice of each entry."""
        count = int(self.present.sum())
        whole: list[Integers] = [np.arange(size) for size in self.model.shape]
        whole[self.mode] = np.flatnonzero(self.present)
        mean = self.model.restrict(whole).multiplied(self.mode, np.full((1, count), 1 / count))
        moved = coords.copy()
        moved[:, self.mode] = 0
        others: Floats = (mean.predict(moved) * count - self.model.predict(coords)) / max(count - 1, 1)
        return others


def _best_row(losses: Floats, slices: Integers) -> int:
    """Return the row with the least mean loss over slices; the first, unless another is better by more than chance."""
    counts = np.bincount(slices)
    by_slice = np.stack([np.bincount(slices, weights=row) for row in losses]) / counts
    best = int(np.argmin(by_slice.mean(axis=1)))
    gain = by_slice[0] - by_slice[best]
    if len(counts) < 2 or gain.mean() <= STANDARD_ERRORS * gain.std(ddof=1) / math.sqrt(len(counts)):
        return 0
    return best
