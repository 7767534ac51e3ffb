"""RTDGC: the minimum of absolute errors, and lambda chosen by them."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Admm, Problem, Rtdgc, complete
from tensorfill.losses import Logistic, Robust
from tensorfill.methods.base import Unsuited
from tensorfill.metrics import rmse
from tensorfill.penalties import Nuclear
from tests.methods.zoo import low_rank
from tests.refusal import refuses

from .reference import nuclear, problem


def corrupted():
    """Return a tensor, observations of it of which some are far off, and which."""
    truth, data = low_rank((14, 12, 10), density=0.7)
    rng = np.random.default_rng(1)
    wrong = rng.random(len(data)) < 0.08
    return truth, data.with_values(data.values + np.where(wrong, rng.choice([-8.0, 8.0], len(data)), 0)), wrong


def value(problem, full, lam):
    differences = full.ravel()[problem.observations.positions] - problem.observations.values
    return np.abs(differences).sum() + lam * sum(nuclear(full, mode) for mode in range(full.ndim))


def test_its_answer_is_a_minimum_of_absolute_errors_and_norms():
    given, lam = problem(), 1.0
    result = Rtdgc(lam=lam, modes=[0, 1, 2], tol=1e-10, max_iter=1000).solve(given)
    full = result.model.to_dense()
    least = value(given, full, lam)
    assert result.history[-1].objective == pytest.approx(least, rel=1e-4)
    other = Rtdgc(lam=lam, modes=[0, 1, 2], zeta=1.0, tol=1e-10, max_iter=1500).solve(given).model.to_dense()
    assert value(given, other, lam) == pytest.approx(least, rel=1e-3)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(5):
            assert value(given, full + size * rng.standard_normal(full.shape), lam) > least * (1 - 1e-5)
        assert value(given, (1 + size) * full, lam) > least * (1 - 1e-5)
        assert value(given, (1 - size) * full, lam) > least * (1 - 1e-5)


@pytest.mark.filterwarnings("ignore::tensorfill.choosing.doubts.DoubtfulFitWarning")
def test_lambda_is_chosen_by_the_robust_loss_of_all_entries():
    truth, data, wrong = corrupted()
    fit = complete(data, method="rtdgc", loss="l1", rng=0)
    assert fit.recipe.loss == Robust(Nuclear())
    assert len(fit.path) > 3
    missing = np.isnan(data.to_dense())
    plain = complete(data, method="admm", smooth=None, centre=False, rng=0)
    assert rmse(fit.to_dense()[missing], truth[missing]) < 0.5 * rmse(plain.to_dense()[missing], truth[missing])
    # Every entry is fitted, and those that are far off are named afterwards.
    coords, _ = fit.outliers()
    found = set(map(tuple, coords.tolist()))
    expected = set(map(tuple, data.coords[wrong].tolist()))
    assert len(found & expected) > 0.9 * len(expected)
    assert len(found) < 1.6 * len(expected)


@pytest.mark.slow
def test_beside_methods_without_a_robust_loss_corrupt_entries_are_left_out():
    _, data, _ = corrupted()
    fit = complete(data, method=["rtdgc", "softimpute"], loss="l1", rng=0)
    assert {point.method.name for point in fit.path} == {"rtdgc", "softimpute"}
    assert fit.recipe.loss != Robust(Nuclear())


def test_with_nothing_open_it_runs_on_the_robust_loss_and_names_what_it_does_not_take():
    truth, data, _ = corrupted()
    fit = complete(data, method=Rtdgc(lam=2.0), loss="l1", rng=0)
    missing = np.isnan(data.to_dense())
    assert rmse(fit.to_dense()[missing], truth[missing]) < 0.4 * truth.std()
    refuses(Unsuited, ["'rtdgc'", "'square'"], lambda: Rtdgc(lam=1.0).solve(problem(Logistic())))
    refuses(Unsuited, ["'admm'"], lambda: Halved().solve(Problem(data, Robust(Nuclear()))))


class Halved(Admm):
    square_only = True
    name = "admm"

    def __init__(self):
        super().__init__(lam=1.0)
