"""``tensorfill demo``: a picture with missing entries, filled."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.box import HEAVY_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .._support.checks import generator, real_number, whole_number
from .._support.types import Booleans, Floats
from .command import Command
from .facts import settings_in_words
from .outputs import check_outputs

if TYPE_CHECKING:
    from ..fit import Fit

DEMO_PICTURE = "chelsea"
"""At 256 rows and 60% missing, low rank fills it to 33 dB. Of the eight pictures in scikit-image that were tried, only
the retina does better (34 dB; the others 24 to 28 dB), but a cat is easier to judge by eye."""

FEWEST_ROWS = 16


def _demo_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--missing", type=float, default=0.6, metavar="SHARE", help="share of the entries to remove (default: 0.6)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("tensorfill-demo.png"),
        metavar="FILE",
        help="picture to write, as PNG (default: tensorfill-demo.png)",
    )
    parser.add_argument(
        "--rows", type=int, default=200, help="scale the picture to this many rows (default: 200); more take longer"
    )
    parser.add_argument("--seed", type=int, default=0, help="decides everything that is random (default: 0)")


def _demo(given: argparse.Namespace) -> int:
    """Fill a picture with missing entries, print the errors and draw it."""
    share = real_number(given.missing, "--missing", above=0, below=1)
    rows = whole_number(given.rows, "--rows", at_least=FEWEST_ROWS)
    rng = generator(whole_number(given.seed, "--seed"))
    output: Path = given.output
    check_outputs({"--output": output})

    from ..completion import complete
    from ..datasets import picture
    from ..methods.base import Status
    from ..plots import drawing_class, side_by_side

    drawing_class()
    console = Console(highlight=False, soft_wrap=True)
    truth = picture(DEMO_PICTURE, rows=rows)
    removed = rng.random(truth.shape) < share
    if removed.all() or not removed.any():
        raise ValueError(f"--missing {share:g} leaves nothing to fill or nothing to learn from; choose another share.")
    holes = np.where(removed, np.nan, truth)
    console.print(
        f"Picture {DEMO_PICTURE!r} of shape {truth.shape}: {1 - removed.mean():.1%} of {truth.size:,} entries "
        f"observed, {int(removed.sum()):,} removed at random."
    )
    began = time.monotonic()
    # The generator is used further, because the seed would repeat the numbers that removed the entries.
    fit = complete(holes, bounds=(0, 1), rng=rng, progress=True)
    seconds = time.monotonic() - began
    if fit.status is Status.INTERRUPTED:
        # After Ctrl-C a method returns its best answer so far, but an interrupted demo shows nothing.
        raise KeyboardInterrupt
    filled = fit.filled()
    _print_choice(console, fit, seconds)
    _print_recovery(console, truth, holes, filled, removed)
    side_by_side(
        {"Original": truth, f"Observed: {1 - removed.mean():.0%} of the entries": holes, "Filled": filled}, output
    )
    console.print(f"Original, observed and filled side by side: {escape(str(output))}")
    return 0


def _print_choice(console: Console, fit: Fit, seconds: float) -> None:
    """Print what was chosen and why the run stopped."""
    tried = f" of {len(fit.path)} trials" if fit.path else ""
    console.print(
        f"Chosen{tried}: {settings_in_words(fit)}, ranks {fit.ranks}; held-out error {fit.held_out_error:.4f}."
    )
    console.print(
        f"{escape(str(fit.status))} "
        f"The last fit took {fit.history[-1].iteration} iterations; everything took {seconds:.1f} s."
    )


def _print_recovery(console: Console, truth: Floats, holes: Floats, filled: Floats, removed: Booleans) -> None:
    """Print a table of the error on the removed entries, and that of the better of two means."""
    from ..metrics import psnr, rmse

    means = {
        "mean of the picture": np.full(truth.shape, np.nanmean(holes)),
        "mean of each colour": np.broadcast_to(np.nanmean(holes, axis=(0, 1)), truth.shape),
    }
    name = min(means, key=lambda each: rmse(means[each][removed], truth[removed]))
    # A terminal gets lines around the cells; a file or another program gets plain text.
    table = Table("Removed entries filled by", box=HEAVY_HEAD if console.is_terminal else None)
    table.add_column("RMSE", justify="right")
    table.add_column("PSNR", justify="right")
    for label, values in [("tensorfill", filled), (name, means[name])]:
        pair = values[removed], truth[removed]
        table.add_row(label, f"{rmse(*pair):.4f}", f"{psnr(*pair, peak=1.0):.1f} dB")
    console.print(table)


COMMAND = Command(
    "fill a picture with missing entries and draw it",
    _demo_options,
    _demo,
    examples=("tensorfill demo --missing 0.5 --output cat.png",),
)
