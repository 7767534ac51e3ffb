"""The times along which a series runs, also beyond its end, and the forecast of it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._support.types import Floats, Integers
from ..labels import Labels
from .drawing import label_of, name_of

if TYPE_CHECKING:
    from ..fit import Fit


@dataclass(frozen=True, eq=False)
class Times:
    """The indices of one mode, or of two modes that are one time, as one line.

    Parameters
    ----------
    modes
        The mode; or two of them, the slow one first.
    shape
        The shape of the tensor.
    labels
        The labels of the tensor.
    further
        The labels of a forecast, by which those of the slow mode go on; None if there is none.
    """

    modes: tuple[int, ...]
    shape: tuple[int, ...]
    labels: Labels
    further: Labels | None = None

    @classmethod
    def of(cls, fit: Fit, modes: tuple[int, ...]) -> Times:
        """Return the times of a fit along one or two modes."""
        return cls(modes, fit.shape, fit.labels, fit.ahead.labels if has_forecast(fit, modes) and fit.ahead else None)

    @property
    def fast(self) -> int:
        """How many times each index of the slow mode has."""
        return self.shape[self.modes[1]] if len(self.modes) == 2 else 1

    def __len__(self) -> int:
        return self.shape[self.modes[0]] * self.fast

    @property
    def name(self) -> str:
        """What these times are called on an axis."""
        return ", ".join(name_of(self.labels, mode) for mode in self.modes)

    def coords(self, row: Integers, times: Integers) -> Integers:
        """Return the coordinates of some times of the series that has `row` among its coordinates."""
        coords = np.repeat(row[np.newaxis], len(times), axis=0)
        for mode, index in zip(self.modes, np.divmod(times, self.fast), strict=False):
            coords[:, mode] = index
        return coords

    def numbers(self, coords: Integers) -> Integers:
        """Return the times of coordinates."""
        found: Integers = coords[:, self.modes[0]] * self.fast
        return found + coords[:, self.modes[1]] if len(self.modes) == 2 else found

    def label(self, time: int) -> str:
        """Return the label of a time, which may be beyond the end."""
        slow, fast = divmod(time, self.fast)
        return ", ".join([self._slow(slow), *(label_of(self.labels, mode, fast) for mode in self.modes[1:])])

    def _slow(self, index: int) -> str:
        mode, beyond = self.modes[0], index - self.shape[self.modes[0]]
        if beyond < 0 or self.labels.keys[mode] is None or self.further is None:
            return label_of(self.labels, mode, index)
        return label_of(self.further, mode, beyond)


def has_forecast(fit: Fit, modes: tuple[int, ...]) -> bool:
    """Return whether a fit has a forecast along these modes."""
    return fit.ahead is not None and fit.ahead.axis.modes == modes


def forecast_at(
    fit: Fit, times: Times, row: Integers, interval: float
) -> tuple[Floats, Floats | None, Floats | None] | None:
    """Return the forecast of a series and the ends of its bands, if there are any; None if the fit has no forecast."""
    found = fit.ahead
    if found is None or not has_forecast(fit, times.modes):
        return None
    places = tuple(times.coords(row, np.arange(found.horizon)).T)
    values = found.values[places]
    try:
        half = found.half_width(interval)[places]
    except ValueError:
        return values, None, None
    return values, fit.bounded(values - half), fit.bounded(values + half)


HISTORY = (96, 300)
"""At least and at most this many of the last times are drawn before a forecast."""

HORIZONS = 4
"""Otherwise this many times the horizon."""


def last_times(fit: Fit, times: Times, last: int | None) -> int:
    """Return how many of the last times are drawn before a forecast."""
    horizon = 0 if fit.ahead is None else fit.ahead.horizon
    usual = min(max(HORIZONS * horizon, HISTORY[0]), HISTORY[1])
    return min(usual if last is None else last, len(times))
