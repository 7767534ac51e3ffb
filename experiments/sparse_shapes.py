"""Memory and time of very sparse tensors: shapes whose unfoldings have far more columns than there are entries.

    python experiments/sparse_shapes.py [--shape 3000 2000 500 --entries 200000] [--rank 2] [--seed 0]
    python experiments/sparse_shapes.py --storages

Each shape runs in a process of its own, with an address space of at most 8 GiB, so a failure is no harm. The data has
a mean, an effect of each index and interactions: a sum of products of factors around one, with noise. `complete` is
called with nothing said. A line has the peak of the process's memory, the time, and the error at entries that were not
given, beside that of a mean with the effects of each index.

With ``--storages``, NORT completes smaller tensors, whose factors fit in memory, with components at all columns and at
the observed ones: synthetic data of which some slices have far more entries than others, and 5,000 of the flights from
New York (``nycflights``, the logarithm of flights by day, hour, destination and carrier).
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
import warnings
from collections.abc import Sequence

import numpy as np
from data import shared_folder
from rich.console import Console

import tensorfill
from tensorfill.methods.effects.additive import fit_additive

SHAPES = (((1_000_000, 1_000_000, 1_000), 100_000), ((3_000, 2_000, 500), 200_000))

NOISE, SPREAD = 0.1, 0.5
"""The standard deviations of the noise, and of the factors around one."""

MOST_BYTES = 8 * 2**30
TEST_ENTRIES = 20_000


def made(shape: Sequence[int], entries: int, rank: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates of distinct entries at random, in random order, and their values."""
    drawn = [rng.integers(size, size=entries + entries // 10) for size in shape]
    coords = np.unique(np.stack(drawn, axis=1), axis=0)
    coords = rng.permutation(coords)[:entries]
    values = np.ones((len(coords), rank))
    for index, size in zip(coords.T, shape, strict=True):
        values *= (1 + SPREAD * rng.standard_normal((size, rank)))[index]
    return coords, values.sum(axis=1) + NOISE * rng.standard_normal(len(coords))


def measured(shape: Sequence[int], entries: int, rank: int, seed: int) -> None:
    """Complete one tensor, and print what it took."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    warnings.simplefilter("ignore")
    coords, values = made(shape, entries + TEST_ENTRIES, rank, np.random.default_rng(seed))
    observations = tensorfill.Observations(coords[:entries], values[:entries], shape)
    test, truth = coords[entries:], values[entries:]
    console = Console(soft_wrap=True, highlight=False)
    console.print(f"{' x '.join(f'{size:,}' for size in shape)}, {entries:,} entries:")
    wall, cpu = time.perf_counter(), time.process_time()
    fit = tensorfill.complete(observations, rng=seed)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

    def error(predicted: np.ndarray) -> float:
        return float(np.sqrt(np.mean((predicted - truth) ** 2)))

    effects = fit_additive(observations).predict(test)
    console.print(
        f"  peak {peak / 2**20:,.0f} MiB, {wall:.0f} s, {cpu:.0f} s of CPU; {fit.method.name}, ranks {fit.ranks}"
    )
    console.print(f"  test error {error(fit.predict(test)):.4f}, effects alone {error(effects):.4f}, noise {NOISE:.4f}")


def skewed(seed: int) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Return coordinates, values and the shape of data whose slices have entries as 1, 1/2, 1/3 and so on."""
    shape, rank, rng = (300, 200, 100), 2, np.random.default_rng(seed)
    chances = [rng.permutation(1 / np.arange(1, size + 1)) for size in shape]
    drawn = [rng.choice(len(chance), 8_000, p=chance / chance.sum()) for chance in chances]
    coords = rng.permutation(np.unique(np.stack(drawn, axis=1), axis=0))
    factors = [1 + SPREAD * rng.standard_normal((size, rank)) for size in shape]
    values = np.prod([factor[index] for factor, index in zip(factors, coords.T, strict=True)], axis=0).sum(axis=1)
    return coords, values + NOISE * rng.standard_normal(len(coords)), shape


def flights(seed: int) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Return the flights, in random order."""
    data = tensorfill.io.read(shared_folder() / "sparse" / "nycflights_365x24x105x16.tns").observations
    order = np.random.default_rng(seed).permutation(len(data))[:15_000]
    return data.coords[order], np.log(data.values[order]), data.shape


def storages(seed: int) -> None:
    """Complete smaller tensors with components at all columns, and at the observed ones."""
    console = Console(soft_wrap=True, highlight=False)
    warnings.simplefilter("ignore")
    for name, (coords, values, shape), entries in (("skewed", skewed(seed), 4_000), ("flights", flights(seed), 5_000)):
        observations = tensorfill.Observations(coords[:entries], values[:entries], shape)
        test, truth = coords[entries:], values[entries:]
        effects = fit_additive(observations).predict(test)
        console.print(f"{name}, {entries:,} entries: effects alone {np.sqrt(np.mean((effects - truth) ** 2)):.4f}")
        for storage in ("sparse", "columns"):
            cpu = time.process_time()
            fit = tensorfill.complete(observations, method="nort", storage=storage, smooth=None, rng=seed)
            error = np.sqrt(np.mean((fit.predict(test) - truth) ** 2))
            console.print(f"  {storage}: {error:.4f}, ranks {fit.ranks}, {time.process_time() - cpu:.0f} s of CPU")


def main() -> None:
    """Measure the shapes that are asked for, by default the usual two."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--shape", type=int, nargs="+")
    parser.add_argument("--entries", type=int, default=200_000)
    parser.add_argument("--rank", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--storages", action="store_true")
    asked = parser.parse_args()
    if asked.storages:
        storages(asked.seed)
        return
    for shape, entries in SHAPES if asked.shape is None else [(tuple(asked.shape), asked.entries)]:
        process = multiprocessing.get_context("spawn").Process(
            target=measured, args=(shape, entries, asked.rank, asked.seed)
        )
        process.start()
        process.join()


if __name__ == "__main__":
    main()
