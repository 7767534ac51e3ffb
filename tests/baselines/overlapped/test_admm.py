"""ADMM, LRTC and HaLRTC: the convex minimum, the loss at an entry, and transdim's version."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import scipy.optimize

from tensorfill import Admm, Falrtc, Halrtc, Lrtc, PaApg, Problem, complete
from tensorfill.algebra.unfolding import fold, unfold
from tensorfill.baselines.overlapped.fidelity import Smoothly
from tensorfill.baselines.overlapped.splitting import SmoothPart
from tensorfill.losses import Huber, Logistic, Poisson, Square
from tensorfill.methods.base import Unsuited
from tensorfill.metrics import rmse
from tensorfill.models import Dense, FoldedLowRank
from tensorfill.penalties import LSP, weight_for_cut
from tests.methods.zoo import low_rank
from tests.refusal import refuses

from .reference import nuclear, objective, problem

MODES = [0, 1, 2]


@pytest.mark.parametrize("loss", [Square(), Logistic()])
@pytest.mark.parametrize("graph", [False, True])
def test_admm_and_pa_apg_reach_the_same_minimum(loss, graph):
    given, lam = problem(loss, graph=graph), 0.3
    admm = Admm(lam=lam, modes=MODES, tol=1e-11, max_iter=500).solve(given).model.to_dense()
    # The proximal average comes near to the sum of norms as tau grows.
    tau = 30 * given.curvature
    pa_apg = PaApg(lam=lam, modes=MODES, tau=tau, tol=1e-15, max_iter=600).solve(given).model.to_dense()
    least = objective(given, admm, lam)
    assert objective(given, pa_apg, lam) == pytest.approx(least, rel=1e-3)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1):
        assert objective(given, admm + size * rng.standard_normal(admm.shape), lam) > least * (1 - 1e-7)


@pytest.mark.parametrize("observed", ["fitted", "fixed"])
@pytest.mark.parametrize("max_rank", [2, (1, 2, 3)])
def test_ranks_of_lrtc_keep_to_their_limit(observed, max_rank):
    given = problem()
    solver = Lrtc(
        lam=1e-3, penalty="nuclear", modes=MODES, observed=observed, max_rank=max_rank
    ).prepare(given, None, np.random.default_rng(0))  # fmt: skip
    for _ in range(5):
        solver.step()
    limits = (2, 2, 2) if max_rank == 2 else max_rank
    assert solver.progress().ranks == limits


def test_admm_is_at_the_minimum_of_scipy():
    given, lam = problem(shape=(4, 3, 3), graph=True), 0.4
    full = Admm(lam=lam, modes=MODES, tol=1e-13, max_iter=2000).solve(given).model.to_dense()

    def smoothed(x, corner=1e-5):
        """Return the objective with the corners of the norms rounded off, and its gradient."""
        x = x.reshape(full.shape)
        at = given.observations.positions
        value = objective(given, x, 0.0)
        gradient = given.roughness.of_dense(x)
        gradient.ravel()[at] += given.slopes(x.ravel()[at])
        for mode in MODES:
            u, s, vt = np.linalg.svd(unfold(x, mode), full_matrices=False)
            value += lam * np.sqrt(s**2 + corner**2).sum()
            gradient += lam * fold((u * (s / np.sqrt(s**2 + corner**2))) @ vt, mode, x.shape)
        return value, gradient.ravel()

    options = {"maxiter": 3000, "maxfun": 3000, "ftol": 1e-14, "gtol": 1e-9}
    found = scipy.optimize.minimize(smoothed, np.zeros(full.size), jac=True, method="L-BFGS-B", options=options)
    assert objective(given, full, lam) == pytest.approx(found.fun, rel=1e-3)
    assert objective(given, full, lam) <= found.fun * (1 + 1e-5)


def test_zeta_changes_the_way_but_not_the_minimum():
    given, lam = problem(), 0.3
    ends = [
        Admm(lam=lam, zeta=zeta, tol=1e-13, max_iter=3000).solve(given).history[-1].objective for zeta in (None, 0.5)
    ]
    assert ends[0] == pytest.approx(ends[1], rel=1e-6)


@pytest.mark.parametrize("loss", [Logistic(), Huber(0.7), Poisson(limit=2.0)])
@pytest.mark.parametrize("weight", [1e-3, 0.1, 10.0])
def test_newton_steps_solve_the_problem_of_each_entry(loss, weight):
    given = problem()
    rng = np.random.default_rng(0)
    values = np.sign(given.observations.values) if isinstance(loss, Logistic) else np.abs(given.observations.values)
    given = Problem(given.observations.with_values(values), loss)
    near = 3 * rng.standard_normal(given.observations.shape)
    found = Smoothly(given).closest(near.copy(), weight).ravel()
    at = given.observations.positions
    slope = given.slopes(found[at]) + weight * (found[at] - near.ravel()[at])
    np.testing.assert_allclose(slope, 0, atol=1e-4)
    others = np.setdiff1d(np.arange(near.size), at)
    np.testing.assert_array_equal(found[others], near.ravel()[others])


def test_the_step_of_a_graph_solves_the_system_along_its_mode():
    given = problem(graph=True)
    operator, size = given.roughness.parts[0], given.observations.shape[0]
    target = np.random.default_rng(0).standard_normal(given.observations.shape)
    found = SmoothPart.of(operator, 0, size).prox(target, 0.3).full
    np.testing.assert_allclose(given.roughness.of_dense(found) + 0.3 * (found - target), 0, atol=1e-10)


def test_lrtc_lowers_the_objective_of_a_nonconvex_penalty_as_far_as_it_goes():
    truth, data = low_rank((12, 10, 9))
    penalty = LSP(1.0)
    lam = weight_for_cut(penalty, 2.0) / 3
    result = Lrtc(lam=lam, penalty=penalty, tol=1e-7).solve(Problem(data, Square()), rng=0)
    model = result.model
    assert isinstance(model, FoldedLowRank)
    assert model.ranks == (2, 2, 2)
    assert rmse(model.to_dense(), truth) < 0.02 * truth.std()
    # The copies agree at the end, so the objective is that of the tensor itself.
    full = model.to_dense()
    values = [
        np.linalg.svd(np.moveaxis(full, mode, 0).reshape(full.shape[mode], -1), compute_uv=False) for mode in MODES
    ]
    exact = Problem(data, Square()).value(full.ravel()[data.positions]) + lam * sum(penalty.value(s) for s in values)
    assert result.history[-1].objective == pytest.approx(exact, rel=1e-3)


# Observed entries fixed


@pytest.mark.slow
def test_halrtc_and_falrtc_reach_the_same_minimum():
    given = problem(noise=0.0)
    for weights in (1.0, (0.5, 0.3, 0.2)):
        first = Halrtc(weights=weights, modes=MODES, tol=1e-12, max_iter=2000).solve(given)
        second = Falrtc(weights=weights, modes=MODES, mu=1e-4, tol=1e-12, max_iter=3000).solve(given)
        ends = []
        for result in (first, second):
            full = result.model.to_dense()
            np.testing.assert_allclose(
                full.ravel()[given.observations.positions], given.observations.values, atol=1e-12
            )
            each = weights if isinstance(weights, tuple) else (weights,) * 3
            ends.append(sum(weight * nuclear(full, mode) for weight, mode in zip(each, MODES, strict=True)))
            assert result.history[-1].objective == pytest.approx(ends[-1], rel=1e-6)
        assert ends[0] == pytest.approx(ends[1], rel=1e-3)


@pytest.mark.slow
def test_fixed_entries_are_the_limit_of_a_small_lambda():
    given = problem(noise=0.0)
    fixed = Halrtc(weights=1.0, modes=MODES, tol=1e-12, max_iter=2000).solve(given).model.to_dense()
    for method in (Admm, PaApg):
        near = method(lam=1e-3, modes=MODES, tol=1e-12, max_iter=1500).solve(given).model.to_dense()
        norms = [sum(nuclear(full, mode) for mode in MODES) for full in (near, fixed)]
        assert norms[0] == pytest.approx(norms[1], rel=3e-3)


def transdim(sparse, seen, share, rho, iterations):
    """Return Z and the mean of the copies of LRTC-TNN as transdim publishes it."""
    copies, duals, z = np.zeros((3, *sparse.shape)), np.zeros((3, *sparse.shape)), sparse.copy()
    for _ in range(iterations):
        rho *= 1.05
        for mode in range(3):
            matrix = np.moveaxis(z - duals[mode] / rho, mode, 0)
            u, s, vt = np.linalg.svd(matrix.reshape(len(matrix), -1), full_matrices=False)
            free = math.ceil(share * len(matrix))
            s[free:] = np.maximum(s[free:] - 1 / (3 * rho), 0)
            copies[mode] = np.moveaxis(((u * s) @ vt).reshape(matrix.shape), 0, mode)
        z[~seen] = (copies + duals / rho).mean(axis=0)[~seen]
        duals += rho * (copies - z)
    return z, copies.mean(axis=0)


def test_with_fixed_entries_and_a_truncated_norm_lrtc_is_that_of_transdim():
    truth, data = low_rank((14, 12, 10), density=0.5)
    sparse = np.nan_to_num(data.to_dense())
    seen = ~np.isnan(data.to_dense())
    method = Lrtc(observed="fixed", penalty="tnn", theta=0.1, zeta=0.01, tol=0.0)
    for iterations in (1, 5, 60):
        z, _ = transdim(sparse, seen, 0.1, 0.01, iterations)
        found = dataclasses.replace(method, max_iter=iterations).solve(Problem(data, Square())).model
        assert isinstance(found, Dense)
        np.testing.assert_allclose(found.to_dense(), z, atol=1e-8)
    # Its two leading singular values are free, so that nothing shrinks what there is: no bias is left.
    z, mean = transdim(sparse, seen, 0.1, 0.01, 200)
    assert rmse(mean[~seen], truth[~seen]) < 0.02 * truth.std()
    ours = dataclasses.replace(method, max_iter=200, tol=1e-7).solve(Problem(data, Square())).model.to_dense()
    assert rmse(ours[~seen], truth[~seen]) < 0.02 * truth.std()
    nuclear_norm = Halrtc(weights=1.0).solve(Problem(data, Square())).model.to_dense()
    assert rmse(ours[~seen], truth[~seen]) < rmse(nuclear_norm[~seen], truth[~seen])


def test_the_share_of_free_singular_values_is_chosen():
    truth, data = low_rank((14, 12, 10), density=0.5)
    fit = complete(data, method=Lrtc(observed="fixed", penalty="tnn"), smooth=None, centre=False, rng=0)
    assert set(fit.path["theta"]) <= {0.05, 0.1, 0.2, 0.3, 0.5}
    assert fit.method.theta == fit.path[int(np.argmin(fit.path["held_out"]))].tried["theta"]
    missing = np.isnan(data.to_dense())
    assert rmse(fit.to_dense()[missing], truth[missing]) < 0.05 * truth.std()


def test_bad_settings_get_one_sentence():
    refuses(ValueError, ["penalty", "'lsp'", "fixed"], lambda: Lrtc(observed="fixed"))
    refuses(ValueError, ["observed", "'free'"], lambda: Lrtc(observed="free"))
    refuses(ValueError, ["growth", "at least 1"], lambda: Lrtc(growth=0.5))
    for kind in (Admm, Lrtc, Halrtc):
        refuses(ValueError, ["zeta", "above 0"], lambda kind=kind: kind(zeta=0.0))
    fixed = Lrtc(observed="fixed", penalty="tnn", theta=0.1)
    refuses(Unsuited, ["'lrtc'", "fixed", "'square'"], lambda: fixed.solve(problem(Logistic())))
    refuses(ValueError, ["weights", "above 0"], lambda: Halrtc(weights=0.0).solve(problem()))
