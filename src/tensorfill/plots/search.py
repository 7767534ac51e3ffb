"""What a search for the regularisation tried."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from .._support.types import Floats
from .drawing import COLOURS, MARKERS, OUTSIDE, drawing_class, plain_numbers, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..selection import Path, PathPoint


def path(path: Path, ax: Sequence[Axes] | None = None, *, file: str | PathLike[str] | None = None) -> list[Axes]:
    """Draw what a search for the regularisation tried: the errors above, and below them the ranks.

    The cut, the singular value below which everything is dropped, falls from left to right, as in the search. Each
    q = theta / cut has its colour, and a line of its own for each way to share lambda among the modes: solid for the
    error on held-out entries, dashed for that on the entries that were fitted. The point with the least held-out error
    is marked by a star. The lower panel shows the rank of each mode along the line of that point. An error that is
    zero or not finite has no place on these axes and is left out, and the title says so.

    Parameters
    ----------
    path
        The regularisations that were tried, as `Fit.path` holds them.
    ax
        The two axes to draw on, for the errors and for the ranks; a new drawing is made if none are given.
    file
        Where to write the drawing as PNG, if anywhere; an error leaves what stood there as it was.

    Returns
    -------
    list of matplotlib.axes.Axes
        That of the errors and that of the ranks; ``axes[0].figure`` is the whole drawing.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    points = () if path is None else tuple(path)
    if not points:
        raise ValueError(
            "path must hold at least one point, but it has none; a fit with lam='auto' has a path to draw."
        )
    upper, lower = _two_panels() if ax is None else _given_panels(ax)
    lines = _lines(points)
    known = [point for point in points if not math.isnan(point.held_out)] or points
    best = min(known, key=lambda point: point.held_out)
    chosen = next(name for name, line in lines.items() if best in line)
    _draw_errors(upper, lines, best)
    _draw_ranks(lower, lines[chosen], chosen)
    for panel in (upper, lower):
        panel.set_xscale("log")
        panel.set_xlim(*_from_left_to_right(points))
        plain_numbers(panel.xaxis)
        if best.held_out < math.inf:
            panel.axvline(best.cut, color="0.6", linewidth=0.8, zorder=0)
        panel.grid(True, color="0.92", linewidth=0.6)
        panel.set_axisbelow(True)
    save(upper, file)
    return [upper, lower]


