"""Gross errors in videos, tables and synthetic data: which entries are named corrupt, and how near the truth is.

A share of the observed entries is replaced: in videos and records by numbers drawn uniformly between the smallest and
the largest value, in synthetic data by entries shifted up or down by 2 to 6 of its standard deviations. A replacement
near the truth is no gross error. Only entries that changed by more than a tenth of the range count as corrupt (in
synthetic data all do); those that changed by less count neither for nor against.

Each case is filled with ``loss="square"``, with nothing said, with ``loss="l1"``, and a video also by pursuit on its
frames. Precision and recall are those of `Fit.outliers`; the errors, in units of the range, are those of all entries
of known truth; the time is a multiple of that with ``loss="square"``.

python experiments/gross_errors.py
python experiments/gross_errors.py hall carphone --full --shares 0.01
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import tensorfill
from tensorfill.losses.robust import noise_scale

sys.path.insert(0, str(Path(__file__).parent))
import data

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

NEAR = 0.1
"""A replacement that differs from the truth by at most this fraction of the range is no gross error."""


@dataclass(frozen=True)
class Case:
    """Data with gross errors.

    Parameters
    ----------
    truth
        The clean data, with NaN where it is not known.
    dirty
        What is given to the methods, with NaN where it is missing.
    corrupt, near
        Which entries are gross errors, and which were replaced by about what they were.
    is_video
        Whether the last mode are frames.
    """

    truth: Floats
    dirty: Floats
    corrupt: Booleans
    near: Booleans
    is_video: bool

    def error(self, answer: Floats) -> float:
        """Return the root mean square error where the truth is known, in units of its range."""
        known = np.isfinite(self.truth)
        error = np.sqrt(np.mean((answer[known] - self.truth[known]) ** 2))
        return float(error / (np.nanmax(self.truth) - np.nanmin(self.truth)))

    def precision_and_recall(self, named: Booleans) -> tuple[float, float]:
        """Return the share of the named entries that are corrupt, and of the corrupt entries that are named."""
        named = named & ~self.near
        both = np.count_nonzero(named & self.corrupt)
        return both / max(np.count_nonzero(named), 1), both / max(np.count_nonzero(self.corrupt), 1)


def hall(full: bool) -> Floats:
    """Return a street seen by a camera that stands still."""
    frames = data.video("hall").astype(np.float64) / 255
    return frames if full else frames[90:162, 120:216, :, :30]


def carphone(full: bool) -> Floats:
    """Return a person who talks in a moving car."""
    frames = data.video("carphone").astype(np.float64) / 255
    return frames if full else frames[30:102, 40:128, :, :40]


def birmingham(full: bool) -> Floats:
    """Return occupied places of car parks."""
    return data.traffic("birmingham")


def synthetic(full: bool) -> Floats:
    """Return three terms with noise of a hundredth of their standard deviation."""
    rng = np.random.default_rng(5)
    a, b, c = (rng.standard_normal((size, 3)) for size in (40, 35, 30))
    clean = np.einsum("ir,jr,kr->ijk", a, b, c)
    return clean + 0.01 * clean.std() * rng.standard_normal(clean.shape)


SOURCES: dict[str, Callable[[bool], Floats]] = {
    "hall": hall,
    "carphone": carphone,
    "birmingham": birmingham,
    "synthetic": synthetic,
}
"""Clean data by name; the argument asks for all of it."""


def make_case(name: str, share: float, missing: float, full: bool, seed: int) -> Case:
    """Return clean data with some entries missing and a share of the others replaced."""
    truth, rng = SOURCES[name](full), np.random.default_rng(seed)
    seen = np.isfinite(truth) & (rng.random(truth.shape) >= missing)
    replaced = seen & (rng.random(truth.shape) < share)
    if name == "synthetic":
        sizes = rng.uniform(2, 6, truth.shape) * rng.choice([-1.0, 1.0], truth.shape) * truth.std()
        dirty, corrupt = np.where(replaced, truth + sizes, truth), replaced
    else:
        low, high = np.nanmin(truth), np.nanmax(truth)
        dirty = np.where(replaced, rng.uniform(low, high, truth.shape), truth)
        corrupt = replaced & (np.abs(dirty - truth) > NEAR * (high - low))
    dirty[~seen] = np.nan
    return Case(truth, dirty, corrupt, replaced & ~corrupt, name in data.VIDEOS)


def pursuit(dirty: Floats, iterations: int = 200, tolerance: float = 1e-5) -> Floats:
    """Return the low-rank part of a matrix with gross errors, by principal component pursuit.

    It minimises the nuclear norm of L plus lambda times the sum of the absolute values of S, for L + S equal to the
    data where it is known, by the alternating direction method of multipliers; lambda is 1 / sqrt(largest dimension).
    """
    seen = np.isfinite(dirty)
    values = np.where(seen, dirty, 0.0)
    weight = 1 / math.sqrt(max(values.shape))
    strength = 1.25 / np.linalg.norm(values, 2)
    low_rank, sparse, dual = np.zeros_like(values), np.zeros_like(values), np.zeros_like(values)
    for _ in range(iterations):
        u, s, vt = np.linalg.svd(values - sparse + dual / strength, full_matrices=False)
        low_rank = (u * np.maximum(s - 1 / strength, 0)) @ vt
        rest = values - low_rank + dual / strength
        shrunk = np.sign(rest) * np.maximum(np.abs(rest) - weight / strength, 0)
        # Where nothing is known, the sparse part takes all that is left.
        sparse = np.where(seen, shrunk, rest)
        gap = values - low_rank - sparse
        dual += strength * gap
        strength *= 1.2
        if np.linalg.norm(gap) < tolerance * np.linalg.norm(values):
            break
    return low_rank


def pursuit_of_frames(case: Case) -> tuple[Floats, Booleans]:
    """Return what pursuit makes of the frames of a video, and which entries it leaves as gross errors."""
    dirty = case.dirty
    answer = pursuit(dirty.reshape(-1, dirty.shape[-1])).reshape(dirty.shape)
    rest = np.abs(np.nan_to_num(dirty - answer))
    limit = math.sqrt(2 * math.log(dirty.size)) * noise_scale(rest[np.isfinite(dirty)])
    return answer, rest > limit


def add_rows(table: Table, case: Case, label: str, console: Console, with_pursuit: bool) -> None:
    """Run every method on a case and add a row for each."""

    def add(method: str, answer: Floats, named: Booleans | None, kept: Floats | None, seconds: float) -> None:
        precise, found = ("", "") if named is None else (f"{each:.3f}" for each in case.precision_and_recall(named))
        row = [label, method, precise, found, f"{case.error(answer):.4f}"]
        row += ["" if kept is None else f"{case.error(kept):.4f}", f"{seconds:.1f}", f"{seconds / slow:.1f}"]
        table.add_row(*row)
        console.print(", ".join(each or "-" for each in row))

    began = time.perf_counter()
    square = tensorfill.complete(case.dirty, loss="square", rng=0)
    slow = time.perf_counter() - began
    add("square", square.to_dense(), None, square.filled(), slow)
    for loss in ("auto", "l1"):
        began = time.perf_counter()
        fit = tensorfill.complete(case.dirty, loss=loss, rng=0)
        seconds = time.perf_counter() - began
        named = np.zeros(case.dirty.shape, dtype=bool)
        if fit.corrupt is not None:
            named[tuple(fit.outliers()[0].T)] = True
        add(loss, fit.to_dense(), named, fit.filled(), seconds)
    if case.is_video and with_pursuit:
        began = time.perf_counter()
        answer, named = pursuit_of_frames(case)
        kept = np.where(np.isfinite(case.dirty) & ~named, case.dirty, answer)
        add("pursuit", answer, named, kept, time.perf_counter() - began)


def main() -> None:
    """Make every case, run every method on it and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=list(SOURCES), help="which data (default: all)")
    parser.add_argument("--shares", type=float, nargs="*", default=[0.01, 0.05, 0.1], help="of replaced entries")
    parser.add_argument("--missing", type=float, nargs="*", default=[0.0, 0.3], help="shares of missing entries")
    parser.add_argument("--full", action="store_true", help="take whole videos, not a part of each")
    parser.add_argument("--no-pursuit", action="store_true", help="leave principal component pursuit out")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    console = Console(width=150)
    columns = "data, method, precision, recall, error, error of filled, seconds, times square"
    table = Table(*columns.split(", "))
    warnings.simplefilter("ignore")
    for name in arguments.cases:
        for missing in arguments.missing:
            for share in arguments.shares:
                case = make_case(name, share, missing, arguments.full, arguments.seed)
                label = f"{name}, {share:.0%} corrupt, {missing:.0%} missing"
                add_rows(table, case, label, console, not arguments.no_pursuit)
    console.print(table)


if __name__ == "__main__":
    main()
