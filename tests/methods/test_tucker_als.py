"""Least squares on the subspaces of NORT: each step against numpy's, descent, recovery, and what is refused."""

import functools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill import Nort, Observations, Polish, complete
from tensorfill.algebra.component import Component
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.methods.problem import Problem
from tensorfill.methods.tucker_als import LeastSquares, refine
from tensorfill.metrics import rmse
from tensorfill.models import FoldedLowRank, Tucker
from tensorfill.penalties import CappedL1
from tests.strategies import generators, random_component, shapes

# Shape, and the rank of each regularised mode; the other modes keep the identity.
CASES = [
    ((12, 9), {0: 3}),
    ((12, 9), {0: 3, 1: 2}),
    ((9, 8, 7), {0: 3, 1: 2, 2: 2}),
    ((9, 3, 8), {0: 2, 2: 3}),
    ((3, 9, 8), {2: 2}),
    ((6, 7, 5, 6), {0: 2, 1: 2, 2: 2, 3: 1}),
    ((6, 3, 7, 2), {0: 2, 2: 3}),
]
each_case = pytest.mark.parametrize(("shape", "ranks"), CASES, ids=str)


class Absolute:
    """A loss of the user's own."""

    curvature = 1.0

    def value(self, prediction, observed):
        return np.abs(prediction - observed)

    def derivative(self, prediction, observed):
        return np.sign(prediction - observed)


def folded(rng, shape, ranks, dtype=np.float64):
    parts = [random_component(rng, shape, mode, rank, dtype) for mode, rank in ranks.items()]
    return FoldedLowRank(shape, parts, [1 / len(parts)] * len(parts))


def observed(rng, shape, density=0.7):
    seen = rng.random(shape) < density
    seen.flat[0] = True
    return Observations(np.argwhere(seen), rng.standard_normal(seen.sum()), shape)


def free_modes(shape, ranks):
    return [0, 1] if len(shape) == 2 else sorted(ranks)


def steps(seed, shape, ranks, ridge=1e-12, **kwargs):
    """Return what is needed to make single steps: the observations, the start, the free modes and the steps."""
    rng = np.random.default_rng(seed)
    observations, start = observed(rng, shape, **kwargs), Tucker.from_folded(folded(rng, shape, ranks))
    free = free_modes(shape, ranks)
    return observations, start, free, LeastSquares(observations, start, free, ridge)


def squares(observations, model):
    return float(np.sum((model.predict(observations.coords) - observations.values) ** 2))


def features(model, coords):
    """Return the rows kron(A_1[i_1], A_2[i_2], ..), from the definition alone."""
    return np.array(
        [functools.reduce(np.kron, [factor[i] for factor, i in zip(model.factors, row, strict=True)]) for row in coords]
    )


def nort(data, **kwargs):
    problem = Problem(data.observations, Square())
    return problem, Nort(**{"lam": 0.25 / 3, "penalty": CappedL1(0.5), "tol": 0, **kwargs}).solve(problem, rng=0).model


# The starting point


@each_case
def test_the_start_is_the_projection_on_the_subspaces(shape, ranks):
    model = folded(np.random.default_rng(0), shape, ranks)
    start = Tucker.from_folded(model)
    expected = model.to_dense()
    for part in model.components:
        expected = np.apply_along_axis((part.u @ part.u.T).__matmul__, part.mode, expected)
    np.testing.assert_allclose(start.to_dense(), expected, atol=1e-12)
    for mode, factor in enumerate(start.factors):
        np.testing.assert_allclose(factor.T @ factor, np.eye(factor.shape[1]), atol=1e-12)
        if mode not in ranks and len(shape) > 2:
            np.testing.assert_array_equal(factor, np.eye(shape[mode]))


def test_a_matrix_of_one_component_starts_where_it_is():
    model = folded(np.random.default_rng(0), (9, 14), {1: 4})
    start = Tucker.from_folded(model)
    assert start.ranks == (4, 4)
    np.testing.assert_allclose(start.to_dense(), model.to_dense(), atol=1e-12)


def test_the_start_of_a_part_of_a_model_is_a_projection_too():
    model = folded(np.random.default_rng(0), (9, 8, 7), {0: 3, 1: 2, 2: 2})
    part = model.restrict([np.array([0, 3, 5, 8]), np.array([2]), np.arange(7)])
    start = Tucker.from_folded(part)
    assert start.shape == (4, 1, 7)
    for factor in start.factors:
        np.testing.assert_allclose(factor.T @ factor, np.eye(factor.shape[1]), atol=1e-12)
    assert start.norm() <= part.norm()


def test_a_core_and_factors_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"\(4, 5\).*factor of shape.*\(2, 2\)"):
        Tucker((4, 5), np.zeros((2, 2)), [np.zeros((4, 2)), np.zeros((5, 3))])


# Single steps


