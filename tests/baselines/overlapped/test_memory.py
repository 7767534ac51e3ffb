"""A method on whole tensors needs no more memory than it says."""

from __future__ import annotations

import tracemalloc

import pytest

from tensorfill import Problem
from tensorfill.losses import Square
from tensorfill.methods.registry import METHODS, make_method
from tests.methods.test_contract import GIVEN
from tests.methods.zoo import low_rank

BESIDE = {"seasonal_ar": 9 * 8 * (44 * 40) ** 2}
"""What a method holds that does not grow with the tensor: covariances of all series."""

WHOLE = sorted(name for name, kind in METHODS.items() if kind.whole_tensors)


@pytest.mark.parametrize("name", WHOLE)
def test_it_holds_at_most_as_many_tensors_as_it_says(name):
    _, data = low_rank((48, 44, 40), noise=1.0)
    problem = Problem(data, Square())
    assert data.positions.size
    method = make_method(name, {**GIVEN[name], "max_iter": 3})
    method.solve(problem, rng=0)  # what is imported and compiled at first use is not the method's
    tracemalloc.start()
    try:
        method.solve(problem, rng=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    whole = 8 * 48 * 44 * 40
    allowed = METHODS[name].whole_tensors * whole + BESIDE.get(name, 0)
    assert 0.2 * allowed < peak <= allowed
