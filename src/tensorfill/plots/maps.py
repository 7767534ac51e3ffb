"""Places on a map, by longitude and latitude."""

from __future__ import annotations

import math
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._support.checks import real_array
from .._support.types import Floats
from .drawing import COLOUR_MAP, finished, light_grid, one_panel, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEEPEST = 85.0
"""The latitude, in degrees, up to which degrees of longitude are shortened."""

FLATTEST = 0.15
"""The least height of a map relative to its width, for places in a line from east to west."""


def stations(
    latlon: ArrayLike,
    values: ArrayLike | None = None,
    *,
    label: str | None = None,
    ax: Axes | None = None,
    file: str | PathLike[str] | None = None,
) -> Axes:
    """Draw places as points on a map, coloured by their values.

    At the middle latitude a kilometre has the same length in both directions. Places on both sides of the date line are
    drawn next to each other. Only the points are drawn, without coasts or borders.

    Parameters
    ----------
    latlon
        Latitude and longitude of each place in degrees, of shape (n, 2), as in `tensorfill.graphs.haversine`.
    values
        One value for each place; NaN is drawn hollow. Without values all points have the same colour.
    label
        The name of the values, for the colour bar.
    ax
        The axes to draw on; by default a new figure.
    file
        The PNG file to write, if any; an error leaves an existing file unchanged.

    Returns
    -------
    matplotlib.axes.Axes
        Its ``figure`` is the whole figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    places = _checked_places(latlon)
    known = None if values is None else _checked_values(values, len(places))
    latitude, longitude = places[:, 0], _unbroken(places[:, 1])
    panel = one_panel(ax, (6.4, 5.0))
    size = float(np.clip(9000 / len(places), 8, 70))
    if known is None:
        panel.scatter(longitude, latitude, s=size, color="#0072B2", edgecolors="white", linewidths=0.4)
    else:
        missing = np.isnan(known)
        panel.scatter(longitude[missing], latitude[missing], s=size, facecolors="none", edgecolors="0.55")
        drawn = panel.scatter(
            longitude[~missing],
            latitude[~missing],
            s=size,
            c=known[~missing],
            cmap=COLOUR_MAP,
            edgecolors="0.25",
            linewidths=0.3,
        )
        if not missing.all():
            # Beside the map, whose height follows from its proportions.
            bar = panel.figure.colorbar(drawn, cax=panel.inset_axes((1.03, 0.0, 0.035, 1.0)))
            if label is not None:
                bar.set_label(words(label))
        if missing.any():
            panel.set_title(f"{int(missing.sum()):,} of {len(places):,} without a value are hollow", fontsize=9)
    _set_degrees(panel, latitude, longitude)
    return finished(panel, file)


def _set_degrees(panel: Axes, latitude: Floats, longitude: Floats) -> None:
    """Set the aspect ratio, the margins, and tick labels in degrees."""
    middle = float(latitude.min() + latitude.max()) / 2
    stretch = 1 / math.cos(math.radians(min(abs(middle), STEEPEST)))
    wide, high = float(np.ptp(longitude)) / stretch, float(np.ptp(latitude))
    most = max(wide, high) or 1.0
    for set_limits, values, extent, unit in (
        (panel.set_xlim, longitude, wide, stretch),
        (panel.set_ylim, latitude, high, 1.0),
    ):
        room = (max(extent, FLATTEST * most) / 2 + 0.05 * most) * unit
        centre = float(values.min() + values.max()) / 2
        set_limits(centre - room, centre + room)
    panel.set_aspect(stretch, adjustable="box")
    panel.xaxis.set_major_formatter(lambda degrees, _: _written(((degrees + 180) % 360) - 180, "E", "W"))
    panel.yaxis.set_major_formatter(lambda degrees, _: _written(degrees, "N", "S"))
    panel.set_xlabel("longitude")
    panel.set_ylabel("latitude")
    light_grid(panel)


def _written(degrees: float, positive: str, negative: str) -> str:
    rounded = round(degrees, 6)
    return f"{abs(rounded):g}°{'' if rounded == 0 else positive if rounded > 0 else negative}"


def _unbroken(longitude: Floats) -> Floats:
    """Return longitudes from the end of the widest gap between neighbours, so that the places are contiguous."""
    turned = longitude % 360.0
    ordered = np.sort(turned)
    gaps = np.diff(ordered, append=ordered[0] + 360.0)
    start = ordered[(int(gaps.argmax()) + 1) % len(ordered)]
    shifted: Floats = (turned - start) % 360.0 + start
    # Longitudes west of Greenwich are negative.
    return shifted - 360.0 if shifted.mean() > 180.0 else shifted


def _checked_places(latlon: ArrayLike) -> Floats:
    places = real_array(latlon, "latlon")
    if places.ndim != 2 or places.shape[1] != 2 or not len(places):
        raise ValueError(
            f"latlon must have shape (n, 2), a latitude and a longitude for each place, but {places.shape} was given."
        )
    if not np.isfinite(places).all() or np.abs(places[:, 0]).max() > 90 or np.abs(places[:, 1]).max() > 360:
        raise ValueError(
            "latlon must be degrees, latitudes from -90 to 90 and longitudes from -180 to 360, but "
            f"{places[_first_wrong(places)].tolist()} was given; if longitude comes first, give latlon[:, ::-1]."
        )
    return places


def _first_wrong(places: Floats) -> int:
    wrong = ~np.isfinite(places).all(axis=1) | (np.abs(places[:, 0]) > 90) | (np.abs(places[:, 1]) > 360)
    return int(wrong.argmax())


def _checked_values(values: ArrayLike, count: int) -> Floats:
    known = real_array(values, "values")
    if known.shape != (count,):
        raise ValueError(f"values must be one for each of the {count} places, but shape {known.shape} was given.")
    return np.where(np.isfinite(known), known, np.nan)
