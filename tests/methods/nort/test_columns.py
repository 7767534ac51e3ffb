"""NORT at observed columns: the step, descent, what it says elsewhere, memory, and what does not go with it."""

import dataclasses
import tracemalloc
import warnings

import numpy as np
import pytest

import tensorfill
from tensorfill import Nort, Observations
from tensorfill.algebra.columns import ColumnStorage, observed_columns
from tensorfill.algebra.storage import SparseStorage
from tensorfill.algebra.unfolding import fold, unfold
from tensorfill.graphs import chain
from tensorfill.losses import Square
from tensorfill.methods import memory
from tensorfill.methods.problem import Problem
from tensorfill.models import FoldedColumns, FoldedLowRank, Tucker
from tensorfill.penalties import LSP, CappedL1, Nuclear


def sparse_data(shape=(9, 8, 7), entries=12, seed=0):
    rng = np.random.default_rng(seed)
    factors = [1 + rng.standard_normal(size) for size in shape]
    places = np.sort(rng.choice(np.prod(shape), entries, replace=False))
    coords = np.stack(np.unravel_index(places, shape), axis=1)
    values = np.prod([factor[index] for factor, index in zip(factors, coords.T, strict=True)], axis=0)
    return Observations(coords, values + 0.1 * rng.standard_normal(entries), shape)


def by_formula(observations, lam, steps):
    """Return F_tau after each step of the formula on dense tensors, for the nuclear norm along all modes."""
    shape, where, tau = observations.shape, tuple(observations.coords.T), 1.01
    weight = 1 / len(shape)
    seen = np.zeros(shape)
    seen[where] = 1
    masks = []
    for mode, size in enumerate(shape):
        known = unfold(seen, mode).any(axis=0)
        masks.append(fold(np.repeat(known[None], size, axis=0), mode, shape))
    parts = [np.zeros(shape) for _ in shape]
    values = []
    for _ in range(steps + 1):
        left = weight * sum(parts)[where] - observations.values
        ties = sum(
            np.sum((m * n * (x - y)) ** 2)
            for i, (x, m) in enumerate(zip(parts, masks, strict=True))
            for y, n in list(zip(parts, masks, strict=True))[:i]
        )
        norms = sum(np.linalg.norm(unfold(part, mode), "nuc") for mode, part in enumerate(parts))
        values.append(left @ left / 2 + lam * norms + tau / 2 * weight**2 * ties)
        after = []
        for mode, (part, mask) in enumerate(zip(parts, masks, strict=True)):
            z = part + sum(weight * mask * n * (y - part) for y, n in zip(parts, masks, strict=True))
            z[where] -= left / tau
            u, s, vt = np.linalg.svd(unfold(z, mode), full_matrices=False)
            after.append(fold((u * np.maximum(s - len(shape) * lam / tau, 0)) @ vt, mode, shape))
        parts = after
    return values, parts, masks


def test_a_step_is_that_of_the_formula():
    observations = sparse_data()
    expected, parts, masks = by_formula(observations, lam=0.1, steps=15)
    method = Nort(lam=0.1, penalty=Nuclear(), modes=[0, 1, 2], momentum=False, storage="columns", tol=0, max_iter=15)
    result = method.solve(Problem(observations, Square()), rng=0)
    np.testing.assert_allclose(result.history["f_tau"], expected, rtol=1e-6)
    # An entry is the mean of the components that know its columns.
    speaking = sum(mask.astype(float) for mask in masks)
    mean = np.divide(sum(parts), speaking, out=np.zeros(observations.shape), where=speaking > 0)
    np.testing.assert_allclose(result.model.to_dense(), mean, atol=1e-3 * np.abs(mean).max())
    assert (speaking == 0).any()
    assert ((speaking > 0) & (speaking < 3)).any()


