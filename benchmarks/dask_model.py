"""Predicts the time and the memory of an iteration on a cluster, and checks the prediction with delays.

python benchmarks/dask_model.py                          a billion entries on 4, 16 and 64 workers
python benchmarks/dask_model.py --simulate 1000000       delays like those of a network, on processes of this machine

The constants come from `benchmarks/dask.json`, which `make bench-dask` writes. A delay of a simulation is a pause of a
worker for as long as the arrays of a message would take, so that it costs no time of a processor.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import on_dask
from measure import FOLDER, fresh
from tensorfill.algebra.unfolding import columns
from tensorfill.distributed.cutting import Cut
from tensorfill.distributed.session import memory_of

NUMBER = 8
"""Bytes of a number."""

EXTRA = 3
"""Columns of a block beyond the rank, rounded up to four."""

QUESTIONS = 5
"""Questions of an iteration with two regularised modes."""


@dataclass(frozen=True)
class Table:
    """A table to complete: the sizes of the modes, the number of entries, and what NORT is to do with it."""

    shape: tuple[int, ...]
    entries: int
    modes: tuple[int, ...]
    rank: int

    @property
    def split(self) -> int:
        """The mode that is cut: the largest."""
        return int(np.argmax(self.shape))

    @property
    def width(self) -> int:
        """The number of columns of a block."""
        return -(-(self.rank + EXTRA) // 4) * 4


@dataclass(frozen=True)
class Moves:
    """What an iteration moves, in bytes.

    Parameters
    ----------
    driver
        What leaves or reaches the driver, one after the other.
    tree
        What a worker sends or takes at each level of the tree of additions, and of the way back.
    levels
        The number of these levels, there and back.
    """

    driver: float
    tree: float
    levels: int

    def seconds(self, bandwidth: float) -> float:
        """Return how long all of it takes at so many bytes in a second."""
        return (self.driver + self.levels * self.tree) / bandwidth


def moves(table: Table, workers: int) -> Moves:
    """Return what an iteration moves.

    Every worker is told the left factors of the other modes at the point that is extrapolated and at the next one, and
    the block to start from; of the split mode it is told its own rows. The products come back once, added up. The block
    of the split mode has a row for each column of its unfolding; it is added up and sent to all.
    """
    others = sum(table.shape[mode] for mode in table.modes if mode != table.split)
    own = table.shape[table.split] if table.split in table.modes else 0
    told = (2 * table.rank + table.width) * NUMBER
    driver = (workers * others + own) * told + (others + own) * table.width * NUMBER
    levels = math.ceil(math.log2(workers)) if workers > 1 and own else 0
    block = columns(table.shape, table.split) * table.width * NUMBER
    return Moves(driver, block, 2 * levels)


def constants() -> tuple[float, float]:
    """Return the seconds for an entry and for a question, from what was measured with one worker."""
    rows = [row for group in json.loads((FOLDER / "dask.json").read_text()) for row in group if row["workers"] == 1]
    entries = np.array([row["entries"] for row in rows], dtype=float)
    seconds = np.array([row["seconds"] for row in rows])
    # Relative errors, since the seconds span more than an order of magnitude.
    each, fixed = np.linalg.lstsq(np.stack([entries, np.ones_like(entries)], 1) / seconds[:, None], np.ones(len(rows)))[
        0
    ]
    return float(each), max(float(fixed), 0.0) / QUESTIONS


def predicted(table: Table, workers: int, bandwidth: float) -> tuple[float, float, float]:
    """Return the seconds of an iteration, those of moving among them, and the bytes of a worker."""
    each, question = constants()
    bounds = np.linspace(0, table.shape[table.split], workers + 1).astype(int)
    cut = Cut(table.shape, table.split, tuple(int(bound) for bound in bounds))
    moving = moves(table, workers).seconds(bandwidth)
    seconds = each * table.entries / workers + QUESTIONS * question + moving
    memory = memory_of(cut, 0, table.entries // workers, np.dtype(float), table.rank, table.modes)
    return seconds, moving, memory


GIGABIT = 1e9 / 8
BILLION = Table((5_000_000, 200_000, 12), 1_000_000_000, (0, 1), 5)
"""Ratings or links of five million users and 200,000 items in twelve months."""


def page() -> str:
    """Return the table of predictions."""
    lines = [
        "| workers | network | seconds an iteration | of them moving | memory of a worker |",
        "| --- | --- | --- | --- | --- |",
    ]
    for gigabits in (1, 10):
        for workers in (4, 16, 64):
            seconds, moving, memory = predicted(BILLION, workers, gigabits * GIGABIT)
            lines.append(f"| {workers} | {gigabits} Gbit/s | {seconds:.0f} | {moving:.0f} | {memory / 2**30:.0f} GiB |")
    return "\n".join(lines)


def delay(bandwidth: float, workers: int) -> None:
    """Let the driver pause for what it sends, and workers for what they add, take and answer."""
    from tensorfill.distributed import orders, post

    run, add, pack, size = orders.carried_out, orders.added, orders.packed, orders.nbytes_of
    levels = math.ceil(math.log2(workers)) if workers > 1 else 0

    def packed(batch: Any, beside: list[Any]) -> Any:
        found = pack(batch, beside)
        if isinstance(batch, list) and batch and isinstance(batch[0], tuple) and isinstance(batch[0][0], str):
            time.sleep(size(beside) / bandwidth)
        return found

    def carried_out(run_: str, number: int, batch: Any, after: object, *beside: Any) -> Any:
        sums = sum(size(each.value) for each in beside if isinstance(each, orders.Answer))
        answer = run(run_, number, batch, after, *beside)
        # What is added up on the workers waits there.
        answered = 0 if batch[-1][0] == "there" else size(answer.value)
        time.sleep((levels * sums + answered) / bandwidth)
        return answer

    def added(first: Any, second: Any) -> Any:
        time.sleep(size(second.value) / bandwidth)
        return add(first, second)

    post.packed, post.carried_out, post.added = packed, carried_out, added


def seconds_with(folder: str, count: int, workers: int, bandwidth: float) -> float:
    """Return the seconds of an iteration with delays."""
    if math.isfinite(bandwidth):
        delay(bandwidth, workers)
    return float(on_dask.on_workers(folder, count, workers)["seconds"])


def simulate(count: int) -> None:
    """Compare the delays that the prediction adds with those that a run has."""
    table = Table(on_dask.SHAPE, count, (0, 1), on_dask.RANK)
    print(
        "| workers | Gbit/s | seconds without delays | with delays | added | predicted |\n|" + " --- |" * 6, flush=True
    )
    with tempfile.TemporaryDirectory() as folder:
        on_dask.write(count, folder)
        for workers in (1, 2, 4):
            plain = fresh(seconds_with, folder, count, workers, math.inf)
            for gigabits in (0.1, 1.0):
                slow = fresh(seconds_with, folder, count, workers, gigabits * GIGABIT)
                expected = moves(table, workers).seconds(gigabits * GIGABIT)
                cells = [plain, slow, slow - plain, expected]
                print(f"| {workers} | {gigabits} | {' | '.join(f'{each:.2f}' for each in cells)} |", flush=True)


def main() -> None:
    """Print the predictions, or a simulation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulate", type=int, metavar="ENTRIES")
    given = parser.parse_args()
    if given.simulate:
        simulate(given.simulate)
    else:
        print(page())


if __name__ == "__main__":
    main()
