"""Independent tasks in parallel threads; compiled loops and BLAS release the interpreter lock.

The number of threads never changes a result. Work on many entries is cut into parts by the number of entries alone
(`parts_of`), each part has a separate result, and these are added in the order of the parts. BLAS, whose sums do depend
on the number of threads, has one thread.
"""

from __future__ import annotations

import operator
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ContextDecorator, contextmanager
from functools import cache
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from .checks import whole_number
from .types import Integers

T = TypeVar("T")

MOST_PARTS = 8
"""Work on entries is cut into at most this many parts, so at most that many threads share it."""

LEAST_PART = 2**13
"""The smallest number of entries that is worth a thread."""

LIMITS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")
"""Environment variables that limit the threads of compiled loops."""

_here = threading.local()


def thread_count() -> int:
    """Return how many threads may share work: as many as `threads` allows, but one within shared work."""
    return 1 if getattr(_here, "at_work", False) else getattr(_here, "allowed", None) or _cores()


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Set the number of threads that share the work of this thread, within the context.

    Parameters
    ----------
    n_jobs
        The number of threads; -1 for one for each core. None leaves the number unchanged: one for each core that the
        process may use, unless the environment sets a lower limit.
    """
    before = getattr(_here, "allowed", None)
    _here.allowed = before if n_jobs is None else checked_threads(n_jobs)
    try:
        yield
    finally:
        _here.allowed = before


def checked_threads(n_jobs: Any) -> int:
    """Return a number of threads; -1 means one for each core.

    >>> checked_threads(2)
    2
    >>> checked_threads(0)
    Traceback (most recent call last):
        ...
    ValueError: n_jobs, unless -1 for all cores or None, must be a whole number of at least 1, but 0 was given.
    """
    if not isinstance(n_jobs, bool) and n_jobs == -1:
        return _all_cores()
    return whole_number(n_jobs, "n_jobs, unless -1 for all cores or None,", at_least=1)


def parts_of(first: int, last: int, *, beside: int = 0) -> Integers:
    """Return the bounds of the parts of the entries from `first` to `last`, independent of the number of threads.

    Parameters
    ----------
    first, last
        The entries.
    beside
        The size of the array that each part accumulates into. Allocating it must not cost more than the loop over the
        entries.

    Examples
    --------
    >>> parts_of(0, 2**15).tolist(), parts_of(0, 2**15, beside=2**14).tolist()
    ([0, 8192, 16384, 24576, 32768], [0, 16384, 32768])
    """
    most = min(MOST_PARTS, (last - first) // max(LEAST_PART, beside))
    return np.linspace(first, last, max(1, most) + 1).astype(np.int64)


def side_by_side(tasks: Sequence[Callable[[], T]], *, worth_it: bool = True) -> tuple[T, ...]:
    """Return the results of tasks that run in parallel, each in one thread.

    The calling thread takes part. Nested parallel work within a task runs in one thread. Without `worth_it`, tasks run
    one after the other.
    """
    # The number of cores is asked for only where it matters, because joblib takes a tenth of a second to import.
    helpers = min(len(tasks), thread_count()) - 1 if worth_it and len(tasks) > 1 else 0
    if helpers < 1:
        return tuple(map(operator.call, tasks))
    answers: dict[int, T] = {}
    waiting = deque(enumerate(tasks))

    def work() -> None:
        _here.at_work = True
        try:
            while waiting:
                try:
                    number, task = waiting.popleft()
                except IndexError:  # another thread took the last one first
                    break
                answers[number] = task()
        except BaseException:
            # After an error, the other tasks are skipped.
            waiting.clear()
            raise
        finally:
            _here.at_work = False

    helping = [_pool(os.getpid(), helpers).submit(work) for _ in range(helpers)]
    try:
        work()
    finally:
        # Helpers that have not started are cancelled; the others are at their last task.
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
    filled = len(tasks) - len(tasks) % thread_count() if worth_it else 0
    return *side_by_side(tasks[:filled], worth_it=worth_it), *(task() for task in tasks[filled:])


class _OneBlasThread(ContextDecorator):
    """Limits BLAS to one thread within the context, or within a function that it decorates.

    The limit holds for the whole process, so overlapping contexts in any threads are counted: the first one sets the
    limit, and the last one restores the previous one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        libraries = _libraries()
        with self._lock:
            # The first limit stores the previous one, even if an interrupt came before it was counted.
            self._limit = self._limit or libraries.limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside = max(self._inside - 1, 0)
            if self._inside == 0:
                self._restore()

    def _restore(self) -> None:
        limit, self._limit = self._limit, None
        if limit is not None:
            limit.restore_original_limits()

    def forget(self) -> None:
        """Reset in a forked process, which has none of the threads of its parent."""
        self._lock, self._inside = threading.Lock(), 0
        self._restore()


one_blas_thread = _OneBlasThread()
"""The context in which BLAS has one thread. BLAS threads wait busily for one another, which slows down compiled loops,
and the rounding of their sums depends on their number."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=one_blas_thread.forget)


@cache
def _libraries() -> ThreadpoolController:
    """Return the controller of BLAS threads, made once: finding the libraries takes longer than a small fit."""
    import scipy.linalg  # noqa: F401  it has a separate BLAS, which must be loaded to be found

    return ThreadpoolController()


@cache
def _all_cores() -> int:
    """Return how many cores the process may use."""
    from joblib import cpu_count

    return int(cpu_count())


@cache
def _cores() -> int:
    """Return how many cores the process may use, or fewer if the environment limits threads."""
    given = [os.environ.get(name, "").strip() for name in LIMITS]
    return min([_all_cores(), *(int(each) for each in given if each.isdigit() and int(each) > 0)])


@cache
def _pool(process: int, helpers: int) -> ThreadPoolExecutor:
    """Return this many threads of a process, made once; a forked process has none of its parent's."""
    return ThreadPoolExecutor(helpers, thread_name_prefix="tensorfill")