@each_case
def test_the_core_step_equals_lstsq(shape, ranks):
    observations, start, _, step = steps(1, shape, ranks)
    step.fit_core()
    expected = np.linalg.lstsq(features(start, observations.coords), observations.values, rcond=None)[0]
    np.testing.assert_allclose(step.model().core.ravel(), expected, atol=1e-7)
    for after, before in zip(step.model().factors, start.factors, strict=True):
        np.testing.assert_array_equal(after, before)


@each_case
def test_a_row_step_equals_lstsq(shape, ranks):
    observations, start, free, _ = steps(2, shape, ranks)
    for mode in free:
        step = LeastSquares(observations, start, free, 1e-12)
        step.fit_rows(mode)
        # With the identity in the place of the factor, the features of mode d are the core times the other rows.
        factors = [np.eye(start.ranks[d]) if d == mode else factor for d, factor in enumerate(start.factors)]
        loadings = np.moveaxis(Tucker([len(factor) for factor in factors], start.core, factors).to_dense(), mode, -1)
        expected = start.factors[mode].copy()
        for i in range(shape[mode]):
            own = observations.coords[:, mode] == i
            w = loadings[tuple(np.delete(observations.coords[own], mode, axis=1).T)]
            residual = observations.values[own] - w @ expected[i]
            expected[i] += np.linalg.lstsq(w, residual, rcond=1e-6)[0]
        wanted = Tucker(shape, start.core, [expected if d == mode else f for d, f in enumerate(start.factors)])
        np.testing.assert_allclose(step.model().to_dense(), wanted.to_dense(), atol=1e-5)


@settings(max_examples=20, deadline=None)
@given(data=st.data(), rng=generators, seed=st.integers(0, 1000))
def test_the_sum_of_squares_never_rises(data, rng, seed):
    shape = data.draw(shapes(max_order=5, max_entries=600))
    modes = data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))
    ranks = {mode: data.draw(st.integers(0, 3)) for mode in sorted(modes)}
    density = data.draw(st.floats(0.05, 1))
    observations, start, free, step = steps(seed, shape, ranks, 1e-8, density=density)
    last = squares(observations, start)
    limit = 1e-9 * (last + np.sum(observations.values**2))
    for _ in range(2):
        for make in (step.fit_core, *(functools.partial(step.fit_rows, mode) for mode in free)):
            make()
            model = step.model()
            now = squares(observations, model)
            assert now <= last + limit
            last = now
    for factor in model.factors:
        np.testing.assert_allclose(factor.T @ factor, np.eye(factor.shape[1]), atol=1e-10)


def test_rows_and_blocks_without_any_entry_stay_as_they_were():
    rng = np.random.default_rng(3)
    shape, ranks = (10, 9, 3), {0: 2, 1: 2}
    every = observed(rng, shape)
    observations = every.select((every.coords[:, 0] != 4) & (every.coords[:, 2] != 1))
    start = Tucker.from_folded(folded(rng, shape, ranks))
    step = LeastSquares(observations, start, [0, 1])
    step.fit_core()
    np.testing.assert_array_equal(step.model().core[:, :, 1], start.core[:, :, 1])
    before = step.model()[4]
    step.fit_rows(0)
    np.testing.assert_allclose(step.model()[4], before, atol=1e-10)
    assert np.isfinite(refine(Problem(observations, Square()), folded(rng, shape, ranks)).to_dense()).all()


def test_a_single_entry_is_enough():
    rng = np.random.default_rng(0)
    observations = Observations([[1, 2, 3]], [5.0], (6, 7, 8))
    model = refine(Problem(observations, Square()), folded(rng, (6, 7, 8), {0: 2, 1: 2, 2: 2}))
    assert np.isfinite(model.to_dense()).all()
    assert model[1, 2, 3] == pytest.approx(5.0, rel=1e-6)


# The whole


# The limit is for a tensor whose every term can be seen; where one is too weak, its subspace is not found early.
@pytest.mark.parametrize("seed", [1, 4])
def test_few_iterations_and_few_sweeps_reach_the_limit(seed):
    data = synthetic((60, 60, 60), rank=3, rng=seed)
    problem, early = nort(data, max_rank=3, max_iter=6)
    assert rmse(early.predict(data.test.coords), data.test.values) > 2 * data.limit
    model = refine(problem, early, sweeps=4)
    assert model.ranks == (3, 3, 3)
    assert rmse(model.predict(data.test.coords), data.test.values) < 1.1 * data.limit


@pytest.mark.parametrize(
    ("shape", "lam", "seed"), [((150, 120), 0.1, 0), ((60, 50, 4), 0.05, 2), ((30, 25, 30, 3), 0.1, 0)]
)
def test_an_exact_tensor_is_recovered_in_any_order(shape, lam, seed):
    data = synthetic(shape, rank=2, noise=0, factors="normal", rng=seed)
    problem, early = nort(data, lam=lam, max_rank=2, max_iter=15)
    model = refine(problem, early, sweeps=20)
    near, far = (rmse(each.predict(data.test.coords), data.test.values) for each in (model, early))
    assert near < 1e-6
    assert far > 100 * near


