"""Series along time or another mode: observed entries, filled ones, their intervals, and the forecast."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.checks import whole_number
from .._support.types import Floats, Integers
from ..labels import Labels
from ..observations import Observations
from .ahead import Times, forecast_at, has_forecast, last_times
from .drawing import (
    ABOVE,
    COLOURS,
    Panels,
    drawing_class,
    finished,
    given_panels,
    grouped_numbers,
    label_of,
    light_grid,
    name_of,
    name_places,
    words,
)
from .views import checked_index, checked_mode

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..fit import Fit

SHARE = 0.9
"""The coverage of the band."""

LONGEST = 300
"""Of a longer series, the stretch with the most gaps is drawn."""

SHORT_LEGEND, ABOVE_LEGEND = 3, 20
"""The title of a panel is beside a legend of up to this many entries, and else this many points above the panel."""

FEWEST = 4
"""Shorter series are not drawn."""


def series(
    fit: Fit,
    along: int | str | Sequence[int | str] | None = None,
    ax: Sequence[Axes] | None = None,
    *,
    at: Mapping[Any, Any] | None = None,
    count: int = 3,
    last: int | None = None,
    interval: float = SHARE,
    file: str | PathLike[str] | None = None,
) -> list[Axes]:
    """Draw series along a mode: observed entries as dots, filled ones as a line, and the band of their intervals.

    Along the time of a fit that has a forecast, the end of the data is drawn, and the forecast with its band.

    Parameters
    ----------
    fit
        The fit.
    along
        The mode along which lines run, by name or number; or two modes that are one time, the slow one first. By
        default it is the time of the forecast, if there is one; else a mode with dates as labels, else one whose
        neighbouring entries are similar, else the longest.
    ax
        The axes to draw on, one for each series; by default a new figure.
    at
        The index or label of some of the other modes. For the rest, series that have both gaps and observed entries are
        chosen, spread evenly; before a forecast those with the most gaps.
    count
        The number of series.
    last
        Draw this many of the last times of the data. By default, it is four times the horizon of the forecast, within
        limits; and without a forecast it is all times, or of a long series those with the most gaps.
    interval
        The coverage of the band for new entries; there is no band for a fit without intervals. The forecast has a band
        of the same coverage.
    file
        The PNG file to write, if any; an error leaves an existing file unchanged.

    Returns
    -------
    list of matplotlib.axes.Axes
        One for each series; ``axes[0].figure`` is the whole figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    modes = series_modes(fit) if along is None else _checked_modes(fit, along)
    fixed = {checked_mode(fit.labels, fit.shape, other): place for other, place in (at or {}).items()}
    for mode in modes:
        if mode in fixed:
            raise ValueError(
                f"at must not name the mode {name_of(fit.labels, mode)}, along which lines run; leave it out."
            )
    places = {other: checked_index(fit.labels, fit.shape, other, place) for other, place in fixed.items()}
    if last is not None:
        whole_number(last, "last", at_least=1)
    rows = chosen_series(fit, modes, places, whole_number(count, "count", at_least=1))
    if ax is None:
        figure = drawing_class()(figsize=(7.0, 0.5 + 1.9 * len(rows)), layout="constrained")
        panels = tuple(np.ravel(figure.subplots(len(rows), 1)))
    else:
        panels = given_panels(ax, len(rows), "one for each series")
    draw_all(fit, panels, modes, rows, interval, last)
    return finished(Panels(panels), file)


