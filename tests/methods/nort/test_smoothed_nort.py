"""Algorithm 3: descent in each stage, an independent solution, recovery among gross errors, and what stops it."""

import functools

import numpy as np
import pytest

from tensorfill import Nort, Observations, Status
from tensorfill._support.clock import Clock
from tensorfill.algebra.unfolding import unfold
from tensorfill.choosing.corrupt import Watch, rough_fit
from tensorfill.choosing.outliers import outliers, predicted_at, without_outliers
from tensorfill.losses import Square
from tensorfill.losses.robust import EFFICIENT, ROBUST, Robust, Tangent, make_robust
from tensorfill.methods.base import Stopped
from tensorfill.methods.nort.smoothing import SmoothedNort
from tensorfill.methods.problem import Problem
from tensorfill.penalties import LSP, MCP, SCAD, CappedL1, Nuclear
from tests.naming import named
from tests.refusal import refuses

THETAS = {"l1": None, "capped_l1": 0.3, "lsp": 0.3, "mcp": 0.3, "scad": 2.5}
LOSSES = [make_robust(name, THETAS[name]) for name in ROBUST]


def corrupted(shape=(15, 14, 13), density=1.0, share=0.1, noise=0.01, seed=0, rank=2):
    """Return a problem with the loss l1, the true tensor and where it is corrupted."""
    rng = np.random.default_rng(seed)
    parts = [functools.reduce(np.multiply.outer, [rng.standard_normal(size) for size in shape]) for _ in range(rank)]
    truth = np.sum(parts, axis=0)
    bad = rng.random(shape) < share
    dirty = truth + noise * rng.standard_normal(shape) + bad * rng.choice([-10.0, 10.0], size=shape)
    seen = rng.random(shape) < density
    return Problem(Observations.from_dense(dirty, seen), Robust(Nuclear())), truth, bad & seen


def with_loss(problem, loss):
    return Problem(problem.observations, loss)


def solve(problem, start=None, callback=None, clock=None, **settings):
    settings = {"lam": 5.0, "penalty": Nuclear(), **settings}
    return SmoothedNort(**settings).solve(problem, start=start, rng=0, callback=callback, clock=clock)


def relative_error(model, truth):
    return np.linalg.norm(model.to_dense() - truth) / np.linalg.norm(truth)


@pytest.mark.parametrize("momentum", [False, "restart", "adaptive"])
@pytest.mark.parametrize("loss", LOSSES, ids=named)
def test_f_tau_falls_in_each_stage_and_delta_from_stage_to_stage(loss, momentum):
    problem, _, _ = corrupted((8, 9, 7), density=0.8)
    lam = 2.0 * loss.penalty.slope_at_zero
    method = SmoothedNort(lam=lam, penalty=LSP(1.0), svd="exact", storage="dense", momentum=momentum)
    solver = method.prepare(with_loss(problem, loss), None, np.random.default_rng(0))
    stages, values = [solver.stage], [[solver.progress().f_tau]]
    for _ in range(400):
        solver.step()
        if solver.stage.loss is not stages[-1].loss:
            stages.append(solver.stage)
            values.append([])
        values[-1].append(solver.progress().f_tau)
        if solver.stage.last:
            break
    assert len(stages) > 5
    for each in values:
        assert np.all(np.diff(each) <= 1e-10 * abs(each[0]))
    deltas = [stage.delta for stage in stages]
    assert np.all(np.diff(deltas) < 0)
    theta = getattr(loss.penalty, "theta", np.inf)
    for stage in stages:
        assert isinstance(stage.loss.penalty, Tangent) if stage.delta > theta else stage.loss.penalty == loss.penalty
    assert solver.stage.last
    assert solver.stage.delta <= theta


def admm(array, seen, lam, rounds=20_000):
    """Minimise sum |x - o| over seen + lam |X|_* for a matrix, by the textbook, with none of the package's code."""
    x, low, sparse = (np.zeros_like(array) for _ in range(3))
    dual_low, dual_sparse = np.zeros_like(array), np.zeros_like(array)
    for _ in range(rounds):
        # low = x, and sparse = x - array where seen.
        x = np.where(seen, (low + dual_low + sparse + array + dual_sparse) / 2, low + dual_low)
        u, s, vt = np.linalg.svd(x - dual_low, full_matrices=False)
        low_after = (u * np.maximum(s - lam, 0)) @ vt
        difference = x - array - dual_sparse
        sparse = np.where(seen, np.sign(difference) * np.maximum(np.abs(difference) - 1, 0), 0)
        dual_low += low_after - x
        dual_sparse += np.where(seen, sparse - (x - array), 0)
        moved = max(np.abs(low_after - low).max(), np.abs(low_after - x).max())
        low = low_after
        if moved < 1e-10:
            break
    return low


