"""The trials of a search for settings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.types import Floats
from ..labels import Labels
from .drawing import COLOURS, MARKERS, OUTSIDE, Panels, drawing_class, finished, given_panels, plain_numbers, words
from .naming import method_name, rank_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..choosing.search.base import Path, PathPoint

FALLING = ("cut", "lam")
"""Settings that a search lowers; they are drawn on a logarithmic axis, decreasing from left to right."""

AXIS_NAMES = {"cut": "cut: the singular value threshold", "lam": "lambda"}
"""Labels of the horizontal axis for settings with short names."""

TRIAL = "trial"
"""The horizontal axis if no setting varies in all trials: the number of the trial."""


def path(
    path: Path,
    ax: Sequence[Axes] | None = None,
    *,
    labels: Labels | None = None,
    file: str | PathLike[str] | None = None,
) -> list[Axes]:
    """Draw the trials of a search: the errors above, and the ranks below.

    The horizontal axis is the first setting that the search varied. For NORT it is the cut, the singular value
    threshold, which decreases from left to right as in the search; a rank increases. Trials that differ in other
    respects, such as q = theta / cut or the regularised modes, are separate lines: solid for the error on held-out
    entries, dashed for that on the fitted entries. A star marks the lowest held-out error. The lower panel shows the
    ranks along the line of the star or, if the horizontal axis is the rank, the seconds of each trial. If several
    methods were tried, each has two panels. An error that is zero or not finite is left out, and the title says so.

    Parameters
    ----------
    path
        The trials, as in `Fit.path`.
    ax
        The axes to draw on, two for each method: for the errors and for the ranks. By default a new figure.
    labels
        The names of the modes, as in `Fit.labels`; without them modes are numbered.
    file
        The PNG file to write, if any; an error leaves an existing file unchanged.

    Returns
    -------
    list of matplotlib.axes.Axes
        The panels of the errors and of the ranks, for each method in turn; ``axes[0].figure`` is the whole figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    points = () if path is None else tuple(path)
    if not points:
        raise ValueError("path must hold at least one trial, but it has none; a fit with chosen settings has a path.")
    methods = by_method(points)
    count = 2 * len(methods)
    panels = _new_panels(len(methods)) if ax is None else given_panels(ax, count, "two for each method, errors first")
    best = _best(points)
    for place, (name, own) in enumerate(methods.items()):
        trials = TrialLines.of(own, labels)
        heading = "Error along the path" if len(methods) == 1 else f"{name} (best)" if trials.best is best else name
        _draw(trials, panels[2 * place], panels[2 * place + 1], heading)
        # New panels share their vertical axis, so its ticks depend on the errors of all methods.
        plain_numbers(panels[2 * place].yaxis, _shown([error for each in points for error in _errors(each)]))
    return finished(Panels(panels), file)


def by_method(points: Iterable[PathPoint]) -> dict[str, list[PathPoint]]:
    """Return the trials of each method, by its name in words."""
    found: dict[str, list[PathPoint]] = {}
    for point in points:
        found.setdefault(method_name(point.method), []).append(point)
    return found


@dataclass(frozen=True, eq=False)
class TrialLines:
    """The trials of one method, as they are drawn.

    Parameters
    ----------
    setting
        The setting on the horizontal axis.
    lines
        The trials of each line, from left to right, by the name of the line.
    across
        The position of each trial on the horizontal axis, by its id.
    best
        The trial with the lowest held-out error.
    labels
        The names of the modes, if they are known.
    """

    setting: str
    lines: Mapping[str, Sequence[PathPoint]]
    across: Mapping[int, float]
    best: PathPoint
    labels: Labels | None

    @classmethod
    def of(cls, points: Sequence[PathPoint], labels: Labels | None) -> TrialLines:
        """Return the trials of one method, in lines."""
        setting = next((name for point in points for name in point.tried), TRIAL)
        if not all(setting in point.tried for point in points):
            setting = TRIAL
        across = {id(point): float(point.tried.get(setting, number)) for number, point in enumerate(points, 1)}
        sign = -1 if setting in FALLING else 1
        lines = {
            name: sorted(line, key=lambda point: sign * across[id(point)])
            for name, line in _lines(points, setting, labels).items()
        }
        return cls(setting, lines, across, _best(points), labels)

    @property
    def is_falling(self) -> bool:
        """Whether the horizontal axis decreases from left to right, on a logarithmic scale."""
        return self.setting in FALLING

    @property
    def best_line(self) -> str:
        """The name of the line that has the best trial."""
        return next(name for name, line in self.lines.items() if any(point is self.best for point in line))

    def places(self, line: Sequence[PathPoint]) -> list[float]:
        """Return the position of each trial of a line on the horizontal axis."""
        return [self.across[id(point)] for point in line]


