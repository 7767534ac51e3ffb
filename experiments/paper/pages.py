"""The page of an experiment, in Markdown: the paper's figures, ours, and their ratio."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from .experiment import Experiment, Finished, Task


def page(experiment: Experiment, runs: Sequence[Finished], tasks: Sequence[Task], *, picture: bool) -> str:
    """Return the page.

    Parameters
    ----------
    experiment
        What was run.
    runs
        The finished runs of its tasks.
    tasks
        All of them, in order.
    picture
        Whether there is a picture beside the page.
    """
    parts = [f"## {experiment.name}", f"{experiment.title}. {experiment.data}", experiment.differs]
    missing = []
    for data in dict.fromkeys(task.data for task in tasks):
        done = [run for run in runs if run.data == data]
        rows = dict.fromkeys(task.method for task in tasks if task.data == data)
        shown = [method for method in rows if any(run.method == method for run in done)]
        if shown:
            parts += [f"**{data}**", _table(experiment, data, done, shown)]
        left = [f"`{method}`" for method in rows if method not in shown]
        missing += [f"{data} ({', '.join(left) if shown else 'all'})"] if left else []
    if picture:
        parts.append(f"![{experiment.title}]({experiment.name}.png)")
    if missing:
        parts.append(f"Not run yet: {'; '.join(missing)}.")
    if len(runs) < len(tasks):
        rest = f"`python -m experiments {experiment.name}` runs the rest."
        parts.append(f"{len(runs)} of {len(tasks)} runs are done. {rest}")
    return "\n\n".join(parts) + "\n"


def _table(experiment: Experiment, data: str, runs: Sequence[Finished], methods: Sequence[str]) -> str:
    """Return a table of the methods on one kind of data."""
    printed = {name for where, method, name in experiment.published if where == data and method in methods}
    head = ["method"]
    for name in experiment.measures:
        head += [name, *(["paper", "ours / paper"] if name in printed else [])]
    head += ["CPU seconds", "memory, MB", "runs", "note"]
    rows = [head, ["---"] * len(head)]
    for method in methods:
        found = [run for run in runs if run.method == method]
        done = [run for run in found if "failed" not in run.measured]
        row = [f"`{method}`"]
        for name in experiment.measures:
            ours = [run.measured[name] for run in done if name in run.measured]
            row.append(spread(ours))
            if name in printed:
                paper = experiment.published.get((data, method, name))
                row.append("" if paper is None else f"{paper[0]:g}" + (f" ± {paper[1]:g}" if paper[1] else ""))
                row.append("" if paper is None or not ours else f"{statistics.mean(ours) / paper[0]:.2f}")
        row += [
            _mean([run.measured.get("seconds", math.nan) for run in done], "{:,.0f}"),
            _mean([run.measured.get("memory", math.nan) / 1e6 for run in done], "{:,.0f}"),
            str(len(done)),
            _note(found),
        ]
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def spread(values: Sequence[float]) -> str:
    """Return the mean, and the standard deviation if there are several.

    >>> spread([0.5, 0.7])
    '0.6 ± 0.14'
    """
    if not values:
        return ""
    mean = f"{statistics.mean(values):.4g}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.2g}"


def _mean(values: Sequence[float], form: str) -> str:
    known = [value for value in values if not math.isnan(value)]
    return form.format(statistics.mean(known)) if known else ""


def _note(found: Sequence[Finished]) -> str:
    """Return what is to be said of the runs: what failed, and why others stopped early."""
    notes = [str(run.measured.get("failed") or run.measured.get("note") or "") for run in found]
    return "; ".join(dict.fromkeys(note.replace("|", "/").replace("\n", " ") for note in notes if note))