@pytest.mark.parametrize("density", [1.0, 0.8])
def test_the_absolute_difference_and_the_nuclear_norm_agree_with_admm(density):
    rng = np.random.default_rng(5)
    array = np.outer(rng.standard_normal(9), rng.standard_normal(8)) + 0.1 * rng.standard_normal((9, 8))
    array[rng.random(array.shape) < 0.1] += 5
    seen = rng.random(array.shape) < density
    lam = 1.9
    reference = admm(array, seen, lam)

    def objective(x):
        return np.abs(x - array)[seen].sum() + lam * np.linalg.svd(x, compute_uv=False).sum()

    problem = Problem(Observations.from_dense(array, seen), Robust(Nuclear()))
    result = solve(
        problem, lam=lam, svd="exact", storage="dense", floor=1e-3, tol=1e-7, stage_tol=1e-5, max_iter=20_000
    )
    found = result.model.to_dense()
    assert result.status is Status.CONVERGED
    assert objective(found) == pytest.approx(objective(reference), rel=5e-4)
    assert objective(found) >= objective(reference) * (1 - 1e-6)
    assert result.history[-1].objective == pytest.approx(objective(found), rel=1e-9)


def test_a_tensor_is_recovered_where_the_square_loss_fails():
    problem, truth, bad = corrupted()
    result = solve(problem, lam=25.0, penalty=LSP(3.0))
    square = Nort(lam=1.0, penalty=LSP(1.0), max_rank=2).solve(with_loss(problem, Square()), rng=0)
    assert relative_error(result.model, truth) < 0.01
    assert relative_error(square.model, truth) > 0.2
    coords, amounts = outliers(problem.observations, predicted_at(problem.observations, result.model))
    found = np.zeros_like(bad)
    found[tuple(coords.T)] = True
    assert np.mean(bad[found]) > 0.95
    assert np.mean(found[bad]) > 0.95
    np.testing.assert_allclose(np.abs(amounts[bad[found]]), 10, atol=0.2)


@pytest.mark.parametrize("floor", [0.1, EFFICIENT])
@pytest.mark.parametrize("penalty", [Nuclear(), CappedL1(1.0), LSP(1.0), MCP(1.0), SCAD(2.5, 0.5)], ids=named)
def test_every_kappa_recovers(penalty, floor):
    problem, truth, _ = corrupted(density=0.7)
    result = solve(with_loss(problem, Robust(penalty)), lam=18.0, penalty=LSP(3.0), floor=floor)
    assert relative_error(result.model, truth) < 0.02


@pytest.mark.parametrize(("shape", "modes"), [((20, 18), None), ((9, 10, 8), [0, 2]), ((6, 7, 5, 8), None)])
def test_sparse_and_dense_storage_agree(shape, modes):
    problem, _, _ = corrupted(shape, density=0.8)
    settings = {"modes": modes, "svd": "subspace", "momentum": False, "tol": 0, "max_iter": 40}
    sparse, dense = (solve(problem, storage=kind, **settings) for kind in ("sparse", "dense"))
    np.testing.assert_allclose(sparse.history["objective"], dense.history["objective"], rtol=1e-7)
    np.testing.assert_allclose(sparse.model.to_dense(), dense.model.to_dense(), atol=1e-6)


def test_the_history_has_the_robust_objective():
    problem, _, _ = corrupted((8, 9, 7), density=0.8)
    result = solve(problem, modes=[0], lam=2.0)
    values = problem.observations.values
    difference = np.abs(result.model.predict(problem.observations.coords) - values).sum()
    nuclear = np.linalg.svd(unfold(result.model.to_dense(), 0), compute_uv=False).sum()
    assert result.history[-1].objective == pytest.approx(difference + 2.0 * nuclear, rel=1e-9)
    assert result.history[0].objective == pytest.approx(np.abs(values).sum())
    assert result.status is Status.CONVERGED


