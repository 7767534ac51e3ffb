"""PA-APG and GDPAN: steps against NumPy and NORT, and their minimum."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill import Gdpan, Nort, Observations, PaApg, Problem
from tensorfill.losses import Logistic, Square
from tensorfill.penalties import LSP, MCP, TNN, Nuclear
from tests.strategies import generators, observed, scatter, shapes

from .reference import objective, problem, shrunk


@given(data=st.data(), rng=generators)
@settings(max_examples=30)
def test_steps_of_gdpan_are_those_of_nort_without_momentum(data, rng):
    shape = data.draw(shapes(max_order=4, max_entries=200, max_size=8))
    coords = data.draw(observed(shape))
    penalty = data.draw(st.sampled_from([LSP(0.5), MCP(1.5), TNN(1), Nuclear()]))
    loss = data.draw(st.sampled_from([Square(), Logistic()]))
    max_rank = data.draw(st.sampled_from([None, 1, 2]))
    values = rng.standard_normal(len(coords))
    given = Problem(Observations(coords, np.sign(values) if isinstance(loss, Logistic) else values, shape), loss)
    same = {"lam": 0.1, "penalty": penalty, "max_rank": max_rank}
    ours = Gdpan(**same).prepare(given, None, rng)
    theirs = Nort(**same, momentum=False, polish=False, storage="dense", svd="exact").prepare(given, None, rng)
    for _ in range(3):
        ours.step()
        theirs.step()
        np.testing.assert_allclose(ours.model().to_dense(), theirs.model().to_dense(), atol=1e-6)
        assert ours.progress().objective == pytest.approx(theirs.progress().objective, abs=1e-6)
        assert ours.progress().f_tau == pytest.approx(theirs.progress().f_tau, abs=1e-6)


def test_steps_of_pa_apg_are_those_of_a_few_lines_of_numpy():
    given, tau, lam = problem(), 1.5, 0.2
    solver = PaApg(lam=lam, tau=tau).prepare(given, None, np.random.default_rng(0))
    x = before = np.zeros(given.observations.shape)
    coords, t = given.observations.coords, 1.0
    modes = PaApg(lam=lam).regulariser(given).modes
    for _ in range(6):
        after = (1 + np.sqrt(1 + 4 * t**2)) / 2
        v = x + (t - 1) / after * (x - before)
        z = v - scatter(coords, given.gradient(v[tuple(coords.T)]), x.shape) / tau
        before, x, t = x, np.mean([shrunk(z, mode, len(modes) * lam / tau) for mode in modes], axis=0), after
        solver.step()
        np.testing.assert_allclose(solver.model().to_dense(), x, atol=1e-9)


@pytest.mark.parametrize("loss", [Square(), Logistic()])
@pytest.mark.parametrize("graph", [False, True])
def test_pa_apg_ends_where_a_long_run_of_nort_ends(loss, graph):
    given, lam = problem(loss, graph=graph), 0.3
    ours = PaApg(lam=lam, modes=[0, 1, 2], tol=1e-10, max_iter=800).solve(given, rng=0)
    nort = Nort(lam=lam, penalty=Nuclear(), modes=[0, 1, 2], storage="dense", svd="exact", polish=False, tol=0.0)
    theirs = dataclasses.replace(nort, max_iter=600).solve(given, rng=0)
    assert ours.history[-1].objective == pytest.approx(theirs.history[-1].objective, rel=1e-4)
    np.testing.assert_allclose(ours.model.to_dense(), theirs.model.to_dense(), atol=2e-2)


@pytest.mark.slow
def test_a_larger_tau_comes_nearer_to_the_sum_of_norms():
    given, lam = problem(), 0.5
    ends = [
        objective(
            given, PaApg(lam=lam, modes=[0, 1, 2], tau=tau, tol=1e-10, max_iter=800).solve(given).model.to_dense(), lam
        )
        for tau in (1.01, 10.0, 100.0)
    ]
    assert ends[0] > ends[1] > ends[2]


def test_bad_settings_get_one_sentence():
    with pytest.raises(ValueError, match="tau"):
        PaApg(tau=-1.0)
    with pytest.raises(ValueError, match="tau"):
        Gdpan(tau=0.0)
