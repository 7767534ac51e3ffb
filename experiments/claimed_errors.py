"""The error that a fit claims on few held-out entries, relative to that at the missing ones, after a real search.

    python experiments/claimed_errors.py [--seeds 20]

Columns
    held out: the number of held-out entries.
    before, after: the claimed error over the true one, before and after the correction for the choice that the held-out
    entries made; roots of mean squares over all seeds.
    inside: the share of the missing entries, with their noise, within intervals for 0.8.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import tensorfill

Array = NDArray[np.float64]

SHAPES = ((12, 10, 3), (14, 12, 6), (20, 15, 10))


def data(kind: str, shape: tuple[int, ...], seed: int) -> Array:
    """Return a tensor of some kind with noise of 0.5."""
    random = np.random.default_rng(seed)
    low_rank = np.einsum("ir,jr,kr->ijk", *(random.standard_normal((size, 2)) for size in shape))
    effects = [random.standard_normal(size) for size in shape]
    sums = effects[0][:, None, None] + effects[1][:, None] + effects[2]
    walks = 0.2 * np.cumsum(random.standard_normal(shape), axis=0)
    kinds = {"low rank": low_rank, "effects": 0.3 * low_rank + sums, "noise": 0 * sums, "random walks": walks}
    return kinds[kind] + 0.5 * random.standard_normal(shape)


def measured(kind: str, shape: tuple[int, ...], seed: int) -> tuple[float, float, float, float, float]:
    """Return the number of held-out entries, the true and both claimed mean squares, and the coverage."""
    whole = data(kind, shape, seed)
    missing = np.random.default_rng(seed + 1000).random(shape) < 0.5
    fit = tensorfill.complete(np.where(missing, np.nan, whole), rng=seed)
    _, low, high = fit.predict(np.argwhere(missing), interval=0.8)
    inside = np.mean((low <= whole[missing]) & (whole[missing] <= high))
    true = np.mean((fit.to_dense() - whole)[missing] ** 2)
    return len(fit.held_out), true, np.mean(fit.held_out.errors**2), fit.held_out_error**2, inside


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    seeds = range(parser.parse_args().seeds)
    console = Console(width=120, highlight=False)
    console.print("| shape | data | held out | before | after | inside |\n| --- | --- | ---: | ---: | ---: | ---: |")
    warnings.simplefilter("ignore")
    for shape in SHAPES:
        for kind in ("low rank", "effects", "noise", "random walks"):
            count, true, before, after, inside = np.mean([measured(kind, shape, seed) for seed in seeds], axis=0)
            ratios = " | ".join(f"{np.sqrt(each / true):.2f}" for each in (before, after))
            console.print(f"| {' x '.join(map(str, shape))} | {kind} | {count:.0f} | {ratios} | {inside:.2f} |")


if __name__ == "__main__":
    main()
