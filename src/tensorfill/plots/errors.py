"""The error of a fit, on held-out entries and on the entries that it was fitted to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from .._support.types import Floats
from .drawing import ABOVE, COLOURS, drawing_class, given_panels, light_grid, save, words
from .views import predicts_probabilities, predicts_scores, seen_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..fit import Fit

SHARE = 0.9
"""The share of entries that the marked interval holds."""

MOST_POINTS = 4000
"""More dots than this hide one another in a scatter plot; of more entries a random sample is drawn."""

FARTHEST = 99.5
"""The percentile of the residuals at which the histogram ends; the title says how many lie beyond."""

BINS = 40


def held_out(fit: Fit, ax: Sequence[Axes] | None = None, *, file: str | PathLike[str] | None = None) -> list[Axes]:
    """Draw the errors on held-out entries and on fitted entries.

    The first panel is a histogram of the absolute residuals of the held-out entries, with half the width of the 90%
    interval marked. The others show the observed entries, at most 4000 of them: predicted against observed, and the
    residuals against predicted. These entries took part in the fit, so their errors are smaller than those of new
    entries. Without held-out entries, or if predictions are scores, the first panel is left out. For a fit that was
    read from a file, which does not hold the data, the others are. For ``loss="logistic"`` the only panel shows the
    predicted probabilities of the observed entries, by the value observed.

    Parameters
    ----------
    fit
        The fit.
    ax
        The axes to draw on, one for each panel; a new drawing is made if none are given.
    file
        Where to write the drawing as PNG, if anywhere; an error leaves an existing file as it was.

    Returns
    -------
    list of matplotlib.axes.Axes
        One for each panel; ``axes[0].figure`` is the whole drawing.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    first = fit.residuals is not None and not predicts_scores(fit)
    others = fit.observations is not None
    if not first and not others:
        raise ValueError(
            "held_out needs held-out residuals on the scale of the data, or the data, but this fit has neither; "
            "fit with choose=Choice(), or draw it before it is saved."
        )
    drawing_class()
    kinds = others and predicts_probabilities(fit)
    count = 1 if kinds else int(first) + 2 * int(others)
    if ax is None:
        figure = drawing_class()(figsize=(0.3 + 3.7 * count, 3.6), layout="constrained")
        panels = tuple(np.ravel(figure.subplots(1, count)))
    else:
        panels = given_panels(ax, count, "one for each panel")
    if first:
        residual_histogram(fit, panels[0])
    if kinds:
        probabilities(fit, panels[0], *fitted_sample(fit))
    elif others:
        seen, predicted = fitted_sample(fit)
        predicted_against_observed(fit, panels[-2], seen, predicted)
        residuals_against_predicted(fit, panels[-1], seen, predicted)
    save(panels[0], file)
    return list(panels)


def half_width(fit: Fit, share: float = SHARE) -> float:
    """Return half the width of the interval that holds this share of entries; NaN if there is none."""
    try:
        return fit.half_width(share)
    except ValueError:
        return math.nan


def fitted_sample(fit: Fit, most: int = MOST_POINTS) -> tuple[Floats, Floats]:
    """Return observed entries, a random sample if there are many, and their predictions."""
    seen = fit.observations
    if seen is None:
        raise ValueError("A fit that was read from a file does not hold the data; draw it before it is saved.")
    chosen = np.arange(len(seen))
    if len(seen) > most:
        # Always the same sample, so that the same fit has the same drawing.
        chosen = np.sort(np.random.default_rng(0).choice(len(seen), most, replace=False))
    return seen_values(fit, seen.values[chosen]), np.asarray(fit.predict_mean(seen.coords[chosen]))


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
            f"{SHARE:.0%} within {half:.3g}",
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


def probabilities(fit: Fit, panel: Axes, seen: Floats, predicted: Floats) -> None:
    """Draw a histogram of the predicted probabilities of fitted entries, for each of the two values."""
    for place, kind in enumerate((1, 0)):
        own = predicted[seen == kind]
        panel.hist(own, bins=BINS, range=(0.0, 1.0), color=COLOURS[place], alpha=0.6, label=f"{len(own):,} were {kind}")
    panel.set_xlabel(f"predicted probability{_of_value(fit, ' of')}")
    panel.set_ylabel("entries")
    panel.legend(ncols=2, **ABOVE)
    light_grid(panel)


def predicted_against_observed(fit: Fit, panel: Axes, seen: Floats, predicted: Floats) -> None:
    """Draw predicted against observed, with the line of no error."""
    _dots(panel, seen, predicted)
    low, high = min(seen.min(), predicted.min()), max(seen.max(), predicted.max())
    panel.plot([low, high], [low, high], color=COLOURS[1], linewidth=1.2)
    panel.set_title(_how_many(fit, seen), fontsize=10)
    panel.set_xlabel(f"observed{_of_value(fit)}")
    panel.set_ylabel("predicted")
    light_grid(panel)


def residuals_against_predicted(fit: Fit, panel: Axes, seen: Floats, predicted: Floats) -> None:
    """Draw the residuals of fitted entries, with the 90% interval of new entries."""
    _dots(panel, predicted, seen - predicted)
    panel.axhline(0.0, color="0.3", linewidth=1.0)
    half = half_width(fit)
    if math.isfinite(half):
        for end in (-half, half):
            panel.axhline(end, color=COLOURS[1], linewidth=1.2, linestyle="--")
        panel.set_title(f"dashed: where {SHARE:.0%} of new entries are", fontsize=10)
    panel.set_xlabel(f"predicted{_of_value(fit)}")
    panel.set_ylabel("observed minus predicted")
    light_grid(panel)


def _dots(panel: Axes, across: Floats, up: Floats) -> None:
    faint = 0.9 if len(across) < 200 else 0.35
    # As pixels: thousands of dots would make a vector drawing large.
    panel.plot(across, up, "o", color=COLOURS[0], markersize=3, markeredgewidth=0, alpha=faint, rasterized=True)


def _how_many(fit: Fit, seen: Floats) -> str:
    count = 0 if fit.observations is None else len(fit.observations)
    return f"{len(seen):,} of {count:,} fitted entries" if len(seen) < count else f"all {count:,} fitted entries"


def _of_value(fit: Fit, before: str = "") -> str:
    return "" if fit.labels.value == "value" else f"{before} {words(fit.labels.value, 20)}"
