"""The single steps of a growing model."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest

from tensorfill import Grow, Observations
from tensorfill._support.ordering import order_by_modes
from tensorfill.algebra import tucker_entries
from tensorfill.datasets import synthetic
from tensorfill.losses import Square
from tensorfill.methods.grow.growth import Growth, centred_modes
from tensorfill.methods.grow.mixtures import Mixtures
from tensorfill.methods.grow.weights import LikelyWeights
from tensorfill.methods.problem import Problem
from tensorfill.models import CPModel, Tucker


def low_rank(shape, terms=2, entries=3000, noise=0.1, seed=0):
    """Return noisy entries of a sum of orthogonal terms of falling weights, and the terms."""
    rng = np.random.default_rng(seed)
    factors = [np.linalg.qr(rng.standard_normal((size, terms)))[0] for size in shape]
    model = CPModel(shape, np.sqrt(np.prod(shape)) * np.arange(terms, 0, -1) / terms, factors)
    coords = np.stack(np.unravel_index(rng.choice(np.prod(shape), entries, replace=False), shape), axis=1)
    return Observations(coords, model.predict(coords) + noise * rng.standard_normal(entries), shape), model


def growth_of(observations, seed=0):
    return Growth(Problem(observations, Square()), np.random.default_rng(seed))


def as_tucker(model):
    core = np.zeros(model.ranks * model.ndim)
    np.fill_diagonal(core, model.weights)
    return Tucker(model.shape, core, model.factors)


def left_of(observations, model):
    return float(np.sum((observations.values - model.predict(observations.coords)) ** 2))


def test_the_model_of_nothing():
    observations, _ = low_rank((12, 3, 10), entries=200)
    zero = growth_of(observations.astype(np.float32)).zero()
    assert zero.ranks == (0, 3, 0)
    assert zero.dtype == np.float32
    np.testing.assert_array_equal(zero.factors[1], np.eye(3))
    np.testing.assert_array_equal(zero.to_dense(), 0)


def test_residuals():
    observations, model = low_rank((12, 11, 10), entries=500, noise=0.0)
    growth = growth_of(observations)
    np.testing.assert_array_equal(growth.residuals(growth.zero()), observations.values)
    np.testing.assert_allclose(growth.residuals(model), 0, atol=1e-10)


def test_directions_above_the_noise_are_those_of_the_truth():
    observations, model = low_rank((30, 25, 20), entries=6000)
    growth = growth_of(observations)
    found = growth.directions(growth.zero())
    assert set(found) == {0, 1, 2}
    for mode, vectors in found.items():
        assert vectors.shape[1] == 2
        # The first is the stronger one.
        assert abs(vectors[:, 0] @ model.factors[mode][:, 0]) > 0.9
        np.testing.assert_allclose(np.linalg.svd(vectors.T @ model.factors[mode])[1], 1, atol=0.1)
    assert all(vectors.shape[1] < 2 for vectors in growth.directions(as_tucker(model)).values())
    # Nothing stands a hundred times above the noise.
    high = growth.directions(CPModel(model.shape, model.weights / 2, model.factors), 100.0)
    assert all(vectors.shape[1] == 0 for vectors in high.values())


def test_gross_errors_do_not_make_directions():
    observations, model = low_rank((30, 25, 20), terms=1, entries=6000)
    values = observations.values.copy()
    values[np.random.default_rng(1).choice(6000, 30, replace=False)] *= 100
    growth = growth_of(observations.with_values(values))
    for mode, vectors in growth.directions(growth.zero()).items():
        assert abs(vectors[:, 0] @ model.factors[mode][:, 0]) > 0.9


def test_a_model_of_nothing_gets_a_direction_of_every_mode_from_noise_too():
    observations, _ = low_rank((20, 20, 20), entries=1000)
    noise = observations.with_values(np.random.default_rng(3).standard_normal(1000))
    growth = growth_of(noise)
    assert all(vectors.shape[1] >= 1 for vectors in growth.directions(growth.zero(), 100.0).values())


def test_terms_and_their_directions():
    observations, model = low_rank((20, 5, 22), terms=1, entries=1500)
    growth = growth_of(observations)
    term = growth.terms(growth.zero())[0][0]
    assert term.ranks == (1,)
    directions = growth.directions_of(term)
    assert set(directions) == {0, 2}
    for mode, column in directions.items():
        assert abs(column[:, 0] @ model.factors[mode][:, 0]) > 0.99


def test_modes_along_which_all_terms_sum_to_zero_are_centred():
    rng = np.random.default_rng(1)
    factors = [rng.standard_normal((size, 2)) for size in (6, 5, 4)]
    factors[1] -= factors[1].mean(axis=0)
    # One term that does is not enough.
    factors[2][:, 0] -= factors[2][:, 0].mean()
    model = CPModel((6, 5, 4), np.ones(2), factors)
    assert centred_modes(model) == [1]
    assert centred_modes(CPModel((6, 5, 4), np.ones(1), [factor[:, :1] for factor in factors])) == []
    assert centred_modes(model.in_tucker_form()) == []


def test_terms_of_centred_data_are_looked_for_with_centred_weights(monkeypatch):
    rng = np.random.default_rng(0)
    factors = [rng.standard_normal((size, 2)) for size in (14, 13, 12, 3)]
    factors[3] -= factors[3].mean(axis=0)
    model = CPModel((14, 13, 12, 3), np.ones(2), factors)
    observations, _ = low_rank(model.shape, terms=1, entries=2000)
    asked, most_likely = [], LikelyWeights.most_likely

    def recorded(self, most, centred, rng):
        asked.append((most, centred))
        return most_likely(self, 3, centred, rng)

    monkeypatch.setattr(LikelyWeights, "most_likely", recorded)
    growth = growth_of(observations)
    growth.terms(growth.zero())
    growth.terms(model)
    (few, free), (many, centred) = asked
    assert (free, centred) == ([False], [True])
    assert many > few


def test_directions_of_the_truth_are_appended_with_the_best_core():
    observations, model = low_rank((14, 12, 11), entries=900, noise=0.01)
    growth = growth_of(observations)
    first = growth.appended(growth.zero(), {mode: factor[:, :1] for mode, factor in enumerate(model.factors)})
    assert first.ranks == (1, 1, 1)
    both = growth.appended(first, dict(enumerate(model.factors)))
    assert both.ranks == (2, 2, 2)
    np.testing.assert_allclose(both.to_dense(), model.to_dense(), atol=0.1)
    # The weakest direction is that of the second term.
    less = growth.cut(both, 1)
    assert less.ranks == (2, 1, 2)
    assert abs(less.factors[1][:, 0] @ model.factors[1][:, 0]) > 0.99


def test_the_only_direction_of_a_mode_is_not_dropped():
    """Of several splits, one may have it only, where another has more."""
    observations, model = low_rank((12, 11, 10), entries=500)
    growth = growth_of(observations)
    one = growth.cut(growth.cut(as_tucker(model), 0), 0)
    assert one.ranks == (1, 2, 2)
    assert np.isfinite(one.core).all()


def test_sweeps_lower_the_sum_of_squares():
    observations, model = low_rank((14, 12, 11), entries=900, noise=0.01)
    growth = growth_of(observations)
    rng = np.random.default_rng(1)
    near = Tucker(
        model.shape,
        as_tucker(model).core,
        [np.linalg.qr(factor + 0.1 * rng.standard_normal(factor.shape))[0] for factor in model.factors],
    )
    errors = [left_of(observations, growth.swept(near, sweeps)) for sweeps in (0, 1, 4)]
    assert errors[0] == pytest.approx(left_of(observations, near))
    assert errors[0] > 2 * errors[1] > 2 * errors[2]


@pytest.mark.parametrize(
    ("shape", "ranks"),
    [
        ((14, 12, 11), {0: 1, 1: 1, 2: 1}),
        ((14, 12, 11), {0: 4, 1: 2, 2: 3}),
        ((14, 12, 11), {0: 3, 1: 3, 2: 0}),
        ((14, 12, 11), {0: 0, 1: 0, 2: 0}),
        ((14, 5, 11), {0: 3, 2: 2}),
        ((20, 18), {0: 3, 1: 3}),
        ((9, 10, 8, 3), {0: 2, 1: 3, 2: 2}),
    ],
    ids=str,
)
def test_given_ranks_are_reached(shape, ranks):
    observations, _ = low_rank(shape, entries=min(900, int(np.prod(shape)) // 2))
    model = growth_of(observations).grown(ranks)
    nothing = 0 in ranks.values()
    assert model.ranks == tuple(
        (0 if nothing else ranks[mode]) if mode in ranks else shape[mode] for mode in range(len(shape))
    )
    assert nothing or left_of(observations, model) < 0.5 * np.sum(observations.values**2)


def test_ranks_of_pure_noise_are_reached_by_terms():
    observations, _ = low_rank((12, 11, 10), entries=600)
    noise = observations.with_values(np.random.default_rng(3).standard_normal(600))
    assert growth_of(noise).grown(dict.fromkeys(range(3), 4)).ranks == (4, 4, 4)


def test_growth_ends_at_the_size_of_the_tensor():
    observations, _ = low_rank((6, 4, 5), entries=80)
    model = growth_of(observations).grown(dict.fromkeys((0, 2), 20))
    assert model.ranks == (6, 4, 5)
    assert np.isfinite(model.to_dense()).all()


def test_nothing_grows_on_zeros():
    observations, _ = low_rank((9, 8, 8), entries=300)
    model = growth_of(observations.with_values(np.zeros(300))).grown(dict.fromkeys(range(3), 2))
    np.testing.assert_array_equal(model.to_dense(), 0)


def test_grown_to_the_right_ranks_it_is_near_the_limit():
    data = synthetic((30, 30, 30), rank=2, rng=1)
    growth = growth_of(data.observations)
    model = growth.swept(growth.grown(dict.fromkeys(range(3), 2)), 5)
    error = np.sqrt(np.mean((model.predict(data.test.coords) - data.test.values) ** 2))
    assert error < 1.2 * data.limit


def test_unseen_entries_help_to_find_terms_but_are_not_fitted(monkeypatch):
    observations, _ = low_rank((14, 13, 12, 3), terms=1, entries=3000)
    fitted = np.arange(3000) < 2500
    unseen = observations.select(~fitted)
    given = []
    starts = Mixtures.starts

    def recorded(self, residuals, rng, centred):
        given.append(residuals)
        return starts(self, residuals, rng, centred)

    monkeypatch.setattr(Mixtures, "starts", recorded)
    growth = Growth(Problem(observations.select(fitted), Square()), np.random.default_rng(0), unseen=unseen)
    term = growth.terms(growth.zero())[0][0]
    np.testing.assert_array_equal(np.sort(given[0]), np.sort(observations.values))
    # Least squares without the unseen entries cannot tell what these are.
    other = Growth(
        Problem(observations.select(fitted), Square()),
        np.random.default_rng(0),
        unseen=unseen.with_values(-unseen.values / 9),
    )
    np.testing.assert_allclose(other.terms(other.zero())[0][0].to_dense(), term.to_dense(), atol=1e-3)
    growth.terms(growth.zero(), thoroughly=False)
    assert len(given) == 2


def test_entries_are_arranged_once_while_a_model_grows(monkeypatch):
    observations = synthetic((20, 15, 12), rank=2, observed=1_500, rng=0).observations
    problem, calls = Problem(observations, Square()), []

    def counted(*given):
        calls.append(given)
        return order_by_modes(*given)

    monkeypatch.setattr(tucker_entries, "order_by_modes", counted)
    growth = Growth(problem, np.random.default_rng(0))
    model = growth.appended(growth.zero(), growth.directions(growth.zero()))
    growth.swept(model)
    Grow(rank=model.ranks, form="tucker", max_iter=2).solve(problem, start=model, rng=0)
    assert len(calls) == 1
    assert growth._by_index is problem.entries_by_index()
    # Another process arranges them again.
    sent = pickle.loads(pickle.dumps(problem))
    np.testing.assert_array_equal(sent.entries_in_blocks(growth.free).arranged[2], growth._in_blocks.arranged[2])
    # Nothing is kept that no one uses.
    kept = weakref.ref(problem.entries_in_blocks(growth.free))
    assert kept() is not None
    del growth
    gc.collect()
    assert kept() is None
