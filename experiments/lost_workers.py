"""Kills worker processes of a Dask cluster at random moments of a run, and compares the answers.

python experiments/lost_workers.py --kills 5
python experiments/lost_workers.py --kills 5 --entries 3000000 --workers 3

Every run completes the same table of Parquet files by the same call. A killed worker is replaced by the cluster, its
part of the table is read again, and its work since the last snapshot is done again. The first run, which is not
compared, compiles what is not compiled yet.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import distributed

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from rich.console import Console

from on_dask import write
from tensorfill.distributed import crew
from tensorfill.distributed.completion import complete
from tensorfill.io import open as open_files

CONSOLE = Console()
ITERATIONS = 20
SETTINGS = {"lam": 2.0, "penalty": "nuclear", "modes": (0, 1), "max_rank": 5, "max_iter": ITERATIONS, "tol": 0.0}


class Killer:
    """A callback that kills a worker at some iterations."""

    def __init__(self, cluster: Any, iterations: set[int], seed: int) -> None:
        self._cluster, self._iterations, self._random = cluster, iterations, random.Random(seed)

    def __call__(self, record: Any, model: Any) -> None:
        """Kill a worker, a moment after an iteration."""
        if record.iteration in self._iterations:
            nanny = self._random.choice(list(self._cluster.workers.values()))
            CONSOLE.print(f"  iteration {record.iteration}: kill -9 {nanny.pid}", highlight=False)
            os.kill(nanny.pid, signal.SIGKILL)


def answered(folder: str, workers: int, kills: int, seed: int) -> tuple[Any, float, int]:
    """Return predictions, the seconds of the fit, and how often workers were replaced."""
    recoveries = []
    usual = crew.Crew.close

    def noted(self: crew.Crew) -> None:
        recoveries.append(self.recoveries)
        usual(self)

    crew.Crew.close = noted
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        when = set(random.Random(seed).sample(range(1, ITERATIONS), kills))
        began = time.perf_counter()
        fit = complete(open_files(folder), client=client, rng=0, callback=Killer(cluster, when, seed), **SETTINGS)
        seconds = time.perf_counter() - began
        rng = np.random.default_rng(5)
        values = fit.predict(np.stack([rng.integers(size, size=100_000) for size in fit.shape], axis=1))
        fit.close()
    crew.Crew.close = usual
    return values, seconds, recoveries[0]


def main() -> int:
    """Run once in peace and several times with kills."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=5, help="runs in which one worker is killed")
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    same = 0
    with tempfile.TemporaryDirectory() as folder:
        CONSOLE.print(f"{write(given.entries, folder):,} rows, {given.workers} workers, {ITERATIONS} iterations")
        answered(folder, given.workers, 0, given.seed)
        expected, seconds, _ = answered(folder, given.workers, 0, given.seed)
        CONSOLE.print(f"in peace: {seconds:.1f} s", highlight=False)
        for number in range(given.kills):
            values, seconds, recoveries = answered(folder, given.workers, 1, given.seed + number + 1)
            is_same = np.array_equal(values, expected)
            same += is_same
            far = float(np.max(np.abs(values - expected)) / np.max(np.abs(expected)))
            CONSOLE.print(f"  {seconds:.1f} s, recoveries: {recoveries}, same bits: {is_same}, difference {far:.0e}")
    CONSOLE.print(f"{same} of {given.kills} answers are the same, bit for bit")
    return 0 if same == given.kills else 1


if __name__ == "__main__":
    sys.exit(main())
