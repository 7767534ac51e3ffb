"""What a user waits for: `complete(data)` with nothing said, beside one fit with what it chose.

    python benchmarks/waiting.py
    python benchmarks/waiting.py ratings video
    python benchmarks/waiting.py --against /path/to/another/checkout/src

With `--against`, each case is measured with the other version of the package first, and then with this one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from measure import fresh, heading, peak, row, watched

TEXT = """## What a user waits for

CPU seconds of `complete(data)`, with nothing said, and of one fit with what was chosen, from nothing, on one thread,
without compiling; their ratio; the peak of memory above what the process held before; and the root mean square error at
test entries. A repeated fit, `complete(data, **fit.recipe.arguments())`, begins where the first one's last fit did:
its seconds, and by how much it differs from the first at the test entries, relative to their standard deviation. Each
case runs in a process of its own.
"""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

MOST_SECONDS = 1_800
"""A case that takes longer is ended."""


class Seconds:
    """CPU seconds, without those of compiling."""

    def __init__(self) -> None:
        self.spent = 0.0

    @contextmanager
    def counted(self):
        """Measure what is done within."""
        from numba.core import event

        compiling, depth, began = 0.0, 0, 0.0

        class Compiling(event.Listener):
            def on_start(self, event) -> None:
                nonlocal depth, began
                began = time.process_time() if depth == 0 else began
                depth += 1

            def on_end(self, event) -> None:
                nonlocal depth, compiling
                depth -= 1
                compiling += time.process_time() - began if depth == 0 else 0.0

        start = time.process_time()
        with event.install_listener("numba:compile", Compiling()):
            yield
        self.spent = time.process_time() - start - compiling


def costs(path: str) -> dict[str, Any]:
    """Return what `complete` costs and reaches with the data of a file, and what one fit costs."""
    import tensorfill
    from tensorfill import Observations

    warnings.simplefilter("ignore")
    with np.load(path) as file:
        shape = tuple(file["shape"].tolist())
        data, test = (Observations(file[f"{name}_coords"], file[f"{name}_values"], shape) for name in ("data", "test"))
    # Imports and whatever is set up once; with enough entries for compiled loops.
    tensorfill.complete(tensorfill.datasets.synthetic((60, 50, 40), rank=1, rng=0).observations, rng=0)
    chosen, once, repeated = Seconds(), Seconds(), Seconds()
    before = watched()
    with chosen.counted():
        fit = tensorfill.complete(data, rng=0)
    memory = peak() - before
    recipe = fit.recipe
    with repeated.counted():
        again = tensorfill.complete(data, **recipe.arguments())
    # Recipes of earlier versions do not know where a fit began.
    from_nothing = recipe.started(lambda model: None) if hasattr(recipe, "started") else recipe
    with once.counted():
        tensorfill.complete(data, **from_nothing.arguments())
    predicted, same = fit.predict(test.coords), again.predict(test.coords)
    return {
        "entries": len(data),
        "complete": chosen.spent,
        "once": once.spent,
        "repeated": repeated.spent,
        "memory": memory,
        "error": _size(predicted - test.values),
        "differs": _size(same - predicted) / float(np.std(test.values)),
        "chosen": str(fit.method.name) + " " + " ".join(map(str, fit.ranks)),
    }


def _size(errors) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


def prepared(case: str, path: str) -> None:
    """Write the data of a case to a file."""
    from waiting_cases import CASES

    data, test = CASES[case][1]()
    arrays = {"data_coords": data.coords, "data_values": data.values}
    np.savez(path, shape=data.shape, test_coords=test.coords, test_values=test.values, **arrays)


def measured(case: str, sources: list[str | None]) -> list[dict[str, Any] | None]:
    """Return what a case costs with each version of the package; None where it takes too long."""
    found: list[dict[str, Any] | None] = []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "case.npz")
        prepared(case, path)
        for source in sources:
            own = {} if source is None else {"PYTHONPATH": source}
            try:
                found.append(fresh(costs, path, environment={**os.environ, **ONE_THREAD, **own}, limit=MOST_SECONDS))
            except subprocess.TimeoutExpired:
                found.append(None)
    return found


NAMES = ["data", "entries", "complete", "one fit", "ratio", "memory", "error", "repeated", "differs", "chosen"]


def cells(name: str, cost: dict[str, Any] | None) -> list[str]:
    """Return a row of the table."""
    if cost is None:
        return [name, "", f"over {MOST_SECONDS} s", *[""] * (len(NAMES) - 3)]
    return [
        name,
        f"{cost['entries']:,}",
        f"{cost['complete']:.3g} s",
        f"{cost['once']:.3g} s",
        f"{cost['complete'] / cost['once']:.1f}",
        f"{cost['memory'] / 2**20:.0f} MiB",
        f"{cost['error']:.4g}",
        f"{cost['repeated']:.3g} s",
        f"{cost['differs']:.1e}",
        cost["chosen"],
    ]


def table(chosen: list[str] | None = None, against: str | None = None) -> list[str]:
    """Measure all cases, or those that are named."""
    from waiting_cases import CASES, shared

    lines = heading(NAMES)
    for case in chosen or CASES:
        name = CASES[case][0]
        try:
            found = measured(case, [against, None] if against else [None])
        except shared.DataMissing as missing:
            print(f"{name} is left out. {missing}", file=sys.stderr)
            continue
        words = [f"{name}: before", "now"] if against else [name]
        lines += [row(cells(*each)) for each in zip(words, found, strict=True)]
    return lines


def main() -> None:
    """Measure the cases that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help="some of the keys of waiting_cases.py; by default all")
    parser.add_argument("--against", metavar="SRC", help="the folder src of another checkout, measured beside this one")
    given = parser.parse_args()
    table(given.cases, given.against)


if __name__ == "__main__":
    main()
