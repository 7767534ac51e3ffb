"""Every method on a picture, traffic, a network and synthetic tensors: errors, seconds, memory, iterations.

    python experiments/compared_methods.py
    python experiments/compared_methods.py birmingham synthetic-60 --methods nort rp --limit 120 --results runs.jsonl
    python experiments/compared_methods.py --limit 20 --markdown docs/compared_results.md

The cases:

- facade: 10% of the pixels of a picture (256 x 256 x 3) are seen.
- birmingham: 70% of the known records of car parks (30 x 77 x 18) are hidden.
- synthetic-60, synthetic-200: rank 5 with noise, as many entries as the paper samples; 200 x 200 x 200 is for methods
  that never build the tensor.
- youtube: a sample of a network of 2,000 users and five relations, link or no link, for the same methods; its file says
  which entries to fit and which to test with.

`tensorfill.compare` scores a method on entries held out of those that are seen; its seconds and its peak memory are
those of this choice. `tensorfill.complete` with that method then gives the error on the hidden entries. Each method
runs in a process of its own, which is ended when it takes five times its limit. What is done is appended to the file of
results, one line of JSON for each case and method, and is not done again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from data import DataMissing, image, network, traffic
from rich.console import Console
from rich.table import Table

import tensorfill
from tensorfill import Observations
from tensorfill.datasets import synthetic
from tensorfill.methods.registry import METHODS
from tensorfill.metrics import rmse

CASES = ("facade", "birmingham", "synthetic-60", "synthetic-200", "youtube")

SPARSE_CASES = ("synthetic-200", "youtube")
"""The cases for methods that never build the tensor."""

HARD_LIMIT = 5.0
"""A process is ended after this many times the limit, which one long iteration may pass."""

COLUMNS = ("case", "method", "held_out", "standard_error", "test", "seconds", "memory", "iterations", "ranks", "note")


@dataclass(frozen=True, eq=False)
class Case:
    """What is seen, and what a fit is tested with."""

    seen: Observations
    test: Observations


def case(name: str, seed: int) -> Case:
    """Return a case by its name."""
    rng = np.random.default_rng(seed)
    if name == "facade":
        truth = image(name)
        return divided(truth, np.broadcast_to(rng.random(truth.shape[:2])[..., None] < 0.1, truth.shape))
    if name == "birmingham":
        truth = traffic(name)
        return divided(truth, rng.random(truth.shape) >= 0.7)
    if name == "youtube":
        return Case(*(Observations(*entries, duplicates="last") for entries in network()))
    size = int(name.removeprefix("synthetic-"))
    data = synthetic((size,) * 3, rank=5, rng=seed)
    return Case(data.observations, data.test)


def divided(truth: np.ndarray[Any, Any], seen: np.ndarray[Any, Any]) -> Case:
    """Return the known entries of an array, those that are seen and the others."""
    known = ~np.isnan(truth)
    return Case(Observations.from_dense(truth, seen & known), Observations.from_dense(truth, ~seen & known))


def run(name: str, method: str, seed: int, limit: float) -> dict[str, Any]:
    """Return the result of one method on one case."""
    data = case(name, seed)
    try:
        row = tensorfill.compare(data.seen, [method], time_limit=limit, rng=seed)[0]
        fit = tensorfill.complete(data.seen, method=method, smooth=None, time_limit=2 * limit, rng=seed)
    except (ValueError, MemoryError) as refusal:
        return {"case": name, "method": method, "note": str(refusal)}
    return {
        "case": name,
        "method": method,
        "held_out": row.held_out,
        "standard_error": row.standard_error,
        "test": rmse(fit.predict(data.test.coords), data.test.values),
        "seconds": row.seconds,
        "memory": row.memory,
        "iterations": fit.history[-1].iteration,
        "ranks": list(fit.ranks),
        "note": f"{row.chosen}; {fit.status.name.lower()}",
    }


def run_apart(name: str, method: str, seed: int, limit: float) -> dict[str, Any]:
    """Return the same from a process of its own."""
    command = [
        sys.executable,
        __file__,
        name,
        "--methods",
        method,
        "--seed",
        str(seed),
        "--limit",
        str(limit),
        "--here",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=HARD_LIMIT * limit, check=False)
    except subprocess.TimeoutExpired:
        return {"case": name, "method": method, "note": f"ended after {HARD_LIMIT * limit:.0f} s"}
    if done.returncode:
        return {"case": name, "method": method, "note": done.stderr.strip().splitlines()[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def stored(file: Path) -> list[dict[str, Any]]:
    """Return the results that a file has already."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def methods_for(name: str, methods: list[str]) -> list[str]:
    """Return the methods that a case is for."""
    return [each for each in methods if name not in SPARSE_CASES or METHODS[each].whole_tensors == 0]


def table_of(rows: list[dict[str, Any]]) -> Table:
    """Return the results as a table, the lowest test error of each case first."""
    table = Table(*COLUMNS)
    for row in sorted(rows, key=lambda row: (row["case"], row.get("test", np.inf))):
        table.add_row(*(_cell(column, row.get(column, "")) for column in COLUMNS))
    return table


def markdown_of(rows: list[dict[str, Any]]) -> str:
    """Return the test errors and seconds as a table of Markdown, a row for each method and a column for each case."""
    found = {(row["method"], row["case"]): row for row in rows}
    cases = [name for name in CASES if any(row["case"] == name for row in rows)]
    lines = ["| method | " + " | ".join(cases) + " |", "| --- |" + " --- |" * len(cases)]
    lines += [
        f"| `{method}` | " + " | ".join(_result(found.get((method, name))) for name in cases) + " |"
        for method in METHODS
        if any((method, name) in found for name in cases)
    ]
    return "\n".join(lines) + "\n"


def _result(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    if "test" not in row:
        return "no answer in time" if row["note"].startswith("ended") else "refused"
    return f"{row['test']:.4g}, {row['seconds']:.0f} s"


def _cell(column: str, value: Any) -> str:
    if column == "memory" and value != "":
        return f"{value / 1e6:.0f} MB"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Run what is not done yet, and print everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=list(CASES), help=f"which of {', '.join(CASES)}")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), help="names of methods; by default all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for the choice of each method, and its fit")
    parser.add_argument("--results", type=Path, default=Path("compared_methods.jsonl"), help="the file of results")
    parser.add_argument("--markdown", type=Path, help="write test errors and seconds of all results to this file")
    parser.add_argument("--here", action="store_true", help="run one method in this process and print one line of JSON")
    given = parser.parse_args()
    if given.here:
        sys.stdout.write(json.dumps(run(given.cases[0], given.methods[0], given.seed, given.limit)) + "\n")
        return
    console = Console(soft_wrap=True, highlight=False)
    rows = stored(given.results)
    done = {(row["case"], row["method"], row["seed"], row["limit"]) for row in rows}
    for name in given.cases:
        for method in methods_for(name, given.methods):
            if (name, method, given.seed, given.limit) in done:
                continue
            row = run_apart(name, method, given.seed, given.limit) | {"seed": given.seed, "limit": given.limit}
            rows.append(row)
            with given.results.open("a") as file:
                file.write(json.dumps(row) + "\n")
            console.print(", ".join(f"{key} {_cell(key, row[key])}" for key in COLUMNS if key in row))
    if given.markdown is not None:
        given.markdown.write_text(markdown_of(rows))
    console.print(table_of([row for row in rows if row["case"] in given.cases]))


if __name__ == "__main__":
    try:
        main()
    except DataMissing as error:
        raise SystemExit(str(error)) from None
