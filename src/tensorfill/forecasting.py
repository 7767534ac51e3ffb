"""What comes after the end: values beyond the last time, with bands, and whole paths.

Several forecasts are compared at earlier ends of the data: everything after such an end is hidden, forecast, and
compared with what came. These errors choose the weights of a blend, and how wide the bands are at each step. Joint
autoregressions of `tensorfill.methods.seasonal_ar` are among the forecasts: around a fixed level and a wandering one,
with seasons and without. The others are simple: the last value of each series, and its value one period before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._support.checks import real_number, whole_number
from ._support.parallel import one_blas_thread
from ._support.types import Floats
from .adapters.restoring import regrown
from .choosing.blending import blend_weights
from .labels import Labels
from .losses import Square
from .methods.seasonal_ar.method import FEWEST_TIMES, MOST_SERIES, Table
from .methods.seasonal_ar.process import FIXED, WANDERING, Law
from .methods.seasonal_ar.smoother import Smoother
from .methods.simple.interpolation import interpolated
from .times import TimeAxis, continued, time_axis

if TYPE_CHECKING:
    from .fit import Fit

MOST_ENDS = 12
"""The largest number of earlier ends, at equal distances."""

LEAST_HISTORY = 0.5
"""An earlier end leaves at least this share of the times."""

RECENT, PERIODS_BACK = 1_000, 8
"""A forecast from an earlier end looks back this many times, or this many of the longest period: the law is known."""

ENOUGH_PATHS = 50
"""The spread of the paths is known from at least this many."""

AUTOREGRESSIONS = {
    "autoregression with seasons": (True, FIXED),
    "wandering level with seasons": (True, WANDERING),
    "autoregression": (False, FIXED),
    "wandering level": (False, WANDERING),
}
"""Whether an autoregression has seasons, and how its levels are, by name."""

STEPS, STEPS_AGAIN = 12, 3
"""The steps of expectation maximisation for all times, and for an earlier end, with the law that was found."""


@dataclass(frozen=True, eq=False)
class Forecast:
    """Values beyond the last time.

    Parameters
    ----------
    values
        The tensor of these times.
    spread
        About the standard deviation of the error of each value; NaN if there are too few times to know.
    horizon
        The number of times; of two modes of time, the last row may have more.
    labels
        The names of the modes and of their indices, of which those of time go on.
    axis
        The mode or modes of time.
    quantiles
        The errors at earlier ends over their spread, without signs and sorted.
    weights
        The weight of each forecast in the blend, by name.
    errors
        The mean absolute error at earlier ends of each forecast and of the blend, by name.
    """

    values: Floats
    spread: Floats
    horizon: int
    labels: Labels
    axis: TimeAxis
    quantiles: Floats
    weights: Mapping[str, float]
    errors: Mapping[str, float]

    def half_width(self, share: float) -> Floats:
        """Return half the width of the band that holds this share of the values."""
        self.check_ends()
        count = len(self.quantiles)
        place = min(math.ceil(share * (count + 1)), count) - 1
        found: Floats = self.spread * self.quantiles[place]
        return found

    def check_ends(self) -> None:
        """Refuse what rests on errors at earlier ends, if there are none."""
        if len(self.quantiles) == 0:
            raise ValueError(
                "bands and paths rest on forecasts from earlier ends of the data, but it has too few times for any; "
                "give more times, or leave them out."
            )


@one_blas_thread
def forecast_of(fit: Fit, horizon: int, rng: np.random.Generator) -> Forecast:
    """Return the forecast of a fit that has its data.

    Parameters
    ----------
    fit
        The fit.
    horizon
        The number of times beyond the last one.
    rng
        The random generator.
    """
    whole_number(horizon, "horizon", at_least=1)
    axis, table, rows = _series_of(fit)
    size = fit.shape[axis.modes[-1]] if len(axis.modes) == 2 else 1
    steps = -(-horizon // size) * size
    found = ahead(rows, steps, axis.exact_periods, rng)
    labels = continued(fit.labels, axis, steps)
    shape = tuple(-(-steps // size) if mode == axis.modes[0] else count for mode, count in enumerate(table.shape))
    beyond = Table(shape, axis.modes)
    values, spread = (beyond.tensor(each) for each in (found.values, found.spread))
    how = (found.quantiles, found.weights, found.errors)
    return Forecast(fit.bounded(values), spread, horizon, labels, axis, *how)


def _series_of(fit: Fit) -> tuple[TimeAxis, Table, Floats]:
    """Return the mode of time, and the data as series."""
    if fit.observations is None:
        raise ValueError(
            "A forecast needs the data of the fit, which a file does not hold; save the fit with data=True."
        )
    if not isinstance(fit.loss, Square):
        raise ValueError(f"A forecast needs loss 'square', but the loss of this fit is {fit.loss!r}.")
    axis = time_axis(fit.labels, fit.observations, fit.recipe.asked.get("time", "auto"))
    if axis is None:
        raise ValueError(
            "A forecast needs a mode of time, but no mode of this fit has dates or times as labels; name it when "
            "fitting, as in time='hour'."
        )
    table = Table.of(fit.shape, axis.modes)
    if table.series > MOST_SERIES:
        raise ValueError(
            f"A forecast takes up to {MOST_SERIES:,} series, but this fit has {table.series:,}; forecast some of them."
        )
    dense = np.full(fit.shape, np.nan)
    entries = fit.observations if fit.corrupt is None else fit.observations.select(~fit.corrupt)
    dense.ravel()[entries.positions] = entries.values
    return axis, table, table.rows(dense)


@dataclass(frozen=True, eq=False)
class BeyondTheEnd:
    """What comes after a table of series and times; see `Forecast`."""

    values: Floats
    spread: Floats
    quantiles: Floats
    weights: Mapping[str, float]
    errors: Mapping[str, float]


def ahead(rows: Floats, steps: int, periods: tuple[float, ...], rng: np.random.Generator) -> BeyondTheEnd:
    """Return what comes after the end of some series.

    Parameters
    ----------
    rows
        The series, with NaN where nothing is observed: series, time.
    steps
        The number of times to forecast.
    periods
        The seasonal periods.
    rng
        The random generator.

    Examples
    --------
    >>> days = np.arange(60)
    >>> waves = np.array([[1.0], [2.0]]) * np.sin(days * 2 * np.pi / 7) + [[0.0], [10.0]]
    >>> found = ahead(waves, 7, (7,), np.random.default_rng(0))
    >>> bool(np.abs(found.values[1] - 10 - 2 * np.sin(np.arange(60, 67) * 2 * np.pi / 7)).max() < 0.2)
    True
    """
    laws: dict[str, Law] = {}
    # What cannot be compared at an earlier end is not forecast with.
    usable = tuple(period for period in periods if 2 * period <= rows.shape[1] - steps)
    now = forecasts(rows, steps, usable, rng, laws)
    names, errors = list(now), []
    recent = max(RECENT, round(PERIODS_BACK * max(usable, default=0)))
    for end in _earlier_ends(rows.shape[1], steps, usable):
        came = rows[:, end : end + steps]
        if np.isfinite(came).any() and np.isfinite(rows[:, :end]).any():
            then = forecasts(rows[:, max(end - recent, 0) : end], steps, usable, rng, dict(laws))
            errors.append(np.stack([then[name] - came for name in names]))
    if not errors:
        blank = np.full((len(rows), steps), np.nan)
        return BeyondTheEnd(now[names[0]], blank, np.zeros(0), {names[0]: 1.0}, {})
    scale = _scales(rows)
    every = np.stack(errors, axis=1) / scale
    weights = _weights(every)
    blended = _left_out(every, lambda others, own: np.tensordot(_weights(others), own, axes=1))
    values = np.tensordot(weights, np.stack([now[name] for name in names]), axes=1)
    spread = _spread(blended)
    sizes = _left_out(blended[None], lambda others, own: np.abs(own[0]) / _spread(others[0]))
    quantiles = np.sort(sizes[np.isfinite(sizes)])
    about = {name: float(np.nanmean(np.abs(each))) for name, each in zip(names, every * scale, strict=True)}
    about["blend"] = float(np.nanmean(np.abs(blended * scale)))
    parts = {name: float(weight) for name, weight in zip(names, weights, strict=True) if weight > 0}
    return BeyondTheEnd(values, spread * scale, quantiles, parts, about)


def forecasts(
    rows: Floats, steps: int, periods: tuple[float, ...], rng: np.random.Generator, laws: dict[str, Law]
) -> dict[str, Floats]:
    """Return several forecasts by name; a law that is not known yet is added to `laws`."""
    count, times = rows.shape
    beyond = np.hstack([rows, np.full((count, steps), np.nan)])
    found = {}
    for name, (seasonal, level) in AUTOREGRESSIONS.items():
        # Where there are periods, one does without them: their seasons may not last.
        if seasonal == bool(periods) or (level == FIXED and not seasonal):
            smoother = Smoother(beyond, periods if seasonal else (), rng, level, laws.get(name))
            for _ in range(STEPS_AGAIN if name in laws else STEPS):
                smoother.step()
            laws[name] = smoother.law
            found[name] = smoother.mean()[:, times:]
    last = _without_gaps(rows)
    found["last value"] = np.repeat(last[:, -1:], steps, axis=1)
    for period in map(round, periods):
        places = times - period + np.arange(steps) % period
        found[f"{period} steps before"] = _without_gaps_at(rows, period)[:, places]
    return found


def _earlier_ends(times: int, steps: int, periods: Sequence[float]) -> list[int]:
    """Return earlier ends, the first one first; what comes after one does not overlap with what comes after the next.

    >>> _earlier_ends(1000, 24, (24, 168))[::4], len(_earlier_ends(60, 12, (12,)))
    ([500, 673, 846], 2)
    """
    least = math.ceil(max(LEAST_HISTORY * times, 2 * max(periods, default=1), FEWEST_TIMES))
    count = min(max(times - least, 0) // steps, MOST_ENDS)
    return [int(end) for end in np.linspace(least, times - steps, count)] if count > 1 else [times - steps] * count


def _without_gaps(rows: Floats) -> Floats:
    """Return series with straight lines through gaps; a series without any value is the mean of the others."""
    filled = interpolated(rows, 1)
    empty = np.isnan(filled)
    if empty.any():
        filled = np.where(empty, np.nanmean(rows), filled)
    return filled


def _without_gaps_at(rows: Floats, period: int) -> Floats:
    """Return series with straight lines between values at the same place of the period."""
    count, times = rows.shape
    rounds = -(-times // period)
    # The padding is before the first time, so that the last round is whole.
    padded = np.full((count, rounds * period), np.nan)
    padded[:, rounds * period - times :] = rows
    places = padded.reshape(count, rounds, period).transpose(0, 2, 1).reshape(-1, rounds)
    filled = interpolated(places, 1).reshape(count, period, rounds).transpose(0, 2, 1).reshape(count, -1)
    found = filled[:, rounds * period - times :]
    return np.where(np.isnan(found), _without_gaps(rows), found)


def _scales(rows: Floats) -> Floats:
    """Return the spread of each series as a column; series that do not vary have that of the others."""
    counts = np.isfinite(rows).sum(axis=1)
    scales = np.array([np.nanstd(row) if count > 1 else 0.0 for row, count in zip(rows, counts, strict=True)])
    usual = float(np.mean(scales[scales > 0])) if (scales > 0).any() else 1.0
    return np.where(scales > 0, scales, usual)[:, None]


def _weights(errors: Floats) -> Floats:
    """Return the weight of each forecast from their errors: forecast, end, series, step."""
    flat = errors.reshape(len(errors), -1)
    flat = flat[:, np.isfinite(flat).all(axis=0)]
    best = int(np.argmin((flat**2).mean(axis=1)))
    found = blend_weights(flat, best)
    return np.eye(len(errors))[best] if found is None else found


def _left_out(errors: Floats, of: Callable[[Floats, Floats], Floats]) -> Floats:
    """Return what follows for each earlier end from the errors of the other ends and its own: an array with ends first.

    An end that has chosen the weights or the spread itself would look too easy. A single end has no others.
    """
    ends = range(errors.shape[1])
    return np.stack([of(np.delete(errors, end, axis=1) if len(ends) > 1 else errors, errors[:, end]) for end in ends])


def _spread(errors: Floats) -> Floats:
    """Return the spread of errors by series and step: that of a series times that of a step, which does not fall."""
    squares = errors**2
    by_step = np.sqrt(np.maximum.accumulate(_mean(squares, (0, 1))))
    # Forecasts of series that do not vary have no error, and the square of this number is not zero.
    relative = squares / np.maximum(by_step, 1e-150) ** 2
    counts = np.isfinite(relative).sum(axis=(0, 2))
    # A series with few errors has about the usual spread.
    by_series = np.sqrt((np.nansum(relative, axis=(0, 2)) + SHRINKAGE) / (counts + SHRINKAGE))
    found: Floats = np.maximum(by_series[:, None] * by_step, np.finfo(float).tiny)
    return found


SHRINKAGE = 24.0
"""The usual spread counts as much as this many errors of a series."""


def _mean(values: Floats, axes: tuple[int, ...]) -> Floats:
    """Return the mean of what is known; that of all where nothing is."""
    counts = np.isfinite(values).sum(axis=axes)
    found: Floats = np.where(counts > 0, np.nansum(values, axis=axes) / np.maximum(counts, 1), np.nanmean(values))
    return found


def paths_of(fit: Fit, forecast: Forecast, count: int, rng: np.random.Generator) -> list[Floats]:
    """Return whole paths that the values beyond the last time may take, for series and times together.

    They go up and down together as the autoregression says, around the forecast and as wide as its bands.

    Parameters
    ----------
    fit, forecast
        The fit and its forecast.
    count
        The number of paths.
    rng
        The random generator.
    """
    forecast.check_ends()
    _, table, rows = _series_of(fit)
    beyond = Table(forecast.values.shape, forecast.axis.modes)
    values, spread = (beyond.rows(each) for each in (forecast.values, forecast.spread))
    _, level = AUTOREGRESSIONS[max(AUTOREGRESSIONS, key=lambda name: forecast.weights.get(name, 0.0))]
    smoother = Smoother(np.hstack([rows, np.full_like(values, np.nan)]), forecast.axis.exact_periods, rng, level)
    for _ in range(STEPS):
        smoother.step()
    draws = smoother.paths(max(count, ENOUGH_PATHS))[:, :, table.times :]
    around = draws - draws.mean(axis=0)
    wide = spread * math.sqrt(float(np.mean(forecast.quantiles**2)))
    around *= wide / np.maximum(around.std(axis=0), np.finfo(float).tiny)
    return [fit.bounded(beyond.tensor(values + each)) for each in around[:count]]


def given_back(fit: Fit, forecast: Forecast, horizon: int, interval: float | None) -> Any:
    """Return a forecast in the type of the data of the fit, with bands if asked for.

    Parameters
    ----------
    fit, forecast
        The fit and its forecast.
    horizon
        The number of times, not more than the forecast has. Of two modes of time, the last row has NaN beyond it.
    interval
        The share of values that the bands hold; None for no bands.
    """
    found = restored(fit, forecast, horizon, values_and_ends(fit, forecast, interval))
    return found[0] if interval is None else tuple(found)


def values_and_ends(fit: Fit, forecast: Forecast, interval: float | None) -> list[Floats]:
    """Return the values of a forecast, and the ends of its bands if asked for."""
    if interval is None:
        return [forecast.values]
    half = forecast.half_width(real_number(interval, "interval", above=0, below=1))
    return [forecast.values, fit.bounded(forecast.values - half), fit.bounded(forecast.values + half)]


def restored(fit: Fit, forecast: Forecast, horizon: int, parts: Sequence[Floats]) -> list[Any]:
    """Return tensors of the times of a forecast in the type of the data, of the first times only."""
    cut, labels = first_times(forecast, horizon, parts)
    restore = regrown(fit.restore, labels, cut[0].shape)
    return [*cut] if restore is None else [restore(each) for each in cut]


def first_times(forecast: Forecast, horizon: int, parts: Sequence[Floats]) -> tuple[list[Floats], Labels]:
    """Return tensors of the times of a forecast up to a horizon, and their labels."""
    modes = forecast.axis.modes
    rows = -(-horizon // (forecast.values.shape[modes[1]] if len(modes) == 2 else 1))
    keys = tuple(
        None if own is None else own[:rows] if mode == modes[0] else own
        for mode, own in enumerate(forecast.labels.keys)
    )
    labels = Labels(forecast.labels.names, keys, forecast.labels.value)
    cut = []
    for part in parts:
        table = Table(part.shape, modes)
        series = table.rows(part).copy()
        series[:, horizon:] = np.nan
        cut.append(np.take(table.tensor(series), np.arange(rows), axis=modes[0]))
    return cut, labels
