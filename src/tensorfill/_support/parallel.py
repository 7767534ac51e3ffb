"""Independent work side by side, in threads: compiled loops and BLAS let other threads run meanwhile."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")

_here = threading.local()


def thread_count() -> int:
    """Return how many threads work may be shared among: all that the machine gives, or one within shared work."""
    return 1 if getattr(_here, "at_work", False) else _cores()


def side_by_side(tasks: Sequence[Callable[[], T]], *, worth_it: bool = True) -> tuple[T, ...]:
    """Return the answers of tasks; as many run at a time as there are threads, each as soon as one is free.

    The calling thread does its part. A task that shares its own work finds all threads taken, and does it alone. Tasks
    so small that threads are not worth it run one after the other.
    """
    helpers = min(len(tasks), thread_count()) - 1
    if helpers < 1 or not worth_it:
        return tuple(task() for task in tasks)
    answers: dict[int, T] = {}
    waiting = deque(enumerate(tasks))

    def work() -> None:
        _here.at_work = True
        try:
            while waiting:
                try:
                    number, task = waiting.popleft()
                except IndexError:  # another thread took the last one meanwhile
                    break
                answers[number] = task()
        except BaseException:
            # Nobody will ask for the answers of what is left, whatever went wrong.
            waiting.clear()
            raise
        finally:
            _here.at_work = False

    helping = [_pool(os.getpid()).submit(work) for _ in range(helpers)]
    try:
        work()
    finally:
        # One that has not begun is not needed any more; the others are at their last task.
        begun = [each for each in helping if not each.cancel()]
        errors = [each.exception() for each in begun]
    for error in errors:
        if error is not None:
            raise error
    return tuple(answers[number] for number in range(len(tasks)))


def in_rounds(tasks: Sequence[Callable[[], T]], *, worth_it: bool = True) -> tuple[T, ...]:
    """Return the answers of tasks that may share their own work: as many as there are threads run side by side.

    Those that are left when no more rounds can be filled run one after the other, and have all threads to themselves.
    """
    filled = len(tasks) - len(tasks) % thread_count()
    return *side_by_side(tasks[:filled], worth_it=worth_it), *(task() for task in tasks[filled:])


def blas_threads(count: int) -> AbstractContextManager[Any]:
    """Let BLAS have so many threads meanwhile."""
    return _libraries().limit(limits=count, user_api="blas")  # type: ignore[no-any-return]


@cache
def _libraries() -> ThreadpoolController:
    """Return what sets the threads of BLAS. To look for the libraries takes longer than many a small fit."""
    import scipy.linalg  # noqa: F401  it brings a BLAS of its own, which must be there to be found

    return ThreadpoolController()


@cache
def _cores() -> int:
    from joblib import cpu_count

    return int(cpu_count())


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Return the threads of a process, made once; a forked process has none of its parent's."""
    return ThreadPoolExecutor(max(1, _cores() - 1), thread_name_prefix="tensorfill")
