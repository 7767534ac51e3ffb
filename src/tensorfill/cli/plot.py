"""``tensorfill plot``: a picture of a model's search, or of slices of data."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .._support.moments import written_label
from .command import Command
from .options import add_reading, is_model, read_given
from .output import show_facts
from .outputs import check_outputs

if TYPE_CHECKING:
    from .._support.types import Floats
    from ..fit import Fit
    from ..labels import Labelled
    from ..observations import Observations

PANELS = 4
"""The largest number of slices in the figure."""

MOST_CELLS = 400
"""Slices with more rows or columns are drawn as means over boxes of entries."""

SPARSE = 0.05
"""If less than this share was observed, a single slice shows nothing, and the mean over all slices is drawn."""

ENTRIES_A_CELL = 2
"""The approximate number of entries in each cell, for sparse data."""

ENDS = 2.0, 98.0
"""Percentiles of the data that are drawn black and white, so that single large values do not darken the rest."""


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a model, or data")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="PNG", help="the picture to write, as PNG")
    parser.add_argument("--convergence", action="store_true", help="for a model: its iterations instead of its search")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors and warnings")
    add_reading(parser)


def _run(given: argparse.Namespace) -> int:
    check_outputs({"--output": given.output}, [given.file, given.mask])
    from ..plots import drawing_class

    drawing_class()
    if is_model(given.file):
        what = _draw_model(given)
    elif given.convergence:
        raise ValueError(f"--convergence is for models, but {given.file} is data; leave it out.")
    else:
        what = _draw_slices(read_given(given, given.file), given.output)
    if not given.quiet:
        show_facts([("drawn", what), ("written", str(given.output))])
    return 0


def _draw_model(given: argparse.Namespace) -> str:
    from ..fit import load
    from ..plots import path

    fit = load(given.file)
    if fit.path is None or given.convergence:
        _draw_convergence(fit, given.output)
        return f"objective and ranks of {fit.history[-1].iteration} iterations"
    path(fit.path, file=given.output)
    return f"errors and ranks of {len(fit.path)} trials"


def _draw_convergence(fit: Fit, path: Path) -> None:
    """Draw the objective above and the ranks below, over the iterations."""
    from ..plots import convergence, drawing_class, ranks

    figure = drawing_class()(figsize=(8.0, 6.0), layout="constrained")
    upper, lower = figure.subplots(2, 1, height_ratios=(2, 1))
    convergence(fit, upper)
    ranks(fit, lower, file=path)


def _draw_slices(data: Labelled, path: Path) -> str:
    """Draw some slices, on a common scale."""
    from ..plots import side_by_side

    seen = data.observations
    if seen.ndim == 3 and seen.shape[2] == 3 and data.labels.names[2] == "colour":
        side_by_side({f"{seen.shape[0]} x {seen.shape[1]}": seen.to_dense() / 255.0}, path)
        return "the picture"
    rows, columns = sorted(np.argsort(seen.shape, kind="stable")[-2:].tolist())
    most = MOST_CELLS
    if seen.density < SPARSE:
        most = min(most, math.ceil(math.sqrt(len(seen) / ENTRIES_A_CELL)))
    grids = {title: _grid(part, rows, columns, most) for title, part in _slices(data, rows, columns)}
    low, high = np.nanpercentile(np.stack(list(grids.values())), ENDS)
    side_by_side({title: (grid - low) / ((high - low) or 1.0) for title, grid in grids.items()}, path)
    names = data.labels.names
    count = "1 slice" if len(grids) == 1 else f"{len(grids)} slices"
    return f"{count}, {names[rows]} down and {names[columns]} across, dark {low:.4g} to light {high:.4g}"


def _slices(data: Labelled, rows: int, columns: int) -> list[tuple[str, Observations]]:
    """Return slices with their titles, spread along the largest other mode; others are at their fullest index."""
    seen, labels = data.observations, data.labels
    others = [mode for mode in range(seen.ndim) if mode not in (rows, columns)]
    title = f"{labels.names[rows]} x {labels.names[columns]}"
    if not others or seen.density < SPARSE:
        return [(title if not others else f"{title}, mean over the rest", seen)]
    along = max(others, key=lambda mode: seen.shape[mode])
    for mode in others:
        if mode != along:
            fullest = int(np.bincount(seen.coords[:, mode]).argmax())
            seen = seen.select(seen.coords[:, mode] == fullest)
    there = np.unique(seen.coords[:, along])
    chosen = there[np.unique(np.linspace(0, len(there) - 1, PANELS).round().astype(int))]
    keys = labels.keys[along]
    return [
        (
            f"{labels.names[along]} {index if keys is None else written_label(keys[index])}",
            seen.select(seen.coords[:, along] == index),
        )
        for index in chosen
    ]


def _grid(seen: Observations, rows: int, columns: int, most: int) -> Floats:
    """Return the mean of the observed entries in each cell of a grid, NaN in cells without any."""
    sizes = [min(seen.shape[mode], most) for mode in (rows, columns)]
    cells = [
        seen.coords[:, mode].astype(np.int64) * size // seen.shape[mode]
        for mode, size in zip((rows, columns), sizes, strict=True)
    ]
    place = cells[0] * sizes[1] + cells[1]
    total = np.bincount(place, weights=seen.values, minlength=sizes[0] * sizes[1])
    count = np.bincount(place, minlength=sizes[0] * sizes[1])
    with np.errstate(invalid="ignore"):
        return (total / np.where(count, count, np.nan)).reshape(sizes)


COMMAND = Command(
    "draw a model's search and convergence, or slices of data",
    _options,
    _run,
    usage="FILE -o PNG",
    details="""
    A model is drawn as the errors and ranks of its trials, or with --convergence as its iterations. Data is drawn as up
    to four slices, its two largest modes down and across, with missing entries in grey. Very sparse data is drawn as
    the mean over all slices.
    """,
    examples=(
        "tensorfill plot rain.npz -o search.png",
        "tensorfill plot rain.npz -o iterations.png --convergence",
        "tensorfill plot parking.mat --missing zero -o slices.png",
    ),
)
"""The subcommand."""
