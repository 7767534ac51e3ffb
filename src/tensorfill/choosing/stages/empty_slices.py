"""Slices without any observed entry, filled from the other slices of their mode.

Low rank alone leaves such a slice at zero, which is never a good answer. It is predicted as a weighted mean of the
slices that have entries: of all, or of its neighbours (see `tensorfill.models.slices`). Held-out slices decide. They
lie as the empty ones do: a slice that has entries is predicted from others that are no nearer, on either side, than
those of an empty slice. Empty slices at either end of a mode have others on one side only, and are judged apart.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy.sparse

from ..._support.clock import Clock
from ..._support.scaling import VALUE
from ..._support.types import Floats, Integers
from ...labels import Labels
from ...losses import Loss, expected, restore
from ...methods.problem import Problem
from ...models import Model, Placed
from ...models.slices import Empty, Neighbours, Slices, nearest
from ...observations import Observations
from ..error_bars import SliceErrors
from .base import After

EXPONENTS = (1.0, 1.5, 1.9)
NUGGETS = (0.0, 0.3, 3.0)
"""How fast slices become unlike each other with their distance, and their noise, relative to direct neighbours."""

PAIRS = 200
"""How often a slice with entries is held out in place of an empty one."""

ENTRIES = 100
"""At most this many entries of a held-out slice are predicted each time."""

STANDARD_ERRORS = 2.0
"""Neighbours must be better than the mean of all slices by this many standard errors."""


@dataclass(frozen=True)
class SliceFill:
    """How empty slices of a mode were filled.

    Parameters
    ----------
    mode
        The mode.
    count
        The number of these slices.
    neighbours
        The weights of neighbouring slices; None for the mean of all other slices.
    error
        The root mean square error of slices that were held out; NaN if none could be.
    """

    mode: int
    count: int
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
        slices = Slices(size, np.unique(observations.coords[:, mode]).astype(np.int64))
        if mode in without or len(slices.kept) == size:
            continue
        ways: list[Neighbours | None] = []
        for empty in slices.empty:
            if not len(empty):
                ways.append(None)
                continue
            fill, error = _HeldOutSlices(model, observations, loss, mode, empty).best(rng)
            ways.append(fill.neighbours)
            fills.append(fill)
            errors.append(error)
        model = _extended(model, mode, replace(slices, between=ways[0], beyond=ways[1]))
    return Filled(model, fills, errors)


def _extended(model: Model, mode: int, slices: Slices) -> Model:
    """Return a model whose empty slices are weighted means of the others."""
    if isinstance(model, Placed):
        if model.slices[mode] is not None:
            return model.with_slices(mode, slices)
        return Placed(_extended(model.model, mode, slices), model.slices)
    whole: list[Integers] = [np.arange(size) for size in model.shape]
    seen = model.restrict([slices.kept if other == mode else each for other, each in enumerate(whole)])
    placed = Placed(seen, [slices if other == mode else None for other in range(model.ndim)])
    return placed.part(whole).orthonormal()


@dataclass(frozen=True, eq=False)
class _HeldOutSlices:
    """Ways to fill some empty slices of a mode, tried on slices that have entries."""

    model: Model
    observations: Observations
    loss: Loss
    mode: int
    empty: Empty

    def best(self, rng: np.random.Generator) -> tuple[SliceFill, SliceErrors]:
        """Return the best way, and its errors at held-out slices.

        The mean of the others is preferred, unless neighbours are clearly better.
        """
        ways = [None, *(Neighbours(power, nugget) for power in EXPONENTS for nugget in NUGGETS)]
        rounds = [self._predicted(*pair, ways, rng) for pair in self._pairs(rng)]
        if not rounds:
            return SliceFill(self.mode, len(self.empty)), SliceErrors(self.mode, self.empty, np.zeros(0), 0)
        entries = np.concatenate([entries for entries, _ in rounds])
        around = np.concatenate([found for _, found in rounds], axis=1)
        predictions = np.vstack([self._mean_of_others(self.observations.coords[entries]), around])
        values = self.observations.values[entries]
        losses = np.stack([self.loss.value(each, values) for each in predictions])
        _, number = np.unique(self.observations.coords[entries, self.mode], return_inverse=True)
        way, count = _best_row(losses, number), int(number.max()) + 1
        fill = SliceFill(self.mode, len(self.empty), ways[way], float(np.sqrt(2 * losses[way].mean())))
        residuals = np.abs(expected(self.loss, predictions[way]) - restore(self.loss, values))
        return fill, SliceErrors(self.mode, self.empty, residuals, count)

    def _pairs(self, rng: np.random.Generator) -> list[tuple[int, Integers]]:
        """Return slices to hold out, each with those that may predict it: no nearer than those of an empty slice."""
        kept, size = self.empty.kept, self.empty.size
        found = []
        for number, stand_in in enumerate(self.empty.at(rng.integers(len(self.empty), size=PAIRS))):
            target = kept[number % len(kept)]
            gaps = kept - stand_in
            left, right = np.max(gaps[gaps < 0], initial=-size), np.min(gaps[gaps > 0], initial=size)
            allowed = kept[(kept - target <= left) | (kept - target >= right)]
            if len(allowed):
                found.append((int(target), allowed))
        return found

    def _predicted(
        self, target: int, allowed: Integers, ways: Sequence[Neighbours | None], rng: np.random.Generator
    ) -> tuple[Integers, Floats]:
        """Return entries of a held-out slice, by number, and what neighbours predict there in each way."""
        order, ordered = self._by_slice
        entries = order[slice(*np.searchsorted(ordered, [target, target + 1]))]
        if len(entries) > ENTRIES:
            entries = rng.choice(entries, ENTRIES, replace=False)
        sources = allowed[nearest(allowed, np.array([target]))]
        coords = self.observations.coords[entries]
        moved = np.tile(coords, (sources.shape[1], 1))
        moved[:, self.mode] = np.repeat(sources[0], len(coords))
        around = self.model.predict(moved).reshape(sources.shape[1], len(coords))
        weights = [way.weights(np.array([target]), sources)[0] for way in ways if way is not None]
        return entries, np.stack(weights) @ around

    @cached_property
    def _by_slice(self) -> tuple[Integers, Integers]:
        """The entries by number, ordered by their slice, and the slice of each."""
        slices = self.observations.coords[:, self.mode]
        order = np.argsort(slices, kind="stable")
        return order, slices[order]

    def _mean_of_others(self, coords: Integers) -> Floats:
        """Return the mean over the slices with entries, without the slice of each entry."""
        kept, count = self.empty.kept, len(self.empty.kept)
        share = np.full(count, 1 / count)
        weights = scipy.sparse.csr_array((share, (np.zeros(count, dtype=int), kept)), shape=(1, self.empty.size))
        mean = self.model.multiplied(self.mode, weights)
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
