"""TMac against its textbook form, step by step, and on both storages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill import Nort, Observations, Problem, Tmac, complete
from tensorfill.algebra.operators import DenseUnfolding
from tensorfill.algebra.unfolding import fold, unfold
from tensorfill.baselines.factorised.tmac import TmacSolver, grown_to, refitted
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.metrics import rmse
from tensorfill.models import FoldedLowRank
from tests.refusal import refuses
from tests.strategies import generators, observed, random_component, shapes


@st.composite
def started(draw):
    """Draw a small problem and components to start from."""
    shape = draw(shapes(min_order=3, max_order=4, max_entries=300, max_size=9))
    coords, rng = draw(observed(shape)), draw(generators)
    problem = Problem(Observations(coords, rng.standard_normal(len(coords)), shape), Square())
    parts = [random_component(rng, shape, mode, 2) for mode in range(len(shape))]
    return problem, parts


def textbook(problem, parts, steps):
    """Return X, and the objective, after each step of TMac as it is published, on dense arrays."""
    shape, modes = problem.observations.shape, [part.mode for part in parts]
    where, weights = tuple(problem.observations.coords.T), [1 / len(parts)] * len(parts)
    x = sum(w * fold((part.u * part.s) @ part.v.T, part.mode, shape) for w, part in zip(weights, parts, strict=True))
    bs, found = [part.v.T for part in parts], []
    for _ in range(steps):
        z = x.copy()
        z[where] = problem.observations.values
        products = []
        for d, mode in enumerate(modes):
            a = unfold(z, mode) @ bs[d].T @ np.linalg.pinv(bs[d] @ bs[d].T, rcond=1e-10)
            bs[d] = np.linalg.pinv(a.T @ a, rcond=1e-10) @ a.T @ unfold(z, mode)
            products.append(fold(a @ bs[d], mode, shape))
        x = sum(w * product for w, product in zip(weights, products, strict=True))
        z = x.copy()
        z[where] = problem.observations.values
        found.append((x, sum(w / 2 * np.sum((product - z) ** 2) for w, product in zip(weights, products, strict=True))))
    return found


@settings(max_examples=40, deadline=None)
@given(drawn=started(), sparse=st.booleans())
def test_every_step_is_that_of_the_textbook(drawn, sparse):
    problem, parts = drawn
    modes = tuple(part.mode for part in parts)
    storage = problem.sparse_storage(modes) if sparse else problem.dense_storage()
    solver = TmacSolver(problem, storage, parts, [part.rank for part in parts], np.random.default_rng(0))
    scale = 1 + np.abs(problem.observations.values).max() + solver.model().norm()
    for x, objective in textbook(problem, parts, 3):
        solver.step()
        np.testing.assert_allclose(solver.model().to_dense(), x, atol=1e-6 * scale)
        assert solver.progress().f_tau == pytest.approx(objective, rel=1e-6, abs=1e-6 * scale**2)
        seen = x[tuple(problem.observations.coords.T)]
        assert solver.progress().objective == pytest.approx(problem.value(seen), rel=1e-5, abs=1e-6 * scale**2)


@given(rng=generators, rows=st.integers(1, 6), columns=st.integers(1, 9), rank=st.integers(1, 4))
def test_a_refit_is_a_projection_with_orthonormal_vectors(rng, rows, columns, rank):
    matrix, right = rng.standard_normal((rows, columns)), rng.standard_normal((columns, rank))
    u, s, v = refitted(DenseUnfolding(matrix, 0), right)
    np.testing.assert_allclose(u.T @ u, np.eye(len(s)), atol=1e-7)
    np.testing.assert_allclose(v.T @ v, np.eye(len(s)), atol=1e-7)
    assert (np.diff(s) <= 0).all()
    q = np.linalg.qr(matrix @ right)[0]
    if rank <= min(rows, columns):
        np.testing.assert_allclose((u * s) @ v.T, q @ q.T @ matrix, atol=1e-6)


def test_columns_are_appended_up_to_what_is_possible():
    rng = np.random.default_rng(0)
    known = rng.standard_normal((5, 2))
    assert grown_to(known, 1, 9, rng) is known
    grown = grown_to(known, 4, 9, rng)
    assert grown.shape == (5, 4)
    np.testing.assert_array_equal(grown[:, :2], known)
    assert grown_to(known, 9, 3, rng).shape == (5, 3)
    assert grown_to(known, 9, 9, rng).shape == (5, 5)


def test_low_rank_is_recovered_and_the_rank_found():
    data = synthetic((30, 28, 26), rank=2, noise=0.001, rng=0)
    fit = complete(data.observations, method="tmac", smooth=None, centre=False, rng=0)
    assert fit.ranks == (2, 2, 2)
    assert rmse(fit.predict(data.test.coords), data.test.values) < 4 * data.limit


def test_a_given_rank_is_grown_to_or_not():
    data = synthetic((15, 14, 13), rank=3, rng=0)
    ranks = []
    options = {"method": "tmac", "rank": 3, "smooth": None, "centre": False, "rng": 0}
    complete(data.observations, callback=lambda record, model: ranks.append(record.ranks), **options)
    assert list(dict.fromkeys(ranks)) == [(1, 1, 1), (2, 2, 2), (3, 3, 3)]
    ranks.clear()
    complete(data.observations, grow=False, callback=lambda record, model: ranks.append(record.ranks), **options)
    assert set(ranks) == {(3, 3, 3)}


def test_ranks_and_modes():
    data = synthetic((15, 14, 13), rank=3, rng=0)
    problem = Problem(data.observations, Square())
    model = Tmac(rank=(2, 4), modes=(0, 2), max_iter=3).solve(problem, rng=0).model
    assert isinstance(model, FoldedLowRank)
    assert (model.modes, model.ranks) == ((0, 2), (2, 4))
    refuses(ValueError, ["rank", "each of the 3 modes"], lambda: Tmac(rank=(2, 4)).solve(problem))
    other = Nort(lam=0.1, modes=(1,), max_iter=2).solve(problem, rng=0).model
    refuses(ValueError, ["start", "'tmac'", "(0, 1, 2)"], lambda: Tmac(rank=2).solve(problem, start=other))
