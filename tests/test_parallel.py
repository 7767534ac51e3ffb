"""Work side by side: answers in order, errors passed on, nested work done alone."""

from __future__ import annotations

import threading
from unittest import mock

import pytest

from tensorfill._support import parallel
from tensorfill._support.parallel import in_rounds, side_by_side, thread_count


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
