"""The error of a fit on held-out entries or, if none were, on the entries that it was fitted to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from .._support.types import Floats, Integers
from .._support.words import written
from .drawing import ABOVE, COLOURS, Panels, drawing_class, finished, given_panels, grouped_numbers, light_grid, words
from .views import is_yes_or_no

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..fit import Fit

SHARE = 0.9
"""The coverage of the marked interval."""

MOST_POINTS = 4000
"""The largest number of dots in a scatter plot; of more entries a random sample is drawn."""

FARTHEST = 99.5
"""The percentile of the residuals at which the histogram ends; the title says how many lie beyond."""

BINS = 40


@dataclass(frozen=True, eq=False)
class Sample:
    """Entries with their observed and predicted values.

    Parameters
    ----------
    observed, predicted
        The observed and the predicted values.
    count
        The total number of entries, of which these may be a random sample.
    are_new
        Whether the fit that predicts them was made without them.
    """

    observed: Floats
    predicted: Floats
    count: int
    are_new: bool

    def in_words(self) -> str:
        """Return a description of the entries."""
        kind = "held-out" if self.are_new else "fitted"
        few = len(self.observed) < self.count
        return (
            f"{len(self.observed):,} of {self.count:,} {kind} entries" if few else f"all {self.count:,} {kind} entries"
        )


def held_out(fit: Fit, ax: Sequence[Axes] | None = None, *, file: str | PathLike[str] | None = None) -> list[Axes]:
    """Draw the errors on held-out entries, predicted by a fit without them.

    The first panel is a histogram of the absolute residuals, with half the width of the 90% interval marked. The others
    show predicted against observed values, and the residuals against the predicted values, of at most 4000 entries. For
    ``loss="logistic"`` the only other panel shows the predicted values by the value observed. A fit that was read from
    a file does not hold the entries, and has the first panel only. If nothing was held out, the entries are those that
    the fit has seen, whose errors are smaller than those of new entries, and the titles say so.

    Parameters
    ----------
    fit
        The fit.
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
    first, entries = fit.residuals is not None, sample_of(fit)
    if not first and entries is None:
        raise ValueError(
            "held_out needs held-out entries or the data, but this fit has neither; fit with choose=Choice(), or draw "
            "it before it is saved."
        )
    drawing_class()
    draw = [residual_histogram] if first else []
    others = [] if entries is None else [values_by_kind] if is_yes_or_no(fit) else [
        predicted_against_observed, residuals_against_predicted
    ]  # fmt: skip
    count = len(draw) + len(others)
    if ax is None:
        figure = drawing_class()(figsize=(0.3 + 3.7 * count, 3.6), layout="constrained")
        panels = tuple(np.ravel(figure.subplots(1, count)))
    else:
        panels = given_panels(ax, count, "one for each panel")
    if first:
        residual_histogram(fit, panels[0])
    for panel, each in zip(panels[len(draw) :], others, strict=True):
        if entries is not None:
            each(fit, panel, entries)
    return finished(Panels(panels), file)


def half_width(fit: Fit, share: float = SHARE) -> float:
    """Return half the width of the interval with this coverage; NaN if there is none."""
    try:
        return fit.half_width(share)
    except ValueError:
        return math.nan


def sample_of(fit: Fit, most: int = MOST_POINTS) -> Sample | None:
    """Return held-out entries or, if none were, fitted ones; None if the fit has neither."""
    new = fit.held_out
    if new is not None:
        chosen = _chosen(len(new), most)
        return Sample(new.observed[chosen], fit.bounded(new.predicted[chosen]), len(new), are_new=True)
    return fitted_sample(fit, most) if fit.residuals is None and fit.observations is not None else None


def fitted_sample(fit: Fit, most: int = MOST_POINTS) -> Sample:
    """Return entries that the fit has seen."""
    seen = fit.observations
    if seen is None:
        raise ValueError("A fit that was read from a file does not hold the data; draw it before it is saved.")
    chosen = _chosen(len(seen), most)
    return Sample(seen.values[chosen], np.asarray(fit.predict(seen.coords[chosen])), len(seen), are_new=False)


