"""The slices of a report: small pictures of the observed entries and of the filled tensor."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._support.optional import need
from .._support.types import Floats, Integers
from .._support.words import written
from ..plots.drawing import COLOUR_MAP, MISSING_COLOUR, MISSING_GREY, label_of
from ..plots.sections import colour_range
from ..plots.views import View, blocks, colour_mode, first_shown, full_light, make_view, spread

if TYPE_CHECKING:
    from ..fit import Fit

MOST_LETTERS = 1_900_000
"""The largest number of characters of all pictures in the page, which keeps it below 3 MB."""

MOST_SLICES = 48
"""The largest number of slices of a mode."""

MOST_CELLS, MOST_PIXELS = 200, 360
"""The largest number of rows and columns of a slice, and of a colour picture."""

TALLEST, FLATTEST = 1.0, 0.4
"""The limits of the height of a slice divided by its width; pictures keep their proportions."""

MISSING = 0
"""The level of a missing entry; levels from 1 to 255 are values."""

COLOUR_STOPS = 256


def gallery(fit: Fit, original: NDArray[Any] | None) -> dict[str, Any]:
    """Return everything that the page needs to draw slices, ready for JSON.

    Parameters
    ----------
    fit
        The fit.
    original
        The true tensor, if it is known.
    """
    views = views_of(fit)
    letters = MOST_LETTERS // len(views)
    low, high = _range(fit, views[0], original)
    made = [_slices(fit, view, original, (low, high), letters) for view in views]
    return {
        "value": "" if fit.labels.value == "value" else fit.labels.value,
        "low": written(low),
        "high": written(high),
        "lowest": low,
        "highest": high,
        "palette": _palette(),
        "missing": MISSING_COLOUR,
        "views": made,
    }


def views_of(fit: Fit) -> list[View]:
    """Return the views of a tensor to show, the one with the fewest slices first."""
    shape, labels, seen = fit.shape, fit.labels, fit.observations
    colour = colour_mode(fit)
    flat = len(shape) - (colour is not None) == 2
    found = []
    if flat:
        most = MOST_CELLS if colour is None else MOST_PIXELS
        found.append(make_view(labels, shape, seen, None, colour=colour, most=most))
    if flat and colour is not None:
        found.append(make_view(labels, shape, seen, colour, most=MOST_PIXELS))
    elif not flat:
        for mode in sorted((mode for mode in range(len(shape)) if mode != colour), key=lambda mode: shape[mode]):
            most = MOST_CELLS if colour is None else MOST_PIXELS
            found.append(make_view(labels, shape, seen, mode, colour=colour, most=most))
    return found


def as_json(data: Mapping[str, Any]) -> str:
    r"""Return JSON that is safe inside a page: no label of the data can end the script or begin another.

    >>> as_json({"label": "</script>&"})
    '{"label":"\\u003c/script\\u003e\\u0026"}'
    """
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _slices(
    fit: Fit, view: View, original: NDArray[Any] | None, ends: tuple[float, float], letters: int
) -> dict[str, Any]:
    """Return the slices of one view, evenly spread, as many as the size of the page allows."""
    count = 1 if view.along is None else fit.shape[view.along]
    middle = _pictures(fit, view, None if view.along is None else count // 2, original, ends)
    # Slightly fewer than the size of the middle slice allows, because others may be larger.
    room = int(0.9 * letters // max(sum(map(len, middle.values())), 1))
    chosen = spread(count, max(1, min(room, MOST_SLICES)))
    slices = [
        {
            "title": _title(fit, view, index),
            "images": list(_pictures(fit, view, index, original, ends).values()),
        }
        for index in (_indices(view, chosen))
    ]
    rows, columns = len(view.row_indices), len(view.column_indices)
    ratio = rows / columns
    return {
        "name": _name(fit, view),
        "panels": list(middle),
        "colour": view.colour is not None,
        "rows": rows,
        "columns": columns,
        "ratio": ratio if view.colour is not None else min(max(ratio, FLATTEST), TALLEST),
        "rowMode": fit.labels.in_words(view.rows),
        "columnMode": fit.labels.in_words(view.columns),
        "rowLabels": _labels(fit, view.rows, view.row_indices),
        "columnLabels": _labels(fit, view.columns, view.column_indices),
        "note": _note(fit, view, len(slices), count),
        "start": first_shown(fit.observations, view, chosen.tolist()),
        "slices": slices,
    }


def _indices(view: View, chosen: Integers) -> list[int | None]:
    return [None] if view.along is None else [int(index) for index in chosen]


def _pictures(
    fit: Fit, view: View, index: int | None, original: NDArray[Any] | None, ends: tuple[float, float]
) -> dict[str, str]:
    """Return the pictures of a slice by title, each as a ``data:`` URL."""
    parts = blocks(fit, view, index, original)
    if view.colour is not None:
        white = full_light(fit)
        return {title: _png(_pixels(values / white)) for title, values in parts.items()}
    return {title: _png(levels(values, *ends)) for title, values in parts.items()}


def levels(values: Floats, low: float, high: float) -> NDArray[np.uint8]:
    """Return values as whole numbers from 1 to 255, and 0 for missing entries.

    >>> levels(np.array([0.0, 1.0, 9.0, np.nan]), 0.0, 1.0).tolist()
    [1, 255, 255, 0]
    """
    missing = np.isnan(values)
    scaled = np.clip((np.where(missing, low, values) - low) / (high - low), 0.0, 1.0)
    whole: NDArray[np.uint8] = np.where(missing, MISSING, 1 + np.rint(254 * scaled)).astype(np.uint8)
    return whole


def _pixels(values: Floats) -> NDArray[np.uint8]:
    shown = np.clip(np.where(np.isnan(values), MISSING_GREY, values), 0.0, 1.0)
    pixels: NDArray[np.uint8] = np.rint(255 * shown).astype(np.uint8)
    return pixels


def _png(array: NDArray[np.uint8]) -> str:
    stream = io.BytesIO()
    need("PIL.Image", "report").fromarray(array).save(stream, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode("ascii")


def _range(fit: Fit, view: View, original: NDArray[Any] | None) -> tuple[float, float]:
    if fit.observations is not None:
        return colour_range(fit, {})
    middle = None if view.along is None else fit.shape[view.along] // 2
    return colour_range(fit, blocks(fit, view, middle, original))


def _palette() -> list[str]:
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colour) for colour in colormaps[COLOUR_MAP](np.linspace(0.0, 1.0, COLOUR_STOPS - 1))]


def _name(fit: Fit, view: View) -> str:
    if view.along is None:
        return "the whole picture" if view.colour is not None else "the whole matrix"
    return f"slices by {fit.labels.in_words(view.along)}"


def _title(fit: Fit, view: View, index: int | None) -> str:
    shown = ({} if view.along is None or index is None else {view.along: index}) | dict(view.fixed)
    return ", ".join(f"{fit.labels.in_words(mode)}: {label_of(fit.labels, mode, own)}" for mode, own in shown.items())


def _labels(fit: Fit, mode: int, indices: Integers) -> list[str]:
    return [label_of(fit.labels, mode, int(index))[:60] for index in indices]


def _note(fit: Fit, view: View, shown: int, count: int) -> str:
    """Return a sentence about what is left out."""
    said = []
    if shown < count:
        said.append(f"{shown} of the {count:,} slices are in this page, evenly spread.")
    for mode, indices in ((view.rows, view.row_indices), (view.columns, view.column_indices)):
        if len(indices) < fit.shape[mode]:
            even = bool(np.array_equal(indices, spread(fit.shape[mode], len(indices))))
            how = "evenly spread" if even else "those with the most entries"
            said.append(f"Of {fit.labels.in_words(mode)}, {len(indices)} of {fit.shape[mode]:,} are drawn, {how}.")
    return " ".join(said)
