"""Contests on data that nobody tuned to: `complete(data)` against single methods tuned on the test entries.

    python -m experiments.arena --peers
    python -m experiments.arena --label before
    python -m experiments.arena --label after --sets crater,il2 --patterns corner,blocks --seeds 0,1 --jobs 2
    python -m experiments.arena --summary before after
    python -m experiments.arena --summary before --each
    python -m experiments.arena --page before

A contest is a data set (`arena_data.py`), a pattern in which entries go missing (`arena_patterns.py`) and a seed. Run
it in the folder of a checkout. Every run appends its rows to a CSV in experiments/results and goes on where it stopped;
what failed is a row with the text of the error.

Peers (arena_peers.csv)
    One row a peer: methods of the library, each with the settings that are best on the test entries themselves, which
    no user has; interpolation along each ordered mode; a smooth field alone; for matrices scikit-learn's imputers at
    their best. They depend on the data only, so that they are computed once.

Labels (arena_LABEL.csv)
    One row a contest: the error of `complete(data, rng=seed)` at the test entries, the share of them within 90%
    intervals, the error that the fit claims, whether it said beforehand that this may not hold, and the CPU seconds of
    the call and of one fit with what it chose.
"""

from __future__ import annotations

import argparse
import csv
import math
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

import tensorfill
from tensorfill import Fit, Observations
from tensorfill.choosing.doubts import DoubtfulFitWarning
from tensorfill.metrics import rmse

from .arena_data import HALVES, SETS, Array
from .arena_patterns import PATTERNS, Mask, hide
from .arena_peers import peers_of
from .arena_tables import each_contest, page, read_rows, summary
from .data import DataMissing

RESULTS = Path(__file__).resolve().parent / "results"
TIME_LIMIT = 60.0
"""Seconds of each call."""

COVERAGE = 0.9
"""What the intervals are asked to hold."""

UNLIKE = 0.75
"""Held-out entries that can be told from the missing ones with a larger AUC are said to be unlike them."""

KEY = ("set", "pattern", "seed")
PEER_COLUMNS = (*KEY, "peer", "rmse", "cpu", "error", "commit")
COLUMNS = (
    *KEY, "half", "entries", "hidden", "rmse", "claimed", "coverage", "width", "resemblance", "said", "cpu",
    "single_cpu", "single_rmse", "chosen", "held_out", "status", "error", "commit",
)  # fmt: skip

Row = dict[str, Any]


@dataclass(frozen=True)
class Contest:
    """A data set, a pattern, and the seed of what is hidden and of the fits."""

    name: str
    pattern: str
    seed: int

    @property
    def key(self) -> tuple[str, str, str]:
        """What its rows begin with, as text."""
        return (self.name, self.pattern, str(self.seed))

    @property
    def begin(self) -> Row:
        """The first cells of its rows."""
        return dict(zip(KEY, self.key, strict=True))

    def data(self) -> tuple[Array, Mask, Observations]:
        """Return the tensor with holes, what is hidden, and the test entries."""
        truth = SETS[self.name].truth()
        hidden = hide(truth, SETS[self.name], self.pattern, self.seed)
        return np.where(hidden, np.nan, truth), hidden, Observations(np.argwhere(hidden), truth[hidden], truth.shape)


@cache
def commit() -> str:
    """Return the commit of the code, with a plus if the package was changed since."""
    here = Path(__file__).resolve().parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=False).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "../src") else "")


def peer_rows(contest: Contest) -> list[Row]:
    """Return a row for each peer of a contest."""
    data, _, test = contest.data()
    rows = []
    for name, answer in peers_of(data, test, SETS[contest.name].ordered, contest.seed, TIME_LIMIT).items():
        row = contest.begin | {"peer": name, "commit": commit(), "error": ""}
        began = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row["rmse"] = rmse(answer(), test.values)
        except Exception as error:  # A peer that fails must not end the run.
            row["error"] = error_text(error)
        rows.append(row | {"cpu": time.process_time() - began})
    return rows


