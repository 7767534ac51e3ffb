"""What the first call costs: on a machine that has never run it, and after."""

from __future__ import annotations

import os
import tempfile
import time

from measure import fresh, heading, row

TEXT = """## The first call

Seconds in a fresh process: to import tensorfill, and then to complete a tensor, with the compiled loops not on disk
yet, and with them there. The smaller tensor is stored densely, which needs none.
"""

CASES = {"20 x 20 x 20": (20, 2_400), "60 x 60 x 60": (60, 10_800)}
"""The size of each mode, and how many entries are known."""


def costs(size: int, known: int) -> tuple[float, float, float]:
    """Return the seconds of the import, of a first call and of a second one."""
    began = time.perf_counter()
    import tensorfill

    imported = time.perf_counter() - began
    from tensorfill.datasets import synthetic

    data = synthetic((size,) * 3, rank=2, observed=known, rng=0).observations
    times = []
    for _ in range(2):
        start = time.perf_counter()
        tensorfill.complete(data, rng=0)
        times.append(time.perf_counter() - start)
    return imported, times[0], times[1]


def table() -> list[str]:
    """Measure a machine without compiled loops, and then the same one with them."""
    lines = heading(
        ["tensor", "known", "compiled loops", "import tensorfill", "first complete(data)", "second in the same process"]
    )
    for tensor, (size, known) in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
            for name in ("not there yet", "on disk"):
                spent = [f"{seconds:.2f} s" for seconds in fresh(costs, size, known, environment=environment)]
                lines.append(row([tensor, f"{known:,}", name, *spent]))
    return lines
