"""Independent tasks in parallel threads; compiled loops and BLAS release the interpreter lock."""

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
    """Return how many threads may share work: all cores of the machine, or one inside work that is shared already."""
    return 1 if getattr(_here, "at_work", False) else _cores()


def side_by_side(tasks: Sequence[Callable[[], T]], *, worth_it: bool = True) -> tuple[T, ...]:
    """Return the results of tasks that run in parallel, one for each free thread.

    The calling thread takes part. A task that would share its own work finds all threads taken, and does it alone.
    Without `worth_it`, tasks run one after the other.
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
            # After an error, the results of the other tasks are not needed.
            waiting.clear()
            raise
        finally:
            _here.at_work = False

    helping = [_pool(os.getpid()).submit(work) for _ in range(helpers)]
    try:
        work()
    finally:
        # Helpers that have not begun are not needed any more; the others are at their last task.
        begun = [each for each in helping if not each.cancel()]
        errors = [each.exception() for each in begun]
    for error in errors:
        if error is not None:
            raise error
    return tuple(answers[number] for number in range(len(tasks)))


def in_rounds(tasks: Sequence[Callable[[], T]], *, worth_it: bool = True) -> tuple[T, ...]:
    """Return the results of tasks that may share their own work, in rounds of as many as there are threads.

    Tasks that do not fill a round run one after the other, each with all threads to itself.
    """
    filled = len(tasks) - len(tasks) % thread_count()
    return *side_by_side(tasks[:filled], worth_it=worth_it), *(task() for task in tasks[filled:])


def blas_threads(count: int) -> AbstractContextManager[Any]:
    """Limit BLAS to this many threads within the context."""
    return _libraries().limit(limits=count, user_api="blas")  # type: ignore[no-any-return]


@cache
def _libraries() -> ThreadpoolController:
    """Return the controller of BLAS threads, made once: finding the libraries takes longer than a small fit."""
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
