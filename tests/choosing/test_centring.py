"""When it is worth trying data without its mean and effects."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Clock, Observations
from tensorfill.choosing.centring import may_help
from tensorfill.choosing.holdout.splits import whole_split
from tensorfill.losses import Square


def split_of(values, rng):
    data = Observations.from_dense(values)
    held_out = rng.permutation(len(data)) < len(data) // 10
    parts = (Observations(data.coords[which], data.values[which], data.shape) for which in (~held_out, held_out))
    return whole_split(*parts, Square(), None)


@pytest.mark.parametrize(("effect", "helps"), [(0.0, False), (1.0, True)])
def test_effects_that_explain_nothing_do_not_help_however_near_they_come_to_an_error(effect, helps):
    rng = np.random.default_rng(0)
    effects = effect * np.add.outer(rng.standard_normal(12), np.add.outer(rng.standard_normal(10), np.zeros(8)))
    split = split_of(effects + rng.standard_normal((12, 10, 8)), rng)
    assert may_help([split], 0.99, Clock()) is helps


def test_effects_far_from_an_error_do_not_help():
    rng = np.random.default_rng(0)
    split = split_of(5.0 + rng.standard_normal((12, 10, 8)), rng)
    assert may_help([split], 1.0, Clock())
    assert not may_help([split], 0.01, Clock())
