"""What tensorfill costs, as ratios within one run: `make bench` writes benchmarks/results.md.

`python benchmarks/run.py iteration`, or `choice`, measures only that table, prints it, and writes nothing.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from threadpoolctl import threadpool_limits

RESULTS = Path(__file__).with_name("results.md")
DATA = Path(tempfile.gettempdir()) / "tensorfill-benchmark.npz"
BLOCK = 8
ITERATIONS = 15

ITERATION = """## What an iteration costs

The yardstick is what scipy.sparse needs for the six sparse products of one iteration: an unfolding and its
transpose, each in CSR form, times a block of 8, for three modes. The dense proximal average is the same iteration
on dense arrays with full decompositions. Memory is the peak above the interpreter's own, in a fresh process.
"""

CHOICE = """## What the choice costs

The seconds of `complete(data)`, which chooses everything on held-out entries and then fits all of them, against those
of one fit of all entries at the lambda, theta and modes that were chosen, with the default tolerance: with the largest
ranks that were chosen, from zero; and without them, which comes down from larger lambdas and may end at other ranks.
The ratio is to the faster of these two. All are measured once each, one after the other in a fresh process, after a
small problem that is not counted.
"""

CASES = {
    "100^3": "synthetic, 100^3",
    "200^3": "synthetic, 200^3",
    "picture": "picture, 256 x 256 x 3, 70% of the pixels missing",
}


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


def picture():
    """Return a picture of which 70% of the pixels are missing."""
    from skimage.data import astronaut

    from tensorfill import Observations

    colours = astronaut().astype(float).reshape(256, 2, 256, 2, 3).mean(axis=(1, 3))
    seen = np.random.default_rng(0).random((256, 256)) >= 0.7
    return Observations.from_dense(colours, np.broadcast_to(seen[:, :, None], colours.shape))


def choice(case: str) -> dict[str, Any]:
    """Return the seconds and ranks of a fit whose regularisation is chosen, and of fits for which it is given."""
    from tensorfill import complete

    small = problem(20).observations
    complete(small, rng=0)
    complete(small, lam=0.1, theta=0.1, rng=0)
    data = picture() if case == "picture" else problem(int(case.removesuffix("^3"))).observations

    def timed(**given):
        began = time.perf_counter()
        fit = complete(data, rng=0, **given)
        return fit, (time.perf_counter() - began, fit.ranks)

    fit, chosen = timed()
    given = {"lam": fit.lam, "theta": fit.theta, "modes": fit.settings["modes"]}
    limited = timed(max_rank=fit.settings["max_rank"], **given)[1]
    return {"entries": len(data), "chosen": chosen, "limited": limited, "free": timed(**given)[1]}


def fresh(name: str, case: int | str):
    """Return what a function of this file answers in a process of its own."""
    answer = subprocess.run([sys.executable, __file__, name, str(case)], check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)


def row(cells: Sequence[str]) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def shown(line: str) -> str:
    """Print a line of a table as soon as it is known."""
    print(line, flush=True)
    return line


def iteration_table() -> list[str]:
    """Measure what an iteration costs."""
    names = [
        "size",
        "entries",
        "iteration / six scipy products",
        "dense iteration / ours",
        "peak memory",
        "dense tensor",
    ]
    lines = [shown(row(names)), shown(row(["---"] * len(names)))]
    for size in (200, 400):
        ratio = fresh("nort_iteration", size) / fresh("scipy_products", size)
        dense = f"{fresh('dense_iteration', size) / fresh('nort_iteration', size):.0f}" if size == 200 else "not run"
        fresh("save_problem", size)
        memory = fresh("peak_bytes", size)
        DATA.unlink()
        peak, full = (f"{count / 2**20:.0f} MiB" for count in (memory["bytes"], 8 * size**3))
        lines.append(shown(row([f"{size}^3", f"{memory['entries']:,}", f"{ratio:.2f}", dense, peak, full])))
    return lines


def choice_table() -> list[str]:
    """Measure what the choice of the regularisation costs."""
    names = ["problem", "entries", "all chosen", "one fit, ranks limited", "one fit, from above", "ratio"]
    lines = [shown(row(names)), shown(row(["---"] * len(names)))]
    for case, name in CASES.items():
        cost = fresh("choice", case)
        kinds = ("chosen", "limited", "free")
        described = (f"{cost[kind][0]:.2f} s, ranks {tuple(cost[kind][1])}" for kind in kinds)
        ratio = cost["chosen"][0] / min(cost["limited"][0], cost["free"][0])
        lines.append(shown(row([name, f"{cost['entries']:,}", *described, f"{ratio:.1f}"])))
    return lines


TABLES = {"iteration": (ITERATION, iteration_table), "choice": (CHOICE, choice_table)}


def main() -> None:
    """Measure everything and write the tables."""
    sections = [text + "\n" + "\n".join(table()) + "\n" for text, table in TABLES.values()]
    RESULTS.write_text("# Benchmarks\n\nFrom `make bench`, as ratios within one run.\n\n" + "\n".join(sections))


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            main()
        case [table] if table in TABLES:
            TABLES[table][1]()
        case [name, case]:
            print(json.dumps(globals()[name](int(case) if case.isdecimal() else case)))
        case _:
            sys.exit(f"Give nothing, or one of {', '.join(TABLES)}.")
