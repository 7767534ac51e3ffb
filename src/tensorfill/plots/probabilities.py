"""Whether predicted probabilities are what they say: how often entries have the upper value, by prediction."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from ..losses import Logistic
from ..metrics import Reliability
from ..metrics import reliability as reliability_of
from .drawing import ABOVE, COLOURS, finished, light_grid, one_panel, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..fit import Fit


def reliability(fit: Fit, ax: Axes | None = None, *, file: str | PathLike[str] | None = None) -> Axes:
    """Draw how often held-out entries have the upper value, by the probability that was predicted without them.

    Held-out entries are divided by their predicted probability into at most ten bins of equally many. A dot is the
    share of a bin that has the upper value, 1 or True, at the mean prediction of the bin, and its whiskers are the 90%
    Wilson interval. If probabilities are calibrated, the dots lie on the diagonal but for chance. For data of -1 and 1,
    predictions are converted to probabilities as in `tensorfill.Fit.predict_proba`. `tensorfill.metrics.reliability`
    computes the curve.

    Parameters
    ----------
    fit
        A fit with ``loss="logistic"`` and held-out entries.
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
    curve = reliability_curve(fit)
    panel = one_panel(ax, (4.4, 4.0))
    panel.plot([0, 1], [0, 1], color=COLOURS[1], linewidth=1.2, label="calibrated")
    whiskers = np.stack([curve.observed - curve.low, curve.high - curve.observed])
    drawn = panel.errorbar(
        curve.predicted,
        curve.observed,
        yerr=whiskers,
        fmt="o-",
        color=COLOURS[0],
        markersize=5,
        linewidth=1.2,
        elinewidth=1.2,
        capsize=3,
    )
    drawn.lines[0].set_label("held-out entries, 90% intervals")
    of_value = "" if fit.labels.value == "value" else f" of {words(fit.labels.value, 20)}"
    panel.set_xlabel(f"predicted probability{of_value}")
    panel.set_ylabel("observed share of 1")
    # Room for the dots at either end.
    panel.set_xlim(-0.02, 1.02)
    panel.set_ylim(-0.02, 1.02)
    panel.set_aspect("equal", adjustable="box")
    light_grid(panel)
    panel.legend(ncols=2, **ABOVE)
    return finished(panel, file)


def has_reliability(fit: Fit) -> bool:
    """Return whether a fit has held-out entries of two values, whose probabilities were predicted without them."""
    new = fit.held_out
    return isinstance(fit.loss, Logistic) and new is not None and bool(np.isin(new.observed, (_low(fit), 1.0)).all())


def reliability_curve(fit: Fit) -> Reliability:
    """Return how often held-out entries have the upper value, by the probability that was predicted without them."""
    if not isinstance(fit.loss, Logistic):
        raise ValueError(
            "reliability is for data of two values that was fitted with loss='logistic', but the loss of this fit is "
            f"{fit.loss!r}; held_out draws its errors."
        )
    new = fit.held_out
    if new is None:
        raise ValueError("reliability needs held-out entries, but this fit has none; fit with choose=Choice().")
    if not has_reliability(fit):
        raise ValueError(
            f"reliability needs data of two values, but its held-out entries are not all {_low(fit):g} or 1; held_out "
            "draws their errors."
        )
    low = _low(fit)
    probability, happened = ((each - low) / (1 - low) for each in (new.predicted, new.observed))
    return reliability_of(np.clip(probability, 0.0, 1.0), happened)


def _low(fit: Fit) -> float:
    return float(getattr(fit.loss, "low", 0.0))
