"""What an iteration costs, in time and in memory."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse

from measure import fresh, heading, mib, peak, problem, row, seconds, settings

TEXT = """## What an iteration costs

The yardstick is what scipy.sparse needs for the six sparse products of one iteration: an unfolding and its transpose,
each in CSR form, times a block of 8, for three modes. Both are measured in turn in one process, and the ratio is the
median of as many rounds. Memory is the peak above the interpreter's own, in a fresh process that reads the entries from
a file and solves; what the promise allows is 100 bytes an entry and three times the factors.
"""

BLOCK, ITERATIONS, ROUNDS = 8, 12, 5


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


def costs(size: int) -> dict[str, float]:
    """Return the seconds of an iteration, history and all but without what only the first one does, and the ratio."""
    from tensorfill.losses import Square
    from tensorfill.problem import Problem

    task = Problem(problem(size).observations, Square())
    start = settings(max_iter=5).solve(task, rng=0).model
    products = six_products(size)
    ours, ratios = [], []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        settings(max_iter=ITERATIONS).solve(task, start=start, rng=0)
        ours.append((time.perf_counter() - began) / ITERATIONS)
        ratios.append(ours[-1] / seconds(products, 5))
    return {"iteration": statistics.median(ours), "ratio": statistics.median(ratios)}


def memory(size: int, path: str) -> dict[str, float]:
    """Return what the data and its fit hold at their peak above the interpreter."""
    from tensorfill import Observations
    from tensorfill.losses import Square
    from tensorfill.problem import Problem

    settings(max_iter=1).solve(Problem(problem(20).observations, Square()), rng=0)
    before = peak()
    with np.load(path) as file:
        data = Observations(file["coords"], file["values"], (size,) * 3)
    model = settings(max_iter=30).solve(Problem(data, Square()), rng=0).model
    return {"bytes": peak() - before, "entries": len(data), "model": model.nbytes}


def saved(size: int, path: str) -> bool:
    """Write the entries of a problem to a file, so that another process need not make them."""
    observations = problem(size).observations
    np.savez(path, coords=observations.coords, values=observations.values)
    return True


def table() -> list[str]:
    """Measure what an iteration costs."""
    lines = heading(
        ["size", "entries", "iteration", "iteration / six scipy products", "peak memory", "allowed", "dense tensor"]
    )
    for size in (200, 400):
        cost = fresh(costs, size)
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "entries.npz")
            fresh(saved, size, path)
            held = fresh(memory, size, path)
        allowed = 100 * held["entries"] + 3 * held["model"]
        cells = [f"{size}^3", f"{held['entries']:,}", f"{1e3 * cost['iteration']:.0f} ms", f"{cost['ratio']:.2f}"]
        lines.append(row([*cells, mib(held["bytes"]), mib(allowed), mib(8 * size**3)]))
    return lines