def draw_all(
    fit: Fit,
    panels: Sequence[Axes],
    modes: tuple[int, ...],
    rows: Integers,
    interval: float = SHARE,
    last: int | None = None,
) -> None:
    """Draw one series in each panel, with one legend and one name of the horizontal axis.

    Parameters
    ----------
    fit, panels
        The fit, and the axes to draw on.
    modes
        The mode along which the series run, or two that are one time.
    rows
        The coordinates of an entry of each series.
    interval, last
        As in `series`.
    """
    for number, (panel, row) in enumerate(zip(panels, rows, strict=True)):
        draw_series(fit, panel, modes, row, interval, last)
        panel.tick_params(labelsize=8)
        if number < len(rows) - 1:
            panel.set_xlabel("")
            # All panels before a forecast have the same times.
            panel.tick_params(labelbottom=not (last is not None or has_forecast(fit, modes)))
        panel.set_title(_title(fit.labels, modes, row), fontsize=9, loc="left")
    names = panels[0].get_legend_handles_labels()[1]
    title = _title(fit.labels, modes, rows[0])
    if len(names) > SHORT_LEGEND:
        panels[0].set_title(title, fontsize=9, loc="left", pad=ABOVE_LEGEND)
    else:
        panels[0].set_title("", loc="left")
        panels[0].set_title(title, fontsize=9, loc="right")
    panels[0].legend(ncols=len(names), **ABOVE)


def _checked_modes(fit: Fit, along: Any) -> tuple[int, ...]:
    """Return one mode, or two different ones, by number."""
    given = list(along) if isinstance(along, list | tuple) else [along]
    modes = tuple(checked_mode(fit.labels, fit.shape, each) for each in given)
    if len(modes) not in (1, 2) or len(set(modes)) < len(modes):
        raise ValueError(f"along must be a mode, or two different modes that are one time, but {along!r} was given.")
    return modes


def series_modes(fit: Fit) -> tuple[int, ...]:
    """Return the mode along which series are drawn, or two that are one time: those of the forecast come first."""
    return (series_mode(fit),) if fit.ahead is None else fit.ahead.axis.modes


def series_mode(fit: Fit) -> int:
    """Return the mode along which series are drawn: the longest ordered one, else the longest."""
    return max(ordered_modes(fit) or range(len(fit.shape)), key=lambda mode: fit.shape[mode])


def ordered_modes(fit: Fit) -> list[int]:
    """Return the modes along which a line is meaningful: those with dates, else those with similar neighbours."""
    kinds = [None if keys is None else keys.dtype.kind for keys in fit.labels.keys]
    dates = [mode for mode, kind in enumerate(kinds) if kind in ("m", "M")]
    alike = [baseline.mode for baseline in fit.baselines if baseline.mode is not None]
    return [mode for mode in dates or alike if fit.shape[mode] >= FEWEST]


def chosen_series(fit: Fit, modes: tuple[int, ...], fixed: Mapping[int, int], count: int) -> Integers:
    """Return the coordinates of series: those with gaps and observed entries, spread evenly.

    The index of each of `modes` is 0. Before a forecast it is the series with the most gaps.

    Parameters
    ----------
    fit
        The fit.
    modes
        The mode along which they run, or two that are one time.
    fixed
        The index of some of the other modes.
    count
        The largest number of series.
    """
    seen = fit.observations
    if seen is None or len(fixed) == len(fit.shape) - len(modes):
        return np.array([[fixed.get(other, 0) for other in range(len(fit.shape))]])
    inside = np.ones(len(seen), dtype=np.bool_)
    for other, place in fixed.items():
        inside &= seen.coords[:, other] == place
    coords = seen.coords[inside].copy()
    coords[:, list(modes)] = 0
    rows, number = np.unique(coords, axis=0, return_counts=True)
    if len(rows) == 0:
        return np.array([[fixed.get(other, 0) for other in range(len(fit.shape))]])
    # A series that is half observed is the most informative: it shows the gaps and what surrounds them.
    gaps = np.minimum(number, len(Times.of(fit, modes)) - number)
    if has_forecast(fit, modes):
        return np.asarray(rows[np.sort(np.argsort(-gaps, kind="stable")[:count])])
    best = np.flatnonzero(gaps >= np.quantile(gaps, 0.75))
    spread = np.unique(np.linspace(0, len(best) - 1, count).round().astype(np.int64))
    return np.asarray(rows[best[spread]])


