"""Recovery of synthetic tensors (Section 5.1 of the paper): error against its limit, ranks, iterations and time.

python experiments/synthetic_recovery.py 200 400 --seeds 5
python experiments/synthetic_recovery.py 400x400x400x5 200x200x200x5x5 --seeds 1 --max-iter 15 --polish 20
python experiments/synthetic_recovery.py 100 200 --seeds 10 --automatic --oracle --factors uniform normal
python experiments/synthetic_recovery.py 200 --seeds 5 --automatic --refine

The paper's protocol gives lambda, theta and the largest rank. With --automatic nothing is given, so that
`complete(observations, rng=seed)` chooses everything; --max-iter, --tol, --refine and --time-limit are added if asked.
--oracle compares with least squares from the true factors, see `oracle.py`, and says how many terms that keeps, and how
strong the weakest of them is: below 1, no unfolding shows it. The time is that of the fit alone.
"""

from __future__ import annotations

import argparse
import math
import resource
import statistics
import time
from dataclasses import dataclass
from typing import Any

from oracle import Reference, oracle, strengths
from rich import box
from rich.console import Console
from rich.table import Table

import tensorfill
from tensorfill.datasets import synthetic
from tensorfill.datasets.synthetic import SyntheticTensor
from tensorfill.metrics import rmse
from tensorfill.models import Model

PAPER = {"penalty": "capped_l1", "lam": 0.4 / 3, "theta": 0.8, "max_rank": 5, "tol": 1e-6}
"""The settings of the paper; its lambda of 0.4 is for the sum of three modes."""

NEAR = 1.05
"""A tensor counts as recovered up to this multiple of the error of least squares from the truth."""

WARM_UP_SIZE, WARM_UP_DENSITY = 70_000, 0.05
"""Large and sparse enough for the compiled loops of sparse storage."""


@dataclass(frozen=True)
class Run:
    """One fit: its error, the reference if there is one, and the time of the fit."""

    data: SyntheticTensor
    fit: tensorfill.Fit
    error: float
    reference: Reference | None
    seconds: float
    cpu_seconds: float

    @property
    def ratio(self) -> float:
        """The error as a multiple of the reference."""
        return self.error / self.reference.error if self.reference else math.nan


def shape_of(text: str) -> tuple[int, ...]:
    """Return the shape that "200", for a cube, or "400x400x5" means."""
    sizes = tuple(int(size) for size in text.split("x"))
    return sizes * 3 if len(sizes) == 1 else sizes


def polished(data: SyntheticTensor, model: Model, sweeps: int) -> Model:
    """Return the model after sweeps of least squares on its ranks, if it is one of NORT's."""
    # Only this option needs the parts inside the package.
    from tensorfill.losses import Square
    from tensorfill.methods.problem import Problem
    from tensorfill.methods.tucker_als import refine
    from tensorfill.models import FoldedLowRank

    if not isinstance(model, FoldedLowRank):
        return model
    return refine(Problem(data.observations, Square()), model, sweeps=sweeps)


def run(data: SyntheticTensor, seed: int, settings: dict[str, Any], *, sweeps: int, compare: bool) -> Run:
    """Fit one tensor, and time only that."""
    began, cpu_began = time.perf_counter(), time.process_time()
    fit = tensorfill.complete(data.observations, rng=seed, **settings)
    model = polished(data, fit.model, sweeps) if sweeps else fit.model
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    error = rmse(model.predict(data.test.coords), data.test.values)
    reference = oracle(data) if compare else None
    return Run(data, fit, error, reference, seconds, cpu_seconds)


