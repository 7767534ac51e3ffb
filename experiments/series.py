"""Series with gaps, and forecasts of them: `complete` against peers that are tuned on the tested entries.

    python -m experiments.series --peers
    python -m experiments.series --peers --only linear,seasonal --sets elnino,co2 --kinds gap6,ahead30
    python -m experiments.series --label now --seeds 0,1 --jobs 2
    python -m experiments.series --summary now
    python -m experiments.series --page now

A contest is a set of series (`series_sets.py`), a kind (`series_contests.py`) and a seed. Run it in the folder of a
checkout. Every run appends its rows to a CSV in experiments/results and goes on where it stopped; what failed is a row
with the text of the error.

Kinds
    gap1, gap6, gap24, gap168: gaps of so many steps at other places of each series, a fifth of it in all.
    points10, points50: single points of ten months of Beijing's air, as in TSI-Bench (its figure is the MAE).
    ahead0, ahead30, ahead60: forecasts of 24 steps (12 months for El Nino) from three origins, with so many percent of
    the points before them missing.

Peers (series_peers.csv)
    One row a peer of `series_peers.py`: its errors at the settings that are best on the tested entries, and the CPU
    seconds of these. Structural models are fitted to one series at a time; of sets with more than 15 series they get
    twelve, and their errors are in the columns sample_mae and sample_rmse, which every other row has too.

Labels (series_LABEL.csv)
    One row a contest: errors of `complete` at the tested entries, the share of these within 90% intervals, and the CPU
    seconds of the call.
"""

from __future__ import annotations

import argparse
import math
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

from .arena import append, commit, error_text, seeds_of, some_of
from .arena_data import Array
from .arena_tables import read_rows
from .data import DataMissing
from .series_contests import COVERED, KINDS, MEASURED, Case, cases, coverage, takes
from .series_peers import PEERS, errors_of, peer_row
from .series_sets import SETS
from .series_tables import page, peers_table, summary

RESULTS = Path(__file__).resolve().parent / "results"
TIME_LIMIT = 300.0
"""Seconds of each call of `complete`."""

COVERAGE = 0.9
"""What the intervals are asked to hold."""

KEY = ("set", "kind", "seed")
ERRORS = (*MEASURED[:2], "sample_mae", "sample_rmse", *MEASURED[2:])
PEER_COLUMNS = (*KEY, "peer", "settings", *ERRORS, "cpu", "error", "commit")
COLUMNS = (*KEY, "series", "times", "tested", *ERRORS, *COVERED, "width", "cpu", "chosen", "error", "commit")

Row = dict[str, Any]


@dataclass(frozen=True)
class Contest:
    """A set of series, a kind of task, the seed of both, and the peer that takes part; "" for `complete`."""

    name: str
    kind: str
    seed: int
    peer: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """What its row is known by, as text."""
        return (self.name, self.kind, str(self.seed), *([self.peer] if self.peer else []))

    @property
    def begin(self) -> Row:
        """The first cells of its row."""
        return dict(zip((*KEY, "peer"), self.key, strict=False)) | {"commit": commit(), "error": ""}

    def cases(self) -> list[Case]:
        """Return its cases."""
        return cases(self.name, SETS[self.name], self.kind, self.seed)


def peer_answers(contest: Contest) -> Row | str:
    """Return the row of a peer; a sentence if it cannot take part here."""
    found = contest.cases()
    peer = PEERS[contest.peer]
    if not peer.takes(found[0]):
        return ""
    row = contest.begin
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return row | peer_row(peer, found, SETS[contest.name].periods)
    except DataMissing as missing:
        return str(missing)
    except Exception as error:  # A peer that fails must not end the run.
        return row | {"error": error_text(error), "cpu": time.process_time() - began}


def our_answers(contest: Contest) -> Row | str:
    """Return the row of `complete`."""
    found = contest.cases()
    row = contest.begin | {
        "series": len(found[0].data),
        "times": found[0].data.shape[1],
        "tested": sum(int(np.isfinite(case.truth).sum()) for case in found),
    }
    _warm_up(contest.name)
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answers = [completed(case, contest.seed) for case in found]
    except Exception as error:  # A call that fails must not end the run.
        return row | {"error": error_text(error), "cpu": time.process_time() - began}
    row["cpu"] = time.process_time() - began
    lows, highs = [each.low for each in answers], [each.high for each in answers]
    widths = np.concatenate(
        [(each.high - each.low)[np.isfinite(case.truth)] for case, each in zip(found, answers, strict=True)]
    )
    bounded = np.isfinite(widths)
    return (
        row
        | errors_of(found, [each.values for each in answers])
        | coverage(found, lows, highs)
        | {"width": float(np.median(widths[bounded])) if bounded.any() else math.inf, "chosen": answers[-1].chosen}
    )


@dataclass(frozen=True)
class Answer:
    """What `complete` says of a case: series by time and steps, the ends of its intervals, and what it chose."""

    values: Array
    low: Array
    high: Array
    chosen: str