@pytest.mark.parametrize("momentum", [False, "restart", "adaptive"])
@pytest.mark.parametrize("penalty", [Nuclear(), LSP(0.5), CappedL1(0.8)], ids=lambda penalty: type(penalty).__name__)
@pytest.mark.parametrize("modes", [(0,), (0, 1), (0, 2, 3)])
def test_f_tau_never_rises(penalty, momentum, modes):
    observations = sparse_data((7, 6, 5, 4), entries=40, seed=1)
    method = Nort(lam=0.1, penalty=penalty, modes=modes, momentum=momentum, storage="columns", tol=0, max_iter=60)
    f_tau = method.solve(Problem(observations, Square()), rng=0).history["f_tau"]
    assert np.diff(f_tau).max() <= 1e-8 * f_tau[0]
    assert f_tau[-1] < 0.9 * f_tau[0]


class TestWhichColumnsAreKept:
    def storage(self, observations, modes, **settings):
        problem = Problem(observations, Square())
        return Nort(lam=1.0, **settings).storage_for(problem, modes)

    def test_those_of_long_unfoldings_with_few_entries(self):
        storage = self.storage(sparse_data((3000, 2000, 500), 100), (0, 1))
        assert isinstance(storage, ColumnStorage)
        assert max(len(kept) for kept in storage.kept.values()) <= 100

    def test_the_observed_ones_of_short_unfoldings_beside_a_long_one(self):
        observations = sparse_data((60_000, 10, 30), 2_000)
        storage = self.storage(observations, (0, 1))
        assert isinstance(storage, ColumnStorage)
        for mode in (0, 1):
            np.testing.assert_array_equal(
                storage.kept[mode], observed_columns(observations.coords, (60_000, 10, 30), mode)
            )

    @pytest.mark.parametrize(("fibres", "kind"), [(100_000, ColumnStorage), (200_000, SparseStorage)])
    def test_columns_are_counted_and_not_entries(self, fibres, kind):
        # Each of these columns has three entries, which are more than a quarter of the 600,000 columns in either case.
        shape = (10, 60_000, 10)
        columns = np.random.default_rng(0).choice(600_000, fibres, replace=False)
        places = np.repeat(columns, 3) + 600_000 * np.tile(np.arange(3), fibres)
        coords = np.stack(np.unravel_index(np.sort(places), shape), axis=1)
        observations = Observations(coords, np.ones(len(coords)), shape)
        assert isinstance(self.storage(observations, (0,)), kind)

    def test_the_columns_of_all_components_are_counted_together(self):
        # Of the short unfolding all columns are observed, of the long one a fifth.
        shape, rng = (300, 3_000, 300), np.random.default_rng(0)
        long = np.stack(
            [np.zeros(120_000, int), rng.integers(3_000, size=120_000), rng.integers(300, size=120_000)], axis=1
        )
        whole = np.stack(np.unravel_index(np.arange(90_000), (300, 300)), axis=1)
        short = np.stack([whole[:, 0], rng.integers(3_000, size=90_000), whole[:, 1]], axis=1)
        coords = np.unique(np.concatenate([long, short]), axis=0)
        observations = Observations(coords, np.ones(len(coords)), shape)
        kept = [len(observed_columns(observations.coords, shape, mode)) for mode in (0, 1)]
        assert 4 * kept[0] < 900_000
        assert kept[1] == 90_000
        assert 4 * sum(kept) >= 990_000
        assert isinstance(self.storage(observations, (0,)), ColumnStorage)
        assert isinstance(self.storage(observations, (0, 1)), SparseStorage)

    @pytest.mark.parametrize(
        "observations", [sparse_data((300, 200, 500), 2_000), sparse_data((2_000, 2_000), 50)], ids=["small", "matrix"]
    )
    def test_all_of_shorter_ones_and_of_matrices(self, observations):
        assert isinstance(self.storage(observations, (0,)), SparseStorage)

    def test_ordinary_data_does_not_change_in_any_bit(self):
        observations = sparse_data((60, 50, 40), 3_000)
        settings = {"method": "nort", "penalty": LSP(0.5), "lam": 0.5, "rng": 0, "max_iter": 30, "storage": "sparse"}
        once = tensorfill.complete(observations, **settings | {"storage": "auto"}).predict(observations.coords)
        again = tensorfill.complete(observations, **settings).predict(observations.coords)
        np.testing.assert_array_equal(once, again)


