"""What an update costs and how good it is, beside a new search: car park records, with days that come in later.

Run it as ``python experiments/updates.py [--days 7]``. 30% of the records are hidden. The last days come in later; a
fit of the others is updated with them, and compared with a new search on all, by the error at the hidden records of
these days and by CPU time.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from data import traffic
from rich.console import Console

import tensorfill
from tensorfill.metrics import rmse


def main() -> None:
    """Print the errors and the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=7)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    records = traffic("birmingham")
    hidden = ~np.isnan(records) & (np.random.default_rng(0).random(records.shape) < 0.3)
    seen = np.where(hidden, np.nan, records)
    new = seen.copy()
    new[:, : -given.days] = np.nan
    late = hidden.copy()
    late[:, : -given.days] = False
    console = Console(width=120)
    first = timed(console, "the days before", lambda: tensorfill.complete(seen[:, : -given.days], rng=0))
    for name, run in {
        "updated": lambda: first.update(new, rng=0),
        "a new search": lambda: tensorfill.complete(seen, rng=0),
    }.items():
        fit = timed(console, name, run)
        values, low, high = fit.predict(np.argwhere(late), interval=0.9)
        inside = np.mean((low <= records[late]) & (records[late] <= high))
        console.print(f"  error {rmse(values, records[late]):.2f}, {inside:.1%} within 90% intervals")


def timed(console: Console, name: str, run):
    """Run something, print its CPU time, and return what it returns."""
    began = time.process_time()
    answer = run()
    console.print(f"{name}: {time.process_time() - began:.1f} s of CPU, {answer.method.name}")
    return answer


if __name__ == "__main__":
    main()
