"""A solver of NORT that is restored makes the same steps, bit for bit, as the one whose state it has."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from tensorfill import Clock, Nort, Observations
from tensorfill.datasets import synthetic
from tensorfill.io.source import Source
from tensorfill.io.storing import Entry, read_entry
from tensorfill.losses import Square
from tensorfill.methods.base import Resumable
from tensorfill.methods.nort.descent import RankGuard
from tensorfill.methods.problem import Problem
from tensorfill.penalties import LSP, Nuclear

SPARSE = synthetic((14, 13, 12), rank=2, rng=0).observations
FEW = SPARSE.select(np.arange(len(SPARSE)) % (len(SPARSE) // 30) == 0)
DENSE = Observations.from_dense(SPARSE.to_dense())

SETTINGS = {
    "dense": {"storage": "dense"},
    "sparse": {"storage": "sparse"},
    "adaptive momentum": {"momentum": "adaptive"},
    "no momentum": {"momentum": False},
    "polish": {"polish": True, "storage": "sparse"},
    "observed columns": {"storage": "columns", "data": FEW},
    "single precision": {"storage": "sparse", "dtype": np.float32},
}


def through_a_file(state, path):
    """Return a state after it was written and read."""
    entry = Entry.of("state", state)
    with zipfile.ZipFile(path, "w") as file:
        entry.write("state", file)
    with zipfile.ZipFile(path) as file:
        return read_entry("state", file, entry.digest, Source(path))


def same(one, other):
    """Check that two solvers stand at the same bits."""
    assert one.progress() == other.progress()
    pairs = zip(one.model().to_arrays().items(), other.model().to_arrays().items(), strict=True)
    for (name, array), (other_name, other_array) in pairs:
        assert name == other_name
        np.testing.assert_array_equal(array, other_array)


@pytest.mark.parametrize("steps", [0, 1, 7])
@pytest.mark.parametrize("kind", SETTINGS)
def test_a_restored_solver_makes_the_same_steps(kind, steps, tmp_path):
    given = dict(SETTINGS[kind])
    problem = Problem(given.pop("data", SPARSE).astype(given.pop("dtype", np.float64)), Square())
    method = Nort(**({"lam": 0.05, "penalty": LSP(0.5), "max_rank": 4, "polish": False} | given))
    rng, other_rng = np.random.default_rng(0), np.random.default_rng(0)
    first = method.prepare(problem, None, rng)
    for _ in range(steps):
        first.step()
    state, drawn = through_a_file(first.state(), tmp_path / "state.npz"), rng.bit_generator.state
    second = method.prepare(problem, None, other_rng)
    second.restore(state)
    other_rng.bit_generator.state = drawn
    same(first, second)
    for _ in range(8):
        first.step()
        second.step()
        same(first, second)


def test_a_guarded_solver_is_resumable():
    problem = Problem(SPARSE, Square())
    inner = Nort(lam=0.1, penalty=Nuclear()).solver(problem, None, np.random.default_rng(0))
    assert isinstance(RankGuard(inner, Nort(lam=0.1), problem), Resumable)


class Recorder:
    """A journal that keeps the draft of every iteration, and goes on from one of them."""

    def __init__(self, state=None):
        self.state, self.states = state, []

    def recall(self, asked, compute, *, rng=None, is_finished=None):
        return compute(self)

    def offer(self, state, *, last=False):
        self.states.append(state())


@pytest.mark.parametrize("data", [SPARSE, DENSE], ids=["sparse", "dense"])
def test_the_loop_goes_on_from_any_of_its_drafts(data, tmp_path):
    problem, method = Problem(data, Square()), Nort(lam=0.05, penalty=LSP(0.5), descend=False)
    recorder = Recorder()
    whole = method.solve(problem, rng=3, clock=Clock(journal=recorder))
    assert len(recorder.states) == len(whole.history) - 2
    for state in recorder.states[:: max(len(recorder.states) // 4, 1)]:
        kept = through_a_file(state, tmp_path / "state.npz")
        again = method.solve(problem, rng=3, clock=Clock(journal=Recorder(kept)))
        np.testing.assert_array_equal(again.model.to_dense(), whole.model.to_dense())
        np.testing.assert_array_equal(again.history["f_tau"], whole.history["f_tau"])
        assert again.status is whole.status
        assert np.all(np.diff(again.history["seconds"]) >= 0)