def _two_panels() -> tuple[Axes, Axes]:
    """Return the axes of a new drawing: a high one, and a low one that shares its horizontal axis."""
    figure = drawing_class()(figsize=(8.0, 6.0), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    return upper, lower


def _given_panels(ax: Sequence[Axes]) -> tuple[Axes, Axes]:
    panels = tuple(np.ravel(np.asarray(ax, dtype=object)))
    if len(panels) != 2:
        raise ValueError(
            f"ax must be two axes, for the errors and for the ranks, but {len(panels)} was given; "
            "figure.subplots(2, 1, sharex=True) makes two."
        )
    upper, lower = panels
    return upper, lower


def _lines(points: Sequence[PathPoint]) -> dict[str, list[PathPoint]]:
    """Return the points of each line, from the largest cut down, under words that tell the lines apart."""
    described = [_described(point) for point in points]
    # What all points have in common is not said, but for q.
    told = [place for place, words in enumerate(zip(*described, strict=True)) if place == 0 or len(set(words)) > 1]
    lines: dict[str, list[PathPoint]] = {}
    for point, words in zip(points, described, strict=True):
        lines.setdefault(", ".join(words[place] for place in told if words[place]), []).append(point)
    return {name: sorted(line, key=lambda point: -point.cut) for name, line in lines.items()}


def _described(point: PathPoint) -> tuple[str, str, str, str]:
    """Return what a point has in common with its line: q, modes, unequal shares of lambda, and what was taken off."""
    shares = getattr(point, "shares", None)
    with np.errstate(invalid="ignore"):
        parts = np.atleast_1d(np.asarray(point.lam if shares is None else shares, dtype=np.float64))
        parts = parts / (parts.sum() or 1.0)
    equal = np.allclose(parts, parts[0], rtol=1e-6, equal_nan=True)
    return (
        f"q = {point.q:.3g}",
        "modes " + ", ".join(map(str, point.modes)),
        "" if equal else "shares " + " : ".join(f"{part:.2g}" for part in parts),
        "centred" if getattr(point, "centred", False) else "",
    )


def _from_left_to_right(points: Sequence[PathPoint]) -> tuple[float, float]:
    """Return the largest and the smallest cut, with some room on either side."""
    cuts = [point.cut for point in points if 0 < point.cut < math.inf] or [1.0]
    room = max((max(cuts) / min(cuts)) ** 0.05, 1.2)
    return max(cuts) * room, min(cuts) / room


def _draw_errors(panel: Axes, lines: Mapping[str, Sequence[PathPoint]], best: PathPoint) -> None:
    hidden = 0
    every_q = list(dict.fromkeys(line[0].q for line in lines.values()))
    for number, (name, line) in enumerate(lines.items()):
        cuts = [point.cut for point in line]
        colour, marker = COLOURS[every_q.index(line[0].q) % len(COLOURS)], MARKERS[number % len(MARKERS)]
        held_out, training = (_shown([getattr(point, part) for point in line]) for part in ("held_out", "training"))
        hidden += int(np.isnan(held_out).sum() + np.isnan(training).sum())
        panel.plot(cuts, held_out, color=colour, marker=marker, markersize=5, linewidth=1.6, label=name)
        panel.plot(cuts, training, color=colour, linestyle="--", marker=marker, markersize=3, linewidth=1.0)
    if 0 < best.held_out < math.inf:
        (star,) = panel.plot([best.cut], [best.held_out], "*", color="#F0E442", label="least held-out error")
        star.set(markersize=15, markeredgecolor="black", zorder=4)
    panel.plot([], [], color="0.3", label="held-out entries")
    panel.plot([], [], color="0.3", linestyle="--", label="fitted entries")
    panel.set_yscale("log")
    plain_numbers(panel.yaxis)
    panel.set_ylabel("error")
    panel.set_title("Error along the path" + (f" ({hidden} that are zero or not finite left out)" if hidden else ""))
    panel.legend(**OUTSIDE)


def _draw_ranks(panel: Axes, line: Sequence[PathPoint], name: str) -> None:
    from matplotlib.ticker import MaxNLocator

    modes = sorted({mode for point in line for mode in point.modes})
    cuts = [point.cut for point in line]
    for place, mode in enumerate(modes):
        ranks = [dict(zip(point.modes, point.ranks, strict=True)).get(mode, math.nan) for point in line]
        # Modes often have the same rank: the later ones are thinner, so that the earlier ones show behind them.
        width = 1.5 + 1.8 * (len(modes) - 1 - place)
        colour = COLOURS[(-2 - place) % len(COLOURS)]
        panel.step(cuts, ranks, where="post", color=colour, linewidth=width, label=f"mode {mode}")
        panel.plot(
            cuts, ranks, linestyle="none", marker=MARKERS[place % len(MARKERS)], color=colour, markersize=width + 3
        )
    panel.set_ylabel("rank")
    panel.yaxis.set_major_locator(MaxNLocator("auto", integer=True))
    panel.set_ylim(0, 1.1 * max(max(point.ranks, default=0) for point in line) + 0.5)
    panel.set_xlabel("cut: the singular value below which everything is dropped")
    legend = panel.legend(title=f"ranks at {name}", **OUTSIDE)
    legend.set_alignment("left")


def _shown(errors: Sequence[float]) -> Floats:
    """Return errors with NaN, which is not drawn, for those that have no logarithm."""
    values = np.array(errors, dtype=np.float64)
    return np.where((values > 0) & np.isfinite(values), values, np.nan)