def contest_rows(contest: Contest) -> list[Row]:
    """Return the row of `complete` in a contest."""
    data, hidden, test = contest.data()
    row = contest.begin | {
        "half": HALVES[contest.name],
        "entries": int(np.isfinite(data).sum()),
        "hidden": int(hidden.sum()),
        "error": "",
        "commit": commit(),
    }
    _warm_up(contest.name)
    try:
        row |= _measured(data, test, contest.seed)
    except Exception as error:  # A call that fails must not end the run.
        row["error"] = error_text(error)
    return [row]


def _measured(data: Array, test: Observations, seed: int) -> Row:
    """Return what `complete` reaches, claims, says and takes."""
    fit, seconds, doubts = _timed(data, rng=seed)
    predicted, low, high = fit.predict(test.coords, interval=COVERAGE)
    resemblance = getattr(fit, "resemblance", None)
    resemblance = math.nan if resemblance is None else float(resemblance)
    said = [*doubts, *([f"unlike what is held out ({resemblance:.2f})"] if resemblance > UNLIKE else [])]
    bounded = np.isfinite(high - low)
    row = {
        "rmse": rmse(predicted, test.values),
        "claimed": fit.held_out_error,
        "coverage": float(np.mean((low <= test.values) & (test.values <= high))),
        "width": float(np.median((high - low)[bounded])) if bounded.any() else math.inf,
        "resemblance": resemblance,
        "said": " ".join(said),
        "cpu": seconds,
        "chosen": ", ".join([fit.method.name, *(stage.name for stage in fit.recipe.stages)]),
        "held_out": str(fit.recipe.holdout),
        "status": fit.status.name,
    }
    try:
        again, single, _ = _timed(data, **fit.recipe.arguments())
        row |= {"single_cpu": single, "single_rmse": rmse(again.predict(test.coords), test.values)}
    except Exception as error:  # The answer itself stands.
        row["error"] = f"the single fit: {error_text(error)}"
    return row


def _timed(data: Array, **given: Any) -> tuple[Fit, float, list[str]]:
    """Return the fit, its CPU seconds, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.process_time()
        fit = tensorfill.complete(data, time_limit=TIME_LIMIT, n_jobs=1, **given)
        seconds = time.process_time() - began
    return fit, seconds, [str(each.message) for each in caught if issubclass(each.category, DoubtfulFitWarning)]


@cache
def _warm_up(name: str) -> None:
    """Complete the data set once without measuring: the first call of a process compiles loops."""
    data, _, test = Contest(name, "random", 0).data()
    # What fails here fails again where it is measured, and is a row there.
    with suppress(Exception):
        _measured(data, test, 0)


def error_text(error: Exception) -> str:
    """Return an error's name and text on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def append(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Append rows to a CSV, which gets a header if it is new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        if new:
            writer.writeheader()
        for row in rows:
            writer.writerow({name: f"{cell:.6g}" if isinstance(cell, float) else cell for name, cell in row.items()})


def finished(path: Path) -> set[tuple[str, ...]]:
    """Return the contests that a CSV has rows of."""
    return {tuple(row[name] for name in KEY) for row in read_rows(path)}


def run(contests: Sequence[Contest], path: Path, peers: bool, jobs: int, console: Console) -> None:
    """Run the contests that a CSV has no rows of, and append theirs.

    Parameters
    ----------
    contests
        The contests.
    path
        The CSV.
    peers
        Whether the peers run, or `complete`.
    jobs
        How many processes there are; with one, everything runs in this one.
    console
        Where a line is printed for each row.
    """
    done = finished(path)
    left = [contest for contest in contests if contest.key not in done]
    if len(left) < len(contests):
        console.print(f"{len(contests) - len(left)} contests are in {path.name} already")
    columns = PEER_COLUMNS if peers else COLUMNS
    for rows in _answers(peer_rows if peers else contest_rows, left, jobs):
        append(path, columns, rows)
        for row in rows:
            console.print(_line(row))