def _best(points: Sequence[PathPoint]) -> PathPoint:
    known = [point for point in points if not math.isnan(point.held_out)] or points
    return min(known, key=lambda point: point.held_out)


def _lines(points: Sequence[PathPoint], setting: str, labels: Labels | None) -> dict[str, list[PathPoint]]:
    """Return the trials of each line, by a name that distinguishes it from the other lines."""
    widest = len({mode for point in points for mode in point.modes})
    described = [_described(point, setting, widest, labels) for point in points]
    # What all trials have in common is left out, except q, which describes the penalty.
    said = [
        name
        for name in dict.fromkeys(name for own in described for name in own)
        if name == "q" or len({own.get(name) for own in described}) > 1
    ]
    lines: dict[str, list[PathPoint]] = {}
    for point, own in zip(points, described, strict=True):
        name = ", ".join(own[each] for each in said if own.get(each))
        lines.setdefault(name, []).append(point)
    return lines


def _described(point: PathPoint, setting: str, widest: int, labels: Labels | None) -> dict[str, str]:
    """Return what a trial has in common with its line, as texts by name.

    Modes are named if there are fewer of them than `widest`, because some were left out.
    """
    said = {name: f"{name} = {value:.3g}" for name, value in point.tried.items() if name != setting}
    if point.penalty is not None:
        said["penalty"] = type(point.penalty).__name__
    said["modes"] = _modes(point.modes, labels) if 0 < len(point.modes) < widest else ""
    said["weights"] = _weights(point.lam)
    said["before"] = ", ".join(point.before)
    said["mu"] = f"graphs {point.mu:.3g}" if point.mu else ""
    return said


def _modes(modes: Sequence[int], labels: Labels | None) -> str:
    called = [mode if labels is None else labels.called(mode) for mode in modes]
    names = [words(name) if isinstance(name, str) else str(name) for name in called]
    return f"{'mode' if len(names) == 1 else 'modes'} {', '.join(names)}"


def _weights(lam: Sequence[float]) -> str:
    """Return how lambda is shared among the modes, if unequally."""
    total = sum(lam)
    if not total or not math.isfinite(total) or np.allclose(lam, lam[0], rtol=1e-6):
        return ""
    return "weights " + " : ".join(f"{each / total:.2g}" for each in lam)


def _new_panels(methods: int) -> tuple[Axes, ...]:
    """Return the axes of a new figure: for each method a high panel, and a low one with the same horizontal axis."""
    figure = drawing_class()(figsize=(8.0 if methods == 1 else 6.4 * methods, 6.0), layout="constrained")
    grid = figure.subplots(2, methods, sharex="col", squeeze=False, height_ratios=(2, 1))
    for upper in grid[0, 1:]:
        # A shared axis makes the errors of several methods comparable.
        upper.sharey(grid[0, 0])
    return tuple(grid.T.ravel())


def _draw(trials: TrialLines, upper: Axes, lower: Axes, heading: str) -> None:
    """Draw the trials of one method."""
    _draw_errors(upper, trials, heading)
    if trials.setting == "rank":
        _draw_seconds(lower, trials)
    else:
        _draw_ranks(lower, trials)
    lower.set_xlabel(AXIS_NAMES.get(trials.setting, trials.setting))
    for panel in (upper, lower):
        _set_horizontal_axis(panel, trials)
        if trials.best.held_out < math.inf:
            panel.axvline(trials.across[id(trials.best)], color="0.6", linewidth=0.8, zorder=0)
        panel.grid(True, color="0.92", linewidth=0.6)
        panel.set_axisbelow(True)


def _set_horizontal_axis(panel: Axes, trials: TrialLines) -> None:
    from matplotlib.ticker import MaxNLocator

    places = np.array(list(trials.across.values()))
    if trials.is_falling:
        positive = places[(places > 0) & np.isfinite(places)] if places.max(initial=0) > 0 else np.ones(1)
        room = max((positive.max() / positive.min()) ** 0.05, 1.2)
        panel.set_xscale("log")
        panel.set_xlim(positive.max() * room, positive.min() / room)
        plain_numbers(panel.xaxis)
        return
    room = max(0.05 * float(np.ptp(places)), 0.5)
    panel.set_xlim(places.min() - room, places.max() + room)
    if not (places % 1).any():
        panel.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))


