"""Which storage is the faster, and whether the switch between them picks it."""

from __future__ import annotations

import numpy as np

from measure import fresh, heading, row, seconds

TEXT = """## Sparse or dense storage

The seconds of an iteration at rank 5 with each storage, on noise, as a ratio; and what `storage="auto"` takes.
"""

CASES = [
    ((1000, 1000, 3), 0.05),
    ((1000, 1000, 3), 0.5),
    ((50, 50, 50), 0.05),
    ((30, 30, 1464), 0.3),
    ((30, 30, 1464), 0.7),
    ((200, 200, 200), 0.05),
    ((40, 40, 40, 40), 0.05),
    ((40, 40, 40, 40), 0.3),
]
ITERATIONS = 8


def costs(shape: list[int], density: float) -> tuple[float, bool]:
    """Return sparse seconds over dense ones, and whether the switch takes dense storage."""
    from tensorfill import Nort, Observations
    from tensorfill.losses import Square
    from tensorfill.methods.memory import dense_is_faster
    from tensorfill.methods.problem import Problem
    from tensorfill.penalties import CappedL1

    rng = np.random.default_rng(0)
    data = Observations.from_dense(rng.standard_normal(shape), rng.random(shape) < density)
    task = Problem(data, Square())
    times = {}
    for storage in ("sparse", "dense"):
        given = {"lam": 1e-3, "penalty": CappedL1(1.0), "max_rank": 5, "tol": 0.0, "storage": storage}
        start = Nort(max_iter=1, **given).solve(task, rng=0).model
        method = Nort(max_iter=ITERATIONS, **given)
        times[storage] = seconds(lambda m=method, s=start: m.solve(task, start=s, rng=0), 3)
    return times["sparse"] / times["dense"], dense_is_faster(data)


def table() -> list[str]:
    """Measure both storages."""
    lines = heading(["shape", "observed", "sparse / dense", "taken", "loses"])
    for shape, density in CASES:
        ratio, dense = fresh(costs, shape, density)
        lost = max(1 / ratio if dense else ratio, 1.0) - 1
        cells = ["x".join(map(str, shape)), f"{density:.0%}", f"{ratio:.2f}", "dense" if dense else "sparse"]
        lines.append(row([*cells, f"{lost:.0%}"]))
    return lines
