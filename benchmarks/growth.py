"""How the cost grows with the entries, the length of a mode, the rank and the order, as fitted exponents."""

from __future__ import annotations

import os
import subprocess
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from measure import fresh, heading, row, settings
from waiting import ONE_THREAD, Seconds

TEXT = """## How the cost grows

CPU seconds on one thread, without compiling, while one size grows and the others stay. The exponent is the slope of a
straight line through the logarithms; "last" is that of the last step alone. An iteration is one of NORT with capped l1
and what it stores already there; `complete` chooses everything. Entries are drawn at random, of a tensor of rank 3 (of
the rank, where that grows) with noise. Between `complete` at one size and the next, held-out entries may end a search
earlier or later. A long mode is one of a million entries; slices without an entry take no part.
"""

MOST_SECONDS = 900
"""A measurement that takes longer is ended."""

LONG = (300, 20)
"""The modes beside a long one."""

GROWING: dict[str, tuple[Sequence[int], str]] = {
    "entries": ((100_000, 300_000, 1_000_000, 3_000_000), "500^3"),
    "indices": ((10_000, 100_000, 1_000_000, 10_000_000), "a mode of so many beside 300 x 20, a million entries"),
    "rank": ((5, 10, 20, 40, 80), "200^3, 800,000 entries"),
    "order": ((3, 4, 5), "80^3 and modes of 4 more, 300,000 entries"),
}
"""The sizes of each kind, and what else there is."""


def made(kind: str, size: int):
    """Return the observations of a case, and the rank of what they are drawn from."""
    from tensorfill.datasets import synthetic

    given: dict[str, Any] = {
        "entries": {"shape": (500,) * 3, "rank": 3, "observed": size},
        "indices": {"shape": (size, *LONG), "rank": 3, "observed": 1_000_000},
        "rank": {"shape": (200,) * 3, "rank": size, "observed": 800_000},
        "order": {"shape": (80,) * 3 + (4,) * (size - 3), "rank": 3, "observed": 300_000},
    }[kind]
    rank = given["rank"]
    return synthetic(given.pop("shape"), rng=3, **given).observations, rank


def iteration(kind: str, size: int) -> float:
    """Return the seconds of an iteration of NORT."""
    from tensorfill._support.clock import Clock
    from tensorfill.choosing.stages.present_slices import PresentSlices
    from tensorfill.losses import Square
    from tensorfill.methods.problem import Problem

    observations, rank = made(kind, size)
    task, _ = PresentSlices(frozenset()).reduce(Problem(observations, Square()), Clock())
    method = settings(polish=False, max_iter=8)
    method = method.__class__(**{**vars(method), "max_rank": rank})
    start = method.solve(task, rng=0).model
    times: list[float] = []
    method.solve(task, start=start, rng=0, callback=lambda record, model: times.append(time.process_time()))
    return float(np.median(np.diff(times[2:])))


def complete(kind: str, size: int) -> float:
    """Return the seconds of `complete`."""
    import tensorfill

    warnings.simplefilter("ignore")
    observations, _ = made(kind, size)
    tensorfill.complete(tensorfill.datasets.synthetic((60, 50, 40), rank=1, rng=0).observations, rng=0)
    spent = Seconds()
    with spent.counted():
        tensorfill.complete(observations, rng=0)
    return spent.spent


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the slope of the logarithm of the seconds over that of the sizes.

    >>> round(exponent([1, 2, 4], [3, 6, 12]), 3)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def table(kinds: Sequence[str] = tuple(GROWING)) -> list[str]:
    """Measure each kind of growth, for an iteration and for the whole call."""
    lines = heading(["what grows", "sizes", "of", "seconds", "exponent", "last"])
    for kind in kinds:
        sizes, rest = GROWING[kind]
        for name, measure in (("an iteration", iteration), ("complete", complete)):
            times: list[float] = []
            for size in sizes:
                try:
                    times.append(
                        fresh(measure, kind, size, environment={**os.environ, **ONE_THREAD}, limit=MOST_SECONDS)
                    )
                except subprocess.TimeoutExpired:
                    break
            known = list(sizes[: len(times)])
            words = [f"{each:.3g}" for each in times] + [f"over {MOST_SECONDS}"] * (len(times) < len(sizes))
            slopes = [f"{exponent(known, times):.2f}", f"{exponent(known[-2:], times[-2:]):.2f}"]
            cells = [f"{kind}, {name}", ", ".join(f"{each:,}" for each in sizes), rest, ", ".join(words), *slopes]
            lines.append(row(cells))
    return lines


if __name__ == "__main__":
    import sys

    table(sys.argv[1:] or tuple(GROWING))
