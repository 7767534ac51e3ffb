"""What a user waits for: the time, the memory and the error of `complete(data)` with nothing said.

    python experiments/waiting.py
    python experiments/waiting.py ratings video --time-limit 300

Every case runs in a process of its own. The columns: seconds and CPU seconds of `complete(data)`; CPU seconds of one
fit of all entries with what was chosen, and their ratio; the peak of memory above what the process held before; the
error on the test entries, and that of a mean with an effect of each index.

Cases
    ratings: 2,000 users x 1,500 items x 12 months, 135,000 entries, few items and users with most of them (synthetic).
    video: 30 frames of carphone, 144 x 176 x 3 x 30, 70% of the entries hidden.
    traffic: taxi trips of NYC, 30 x 30 x 1,464, 70% of the entries hidden.
    parking: car parks of Birmingham, 30 x 77 x 18, 70% of the known entries hidden.
    picture: facade, 256 x 256 x 3, 90% of the pixels hidden.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from data import DataMissing, image, traffic, video
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import tensorfill
from tensorfill import Observations
from tensorfill._support.memory import PeakMemory
from tensorfill.datasets import synthetic
from tensorfill.methods.effects.additive import fit_additive
from tensorfill.metrics import rmse

Array = NDArray[np.float64]
Split = tuple[Observations, Observations]


def ratings() -> Split:
    """Return ratings from 1 to 5 of a taste of five dimensions, with popular items and busy users, and test entries."""
    rng = np.random.default_rng(0)
    users, items, months, entries = 2_000, 1_500, 12, 150_000
    popularity = 1 / np.arange(1, items + 1) ** 0.8
    activity = rng.pareto(1.5, users) + 0.2
    drawn = np.stack(
        [
            rng.choice(users, 2 * entries, p=activity / activity.sum()),
            rng.choice(items, 2 * entries, p=popularity / popularity.sum()),
        ],
        axis=1,
    )
    pairs = np.unique(drawn, axis=0)
    pairs = pairs[rng.permutation(len(pairs))[:entries]]
    month = rng.integers(months, size=len(pairs))
    tastes, kinds = rng.standard_normal((users, 5)), rng.standard_normal((items, 5))
    score = 3.5 + 0.4 * rng.standard_normal(users)[pairs[:, 0]] + 0.5 * rng.standard_normal(items)[pairs[:, 1]]
    score += 0.25 * np.einsum("nr,nr->n", tastes[pairs[:, 0]], kinds[pairs[:, 1]])
    score += 0.1 * rng.standard_normal(months)[month] + 0.5 * rng.standard_normal(len(pairs))
    values = np.clip(np.round(2 * score) / 2, 0.5, 5)
    test = rng.random(len(pairs)) < 0.1
    coords, shape = np.column_stack([pairs, month]), (users, items, months)
    return Observations(coords[~test], values[~test], shape), Observations(coords[test], values[test], shape)


def hidden(array: Array, share: float, *, pixels: bool = False) -> Split:
    """Return the known entries of an array apart from some, and these."""
    rng = np.random.default_rng(0)
    drawn = rng.random(array.shape[:2])[:, :, None] if pixels else rng.random(array.shape)
    known, left = np.isfinite(array), np.broadcast_to(drawn >= share, array.shape)
    return Observations.from_dense(array, known & left), Observations.from_dense(array, known & ~left)


CASES: dict[str, Callable[[], Split]] = {
    "ratings": ratings,
    "video": lambda: hidden(video("carphone")[..., :30].astype(float) / 255, 0.7),
    "traffic": lambda: hidden(traffic("nyc"), 0.7),
    "parking": lambda: hidden(traffic("birmingham"), 0.7),
    "picture": lambda: hidden(image("facade"), 0.9, pixels=True),
}


def measured(case: str, time_limit: float | None) -> dict[str, Any]:
    """Return what `complete` costs and reaches on a case."""
    warnings.simplefilter("ignore")
    data, test = CASES[case]()
    for size in (20, 60):
        # Loops are compiled before time is measured.
        for method in ("auto", "nort"):
            tensorfill.complete(synthetic((size, size, size), rank=2, rng=0).observations, method=method, rng=0)

    def timed(**given: Any) -> tuple[tensorfill.Fit, float, float]:
        began, used = time.perf_counter(), time.process_time()
        fit = tensorfill.complete(data, rng=0, **given)
        return fit, time.perf_counter() - began, time.process_time() - used

    with PeakMemory() as peak:
        fit, seconds, cpu = timed(time_limit=time_limit)
    _, _, one = timed(method=fit.method, time_limit=time_limit)
    effects = fit_additive(data)
    return {
        "entries": len(data),
        "seconds": seconds,
        "cpu": cpu,
        "one": one,
        "memory": peak.bytes / 2**20,
        "error": rmse(fit.predict(test.coords), test.values),
        "effects": rmse(effects.predict(test.coords), test.values),
        "chosen": ", ".join([f"{fit.method.name} {fit.ranks}", *(stage.brief for stage in fit.recipe.stages)]),
        "trials": [_described(point) for point in fit.path or ()],
    }


def _described(point: Any) -> str:
    """Return a trial in one line."""
    tried = " ".join(f"{name} {value:.3g}" for name, value in point.tried.items())
    cost = f"{point.iterations} iterations, {point.seconds:.2f} s"
    centred = "".join(f"{word} " for word in point.before)
    return f"{centred}{point.method.name} {point.modes} {tried} ranks {point.ranks}: {point.held_out:.4g}, {cost}"


def main() -> None:
    """Measure the cases that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"some of {', '.join(CASES)}; by default all")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="of each fit")
    parser.add_argument("--trials", action="store_true", help="list every trial of the search")
    given = parser.parse_args()
    table = Table("case", "entries", "s", "CPU s", "one fit", "ratio", "MiB", "error", "effects", "chosen")
    for case in given.cases or CASES:
        try:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                found = pool.apply(measured, (case, given.time_limit))
        except DataMissing as missing:
            Console().print(f"{case} is left out. {missing}")
            continue
        numbers = [found["seconds"], found["cpu"], found["one"], found["cpu"] / found["one"], found["memory"]]
        table.add_row(
            case,
            f"{found['entries']:,}",
            *(f"{number:.3g}" for number in numbers),
            f"{found['error']:.4g}",
            f"{found['effects']:.4g}",
            found["chosen"],
        )
        if given.trials:
            for trial in found["trials"]:
                Console().print(trial, soft_wrap=True, highlight=False)
    Console().print(table)


if __name__ == "__main__":
    main()
