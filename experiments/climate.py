"""Stations that were never observed (Section 5.5 of the paper): the error there, with a graph and without.

    python experiments/climate.py ccds ushcn --splits 5

10% of the stations are for training, another 10% to choose with, and the error is that on all the others. Every column
but the last gets exactly these.

Columns
    graph: `complete(training, choose=Choice(validation=...), laplacian={0: graphs.haversine(latlon)})`: the width of
    the kernel is chosen among the training stations, everything else on the stations to choose with.
    kernel as printed: the same with the width 1, the paper's exp(-2 b) with b in radians.
    no graph: `complete(training, choose=Choice(validation=...))`, which can only predict zero there.
    extension alone: the training stations as they are, extended on the graph of the chosen width; no low rank.
    both parts: `complete(training and choosing stations, laplacian=...)`, which holds out stations by itself; it has
    twice the stations, so it is not to be compared with the others, and is what a user would run.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np
from data import DataMissing, climate
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import tensorfill
from tensorfill import Observations, graphs
from tensorfill.choosing.stages.graphs import best_width
from tensorfill.graphs.reduction import reduce
from tensorfill.metrics import rmse

COLUMNS = ("graph", "kernel as printed", "no graph", "extension alone", "both parts")


def main() -> None:
    """Run every data set and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["ccds", "ushcn"], help="ccds, ushcn")
    parser.add_argument("--splits", type=int, default=5)
    arguments = parser.parse_args()
    console = Console(width=140)
    warnings.filterwarnings("ignore", message=".*slices of mode")
    for name in arguments.sets:
        try:
            records, latlon = climate(name)
        except DataMissing as missing:
            console.print(f"{name} skipped: {missing}")
            continue
        table = Table("split", *COLUMNS, "seconds (graph)", title=f"{name} {records.shape}")
        errors: dict[str, list[float]] = {column: [] for column in COLUMNS}
        with threadpool_limits(1):
            for split in range(arguments.splits):
                found, seconds = _errors(records, latlon, split)
                for column in COLUMNS:
                    errors[column].append(found[column])
                table.add_row(str(split), *(f"{found[column]:.4f}" for column in COLUMNS), f"{seconds:.1f}")
        table.add_row("mean", *(f"{statistics.mean(errors[column]):.4f}" for column in COLUMNS), "")
        console.print(table)


def _errors(records: NDArray[np.float64], latlon: NDArray[np.float64], seed: int) -> tuple[dict[str, float], float]:
    """Return the error of each column on the stations of one split that nobody was shown, and seconds."""
    count = len(records)
    order = np.random.default_rng(seed).permutation(count)
    tenth = round(0.1 * count)
    training, choosing, test = order[:tenth], order[tenth : 2 * tenth], order[2 * tenth :]
    fitted, held = _only(records, training), tensorfill.Choice(validation=_only(records, choosing))
    kernel = graphs.haversine(latlon)

    def error(predict: Callable[[], NDArray[np.float64]]) -> float:
        return rmse(predict()[test], records[test])

    began = time.perf_counter()
    found = {
        "graph": error(lambda: tensorfill.complete(fitted, choose=held, laplacian={0: kernel}, rng=seed).to_dense())
    }
    seconds = time.perf_counter() - began
    printed = graphs.haversine(latlon, width=1.0)
    found["kernel as printed"] = error(
        lambda: tensorfill.complete(fitted, choose=held, laplacian={0: printed}, rng=seed).to_dense()
    )
    found["no graph"] = error(lambda: tensorfill.complete(fitted, choose=held, smooth=None, rng=seed).to_dense())
    width = best_width(kernel, fitted, 0, np.random.default_rng(seed))
    extension = reduce(fitted, {0: kernel.laplacian(width)}).extensions[0]
    found["extension alone"] = error(lambda: np.tensordot(extension.matrix, records[extension.kept], axes=1))
    both = _only(records, np.concatenate([training, choosing]))
    found["both parts"] = error(lambda: tensorfill.complete(both, laplacian={0: kernel}, rng=seed).to_dense())
    return found, seconds


def _only(records: NDArray[np.float64], stations: NDArray[np.int64]) -> Observations:
    """Return the records of some stations."""
    seen = np.zeros(records.shape, dtype=bool)
    seen[stations] = True
    return Observations.from_dense(records, seen)


if __name__ == "__main__":
    main()
