"""The figures of noise, observations, order and rank: one thing varied at a time on synthetic tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tensorfill.datasets import synthetic

from .drawing import draw_against, styles_of
from .experiment import Experiment, Finished, Measured, Task
from .fitting import AUTOMATIC, chosen_by_nort, fitted

ROWS = (AUTOMATIC, "nort:lsp", "gdpan:lsp")


def _task(
    shape: tuple[int, ...], row: str, *, limit: float, rank: int = 5, noise: float = 0.01, share: float = 0.0
) -> Task:
    size = " x ".join(map(str, shape))
    said = [size, f"rank {rank}", f"noise {noise:g}", f"{share:.1%} observed" if share else "observed as in the paper"]
    options = {"shape": shape, "rank": rank, "noise": noise, "share": share}
    return Task(", ".join(said), row, 0, options, limit)


def run(task: Task) -> Measured:
    """Fit one tensor."""
    options, shape = task.options, tuple(task.options["shape"])
    observed = round(options["share"] * math.prod(shape)) or None
    data = synthetic(
        shape, rank=options["rank"], noise=options["noise"], observed=observed, factors="normal", rng=task.seed
    )
    _, found = fitted(
        task.method,
        data.observations,
        data.test,
        seed=task.seed,
        limit=task.limit,
        settings=chosen_by_nort(task, data.observations),
        curves=task.method != AUTOMATIC,
    )
    entries = len(data.observations)
    return {
        **found,
        "rmse / limit": found["rmse"] / data.limit,
        "noise": options["noise"],
        "root of log I / n": math.sqrt(math.log(math.prod(shape)) / entries),
        "order": len(shape),
        "root of the rank": math.sqrt(options["rank"]),
        "entries": entries,
        "size": shape[0],
    }


def _noise_tasks(quick: bool) -> list[Task]:
    levels, shares = ((0.01, 0.1), (0.3,)) if quick else ((0.001, 0.003, 0.01, 0.03, 0.1), (0.025, 0.01))
    return _grid(quick, levels, shares)


def _grid(quick: bool, levels: Sequence[float], shares: Sequence[float]) -> list[Task]:
    """Return runs at every noise and share: all three rows on a small tensor, two on the large one."""
    if quick:
        return [
            _task((24,) * 3, row, noise=noise, share=share, limit=10)
            for row in ROWS for noise in levels for share in shares
        ]  # fmt: skip
    small = [
        _task((100,) * 3, row, noise=noise, share=4 * share, limit=40)
        for share in shares for noise in levels for row in ROWS
    ]  # fmt: skip
    large = [
        _task((400,) * 3, row, noise=noise, share=share, limit=240)
        for share in shares for noise in levels for row in ROWS[:2]
    ]  # fmt: skip
    return small + large


def _observation_tasks(quick: bool) -> list[Task]:
    levels, shares = ((0.01,), (0.2, 0.4)) if quick else ((0.003, 0.01, 0.03), (0.005, 0.0075, 0.01, 0.015, 0.025))
    return _grid(quick, levels, shares)


def _order_tasks(quick: bool) -> list[Task]:
    if quick:
        return [_task(shape, row, limit=10) for shape in ((24, 24), (24, 24, 24)) for row in ROWS]
    shapes = ((400, 400), (400, 400, 400), (400, 400, 400, 5), (400, 400, 400, 5, 5))
    small = ((100, 100), (100, 100, 100), (100, 100, 100, 5))
    return [
        *(_task(shape, row, limit=60) for shape in small for row in ROWS),
        *(_task(shape, row, limit=300) for shape in shapes for row in ROWS[:2]),
        _task(shapes[-1], "gdpan:lsp", limit=60),
    ]


def _rank_tasks(quick: bool) -> list[Task]:
    if quick:
        return [_task((24,) * 3, row, rank=rank, share=0.4, limit=10) for rank in (2, 4) for row in ROWS]
    return [
        *(_task((100,) * 3, row, rank=rank, share=0.1, limit=60) for rank in (5, 10, 15, 20) for row in ROWS),
        *(_task((400,) * 3, row, rank=rank, share=0.027, limit=300) for rank in (5, 10, 15, 20) for row in ROWS[:2]),
    ]


def _drawer(x: str, label: str, *, by: str = "") -> Callable[[Figure, Sequence[Finished]], None]:
    """Return what draws the error against one thing, a panel for each size, and the way there."""

    def line(run: Finished) -> str:
        return run.method + (f", {by} {_number(run.measured[by])}" if by else "")

    def draw(figure: Figure, runs: Sequence[Finished]) -> None:
        done = [run for run in runs if "rmse" in run.measured]
        sizes = sorted({run.measured["size"] for run in done})
        if not sizes:
            return
        figure.set_size_inches(5 * len(sizes), 4.4)
        styles = styles_of(map(line, done))
        for ax, size in zip(figure.subplots(1, len(sizes), squeeze=False)[0], sizes, strict=True):
            here = [run for run in done if run.measured["size"] == size]
            draw_against(ax, here, lambda run: float(run.measured[x]), line, styles, label)
            ax.set_title(f"first modes of size {size}")
            if x == "noise":
                ax.set_xscale("log")
            if x == "order":
                ax.xaxis.set_major_locator(MaxNLocator(integer=True))

    return draw


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


DIFFERS = """
The paper has 400^3 throughout. `gdpan`, which holds whole tensors, runs on tensors with modes of 100 here. It has the
rank limits of NORT there, and the largest threshold that is nearly as good as NORT's, which keeps noise out but shrinks
more. NORT and `complete()` run on both. One tensor each, where the paper averages five.
""".strip()

NOISE = Experiment(
    name="noise",
    title="The figures of the error and of convergence at several levels of noise",
    tasks=_noise_tasks,
    run=run,
    data="Synthetic tensors of rank five.",
    differs=DIFFERS + " The error should grow in proportion to the noise, along lines of slope one.",
    measures=("rmse", "rmse / limit"),
    draw=_drawer("noise", "noise", by="entries"),
)
OBSERVATIONS = Experiment(
    name="observations",
    title="The figures of the error and of convergence at several numbers of observations",
    tasks=_observation_tasks,
    run=run,
    data="Synthetic tensors of rank five.",
    differs=DIFFERS + " The error should grow in proportion to sqrt(log I / n).",
    measures=("rmse", "rmse / limit"),
    draw=_drawer("root of log I / n", "sqrt(log I / n)", by="noise"),
)
ORDER = Experiment(
    name="order",
    title="The figures of the error and of convergence at orders two to five",
    tasks=_order_tasks,
    run=run,
    data="Synthetic tensors of rank five; the modes after the third have five indices.",
    differs=DIFFERS,
    measures=("rmse", "rmse / limit"),
    draw=_drawer("order", "order"),
)
RANK = Experiment(
    name="rank",
    title="The figures of the error and of convergence at ranks 5 to 20",
    tasks=_rank_tasks,
    run=run,
    data="Synthetic tensors of order three with the same share of entries observed for every rank.",
    differs=DIFFERS + " The error should grow in proportion to sqrt(rank).",
    measures=("rmse", "rmse / limit"),
    draw=_drawer("root of the rank", "sqrt(rank)"),
)