def _draw_errors(panel: Axes, trials: TrialLines, heading: str) -> None:
    hidden = 0
    colours = _colours(trials)
    for number, (name, line) in enumerate(trials.lines.items()):
        style: dict[str, Any] = {"color": colours[name], "marker": MARKERS[number % len(MARKERS)]}
        held_out, training = (_shown(errors) for errors in zip(*map(_errors, line), strict=True))
        hidden += int(np.isnan(held_out).sum() + np.isnan(training).sum())
        panel.plot(trials.places(line), held_out, markersize=5, linewidth=1.6, label=name or None, **style)
        panel.plot(trials.places(line), training, linestyle="--", markersize=3, linewidth=1.0, **style)
    best = trials.best
    if 0 < best.held_out < math.inf:
        (star,) = panel.plot([trials.across[id(best)]], [best.held_out], "*", label="lowest held-out error")
        star.set(color="#F0E442", markersize=15, markeredgecolor="black", zorder=4)
    key = "0.3" if len(colours) > 1 else next(iter(colours.values()))
    panel.plot([], [], color=key, label="held-out entries")
    panel.plot([], [], color=key, linestyle="--", label="fitted entries")
    panel.set_yscale("log")
    panel.set_ylabel("error")
    panel.set_title(heading + (f" ({hidden} that are zero or not finite left out)" if hidden else ""))
    panel.legend(**OUTSIDE)


def _colours(trials: TrialLines) -> dict[str, str]:
    """Return the colour of each line; lines with the same q share theirs."""
    kinds = {name: line[0].tried.get("q", name) for name, line in trials.lines.items()}
    order = list(dict.fromkeys(kinds.values()))
    return {name: COLOURS[order.index(kind) % len(COLOURS)] for name, kind in kinds.items()}


def _draw_ranks(panel: Axes, trials: TrialLines) -> None:
    from matplotlib.ticker import MaxNLocator

    line = trials.lines[trials.best_line]
    places = trials.places(line)
    # A line may have trials with other modes, if these are all that differs.
    names = [rank_names(trials.labels, point.modes, len(point.ranks)) for point in line]
    every = list(dict.fromkeys(name for own in names for name in own))
    for number, name in enumerate(every):
        pairs = zip(names, line, strict=True)
        ranks = [dict(zip(own, point.ranks, strict=True)).get(name, math.nan) for own, point in pairs]
        # Modes often have the same rank: the later ones are thinner, so that the earlier ones are visible behind them.
        width = 1.5 + 1.8 * (len(every) - 1 - number)
        colour, marker = COLOURS[(-2 - number) % len(COLOURS)], MARKERS[number % len(MARKERS)]
        panel.step(places, ranks, where="post", linewidth=width, label=name, color=colour)
        panel.plot(places, ranks, linestyle="none", marker=marker, markersize=width + 3, color=colour)
    panel.set_ylabel("rank")
    panel.yaxis.set_major_locator(MaxNLocator("auto", integer=True))
    panel.set_ylim(0, 1.1 * max(max(point.ranks, default=0) for point in line) + 0.5)
    if every:
        title = f"ranks at {trials.best_line}" if trials.best_line else "ranks"
        panel.legend(title=title, **OUTSIDE).set_alignment("left")


def _draw_seconds(panel: Axes, trials: TrialLines) -> None:
    colours = _colours(trials)
    for number, (name, line) in enumerate(trials.lines.items()):
        seconds = [point.seconds for point in line]
        panel.plot(trials.places(line), seconds, color=colours[name], marker=MARKERS[number % len(MARKERS)])
    panel.set_ylabel("seconds")
    panel.set_ylim(bottom=0)


def _errors(point: PathPoint) -> tuple[float, float]:
    return point.held_out, point.training


def _shown(errors: Sequence[float]) -> Floats:
    """Return errors with NaN, which is not drawn, for those without a logarithm."""
    values = np.array(errors, dtype=np.float64)
    return np.where((values > 0) & np.isfinite(values), values, np.nan)
