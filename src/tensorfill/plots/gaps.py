"""Which entries of a tensor are missing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.types import Floats, Integers
from ..labels import Labelled, Labels
from ..observations import Observations
from .drawing import (
    COLOUR_MAP,
    COLOURS,
    MISSING_COLOUR,
    Panels,
    drawing_class,
    finished,
    given_panels,
    light_grid,
    logarithmic,
    name_indices,
    name_of,
    plain_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..fit import Fit

MOST_CELLS = 200
"""In a mode with more indices than this, several indices share a cell."""

ENTRIES_A_CELL = 3
"""Sparse data is drawn in cells of about this many entries, if that leaves enough cells."""


def missingness(
    observations: Observations | Labelled | Fit,
    ax: Sequence[Axes] | None = None,
    *,
    file: str | PathLike[str] | None = None,
) -> list[Axes]:
    """Draw which entries are missing.

    The upper panels show the observed share of the entries over each pair of the three largest modes; cells without any
    observed entry are grey. The lower panels show that share for each index of each mode. Modes with more than 200
    indices are drawn in at most 200 cells.

    Parameters
    ----------
    observations
        Observations, with labels or without, or a fit that holds its data.
    ax
        The axes to draw on: one for each pair, and then one for each mode; by default a new figure.
    file
        The PNG file to write, if any; an error leaves an existing file unchanged.

    Returns
    -------
    list of matplotlib.axes.Axes
        One for each pair of modes and one for each mode; ``axes[0].figure`` is the whole figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    seen, labels = _taken(observations)
    drawing_class()
    largest = sorted(sorted(range(seen.ndim), key=lambda mode: -seen.shape[mode])[:3])
    pairs = list(itertools.combinations(largest, 2))
    count = len(pairs) + seen.ndim
    if ax is None:
        panels = _new_panels(len(pairs), seen.ndim)
    else:
        panels = given_panels(ax, count, "one for each pair of modes and one for each mode")
    for panel, (rows, columns) in zip(panels, pairs, strict=False):
        _draw_pair(panel, seen, labels, rows, columns)
    for mode, panel in enumerate(panels[len(pairs) :]):
        draw_share_by_index(panel, seen, labels, mode)
    return finished(Panels(panels), file)


def draw_share_by_index(panel: Axes, seen: Observations, labels: Labels, mode: int) -> None:
    """Draw the share of entries that was observed for each index of a mode."""
    cells, size, firsts = _cells(seen, mode, MOST_CELLS)
    share = 100 * np.bincount(cells, minlength=size) / (_sizes(seen.shape[mode], size) * _others(seen, mode))
    places = np.arange(size + 1) - 0.5
    panel.stairs(share, places, fill=True, color=COLOURS[0], alpha=0.8)
    name_indices(panel.xaxis, labels, mode, firsts)
    panel.set_xlim(-0.5, size - 0.5)
    panel.set_ylim(0, 1.05 * share.max())
    panel.set_ylabel("observed, %")
    panel.tick_params(labelsize=8)
    light_grid(panel)


def _draw_pair(panel: Axes, seen: Observations, labels: Labels, rows: int, columns: int) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm

    most = MOST_CELLS
    if seen.density < 0.05:
        most = min(most, max(24, math.ceil(math.sqrt(len(seen) / ENTRIES_A_CELL))))
    down, height, row_firsts = _cells(seen, rows, most)
    across, width, column_firsts = _cells(seen, columns, most)
    counts = np.bincount(down * width + across, minlength=height * width).reshape(height, width)
    room = np.outer(_sizes(seen.shape[rows], height), _sizes(seen.shape[columns], width)) * (
        math.prod(seen.shape) / (seen.shape[rows] * seen.shape[columns])
    )
    share = np.ma.masked_equal(100 * counts / room, 0.0)
    scale: dict[str, Any] = {"vmin": 0.0, "vmax": float(share.max())}
    if logarithmic(share.compressed(), (5.0, 95.0)):
        scale = {"norm": LogNorm(float(share.min()), float(share.max()))}
    drawn = panel.imshow(
        share,
        cmap=colormaps[COLOUR_MAP].with_extremes(bad=MISSING_COLOUR),
        aspect="auto",
        interpolation="nearest",
        **scale,
    )
    name_indices(panel.yaxis, labels, rows, row_firsts)
    name_indices(panel.xaxis, labels, columns, column_firsts)
    panel.set_title(f"observed, %, of {name_of(labels, rows)} × {name_of(labels, columns)}", fontsize=9)
    panel.tick_params(labelsize=8)
    bar = panel.figure.colorbar(drawn, ax=panel, shrink=0.9, pad=0.02)
    if "norm" in scale:
        plain_numbers(bar.ax.yaxis)
    bar.ax.tick_params(which="both", labelsize=8)


def _new_panels(pairs: int, modes: int) -> tuple[Axes, ...]:
    """Return the panels of a new figure, with the pairs above the modes."""
    width = max(pairs * 3.8, modes * 2.9, 5.6)
    figure = drawing_class()(figsize=(width, 5.8), layout="constrained")
    halves: Any = figure.subfigures(2, 1, height_ratios=(1.7, 1))
    upper, lower = halves
    above, below = upper.subplots(1, pairs, squeeze=False), lower.subplots(1, modes, squeeze=False)
    return (*above[0], *below[0])


def _taken(given: Any) -> tuple[Observations, Labels]:
    """Return the observations and labels of any input."""
    if isinstance(given, Observations):
        return given, Labels.plain(given.ndim)
    # A fit and labelled observations have both.
    if hasattr(given, "observations") and hasattr(given, "labels"):
        if given.observations is None:
            raise ValueError("A fit that was read from a file does not hold the data; give the observations instead.")
        return given.observations, given.labels
    raise TypeError(
        f"observations must be Observations, with labels or without, or a fit, but a {type(given).__name__} was given; "
        "for an array take Observations.from_dense(array)."
    )


def _cells(seen: Observations, mode: int, most: int) -> tuple[Integers, int, Integers]:
    """Return the cell of each entry along a mode, the number of cells, and the first index of each."""
    each = -(-seen.shape[mode] // most)
    cells = seen.coords[:, mode].astype(np.int64) // each
    return cells, -(-seen.shape[mode] // each), np.arange(0, seen.shape[mode], each)


def _sizes(whole: int, cells: int) -> Floats:
    """Return the number of indices in each cell."""
    full = -(-whole // cells)
    sizes = np.full(cells, float(full))
    sizes[-1] = whole - full * (cells - 1)
    return sizes


def _others(seen: Observations, mode: int) -> float:
    return math.prod(seen.shape) / seen.shape[mode]
