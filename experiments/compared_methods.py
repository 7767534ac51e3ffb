"""Every method on the facade and on Birmingham: held-out error, error on hidden entries, seconds, memory.

    python experiments/compared_methods.py
    python experiments/compared_methods.py birmingham --methods nort cp --plot birmingham.png

Half of the known entries of each tensor are hidden at random; for the picture whole pixels. `tensorfill.compare` scores
the methods on entries held out of the rest, and `complete(method=...)` then fits all of the rest with each method. The
error on the hidden entries shows whether held-out entries were right.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from data import DataMissing, image, traffic
from numpy.typing import NDArray
from rich.console import Console

import tensorfill
from tensorfill.methods.registry import METHODS
from tensorfill.metrics import rmse

CASES = ("facade", "birmingham")


def case(name: str, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a tensor, and the same with half of its known entries hidden."""
    truth = image(name) if name == "facade" else traffic(name)
    shape = truth.shape[:2] if name == "facade" else truth.shape
    hidden = np.random.default_rng(seed).random(shape) < 0.5
    return truth, np.where(hidden[..., None] if name == "facade" else hidden, np.nan, truth)


def main() -> None:
    """Compare, fit, and print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=list(CASES), help=f"which of {', '.join(CASES)}")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), help="names of methods; by default all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", type=Path, help="draw the comparison of the last case to this file")
    given = parser.parse_args()
    console = Console(soft_wrap=True, highlight=False)
    for name in given.cases:
        try:
            truth, holes = case(name, given.seed)
        except DataMissing as error:
            console.print(str(error))
            return
        hidden = np.isnan(holes) & ~np.isnan(truth)
        console.print(f"\n{name}: {truth.shape}, {100 * np.mean(~np.isnan(holes)):.1f}% observed")
        table = tensorfill.compare(holes, given.methods, rng=given.seed)
        console.print(str(table))
        for method in given.methods:
            fit = tensorfill.complete(holes, method=method, smooth=None, rng=given.seed)
            console.print(f"{method:12} hidden entries {rmse(fit.to_dense()[hidden], truth[hidden]):.4g}  {fit}")
        if given.plot is not None:
            table.plot(file=given.plot)


if __name__ == "__main__":
    main()
