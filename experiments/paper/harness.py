"""Runs the tasks of an experiment, each in a process of its own, and keeps what is finished.

Every finished run is a row of ``NAME.csv``, which is also what a run that was stopped goes on from. ``NAME.md`` and
``NAME.png`` are made from it.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from matplotlib.figure import Figure
from rich.console import Console

from tensorfill.io.atomic import check_writable, written_beside

from .experiment import Experiment, Finished, Measured, Task
from .pages import page

RUNNER = Path(__file__).resolve().parents[1] / "run.py"

HARD_LIMIT, SPARE = 3.0, 60.0
"""A process is ended after this many times its limit of CPU and these seconds: the data, one long iteration, the
curves."""

MARK = "RESULT "
"""Stands before the line of JSON with which a process answers."""


class NotRun(Exception):
    """A run came to nothing, because data is missing or its process ended, and may be tried again."""


class NoTimeLeft(Exception):
    """The time for the experiment was over before a run began."""


class Book:
    """The finished runs of an experiment, in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.runs: list[Finished] = []
        if path.exists():
            with path.open(newline="") as file:
                self.runs = [_finished(row) for row in csv.DictReader(file)]

    def has(self, task: Task) -> bool:
        """Return whether a task is done; one that was stopped is done again if it may take longer."""
        found = [run for run in self.runs if run.key == task.key]
        return bool(found) and found[-1].measured.get("limit", task.limit) >= task.limit

    def add(self, run: Finished) -> None:
        """Keep a run, in place of an earlier one of the same task."""
        self.runs = [*(each for each in self.runs if each.key != run.key), run]
        self._write()

    def _write(self) -> None:
        names = list(dict.fromkeys(name for run in self.runs for name in run.measured))
        with written_beside(self._path) as stream, io.TextIOWrapper(stream, newline="", write_through=True) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["data", "method", "seed", *names])
            for run in self.runs:
                cells = [json.dumps(run.measured[name]) if name in run.measured else "" for name in names]
                writer.writerow([run.data, run.method, run.seed, *cells])


def _finished(row: dict[str, str]) -> Finished:
    data, method, seed = row.pop("data"), row.pop("method"), int(row.pop("seed"))
    return Finished(data, method, seed, {name: json.loads(cell) for name, cell in row.items() if cell})


def run_all(
    experiment: Experiment,
    folder: Path,
    console: Console,
    *,
    quick: bool = False,
    budget: float | None = None,
    patience: float = 1.0,
    seeds: int | None = None,
    methods: Collection[str] = (),
    jobs: int = 1,
) -> int:
    """Run what is not done yet, write the results, and return how many runs are still open.

    Parameters
    ----------
    experiment
        What to run.
    folder
        Where the results are, and go.
    console
        Shows progress.
    quick
        Whether to run the small version.
    budget
        Seconds after which no further run begins.
    patience
        Every limit is stretched by this, on a slow or busy machine.
    seeds
        Runs with a higher seed are left for another time.
    methods
        If there are any, runs of other methods are left for another time.
    jobs
        How many runs there are at a time, on one core each.
    """
    # A folder that cannot be made cannot be written to either, and that is said in a sentence.
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    check_writable(folder / f"{experiment.name}.csv")
    book = Book(folder / f"{experiment.name}.csv")
    tasks = list(experiment.tasks(quick))
    missing = [task for task in tasks if not book.has(task)]
    console.print(f"{experiment.name}: {len(tasks)} runs, {len(tasks) - len(missing)} of them done", highlight=False)
    # The first seed of every row comes before the second of any.
    wanted = sorted((task for task in missing if _wanted(task, seeds, methods)), key=lambda task: task.seed)
    until = None if budget is None else time.monotonic() + budget

    with ThreadPoolExecutor(jobs) as pool, console.status("") as status:

        def measured(task: Task) -> Measured:
            if until is not None and time.monotonic() > until:
                raise NoTimeLeft
            status.update(f"{wanted.index(task) + 1} of {len(wanted)}: {_named(task)}")
            return _apart(experiment, replace(task, limit=patience * task.limit))

        running = {pool.submit(measured, task): task for task in wanted}
        try:
            for done in as_completed(running):
                task = running[done]
                try:
                    result = done.result()
                except NoTimeLeft:
                    continue
                except NotRun as reason:
                    console.print(f"  {_named(task)}: not run: {reason}", highlight=False)
                    continue
                book.add(Finished(task.data, task.method, task.seed, {**result, "limit": task.limit}))
                console.print(f"  {_named(task)}: {_shown(experiment, result)}", highlight=False)
                write(experiment, book.runs, tasks, folder)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    write(experiment, book.runs, tasks, folder)
    return sum(not book.has(task) for task in tasks)


def _named(task: Task) -> str:
    return f"{task.data}, {task.method}, seed {task.seed}"


def _wanted(task: Task, seeds: int | None, methods: Collection[str]) -> bool:
    return (seeds is None or task.seed < seeds) and (not methods or task.method in methods)


def write(experiment: Experiment, runs: Sequence[Finished], tasks: Sequence[Task], folder: Path) -> None:
    """Write the page of an experiment, and its picture if it has one."""
    wanted = {task.key for task in tasks}
    runs = [run for run in runs if run.key in wanted]
    drawn = experiment.draw is not None and _drawn(experiment.draw, runs, folder / f"{experiment.name}.png")
    (folder / f"{experiment.name}.md").write_text(page(experiment, runs, tasks, picture=drawn))


def _drawn(draw: Callable[[Figure, Sequence[Finished]], None], runs: Sequence[Finished], path: Path) -> bool:
    """Draw the finished runs, and return whether there was anything to draw."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    draw(figure, [run for run in runs if "failed" not in run.measured])
    if not figure.axes:
        path.unlink(missing_ok=True)
        return False
    figure.savefig(path, dpi=120)
    return True


def _shown(experiment: Experiment, measured: Measured) -> str:
    if "failed" in measured:
        return str(measured["failed"])
    said = [f"{name} {measured[name]:.4g}" for name in experiment.measures if name in measured]
    return ", ".join([*said, f"{measured.get('seconds', 0):.0f} s of CPU"])


def _apart(experiment: Experiment, task: Task) -> Measured:
    """Return what a task measures, from a process of its own."""
    return answered([sys.executable, str(RUNNER), "--task", experiment.name, json.dumps(asdict(task))], most_cpu(task))


def most_cpu(task: Task) -> float:
    """Return the seconds of CPU after which the process of a task is ended."""
    return HARD_LIMIT * task.limit + SPARE


def limit_cpu(seconds: float) -> None:
    """End this process after so many more seconds of CPU; what else the machine does must not end it."""
    import resource

    until = math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (until, until + 1))


def answered(command: Sequence[str], seconds: float) -> Measured:
    """Return what a process answers that limits itself to so many seconds of CPU."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    done = subprocess.run(command, capture_output=True, text=True, env={**threads, **os.environ}, check=False)
    if done.returncode == -signal.SIGXCPU:
        return {"failed": f"ended after {seconds:.0f} s of CPU"}
    answers = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if not answers:
        raise NotRun((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:300])
    measured: Measured = json.loads(answers[-1].removeprefix(MARK))
    return measured


def answer(experiment: Experiment, task: Task) -> str:
    """Run a task here and return the line of text with what it measured; a refusal by a method is a result too."""
    try:
        measured = experiment.run(task)
    except (ValueError, MemoryError) as refusal:
        measured = {"failed": str(refusal)}
    return MARK + json.dumps(measured)
