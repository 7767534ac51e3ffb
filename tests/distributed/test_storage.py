"""The storage on workers does what the storage on one machine does."""

import gc
from contextlib import ExitStack, suppress

import numpy as np
import pytest

pytest.importorskip("distributed")

from tensorfill import Nort
from tensorfill.algebra.component import Component
from tensorfill.algebra.storage import SparseStorage
from tensorfill.algebra.unfolding import columns
from tensorfill.distributed import post as posts
from tensorfill.distributed.crew import Crew
from tensorfill.distributed.cutting import cut_evenly
from tensorfill.distributed.orders import removed
from tensorfill.distributed.part import ALL, Part
from tensorfill.distributed.problem import SpreadProblem
from tensorfill.distributed.rows import brought_together
from tensorfill.distributed.storage import SpreadStorage
from tensorfill.losses import Huber, Square
from tensorfill.methods.nort import SmoothedNort
from tensorfill.methods.problem import Problem
from tensorfill.observations import Observations

SHAPE, MODES = (9, 8, 10), (0, 1, 2)


def observations(rng, shape=SHAPE):
    mask = rng.random(shape) < 0.4
    truth = np.einsum("ar,br,cr->abc", *(rng.standard_normal((size, 2)) for size in shape))
    return Observations(np.argwhere(mask), truth[mask] + 0.1 * rng.standard_normal(mask.sum()), shape)


def spread(client, obs, parts, split, loss=None, folder=None):
    counts = np.bincount(obs.coords[:, split], minlength=obs.shape[split])
    cut = cut_evenly(obs.shape, split, counts, parts)
    workers = sorted(client.ncores())

    def source(part):
        own = cut.part_of(obs.coords[:, split]) == part
        coords = obs.coords[own].copy()
        coords[:, split] -= cut.bounds[part]
        return Part, [cut, part, Observations(coords, obs.values[own], cut.shape_of(part)), loss or Square()]

    crew = Crew(client, [workers[part % len(workers)] for part in range(cut.parts)], source, folder)
    assert sum(crew.make()) == len(obs)
    crew.settle("take_all", [()] * cut.parts)
    return SpreadProblem.of(crew, cut, ALL, loss or Square(), len(obs), obs.dtype)


def orthonormal(rng, shape, mode, rank):
    u = np.linalg.qr(rng.standard_normal((shape[mode], rank)))[0]
    v = np.linalg.qr(rng.standard_normal((columns(shape, mode), rank)))[0]
    return Component(mode, u, np.sort(rng.random(rank))[::-1] + 1, v)


@pytest.fixture(params=[(1, 0), (2, 0), (3, 1), (2, 2)], ids=lambda given: f"{given[0]} parts of mode {given[1]}")
def both(request, client):
    obs = observations(np.random.default_rng(0))
    problem = spread(client, obs, *request.param)
    yield SparseStorage(obs, MODES), problem.storage_for("sparse", MODES), Problem(obs, Square()), problem
    problem.crew.close()


def points(storage, seed, ranks=(2, 1, 3)):
    rng = np.random.default_rng(seed)
    parts = [orthonormal(rng, SHAPE, mode, rank) for mode, rank in enumerate(ranks)]
    if isinstance(storage, SpreadStorage):
        parts = [storage.taken(part) for part in parts]
    return storage.point(parts, (0.5, 0.3, 0.2))


def test_a_point_has_the_same_norm_and_the_same_loss(both):
    here, there, problem, spread_problem = both
    one, other = points(here, 1), points(there, 1)
    assert there.square(other) == pytest.approx(here.square(one), rel=1e-12)
    assert spread_problem.value(other.seen) == pytest.approx(problem.value(one.seen), rel=1e-12)
    assert spread_problem.norm == pytest.approx(problem.norm)
    assert spread_problem.slope_at_zero == pytest.approx(problem.slope_at_zero)


