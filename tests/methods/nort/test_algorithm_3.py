"""The stages of Algorithm 3: how delta falls, and each rule that ends them, by a run that ends for this reason only."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

from tensorfill import Observations, Status
from tensorfill.losses.robust import Robust, Tangent, noise_scale
from tensorfill.methods.nort.smoothing import SmoothedNort
from tensorfill.methods.problem import Problem
from tensorfill.penalties import LSP, Nuclear

SHAPE = (10, 9, 8)
EXACT = {"svd": "exact", "storage": "dense"}


def corrupted(noise, share=0.1, rank=1, kappa=None):
    """Return a tensor of low rank with noise and gross errors, as a problem."""
    rng = np.random.default_rng(0)
    parts = [functools.reduce(np.multiply.outer, [rng.standard_normal(size) for size in SHAPE]) for _ in range(rank)]
    data = np.sum(parts, axis=0) + noise * rng.standard_normal(SHAPE)
    data += (rng.random(SHAPE) < share) * rng.choice([-10.0, 10.0], size=SHAPE)
    return Problem(Observations.from_dense(data), Robust(kappa or Nuclear()))


def stages_of(problem, count=2000, **settings):
    """Return the stages of a run until the last begins, each with its first residuals and F_tau in its iterations."""
    settings = {"lam": 4.0, "penalty": LSP(1.0), "tol": 0.0, **EXACT, **settings}
    solver = SmoothedNort(**settings).prepare(problem, None, np.random.default_rng(0))
    coords, values = problem.observations.coords, problem.observations.values
    found, left = [(solver.stage, -values, [solver.progress().f_tau])], -values
    for _ in range(count):
        solver.step()
        if solver.stage is not found[-1][0]:
            found.append((solver.stage, left, []))
        found[-1][2].append(solver.progress().f_tau)
        left = solver.model().predict(coords) - values
        if solver.stage.last:
            break
    return found


def test_the_first_delta_is_nearly_three_times_the_size_of_the_residuals():
    problem = corrupted(0.1)
    first, residuals, _ = stages_of(problem, count=1)[0]
    np.testing.assert_array_equal(residuals, -problem.observations.values)
    assert first.delta == first.first_delta == pytest.approx(0.9 * 3 * noise_scale(residuals))
    assert not first.last


@pytest.mark.parametrize("shrink", [0.9, 0.6, 0.3])
def test_delta_falls_by_shrink_or_to_three_times_the_residuals_but_at_most_to_half(shrink):
    """With a `shrink` below a half, it falls by that factor."""
    found = stages_of(corrupted(0.05), shrink=shrink)
    ratios = []
    for (before, *_), (after, residuals, _) in itertools.pairwise(found):
        size = noise_scale(residuals)
        assert after.size == pytest.approx(size)
        slowest, fastest = shrink * before.delta, min(0.5, shrink) * before.delta
        assert after.delta == pytest.approx(np.clip(shrink * 3 * size, fastest, slowest))
        ratios.append(after.delta / before.delta)
    assert max(ratios) == pytest.approx(shrink)
    if shrink > 0.5:
        assert min(ratios) == pytest.approx(0.5)


def test_a_stage_ends_when_f_tau_changes_little_and_not_before():
    """But the last, which goes on until `tol`."""
    found = stages_of(corrupted(0.1), stage_tol=3e-3)
    assert len(found) > 5
    assert max(len(values) for *_, values in found) > 3
    for *_, values in found[:-1]:
        steps = np.abs(np.diff(values)) / np.abs(values[1:])
        assert (steps[:-1] > 3e-3).all()
        assert len(steps) == 0 or steps[-1] <= 3e-3


def test_noise_ends_the_stages_at_the_floor():
    found = stages_of(corrupted(0.1), floor=0.2)
    last, residuals, _ = found[-1]
    size = noise_scale(residuals)
    assert last.last
    assert last.delta <= 0.2 * size
    # No other rule holds: delta is not tiny, and with tol = 0 no change is small enough.
    assert last.delta > 1e-2 * last.first_delta
    for stage, before, _ in found[1:-1]:
        assert not stage.last
        assert stage.delta > 0.2 * noise_scale(before)


def test_residuals_that_still_shrink_do_not_end_the_stages():
    """A floor of ten is reached at once, but the residuals are not those of the noise yet."""
    found = stages_of(corrupted(0.1), floor=10.0)
    sizes = [noise_scale(residuals) for _, residuals, _ in found]
    assert found[-1][0].last
    assert len(found) > 3
    shrinking = [after < 0.97 * before for before, after in itertools.pairwise(sizes)]
    assert shrinking == [True] * (len(found) - 2) + [False]
    assert all(stage.delta <= 10 * size for (stage, *_), size in zip(found, sizes, strict=True))


def test_data_that_is_fitted_exactly_ends_the_stages_at_a_share_of_the_first_delta():
    found = stages_of(corrupted(0.0, share=0.02), floor=1e-6, lam=2.0, penalty=LSP(0.3), stage_tol=1e-2)
    deltas = [stage.delta for stage, *_ in found]
    assert found[-1][0].last
    assert deltas[-1] <= 1e-4 * deltas[0] < deltas[-2]
    size = noise_scale(found[-1][1])
    assert deltas[-1] > 1e-6 * size


def test_an_objective_that_no_longer_changes_ends_the_stages():
    """With a floor that is never reached; only where delta is below the residuals, as a wide one says nothing."""
    found = stages_of(corrupted(0.1), floor=1e-9, tol=1e-3)
    last, residuals, _ = found[-1]
    before = found[-2][0]
    assert last.last
    # It is the stage before, which goes on as the last.
    assert last.loss is before.loss
    assert last.delta <= noise_scale(residuals)
    assert last.delta > max(1e-4 * last.first_delta, 1e-9 * noise_scale(residuals))
    without = stages_of(corrupted(0.1), floor=1e-9, tol=0.0)
    assert without[-1][0].delta < 0.1 * last.delta


def test_no_change_ends_stages_whose_delta_is_above_the_residuals():
    """Any change is small enough for a tol of one."""
    found = stages_of(corrupted(0.1), floor=1e-9, tol=1.0)
    last, residuals, _ = found[-1]
    assert last.last
    assert last.loss is found[-2][0].loss
    for stage, *_ in found[:-2]:
        assert not stage.last
    above = [stage.delta > noise_scale(left) for (stage, *_), (_, left, _) in itertools.pairwise(found)]
    assert above == [True] * (len(found) - 2) + [False]
    assert last.delta <= noise_scale(residuals)


def test_the_last_stage_has_the_loss_itself_within_its_reach():
    """While delta is above the theta of kappa, its tangent stands in for it; the last delta is at most theta."""
    theta = 0.02
    found = stages_of(corrupted(0.1, kappa=LSP(theta)), lam=4.0 / theta, floor=1.0)
    last = found[-1][0]
    assert last.last
    assert last.delta == theta
    assert last.loss.penalty == LSP(theta)
    assert all(isinstance(stage.loss.penalty, Tangent) for stage, *_ in found[:-1])


def test_a_run_converges_in_its_last_stage_only(monkeypatch):
    """The tolerance refers to F_tau of one stage, and those before end by a coarser one."""
    solvers = []
    prepare = SmoothedNort.prepare

    def noted(self, *given):
        solvers.append(prepare(self, *given))
        return solvers[-1]

    monkeypatch.setattr(SmoothedNort, "prepare", noted)
    method = SmoothedNort(lam=4.0, penalty=LSP(1.0), tol=1e-2, stage_tol=1e-5, **EXACT)
    result = method.solve(corrupted(0.1), rng=0)
    assert result.status is Status.CONVERGED
    assert solvers[0].stage.last
    f_tau = result.history["f_tau"]
    assert abs(f_tau[-1] - f_tau[-2]) <= 1e-2 * abs(f_tau[-1])
    # In the first stage two changes running were as small as that.
    small = np.abs(np.diff(f_tau)) <= 1e-2 * np.abs(f_tau[1:])
    assert (small[:-2] & small[1:-1]).any()