def _answers(of: Callable[[Contest], list[Row]], contests: Sequence[Contest], jobs: int) -> Iterator[list[Row]]:
    """Yield the rows of every contest, in order."""
    if jobs == 1:
        with threadpool_limits(1):
            yield from map(of, contests)
        return
    # Threads of compiled code do not survive a fork.
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=threadpool_limits, initargs=(1,)
    ) as pool:
        yield from pool.map(of, contests)


def _line(row: Row) -> str:
    cells = [f"{name} {row[name]:.4g}" for name in ("rmse", "coverage", "cpu", "single_cpu") if name in row]
    return "  ".join(
        [*(row[name] for name in KEY), str(row.get("peer") or row.get("chosen", "")), *cells, row["error"]]
    )


def available(names: Iterable[str], console: Console) -> list[str]:
    """Return the data sets that can be read here; why another cannot is printed."""
    found = []
    for name in names:
        try:
            SETS[name].truth()
        except DataMissing as missing:
            console.print(f"{name} skipped: {missing}")
        else:
            found.append(name)
    return found


def main(argv: Sequence[str] | None = None, results: Path = RESULTS) -> int:
    """Run the contests that the command line asks for, or compare runs, and return an exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.arena", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--peers", action="store_true", help="run the peers")
    what.add_argument("--label", help="run complete, and keep it under this name")
    what.add_argument(
        "--summary", nargs="+", metavar="LABEL", help="compare runs on the contests that all of them have"
    )
    what.add_argument("--page", metavar="LABEL", help="write the tables of a run for the documentation, as arena.md")
    parser.add_argument("--each", action="store_true", help="with --summary: also every contest, the worst ratio first")
    parser.add_argument("--sets", type=some_of(SETS), default=list(SETS), help=f"some of {','.join(SETS)}")
    parser.add_argument("--patterns", type=some_of(PATTERNS), default=list(PATTERNS), help=f"of {','.join(PATTERNS)}")
    parser.add_argument("--seeds", type=seeds_of, default=[0], help="such as 0,1,2 (default 0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (default 1)")
    given = parser.parse_args(argv)
    console = Console(width=200, highlight=False, soft_wrap=True)
    if given.jobs < 1:
        parser.error(f"--jobs is {given.jobs}; give a whole number of at least 1.")
    if given.summary or given.page:
        return _told(given, results, console)
    names = available(given.sets, console)
    contests = [Contest(*each) for each in product(names, given.patterns, given.seeds)]
    run(contests, results / f"arena_{'peers' if given.peers else given.label}.csv", given.peers, given.jobs, console)
    return 0


def _told(given: argparse.Namespace, results: Path, console: Console) -> int:
    """Print the comparison of runs, or write the tables of one."""
    labels = given.summary or [given.page]
    missing = [label for label in labels if not (results / f"arena_{label}.csv").exists()]
    if missing:
        sys.stderr.write(f"There is no arena_{missing[0]}.csv in {results}; run --label {missing[0]} first.\n")
        return 2
    peers = read_rows(results / "arena_peers.csv")
    runs = {label: read_rows(results / f"arena_{label}.csv") for label in labels}
    if given.page:
        (results / "arena.md").write_text(page(runs[given.page], peers), encoding="utf-8")
        return 0
    console.print(summary(runs, peers))
    if given.each:
        for label, rows in runs.items():
            console.print(f"\n{label}\n\n{each_contest(rows, peers)}")
    return 0


def some_of(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a reader of a list of names."""

    def read(text: str) -> list[str]:
        wanted = text.split(",")
        unknown = [name for name in wanted if name not in names]
        if unknown:
            raise argparse.ArgumentTypeError(f"there is no {unknown[0]!r}; there are {', '.join(names)}.")
        return wanted

    return read


def seeds_of(text: str) -> list[int]:
    """Return the seeds of a list such as ``0,1,2``."""
    return [int(each) for each in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
