"""The time that NORT needs at a given lambda, with and without the polish by least squares.

python experiments/time_to_answer.py
python experiments/time_to_answer.py 200 400 --seeds 5 --clock cpu

The settings are those of the paper (see `synthetic_recovery.py`). A callback takes the test error after every
iteration, and the clock stands still meanwhile. The time to an error is that of the first iteration from which on the
error stays within 1.01 of it. It is given for two errors: "own end", the last of the same run, and "best end", the
lowest last error of all variants on the same tensor, which a worse variant never reaches.
The variants take turns in one process, in the opposite order on every second seed.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from synthetic_recovery import PAPER, shape_of, warm_up

import tensorfill
from tensorfill.datasets import synthetic
from tensorfill.datasets.synthetic import SyntheticTensor
from tensorfill.metrics import rmse
from tensorfill.models import Model

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}

NEAR = 1.01


def variants() -> dict[str, dict[str, Any]]:
    """Return the settings to compare, by name; a version of NORT without a polish has one."""
    if not any(each.name == "polish" for each in fields(tensorfill.Nort)):
        return {"no polish": {}}
    return {"no polish": {"polish": False}, "default": {}}


@dataclass
class Trace:
    """The test error of a run after every iteration, by a clock that does not count its own taking.

    Parameters
    ----------
    data
        The tensor, with the entries to test.
    clock
        Returns seconds.
    """

    data: SyntheticTensor
    clock: Callable[[], float]
    seconds: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    began: float = 0.0

    def run(self, seed: int, settings: dict[str, Any]) -> None:
        """Fit the tensor and take the error after every iteration and at the end."""
        self.began = self.clock()
        fit = tensorfill.complete(self.data.observations, rng=seed, callback=self._watch, **settings)
        self._take(fit.model)

    def _watch(self, record: object, model: Model) -> None:
        self._take(model)

    def _take(self, model: Model) -> None:
        now = self.clock()
        self.seconds.append(now - self.began)
        self.errors.append(rmse(model.predict(self.data.test.coords), self.data.test.values))
        self.began += self.clock() - now

    @property
    def iterations(self) -> int:
        """How many iterations were made; the last error is that of the answer."""
        return len(self.errors) - 1

    def time_to(self, error: float) -> float:
        """Return the seconds from which on the error stays within `NEAR` of `error`, infinite if it never does."""
        above = [number for number, each in enumerate(self.errors) if each > NEAR * error]
        first = above[-1] + 1 if above else 0
        return self.seconds[first] if first < len(self.seconds) else math.inf


def traced(shape: Sequence[int], factors: str, seed: int, clock: Callable[[], float]) -> dict[str, Trace]:
    """Run every variant on one tensor and return the traces by name."""
    data = synthetic(shape, factors=factors, rng=seed)
    compared = variants()
    traces = {name: Trace(data, clock) for name in compared}
    # The first run of a tensor may find caches cold, so that each variant goes first in turn.
    for name in list(compared) if seed % 2 == 0 else reversed(list(compared)):
        traces[name].run(seed, {**PAPER, **compared[name]})
    return traces


def cells(seed: int, name: str, trace: Trace, best: float) -> list[str]:
    """Return one row of the table."""
    return [
        str(seed),
        name,
        f"{trace.errors[-1]:.6f}",
        f"{trace.data.limit:.6f}",
        str(trace.iterations),
        f"{trace.seconds[-1]:.2f}",
        _seconds(trace.time_to(trace.errors[-1])),
        _seconds(trace.time_to(best)),
    ]


def _seconds(value: float) -> str:
    return "never" if math.isinf(value) else f"{value:.2f}"


def ratios(runs: Sequence[dict[str, Trace]], *, own: bool) -> list[float]:
    """Return how many times longer NORT takes without the polish, to its own end or to the best end, for each seed."""
    found = []
    for traces in runs:
        best = min(trace.errors[-1] for trace in traces.values())
        without, default = (trace.time_to(trace.errors[-1] if own else best) for trace in traces.values())
        found.append(without / default)
    return found


def main() -> None:
    """Run every shape and seed, and print a table for each shape."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", type=shape_of, default=[shape_of("200"), shape_of("400")])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--factors", choices=["uniform", "normal"], default="uniform")
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall", help="cpu is fairer on a busy machine")
    arguments = parser.parse_args()
    console = Console(width=160)
    for order in {len(shape) for shape in arguments.shapes}:
        for settings in variants().values():
            warm_up(order, {**PAPER, **settings})
    columns = ["seed", "variant", "final RMSE", "limit", "iterations", "seconds", "to own end", "to best end"]
    for shape in arguments.shapes:
        table = Table(*columns, box=box.MARKDOWN)
        runs = []
        for seed in range(arguments.seeds):
            runs.append(traced(shape, arguments.factors, seed, CLOCKS[arguments.clock]))
            best = min(trace.errors[-1] for trace in runs[-1].values())
            for name, trace in runs[-1].items():
                table.add_row(*cells(seed, name, trace, best))
        title = f"{shape}, {arguments.factors} factors, seconds by the {arguments.clock} clock"
        console.print(f"\n{title}", highlight=False)
        console.print(table)
        if len(variants()) > 1:
            for end, own in (("own end", True), ("best end", False)):
                middle = statistics.median(ratios(runs, own=own))
                console.print(f"time to {end}, no polish over default: {middle:.2f} (median)", highlight=False)


if __name__ == "__main__":
    main()
