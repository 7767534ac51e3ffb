"""Low rank, smoothness, or both: pictures at 5%, 10% and 50% of the pixels, and traffic.

    python experiments/smooth_modes.py image-facade-10 birmingham-70
    python experiments/smooth_modes.py --output smooth_modes.md

Every number is the root mean square error on the hidden entries, pictures from 0 to 255.

Columns
    low rank: `complete(data, smooth=None, rng=seed)`.
    smoothness: the smooth field alone on the modes that `smooth="auto"` considers, with the weights it gives them and
    the best stiffness of nine by the error on the hidden entries themselves, which no user has.
    complete: `complete(data, rng=seed)`, nothing else given.
    behind: complete / the better of the two before it.
    griddata: linear interpolation by `scipy.interpolate.griddata`, and the nearest value outside the hull; of pixels in
    pictures, of all three modes in Birmingham, and along the hours only in NYC, whose 900,000 points in three
    dimensions are too many for it.
    biharmonic: scikit-image's `inpaint_biharmonic`; pictures only.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from automatic_choice import Array, Case, Mask, all_cases, segments
from data import IMAGES, DataMissing, image
from rich.console import Console
from scipy.interpolate import griddata
from skimage.restoration import inpaint_biharmonic
from threadpoolctl import threadpool_limits

import tensorfill
from tensorfill.algebra.field import smooth_field
from tensorfill.choosing.stages.smooth_field import smooth_modes
from tensorfill.metrics import rmse
from tensorfill.observations import Observations

STIFFNESSES = 10.0 ** np.arange(2, -7, -1)
KEPT = {"5": 0.05, "10": 0.1, "50": 0.5}
TOO_MANY = 200_000
"""With more known entries than this, `griddata` works along the last mode only."""

HEADER = ["case", "low rank", "smoothness", "complete", "behind", "griddata", "biharmonic"]


def cases() -> dict[str, Case]:
    """Return every case by name: pictures by share of the pixels kept, and the traffic of `automatic_choice`."""
    pictures = [
        Case(f"image-{name}-{kept}", lambda name=name: image(name), segments(1 - share, 3))
        for name in IMAGES
        for kept, share in KEPT.items()
    ]
    records = [case for name, case in all_cases().items() if not name.startswith("image-")]
    return {case.name: case for case in [*pictures, *records]}


def low_rank(holes: Array, seed: int) -> Array:
    """Return what low rank alone makes of the data."""
    return tensorfill.complete(holes, smooth=None, rng=seed).to_dense()


def everything(holes: Array, seed: int) -> Array:
    """Return what the one call with nothing to tune makes of the data."""
    return tensorfill.complete(holes, rng=seed).to_dense()


def smoothness_alone(holes: Array, hidden: Mask, truth: Array) -> Array:
    """Return the smooth field of the stiffness that is best on the hidden entries."""
    seen = ~np.isnan(holes)
    weights = smooth_modes(Observations.from_dense(holes), "auto")
    middle = float(np.nanmean(holes))
    values = np.where(seen, holes - middle, 0.0)
    fields = [
        middle + smooth_field(values, seen, weights, float(stiffness)) for stiffness in (STIFFNESSES if weights else ())
    ]
    return min(fields, key=lambda field: rmse(field[hidden], truth), default=np.full_like(holes, middle))


def interpolated(holes: Array) -> Array:
    """Return linear interpolation, with the nearest value outside the hull of what is known."""
    known = ~np.isnan(holes)
    if holes.shape[-1] == 3:
        # The colours of a pixel go together.
        seen = known[..., 0]
        return _linear(np.argwhere(seen), holes[seen], np.argwhere(np.ones_like(seen))).reshape(holes.shape)
    if known.sum() <= TOO_MANY:
        return _linear(np.argwhere(known), holes[known], np.argwhere(np.ones_like(known))).reshape(holes.shape)
    hours = np.arange(holes.shape[-1])
    flat = holes.reshape(-1, len(hours))
    middle = float(np.nanmean(holes))
    lines = [np.interp(hours, hours[ok], row[ok]) if ok.any() else middle for row, ok in _rows(flat)]
    return np.stack([np.broadcast_to(line, len(hours)) for line in lines]).reshape(holes.shape)


def _rows(flat: Array) -> list[tuple[Array, Mask]]:
    return [(row, ~np.isnan(row)) for row in flat]


def _linear(points: Array, values: Array, wanted: Array) -> Array:
    inside = griddata(points, values, wanted, method="linear")
    outside = np.isnan(inside)
    nearest = griddata(points, values, wanted, method="nearest")
    return np.where(outside, nearest, inside)


def biharmonic(holes: Array) -> Array:
    """Return scikit-image's biharmonic inpainting of a picture."""
    missing = np.isnan(holes[..., 0])
    return inpaint_biharmonic(np.nan_to_num(holes), missing, channel_axis=-1)


def run(case: Case, seed: int, console: Console) -> list[str]:
    """Return the row of one case, and print each number as soon as it is known."""
    holes, hidden, truth = case.split(seed)
    console.print(f"{case.name}: {holes.shape}, {np.mean(~np.isnan(holes)):.1%} known")

    def error(name: str, answer: Callable[[], Array]) -> float:
        began = time.perf_counter()
        found = rmse(answer()[hidden], truth)
        console.print(f"  {name:10} {found:8.4g}  in {time.perf_counter() - began:.1f} s")
        return found

    low = error("low rank", lambda: low_rank(holes, seed))
    smooth = error("smoothness", lambda: smoothness_alone(holes, hidden, truth))
    both = error("complete", lambda: everything(holes, seed))
    linear = error("griddata", lambda: interpolated(holes))
    cells = [f"{value:.4g}" for value in (low, smooth, both)] + [f"{both / min(low, smooth):.3f}", f"{linear:.4g}"]
    picture = holes.shape[-1] == 3
    return [case.name, *cells, f"{error('biharmonic', lambda: biharmonic(holes)):.4g}" if picture else ""]


def main() -> None:
    """Run the cases, and print and write the table after each."""
    known = cases()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"which of {', '.join(known)}; by default all")
    parser.add_argument("--seed", type=int, default=0, help="decides the holes and everything random in the method")
    parser.add_argument("--output", type=Path, help="write the table to this Markdown file, after every case")
    given = parser.parse_args()
    unknown = [name for name in given.cases if name not in known]
    if unknown:
        parser.error(f"there is no case {', '.join(unknown)}; there are {', '.join(known)}.")
    console = Console(width=140, highlight=False)
    # Birmingham has days without any record; none of their entries is tested.
    warnings.filterwarnings("ignore", message=".*slices of mode")
    lines = [HEADER, ["---"] * len(HEADER)]
    with threadpool_limits(1):
        for name in given.cases or known:
            try:
                lines.append(run(known[name], given.seed, console))
            except DataMissing as missing:
                console.print(f"{name} skipped: {missing}")
                continue
            if given.output:
                given.output.write_text("".join(f"| {' | '.join(line)} |\n" for line in lines))
    console.print("".join(f"| {' | '.join(line)} |\n" for line in lines))


if __name__ == "__main__":
    main()