def completed(case: Case, seed: int) -> Answer:
    """Return the answer of `complete` to a case: a call with dates and nothing else."""
    from xarray import DataArray

    data = DataArray(case.data, dims=("series", "time"), coords={"time": case.dates}, name="x")
    given: dict[str, Any] = {"rng": seed, "time_limit": TIME_LIMIT, "n_jobs": 1}
    if case.steps:
        fit = tensorfill.complete(data, horizon=case.steps, **given)
        ahead = fit.forecast(case.steps, interval=COVERAGE)  # type: ignore[attr-defined]
        parts = [np.concatenate([case.data, np.asarray(each)], axis=1) for each in ahead]
    else:
        fit = tensorfill.complete(data, **given)
        filled = fit.filled(interval=COVERAGE)
        parts = [np.asarray(filled[name]) for name in ("x", "x_low", "x_high")]
    chosen = ", ".join([fit.method.name, *(stage.name for stage in fit.recipe.stages)])
    return Answer(parts[0], parts[1], parts[2], chosen)


@cache
def _warm_up(name: str) -> None:
    """Answer a crop of the set without measuring: the first call of a process compiles loops."""
    values, dates = SETS[name].table()
    # What fails here fails again where it is measured, and is a row there.
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        completed(Case(values[:10, -240:], dates[-240:], 0, values[:10, -240:]), 0)


def run(contests: Sequence[Contest], path: Path, jobs: int, console: Console) -> None:
    """Run the contests that a CSV has no rows of, and append theirs.

    Parameters
    ----------
    contests
        The contests, all of them of peers or none.
    path
        The CSV.
    jobs
        How many processes there are; with one, everything runs in this one.
    console
        Where a line is printed for each row.
    """
    done = finished(path)
    left = [contest for contest in contests if contest.key not in done]
    if len(left) < len(contests):
        console.print(f"{len(contests) - len(left)} contests are in {path.name} already")
    peers = any(contest.peer for contest in contests)
    said: set[str] = set()
    for contest, row in zip(left, _answers(peer_answers if peers else our_answers, left, jobs), strict=True):
        if isinstance(row, str):
            if row and row not in said:
                console.print(f"{contest.peer} left out: {row}")
            said.add(row)
            continue
        append(path, PEER_COLUMNS if peers else COLUMNS, [row])
        console.print(_line(row))


def finished(path: Path) -> set[tuple[str, ...]]:
    """Return the keys of the contests that a CSV has rows of."""
    return {tuple(row[name] for name in (*KEY, "peer") if name in row) for row in read_rows(path)}


def _answers(of: Callable[[Contest], Row | str], contests: Sequence[Contest], jobs: int) -> Iterator[Row | str]:
    """Yield the answers to every contest, in order."""
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
    cells = [f"{name} {row[name]:.4g}" for name in ("mae", "sample_mae", "coverage", "cpu") if name in row]
    words = [*(row[name] for name in KEY), row.get("peer") or row.get("chosen", ""), row.get("settings", "")]
    return "  ".join([*words, *cells, row["error"]])


def available(names: Iterable[str], console: Console) -> list[str]:
    """Return the sets that can be read here; why another cannot is printed."""
    found = []
    for name in names:
        try:
            SETS[name].table()
        except DataMissing as missing:
            console.print(f"{name} skipped: {missing}")
        else:
            found.append(name)
    return found


def main(argv: Sequence[str] | None = None, results: Path = RESULTS) -> int:
    """Run the contests that the command line asks for, or show what runs have, and return an exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.series", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--peers", action="store_true", help="run the peers")
    what.add_argument("--label", help="run complete, and keep it under this name")
    what.add_argument("--summary", metavar="LABEL", help="print a run beside the best peers")
    what.add_argument("--table", action="store_true", help="print the errors of all peers")
    what.add_argument("--page", metavar="LABEL", help="write the tables of a run for the documentation, as series.md")
    parser.add_argument("--only", type=some_of(PEERS), default=list(PEERS), help=f"peers of {', '.join(PEERS)}")
    parser.add_argument("--sets", type=some_of(SETS), default=list(SETS), help=f"some of {','.join(SETS)}")
    parser.add_argument("--kinds", type=some_of(KINDS), default=list(KINDS), help=f"of {','.join(KINDS)}")
    parser.add_argument("--seeds", type=seeds_of, default=[0], help="such as 0,1,2 (default 0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (default 1)")
    given = parser.parse_args(argv)
    console = Console(width=200, highlight=False, soft_wrap=True)
    if given.jobs < 1:
        parser.error(f"--jobs is {given.jobs}; give a whole number of at least 1.")
    if given.summary or given.page or given.table:
        return _told(given, results, console)
    names = available(given.sets, console)
    wanted = [each for each in product(names, given.kinds, given.seeds) if takes(SETS[each[0]], each[1])]
    peers = given.only if given.peers else [""]
    contests = [Contest(*each, peer) for peer in peers for each in wanted]
    run(contests, results / f"series_{'peers' if given.peers else given.label}.csv", given.jobs, console)
    return 0


def _told(given: argparse.Namespace, results: Path, console: Console) -> int:
    """Print a run or the peers, or write the tables of a run."""
    peers = read_rows(results / "series_peers.csv")
    if given.table:
        console.print(peers_table(peers))
        return 0
    label = given.summary or given.page
    path = results / f"series_{label}.csv"
    if not path.exists():
        sys.stderr.write(f"There is no {path.name} in {results}; run --label {label} first.\n")
        return 2
    if given.page:
        (results / "series.md").write_text(page(read_rows(path), peers), encoding="utf-8")
    else:
        console.print(summary(read_rows(path), peers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
