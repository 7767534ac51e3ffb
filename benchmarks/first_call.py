"""What the first call costs: on a machine that has never run it, and after."""

from __future__ import annotations

import os
import tempfile
import time

import numpy as np

from measure import fresh, heading, row

TEXT = """## The first call

Seconds of CPU, the least of three runs: from the start of a process to the end of its first `complete(data)`, with no
compiled loops on disk yet and with them there; and of the second call in the same process. Up to 20,000 entries need
few compiled loops or none. The third column has how many functions numba compiles for the first call.
"""

SPARSE = {"20 x 20 x 20": (20, 2, 2_400), "60 x 60 x 60": (60, 2, 10_800), "200 x 200 x 200": (200, 5, 381_479)}
"""The size of each mode, the rank, and how many entries are known."""

TABLE = (442, 10)
"""The shape of a dense table of which a fifth is missing."""

RUNS = 3


def data_of(tensor: str):
    """Return the observations of a case."""
    from tensorfill.datasets import synthetic

    if tensor in SPARSE:
        size, rank, known = SPARSE[tensor]
        return synthetic((size,) * 3, rank=rank, observed=known, rng=0).observations
    rng = np.random.default_rng(0)
    table = rng.standard_normal((TABLE[0], 3)) @ rng.standard_normal((3, TABLE[1])) + 0.1 * rng.standard_normal(TABLE)
    table[rng.random(TABLE) < 0.2] = np.nan
    return table


def costs(tensor: str) -> tuple[float, float]:
    """Return the seconds of a first call with its imports, and of a second one."""
    data, times = data_of(tensor), []
    imported = time.process_time()  # numpy, and what makes the data
    for _ in range(2):
        start = time.process_time()
        import tensorfill

        tensorfill.complete(data, rng=0)
        times.append(time.process_time() - start)
    return times[0] + imported, times[1]


def compilations(tensor: str) -> int:
    """Return how many functions numba compiles for a first call, those within numba and all types counted."""
    from numba.core import event

    import tensorfill

    with event.install_recorder("numba:compile") as recorder:
        tensorfill.complete(data_of(tensor), rng=0)
    return sum(each.is_start for _, each in recorder.buffer)


def table() -> list[str]:
    """Measure a machine without compiled loops, and then the same one with them."""
    lines = heading(["tensor", "known", "compiled", "first, none on disk", "first, on disk", "second"])
    for tensor in [*SPARSE, f"{TABLE[0]} x {TABLE[1]}"]:
        cold, warm, second = [], [], []
        for _ in range(RUNS):
            with tempfile.TemporaryDirectory() as folder:
                environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
                cold.append(fresh(costs, tensor, environment=environment)[0])
                again = fresh(costs, tensor, environment=environment)
            warm.append(again[0])
            second.append(again[1])
        known = SPARSE[tensor][2] if tensor in SPARSE else round(0.8 * TABLE[0] * TABLE[1])
        with tempfile.TemporaryDirectory() as folder:
            count = fresh(compilations, tensor, environment={**os.environ, "NUMBA_CACHE_DIR": folder})
        spent = [f"{min(times):.2f} s" for times in (cold, warm, second)]
        lines.append(row([tensor, f"{known:,}", str(count), *spent]))
    return lines
