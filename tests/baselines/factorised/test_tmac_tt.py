"""TMac-TT against its textbook form, and blocks within blocks of a picture."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill import Observations, Problem, TmacTT, complete
from tensorfill.baselines.factorised.tmac_tt import Blocks, TmacTTSolver
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.metrics import rmse
from tensorfill.models import Dense
from tests.refusal import refuses
from tests.strategies import generators, observed, shapes


def textbook(problem, x, rank, steps):
    """Return X, and the objective, after each step of TMac-TT as it is published."""
    shape, where = x.shape, tuple(problem.observations.coords.T)
    cuts = [(math.prod(shape[:k]), math.prod(shape[k:])) for k in range(1, len(shape))]
    weights = np.array([min(cut) for cut in cuts], dtype=float)
    weights /= weights.sum()
    z = x.copy()
    z[where] = problem.observations.values
    bs = [np.linalg.svd(z.reshape(cut), full_matrices=False)[2][:rank] for cut in cuts]
    for _ in range(steps):
        products = []
        for k, cut in enumerate(cuts):
            a = z.reshape(cut) @ bs[k].T @ np.linalg.pinv(bs[k] @ bs[k].T, rcond=1e-10)
            bs[k] = np.linalg.pinv(a.T @ a, rcond=1e-10) @ a.T @ z.reshape(cut)
            products.append((a @ bs[k]).reshape(shape))
        x = sum(w * product for w, product in zip(weights, products, strict=True))
        z = x.copy()
        z[where] = problem.observations.values
        yield x, sum(w / 2 * np.sum((product - z) ** 2) for w, product in zip(weights, products, strict=True))


@settings(max_examples=30, deadline=None)
@given(data=st.data(), rng=generators)
def test_every_step_is_that_of_the_textbook(data, rng):
    shape = data.draw(shapes(max_order=5, max_entries=300, max_size=8))
    coords = data.draw(observed(shape))
    problem = Problem(Observations(coords, rng.standard_normal(len(coords)), shape), Square())
    start, blocks = rng.standard_normal(shape), Blocks.plain(shape)
    solver = TmacTTSolver(problem, blocks, start, [min(2, *sides) for sides in blocks.sides], rng)
    assert solver.progress().objective == pytest.approx(problem.value(start[tuple(coords.T)]))
    before = solver.progress().f_tau
    for x, objective in textbook(problem, start, 2, 3):
        solver.step()
        np.testing.assert_allclose(solver.model().to_dense(), x, atol=1e-5)
        assert solver.progress().f_tau == pytest.approx(objective, rel=1e-5, abs=1e-5)
        assert solver.progress().f_tau <= before + 1e-9 * (1 + abs(before))
        before = solver.progress().f_tau


@given(shape=shapes(max_order=4, max_entries=600), rng=generators, ket=st.booleans())
def test_blocks_are_the_same_entries_in_another_order(shape, rng, ket):
    blocks = Blocks.of_picture(shape) if ket else Blocks.plain(shape)
    tensor = rng.standard_normal(shape)
    divided = blocks.divided(tensor)
    assert divided.shape == blocks.shape
    np.testing.assert_array_equal(blocks.joined(divided), tensor)
    positions = rng.permutation(tensor.size)[:20]
    np.testing.assert_array_equal(divided.ravel()[blocks.positions(positions)], tensor.ravel()[positions])


def test_the_blocks_of_a_picture_are_quarters_of_quarters():
    blocks = Blocks.of_picture((4, 4))
    picture = np.arange(16.0).reshape(4, 4)
    assert blocks.shape == (4, 4)
    np.testing.assert_array_equal(blocks.divided(picture)[1], picture[:2, 2:].ravel())


def test_low_rank_is_recovered_and_the_rank_found():
    data = synthetic((12, 11, 10, 9), rank=2, noise=0.001, rng=0)
    fit = complete(data.observations, method="tmac_tt", smooth=None, centre=False, rng=0)
    assert fit.ranks == (2, 2, 2)
    assert isinstance(fit.model, Dense)
    assert rmse(fit.predict(data.test.coords), data.test.values) < 4 * data.limit


def test_ket_augmentation_sees_what_repeats_at_every_scale():
    rng = np.random.default_rng(0)
    # An outer product of blocks within blocks; as a matrix it has full rank.
    picture = functools.reduce(np.kron, [np.eye(2) + rng.uniform(0.5, 1.5, (2, 2)) for _ in range(5)])
    picture /= picture.std()
    seen = rng.random(picture.shape) < 0.4
    problem = Problem(Observations.from_dense(picture, seen), Square())
    errors = [
        rmse(TmacTT(rank=1, ket=ket, tol=1e-7).solve(problem, rng=0).model.to_dense()[~seen], picture[~seen])
        for ket in (True, False)
    ]
    assert errors[0] < 0.01
    assert errors[1] > 0.1


def test_ranks_and_starts():
    data = synthetic((9, 8, 7), rank=2, rng=0)
    problem = Problem(data.observations, Square())
    assert TmacTT(rank=(3, 2), max_iter=2).solve(problem, rng=0).model.ranks == (3, 2)
    refuses(ValueError, ["rank", "each of the 2 unfoldings"], lambda: TmacTT(rank=(3, 2, 1)).solve(problem))
    wrong = Dense(np.zeros((9, 8, 6)))
    refuses(ValueError, ["start", "(9, 8, 7)", "'tmac_tt'"], lambda: TmacTT(rank=2).solve(problem, start=wrong))
