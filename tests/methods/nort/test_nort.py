"""NORT: descent, independent solutions, agreement of the storages, recovery, and what stops it."""

import functools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill import Nort, Observations, Status, complete
from tensorfill._support.clock import Clock
from tensorfill.algebra.unfolding import unfold
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.methods.nort.modes import default_modes, per_mode
from tensorfill.methods.problem import Problem
from tensorfill.metrics import rmse
from tensorfill.penalties import LSP, MCP, SCAD, TNN, CappedL1, Nuclear

PENALTIES = [Nuclear(), CappedL1(0.8), LSP(0.5), TNN(2), SCAD(3.0), MCP(1.5)]


class Rank:
    """A user's own penalty: one for every singular value that is not zero."""

    def value(self, s):
        return float(np.count_nonzero(s))

    def prox(self, s, weight):
        return np.where(s**2 > 2 * weight, s, 0.0)


def problem(shape=(8, 9, 7), density=0.5, seed=0, noise=0.1, rank=2):
    rng = np.random.default_rng(seed)
    parts = [functools.reduce(np.multiply.outer, [rng.standard_normal(size) for size in shape]) for _ in range(rank)]
    truth = np.sum(parts, axis=0)
    seen = rng.random(shape) < density
    seen.flat[0] = True
    return Problem(Observations.from_dense(truth + noise * rng.standard_normal(shape), seen), Square())


def solve(problem, **kwargs):
    return Nort(**{"lam": 0.3, "penalty": LSP(0.5), **kwargs}).solve(problem, rng=0)


@pytest.mark.parametrize("momentum", [False, "restart", "adaptive"])
@pytest.mark.parametrize("penalty", [*PENALTIES, Rank()], ids=lambda penalty: type(penalty).__name__)
def test_f_tau_never_rises_with_exact_decompositions(penalty, momentum):
    result = solve(problem(), penalty=penalty, momentum=momentum, svd="exact", storage="dense", tol=0, max_iter=80)
    f_tau = result.history["f_tau"]
    assert np.diff(f_tau).max() <= 1e-10 * f_tau[0]
    assert f_tau[-1] < 0.9 * f_tau[0]


