"""Entries that do not go missing at random: whole slices, blocks, text on pictures, values that depend on others.

    python experiments/missing_patterns.py
    python experiments/missing_patterns.py bands-cave blocks-birmingham --seeds 3
    python experiments/missing_patterns.py fibres-birmingham --max-rank 10 --refine

Every case hides known entries, and every number is of exactly these: the root mean square error of `complete(data)`
with nothing else given, unless --refine or --max-rank is, the share of them within the 90% intervals, the mean width of
these intervals (infinite ones apart, whose share is printed), and the CPU seconds.

Cases
    bands-cave, bands-pines: a third of the bands of a hyper-spectral image, and 10 of 200, have no entry.
    stations-birmingham, stations-ushcn: 5 of 30 car parks and 10 of 108 stations have no entry.
    blocks-birmingham, blocks-nyc: sensors are silent for 2 to 40 hours, one or several at once; about 30% missing.
    fibres-birmingham: 30% of the days of a car park are hidden whole.
    text-tree, text-facade, text-crater, text-windows: text over a picture, about 6% of its pixels; text-tree-400 is the
    first enlarged to 400 x 400.
    odds-ushcn, odds-birmingham: entries go missing more often where another variable, or the hour before, is large.

Baselines
    mean: the mean of all other slices at the same place, where whole slices are missing; else the mean of the data.
    linear: interpolation along the mode whose slices or blocks are missing; for text, scikit-image's biharmonic.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from data import DataMissing, climate, hyperspectral, image, traffic
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import tensorfill
from tensorfill.metrics import rmse

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Case:
    """Data, what is hidden of it, and the mode along which a baseline interpolates.

    Parameters
    ----------
    load
        Returns the tensor, with NaN where it is not known.
    hide
        Returns which entries to hide.
    along
        The mode of interpolation; None for pictures.
    whole
        Whether whole slices of that mode are hidden.
    """

    load: Callable[[], Array]
    hide: Callable[[Array, np.random.Generator], Mask]
    along: int | None
    whole: bool = False


def slices(mode: int, count: int) -> Callable[[Array, np.random.Generator], Mask]:
    """Return a rule that hides whole slices of a mode."""

    def hide(data: Array, rng: np.random.Generator) -> Mask:
        hidden = np.zeros(data.shape, dtype=bool)
        np.moveaxis(hidden, mode, 0)[rng.choice(data.shape[mode], count, replace=False)] = True
        return hidden

    return hide


def blocks(share: float, sensors: int) -> Callable[[Array, np.random.Generator], Mask]:
    """Return a rule that silences sensors, which are the first modes, for 2 to 40 steps of the others."""

    def hide(data: Array, rng: np.random.Generator) -> Mask:
        hidden = np.zeros(data.shape, dtype=bool)
        series = hidden.reshape(int(np.prod(data.shape[:sensors])), -1)
        while hidden.mean() < share:
            length, start = int(rng.integers(2, 41)), int(rng.integers(series.shape[1]))
            together = int(rng.choice([1, 1, 1, 3, 6]))
            series[rng.choice(len(series), together, replace=False), start : start + length] = True
        return hidden

    return hide


def fibres(share: float, along: int) -> Callable[[Array, np.random.Generator], Mask]:
    """Return a rule that hides a share of the fibres along a mode."""

    def hide(data: Array, rng: np.random.Generator) -> Mask:
        gone = rng.random([1 if mode == along else size for mode, size in enumerate(data.shape)]) < share
        return np.broadcast_to(gone, data.shape).copy()

    return hide


def enlarged(picture: Array, size: int) -> Array:
    """Return a picture enlarged to a square of this size, by cubic interpolation."""
    from PIL import Image

    return np.asarray(Image.fromarray(picture.astype(np.uint8)).resize((size, size), Image.Resampling.BICUBIC))


def text(data: Array, rng: np.random.Generator) -> Mask:
    """Return the pixels under lines of text."""
    from PIL import Image, ImageDraw, ImageFont

    rows, columns = data.shape[:2]
    page = Image.new("1", (columns, rows))
    draw = ImageDraw.Draw(page)
    letters = "the quick brown fox jumps over a lazy dog "
    for top in range(int(rng.integers(10)), rows, 56):
        start = int(rng.integers(len(letters)))
        draw.text((0, top), (letters[start:] + letters) * 2, fill=1, font=ImageFont.load_default(18))
    return np.repeat(np.asarray(page)[:, :, None], data.shape[2], axis=2)


def odds(mode: int, steps: int) -> Callable[[Array, np.random.Generator], Mask]:
    """Return a rule that hides an entry with odds that grow with the entry some steps before it along a mode."""

    def hide(data: Array, rng: np.random.Generator) -> Mask:
        before = np.roll(data, steps, axis=mode)
        others = tuple(range(1, data.ndim))
        # Relative to its own sensor, or the largest sensors would have hardly any entry left.
        scaled = before - np.nanmean(before, axis=others, keepdims=True)
        scaled /= np.nanstd(before, axis=others, keepdims=True)
        chance = 1 / (1 + np.exp(-(2.5 * np.nan_to_num(scaled) - 1.5)))
        return rng.random(data.shape) < chance

    return hide


CASES = {
    "bands-cave": Case(lambda: hyperspectral("cave")[::2, ::2], slices(2, 10), 2, whole=True),
    "bands-pines": Case(lambda: hyperspectral("indian-pines")[::2, ::2], slices(2, 10), 2, whole=True),
    "stations-birmingham": Case(lambda: traffic("birmingham"), slices(0, 5), 0, whole=True),
    "stations-ushcn": Case(lambda: climate("ushcn")[0][:, :360], slices(0, 10), 0, whole=True),
    "blocks-birmingham": Case(lambda: traffic("birmingham"), blocks(0.3, 1), 2),
    "blocks-nyc": Case(lambda: traffic("nyc")[:, :, :336], blocks(0.3, 2), 2),
    "fibres-birmingham": Case(lambda: traffic("birmingham"), fibres(0.3, 2), 2),
    "text-tree-400": Case(lambda: enlarged(image("tree"), 400), text, None),
    "text-tree": Case(lambda: image("tree"), text, None),
    "text-facade": Case(lambda: image("facade"), text, None),
    "text-crater": Case(lambda: image("crater"), text, None),
    "text-windows": Case(lambda: image("windows"), text, None),
    "odds-ushcn": Case(lambda: climate("ushcn")[0][:, :360], odds(2, 1), 1),
    "odds-birmingham": Case(lambda: traffic("birmingham"), odds(2, 1), 2),
}


def interpolated(data: Array, mode: int) -> Array:
    """Return data with gaps filled by linear interpolation along a mode, and by the mean where a fibre has nothing."""
    series = np.moveaxis(data, mode, 0).reshape(data.shape[mode], -1).copy()
    places = np.arange(len(series))
    for column in series.T:
        seen = ~np.isnan(column)
        column[~seen] = np.interp(places[~seen], places[seen], column[seen]) if seen.any() else np.nanmean(data)
    return np.moveaxis(series.reshape(np.moveaxis(data, mode, 0).shape), 0, mode)


def baselines(case: Case, data: Array, hidden: Mask) -> tuple[Array, Array]:
    """Return the hidden entries by the mean and by interpolation."""
    if case.along is None:
        from skimage.restoration import inpaint_biharmonic

        filled = inpaint_biharmonic(np.nan_to_num(data), np.ascontiguousarray(hidden[:, :, 0]), channel_axis=-1)
        return np.full(hidden.sum(), np.nanmean(data)), filled[hidden]
    mean = np.full(data.shape, np.nanmean(data))
    if case.whole:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            others = np.nanmean(data, axis=case.along, keepdims=True)
        mean = np.broadcast_to(np.where(np.isnan(others), np.nanmean(data), others), data.shape)
    return mean[hidden], interpolated(data, case.along)[hidden]


def run(name: str, seed: int, **settings: Any) -> list[str]:
    """Return the numbers of one case as text."""
    case = CASES[name]
    truth = case.load().astype(float)
    hidden = case.hide(truth, np.random.default_rng(seed)) & ~np.isnan(truth)
    data = np.where(hidden, np.nan, truth)
    mean, linear = baselines(case, data, hidden)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = tensorfill.complete(data, rng=seed, **settings)
    seconds = time.process_time() - began
    values = truth[hidden]
    predicted, low, high = fit.predict(np.argwhere(hidden), interval=0.9)
    bounded = np.isfinite(high - low)
    inside = (low <= values) & (values <= high)
    return [
        f"{name}-{seed}",
        f"{hidden.sum() / (~np.isnan(truth)).sum():.0%}",
        f"{rmse(np.zeros_like(values), values):.4g}",
        f"{rmse(mean, values):.4g}",
        f"{rmse(linear, values):.4g}",
        f"{rmse(predicted, values):.4g}",
        f"{fit.held_out_error:.4g}",
        f"{inside.mean():.3f}",
        f"{(high - low)[bounded].mean():.4g}" if bounded.any() else "-",
        f"{1 - bounded.mean():.0%}",
        f"{seconds:.1f}",
        f"{fit.method.name}; {fit.recipe.holdout}",
    ]


def main() -> None:
    """Run the cases that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=[], metavar="case", help=f"of {', '.join(CASES)}; all by default")
    parser.add_argument("--seeds", type=int, default=1, help="how often entries are hidden (default 1)")
    parser.add_argument("--refine", action="store_true", help="polish by least squares, if held-out entries gain")
    parser.add_argument("--max-rank", type=int, help="the largest rank of NORT, so that a polish is possible")
    given = parser.parse_args()
    settings: dict[str, Any] = {"refine": "tucker"} if given.refine else {}
    if given.max_rank is not None:
        settings |= {"max_rank": given.max_rank, "method": "nort"}
    console = Console(width=200)
    table = Table(
        "case", "hidden", "zero", "mean", "linear", "complete", "held out", "within 90%", "width", "infinite", "CPU s",
        "method; held out",
    )  # fmt: skip
    with threadpool_limits(1):
        for name in given.cases or CASES:
            for seed in range(given.seeds):
                try:
                    row = run(name, seed, **settings)
                except DataMissing as missing:
                    console.print(f"{name} skipped: {missing}")
                    break
                console.print(" | ".join(row))
                table.add_row(*row)
    console.print(table)


if __name__ == "__main__":
    main()
