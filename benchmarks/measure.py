"""What every benchmark needs: median times, fresh processes, the problems of the design, rows of tables."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def seconds(action: Callable[[], object], repeats: int) -> float:
    """Return the median time of an action, after one call that is not counted."""
    action()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def fresh(
    function: Callable[..., Any], *given: Any, environment: dict[str, str] | None = None, limit: float | None = None
) -> Any:
    """Return what a function of a benchmark answers in a process of its own, which is ended after `limit` seconds."""
    module, name = Path(sys.modules[function.__module__].__file__ or "").stem, function.__name__
    script = (
        f"import json, sys; sys.path.insert(0, {str(FOLDER)!r}); import {module}; "
        f"print(json.dumps({module}.{name}(*json.loads(sys.argv[1]))))"
    )
    command = [sys.executable, "-c", script, json.dumps(given)]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment, timeout=limit)
    return json.loads(answer.stdout.splitlines()[-1])


def peak() -> float:
    """Return the most bytes that this process has held, since `watched` was called or since it began."""
    return _bytes_of("VmHWM")


def watched() -> float:
    """Return the bytes that this process holds now, and let `peak` watch from here on."""
    Path("/proc/self/clear_refs").write_text("5")
    return held()


def held() -> float:
    """Return the bytes that this process holds now."""
    return _bytes_of("VmRSS")


def _bytes_of(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * float(line.split()[1]) for line in lines if line.startswith(name))


def problem(size: int):
    """Return the synthetic tensor of the design with this size in each of three modes."""
    from tensorfill.datasets import synthetic

    return synthetic((size,) * 3, rng=3)


def settings(**more):
    """Return NORT with the settings of the design."""
    from tensorfill import Nort
    from tensorfill.penalties import CappedL1

    return Nort(lam=0.4 / 3, penalty=CappedL1(0.8), max_rank=5, **{"tol": 0.0, **more})


def row(cells: Sequence[str]) -> str:
    """Return a row of a table, printed as soon as it is known."""
    line = f"| {' | '.join(cells)} |"
    print(line, flush=True)
    return line


def heading(names: Sequence[str]) -> list[str]:
    """Return the first two rows of a table."""
    return [row(names), row(["---"] * len(names))]


def mib(count: float) -> str:
    """Return bytes in words."""
    return f"{count / 2**20:.0f} MiB"
