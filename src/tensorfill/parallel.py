"""Independent work side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

import numba

T = TypeVar("T")


def side_by_side(tasks: Sequence[Callable[[], T]]) -> tuple[T, ...]:
    """Return the answers of tasks, which run in threads where there are several and the machine allows it.

    The compiled loops of a task then have one thread each, and BLAS has as many as the caller set; both would compete
    for the same cores otherwise.
    """
    if len(tasks) == 1 or (os.cpu_count() or 1) == 1 or not _loops_may_meet():
        return tuple(task() for task in tasks)
    from joblib import Parallel, delayed

    workers = min(len(tasks), os.cpu_count() or 1)
    return tuple(Parallel(n_jobs=workers, prefer="threads")(delayed(_alone)(task) for task in tasks))


def _alone(task: Callable[[], T]) -> T:
    """Run a task with one thread for its compiled loops, in this thread of Python only."""
    numba.set_num_threads(1)
    return task()


@numba.njit(parallel=True, cache=True)
def _touch() -> float:
    total = 0.0
    for number in numba.prange(2):
        total += number
    return total


def _loops_may_meet() -> bool:
    """Tell whether compiled loops of several threads may run at once; numba's simplest scheduler forbids it."""
    _touch()
    return bool(numba.threading_layer() != "workqueue")  # type: ignore[attr-defined]
