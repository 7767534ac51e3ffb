"""Every method goes on from a draft, or begins again, and ends with the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Clock, Grow, Problem
from tensorfill.losses import Square
from tensorfill.methods.base import Resumable
from tensorfill.methods.registry import make_method

from .nort.test_resuming import Recorder, through_a_file
from .test_contract import GIVEN, every_method, problem_for
from .zoo import ZOO

STANDING = {"nort", "grow", "tucker_als"}
"""Methods that say where they stand."""


def same_from_every_draft(method, problem, path):
    recorder = Recorder()
    whole = method.solve(problem, rng=3, clock=Clock(journal=recorder))
    for state in recorder.states[:: max(len(recorder.states) // 3, 1)]:
        kept = through_a_file(state, path)
        again = method.solve(problem, rng=3, clock=Clock(journal=Recorder(kept)))
        np.testing.assert_array_equal(again.model.to_dense(), whole.model.to_dense())
        np.testing.assert_array_equal(again.history["objective"], whole.history["objective"])
    return recorder.states


@every_method
def test_a_method_goes_on_from_its_drafts(name, tmp_path):
    problem = problem_for(name)
    method = make_method(name, GIVEN[name] | {"max_iter": 8, "tol": 0.0})
    states = same_from_every_draft(method, problem, tmp_path / "state.npz")
    solver = method.prepare(problem, None, np.random.default_rng(0))
    assert isinstance(solver, Resumable) == bool(states)
    assert bool(states) or name not in STANDING


@pytest.mark.parametrize("form", ["tucker", "cp"])
def test_a_growing_model_goes_on_in_either_form(form, tmp_path):
    problem = Problem(ZOO["order_three"]().data, Square())
    method = Grow(rank=2, form=form, max_iter=6, tol=0.0)
    assert len(same_from_every_draft(method, problem, tmp_path / "state.npz")) == 6
