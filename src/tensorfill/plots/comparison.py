"""Several methods on the same held-out entries, side by side."""

from __future__ import annotations

import math
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.types import Floats
from .._support.words import bytes_in_words, duration
from .drawing import COLOURS, finished, light_grid, logarithmic, one_panel, plain_numbers, words
from .naming import method_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..comparison import Comparison, Contender

ROW_INCHES = 0.55
"""Height of the row of a method."""

COSTS = {"time": 10, "memory": 66}
"""The costs, and their distances from the panel in points."""


def comparison(comparison: Comparison, ax: Axes | None = None, *, file: str | PathLike[str] | None = None) -> Axes:
    """Draw the held-out error of several methods, the best at the top.

    A dot is the error on the held-out entries, and its whiskers are one standard error to either side. The band shows
    the standard error of the best method: methods whose dots lie in it are about as good. The chosen settings are shown
    below the name of each method, and its time and memory on the right. The axis is logarithmic if the errors differ by
    more than a factor of ten. An error that is not finite is written as text instead of a dot.

    Parameters
    ----------
    comparison
        The result of `tensorfill.compare`.
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
    rows = tuple(comparison)
    if not rows:
        raise ValueError("comparison must hold at least one method, but it has none; tensorfill.compare makes one.")
    panel = one_panel(ax, (7.4, 1.1 + ROW_INCHES * len(rows)))
    from matplotlib.ticker import MaxNLocator

    errors = np.array([row.held_out for row in rows], dtype=np.float64)
    whiskers = np.array([row.standard_error for row in rows], dtype=np.float64)
    on_log_scale = logarithmic(errors)
    _draw_dots(panel, errors, whiskers, on_log_scale)
    if on_log_scale:
        panel.set_xscale("log")
        plain_numbers(panel.xaxis)
    else:
        panel.xaxis.set_major_locator(MaxNLocator(4))
    for place, row in enumerate(rows):
        _write_row(panel, row, place)
    for head in COSTS:
        _write_beside(panel, 1.0, -0.55, head, COSTS[head], va="bottom", fontsize=8, color="0.4")
    panel.set_yticks(range(len(rows)), [""] * len(rows))
    panel.tick_params(axis="y", length=0)
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.set_xlabel("held-out error, ± one standard error")
    light_grid(panel)
    panel.grid(False, axis="y")
    return finished(panel, file)


def _draw_dots(panel: Axes, errors: Floats, whiskers: Floats, on_log_scale: bool) -> None:
    """Draw the errors with their whiskers, and the band of the best."""
    places = np.arange(len(errors))
    shown = np.isfinite(errors)
    widths = np.where(np.isfinite(whiskers), whiskers, 0.0)
    if on_log_scale:
        # A whisker down to zero has no end on a logarithmic axis.
        widths = np.minimum(widths, 0.9 * np.where(shown, errors, 0.0))
    if shown.any():
        best = int(np.nanargmin(np.where(shown, errors, np.nan)))
        band = errors[best] - widths[best], errors[best] + widths[best]
        panel.axvspan(*band, color=COLOURS[0], alpha=0.12, linewidth=0)
    drawn = panel.errorbar(
        errors[shown],
        places[shown],
        xerr=widths[shown],
        fmt="o",
        color=COLOURS[0],
        markersize=7,
        elinewidth=1.6,
        capsize=4,
    )
    drawn.lines[0].set_label("held-out error")


def _write_row(panel: Axes, row: Contender, place: int) -> None:
    """Write the name of a method, its chosen settings, and its costs."""
    name, chosen = method_name(row.method), row.chosen
    _write_beside(panel, 0.0, place, name, -8, ha="right", va="bottom" if chosen else "center")
    if chosen:
        _write_beside(panel, 0.0, place, words(chosen, 44), -8, ha="right", va="top", fontsize=8, color="0.4")
    memory = "not known" if math.isnan(row.memory) else bytes_in_words(row.memory)
    for head, cost in (("time", duration(row.seconds)), ("memory", memory)):
        _write_beside(panel, 1.0, place, cost, COSTS[head], va="center")
    if not math.isfinite(row.held_out):
        _write_beside(panel, 0.0, place, "error not finite", 8, va="center", color="0.4")


def _write_beside(panel: Axes, edge: float, place: float, text: str, points: float, **style: Any) -> None:
    """Write a text in a row, at a distance in points from the left edge (0) or the right edge (1) of the panel."""
    spot: dict[str, Any] = {"xycoords": panel.get_yaxis_transform(), "textcoords": "offset points"}
    panel.annotate(text, (edge, place), (points, 0), annotation_clip=False, **spot, **{"fontsize": 9} | style)