def _chosen(count: int, most: int) -> Integers:
    """Return the entries to draw: always the same, so that the same fit has the same figure."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False))


def residual_histogram(fit: Fit, panel: Axes) -> None:
    """Draw the absolute residuals of the held-out entries."""
    residuals = np.zeros(0) if fit.residuals is None else fit.residuals
    end = float(np.percentile(residuals, FARTHEST)) or float(residuals.max()) or 1.0
    beyond = int((residuals > end).sum())
    half = half_width(fit)
    if half > end:
        end = 1.05 * half
    panel.hist(residuals, bins=BINS, range=(0.0, end), color=COLOURS[0], alpha=0.8)
    if math.isfinite(half):
        panel.axvline(half, color=COLOURS[1], linewidth=1.8)
        panel.annotate(
            f"{SHARE:.0%} within {written(half, 3)}",
            (half, 0.97),
            xycoords=("data", "axes fraction"),
            xytext=(-5 if half > end / 2 else 5, 0),
            textcoords="offset points",
            ha="right" if half > end / 2 else "left",
            va="top",
            color=COLOURS[1],
            fontsize=9,
        )
    more = f", {beyond:,} farther out" if beyond else ""
    panel.set_title(f"{len(residuals):,} held-out entries{more}", fontsize=10)
    panel.set_xlabel(f"absolute residual{_of_value(fit, ' of')}")
    panel.set_ylabel("entries")
    panel.set_xlim(0, end)
    light_grid(panel)
    for axis in (panel.xaxis, panel.yaxis):
        grouped_numbers(axis)


def values_by_kind(fit: Fit, panel: Axes, entries: Sample) -> None:
    """Draw a histogram of the predicted values, for each of the two values that were observed."""
    low = float(getattr(fit.loss, "low", 0.0))
    for place, kind in enumerate((1.0, low)):
        own = entries.predicted[entries.observed == kind]
        label = f"{len(own):,} were {kind:g}"
        panel.hist(own, bins=BINS, range=(low, 1.0), color=COLOURS[place], alpha=0.6, label=label)
    what = "probability" if low == 0 else "value"
    panel.set_xlabel(f"predicted {what}{_of_value(fit, ' of')}, {'held-out' if entries.are_new else 'fitted'} entries")
    panel.set_ylabel("entries")
    panel.legend(ncols=2, **ABOVE)
    light_grid(panel)


def predicted_against_observed(fit: Fit, panel: Axes, entries: Sample) -> None:
    """Draw predicted against observed, with the line of no error."""
    seen, predicted = entries.observed, entries.predicted
    _dots(panel, seen, predicted)
    low, high = min(seen.min(), predicted.min()), max(seen.max(), predicted.max())
    panel.plot([low, high], [low, high], color=COLOURS[1], linewidth=1.2)
    panel.set_title(entries.in_words(), fontsize=10)
    panel.set_xlabel(f"observed{_of_value(fit)}")
    panel.set_ylabel("predicted")
    light_grid(panel)
    for axis in (panel.xaxis, panel.yaxis):
        grouped_numbers(axis)


def residuals_against_predicted(fit: Fit, panel: Axes, entries: Sample) -> None:
    """Draw the residuals, with the 90% interval of new entries."""
    _dots(panel, entries.predicted, entries.observed - entries.predicted)
    panel.axhline(0.0, color="0.5", linewidth=1.0)
    half = half_width(fit)
    if math.isfinite(half):
        for end in (-half, half):
            panel.axhline(end, color=COLOURS[1], linewidth=1.2, linestyle="--")
        panel.set_title(f"dashed: where {SHARE:.0%} of new entries are", fontsize=10)
    panel.set_xlabel(f"predicted{_of_value(fit)}")
    panel.set_ylabel("observed minus predicted")
    light_grid(panel)
    for axis in (panel.xaxis, panel.yaxis):
        grouped_numbers(axis)


def _dots(panel: Axes, across: Floats, up: Floats) -> None:
    faint = 0.9 if len(across) < 200 else 0.35
    # Rasterised, because thousands of dots would make a vector figure large.
    panel.plot(across, up, "o", color=COLOURS[0], markersize=3, markeredgewidth=0, alpha=faint, rasterized=True)


def _of_value(fit: Fit, before: str = "") -> str:
    return "" if fit.labels.value == "value" else f"{before} {words(fit.labels.value, 20)}"
