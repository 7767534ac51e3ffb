"""A run that is killed again and again, and whether it ends with the same bits as one that nobody touched.

    python experiments/kills.py [--kills 100] [--seed 0] [PROBLEM ...]
    python experiments/kills.py --cost [--scale 4]

A child process runs `complete` with a checkpoint and gets SIGKILL after a random share of the time that a whole run
takes. The next child goes on from the file, and so on, until one comes to its end. Its model, search, history and
intervals are compared with those of a run without a checkpoint. Every second series writes the file as often as it can,
so that drafts of single solves are resumed too.

With ``--cost``, the CPU time that the checkpoint takes is measured within a run instead.
"""

from __future__ import annotations

import argparse
import functools
import json
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import tensorfill
from tensorfill import graphs
from tensorfill._support.fingerprints import fingerprint
from tensorfill.io import checkpoints

Array = NDArray[np.float64]
Problem = tuple[Array, dict[str, Any]]


def low_rank(shape: tuple[int, ...], rank: int = 3, observed: float = 0.5, noise: float = 0.3) -> Array:
    """Return a noisy tensor of low rank with holes."""
    rng = np.random.default_rng(0)
    weights = np.geomspace(1, 0.3, rank)
    terms = [weights[r] * _outer([rng.standard_normal(size) for size in shape]) for r in range(rank)]
    values = np.sum(terms, axis=0) + noise * rng.standard_normal(shape)
    return np.where(rng.random(shape) < observed, values, np.nan)


def _outer(factors: list[Array]) -> Array:
    return functools.reduce(np.multiply, np.ix_(*factors))


def with_outliers(values: Array) -> Array:
    """Return the values with gross errors in 3% of them."""
    rng = np.random.default_rng(1)
    return np.where(rng.random(values.shape) < 0.03, 30 * rng.standard_normal(values.shape), values) + 0 * values


def picture(shape: tuple[int, int]) -> Array:
    """Return a smooth surface with holes."""
    rng = np.random.default_rng(0)
    rows, columns = (np.linspace(0, 3, size) for size in shape)
    surface = np.sin(np.add.outer(rows, columns**2)) + 0.05 * rng.standard_normal(shape)
    return np.where(rng.random(shape) < 0.4, surface, np.nan)


def stations(shape: tuple[int, ...]) -> Problem:
    """Return a tensor whose first mode has places, with slices that nobody observed."""
    places = np.random.default_rng(2).uniform(0, 30, (shape[0], 2))
    values = low_rank(shape)
    values[:3] = np.nan
    return values, {"method": "nort", "laplacian": {0: graphs.haversine(places)}}


def counts(shape: tuple[int, ...]) -> Array:
    """Return counts with effects and a low rank, with holes."""
    rng = np.random.default_rng(3)
    rates = np.exp(np.clip(1 + low_rank(shape, 2, 1.0, 0.0) / 2, -3, 3))
    return np.where(rng.random(shape) < 0.5, rng.poisson(rates), np.nan)


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "default": lambda scale: (low_rank((24 * scale, 20, 16)), {}),
    "nort": lambda scale: (low_rank((24 * scale, 20, 16)), {"method": "nort"}),
    "sparse nort": lambda scale: (low_rank((60 * scale, 50, 40), observed=0.1), {"method": "nort"}),
    "given lambda": lambda scale: (low_rank((60 * scale, 50, 40)), {"lam": 1.0, "tol": 1e-7}),
    "robust": lambda scale: (with_outliers(low_rank((20 * scale, 18, 16))), {"loss": "l1"}),
    "graph": lambda scale: stations((20 * scale, 16, 12)),
    "smooth": lambda scale: (picture((64 * scale, 48)), {}),
    "polish": lambda scale: (low_rank((24 * scale, 20, 16)), {"method": "nort", "refine": "tucker"}),
    "counts": lambda scale: (counts((16 * scale, 14, 10)), {"loss": "poisson"}),
    "splits": lambda scale: (low_rank((20 * scale, 16, 12)), {"choose": tensorfill.Choice(splits=2)}),
}


def answer_of(fit: tensorfill.Fit) -> str:
    """Return a text that any other bit of an answer changes; only times do not count."""
    path = [(point.method, dict(point.tried), point.held_out, point.iterations) for point in fit.path or ()]
    history = [(record.iteration, record.objective, record.f_tau, record.ranks) for record in fit.history]
    errors = None if fit.error_bars is None else (fit.error_bars.residuals, fit.error_bars.weights)
    return fingerprint(fit.model, fit.status, path, history, errors, fit.method, fit.recipe.stages)


def child(name: str, file: str, eager: bool) -> None:
    """Run a problem with or without a checkpoint, and print the answer."""
    warnings.simplefilter("ignore")
    data, options = PROBLEMS[name](1)
    if eager:
        checkpoints.EVERY, checkpoints.SHARE = 0.0, 1e9
    complete = tensorfill.complete
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    began = time.monotonic()
    fit = complete(data, rng=0, checkpoint=file or None, **options)
    sys.stdout.write(json.dumps({"answer": answer_of(fit), "seconds": time.monotonic() - began}) + "\n")


