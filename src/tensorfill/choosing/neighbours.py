"""Predictions of an entry from its neighbours, and how well the entries around it are predicted.

Neighbours of an entry are those one step away along a mode with an order, such as the rows of a picture or the hours of
a day, and the entries at all other indices of a mode with few, such as colours. Each neighbour along a mode with an
order is a prediction, x[a]; so is the line through two of them, 2 x[a] - x[2a]; and so is the corner that completes a
parallelogram of steps along two modes, x[a] + x[b] - x[a + b]. The median of many such predictions is accurate if
most of them are from sound entries, and their spread shows how accurate. The entry itself is not used.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .._support.clock import Clock
from .._support.types import Floats, Integers
from ..algebra.loops import loops
from ..algebra.plain.quantiles import predictions
from ..observations import Observations
from .stages.smooth_field import ALIKE, FEWEST_PAIRS, LARGEST, SMALLEST_MODE, neighbour_differences

ENOUGH = 8
"""The number of predictions of an entry that is enough: those with more than twice the error of the last of them are
not used."""

MOST_PREDICTIONS = 40
"""The largest number of predictions of one entry."""

SAMPLE = 20_000
"""The number of entries used to measure the error of each kind of prediction."""

AT_ONCE = 2**22
"""The largest number of values sorted at once, which limits the memory."""

FEWEST_PREDICTIONS = 4
"""With fewer predictions, their spread is not informative."""

BOUND = 0.75
"""The mean of absolute errors clips them at this quantile."""

Offsets = tuple[int, ...]


def bounded_mean(errors: Floats) -> float:
    """Return the mean of the absolute errors above 0, with the largest quarter of them bounded by the others.

    Data with few different values, such as the colours of pictures, has many errors of exactly 0, which are not
    informative about the size of the others.

    >>> bounded_mean(np.array([0.0, 0.0, 1.0, 1.0, 1.0, 1e9]))
    1.0
    """
    errors = errors[errors > 0]
    if len(errors) == 0:
        return 0.0
    place = max(math.ceil(BOUND * len(errors)) - 1, 0)
    return float(np.minimum(errors, np.partition(errors, place)[place]).mean())


def ordered_modes(observations: Observations, rng: np.random.Generator) -> list[int]:
    """Return the modes along which neighbours are alike, by the median of their differences.

    >>> wave = np.sin(np.arange(40.0) / 5)[:, None] * np.random.default_rng(0).standard_normal(30)
    >>> wave[3, 4] = 1e9
    >>> ordered_modes(Observations.from_dense(wave), np.random.default_rng(0))
    [0]
    """
    shape, values = observations.shape, observations.values
    if math.prod(shape) > LARGEST or len(values) < FEWEST_PAIRS:
        return []
    far = bounded_mean(np.abs(values - rng.permutation(values)))
    found = []
    for mode in range(len(shape)):
        if shape[mode] >= SMALLEST_MODE:
            differences = np.abs(neighbour_differences(observations, mode))
            if len(differences) >= FEWEST_PAIRS and bounded_mean(differences) < ALIKE * far:
                found.append(mode)
    return found


@dataclass(frozen=True)
class Neighbourhood:
    """The neighbours of the entries of a dense tensor.

    Parameters
    ----------
    shape
        The shape of the tensor.
    ordered
        The modes with an order; the neighbours along them are one step away.
    """

    shape: tuple[int, ...]
    ordered: Sequence[int]

    def predict(self, values: Floats, rng: np.random.Generator, clock: Clock | None = None) -> tuple[Floats, Floats]:
        """Return the median of the predictions of every entry, and their interquartile range.

        The range is infinite if there are too few predictions.

        Parameters
        ----------
        values
            All entries in C order, with NaN for unknown ones; the result is NaN where there is no prediction.
        rng
            The random generator for the entries on which kinds of predictions are compared.
        clock
            Raises `TimeUp` when it expires.
        """
        clock = clock or Clock()
        return clock.journal.recall(("neighbours", self, values), lambda _: self._predict(values, rng, clock), rng=rng)

    def _predict(self, values: Floats, rng: np.random.Generator, clock: Clock) -> tuple[Floats, Floats]:
        padded = self._padded(values)
        kinds = self._best(list(self._predictions()), padded, self._sample(values, rng))
        median, spread = np.full((2, len(values)), np.nan)
        for part, places in self._parts(np.arange(len(values)), len(kinds)):
            clock.check()
            quartiles, count = _quantiles(padded, places, kinds, (0.25, 0.5, 0.75))
            median[part] = quartiles[1]
            spread[part] = np.where(count >= FEWEST_PREDICTIONS, quartiles[2] - quartiles[0], np.inf)
        return median, spread

    def upper_quartile(self, values: Floats, positions: Integers, clock: Clock | None = None) -> Floats:
        """Return the upper quartile of the values of the neighbours of some entries, up to two steps away.

        It raises `TimeUp` when the clock expires.
        """
        clock = clock or Clock()
        asked = ("quartiles", self, values, positions)
        return clock.journal.recall(asked, lambda _: self._upper_quartile(values, positions, clock))

    def _upper_quartile(self, values: Floats, positions: Integers, clock: Clock) -> Floats:
        padded = self._padded(values)
        steps = list(self._steps())
        near = [(step,) for _, step in steps] + [(a + b,) for (_, a), (_, b) in self._pairs(steps)]
        result = np.full(len(positions), np.nan)
        for part, places in self._parts(positions, len(near)):
            clock.check()
            result[part] = _quantiles(padded, places, near, (0.75,))[0][0]
        return result

    @property
    def _few(self) -> list[int]:
        """The modes with few indices, all of which are neighbours."""
        return [mode for mode, size in enumerate(self.shape) if 1 < size < SMALLEST_MODE and mode not in self.ordered]

    @property
    def _widths(self) -> list[int]:
        """The number of indices added at either end of each mode."""
        few = self._few
        return [2 if mode in self.ordered else size - 1 if mode in few else 0 for mode, size in enumerate(self.shape)]

    @property
    def _padded_shape(self) -> list[int]:
        return [size + 2 * width for size, width in zip(self.shape, self._widths, strict=True)]

    def _padded(self, values: Floats) -> Floats:
        """Return the values with NaN around them, and modes with few indices repeated, in C order."""
        padded = np.asarray(values, dtype=np.float64).reshape(self.shape)
        for mode, width in enumerate(self._widths):
            if width:
                around = [(width, width) if axis == mode else (0, 0) for axis in range(padded.ndim)]
                if mode in self.ordered:
                    padded = np.pad(padded, around, constant_values=np.nan)
                else:
                    padded = np.pad(padded, around, mode="wrap")
        return padded.reshape(-1)

    def _places(self, positions: Integers) -> Integers:
        """Return the positions of entries among the padded ones."""
        coords = np.unravel_index(positions, self.shape)
        moved = [index + width for index, width in zip(coords, self._widths, strict=True)]
        return np.ravel_multi_index(moved, self._padded_shape)

    def _parts(self, positions: Integers, kinds: int) -> Iterator[tuple[slice, Integers]]:
        """Yield parts of some entries, and their positions among the padded ones."""
        length = max(AT_ONCE // max(kinds, 1), 1)
        for first in range(0, len(positions), length):
            part = slice(first, min(first + length, len(positions)))
            yield part, self._places(positions[part])

    def _sample(self, values: Floats, rng: np.random.Generator) -> Integers:
        known = np.flatnonzero(np.isfinite(values))
        return self._places(known if len(known) <= SAMPLE else rng.choice(known, SAMPLE, replace=False))

    def _steps(self) -> Iterator[tuple[int, int]]:
        """Yield the steps to the neighbours of an entry: the mode, and the distance among the padded entries."""
        padded = self._padded_shape
        for mode, size in enumerate(self.shape):
            stride = math.prod(padded[mode + 1 :])
            if mode in self.ordered:
                yield from ((mode, stride), (mode, -stride))
            elif mode in self._few:
                yield from ((mode, index * stride) for index in range(1, size))

    @staticmethod
    def _pairs(
        steps: Iterable[tuple[int, int]],
    ) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """Yield the pairs of steps along different modes."""
        return (pair for pair in itertools.combinations(steps, 2) if pair[0][0] != pair[1][0])

    def _predictions(self) -> Iterator[Offsets]:
        """Yield each kind of prediction: the offset of one entry, or of two that are added and one subtracted."""
        steps = list(self._steps())
        for mode, step in steps:
            if mode in self.ordered:
                yield (step,)
                yield step, step, 2 * step
        for (_, a), (_, b) in self._pairs(steps):
            yield a, b, a + b

    @staticmethod
    def _best(kinds: list[Offsets], padded: Floats, sample: Integers) -> list[Offsets]:
        """Return the kinds of predictions that are about as good as the best on a sample of entries."""
        errors = []
        for kind in kinds:
            error = np.abs(predictions(padded, sample, _steps_of([kind]))[:, 0] - padded[sample])
            error = error[np.isfinite(error)]
            errors.append(bounded_mean(error) if len(error) >= FEWEST_PAIRS else math.inf)
        order = np.argsort(errors, kind="stable")[:MOST_PREDICTIONS]
        limit = 2 * errors[order[min(ENOUGH, len(order)) - 1]]
        return [kinds[number] for number in order if errors[number] <= limit and math.isfinite(errors[number])]


def _steps_of(kinds: Sequence[Offsets]) -> Integers:
    """Return a row of three distances for each kind of prediction; the last two are equal if they take no part."""
    return np.array([kind if len(kind) > 1 else (*kind, 0, 0) for kind in kinds], dtype=np.int64).reshape(-1, 3)


def _quantiles(
    padded: Floats, places: Integers, kinds: Sequence[Offsets], shares: Sequence[float]
) -> tuple[Floats, Integers]:
    """Return these quantiles of the predictions of each place, and how many predictions it has."""
    out = np.empty((len(shares), len(places)))
    module = loops("quantiles", len(places), len(places) * len(kinds))
    return out, module.quantiles_of_predictions(padded, places, _steps_of(kinds), np.array(shares), out)