def warm_up(order: int, settings: dict[str, Any], *, sweeps: int = 0) -> None:
    """Fit a small tensor once, so that no later fit includes the compilation of loops."""
    shape = (math.ceil(WARM_UP_SIZE ** (1 / order)),) * order
    data = synthetic(shape, rank=2, observed=round(WARM_UP_DENSITY * math.prod(shape)), rng=0)
    run(data, 0, settings, sweeps=sweeps, compare=False)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="+", type=shape_of)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--factors", nargs="+", choices=["uniform", "normal"], default=["uniform"])
    parser.add_argument("--automatic", action="store_true", help="choose lambda, theta and the ranks")
    parser.add_argument("--oracle", action="store_true", help="compare with least squares from the true factors")
    parser.add_argument("--max-iter", type=int, help="of complete()")
    parser.add_argument("--tol", type=float, help=f"of complete() (default: {PAPER['tol']}, or none with --automatic)")
    parser.add_argument("--no-momentum", action="store_true", help="sNORT, the paper's method without momentum")
    parser.add_argument("--no-max-rank", action="store_true", help="the paper's settings without a rank limit")
    parser.add_argument("--time-limit", type=float, help="seconds for each fit")
    parser.add_argument("--polish", type=int, default=0, help="sweeps of least squares on the ranks found (default: 0)")
    parser.add_argument("--refine", action="store_true", help="with --automatic, polish if held-out entries agree")
    return parser.parse_args()


def settings_from(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of complete(): those of the paper unless all is automatic, and what the user gave."""
    asked = {"max_iter": arguments.max_iter, "tol": arguments.tol, "time_limit": arguments.time_limit}
    given = {name: value for name, value in asked.items() if value is not None}
    if arguments.refine:
        given["refine"] = "tucker"
    if arguments.no_momentum:
        given["momentum"] = False
    paper = {name: value for name, value in PAPER.items() if name != "max_rank" or not arguments.no_max_rank}
    return given if arguments.automatic else {**paper, **given}


def header(*, compare: bool) -> list[str]:
    """Return the names of the columns."""
    compared = ["RMSE / least squares from the truth", "terms of that", "weakest of them"]
    before = ["seed", "weakest term", "RMSE", "limit", "RMSE / limit"]
    after = ["method", "ranks", "held-out error", "iterations", "seconds", "CPU seconds"]
    return [*before, *(compared if compare else []), *after]


def cells(seed: int, found: Run) -> list[str]:
    """Return one row of the table."""
    reference = found.reference
    terms = reference.terms if reference else 0
    fit, limit = found.fit, found.data.limit
    held_out = "-" if math.isnan(fit.held_out_error) else f"{fit.held_out_error:.6f}"
    stopped = " (time limit)" if fit.status.name == "TIME_LIMIT" else ""
    return [
        str(seed),
        f"{abs(found.data.weights).min():.3f}",
        f"{found.error:.6f}",
        f"{limit:.6f}",
        f"{found.error / limit:.3f}",
        *([f"{found.ratio:.4f}", str(terms), f"{strengths(found.data)[terms - 1]:.2f}"] if reference else []),
        fit.method.name,
        str(fit.ranks),
        held_out,
        str(fit.history[-1].iteration if len(fit.history) else 0),
        f"{found.seconds:.1f}{stopped}",
        f"{found.cpu_seconds:.1f}",
    ]


def summary(runs: list[Run], *, compare: bool) -> str:
    """Return the lines below a table."""
    lines = [
        f"median RMSE {statistics.median(each.error for each in runs):.6f}, "
        f"{len(runs[0].data.observations):,} entries observed, "
        f"median time {statistics.median(each.seconds for each in runs):.1f} s, "
        f"{statistics.median(each.cpu_seconds for each in runs):.1f} s of CPU"
    ]
    if compare:
        near = sum(each.ratio <= NEAR for each in runs)
        lines.append(f"within {NEAR} of least squares from the truth: {near} of {len(runs)} seeds")
    return "\n".join(lines)


def main() -> None:
    """Run every shape, kind of factors and seed, and print a table for each."""
    arguments = parse()
    settings = settings_from(arguments)
    console = Console(width=200)
    for order in {len(shape) for shape in arguments.shapes}:
        warm_up(order, settings, sweeps=arguments.polish)
    for shape in arguments.shapes:
        for factors in arguments.factors:
            table = Table(*header(compare=arguments.oracle), box=box.MARKDOWN)
            runs: list[Run] = []
            for seed in range(arguments.seeds):
                data = synthetic(shape, factors=factors, rng=seed)
                runs.append(run(data, seed, settings, sweeps=arguments.polish, compare=arguments.oracle))
                table.add_row(*cells(seed, runs[-1]))
            console.print(f"\n{shape}, {factors} factors", highlight=False)
            console.print(table)
            console.print(summary(runs, compare=arguments.oracle), highlight=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    console.print(f"peak memory of the process {peak:,.0f} MiB")


if __name__ == "__main__":
    main()
