"""Work side by side: answers in order, errors passed on, nested work done alone; the same bits for any threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from tensorfill import complete
from tensorfill._support import parallel
from tensorfill._support.parallel import (
    LEAST_PART,
    MOST_PARTS,
    in_rounds,
    one_blas_thread,
    parts_of,
    side_by_side,
    thread_count,
    threads,
)

from .refusal import refuses


@pytest.fixture(params=[1, 2, 4])
def cores(request):
    parallel._pool.cache_clear()
    with mock.patch.object(parallel, "_cores", return_value=request.param):
        yield request.param
    parallel._pool.cache_clear()


def test_answers_are_in_the_order_of_the_tasks(cores):
    assert side_by_side([lambda n=n: n * n for n in range(50)]) == tuple(n * n for n in range(50))
    assert side_by_side([]) == ()


def test_tasks_that_are_not_worth_a_thread_run_here(cores):
    here = threading.get_ident()
    for together in (side_by_side, in_rounds):
        assert together([threading.get_ident] * 5, worth_it=False) == (here,) * 5


def test_tasks_do_run_at_the_same_time(cores):
    meeting = threading.Barrier(min(cores, 2), timeout=30)
    side_by_side([meeting.wait for _ in range(min(cores, 2))])


def test_shared_work_within_shared_work_is_done_alone(cores):
    def outer():
        here = threading.get_ident()
        counts = thread_count()
        return counts, side_by_side([threading.get_ident] * 3) == (here,) * 3

    answers = side_by_side([outer] * 4)
    assert answers == ((1, True),) * 4
    assert thread_count() == cores


@pytest.mark.parametrize("count", range(6))
def test_rounds_are_filled_and_what_is_left_has_all_threads(cores, count):
    filled = count - count % cores
    answers = in_rounds([lambda n=n: (n, thread_count()) for n in range(count)])
    alone = 1 if cores > 1 and filled > 1 else cores
    assert answers == tuple((n, alone if n < filled else cores) for n in range(count))


@pytest.mark.parametrize("place", [0, 3, 9])
def test_an_error_is_passed_on_and_leaves_the_threads_usable(cores, place):
    def fail():
        raise RuntimeError("no")

    tasks = [(lambda: 1)] * place + [fail] + [(lambda: 1)] * 3
    with pytest.raises(RuntimeError, match="no"):
        side_by_side(tasks)
    assert thread_count() == cores
    assert side_by_side([lambda: 2] * 5) == (2,) * 5


def test_several_threads_of_a_caller_may_share_work_at_once(cores):
    found = []
    callers = [
        threading.Thread(target=lambda n=n: found.append(side_by_side([lambda: n] * 20) == (n,) * 20)) for n in range(6)
    ]
    for each in callers:
        each.start()
    for each in callers:
        each.join(timeout=60)
    assert found == [True] * 6


@given(first=st.integers(0, 50), count=st.integers(0, 2**18), beside=st.integers(0, 2**15))
def test_the_parts_are_all_entries_once_and_do_not_depend_on_the_threads(first, count, beside):
    parts = parts_of(first, first + count, beside=beside)
    assert (parts[0], parts[-1]) == (first, first + count)
    assert (np.diff(parts) >= 0).all()
    assert 1 <= len(parts) - 1 <= MOST_PARTS
    assert (len(parts) - 2) * max(beside, LEAST_PART) <= count
    with threads(3):
        np.testing.assert_array_equal(parts_of(first, first + count, beside=beside), parts)


class TestNumberOfThreads:
    def test_of_the_caller(self):
        usual = thread_count()
        with threads(7):
            assert thread_count() == 7
            with threads(None):
                assert thread_count() == 7
            with threads(2):
                assert thread_count() == 2
            assert thread_count() == 7
        assert thread_count() == usual

    def test_of_one_thread_is_not_that_of_another(self):
        with threads(7), ThreadPoolExecutor(1) as other:
            assert other.submit(thread_count).result() == parallel._cores()

    def test_an_error_ends_it(self):
        usual = thread_count()
        with pytest.raises(RuntimeError), threads(7):
            raise RuntimeError
        assert thread_count() == usual

    @pytest.mark.parametrize(
        ("given", "expected"),
        [({}, 6), ({"NUMBA_NUM_THREADS": "3"}, 3), ({"OMP_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "4"}, 2)]
        + [({"OMP_NUM_THREADS": wrong}, 6) for wrong in ("", "0", "many", "4,2")],
    )
    def test_the_environment_limits_it(self, monkeypatch, given, expected):
        for name in parallel.LIMITS:
            monkeypatch.delenv(name, raising=False)
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        with mock.patch.object(parallel, "_all_cores", return_value=6):
            assert parallel._cores.__wrapped__() == expected
            with threads(-1):
                assert thread_count() == 6

    @pytest.mark.parametrize("wrong", [0, -2, 1.5, True, "2"])
    def test_what_is_no_number_of_threads_is_refused(self, wrong):
        words = ["n_jobs, unless -1 for all cores or None", repr(wrong)]
        refuses((TypeError, ValueError), words, lambda: complete(TABLE, n_jobs=wrong))


TABLE = np.outer(np.arange(1.0, 9.0), np.arange(1.0, 7.0))
TABLE[2, 3] = np.nan


def blas():
    """Return how many threads each BLAS has."""
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


@pytest.fixture
def two_blas_threads():
    one_blas_thread.__enter__()  # so that all libraries are loaded
    one_blas_thread.__exit__()
    with threadpool_limits(2, "blas"):
        assert set(blas()) == {2}
        yield


@pytest.mark.usefixtures("two_blas_threads")
class TestOneBlasThread:
    def test_within_and_after(self):
        with one_blas_thread:
            assert set(blas()) == {1}
            with one_blas_thread:
                pass
            assert set(blas()) == {1}
        assert set(blas()) == {2}
        with pytest.raises(RuntimeError), one_blas_thread:
            raise RuntimeError
        assert set(blas()) == {2}

    def test_contexts_that_overlap_end_with_the_last(self):
        """The first to begin is the first to end, as in a pool of threads."""
        first, second = ExitStack(), ExitStack()
        first.enter_context(one_blas_thread)
        second.enter_context(one_blas_thread)
        first.close()
        assert set(blas()) == {1}
        second.close()
        assert set(blas()) == {2}

    def test_an_interrupt_before_a_context_is_counted(self):
        one_blas_thread.__enter__()
        one_blas_thread._inside = 0
        with one_blas_thread:
            assert set(blas()) == {1}
        assert set(blas()) == {2}

    def test_a_forked_process_begins_anew(self):
        with one_blas_thread:
            one_blas_thread.forget()
            assert set(blas()) == {2}
        with one_blas_thread:
            assert set(blas()) == {1}
        assert set(blas()) == {2}

    def test_four_fits_in_a_pool_of_threads(self):
        expected = complete(TABLE, rng=0).to_dense()
        with ThreadPoolExecutor(4) as pool:
            fits = [pool.submit(complete, TABLE, rng=0) for _ in range(4)]
            for fit in fits:
                np.testing.assert_array_equal(fit.result().to_dense(), expected)
            failed = pool.submit(complete, TABLE, lam=-1, rng=0)
            assert isinstance(failed.exception(), ValueError)
        assert set(blas()) == {2}


BITS = """
import hashlib, sys
import numpy as np
from unittest import mock
from tensorfill import complete
from tensorfill._support import parallel
from tensorfill.algebra import pattern
from tensorfill.datasets import synthetic

