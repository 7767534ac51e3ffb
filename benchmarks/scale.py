"""The largest size of the paper: a stand-in for the full YouTube network, and how the cost grows with the entries."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from measure import FOLDER, fresh, heading, mib, peak, row

TEXT = """## At scale

A synthetic stand-in for the full YouTube network: 15,088 x 15,088 x 5, of rank 5 with noise of 0.01, half of the
entries to fit and half to predict. Two modes are regularised, with capped l1, rank at most 5 and a tolerance of 1e-4;
lambda is 0.2 and theta 0.8 for the largest, and both fall as the noise does, with the root of the number of entries.
Peak memory is that of the whole process, interpreter and test entries included. `growth.png` has the seconds of an
iteration by the number of entries.
"""

SHAPE = (15_088, 15_088, 5)
ENTRIES = [1_000_000, 3_000_000, 9_000_000, 27_257_790]


def saved(count: int, path: str) -> float:
    """Write so many entries, the first half of them with noise, and return how large they are without it."""
    from tensorfill.datasets import synthetic

    data = synthetic(SHAPE, observed=count // 2, rng=0)
    rng = np.random.default_rng(1)
    test = np.stack([rng.integers(size, size=count - count // 2) for size in SHAPE], axis=1)
    truth = data.at(test)
    seen = data.observations
    np.savez(path, coords=seen.coords, values=seen.values, test=test.astype(np.int32), truth=truth)
    return float(np.sqrt(np.mean(truth**2)))


def costs(path: str) -> dict[str, float]:
    """Load, solve and predict."""
    from tensorfill import Nort, Observations
    from tensorfill.losses import Square
    from tensorfill.methods.problem import Problem
    from tensorfill.metrics import rmse
    from tensorfill.penalties import CappedL1

    began = time.perf_counter()
    with np.load(path) as file:
        data = Observations(file["coords"], file["values"], SHAPE)
        loaded = time.perf_counter()
        scale = (2 * len(data) / ENTRIES[-1]) ** 0.5
        method = Nort(lam=0.2 * scale, penalty=CappedL1(0.8 * scale), modes=(0, 1), max_rank=5, tol=1e-4)
        result = method.solve(Problem(data, Square()), rng=0)
        solved = time.perf_counter()
        error = rmse(result.model.predict(file["test"]), file["truth"])
    times = result.history["seconds"]
    return {
        "load": loaded - began,
        "first": float(times[1]),
        "each": float(np.median(np.diff(times[1:]))),
        "iterations": len(times) - 1,
        "solve": solved - loaded,
        "predict": time.perf_counter() - solved,
        "error": error,
        "peak": peak(),
        "converged": result.status.name == "CONVERGED",
    }


def table() -> list[str]:
    """Measure every size, and draw how an iteration grows."""
    names = ["entries", "load", "first iteration", "each other", "iterations", "solve", "predict half", "test RMSE"]
    lines = heading([*names, "of size", "peak"])
    each = []
    for count in ENTRIES:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "entries.npz")
            size = fresh(saved, count, path)
            cost = fresh(costs, path)
        each.append(cost["each"])
        times = [f"{cost[name]:.2f} s" for name in ("load", "first", "each")]
        ending = f"{cost['iterations']}" + ("" if cost["converged"] else ", not converged")
        more = [f"{cost['solve']:.0f} s", f"{cost['predict']:.1f} s", f"{cost['error']:.2g}", f"{size:.2g}"]
        lines.append(row([f"{count:,}", *times, ending, *more, mib(cost["peak"])]))
    draw(each)
    return lines


def draw(each: list[float]) -> None:
    """Draw the seconds of an iteration against the entries, beside a straight line through the last."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 3.6), layout="constrained")
    axes = figure.add_subplot()
    fitted = [count / 2e6 for count in ENTRIES]
    axes.loglog(fitted, each, "o-", color="#0072B2", label="measured")
    line = [each[-1] * count / ENTRIES[-1] for count in ENTRIES]
    axes.loglog(fitted, line, "--", color="0.5", label="in proportion to the entries")
    axes.set_xlabel("entries fitted, in millions")
    axes.set_ylabel("seconds of an iteration")
    axes.grid(True, which="major", color="0.9")
    axes.legend(frameon=False)
    figure.savefig(FOLDER / "growth.png", dpi=150)
