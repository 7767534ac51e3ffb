"""The figure of ranks: those of the iterates of NORT, and how many directions it follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.methods.problem import Problem

from .experiment import Experiment, Finished, Measured, Task
from .fitting import fitted, from_zero

ITERATIONS, SPARE = 60, 10
"""The iterations that are followed, and how far the limit of the ranks is above those of the answer."""

PENALTIES = ("capped_l1", "lsp", "tnn")


def tasks(quick: bool) -> list[Task]:
    """Return a run for each penalty."""
    sizes = (30,) if quick else (200, 400)
    return [
        Task(f"{size}^3", f"nort:{penalty}", 0, {"size": size}, 10 if quick else 240)
        for size in sizes
        for penalty in PENALTIES
    ]


def run(task: Task) -> Measured:
    """Choose lambda, then follow the ranks of a run from zero with it."""
    size = task.options["size"]
    data = synthetic((size,) * 3, factors="normal", rng=task.seed)
    fit, found = fitted(task.method, data.observations, data.test, seed=task.seed, limit=task.limit)
    method: Any = from_zero(fit, spare=SPARE)
    solver = method.prepare(Problem(data.observations, Square()), None, np.random.default_rng(task.seed))
    curves: dict[str, list[float]] = {"iteration": []}
    for iteration in range(1, ITERATIONS + 1):
        solver.step()
        curves["iteration"].append(iteration)
        for mode, (rank, basis) in enumerate(zip(solver.progress().ranks, solver._now.bases, strict=True)):
            curves.setdefault(f"rank of X, mode {mode}", []).append(rank)
            curves.setdefault(f"directions of Z, mode {mode}", []).append(basis.shape[1])
    last = [curves[name][-1] for name in curves if name.startswith("rank")]
    most = max(max(curves[name]) for name in curves if name.startswith("directions"))
    return {**found, "last rank": max(last), "most directions": most, "curves": curves}


def draw(figure: Figure, runs: Sequence[Finished]) -> None:
    """Draw the ranks of the largest tensor that was run, a panel for each penalty."""
    done = [run for run in runs if "curves" in run.measured]
    if not done:
        return
    here = [run for run in done if run.data == done[-1].data]
    axes = figure.subplots(1, len(here), squeeze=False)[0]
    for ax, each in zip(axes, here, strict=True):
        curves = each.measured["curves"]
        for name in curves:
            if name != "iteration":
                style = "--" if name.startswith("directions") else "-"
                ax.plot(curves["iteration"], curves[name], style, label=name, linewidth=1.2)
        ax.set(title=f"{each.data}, {each.method}", xlabel="iteration", ylabel="rank", xscale="log")
    axes[0].legend(fontsize=7)


EXPERIMENT = Experiment(
    name="ranks",
    title="The figure of ranks over the iterations",
    tasks=tasks,
    run=run,
    data="Synthetic tensors as in `recovery`. The run starts from zero with the largest threshold of the search that "
    "is nearly as good as the best, and ranks of at most ten more than those of the answer.",
    differs="""
Z_t is never formed, and its rank is full as soon as it has a sparse part. What is drawn for it is how many directions
of it NORT follows.
""".strip(),
    measures=("last rank", "most directions", "rmse"),
    draw=draw,
)
