"""Recovery of synthetic tensors (Section 5.1 of the paper): error against its limit, ranks and iterations.

python experiments/synthetic_recovery.py 200 400 --seeds 5
python experiments/synthetic_recovery.py 400x400x400x5 200x200x200x5x5 --seeds 1 --max-iter 15 --polish 20
python experiments/synthetic_recovery.py 200 --seeds 5 --automatic
python experiments/synthetic_recovery.py 200 --seeds 5 --automatic --refine

The paper's protocol gives lambda, theta and the largest rank; with --automatic they are chosen.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time

from rich.console import Console
from rich.table import Table

import tensorfill
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.methods.problem import Problem
from tensorfill.methods.tucker_als import refine
from tensorfill.metrics import rmse
from tensorfill.models import FoldedLowRank


def shape_of(text: str) -> tuple[int, ...]:
    """Return the shape that "200", for a cube, or "400x400x5" means."""
    sizes = tuple(int(size) for size in text.split("x"))
    return sizes * 3 if len(sizes) == 1 else sizes


def main() -> None:
    """Run every shape and seed and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="+", type=shape_of)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--max-iter", type=int, default=500)
    parser.add_argument("--polish", type=int, default=0, help="sweeps of least squares on the ranks found (default: 0)")
    parser.add_argument("--factors", choices=["uniform", "normal"], default="uniform")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--automatic", action="store_true", help="choose lambda, theta and the ranks")
    parser.add_argument("--refine", action="store_true", help="with --automatic, polish if held-out entries agree")
    arguments = parser.parse_args()
    given = {"penalty": "capped_l1", "lam": 0.4 / 3, "theta": 0.8, "max_rank": 5, "tol": arguments.tol}
    if arguments.automatic:
        given = {"refine": "tucker" if arguments.refine else None}
    console = Console(width=120)
    for shape in arguments.shapes:
        table = Table(
            "seed", "weakest term", "RMSE", "limit", "RMSE / limit", "ranks", "iterations", "seconds", title=str(shape)
        )
        errors = []
        for seed in range(arguments.seeds):
            data = synthetic(shape, factors=arguments.factors, rng=seed)
            began = time.perf_counter()
            fit = tensorfill.complete(data.observations, rng=seed, max_iter=arguments.max_iter, **given)
            model = fit.model
            if arguments.polish and isinstance(model, FoldedLowRank):
                model = refine(Problem(data.observations, Square()), model, sweeps=arguments.polish)
            seconds = time.perf_counter() - began
            errors.append(rmse(model.predict(data.test.coords), data.test.values))
            table.add_row(
                str(seed), f"{abs(data.weights).min():.3f}", f"{errors[-1]:.6f}", f"{data.limit:.6f}",
                f"{errors[-1] / data.limit:.3f}", str(fit.ranks), str(fit.history[-1].iteration), f"{seconds:.1f}",
            )  # fmt: skip
        console.print(table)
        console.print(f"median RMSE {statistics.median(errors):.6f}, {len(data.observations):,} entries observed")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    console.print(f"peak memory of the process {peak:,.0f} MiB")


if __name__ == "__main__":
    main()