@settings(max_examples=25, deadline=None)
@given(
    shape=st.lists(st.integers(2, 7), min_size=2, max_size=4).map(tuple),
    penalty=st.sampled_from(PENALTIES),
    lam=st.floats(0.01, 2.0),
    tau=st.floats(1.0, 4.0),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_f_tau_never_rises_whatever_the_shape_modes_and_step(shape, penalty, lam, tau, seed, data):
    every = range(len(shape))
    modes = data.draw(st.sets(st.sampled_from(every), min_size=1).map(sorted))
    result = solve(
        problem(shape, seed=seed), penalty=penalty, lam=lam, tau=tau, modes=modes, svd="exact", storage="dense",
        tol=0, max_iter=40,
    )  # fmt: skip
    f_tau = result.history["f_tau"]
    assert np.diff(f_tau).max() <= 1e-10 * f_tau[0]


def test_f_tau_is_the_function_of_the_design():
    """At the final components, from dense arrays and the formula alone."""
    task = problem()
    method = Nort(lam=[0.2, 0.3, 0.4], penalty=LSP(0.5), svd="exact", storage="dense", tau=1.3, modes=[0, 1, 2])
    result = method.solve(task, rng=0)
    lam = np.array([0.2, 0.3, 0.4])
    x = result.model.to_dense()
    values = task.observations.values
    loss = 0.5 * np.sum((x.ravel()[task.observations.positions] - values) ** 2)
    components = [part.u * part.s @ part.v.T for part in result.model.components]
    spectra = [np.linalg.svd(part, compute_uv=False) for part in components]
    penalties = [np.log1p(s / 0.5).sum() for s in spectra]
    squares = sum(w * np.sum(part**2) for w, part in zip(lam / lam.sum(), components, strict=True))
    objective = loss + lam @ penalties
    last = result.history[-1]
    assert last.objective == pytest.approx(objective, rel=1e-9)
    assert last.f_tau == pytest.approx(objective + 1.3 / 2 * (squares - np.sum(x**2)), rel=1e-9)
    assert result.model.weights == pytest.approx(lam / lam.sum())


def soft_impute(array, seen, lam, steps=20_000):
    """The matrix case by the textbook iteration, with none of the package's code."""
    x = np.zeros_like(array)
    for _ in range(steps):
        u, s, vt = np.linalg.svd(np.where(seen, array, x), full_matrices=False)
        after = (u * np.maximum(s - lam, 0)) @ vt
        if np.abs(after - x).max() < 1e-13:
            break
        x = after
    return x


@pytest.mark.parametrize("storage", ["sparse", "dense"])
@pytest.mark.parametrize("modes", [(0,), (1,), (0, 1)])
def test_a_matrix_with_the_nuclear_norm_equals_soft_impute(storage, modes):
    rng = np.random.default_rng(3)
    array = rng.standard_normal((20, 3)) @ rng.standard_normal((3, 15)) + 0.1 * rng.standard_normal((20, 15))
    seen = rng.random(array.shape) < 0.6
    task = Problem(Observations.from_dense(array, seen), Square())
    result = Nort(lam=1.5 / len(modes), penalty=Nuclear(), modes=modes, storage=storage, tol=0, max_iter=1500).solve(
        task, rng=0
    )
    np.testing.assert_allclose(result.model.to_dense(), soft_impute(array, seen, 1.5), atol=1e-6)


@pytest.mark.parametrize("shape", [(12, 9), (8, 9, 7), (5, 6, 4, 7), (3, 4, 3, 5, 4)])
def test_sparse_and_dense_storage_agree(shape):
    task, settings = problem(shape), {"svd": "subspace", "momentum": False, "tol": 0, "max_iter": 60}
    sparse, dense = (solve(task, storage=kind, **settings) for kind in ("sparse", "dense"))
    np.testing.assert_allclose(sparse.model.to_dense(), dense.model.to_dense(), atol=1e-8)
    np.testing.assert_allclose(sparse.history["f_tau"], dense.history["f_tau"], rtol=1e-8)
    assert [record.ranks for record in sparse.history] == [record.ranks for record in dense.history]


@pytest.mark.parametrize(
    "shape",
    [(12, 9), *(pytest.param(each, marks=pytest.mark.slow) for each in ((8, 9, 7), (5, 6, 4, 7))), (3, 4, 3, 5, 4)],
)
def test_sparse_and_dense_storage_end_alike_with_momentum(shape):
    """The sparse storage extrapolates but for what is of second order, which must be gone where the steps end."""
    task, settings = problem(shape), {"svd": "subspace", "tol": 0, "max_iter": 600}
    sparse, dense = (solve(task, storage=kind, **settings) for kind in ("sparse", "dense"))
    np.testing.assert_allclose(sparse.model.to_dense(), dense.model.to_dense(), atol=1e-5)
    assert sparse.history[-1].f_tau == pytest.approx(dense.history[-1].f_tau, rel=1e-10)


@functools.cache
def unturned():
    """Return a problem, the options it is solved with, and its answer."""
    task = problem(noise=0.05)
    options = {"penalty": LSP(0.5), "lam": 0.5, "modes": [0, 1, 2], "tol": 0, "max_iter": 1000}
    return task, options, solve(task, **options).model.to_dense()


@pytest.mark.parametrize(
    "order",
    [(0, 2, 1), *(pytest.param(each, marks=pytest.mark.slow) for each in ((1, 0, 2), (1, 2, 0), (2, 0, 1))), (2, 1, 0)],
)
def test_the_answer_does_not_depend_on_the_order_of_the_modes(order):
    task, options, one = unturned()
    turned = Problem(Observations.from_dense(task.observations.to_dense().transpose(order)), Square())
    other = solve(turned, **options).model.to_dense()
    np.testing.assert_allclose(one.transpose(order), other, atol=1e-6)


def test_the_synthetic_tensor_is_recovered_to_near_the_limit():
    data = synthetic((60, 60, 60), rng=3)
    method = Nort(lam=0.25 / 3, penalty=CappedL1(0.5), max_rank=5, tol=1e-6, storage="sparse")
    result = method.solve(Problem(data.observations, Square()), held_out=data.test, rng=0)
    assert result.model.ranks == (5, 5, 5)
    assert result.history[-1].held_out < 2 * data.limit


def test_nothing_of_the_size_of_the_tensor_is_allocated_on_the_sparse_path():
    data = synthetic((250, 250, 250), rank=2, observed=20_000, rng=0)
    method = Nort(lam=0.1, penalty=CappedL1(0.3), max_rank=2, max_iter=3, tol=0, storage="sparse")
    task = Problem(data.observations, Square())
    method.solve(task, rng=0)
    tracemalloc.start()
    try:
        method.solve(Problem(data.observations, Square()), rng=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 250**3 * 8 / 4


def test_the_same_seed_gives_the_same_bits():
    data = synthetic((40, 40, 40), rng=0)
    one, other = (
        Nort(lam=0.1, penalty=LSP(0.3), storage="sparse", max_iter=20).solve(
            Problem(data.observations, Square()), rng=5
        )
        for _ in range(2)
    )
    np.testing.assert_array_equal(one.model.predict(data.test.coords), other.model.predict(data.test.coords))


@pytest.mark.parametrize("storage", ["sparse", "dense"])
def test_float32_stays_float32_and_close(storage):
    task = problem()
    narrow = Problem(task.observations.astype(np.float32), Square())
    wide, low = (solve(each, storage=storage, max_iter=300, tol=0).model for each in (task, narrow))
    assert low.dtype == np.float32
    assert all(part.v.dtype == np.float32 for part in low.components)
    np.testing.assert_allclose(low.to_dense(), wide.to_dense(), atol=2e-3)


def test_one_lambda_theta_and_rank_per_mode():
    result = solve(
        problem(), lam=[0.1, 0.2, 0.3], penalty=[LSP(0.5), MCP(1.0), Nuclear()], max_rank=[1, 2, 3], modes=[0, 1, 2]
    )
    assert all(rank <= most for rank, most in zip(result.model.ranks, [1, 2, 3], strict=True))
    assert result.model.weights == pytest.approx([1 / 6, 2 / 6, 3 / 6])


def test_no_penalty_with_a_rank_limit_is_allowed():
    result = solve(problem(noise=0), lam=0.0, max_rank=2, modes=[0, 1, 2], max_iter=300, tol=1e-9)
    assert result.model.ranks == (2, 2, 2)
    assert result.model.weights == pytest.approx([1 / 3] * 3)


def test_a_start_at_the_answer_stays_there():
    task = problem()
    first = solve(task, tol=1e-12, max_iter=2000)
    again = Nort(lam=0.3, penalty=LSP(0.5), tol=1e-8).solve(task, start=first.model, rng=1)
    assert again.history[-1].iteration <= 3
    np.testing.assert_allclose(again.model.to_dense(), first.model.to_dense(), atol=1e-5)


def test_momentum_needs_fewer_iterations():
    counts = [
        len(solve(problem(density=0.2), momentum=rule, tol=1e-7, max_iter=3000).history) for rule in (True, False)
    ]
    assert counts[0] < counts[1]


def test_every_way_to_stop():
    task = problem()
    assert solve(task, tol=1e-3).status is Status.CONVERGED
    assert solve(task, max_iter=2, tol=0).status is Status.MAX_ITER
    method = Nort(lam=0.3, tol=0)
    assert method.solve(task, clock=Clock(1e-9)).status is Status.TIME_LIMIT
    stopped = method.solve(task, rng=0, callback=lambda record, model: record.iteration == 4)
    assert stopped.status is Status.CALLBACK
    assert stopped.history[-1].iteration == 4

    def interrupt(record, model):
        if record.iteration == 3:
            raise KeyboardInterrupt

    interrupted = method.solve(task, rng=0, callback=interrupt)
    assert interrupted.status is Status.INTERRUPTED
    assert interrupted.history[-1].iteration == 3
    assert interrupted.model.norm() > 0


def test_the_history_tells_everything():
    data = synthetic((30, 30, 30), rng=1)
    result = Nort(lam=0.1, penalty=LSP(0.3)).solve(Problem(data.observations, Square()), held_out=data.test, rng=0)
    history = result.history
    assert history["iteration"].tolist() == list(range(len(history)))
    assert (np.diff(history["seconds"]) >= 0).all()
    assert np.isfinite(history["held_out"]).all()
    assert history["momentum"].any()
    assert not history["momentum"][:2].any()
    assert history[0].ranks == (0, 0, 0)
    assert history[-1].ranks == result.model.ranks


def test_small_modes_are_left_out_by_default():
    assert default_modes((1000, 1000, 3)) == (0, 1)
    assert default_modes((400, 400, 400, 5)) == (0, 1, 2)
    assert default_modes((30, 77, 18)) == (0, 1, 2)
    assert default_modes((3, 5, 4)) == (1, 2)
    assert default_modes((20, 30)) == (0,)
    assert solve(problem((9, 10, 3))).model.modes == (0, 1)
    assert solve(problem((9, 10, 3)), modes=[2]).model.modes == (2,)


def test_modes_with_hardly_two_entries_in_a_column_are_left_out_by_default():
    assert default_modes((2_000, 1_500, 12), entries=135_000) == (0, 1)
    assert default_modes((200, 200, 200), entries=381_479) == (0, 1, 2)
    assert default_modes((10**6, 10**6, 10**3), entries=10**5) == (0, 1)
    rng = np.random.default_rng(0)
    shape = (60, 50, 12)
    coords = np.unique(np.stack([rng.integers(size, size=400) for size in shape], axis=1), axis=0)
    few = Problem(Observations(coords, rng.standard_normal(len(coords)), shape), Square())
    assert Nort(lam=1.0).regulariser(few).modes == (0, 1)
    assert Nort(lam=1.0, modes=(0, 1, 2)).regulariser(few).modes == (0, 1, 2)


def test_it_does_not_count_as_converged_before_it_may():
    method, data = Nort(lam=0.1, tol=1e-3), problem((9, 10, 3))
    answer = method.solve(data, rng=0).model
    assert method.solve(data, start=answer, rng=0).history[-1].iteration < 6
    longer = method.solve(data, start=answer, rng=0, at_least=6)
    assert longer.history[-1].iteration == 6
    assert longer.status is Status.CONVERGED


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"modes": [3]}, ["modes", "-3 to 2", "3 was given"]),
        ({"modes": []}, ["modes", "at least one"]),
        ({"modes": [0, 0]}, ["modes", "twice"]),
        ({"lam": -1.0}, ["lam", "at least 0", "-1"]),
        ({"lam": [1.0, 2.0]}, ["lam", "one for each of the 3 regularised modes", "2 were given"]),
        ({"max_rank": 0}, ["max_rank", "at least 1", "0"]),
        ({"tau": 0.0}, ["tau", "above 0"]),
        ({"momentum": "heavy"}, ["momentum", "'restart'", "'heavy'"]),
        ({"svd": "full"}, ["svd", "'exact'"]),
        ({"storage": "disk"}, ["storage", "'sparse'"]),
        ({"svd": "exact", "storage": "sparse"}, ["svd='exact'", "storage='dense'"]),
        ({"max_iter": 0}, ["max_iter", "at least 1"]),
        ({"tol": -1}, ["tol", "at least 0"]),
        ({"lam": "auto"}, ["'lam'", "method 'nort'", "tensorfill.complete"]),
    ],
)
def test_bad_settings_get_one_sentence(options, words):
    with pytest.raises(ValueError) as caught:
        solve(problem((8, 9, 10)), **options)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert message.endswith(".")
    assert "\n" not in message