@pytest.mark.parametrize("gamma", [0.0, 0.4])
def test_unfoldings_have_the_same_products(both, gamma):
    here, there, problem, spread_problem = both
    found = []
    with ExitStack() as contexts:
        for storage, asked in ((here, problem), (there, spread_problem)):
            now, before = points(storage, 1), points(storage, 2)
            point = storage.extrapolated(now, before, gamma) if gamma else now
            change = asked.gradient(point.seen, -0.7)
            unfolding = contexts.enter_context(storage.unfoldings(point, change))
            found.append([unfolding(mode) for mode in MODES])
        rng = np.random.default_rng(3)
        for mode, (one, other) in enumerate(zip(*found, strict=True)):
            a = rng.standard_normal((SHAPE[mode], 4))
            assert one.shape == other.shape
            trip, far = one.round_trip(a), other.round_trip(a)
            np.testing.assert_allclose(far.gram, trip.gram, atol=1e-10)
            np.testing.assert_allclose(far.product, trip.product, atol=1e-10)
            np.testing.assert_allclose(brought_together(there.cut, far.block, mode), trip.block, atol=1e-10)
            small = rng.standard_normal((4, 2))
            np.testing.assert_allclose(other.right(far.block @ small), one.right(trip.block @ small), atol=1e-10)
            np.testing.assert_allclose(far.block.T @ far.block, trip.gram, atol=1e-10)


def test_the_loss_is_also_known_beyond_two_points(both):
    here, there, problem, spread_problem = both
    losses = [
        asked.value(storage.extrapolated(points(storage, 1), points(storage, 2), 0.4).seen)
        for storage, asked in ((here, problem), (there, spread_problem))
    ]
    assert losses[1] == pytest.approx(losses[0], rel=1e-12)


def settings(**changes):
    given = {"lam": 0.3, "penalty": "capped_l1", "theta": 1.0, "max_rank": 4, "max_iter": 20, "tol": 0.0}
    return Nort(**{**given, "storage": "sparse", "svd": "subspace", "polish": False, **changes})


@pytest.mark.parametrize(
    ("loss", "momentum", "parts"),
    [(Square(), True, 1), pytest.param(Square(), True, 3, marks=pytest.mark.slow), (Huber(0.5), False, 2)],
)
def test_twenty_iterations_from_the_same_start_are_the_same(client, loss, momentum, parts):
    obs = observations(np.random.default_rng(5))
    method = settings(momentum=momentum)
    start = settings(max_iter=2).solve(Problem(obs, loss), rng=0).model
    expected = method.solve(Problem(obs, loss), start=start, rng=1)
    problem = spread(client, obs, parts, 2, loss)
    found = method.solve(problem, start=start, rng=1)
    np.testing.assert_allclose(found.history["f_tau"], expected.history["f_tau"], rtol=1e-10)
    for one, other in zip(expected.model.components, found.model.components, strict=True):
        np.testing.assert_allclose(other.s, one.s, rtol=1e-8)
    assert min(found.history["moved"][1:]) > 0
    assert min(found.history["computing"][1:]) > 0
    problem.crew.close()


@pytest.fixture
def _without_collection():
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_without_collection")
@pytest.mark.slow
def test_names_that_nobody_refers_to_are_forgotten_at_once(client, monkeypatch):
    # Nothing may keep them alive until Python collects it, not even an answer that is long waited for.
    monkeypatch.setattr(posts, "CHECK_EVERY", 1e-4)
    obs = observations(np.random.default_rng(6))
    problem = spread(client, obs, 2, 0)
    result = settings(max_iter=3).solve(problem, rng=0)
    names = problem.crew.ask("names")
    assert names[0] == names[1]
    # The right factors of the answer are all that is left.
    kept = {component.v.name for component in result.model.components}
    assert set(names[0]) == kept
    problem.crew.close()


def names_of(problem):
    """Return the names of all arrays that the first part has."""
    return problem.crew.ask("names")[0]