def test_no_sweeps_fit_the_core_alone():
    observations = observed(np.random.default_rng(4), (9, 8, 7))
    model = folded(np.random.default_rng(5), (9, 8, 7), {0: 3, 1: 2, 2: 2})
    refined = refine(Problem(observations, Square()), model, sweeps=0)
    for factor, part in zip(refined.factors, model.components, strict=True):
        np.testing.assert_allclose(factor @ factor.T, part.u @ part.u.T, atol=1e-12)


def test_dense_and_sparse_observations_give_the_same():
    rng = np.random.default_rng(6)
    array = np.where(rng.random((9, 3, 8)) < 0.7, rng.standard_normal((9, 3, 8)), np.nan)
    dense = Observations.from_dense(array)
    sparse = Observations(dense.coords, dense.values, dense.shape)
    model = folded(rng, dense.shape, {0: 2, 2: 2})
    one, other = (refine(Problem(each, Square()), model).to_dense() for each in (dense, sparse))
    np.testing.assert_array_equal(one, other)


def test_float32_stays_float32_and_close():
    data = synthetic((30, 30, 30), rank=2, rng=1)
    problem, model = nort(data, max_rank=2, max_iter=10)
    narrow = Problem(data.observations.astype(np.float32), Square())
    parts = [part.astype(np.dtype(np.float32)) for part in model.components]
    low = refine(narrow, FoldedLowRank(model.shape, parts, model.weights))
    assert low.dtype == np.float32
    assert all(factor.dtype == np.float32 for factor in low.factors)
    coords = data.test.coords
    np.testing.assert_allclose(low.predict(coords), refine(problem, model).predict(coords), atol=1e-5)


def test_a_component_of_rank_zero():
    rng = np.random.default_rng(7)
    problem = Problem(observed(rng, (9, 8, 7)), Square())
    nothing = FoldedLowRank((9, 8, 7), [Component.zero((9, 8, 7), d, np.dtype(float)) for d in range(3)], [1 / 3] * 3)
    assert not refine(problem, nothing).to_dense().any()
    some = refine(problem, folded(rng, (9, 8, 7), {0: 2, 1: 0, 2: 2}))
    assert some.ranks == (2, 1, 2)
    assert squares(problem.observations, some) < np.sum(problem.observations.values**2)


def test_nothing_of_the_size_of_the_tensor_is_allocated():
    data = synthetic((250, 250, 250), rank=2, observed=20_000, rng=0)
    problem, model = nort(data, lam=0.1, max_rank=2, max_iter=3, storage="sparse")
    refine(problem, model, sweeps=1)
    tracemalloc.start()
    try:
        refine(problem, model)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 250**3 * 8 / 20


# What is refused


def hollow(shape, ranks):
    """Return a model of these ranks, too large to be looked into: its arrays have one row each."""
    parts = [Component(d, np.zeros((1, rank)), np.zeros(rank), np.zeros((1, rank))) for d, rank in ranks.items()]
    return FoldedLowRank(shape, parts, [1 / len(parts)] * len(parts))


@pytest.mark.parametrize(
    ("shape", "ranks", "words"),
    [
        ((40, 40, 40), {0: 16, 1: 16, 2: 16}, ["4,000 unknowns", "4,096", "max_rank"]),
        ((40, 5000, 5000), {0: 1}, ["numbers in the core", "25,000,000", "regularise more modes"]),
        ((40, 40, 4000), {0: 1, 1: 1}, ["not regularised", "16,000,000"]),
        ((10**7, 40, 40), {0: 4, 1: 4, 2: 4}, ["normal matrices", "160,000,000"]),
    ],
    ids=str,
)
def test_too_large_a_problem_is_refused(shape, ranks, words):
    problem = Problem(Observations([[0] * len(shape)], [1.0], shape), Square())
    refuses(problem, hollow(shape, ranks), words)


def refuses(problem, model, words, **kwargs):
    with pytest.raises(ValueError) as caught:
        refine(problem, model, **kwargs)
    message = str(caught.value)
    assert all(word in message for word in words)
    assert message.endswith(".")
    assert ". " not in message


def test_what_makes_no_sense_is_refused():
    rng = np.random.default_rng(0)
    observations, model = observed(rng, (9, 8, 7)), folded(rng, (9, 8, 7), {0: 1})
    refuses(Problem(observations, Absolute()), model, ["loss 'square'", "Absolute"])
    problem = Problem(observations, Square())
    refuses(problem, folded(rng, (9, 8, 6), {0: 1}), ["(9, 8, 7)", "(9, 8, 6)"])
    refuses(problem, model, ["sweeps", "-1"], sweeps=-1)
    refuses(problem, model, ["ridge", "0"], ridge=0)


def test_a_polish_with_too_many_unknowns_is_left_out(monkeypatch):
    monkeypatch.setattr("tensorfill.methods.tucker_als.MOST_IN_BLOCK", 1)
    data = synthetic((20, 20, 20), rank=2, rng=0).observations
    assert complete(data, refine="tucker", rng=0).recipe.stage(Polish) is None