METHODS = {
    "auto": {},
    "nort": {"lam": 0.2, "storage": "sparse"},
    "cp": {"rank": 2},
    "rp": {"rank": 2},
    "tmac_tt": {"rank": 2},
}

def bits(n_jobs):
    entries = synthetic((24, 20, 16), rank=2, rng=0).observations
    found = []
    with mock.patch.object(parallel, "LEAST_PART", 64), mock.patch.object(pattern, "SMALLEST_SHARE", 64):
        for method, settings in METHODS.items():
            dense = complete(entries, method=method, rng=0, n_jobs=n_jobs, **settings).to_dense()
            found.append(hashlib.sha256(dense.tobytes()).hexdigest())
    return found
"""


def test_the_same_bits_for_any_number_of_threads():
    """Those of the loops and those of BLAS."""
    here = {}
    exec(BITS, here)  # the same lines in this process and in another
    expected = here["bits"](1)
    assert here["bits"](4) == here["bits"](2) == expected


@pytest.mark.slow
def test_processes_of_their_own_find_the_same_bits_for_any_number_of_threads():
    # Processes of their own: this one may have compiled the loops, which optimises a little more than loading them.
    assert apart(1) == apart(4)


def apart(threads):
    """Return the bits that another process finds with so many threads of the loops and of BLAS."""
    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    ran = subprocess.run(
        [sys.executable, "-c", f"{BITS}\nprint(*bits({threads}))"],
        env={**os.environ, **dict.fromkeys(names, str(threads))},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.split()