def run(name: str, file: str = "", *, eager: bool = False, kill_after: float | None = None) -> dict[str, Any] | None:
    """Run a problem in a process of its own, which is killed after some seconds; return its answer, if it had time."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--child", name, file, str(int(eager))], stdout=subprocess.PIPE, text=True
    )
    if process.stdout is None or process.stdout.readline() != "ready\n":
        raise RuntimeError(f"the problem {name!r} did not start.")
    try:
        out, _ = process.communicate(timeout=kill_after)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return None
    if process.returncode:
        raise RuntimeError(f"the problem {name!r} failed.")
    return json.loads(out)  # type: ignore[no-any-return]


def series(name: str, whole: dict[str, Any], kills: int, eager: bool, rng: np.random.Generator) -> tuple[int, bool]:
    """Kill a run so many times at random moments; return how often it came to its end before, and if all bits agree."""
    with tempfile.TemporaryDirectory() as folder:
        file, same, ends = str(Path(folder) / "run.npz"), True, 0
        for _ in range(kills):
            found = run(name, file, eager=eager, kill_after=rng.uniform(0, whole["seconds"]))
            if found is not None:
                same, ends = same and found["answer"] == whole["answer"], ends + 1
                Path(file).unlink()
        last = run(name, file, eager=eager)
        return ends, same and last is not None and last["answer"] == whole["answer"]


def kill_all(names: list[str], kills: int, seed: int) -> None:
    """Kill the runs of all problems, and print what came of it."""
    rng = np.random.default_rng(seed)
    table = Table("problem", "seconds", "killed", "ended before", "same bits")
    each = -(-kills // (2 * len(names)))
    for name in names:
        whole = run(name)
        if whole is None:
            raise RuntimeError("a run that nobody kills must come to its end.")
        for eager in (False, True):
            ends, same = series(name, whole, each, eager, rng)
            words = f"{name}, {'every iteration' if eager else 'as usual'}"
            table.add_row(words, f"{whole['seconds']:.2f}", str(each - ends), str(ends), "yes" if same else "NO")
            Console().print(f"{words}: {each - ends} killed, {'same' if same else 'OTHER'} bits", highlight=False)
    Console().print(table)


class Timer:
    """Adds up the CPU time that functions take, of the thread that calls them; a call within a call counts once."""

    def __init__(self) -> None:
        self.seconds, self.calls, self._inside = 0.0, 0, False

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its time measured."""

        @functools.wraps(function)
        def measured(*given: Any, **options: Any) -> Any:
            if self._inside:
                return function(*given, **options)
            self._inside, began = True, time.thread_time()
            try:
                return function(*given, **options)
            finally:
                self.seconds, self._inside = self.seconds + time.thread_time() - began, False
                self.calls += 1

        return measured


def cost(names: list[str], scale: int) -> None:
    """Print which share of the CPU time of a run its checkpoint takes, and how long the finished run takes again."""
    warnings.simplefilter("ignore")
    table = Table("problem", "CPU s", "for the checkpoint", "share", "writes", "MiB", "again, CPU s")
    kept, whole, kind = checkpoints.fingerprint, checkpoints.Checkpoint._write, checkpoints.Checkpoint
    methods = {name: getattr(kind, name) for name in ("_keep", "_found", "_forget", "write_if_due", "is_due")}
    for name in names:
        data, options = PROBLEMS[name](scale)
        # The first run compiles.
        tensorfill.complete(data, rng=0, max_iter=2, **{"method": "nort"} | options)
        work, writes = Timer(), Timer()
        checkpoints.fingerprint = work.timed(kept)
        kind._write = work.timed(writes.timed(whole))  # type: ignore[method-assign]
        for each, method in methods.items():
            setattr(kind, each, work.timed(method))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "run.npz"
            seconds = []
            for _ in range(2):
                began = time.process_time()
                tensorfill.complete(data, rng=0, checkpoint=file, **options)
                seconds.append(time.process_time() - began)
                if len(seconds) == 1:
                    share, count, spent = work.seconds / seconds[0], writes.calls, work.seconds
            size = file.stat().st_size / 2**20
        numbers = [f"{seconds[0]:.2f}", f"{spent:.3f}", f"{100 * share:.2f}%", str(count), f"{size:.1f}"]
        table.add_row(name, *numbers, f"{seconds[1]:.2f}")
        checkpoints.fingerprint, kind._write = kept, whole  # type: ignore[method-assign]
        for each, method in methods.items():
            setattr(kind, each, method)
    Console().print(table)


def main() -> None:
    """Kill runs, or measure what checkpoints cost."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", help=f"some of {', '.join(PROBLEMS)}; default all")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cost", action="store_true", help="measure CPU time instead")
    parser.add_argument("--scale", type=int, default=1, help="of the problems whose cost is measured")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    names = given.problems or list(PROBLEMS)
    if given.child:
        child(given.child[0], given.child[1], given.child[2] == "1")
    elif given.cost:
        cost(names, given.scale)
    else:
        kill_all(names, given.kills, given.seed)


if __name__ == "__main__":
    main()
