"""Above which density dense storage is the faster: seconds of an iteration, sparse over dense.

python benchmarks/storage.py
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from tensorfill import Nort, Observations
from tensorfill.losses import Square
from tensorfill.penalties import CappedL1
from tensorfill.problem import Problem

SHAPES = [(100, 100, 100), (200, 200, 200), (300, 300, 3), (1000, 1000, 3), (30, 30, 1464), (40, 40, 40, 40)]
DENSITIES = [0.02, 0.05, 0.1, 0.2, 0.4]
ITERATIONS = 10


def iteration(task: Problem, storage: str) -> float:
    """Return the seconds of an iteration at rank 5, without what only the first one does."""
    method = Nort(lam=1e-3, penalty=CappedL1(1.0), max_rank=5, tol=0, storage=storage, max_iter=1)
    start = method.solve(task, rng=0).model
    times = []
    for _ in range(3):
        began = time.perf_counter()
        Nort(
            lam=1e-3, penalty=CappedL1(1.0), max_rank=5, tol=0, storage=storage, max_iter=ITERATIONS
        ).solve(task, start=start, rng=0)  # fmt: skip
        times.append(time.perf_counter() - began)
    return statistics.median(times) / ITERATIONS


def main() -> None:
    """Print a table of ratios."""
    print("| shape |", " | ".join(f"{density:.0%}" for density in DENSITIES), "|")
    print("| --- |", " | ".join("---" for _ in DENSITIES), "|")
    for shape in SHAPES:
        rng = np.random.default_rng(0)
        array = rng.standard_normal(shape)
        ratios = []
        for density in DENSITIES:
            task = Problem(Observations.from_dense(array, rng.random(shape) < density), Square())
            ratios.append(iteration(task, "sparse") / iteration(task, "dense"))
        print(f"| {'x'.join(map(str, shape))} |", " | ".join(f"{ratio:.2f}" for ratio in ratios), "|", flush=True)


if __name__ == "__main__":
    main()
