"""The time of a run, and the estimate of what is left of a stage."""

from __future__ import annotations

import math
import re

import pytest

from tensorfill._support.clock import Clock
from tensorfill._support.progress import Display
from tensorfill._support.timing import Estimate, Stopwatch, TimedStage, Timing
from tensorfill.methods.base import Record


def estimated(factor, tol, upto, steps=1000):
    """Return the estimate after some iterations whose changes fall by a factor, and how many were left."""
    estimate = Estimate(steps, tol)
    before, small, stop = 101.0, 0, math.inf
    for iteration in range(1, 10 * steps):
        value = 100 + factor**iteration
        small = small + 1 if abs(before - value) <= tol * value else 0
        if iteration <= upto:
            estimate.add(iteration, 0.5 * iteration, value)
        if small == 2:
            stop = iteration
            break
        before = value
    return estimate, stop - upto


@pytest.mark.parametrize("factor", [0.7, 0.9, 0.97])
@pytest.mark.parametrize("tol", [1e-5, 1e-8])
def test_the_iterations_that_are_left(factor, tol):
    estimate, left = estimated(factor, tol, upto=12)
    assert estimate.iterations_left == pytest.approx(left, abs=3, rel=0.1)
    assert estimate.seconds_left == pytest.approx(0.5 * estimate.iterations_left)


def test_at_most_the_steps_that_are_allowed():
    short = Estimate(20, 1e-12)
    for iteration in range(1, 13):
        short.add(iteration, iteration, 1 + 0.99**iteration)
    assert short.iterations_left == 8
    assert math.isnan(Estimate(20, 1e-3).seconds_left)


def test_a_change_that_does_not_fall_leaves_all_steps():
    estimate = Estimate(100, 1e-4)
    for iteration in range(1, 21):
        estimate.add(iteration, iteration, 1000.0 - iteration)
    assert estimate.iterations_left == 80


def test_stages_are_added_up():
    watch = Stopwatch(before=2.0)
    watch.begin("fitting")
    watch.begin("looking")
    watch.begin("fitting")
    found = watch.timing()
    assert [stage.name for stage in found.stages] == ["preparing", "fitting", "looking"]
    assert found.stages[0].seconds == pytest.approx(2.0, abs=0.5)
    assert found.total >= 2.0
    assert (
        str(Timing((TimedStage("a", 1.0), TimedStage("b", 99.0), TimedStage("c", 0.5)))) == "1 min 40 s: b 1 min 39 s"
    )


def test_the_time_left_is_shown(capsys):
    with Display(True, Clock(1000.0)) as display:
        display.begin("choosing settings of nort", None)
        display.tried(1, 0.5)
        display.begin("fitting all entries", 100, 1e-4)
        for iteration in range(1, 21):
            display.iteration(Record(iteration, 0.0, 1 + 0.8**iteration, math.nan, (1,)))
    said = " ".join(capsys.readouterr().err.split())
    assert re.search(r"1 tried, held-out error 0.5, best 0.5, at most 16 min \d+ s left", said)
    assert re.search(r"iteration 20.*about 0\.0\d s left", said)
