"""The figure of critical points: where NORT ends from random starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tensorfill.algebra.component import Component
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.methods.problem import Problem
from tensorfill.metrics import rmse
from tensorfill.models import FoldedLowRank

from .experiment import Experiment, Finished, Measured, Task
from .fitting import POINTS, fitted

PLACES = 5_000
"""Entries at which answers are compared."""


def tasks(quick: bool) -> list[Task]:
    """Return a run for each penalty; each has all the starts."""
    sizes, starts = ((30,), 3) if quick else ((200, 400), 20)
    return [
        Task(f"{size}^3", f"nort:{penalty}", 0, {"size": size, "starts": starts}, 10 if quick else 1.5 * size)
        for size in sizes
        for penalty in ("lsp", "capped_l1")
    ]


def run(task: Task) -> Measured:
    """Solve from random starts, and compare every iterate with the truth and with the best answer."""
    size = task.options["size"]
    data = synthetic((size,) * 3, factors="normal", rng=task.seed)
    fit, found = fitted(task.method, data.observations, data.test, seed=task.seed, limit=task.limit)
    method: Any = fit.method
    problem = Problem(data.observations, Square())
    test = data.test.select(np.arange(len(data.test)) < PLACES)
    answers, objectives = [], []
    for start in range(task.options["starts"]):
        seen = [method_start(problem, method.modes, start)]
        iterates = [seen[0].predict(test.coords)]
        result = method.solve(
            problem,
            start=seen[0],
            rng=start,
            callback=lambda record, model, kept=iterates: kept.append(model.predict(test.coords)) and None,
        )
        answers.append(iterates)
        objectives.append(result.history[-1].f_tau)
    best = answers[int(np.argmin(objectives))][-1]
    curves: dict[str, list[float]] = {}
    ends: dict[str, list[float]] = {"statistical": [], "optimisation": []}
    for start, iterates in enumerate(answers):
        kept = sorted({*range(0, len(iterates), max(1, len(iterates) // POINTS)), len(iterates) - 1})
        curves[f"iteration {start}"] = [float(place) for place in kept]
        for name, target in (("statistical", test.values), ("optimisation", best)):
            errors = [rmse(iterates[place], target) for place in kept]
            curves[f"{name} {start}"] = [float(f"{value:.5g}") for value in errors]
            ends[name].append(errors[-1])
    return {
        **found,
        "rmse": float(np.mean(ends["statistical"])),
        "worst statistical error": max(ends["statistical"]),
        "largest optimisation error": max(ends["optimisation"]),
        "limit of any method": data.limit,
        "curves": curves,
    }


def method_start(problem: Problem, modes: Sequence[int], seed: int) -> FoldedLowRank:
    """Return the paper's random start: a rank-one matrix of normal numbers for each mode."""
    rng, shape = np.random.default_rng(seed), problem.observations.shape
    parts = []
    for mode in modes:
        u, v = rng.standard_normal(shape[mode]), rng.standard_normal(int(np.prod(shape)) // shape[mode])
        long = np.linalg.norm(u) * np.linalg.norm(v)
        parts.append(
            Component(mode, (u / np.linalg.norm(u))[:, None], np.array([long]), (v / np.linalg.norm(v))[:, None])
        )
    return FoldedLowRank(shape, tuple(parts), (1 / len(parts),) * len(parts))


def draw(figure: Figure, runs: Sequence[Finished]) -> None:
    """Draw both errors of every start."""
    done = [run for run in runs if "curves" in run.measured]
    if not done:
        return
    axes = figure.subplots(1, len(done), squeeze=False)[0]
    figure.set_size_inches(4.5 * len(done), 3.6)
    for ax, each in zip(axes, done, strict=True):
        curves = each.measured["curves"]
        for start in range(sum(name.startswith("iteration") for name in curves)):
            x = curves[f"iteration {start}"]
            ax.plot(x, curves[f"statistical {start}"], color="tab:red", linewidth=0.8)
            ax.plot(x, curves[f"optimisation {start}"], color="black", linewidth=0.8)
        ax.set(title=f"{each.data}, {each.method}", xlabel="iteration", ylabel="RMSE", yscale="log")
    axes[0].plot([], [], color="tab:red", label="to the truth")
    axes[0].plot([], [], color="black", label="to the best answer")
    axes[0].legend(fontsize=7)


EXPERIMENT = Experiment(
    name="critical-points",
    title="The figure of statistical and optimisation errors from random starts",
    tasks=tasks,
    run=run,
    data="Synthetic tensors as in `recovery`; 20 starts, each a rank-one matrix of normal numbers for each mode.",
    differs="""
The best answer is the one with the lowest F_tau, which is what NORT minimises. Errors are taken at 5,000 entries. From
a random start, a weak term is lost at first, and the error stays on a plateau until it comes back. Starts that meet the
tolerance there, 1e-4, have the larger errors.
""".strip(),
    measures=("rmse", "worst statistical error", "largest optimisation error"),
    draw=draw,
)
