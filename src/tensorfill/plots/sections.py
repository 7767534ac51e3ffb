"""Slices of a tensor: the original, the observed entries, and the filled slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._support.types import Floats
from .drawing import (
    COLOUR_MAP,
    MISSING_COLOUR,
    MISSING_GREY,
    Panels,
    drawing_class,
    finished,
    given_panels,
    name_indices,
    words,
)
from .views import (
    View,
    blocks,
    checked_index,
    checked_mode,
    checked_original,
    colour_mode,
    first_shown,
    full_light,
    make_view,
    slice_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..fit import Fit

ENDS = 0.5, 99.5
"""Percentiles of the observed values at the ends of the colour map; a single large value would darken all others."""

PANEL_INCHES = 3.6
TALLEST, FLATTEST = 1.4, 0.45
"""The limits of the height of a panel divided by its width."""


def slices(
    fit: Fit,
    mode: int | str | None = None,
    index: Any = None,
    *,
    original: ArrayLike | None = None,
    at: Mapping[int | str, Any] | None = None,
    ax: Sequence[Axes] | None = None,
    file: str | PathLike[str] | None = None,
) -> list[Axes]:
    """Draw a slice, side by side: the original if it is given, the observed entries, and the filled slice.

    Pictures are drawn in colour, with missing channels of a pixel in mid-grey. Other slices share one colour map and a
    colour bar, and missing entries are light grey. At most 400 rows and 400 columns are drawn: the most observed ones
    of very sparse data, else evenly spread ones. A fit that was read from a file does not hold the data; its slices
    show the values of the model.

    Parameters
    ----------
    fit
        The fit.
    mode
        The mode to slice, by name or number; by default the smallest; None for a matrix or a picture.
    index
        The index in that mode: a whole number from 0, or a label. By default it is the middle one, or for very sparse
        data the one with the most entries.
    original
        The true tensor, if it is known, as an array of the shape of the fit.
    at
        For tensors of order four and more, the index of each mode that is neither sliced nor drawn; by default the one
        with the most entries.
    ax
        The axes to draw on, one for each panel; by default a new figure.
    file
        The PNG file to write, if any; an error leaves an existing file unchanged.

    Returns
    -------
    list of matplotlib.axes.Axes
        One for each panel; ``axes[0].figure`` is the whole figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    drawing_class()
    labels, shape = fit.labels, fit.shape
    truth = checked_original(original, shape)
    colour = colour_mode(fit)
    along = _default_mode(shape, colour) if mode is None else checked_mode(labels, shape, mode)
    # Slices by the rows, columns or colours of a picture are drawn with the colour map.
    shown_in_colour = colour if along is None or (len(shape) > 3 and along != colour) else None
    numbered = {checked_mode(labels, shape, name): own for name, own in (at or {}).items()}
    numbered = {mode: checked_index(labels, shape, mode, own) for mode, own in numbered.items()}
    view = make_view(labels, shape, fit.observations, along, colour=shown_in_colour, at=numbered)
    place = None
    if along is not None and index is None:
        place = first_shown(fit.observations, view, range(shape[along]))
    elif along is not None:
        place = checked_index(labels, shape, along, index)
    parts = blocks(fit, view, place, truth)
    panels = _new_panels(parts, view) if ax is None else given_panels(ax, len(parts), f"for {', '.join(parts)}")
    if view.colour is not None:
        _draw_pictures(panels, parts, full_light(fit))
    else:
        _draw_mapped(panels, parts, fit, view)
    heading = slice_title(labels, view, place)
    if heading and ax is None:
        panels[0].figure.figure.suptitle(heading, fontsize=11)
    elif heading:
        panels[0].set_title(f"{heading}\n{panels[0].get_title()}", fontsize=10)
    return finished(Panels(panels), file)


def colour_range(fit: Fit, parts: Mapping[str, Floats]) -> tuple[float, float]:
    """Return the values at the ends of the colour map: nearly the range of the data, or of `parts` without data."""
    if fit.observations is None:
        values = np.concatenate([np.ravel(part) for part in parts.values()])
    else:
        values = fit.observations.values
        # Percentiles of a large sample are close to those of all entries, and cost less.
        values = values[:: max(1, len(values) // 400_000)]
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 1.0
    low, high = (float(end) for end in np.percentile(values, ENDS))
    if low == high:
        low, high = float(values.min()), float(values.max())
    return (low, high) if low < high else (min(low, 0.0), max(high, 0.0) or 1.0)


def _default_mode(shape: tuple[int, ...], colour: int | None) -> int | None:
    others = [mode for mode in range(len(shape)) if mode != colour]
    return None if len(others) == 2 else min(reversed(others), key=lambda mode: shape[mode])


def _new_panels(parts: Mapping[str, Floats], view: View) -> Sequence[Axes]:
    rows, columns = next(iter(parts.values())).shape[:2]
    height = PANEL_INCHES * min(max(rows / columns, FLATTEST), TALLEST)
    extra = 0.5 if view.colour is not None else 0.9
    size = (len(parts) * PANEL_INCHES + (0.2 if view.colour is not None else 1.3), height + extra)
    figure = drawing_class()(figsize=size, layout="constrained")
    made: Sequence[Axes] = np.ravel(figure.subplots(1, len(parts), sharey=True)).tolist()
    return made


def _draw_pictures(panels: Sequence[Axes], parts: Mapping[str, Floats], white: float) -> None:
    for panel, (title, values) in zip(panels, parts.items(), strict=True):
        missing = np.isnan(values)
        panel.imshow(np.clip(np.where(missing, MISSING_GREY, values / white), 0.0, 1.0))
        panel.set_title(title + (" (missing grey)" if missing.any() else ""), fontsize=10)
        panel.set_axis_off()


def _draw_mapped(panels: Sequence[Axes], parts: Mapping[str, Floats], fit: Fit, view: View) -> None:
    from matplotlib import colormaps

    colours = colormaps[COLOUR_MAP].with_extremes(bad=MISSING_COLOUR)
    low, high = colour_range(fit, parts)
    drawn = None
    for panel, (title, values) in zip(panels, parts.items(), strict=True):
        missing = np.isnan(values)
        drawn = panel.imshow(
            np.ma.masked_array(values, missing),
            cmap=colours,
            vmin=low,
            vmax=high,
            aspect="auto",
            interpolation="nearest",
        )
        panel.set_title(title + (" (missing grey)" if missing.any() else ""), fontsize=10)
        name_indices(panel.xaxis, fit.labels, view.columns, view.column_indices)
        panel.tick_params(labelsize=8)
    name_indices(panels[0].yaxis, fit.labels, view.rows, view.row_indices)
    if drawn is not None:
        bar = panels[0].figure.colorbar(drawn, ax=list(panels), shrink=0.9, pad=0.02, extend="both")
        bar.ax.tick_params(labelsize=8)
        if fit.labels.value != "value":
            bar.set_label(words(fit.labels.value), fontsize=9)
