"""When the loop takes a method to have converged, for solvers whose values are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tensorfill import Method, Observations, Status
from tensorfill.losses import Square
from tensorfill.methods.base import Progress
from tensorfill.methods.problem import Problem
from tensorfill.models import Dense


@dataclass(frozen=True, kw_only=True)
class Given(Method):
    """A method whose objective after each iteration is given."""

    values: Any = ()
    f_tau: Any = None

    def prepare(self, problem, start, rng):
        return GivenSolver(self.values, self.f_tau)


class GivenSolver:
    def __init__(self, values, f_tau):
        self._values, self._f_tau, self._at = values, f_tau, 0

    def step(self):
        self._at += 1

    def progress(self):
        merit = float("nan") if self._f_tau is None else self._f_tau[self._at]
        return Progress(self._values[self._at], merit, (0,))

    def model(self):
        return Dense(np.zeros((2, 2)), (0,))


def iterations(values, **settings):
    """Return the iterations after which a run with these values ends, and why."""
    method = Given(values=values, max_iter=len(values) - 1, tol=0.01, **settings)
    result = method.solve(Problem(Observations.from_dense(np.ones((2, 2))), Square()))
    return result.history[-1].iteration, result.status


def test_two_small_changes_running_are_needed():
    assert iterations([100, 50, 49.9, 49.8, 49.7]) == (3, Status.CONVERGED)
    # One small change may be chance.
    assert iterations([100, 50, 49.9, 40, 39.9, 30]) == (5, Status.MAX_ITER)
    assert iterations([100, 50, 49.9, 40, 39.9, 39.8, 39.7]) == (5, Status.CONVERGED)


@pytest.mark.parametrize(("change", "small"), [(0.99, True), (1.01, False)])
def test_a_change_is_compared_with_the_value_after_it(change, small):
    status = iterations([100 + 2 * change, 100 + change, 100])[1]
    assert (status is Status.CONVERGED) is small


def test_a_rise_counts_as_a_fall_does():
    assert iterations([100, 100.5, 101, 101.5]) == (2, Status.CONVERGED)
    assert iterations([100, 110, 120, 130])[1] is Status.MAX_ITER


def test_f_tau_decides_where_there_is_one():
    falling = [100.0, 80, 60, 40, 20]
    assert iterations(falling, f_tau=[1.0] * 5) == (2, Status.CONVERGED)
    assert iterations([1.0] * 5, f_tau=falling) == (4, Status.MAX_ITER)
