"""The drawings of a report, as SVG that stands in the page itself."""

from __future__ import annotations

import base64
import io
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import plots
from ..plots import errors, gaps
from ..plots.drawing import ABOVE, drawing_class, words
from ..plots.spectrum import spectra
from ..plots.views import predicts_probabilities, predicts_scores
from . import facts

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from ..fit import Fit

WIDTH, HEIGHT = 4.2, 3.0
"""Inches; narrow enough for words to stay readable on a telephone."""

DOTS_PER_INCH = 130


@dataclass(frozen=True)
class Figure:
    """A drawing.

    Parameters
    ----------
    address
        The SVG itself, as an address of the kind ``data:``.
    said
        What it shows, for those who cannot see it, and under it.
    wide
        Whether it takes the whole width of the page.
    """

    address: str
    said: str
    wide: bool = False


def figures_of_the_run(fit: Fit) -> list[Figure]:
    """Return the drawings of how the fit came about."""
    said = "The objective by iteration: the loss plus the penalties."
    made = [_drawn(lambda ax: plots.convergence(fit, ax), said)]
    made.append(_drawn(lambda ax: plots.ranks(fit, ax), "The rank of each regularised mode by iteration."))
    if any(len(values) for _, values in spectra(fit.model)):
        made.append(_drawn(lambda ax: plots.singular_values(fit, ax), "The singular values of each mode's component."))
    return made


def figure_of_the_search(fit: Fit) -> Figure | None:
    """Return the drawing of what was tried, where something was."""
    if not fit.path:
        return None
    path = fit.path
    with _quiet():
        figure = drawing_class()(figsize=(5.4, 6.2), layout="constrained")
        upper, lower = plots.path(path, figure.subplots(2, 1, sharex=True, height_ratios=(2, 1)))
        # Legends at the side would leave a narrow page no room for the lines.
        figure.legend(
            *upper.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8, frameon=False
        )
        handles, named = lower.get_legend_handles_labels()
        lower.legend(handles, [words(fit.labels.named(name)) for name in named], ncols=3, **ABOVE)
        legend = upper.get_legend()
        if legend is not None:
            legend.remove()
        upper.title.set_fontsize(10)
        for panel in (upper, lower):
            panel.tick_params(which="both", labelsize=8)
        said = f"The {len(path)} regularisations that were tried: their errors, and the ranks along the best line."
        return Figure(_svg(figure), said, wide=True)


def figures_of_errors(fit: Fit) -> list[Figure]:
    """Return the drawings of how far predictions are off."""
    made = []
    if fit.residuals is not None and not predicts_scores(fit):
        said = "How far held-out entries were from a fit without them."
        made.append(_drawn(lambda ax: errors.residual_histogram(fit, ax), said))
    if fit.observations is None:
        return made
    sample = errors.fitted_sample(fit)
    if predicts_probabilities(fit):
        said = "Probabilities that the fit gives to entries it was fitted to, by what was observed."
        return [*made, _drawn(lambda ax: errors.probabilities(fit, ax, *sample), said)]
    said = "Predicted against observed, of entries that were fitted; on the line there is no error."
    made.append(_drawn(lambda ax: errors.predicted_against_observed(fit, ax, *sample), said))
    said = "What is left of these entries."
    if math.isfinite(errors.half_width(fit)):
        said += " Of new ones, 90% lie between the dashed lines."
    made.append(_drawn(lambda ax: errors.residuals_against_predicted(fit, ax, *sample), said))
    return made


def figures_of_what_is_missing(fit: Fit) -> list[Figure]:
    """Return the drawings of the share that was observed, by index of each mode."""
    seen = fit.observations
    if seen is None:
        return []

    def draw(mode: int) -> Callable[[Any], object]:
        return lambda ax: gaps.draw_share_by_index(ax, seen, fit.labels, mode)

    return [
        _drawn(draw(mode), f"Share observed for each index of {facts.mode_called(fit.labels, mode)}.", height=2.2)
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
    # Words stay words, which are small and can be found; without a date the same fit makes the same page.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "tensorfill"}):
        figure.savefig(stream, format="svg", dpi=DOTS_PER_INCH, metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(stream.getvalue()).decode("ascii")


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out the warning of letters that matplotlib's font has not: the browser has a font for them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield
