"""Pictures side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._support.checks import real_array
from .._support.types import Floats
from .drawing import MISSING_GREY, Panels, drawing_class, finished

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL_INCHES = 3.6
SMALLEST_INCHES = 0.3
GAP_INCHES = 0.12
LINE_INCHES = 0.22
LETTERS_A_LINE = 36


def side_by_side(pictures: Mapping[str, ArrayLike], path: str | PathLike[str] | None = None) -> list[Axes]:
    """Draw pictures side by side, each with its title.

    Values are shown from 0 (black) to 1 (white) and clipped to that range. A missing entry (NaN) is shown in
    mid-grey, and the title says so. In a colour picture this applies to each channel of a pixel.

    Parameters
    ----------
    pictures
        Title to picture: an array of shape (rows, columns) in grey, or (rows, columns, 3) in colour. All have the
        same rows and columns.
    path
        The PNG file to write, if any; an error leaves an existing file unchanged.

    Returns
    -------
    list of matplotlib.axes.Axes
        One for each picture; ``axes[0].figure`` is the whole figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    checked = {str(title): _checked(values, str(title)) for title, values in pictures.items()}
    if not checked:
        raise ValueError("pictures must hold at least one picture, but none was given.")
    sizes = {values.shape[:2] for values in checked.values()}
    if len(sizes) > 1:
        raise ValueError(f"pictures must have the same rows and columns, but {sorted(sizes)} were given.")
    figure_class = drawing_class()
    titles = [_title(title, values) for title, values in checked.items()]
    rows, columns = sizes.pop()
    # Very flat and very tall pictures need a figure of a usable size too.
    height = min(max(PANEL_INCHES * rows / columns, SMALLEST_INCHES), 2 * PANEL_INCHES)
    heading = LINE_INCHES * (1 + max(title.count("\n") for title in titles)) + GAP_INCHES
    width = GAP_INCHES + len(titles) * (PANEL_INCHES + GAP_INCHES)
    total = GAP_INCHES + height + heading
    # A Figure without pyplot has no global state and no window to close.
    figure = figure_class(figsize=(width, total))
    axes = Panels()
    for number, (title, values) in enumerate(zip(titles, checked.values(), strict=True)):
        # Placed by hand, because automatic layouts cut off titles above pictures of fixed proportions.
        left = GAP_INCHES + number * (PANEL_INCHES + GAP_INCHES)
        panel = figure.add_axes((left / width, GAP_INCHES / total, PANEL_INCHES / width, height / total))
        shown = np.clip(np.where(np.isnan(values), MISSING_GREY, values), 0.0, 1.0)
        panel.imshow(shown, cmap="gray", vmin=0.0, vmax=1.0)
        panel.set_title(title, fontsize=11)
        panel.set_axis_off()
        axes.append(panel)
    return finished(axes, path)


def _title(title: str, values: Floats) -> str:
    """Return the title in lines that fit above a picture, with a note if entries are missing."""
    lines = textwrap.wrap(title, LETTERS_A_LINE)
    if np.isnan(values).any():
        lines.append("(missing shown grey)")
    return "\n".join(lines)


def _checked(values: ArrayLike, title: str) -> Floats:
    array = real_array(values, f"picture {title!r}")
    if not (array.ndim == 2 or (array.ndim == 3 and array.shape[2] == 3)) or array.size == 0:
        raise ValueError(
            f"picture {title!r} must have shape (rows, columns) or (rows, columns, 3), but {array.shape} was given."
        )
    return array