def test_interrupt_and_resume():
    problem, truth, _ = corrupted()
    settings = {"lam": 25.0, "penalty": LSP(3.0)}

    def interrupt(record, model):
        if record.iteration == 10:
            raise KeyboardInterrupt

    stopped = solve(problem, callback=interrupt, **settings)
    assert stopped.status is Status.INTERRUPTED
    assert stopped.history[-1].iteration == 10
    resumed = solve(problem, start=stopped.model, **settings)
    whole = solve(problem, **settings)
    assert resumed.history[0].objective == pytest.approx(stopped.history[-1].objective)
    assert resumed.history[-1].objective == pytest.approx(whole.history[-1].objective, rel=1e-3)
    assert relative_error(resumed.model, truth) < 0.01


def test_every_other_way_to_stop():
    problem, _, _ = corrupted((8, 9, 7))
    assert solve(problem, max_iter=3).status is Status.MAX_ITER
    assert solve(problem, clock=Clock(1e-9)).status is Status.TIME_LIMIT
    assert solve(problem, callback=lambda record, model: True).status is Status.CALLBACK


def test_data_that_is_zero_or_fitted_exactly():
    zero = Problem(Observations.from_dense(np.zeros((4, 5, 3))), Robust(Nuclear()))
    assert solve(zero).model.norm() == 0
    problem, truth, _ = corrupted(noise=0.0, share=0.05)
    result = solve(problem, lam=25.0, penalty=LSP(3.0))
    assert relative_error(result.model, truth) < 0.01


def test_the_stages_share_the_storage_of_the_problem():
    problem, _, _ = corrupted((9, 10, 8), density=0.5)
    solve(problem, storage="sparse", max_iter=5)
    made = dict(problem._storages.sparse)
    solve(problem, storage="sparse", max_iter=5)
    assert made
    assert problem._storages.sparse == made


def test_float32_stays_float32():
    problem, _, _ = corrupted((9, 10, 8))
    narrow = Problem(problem.observations.astype(np.float32), problem.loss)
    assert solve(narrow, max_iter=20).model.dtype == np.float32


def test_the_rough_fit_measures_the_noise_beside_the_outliers():
    problem, truth, _ = corrupted((25, 24, 23), density=0.5)
    rough = rough_fit(problem, rng=0)
    assert 0.01 < rough.noise < 0.02
    assert relative_error(rough.model, truth) < 0.1
    kept = without_outliers(problem.observations, rough.model)
    fit = Nort(lam=0.05, penalty=LSP(0.4), max_rank=2).solve(Problem(kept, Square()), rng=0)
    assert relative_error(fit.model, truth) < 0.01


def test_the_rough_fit_of_zero_and_one_that_is_stopped():
    zero = Problem(Observations.from_dense(np.zeros((4, 5, 3))), Robust(Nuclear()))
    assert rough_fit(zero, rng=0).model is None
    problem, _, _ = corrupted((9, 10, 8))

    def interrupt(record, model):
        raise KeyboardInterrupt

    for watch, status in (
        ({"callback": lambda record, model: True}, Status.CALLBACK),
        ({"callback": interrupt}, Status.INTERRUPTED),
        ({"clock": Clock(1e-9)}, Status.TIME_LIMIT),
    ):
        kept = []
        with pytest.raises(Stopped) as caught:
            rough_fit(problem, rng=0, watch=Watch(keep=lambda method, result, kept=kept: kept.append(result), **watch))
        assert caught.value.status is status
        assert len(kept) == 1


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"shrink": 1.0}, ["shrink must be", "below 1"]),
        ({"shrink": 0.0}, ["shrink must be", "above 0"]),
        ({"floor": 0.0}, ["floor must be", "above 0"]),
        ({"stage_tol": 0.0}, ["stage_tol must be", "above 0"]),
        ({"tau": 2.0}, ["tau must be left out", "2.0 was given"]),
    ],
    ids=named,
)
def test_settings_out_of_range(setting, words):
    refuses(ValueError, words, lambda: SmoothedNort(lam=1.0, **setting))


def test_a_smooth_loss_is_refused():
    problem, _, _ = corrupted((5, 6, 4))
    refuses(
        TypeError, ["SmoothedNort is for a robust loss", "Square()", "Nort"],
        lambda: solve(with_loss(problem, Square())),
    )  # fmt: skip


def test_tau_is_not_told_where_each_stage_has_its_own():
    problem, _, _ = corrupted((5, 6, 4))
    assert np.isnan(SmoothedNort(lam=1.0).regulariser(problem).tau)