@pytest.mark.usefixtures("_without_collection")
@pytest.mark.parametrize("momentum", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_what_workers_hold_does_not_grow_from_iteration_to_iteration(client, momentum):
    obs = observations(np.random.default_rng(6))
    problem = spread(client, obs, 2, 0)
    counts = []
    settings(max_iter=25, momentum=momentum).solve(
        problem, rng=0, callback=lambda record, model: counts.append(len(names_of(problem)))
    )
    # Two iterates, each with its values at the entries and a right factor for each mode.
    assert max(counts) <= 2 * (1 + len(MODES))
    assert counts[-1] <= counts[1]
    problem.crew.close()


@pytest.mark.slow
@pytest.mark.usefixtures("_without_collection")
def test_a_run_that_fails_leaves_nothing_on_the_workers(client):
    obs = observations(np.random.default_rng(6))
    problem = spread(client, obs, 2, 0)

    def failing(record, model):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        settings().solve(problem, rng=0, callback=failing)
    assert names_of(problem) == []
    assert problem.crew._standing == 0
    problem.crew.close()


@pytest.mark.usefixtures("_without_collection")
def test_workers_leave_a_point_at_the_end_of_its_context(both):
    _, there, _, problem = both
    before = names_of(problem)
    point = points(there, 1)
    with suppress(ZeroDivisionError), there.unfoldings(point, problem.gradient(point.seen, -1.0)) as unfolding:
        unfolding(0).round_trip(np.ones((SHAPE[0], 2)))
        assert len(names_of(problem)) == len(before) + len(MODES) + 2
        raise ZeroDivisionError
    assert len(names_of(problem)) == len(before) + len(MODES) + 1
    there.release(point)
    there.release(point)
    assert len(names_of(problem)) == len(before) + len(MODES)
    with pytest.raises(ValueError, match="graphs"), there.unfoldings(point, point.seen, (None, 0.1)):
        pass


@pytest.mark.slow
def test_a_callback_may_ask_the_model_of_a_run(client):
    obs = observations(np.random.default_rng(6))
    problem, seen = spread(client, obs, 2, 0), []

    def asking(record, model):
        dense = model.to_dense()
        np.testing.assert_allclose(model.predict(obs.coords), dense[tuple(obs.coords.T)], atol=1e-12)
        np.testing.assert_allclose(model.margin(1), dense.sum(axis=(0, 2)), atol=1e-10)
        np.testing.assert_allclose(model[3], dense[3], atol=1e-12)
        np.testing.assert_allclose(model.scaled(2.0).to_dense(), 2 * dense, atol=1e-12)
        assert model.norm() == pytest.approx(np.linalg.norm(dense))
        assert model.nbytes > 0
        seen.append(0.5 * np.sum((dense[tuple(obs.coords.T)] - obs.values) ** 2))

    result = settings(max_iter=2, lam=0.0).solve(problem, rng=0, callback=asking)
    np.testing.assert_allclose(seen, result.history["objective"][1:], rtol=1e-10)
    late = result.model.scaled(1.0)
    problem.crew.close()
    with pytest.raises(ValueError, match="the run is over"):
        late.predict(obs.coords)


@pytest.mark.slow
def test_a_part_that_is_gone_is_made_again(client, tmp_path):
    obs = observations(np.random.default_rng(6))
    expected = settings(max_iter=6).solve(spread(client, obs, 2, 0), rng=0)
    problem = spread(client, obs, 2, 0, folder=str(tmp_path))
    crew = problem.crew

    def forgetting(record, model):
        if record.iteration == 3:
            client.run(removed, crew.run, workers=[crew.places[1]])

    found = settings(max_iter=6).solve(problem, rng=0, callback=forgetting)
    assert crew.recoveries == 1
    np.testing.assert_array_equal(found.history["f_tau"], expected.history["f_tau"])
    crew.close()


@pytest.mark.slow
def test_questions_are_kept_only_where_they_can_be_asked_again(client, tmp_path):
    obs = observations(np.random.default_rng(6))
    for folder in (None, str(tmp_path)):
        problem = spread(client, obs, 2, 0, folder=folder)
        settings(max_iter=1).solve(problem, rng=0)
        assert bool(problem.crew._asked) == (folder is not None)
        problem.crew.close()


def test_the_problem_says_what_it_can_do(client):
    obs = observations(np.random.default_rng(6))
    problem = spread(client, obs, 2, 0)
    assert isinstance(settings().storage_for(problem, MODES), SpreadStorage)
    assert isinstance(settings(storage="auto").storage_for(problem, MODES), SpreadStorage)
    assert problem.here is None
    assert not problem.keeps_observed_columns("auto", MODES)
    with pytest.raises(ValueError, match="graphs"):
        problem.storage_for("sparse", MODES).energy(None, None)
    with pytest.raises(ValueError, match="'sparse' only, but 'dense' was given"):
        settings(storage="dense").solve(problem, rng=0)
    with pytest.raises(ValueError, match="polish=True needs all entries on this machine"):
        settings(polish=True).solve(problem, rng=0)
    with pytest.raises(ValueError, match="needs all entries on this machine"):
        SmoothedNort(lam=1.0).solve(problem, rng=0)
    problem.crew.close()
