"""The objective and the ranks over the iterations of a fit."""

from __future__ import annotations

import math
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._support.checks import choice
from .._support.types import Floats
from .drawing import ABOVE, COLOURS, finished, grouped_numbers, light_grid, logarithmic, one_panel, plain_numbers
from .naming import rank_names, ranked_modes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..fit import Fit

MOST_DOTS = 60
"""The largest number of steps that are all marked."""

AGAINST = {"iteration": "iteration", "seconds": "seconds since the last run began"}
"""The quantities on the horizontal axis, with its name."""


def convergence(
    fit: Fit, ax: Axes | None = None, *, against: str = "iteration", file: str | PathLike[str] | None = None
) -> Axes:
    """Draw the objective of the final run, and F_tau, the function that decreases at every step.

    A filled dot is a step from an extrapolated point, a hollow one a step from the last point itself. With more than 60
    steps only the rarer kind has dots. The vertical axis is logarithmic if the values vary by more than a factor of
    ten. Values that are not finite are left out. A run without extrapolated steps has no dots, and a method whose
    objective decreases at every step has one line.

    Parameters
    ----------
    fit
        The fit.
    ax
        The axes to draw on; by default a new figure.
    against
        ``"iteration"`` or ``"seconds"``.
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
    choice(against, "against", AGAINST)
    panel = one_panel(ax)
    history = fit.history
    across = history[against]
    lines = {name: _finite(history[column]) for name, column in (("objective", "objective"), ("F_tau", "f_tau"))}
    lines = {name: values for name, values in lines.items() if not np.isnan(values).all()}
    if len(lines) == 2 and np.array_equal(lines["objective"], lines["F_tau"], equal_nan=True):
        # For a method whose objective decreases at every step, there is no other function to draw.
        del lines["F_tau"]
    # F_tau almost equals the objective near the end: the thick line behind shows where the thin one covers it.
    for name, values in lines.items():
        first = name == "objective"
        panel.plot(
            across,
            values,
            color=COLOURS[0 if first else 1],
            linewidth=3.5 if first and len(lines) == 2 else 1.5,
            alpha=0.45 if first and len(lines) == 2 else 1.0,
            label="objective" if first else "$F_\\tau$ (falls at every step)",
        )
    if lines and history["momentum"].any():
        _mark_steps(panel, across, list(lines.values())[-1], history["momentum"])
    if logarithmic(np.concatenate([*lines.values(), np.zeros(0)])):
        panel.set_yscale("log")
        plain_numbers(panel.yaxis)
    else:
        grouped_numbers(panel.yaxis)
    _number_iterations(panel, across, against)
    panel.set_ylabel("objective")
    if lines:
        panel.legend(ncols=2, **ABOVE)
    else:
        panel.set_title("no finite objective was recorded", fontsize=9, loc="left")
    return finished(panel, file)


def ranks(
    fit: Fit, ax: Axes | None = None, *, against: str = "iteration", file: str | PathLike[str] | None = None
) -> Axes:
    """Draw the ranks over the iterations of the final run: one for each regularised mode, or that of a CP model.

    Parameters
    ----------
    fit
        The fit. If the answer contains a smooth field, these are the ranks of the low-rank part. If all ranks are 0,
        the figure says so.
    ax
        The axes to draw on; by default a new figure.
    against
        ``"iteration"`` or ``"seconds"``.
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
    choice(against, "against", AGAINST)
    panel = one_panel(ax, (6.0, 3.2))
    from matplotlib.ticker import MaxNLocator

    across = fit.history[against]
    table = np.array([record.ranks for record in fit.history], dtype=np.float64).reshape(len(across), -1)
    names = rank_names(fit.recipe.labels_within(fit.labels), ranked_modes(fit), table.shape[1])
    for place, column in enumerate(table.T):
        # Modes often have the same rank: the later ones are thinner, so that the earlier ones are visible behind them.
        width = 1.4 + 1.8 * (table.shape[1] - 1 - place)
        panel.step(across, column, where="post", color=COLOURS[place % len(COLOURS)], linewidth=width)
        panel.lines[-1].set(label=names[place], solid_capstyle="butt")
    panel.set_ylabel("rank")
    panel.yaxis.set_major_locator(MaxNLocator("auto", integer=True))
    panel.set_ylim(0, 1.1 * table.max(initial=0) + 0.5)
    _number_iterations(panel, across, against)
    if table.size:
        panel.legend(ncols=3, **ABOVE)
    if not table.any():
        said = "all ranks are 0: nothing of low rank was found"
        panel.text(0.5, 0.5, said, transform=panel.transAxes, ha="center", va="center", color="0.35", fontsize=9)
    return finished(panel, file)


def _mark_steps(panel: Axes, across: NDArray[Any], values: Floats, extrapolated: NDArray[np.bool_]) -> None:
    """Draw a dot for each step, filled if it started from an extrapolated point; of many steps only the rarer kind."""
    steps = np.arange(len(across)) > 0
    many, rarer = len(across) > MOST_DOTS, 2 * int(extrapolated[steps].sum()) < int(steps.sum())
    for kind, name, filling in (
        (True, "extrapolated step", COLOURS[1]),
        (False, "plain step", "white"),
    ):
        # The first record is the starting point, not a step.
        chosen = steps & (extrapolated == kind)
        if chosen.any() and not (many and kind != rarer):
            (dots,) = panel.plot(across[chosen], values[chosen], "o", color=COLOURS[1], label=name, zorder=3)
            dots.set(markersize=5.0, markerfacecolor=filling, markeredgewidth=1.0)


def _number_iterations(panel: Axes, across: NDArray[Any], against: str) -> None:
    from matplotlib.ticker import MaxNLocator

    panel.set_xlabel(AGAINST[against])
    if against == "iteration":
        panel.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    last = float(across[-1]) if len(across) else 0.0
    panel.set_xlim(-0.02 * last - (last == 0.0), 1.02 * last + (last == 0.0))
    light_grid(panel)


def _finite(values: NDArray[Any]) -> Floats:
    """Return values with NaN, which is not drawn, in place of infinite ones."""
    return np.where(np.isfinite(values.astype(np.float64)), values, math.nan)
