"""What an iteration of NORT costs, as ratios within one run: `make bench` writes benchmarks/results.md.

The yardstick is what scipy.sparse needs for the six sparse products of one iteration: an unfolding and its
transpose, each in CSR form, times a block of 8, for three modes. The dense proximal average is the same iteration
on dense arrays with full decompositions. Memory is the peak above the interpreter's own, in a fresh process.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse
from threadpoolctl import threadpool_limits

RESULTS = Path(__file__).with_name("results.md")
DATA = Path(tempfile.gettempdir()) / "tensorfill-benchmark.npz"
BLOCK = 8
ITERATIONS = 15


def seconds(action: Callable[[], object], repeats: int) -> float:
    """Return the median time of an action, after one call that is not counted."""
    action()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def problem(size: int):
    from tensorfill.datasets import synthetic

    return synthetic((size,) * 3, rng=3)


def settings(**more):
    from tensorfill import Nort
    from tensorfill.penalties import CappedL1

    return Nort(lam=0.4 / 3, penalty=CappedL1(0.8), max_rank=5, **{"tol": 0.0, "max_iter": ITERATIONS, **more})


def scipy_products(size: int) -> float:
    """Return the seconds of the six sparse products of one iteration."""
    from tensorfill.algebra.unfolding import column_index

    observations = problem(size).observations
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((size, BLOCK)), rng.standard_normal((size**2, BLOCK))
    pairs = []
    for mode in range(3):
        place = observations.coords[:, mode], column_index(observations.coords, observations.shape, mode)
        matrix = scipy.sparse.csr_matrix((observations.values, place), shape=(size, size**2))
        pairs.append((matrix, matrix.T.tocsr()))
    return seconds(lambda: [(matrix @ b, transpose @ a) for matrix, transpose in pairs], 10)


def nort_iteration(size: int) -> float:
    """Return the seconds of one iteration, momentum, history and all, but without what only the first one does."""
    from tensorfill.losses import Square
    from tensorfill.problem import Problem

    task = Problem(problem(size).observations, Square())
    short, long = (
        seconds(lambda n=n: settings(max_iter=n).solve(task, rng=0), 3) for n in (ITERATIONS, 2 * ITERATIONS)
    )
    return (long - short) / ITERATIONS


def dense_iteration(size: int) -> float:
    """Return the seconds of one iteration of the proximal average on dense arrays (GDPAN)."""
    from tensorfill.algebra.unfolding import fold, unfold
    from tensorfill.penalties import CappedL1

    observations = problem(size).observations
    x = observations.to_dense(fill=0.0)

    def iterate() -> None:
        z = x.copy()
        z.ravel()[observations.positions] = observations.values
        total = np.zeros_like(z)
        for mode in range(3):
            u, s, vt = np.linalg.svd(unfold(z, mode), full_matrices=False)
            total += fold((u * CappedL1(0.8).prox(s, 0.4)) @ vt, mode, z.shape) / 3

    with threadpool_limits(1, user_api="blas"):
        return seconds(iterate, 1)


def peak_bytes(size: int) -> dict[str, float]:
    """Return what the data and its fit hold at their peak above the interpreter."""
    from tensorfill import Observations
    from tensorfill.losses import Square
    from tensorfill.problem import Problem

    settings(max_iter=1).solve(Problem(problem(20).observations, Square()), rng=0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with np.load(DATA) as file:
        data = Observations(file["coords"], file["values"], (size,) * 3)
    result = settings().solve(Problem(data, Square()), rng=0)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"bytes": after - before, "entries": len(data), "model": result.model.nbytes}


def save_problem(size: int) -> bool:
    """Write the entries of a problem to a file, so that another process need not make them."""
    observations = problem(size).observations
    np.savez(DATA, coords=observations.coords, values=observations.values)
    return True


def fresh(name: str, size: int):
    """Return what a function of this file answers in a process of its own."""
    answer = subprocess.run([sys.executable, __file__, name, str(size)], check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)


def main() -> None:
    """Measure everything and write the table."""
    lines = [
        "| size | entries | iteration / six scipy products | dense iteration / ours | peak memory | dense tensor |"
    ]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    for size in (200, 400):
        ratio = fresh("nort_iteration", size) / fresh("scipy_products", size)
        dense = f"{fresh('dense_iteration', size) / fresh('nort_iteration', size):.0f}" if size == 200 else "not run"
        fresh("save_problem", size)
        memory = fresh("peak_bytes", size)
        DATA.unlink()
        lines.append(
            f"| {size}^3 | {memory['entries']:,} | {ratio:.2f} | {dense} | {memory['bytes'] / 2**20:.0f} MiB "
            f"| {size**3 * 8 / 2**20:.0f} MiB |"
        )
        print(lines[-1])
    RESULTS.write_text(f"# Benchmarks\n\n{__doc__}\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(globals()[sys.argv[1]](int(sys.argv[2]))))
    else:
        main()