def draw_series(
    fit: Fit,
    panel: Axes,
    modes: tuple[int, ...],
    row: Integers,
    interval: float = SHARE,
    last: int | None = None,
) -> None:
    """Draw one series, and its forecast if the fit has one along these modes.

    Parameters
    ----------
    fit
        The fit.
    panel
        The axes to draw on.
    modes
        The mode along which it runs, or two that are one time.
    row
        The coordinates of one of its entries.
    interval, last
        As in `series`.
    """
    times = Times.of(fit, modes)
    ahead = forecast_at(fit, times, row, interval)
    first, end = _stretch(fit.observations, times, row)
    if last is not None or ahead is not None:
        first, end = len(times) - last_times(fit, times, last), len(times)
    coords = times.coords(row, np.arange(first, end))
    seen = _observed(fit.observations, coords)
    missing = np.isnan(seen)
    line, low, high = _with_band(fit, coords, interval)
    place = np.arange(len(coords))
    shade: dict[str, Any] = {"alpha": 0.25, "linewidth": 0}
    band = f"{interval:.0%} band"
    if low is not None and high is not None:
        bottom, top = np.where(missing, low, seen), np.where(missing, high, seen)
        panel.fill_between(place, bottom, top, color=COLOURS[1], label=band, **shade)
        band = ""
    filled = np.where(missing, line, seen)
    panel.plot(place, filled, color=COLOURS[1], linewidth=1.2, label="filled")
    panel.plot(place, seen, "o", color=COLOURS[0], markersize=3, markeredgewidth=0, label="observed")
    if ahead is not None:
        values, low, high = ahead
        later = len(coords) + np.arange(len(values))
        if low is not None and high is not None:
            panel.fill_between(later, low, high, color=COLOURS[2], label=band or None, **shade)
        panel.axvline(len(coords) - 0.5, color="0.6", linewidth=0.8, linestyle=":")
        panel.plot(later, values, color=COLOURS[2], linewidth=1.2, label="forecast")
    panel.margins(x=0.01)
    light_grid(panel)
    grouped_numbers(panel.yaxis, 4)
    if fit.labels.value != "value":
        panel.set_ylabel(words(fit.labels.value, 14), fontsize=8)
    count = len(coords) + (0 if ahead is None else len(ahead[0]))
    name_places(panel.xaxis, times.name, count, lambda place: times.label(first + place))


def _with_band(fit: Fit, coords: Integers, interval: float) -> tuple[Floats, Floats | None, Floats | None]:
    """Return the predictions and the ends of their intervals, if the fit has intervals."""
    try:
        line, low, high = fit.predict(coords, interval=interval)
    except ValueError:
        return fit.predict(coords), None, None
    # Where nothing similar was held out, an interval is infinite and cannot be drawn.
    bounded = np.isfinite(low) & np.isfinite(high)
    return line, np.where(bounded, low, math.nan), np.where(bounded, high, math.nan)


def _observed(seen: Observations | None, coords: Integers) -> Floats:
    """Return the observed values at coordinates, NaN where nothing was observed."""
    values = np.full(len(coords), np.nan)
    if seen is None:
        return values
    asked = np.ravel_multi_index(tuple(coords.T), seen.shape)
    place = np.searchsorted(seen.positions, asked).clip(max=len(seen) - 1)
    found = seen.positions[place] == asked
    values[found] = seen.values[place[found]]
    return values


def _stretch(seen: Observations | None, times: Times, row: Integers) -> tuple[int, int]:
    """Return the range of times to draw: all, or the part of a long series with the most gaps."""
    size = len(times)
    if size <= LONGEST or seen is None:
        return 0, min(size, LONGEST)
    same = np.ones(len(seen), dtype=np.bool_)
    for other, place in enumerate(row.tolist()):
        if other not in times.modes:
            same &= seen.coords[:, other] == place
    here = np.zeros(size + 1)
    here[1 + times.numbers(seen.coords[same])] = 1
    observed = np.cumsum(here)
    share = (observed[LONGEST:] - observed[:-LONGEST]) / LONGEST
    first = int(np.argmin(np.abs(share - 0.5)))
    return first, first + LONGEST


def _title(labels: Labels, modes: tuple[int, ...], row: Integers) -> str:
    others = [other for other in range(len(row)) if other not in modes]
    return ", ".join(
        f"{name_of(labels, other)}: {words(label_of(labels, other, int(row[other])), 24)}" for other in others
    )
