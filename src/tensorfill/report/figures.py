"""The figures of a report, as SVG inside the page."""

from __future__ import annotations

import base64
import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import plots
from .._support.ordering import TOO_FAR
from ..choosing.search.base import Path, PathPoint
from ..labels import Labels
from ..plots import errors, gaps, lines
from ..plots.drawing import ABOVE, drawing_class
from ..plots.naming import rank_modes
from ..plots.probabilities import has_reliability
from ..plots.search import TrialLines, by_method
from ..plots.spectrum import spectra
from ..plots.views import colour_mode, is_yes_or_no

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from ..fit import Fit

WIDTH, HEIGHT = 4.2, 3.0
"""The size in inches, narrow enough for text to be readable on a phone."""

DOTS_PER_INCH = 130


@dataclass(frozen=True)
class Figure:
    """A figure.

    Parameters
    ----------
    address
        The SVG as a ``data:`` URL.
    said
        The caption, also for screen readers.
    wide
        Whether it takes the full width of the page.
    """

    address: str
    said: str
    wide: bool = False


def figures_of_the_run(fit: Fit) -> list[Figure]:
    """Return the figures of the final run."""
    said = "The objective by iteration: the loss plus the regularisation."
    made = [_drawn(lambda ax: plots.convergence(fit, ax), said)]
    said = "The rank of each mode by iteration." if rank_modes(fit) else "The rank by iteration."
    made.append(_drawn(lambda ax: plots.ranks(fit, ax), said))
    if any(len(values) for _, values in spectra(fit.model)):
        made.append(_drawn(lambda ax: plots.singular_values(fit, ax), "The singular values of each mode."))
    return made


def figures_of_the_search(fit: Fit) -> list[Figure]:
    """Return the figures of the trials, one for each method that was tried."""
    methods = by_method(fit.path or ())
    made, labels = [], fit.recipe.labels_within(fit.labels)
    for name, points in methods.items():
        whose = "" if len(methods) == 1 else f" of {name}"
        below = "seconds of each" if TrialLines.of(points, labels).setting == "rank" else "ranks"
        said = f"The errors of the trials{whose}, {len(points)} in all, and below them the {below}."
        with _quiet():
            made.append(Figure(_svg(_drawing_of_trials(points, labels)), said, wide=True))
    return made


def _drawing_of_trials(points: Sequence[PathPoint], labels: Labels) -> Drawing:
    figure = drawing_class()(figsize=(5.4, 6.2), layout="constrained")
    panels = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    upper, lower = plots.path(Path(points), panels, labels=labels)
    # Legends at the side would leave no space for the lines on a narrow page.
    figure.legend(*upper.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    legend = upper.get_legend()
    if legend is not None:
        legend.remove()
    if lower.get_legend() is not None:
        lower.legend(ncols=3, **ABOVE)
    upper.title.set_fontsize(10)
    for panel in (upper, lower):
        panel.tick_params(which="both", labelsize=8)
    return figure


def figures_of_errors(fit: Fit) -> list[Figure]:
    """Return the figures of the errors."""
    made = []
    if fit.residuals is not None:
        said = "The absolute errors on held-out entries, of a fit without them."
        made.append(_drawn(lambda ax: errors.residual_histogram(fit, ax), said))
    entries = errors.sample_of(fit)
    if entries is None:
        return made
    which = "held-out entries, by a fit without them" if entries.are_new else "fitted entries, which the fit has seen"
    if is_yes_or_no(fit):
        said = f"The predictions of {which}, by the value observed."
        return [*made, _drawn(lambda ax: errors.values_by_kind(fit, ax, entries), said)]
    said = f"Predicted against observed values of {which}; on the line the error is zero."
    made.append(_drawn(lambda ax: errors.predicted_against_observed(fit, ax, entries), said))
    said = "The residuals of these entries."
    if math.isfinite(errors.half_width(fit)):
        said += " Those of 90% of new entries lie between the dashed lines."
    made.append(_drawn(lambda ax: errors.residuals_against_predicted(fit, ax, entries), said))
    return made


def figures_of_probabilities(fit: Fit) -> list[Figure]:
    """Return the figure of whether probabilities are what they say; none without held-out entries of two values."""
    if not has_reliability(fit):
        return []
    said = (
        "The share of held-out entries that are 1, by the probability that a fit without them predicts, in bins of "
        "equally many entries. The bars are 90% intervals."
    )
    return [_drawn(lambda ax: plots.reliability(fit, ax), said, height=4.0)]


def figures_of_series(fit: Fit) -> list[Figure]:
    """Return the figure of a few series along an ordered mode; none for a picture, or without such a mode.

    A fit with a forecast has one along its time.
    """
    ordered = fit.ahead is not None or lines.ordered_modes(fit)
    if fit.observations is None or colour_mode(fit) is not None or not ordered or math.prod(fit.shape) >= TOO_FAR:
        return []
    modes = lines.series_modes(fit)
    with _quiet():
        rows = lines.chosen_series(fit, modes, {}, 3)
        figure = drawing_class()(figsize=(5.4, 0.6 + 1.6 * len(rows)), layout="constrained")
        lines.draw_all(fit, [*figure.subplots(len(rows), 1, squeeze=False)[:, 0]], modes, rows)
        return [Figure(_svg(figure), _said_of_series(fit, modes), wide=True)]


def _said_of_series(fit: Fit, modes: tuple[int, ...]) -> str:
    """Return the caption of the figure of series."""
    along = " and ".join(fit.labels.in_words(mode) for mode in modes)
    band = " The band holds 90% of new entries." if math.isfinite(errors.half_width(fit)) else ""
    said = f"Series along {along}: observed entries, and what is filled in.{band}"
    if fit.ahead is None:
        return said
    bands = ", with the band that holds 90% of such values" if len(fit.ahead.quantiles) else ""
    return f"{said} After the dotted line comes the forecast{bands}."


def figures_of_what_is_missing(fit: Fit) -> list[Figure]:
    """Return the figures of the observed share, by index of each mode."""
    seen = fit.observations
    if seen is None:
        return []

    def draw(mode: int) -> Callable[[Any], object]:
        return lambda ax: gaps.draw_share_by_index(ax, seen, fit.labels, mode)

    return [
        _drawn(draw(mode), f"The observed share for each index of {fit.labels.in_words(mode)}.", height=2.2)
        for mode in range(seen.ndim)
    ]


def _drawn(draw: Callable[[Any], object], said: str, height: float = HEIGHT) -> Figure:
    with _quiet():
        figure = drawing_class()(figsize=(WIDTH, height), layout="constrained")
        draw(figure.subplots())
        return Figure(_svg(figure), said)


def _svg(figure: Drawing) -> str:
    from matplotlib import rc_context

    stream = io.BytesIO()
    # Text stays text, which is small and searchable. Without a date the same fit gives the same page.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "tensorfill"}):
        figure.savefig(stream, format="svg", dpi=DOTS_PER_INCH, metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(stream.getvalue()).decode("ascii")


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings about characters that matplotlib's font lacks; the browser has a font for them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield
