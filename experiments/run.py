"""Repeats the experiments of the paper; run it in the folder of a checkout.

python -m experiments --list
python -m experiments recovery --quick
python -m experiments all --budget 3600 --jobs 2
python -m experiments images --methods nort "complete()"

Results go to experiments/results, those of --quick to experiments/results/quick: NAME.csv with every run, NAME.md and
NAME.png. A run that is there is not done again, so that a stopped experiment goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
if str(HERE) not in sys.path:
    # The package of experiments, and the modules that read data, stand beside this file.
    sys.path.insert(0, str(HERE))

from paper.experiment import Task  # noqa: E402
from paper.harness import answer, limit_cpu, most_cpu, run_all  # noqa: E402
from paper.registry import EXPERIMENTS  # noqa: E402

from tensorfill._support import clock  # noqa: E402

RESULTS = HERE / "results"


class _Parser(argparse.ArgumentParser):
    """A parser that refuses a bad option with one sentence, as the command tensorfill does."""

    def error(self, message: str) -> NoReturn:
        """Raise a sentence instead of printing all options and leaving."""
        raise ValueError(f"{message}; see {self.prog} --help.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the experiments that are named, and return an exit code."""
    parser = _Parser(
        prog="python -m experiments", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all, or some of {', '.join(EXPERIMENTS)}")
    parser.add_argument("--list", action="store_true", help="say which experiments there are")
    parser.add_argument("--quick", action="store_true", help="a small version of each, in a minute or two")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="begin no further run after this time")
    parser.add_argument(
        "--patience", type=float, default=1.0, metavar="TIMES", help="stretch limits, on a slow or busy machine"
    )
    parser.add_argument("--seeds", type=int, metavar="COUNT", help="run the first seeds of each only")
    parser.add_argument("--methods", nargs="+", default=[], metavar="METHOD", help="run rows of these methods only")
    parser.add_argument("--jobs", type=int, default=1, metavar="COUNT", help="runs at a time, on one core each")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="where the results go")
    parser.add_argument("--task", nargs=2, help=argparse.SUPPRESS)
    try:
        given = parser.parse_args(argv)
    except ValueError as error:
        return refused(str(error))
    if given.task:
        # Limits count seconds of CPU, so that other work on the machine does not end a run.
        clock.now = time.process_time
        name, fields = given.task
        task = Task(**json.loads(fields))
        limit_cpu(most_cpu(task))
        sys.stdout.write(answer(EXPERIMENTS[name], task) + "\n")
        return 0
    console = Console(width=150)
    if given.list or not given.names:
        console.print(listing())
        return 0
    names = list(EXPERIMENTS) if given.names == ["all"] else given.names
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        return refused(f"there is no experiment {', '.join(unknown)}; there are {', '.join(EXPERIMENTS)}, and all.")
    if given.jobs < 1:
        return refused(f"--jobs is {given.jobs}; give a whole number of at least 1, such as the number of cores.")
    unknown = sorted(
        set(given.methods) - {task.method for name in names for task in EXPERIMENTS[name].tasks(given.quick)}
    )
    if unknown:
        return refused(f"no row of {', '.join(names)} is of {', '.join(unknown)}; the tables name their rows.")
    folder = given.output or (RESULTS / "quick" if given.quick else RESULTS)
    began = time.monotonic()
    try:
        for name in names:
            left = None if given.budget is None else given.budget - (time.monotonic() - began)
            left_open = run_all(
                EXPERIMENTS[name],
                folder,
                console,
                quick=given.quick,
                budget=left,
                patience=given.patience,
                seeds=given.seeds,
                methods=given.methods,
                jobs=given.jobs,
            )
            if left_open:
                console.print(f"  {left_open} runs are left for the next time", highlight=False)
    except OSError as error:
        return refused(str(error))
    except KeyboardInterrupt:
        console.print("Interrupted; what is finished is kept, and the same command goes on from there.")
        return 130
    console.print(f"The results are in {folder}", highlight=False)
    return 0


def refused(sentence: str) -> int:
    """Say why nothing is done, as the command tensorfill does, and return its exit code for bad input."""
    sys.stderr.write(f"experiments: {sentence}\n")
    return 2


def listing() -> Table:
    """Return a table of the experiments."""
    table = Table("name", "repeats", "runs", "quick")
    for experiment in EXPERIMENTS.values():
        table.add_row(
            experiment.name, experiment.title, str(len(experiment.tasks(False))), str(len(experiment.tasks(True)))
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
