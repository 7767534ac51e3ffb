"""Helpers for all figures: colours, panels, axis labels, and writing to a file."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Callable
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._support.moments import written_label
from .._support.optional import need
from .._support.types import Integers
from ..io.atomic import written_beside
from ..labels import Labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MISSING_GREY = 0.5
"""The grey, from 0 (black) to 1 (white), of a missing entry in a picture."""

MISSING_COLOUR = "#c9c9c9"
"""The light grey of a missing entry beside a colour map, which has no grey."""

COLOUR_MAP = "viridis"
"""Perceptually uniform from dark to light, also for colour-blind readers and in print."""

DOTS_PER_INCH, DOTS_IN_A_NOTEBOOK = 150, 90

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The colours of Okabe and Ito, which colour-blind readers can distinguish, without the yellow, which is too pale."""

MARKERS = "osD^vP<>"

OUTSIDE: dict[str, Any] = {
    "loc": "upper left",
    "bbox_to_anchor": (1.01, 1.0),
    "borderaxespad": 0.0,
    "frameon": False,
    "fontsize": 9,
    "title_fontsize": 9,
}
"""A legend to the right of its panel, where it covers nothing."""

ABOVE: dict[str, Any] = {
    "loc": "lower left",
    "bbox_to_anchor": (0.0, 1.0),
    "borderaxespad": 0.2,
    "frameon": False,
    "fontsize": 9,
    "handlelength": 1.6,
    "columnspacing": 1.2,
}
"""A legend above its panel, which keeps the width of a narrow figure."""

LETTERS = 28
"""Longer names are shortened."""

WIDE = 10.0
"""Values that vary by more than this factor are drawn on a logarithmic scale."""

NARROW = 4.0
"""A logarithmic axis that spans less than this factor gets evenly spaced ticks."""


def drawing_class() -> type[Figure]:
    """Return matplotlib's figure class; called early, to report a missing matplotlib before any work."""
    figure: type[Figure] = need("matplotlib.figure", "plots").Figure
    return figure


def one_panel(ax: Axes | None, size: tuple[float, float] = (6.0, 3.8)) -> Axes:
    """Return the given axes, or those of a new figure of this size in inches."""
    # A Figure without pyplot has no global state and no window to close.
    figure_class = drawing_class()
    if ax is None:
        panel: Axes = figure_class(figsize=size, layout="constrained").subplots()
        return panel
    (panel,) = given_panels(ax, 1, "one for the drawing")
    return panel


def given_panels(ax: Any, count: int, what_for: str) -> tuple[Axes, ...]:
    """Return the given axes, after checking their number."""
    panels = tuple(np.ravel(np.asarray(ax, dtype=object)))
    if len(panels) != count or not all(hasattr(panel, "plot") for panel in panels):
        raise ValueError(
            f"ax must be {count} axes of matplotlib, {what_for}, but {ax!r} was given; ".replace("\n", "")
            + f"figure.subplots(1, {count}) makes them."
        )
    return panels


class Panels(list["Axes"]):
    """The panels of one figure, which a notebook shows as that figure."""


Drawn = TypeVar("Drawn", bound="Axes | Panels")


def finished(panels: Drawn, file: str | PathLike[str] | None) -> Drawn:
    """Return the panels of a finished figure, ready for display in a notebook, and write it if a file is given.

    Parameters
    ----------
    panels
        One panel, or all of them.
    file
        The PNG file to write, if any.
    """
    first: Axes = panels[0] if isinstance(panels, list) else panels
    figure = first.figure.figure
    if file is not None:
        with written_beside(file) as stream:
            figure.savefig(stream, format="png", dpi=DOTS_PER_INCH)
    # A notebook already shows the figures of pyplot, which have a manager.
    if getattr(figure.canvas, "manager", None) is None:
        panels._repr_png_ = partial(_png, figure)  # type: ignore[union-attr]
    return panels


def _png(figure: Any) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=DOTS_IN_A_NOTEBOOK)
    return stream.getvalue()


