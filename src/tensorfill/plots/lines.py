"""Series along one mode: observed entries, filled entries, and the band of their intervals."""

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
    name_indices,
    name_of,
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

FEWEST = 4
"""Shorter series are not drawn."""


def series(
    fit: Fit,
    along: int | str | None = None,
    ax: Sequence[Axes] | None = None,
    *,
    at: Mapping[Any, Any] | None = None,
    count: int = 3,
    interval: float = SHARE,
    file: str | PathLike[str] | None = None,
) -> list[Axes]:
    """Draw series along a mode: observed entries as dots, filled ones as a line, and the band of their intervals.

    Parameters
    ----------
    fit
        The fit.
    along
        The mode along which lines run, by name or number; by default one with dates as labels, else one whose
        neighbouring entries are similar, else the longest.
    ax
        The axes to draw on, one for each series; by default a new figure.
    at
        The index or label of some of the other modes. For the rest, series that have both gaps and observed entries are
        chosen, spread evenly.
    count
        The number of series.
    interval
        The coverage of the band for new entries; there is no band for a fit without intervals.
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
    mode = series_mode(fit) if along is None else checked_mode(fit.labels, fit.shape, along)
    fixed = {checked_mode(fit.labels, fit.shape, other): place for other, place in (at or {}).items()}
    if mode in fixed:
        raise ValueError(f"at must not name the mode {name_of(fit.labels, mode)}, along which lines run; leave it out.")
    places = {other: checked_index(fit.labels, fit.shape, other, place) for other, place in fixed.items()}
    rows = chosen_series(fit, mode, places, whole_number(count, "count", at_least=1))
    if ax is None:
        figure = drawing_class()(figsize=(7.0, 0.5 + 1.9 * len(rows)), layout="constrained")
        panels = tuple(np.ravel(figure.subplots(len(rows), 1)))
    else:
        panels = given_panels(ax, len(rows), "one for each series")
    for number, (panel, row) in enumerate(zip(panels, rows, strict=True)):
        draw_series(fit, panel, mode, row, interval, named=number == len(rows) - 1, legend=number == 0)
    return finished(Panels(panels), file)


def series_mode(fit: Fit) -> int:
    """Return the mode along which series are drawn: the longest ordered one, else the longest."""
    return max(ordered_modes(fit) or range(len(fit.shape)), key=lambda mode: fit.shape[mode])


def ordered_modes(fit: Fit) -> list[int]:
    """Return the modes along which a line is meaningful: those with dates, else those with similar neighbours."""
    kinds = [None if keys is None else keys.dtype.kind for keys in fit.labels.keys]
    dates = [mode for mode, kind in enumerate(kinds) if kind in ("m", "M")]
    alike = [baseline.mode for baseline in fit.baselines if baseline.mode is not None]
    return [mode for mode in dates or alike if fit.shape[mode] >= FEWEST]


def chosen_series(fit: Fit, mode: int, fixed: Mapping[int, int], count: int) -> Integers:
    """Return the coordinates of series: those with gaps and observed entries, spread evenly; the index of `mode` is 0.

    Parameters
    ----------
    fit
        The fit.
    mode
        The mode along which they run.
    fixed
        The index of some of the other modes.
    count
        The largest number of series.
    """
    seen = fit.observations
    if seen is None or len(fixed) == len(fit.shape) - 1:
        return np.array([[fixed.get(other, 0) for other in range(len(fit.shape))]])
    inside = np.ones(len(seen), dtype=np.bool_)
    for other, place in fixed.items():
        inside &= seen.coords[:, other] == place
    coords = seen.coords[inside].copy()
    coords[:, mode] = 0
    rows, number = np.unique(coords, axis=0, return_counts=True)
    if len(rows) == 0:
        return np.array([[fixed.get(other, 0) for other in range(len(fit.shape))]])
    # A series that is half observed is the most informative: it shows the gaps and what surrounds them.
    gaps = np.minimum(number, fit.shape[mode] - number)
    best = np.flatnonzero(gaps >= np.quantile(gaps, 0.75))
    spread = np.unique(np.linspace(0, len(best) - 1, count).round().astype(np.int64))
    return np.asarray(rows[best[spread]])


def draw_series(
    fit: Fit, panel: Axes, mode: int, row: Integers, interval: float = SHARE, *, named: bool = True, legend: bool = True
) -> None:
    """Draw one series.

    Parameters
    ----------
    fit
        The fit.
    panel
        The axes to draw on.
    mode
        The mode along which it runs.
    row
        The coordinates of one of its entries.
    interval
        The coverage of the band for new entries.
    named
        Whether to label the horizontal axis.
    legend
        Whether to add a legend.
    """
    first, end = _stretch(fit.observations, mode, row, fit.shape[mode])
    index = np.arange(first, end)
    coords = np.repeat(row[np.newaxis], len(index), axis=0)
    coords[:, mode] = index
    seen = _observed(fit.observations, coords)
    missing = np.isnan(seen)
    line, low, high = _with_band(fit, coords, interval)
    place = np.arange(len(index))
    if low is not None and high is not None:
        bottom, top = np.where(missing, low, seen), np.where(missing, high, seen)
        panel.fill_between(place, bottom, top, color=COLOURS[1], alpha=0.25, linewidth=0, label=f"{interval:.0%} band")
    panel.plot(place, np.where(missing, line, seen), color=COLOURS[1], linewidth=1.2, label="filled")
    panel.plot(place, seen, "o", color=COLOURS[0], markersize=3, markeredgewidth=0, label="observed")
    panel.set_title(_title(fit.labels, mode, row), fontsize=9, loc="right" if legend else "left")
    panel.margins(x=0.01)
    light_grid(panel)
    grouped_numbers(panel.yaxis, 4)
    if fit.labels.value != "value":
        panel.set_ylabel(words(fit.labels.value, 14), fontsize=8)
    name_indices(panel.xaxis, fit.labels, mode, index)
    if not named:
        panel.set_xlabel("")
    panel.tick_params(labelsize=8)
    if legend:
        panel.legend(ncols=3, **ABOVE)


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


def _stretch(seen: Observations | None, mode: int, row: Integers, size: int) -> tuple[int, int]:
    """Return the range of indices to draw: all, or the part of a long series with the most gaps."""
    if size <= LONGEST or seen is None:
        return 0, min(size, LONGEST)
    same = np.ones(len(seen), dtype=np.bool_)
    for other, place in enumerate(row.tolist()):
        if other != mode:
            same &= seen.coords[:, other] == place
    here = np.zeros(size + 1)
    here[1 + seen.coords[same, mode]] = 1
    observed = np.cumsum(here)
    share = (observed[LONGEST:] - observed[:-LONGEST]) / LONGEST
    first = int(np.argmin(np.abs(share - 0.5)))
    return first, first + LONGEST


def _title(labels: Labels, mode: int, row: Integers) -> str:
    others = [other for other in range(len(row)) if other != mode]
    return ", ".join(
        f"{name_of(labels, other)}: {words(label_of(labels, other, int(row[other])), 24)}" for other in others
    )
