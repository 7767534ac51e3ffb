"""NORT on a local cluster of Dask processes, beside the same iterations in one process.

python benchmarks/on_dask.py                        all sizes, written to benchmarks/dask.md
python benchmarks/on_dask.py 1000000 --workers 1 2  one size

The tensor is that of `scale.py`, 15,088 x 15,088 x 5, as a folder of Parquet files. Every run makes 20 iterations from
the same start, with one thread for each process. Seconds are the median of the iterations after the third. Memory is
the peak of each process above what it held before it had any entries.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from measure import FOLDER, fresh, peak, watched

SHAPE = (15_088, 15_088, 5)
COUNTS = (1_000_000, 3_000_000, 9_000_000, 27_000_000)
WORKERS = (1, 2, 4)
ITERATIONS = 20
RANK = 5
IN_A_FILE = 1_000_000


def write(count: int, folder: str) -> int:
    """Write about so many rows of a tensor of rank five with noise to Parquet files, and return how many."""
    import pandas as pd

    rng = np.random.default_rng(0)
    factors = [rng.standard_normal((size, RANK)) for size in SHAPE]
    # A range of the first mode for each file, so that no entry is there twice.
    files = max(1, round(count / IN_A_FILE))
    bounds = np.linspace(0, SHAPE[0], files + 1).astype(int)
    written = 0
    for number in range(files):
        rows = bounds[number + 1] - bounds[number]
        places = np.unique(rng.integers(rows * SHAPE[1] * SHAPE[2], size=count // files))
        coords = list(np.unravel_index(rng.permutation(places), (rows, *SHAPE[1:])))
        coords[0] = coords[0] + bounds[number]
        values = np.prod([factor[index] for factor, index in zip(factors, coords, strict=True)], axis=0).sum(axis=1)
        values += 0.1 * rng.standard_normal(len(values))
        table = pd.DataFrame({**dict(zip(("user", "friend", "kind"), coords, strict=True)), "weight": values})
        table.to_parquet(Path(folder) / f"{number:03d}.parquet")
        written += len(table)
    return written


def method(count: int) -> Any:
    """Return NORT with settings that suit so many entries."""
    from tensorfill import Nort

    # The singular values of noise are below the threshold at any number of entries.
    lam = 2 * 0.1 * 2 * (count / SHAPE[0]) ** 0.5
    return Nort(
        lam=lam / 2, penalty="nuclear", modes=(0, 1), max_rank=RANK, max_iter=ITERATIONS, tol=0.0, polish=False,
        storage="sparse", svd="subspace",
    )  # fmt: skip


def start() -> Any:
    """Return the model that every run starts from."""
    from tensorfill.algebra.component import Component
    from tensorfill.algebra.unfolding import columns
    from tensorfill.models import FoldedLowRank

    rng = np.random.default_rng(1)
    components = [
        Component(
            mode,
            np.linalg.qr(rng.standard_normal((SHAPE[mode], RANK)))[0],
            np.ones(RANK),
            np.linalg.qr(rng.standard_normal((columns(SHAPE, mode), RANK)))[0],
        )
        for mode in (0, 1)
    ]
    return FoldedLowRank(SHAPE, components, (0.5, 0.5))


def each(history: Any) -> float:
    """Return the median seconds of an iteration."""
    return float(statistics.median(np.diff(history["seconds"])[3:]))


def in_one_process(folder: str, count: int) -> dict[str, Any]:
    """Run the iterations in one process with one thread."""
    import pandas as pd

    from tensorfill import Observations
    from tensorfill._support.parallel import threads
    from tensorfill.losses import Square
    from tensorfill.methods.problem import Problem

    table = pd.read_parquet(folder)
    before = watched()
    data = Observations(table[["user", "friend", "kind"]].to_numpy(), table["weight"].to_numpy(), SHAPE)
    with threads(1):
        result = method(count).solve(Problem(data, Square()), start=start(), rng=2)
    return {"seconds": each(result.history), "memory": peak() - before, "f_tau": result.history["f_tau"].tolist()}


def on_workers(folder: str, count: int, workers: int) -> dict[str, Any]:
    """Run the iterations on a cluster of processes."""
    import distributed
    from tensorfill.distributed.cluster import Connection
    from tensorfill.distributed.session import Session
    from tensorfill.distributed.table import SpreadTable
    from tensorfill.io import open as open_files
    from tensorfill.losses import Square

    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
        ExitStack() as stack,
    ):
        before = client.run(watched)
        began = time.perf_counter()
        table = SpreadTable.of(open_files(folder), client)
        session = stack.enter_context(Session(Connection(client), table, Square(), (0, 1), RANK))
        problem = session.whole()
        read = time.perf_counter() - began
        crew = session.crew
        moved, asked, computed = crew.traffic.moved, crew.traffic.asking, crew.traffic.computing
        result = method(count).solve(problem, start=start(), rng=2)
        after = client.run(peak)
        return {
            "seconds": each(result.history),
            "read": read,
            "moved": (crew.traffic.moved - moved) / ITERATIONS,
            "computing": (crew.traffic.computing - computed) / (crew.traffic.asking - asked),
            "memory": max(after[place] - before[place] for place in after),
            "f_tau": result.history["f_tau"].tolist(),
        }


def measured(count: int, workers: list[int]) -> list[dict[str, Any]]:
    """Return a row for one process, and one for each number of workers."""
    with tempfile.TemporaryDirectory() as folder:
        written = write(count, folder)
        alone = fresh(in_one_process, folder, count) | {"entries": written, "workers": 0}
        rows = [alone]
        for number in workers:
            found = fresh(on_workers, folder, count, number) | {"entries": written, "workers": number}
            expected = np.array(alone["f_tau"])
            found["difference"] = float(np.max(np.abs(np.array(found["f_tau"]) - expected) / np.abs(expected)))
            rows.append(found)
            print(line(found, alone), flush=True)
    return [{name: value for name, value in row.items() if name != "f_tau"} for row in rows]


COLUMNS = (
    "entries",
    "workers",
    "seconds an iteration",
    "of one process",
    "computing",
    "MB moved an iteration",
    "peak memory of a worker, MiB",
    "of one process",
    "largest difference of F_tau",
)
HEAD = f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}"


def line(found: dict[str, Any], alone: dict[str, Any]) -> str:
    """Return a row of the table."""
    cells = [
        f"{found['entries']:,}",
        str(found["workers"]),
        f"{found['seconds']:.2f}",
        f"{found['seconds'] / alone['seconds']:.2f}",
        f"{found['computing']:.0%}",
        f"{found['moved'] / 1e6:.1f}",
        f"{found['memory'] / 2**20:.0f}",
        f"{found['memory'] / alone['memory']:.2f}",
        f"{found['difference']:.0e}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure what the command line asks for; all sizes are written to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", nargs="*", type=int, help="numbers of entries (default: all of the table)")
    parser.add_argument("--workers", nargs="+", type=int, default=list(WORKERS))
    given = parser.parse_args()
    print(HEAD, flush=True)
    rows = [measured(count, given.workers) for count in given.counts or COUNTS]
    if not given.counts:
        table = [line(row, group[0]) for group in rows for row in group[1:]]
        (FOLDER / "dask.md").write_text("\n".join([HEAD, *table, ""]))
        (FOLDER / "dask.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