def words(text: Any, most: int = LETTERS) -> str:
    r"""Return a text escaped for matplotlib, and shortened in the middle.

    matplotlib would read a formula between dollar signs, and leaves names that are empty or begin with an underscore
    out of legends. Characters that cannot be printed become spaces.

    >>> words("price in $"), words("a" * 40, most=7)
    ('price in \\$', 'aaa…aaa')
    """
    shown = " ".join("".join(letter if unicodedata.category(letter)[0] != "C" else " " for letter in str(text)).split())
    if len(shown) > most:
        shown = f"{shown[: most // 2]}…{shown[len(shown) - (most - most // 2 - 1) :]}"
    shown = shown.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") or not shown else shown


def name_of(labels: Labels, mode: int) -> str:
    """Return the name of a mode in a figure."""
    called = labels.called(mode)
    return words(called) if isinstance(called, str) else f"mode {called}"


def label_of(labels: Labels, mode: int, index: int) -> str:
    """Return the label of an index of a mode, or its number."""
    keys = labels.keys[mode]
    return str(index) if keys is None else written_label(keys[index])


def name_indices(axis: Axis, labels: Labels, mode: int, indices: Integers, most: int = 6) -> None:
    """Name the mode on an axis, and label some ticks with the labels of the indices that are drawn."""
    name_places(
        axis, name_of(labels, mode), len(indices), lambda place: label_of(labels, mode, int(indices[place])), most
    )


def name_places(axis: Axis, name: str, count: int, label: Callable[[int], str], most: int = 6) -> None:
    """Name an axis, and label some ticks of the places that are drawn, which begin with 0."""
    from matplotlib.ticker import FixedLocator, MaxNLocator

    ticks = MaxNLocator(most, integer=True).tick_values(0, max(count - 1, 1))
    places = [round(tick) for tick in ticks if 0 <= tick < count]
    axis.set_major_locator(FixedLocator(places))
    named = [words(label(place), 20) for place in places]
    axis.set_ticklabels(named)
    if axis is axis.axes.xaxis and sum(map(len, named)) > 28:
        axis.set_tick_params(labelrotation=30)
        for text in axis.get_ticklabels():
            text.set(ha="right", rotation_mode="anchor")
    axis.set_label_text(name)


def light_grid(panel: Axes) -> None:
    """Draw thin grid lines behind the data, and no frame above and to the right."""
    panel.grid(True, color="0.92", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def tick(number: float) -> str:
    """Return the text of a tick, in groups of thousands or, if it is very large or small, with a power of ten.

    >>> tick(120000.0), tick(0.25), tick(-3.0), tick(5.36e9), tick(2e-5)
    ('120,000', '0.25', '−3', '5.36×10⁹', '2×10⁻⁵')
    """
    if number == 0 or 1e-4 <= abs(number) < 1e7:
        return f"{number:,.10g}".replace("-", "−")
    digits, _, power = f"{number:.6g}".partition("e") if "e" in f"{number:.6g}" else f"{number:.5e}".partition("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}×10{raised}".replace("-", "−")


def grouped_numbers(axis: Axis, most: int = 5) -> None:
    """Label an axis with few numbers, large ones in groups of thousands."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(lambda x, _: tick(x))


def plain_numbers(axis: Axis, values: Any = ()) -> None:
    """Label a logarithmic axis with plain numbers such as 0.02, on as many ticks as fit.

    Parameters
    ----------
    axis
        The axis.
    values
        The values along it, if their range may be too narrow for the usual ticks of a logarithmic axis.
    """
    from matplotlib.ticker import LogFormatter, MaxNLocator, NullLocator

    class Plain(LogFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return tick(x) if super().__call__(x, pos) else ""

    finite = np.asarray(values, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    if len(finite) and 0 < finite.max() < NARROW * finite.min():
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(lambda x, _: tick(x))
        return
    axis.set_major_formatter(Plain())
    axis.set_minor_formatter(Plain(minor_thresholds=(2.0, 0.5)))


def logarithmic(values: Any, ends: tuple[float, float] = (0.0, 100.0)) -> bool:
    """Return whether values are all positive and vary enough for a logarithmic scale.

    Parameters
    ----------
    values
        Any numbers; those that are not finite are ignored.
    ends
        The percentiles to compare; values beyond these are ignored.
    """
    finite = np.asarray(values, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    if not len(finite) or finite.min() <= 0:
        return False
    low, high = np.percentile(finite, ends)
    return bool(WIDE * low < high)