def test_it_takes_memory_for_the_entries_and_not_for_the_columns():
    observations = sparse_data((4_000, 3_000, 200), 3_000)
    method = Nort(lam=0.5, penalty=LSP(0.5), max_rank=4, max_iter=5, tol=0)
    # This compiles what is to be compiled.
    dataclasses.replace(method, storage="columns").solve(Problem(sparse_data(), Square()), rng=0)
    tracemalloc.start()
    try:
        result = method.solve(Problem(observations, Square()), rng=0)
        result.model.predict(observations.coords)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # One number for each column of the shortest unfolding is 4.8 MB, and a block has eight.
    assert peak < 10e6
    assert isinstance(result.model, FoldedColumns)


def test_components_of_rank_zero_are_not_compared(monkeypatch):
    from tensorfill.algebra.compiled import columns as loops

    calls, difference = [], loops.add_difference
    monkeypatch.setattr(loops, "add_difference", lambda *given: calls.append(1) or difference(*given))
    method = Nort(lam=0.1, penalty=Nuclear(), modes=[0, 1], storage="columns", momentum=False, max_iter=1, tol=0)
    first = method.solve(Problem(sparse_data(), Square()), rng=0)
    assert not calls
    method.solve(Problem(sparse_data(), Square()), start=first.model, rng=0)
    assert calls


class TestWarmStarts:
    def solved(self, observations, start=None, **settings):
        method = Nort(**{"lam": 0.1, "penalty": Nuclear(), "modes": [0, 1], "storage": "columns", **settings})
        return method.solve(Problem(observations, Square()), start=start, rng=0)

    def test_it_goes_on_from_its_own_answer(self):
        observations = sparse_data()
        first = self.solved(observations, tol=1e-9, max_iter=2000)
        again = self.solved(observations, start=first.model, max_iter=3)
        np.testing.assert_allclose(again.history["f_tau"][0], first.history["f_tau"][-1], rtol=1e-9)

    def test_from_the_answer_for_other_entries(self):
        model = self.solved(sparse_data(entries=9)).model
        more = sparse_data(entries=13)
        after = self.solved(more, start=model, max_iter=5)
        assert np.isfinite(after.history["f_tau"]).all()
        assert [len(kept) for kept in after.model.kept] != [len(kept) for kept in model.kept]

    @pytest.mark.parametrize(("first", "then"), [("sparse", "columns"), ("columns", "sparse")])
    def test_between_the_storages(self, first, then):
        observations = sparse_data()
        model = self.solved(observations, storage=first, max_iter=50).model
        after = self.solved(observations, start=model, storage=then, max_iter=1)
        # At the observed entries all components speak, so both forms have the same values there.
        before = model.predict(observations.coords) - observations.values
        penalty = 0.1 * sum(part.s.sum() for part in after.model.components)
        assert after.history["objective"][0] <= before @ before / 2 + penalty + 0.5
        assert isinstance(after.model, FoldedColumns if then == "columns" else FoldedLowRank)

    def test_a_tucker_model_is_the_same_at_the_kept_columns(self):
        rng = np.random.default_rng(0)
        shape = (6, 5, 4)
        model = Tucker(shape, rng.standard_normal((2, 2, 2)), [rng.standard_normal((size, 2)) for size in shape])
        problem = Problem(sparse_data(shape, 5), Square())
        folded = Nort(lam=1.0, storage="columns").folded(problem, model, (0, 1), (0.4, 0.6))
        assert isinstance(folded, FoldedColumns)
        coords = problem.observations.coords
        np.testing.assert_allclose(folded.predict(coords), model.predict(coords))


@pytest.fixture(scope="module")
def data():
    # Four of ten columns have an entry, and these have two and a half each.
    rng = np.random.default_rng(0)
    shape = (30, 40, 30)
    fibres = rng.choice(1200, 300, replace=False)
    coords = np.unique(
        np.stack([rng.integers(30, size=900), *np.unravel_index(rng.choice(fibres, 900), shape[1:])], axis=1),
        axis=0,
    )
    factors = [1 + 0.5 * rng.standard_normal(size) for size in shape]
    values = np.prod([factor[index] for factor, index in zip(factors, coords.T, strict=True)], axis=0)
    return Observations(coords, values + 0.01 * rng.standard_normal(len(coords)), shape)