def test_a_start_of_another_shape_is_refused():
    other = solve(problem((8, 9, 8))).model
    with pytest.raises(ValueError, match=r"shape \(8, 9, 7\)"):
        Nort(lam=1.0).solve(problem((8, 9, 7)), start=other)


def test_a_mode_whose_factor_cannot_fit_is_named():
    shape = (3_000_000, 3_000_000, 1_000)
    rng = np.random.default_rng(0)
    coords = np.stack([rng.integers(size, size=1000) for size in shape], axis=1)
    observations = Observations(coords, rng.standard_normal(1000), shape, duplicates="last")
    with pytest.raises(MemoryError, match=r"mode 2 .* bytes .* leave mode 2 out of modes"):
        Nort(lam=1.0, modes=[2], storage="sparse").solve(Problem(observations, Square()))


def test_one_value_for_all_modes_or_one_for_each():
    assert per_mode(2.0, "lam", (0, 2)) == (2.0, 2.0)
    assert per_mode(np.array([1.0, 2.0]), "lam", (0, 2)) == (1.0, 2.0)


def test_components_are_decompositions_of_their_unfoldings():
    model = solve(problem()).model
    for part in model.components:
        np.testing.assert_allclose(part.u.T @ part.u, np.eye(part.rank), atol=1e-10)
        np.testing.assert_allclose(part.v.T @ part.v, np.eye(part.rank), atol=1e-10)
        assert (np.diff(part.s) <= 0).all()
    dense = sum(
        weight * np.moveaxis((part.u * part.s @ part.v.T).reshape(unfold(model.to_dense(), part.mode).shape[0], *[
            size for mode, size in enumerate(model.shape) if mode != part.mode
        ]), 0, part.mode)
        for weight, part in model.terms
    )  # fmt: skip
    np.testing.assert_allclose(model.to_dense(), dense)


def test_the_truncated_nuclear_norm_finds_how_many_singular_values_are_free():
    data = synthetic((30, 30, 30), rank=5, observed=8_000, factors="normal", rng=0)
    fit = complete(data.observations, method="nort", penalty="tnn", smooth=None, centre=False, rng=0)
    assert fit.method.penalty == TNN(5)
    assert rmse(fit.predict(data.test.coords), data.test.values) < 2 * data.limit
