"""What an iteration costs, in time and in memory."""

from __future__ import annotations

import os
import statistics
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse

from measure import fresh, heading, held, mib, peak, problem, row, seconds, settings, watched

TEXT = """## What an iteration costs

The yardstick is what scipy.sparse needs for the six sparse products of one iteration: an unfolding and its transpose,
each in CSR form, times a block of 8, for three modes, in float64. They run in one thread, as scipy's always do. The
iteration is measured with one thread, which is the fair comparison, and with two, which is what a user of two cores
gets. Both are measured in turn in one process for each number of threads, and the ratio is the median of as many
rounds; "fastest" is that of the fastest rounds of each, where other work on the machine disturbs least. Steps that the
momentum made twice count as one iteration. Memory is the peak in a fresh process that reads the entries from a file and
solves, above what it held with all libraries, compiled loops and threads in place, and above what it held once the
entries were read; what the promise allows is 100 bytes an entry and three times the factors.
"""

LIMITS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")

BLOCK, ITERATIONS, ROUNDS = 8, 20, 7


def six_products(size: int):
    """Return the six sparse products of one iteration, to be called."""
    from tensorfill.algebra.unfolding import column_index

    observations = problem(size).observations
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((size, BLOCK)), rng.standard_normal((size**2, BLOCK))
    pairs = []
    for mode in range(3):
        place = observations.coords[:, mode], column_index(observations.coords, observations.shape, mode)
        matrix = scipy.sparse.csr_matrix((observations.values, place), shape=(size, size**2))
        pairs.append((matrix, matrix.T.tocsr()))
    return lambda: [(matrix @ b, transpose @ a) for matrix, transpose in pairs]


def costs(size: int, precision: str) -> dict[str, float]:
    """Return the seconds of an iteration, history and all but without what only the first one does, and the ratio."""
    from tensorfill.losses import Square
    from tensorfill.methods.problem import Problem

    task = Problem(problem(size).observations.astype(np.dtype(precision)), Square())
    start = settings(max_iter=5, polish=False).solve(task, rng=0).model
    products = six_products(size)
    ours, theirs = [], []
    for _ in range(ROUNDS):
        history = settings(max_iter=ITERATIONS, polish=False).solve(task, start=start, rng=0).history
        ours.append((history[-1].seconds - history[0].seconds) / ITERATIONS)
        theirs.append(seconds(products, 5))
    return {
        "iteration": statistics.median(ours),
        "ratio": statistics.median(x / y for x, y in zip(ours, theirs, strict=True)),
        "fastest": min(ours) / min(theirs),
    }


def memory(size: int, precision: str, path: str) -> dict[str, float]:
    """Return what the data and its fit hold at their peak above the interpreter."""
    from tensorfill import Observations
    from tensorfill.losses import Square
    from tensorfill.methods.problem import Problem

    small = problem(60).observations.astype(np.dtype(precision))
    settings(max_iter=3, storage="sparse").solve(Problem(small, Square()), rng=0)
    before = watched()
    with np.load(path) as file:
        data = Observations(file["coords"], file["values"], (size,) * 3).astype(np.dtype(precision))
    loaded = held()
    model = settings(max_iter=30, polish=False).solve(Problem(data, Square()), rng=0).model
    most = peak()
    return {"bytes": most - before, "above input": most - loaded, "entries": len(data), "model": model.nbytes}


def saved(size: int, path: str) -> bool:
    """Write the entries of a problem to a file, so that another process need not make them."""
    observations = problem(size).observations
    np.savez(path, coords=observations.coords, values=observations.values)
    return True


THREADS = {"one thread": "1", "two threads": "2"}


def table() -> list[str]:
    """Measure what an iteration costs."""
    names = ["size", "entries", "numbers"]
    for words in THREADS:
        names += [words, f"{words} / six scipy products", "fastest / fastest"]
    lines = heading([*names, "peak memory", "above its input", "allowed", "dense tensor"])
    for size, precision in ((200, "float64"), (400, "float64"), (200, "float32"), (400, "float32")):
        limits = [dict.fromkeys(LIMITS, count) for count in THREADS.values()]
        found = [fresh(costs, size, precision, environment={**os.environ, **limit}) for limit in limits]
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "entries.npz")
            fresh(saved, size, path)
            room = fresh(memory, size, precision, path)
        cells = [f"{size}^3", f"{room['entries']:,}", precision]
        for cost in found:
            cells += [f"{1e3 * cost['iteration']:.0f} ms", f"{cost['ratio']:.2f}", f"{cost['fastest']:.2f}"]
        allowed = 100 * room["entries"] + 3 * room["model"]
        lines.append(row([*cells, mib(room["bytes"]), mib(room["above input"]), mib(allowed), mib(8 * size**3)]))
    return lines