@pytest.fixture(scope="module")
def fit(data):
    return tensorfill.complete(data, method="nort", storage="columns", modes=[0], smooth=None, rng=0)


class TestFits:
    def test_a_fit_is_better_than_the_effects(self, fit, data):
        assert isinstance(fit.model.model, FoldedColumns)
        assert fit.error_bars.rmse < min(base.error for base in fit.baselines)
        assert "FoldedColumns" in repr(fit.model)

    def test_where_no_component_speaks_it_is_the_mean_and_the_effects(self, fit, data):
        known = {tuple(column) for column in data.coords[:, 1:].tolist()}
        silent = [(i, j, k) for i in range(3) for j in range(40) for k in range(30) if (j, k) not in known][:50]
        np.testing.assert_allclose(fit.predict(silent), fit.model.offset.predict(np.array(silent)))

    def test_its_directions_are_there_as_factors(self, fit):
        assert np.asarray(fit.factors()["mode_0"].values).shape == (30, fit.ranks[0])

    @pytest.mark.slow
    def test_files_intervals_and_reports(self, fit, data, tmp_path):
        fit.save(tmp_path / "fit.npz")
        again = tensorfill.load(tmp_path / "fit.npz")
        np.testing.assert_array_equal(again.predict(data.coords), fit.predict(data.coords))
        _, low, high = again.predict(data.coords[:5], interval=0.8)
        assert (low < high).all()
        fit.report(tmp_path / "fit.html")
        assert "</html>" in (tmp_path / "fit.html").read_text()

    def test_updates(self, fit, data):
        more = fit.update(Observations([[0, 0, 0], [1, 39, 29]], [1.0, 2.0], data.shape), rng=0)
        assert np.isfinite(more.predict(data.coords)).all()

    def test_an_earlier_fit_to_start_from(self, fit, data):
        again = tensorfill.complete(data, method=fit.method, start=fit, centre=False, rng=0)
        assert np.isfinite(again.predict(data.coords)).all()


@pytest.mark.slow
def test_a_search_does_not_try_to_relate_entries_that_share_no_column():
    shape = (10**6, 10**6, 1_000)
    rng = np.random.default_rng(0)
    coords = np.unique(np.stack([rng.integers(size, size=3_000) for size in shape], axis=1), axis=0)
    observations = Observations(coords, 3 + rng.standard_normal(len(coords)), shape)
    with pytest.warns(tensorfill.choosing.doubts.DoubtfulFitWarning):
        fit = tensorfill.complete(observations, method="nort", rng=0)
    assert len(fit.path) <= 2
    assert not any(fit.ranks)


class TestWhatDoesNotGoWithIt:
    def test_a_search_with_graphs_keeps_all_columns(self, monkeypatch):
        monkeypatch.setattr(memory, "ALWAYS_DENSE_SIZE", 0)
        monkeypatch.setattr(memory, "MANY_COLUMNS", 0)
        observations = sparse_data((12, 11, 10), 15)
        assert Nort().keeps_observed_columns(Problem(observations, Square()), (0, 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tensorfill.choosing.doubts.DoubtfulFitWarning)
            fit = tensorfill.complete(observations, method="nort", laplacian={2: chain(10)}, smooth=None, rng=0)
        assert fit.method.storage == "sparse"
        assert np.isfinite(fit.to_dense()).all()

    def test_a_polish(self):
        with pytest.raises(ValueError, match="polish=True needs components at all columns"):
            Nort(lam=1.0, polish=True, storage="columns").solve(Problem(sparse_data(), Square()))

    def test_graphs(self):
        with pytest.raises(ValueError, match="take no graphs; give storage='sparse'"):
            tensorfill.complete(
                sparse_data(), method="nort", lam=0.1, storage="columns", laplacian={0: chain(9)}, smooth=None, rng=0
            )
