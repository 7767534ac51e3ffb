"""Pictures of finished runs: curves by iteration or time, and errors against what was varied."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .experiment import Finished

Panel = tuple[str, str]
"""What is drawn against what, by the names of a run's curves."""

COLOURS, LINES = 10, ("-", "--", ":")
"""The colours that can be told apart, each in several kinds of line."""

LEGEND_INCHES = 1.3
"""The room beside the panels for the names of the methods."""

LABELS = {
    "iteration": "iteration",
    "seconds": "CPU seconds",
    "objective": "objective",
    "rmse": "RMSE at some test entries",
}


def draw_curves(figure: Figure, runs: Sequence[Finished], data: Sequence[str], panels: Sequence[Panel]) -> None:
    """Draw the curves of the first run of each method: a row of panels for each kind of data that has any."""
    with_curves = [run for run in runs if "curves" in run.measured]
    shown = [name for name in data if any(run.data == name for run in with_curves)]
    if not shown:
        return
    figure.set_size_inches(5 * len(panels) + LEGEND_INCHES, 3.6 * len(shown))
    axes = figure.subplots(len(shown), len(panels), squeeze=False)
    styles = styles_of([run.method for run in with_curves if run.data in shown])
    for row, name in zip(axes, shown, strict=True):
        here = [run for run in with_curves if run.data == name]
        for ax, (x, y) in zip(row, panels, strict=True):
            for method in dict.fromkeys(run.method for run in here):
                curves = next(run for run in here if run.method == method).measured["curves"]
                ax.plot(curves[x], curves[y], label=method, linewidth=1.4, **styles[method])
            ax.set(xlabel=LABELS.get(x, x), ylabel=LABELS.get(y, y), yscale="log", title=name)
            if x == "seconds":
                ax.set_xscale("log")
    lines = {line.get_label(): line for row in axes for line in row[0].get_lines()}
    figure.legend([lines[method] for method in styles], list(styles), loc="outside right upper", fontsize=8)


def styles_of(lines: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return a colour and a kind of line by name, in order, the same in all panels."""
    return {
        name: {"color": f"C{number % COLOURS}", "linestyle": LINES[number // COLOURS]}
        for number, name in enumerate(sorted(set(lines)))
    }


def draw_against(
    ax: Axes,
    runs: Sequence[Finished],
    x: Callable[[Finished], float],
    line: Callable[[Finished], str],
    styles: Mapping[str, Mapping[str, Any]],
    label: str,
) -> None:
    """Draw the mean error of the runs that share an x, with a line for each kind of run."""
    done = [run for run in runs if "rmse" in run.measured]
    for name, style in styles.items():
        here = [run for run in done if line(run) == name]
        if not here:
            continue
        places = sorted({x(run) for run in here})
        errors = [statistics.mean(run.measured["rmse"] for run in here if x(run) == place) for place in places]
        ax.plot(places, errors, marker="o", markersize=4, label=name, **style)
    # Methods that fail have a thousand times the error of the others.
    ax.set(xlabel=label, ylabel="test RMSE", yscale="log")
    if done:
        # Inside, it would hide lines.
        ax.legend(fontsize=7, loc="upper left", bbox_to_anchor=(0, -0.15), ncols=2, frameon=False)
