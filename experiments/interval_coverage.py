"""Coverage of 90% intervals on traffic records: overall, in the top tenth of values, and at the worst station.

Run it as ``python experiments/interval_coverage.py [birmingham] [nyc] [--hours 240]``. 40% of the entries are removed
at random. Intervals of one width, a quantile of the held-out errors, are compared with those that adapt, of one fit.
"""

from __future__ import annotations

import argparse

import numpy as np
from data import traffic
from rich.console import Console

import tensorfill
from tensorfill import Choice


def coverage(name: str, hours: int, seed: int) -> list[str]:
    """Return rows of a table for one data set."""
    records = traffic(name)
    records = records[..., :hours] if name == "nyc" else records
    rng = np.random.default_rng(seed)
    removed = ~np.isnan(records) & (rng.random(records.shape) < 0.4)
    fit = tensorfill.complete(
        np.where(removed, np.nan, records), choose=Choice(validation=0.2), method="nort", rng=seed
    )
    coords, truth = np.argwhere(removed), records[removed]
    values, low, high = fit.predict(coords, interval=0.9)
    half = fit.half_width(0.9)
    rows = []
    for kind, ends in (("one width", (values - half, values + half)), ("adapting", (low, high))):
        inside = (ends[0] <= truth) & (truth <= ends[1])
        top = truth >= np.quantile(truth, 0.9)
        counts = np.bincount(coords[:, 0])
        stations = np.bincount(coords[:, 0], inside) / np.maximum(counts, 1)
        worst = stations[counts >= 30].min()
        width = np.mean(ends[1] - ends[0])
        rows.append(
            f"| {name} | {kind} | {inside.mean():.1%} | {inside[top].mean():.1%} | {worst:.1%} | {width:.1f} | "
            f"{ends[0].min():.1f} |"
        )
    return [*rows, f"{name} depends on {fit.error_bars.depends_on}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["birmingham", "nyc"])
    parser.add_argument("--hours", type=int, default=240)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    console = Console(width=150)
    console.print("| data | intervals | inside | top tenth | worst station | mean width | lowest end |")
    for name in given.names:
        for row in coverage(name, given.hours, given.seed):
            console.print(row)


if __name__ == "__main__":
    main()
