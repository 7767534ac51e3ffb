"""The fit of a mean and effects: what always holds, what it finds, and what it costs."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill import Observations
from tensorfill.methods.effects.additive import fit_additive
from tensorfill.models.additive import Additive

from ..models.test_additive import dense, random_offset
from ..refusal import refuses
from ..strategies import generators, observed, shapes


def random_entries(shape, count, rng):
    """Return the coordinates of distinct entries, no index favoured."""
    positions = np.sort(rng.choice(math.prod(shape), size=count, replace=False))
    return np.stack(np.unravel_index(positions, shape), axis=1)


def same(first, second, tolerance):
    assert abs(first.mean - second.mean) <= tolerance
    for one, other in zip(first.effects, second.effects, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)


@st.composite
def problems(draw):
    """Draw observations of an additive tensor with noise, of any shape and set of entries."""
    shape = draw(shapes(max_entries=400))
    coords, rng = draw(observed(shape)), draw(generators)
    truth = random_offset(shape, rng).predict(coords)
    return Observations(coords, truth + draw(st.sampled_from([0.1, 1.0])) * rng.standard_normal(len(coords)), shape)


class TestFit:
    # What always holds

    @settings(max_examples=100, deadline=None)
    @given(obs=problems())
    def test_the_effects_of_a_mode_add_up_to_zero_and_an_index_without_entries_has_none(self, obs):
        offset = fit_additive(obs)
        assert offset.shape == obs.shape
        for mode, effect in enumerate(offset.effects):
            assert abs(effect.sum()) <= 1e-10 * (1 + np.abs(effect).sum())
            unseen = np.bincount(obs.coords[:, mode], minlength=obs.shape[mode]) == 0
            np.testing.assert_array_equal(effect[unseen], 0.0)

    @settings(max_examples=50, deadline=None)
    @given(obs=problems(), scale=st.sampled_from([1e6, -1.0, 1e-6, 2.0**700, 2.0**-700]), shift=st.floats(-10, 10))
    def test_data_in_other_units_gives_the_same_answer_in_these_units(self, obs, scale, shift):
        offset = fit_additive(obs)
        changed = fit_additive(obs.with_values(scale * (obs.values + shift)))
        back = Additive(changed.mean / scale - shift, [effect / scale for effect in changed.effects])
        same(back, offset, 1e-8)

    @settings(max_examples=50, deadline=None)
    @given(obs=problems(), rng=generators)
    def test_the_order_of_the_indices_does_not_matter(self, obs, rng):
        orders = [rng.permutation(size) for size in obs.shape]
        moved = np.stack([order[column] for order, column in zip(orders, obs.coords.T, strict=True)], axis=1)
        shuffled = fit_additive(Observations(moved, obs.values, obs.shape))
        effects = [effect[order] for effect, order in zip(shuffled.effects, orders, strict=True)]
        same(Additive(shuffled.mean, effects), fit_additive(obs), 1e-8)

    @settings(max_examples=50, deadline=None)
    @given(obs=problems())
    def test_it_never_fits_worse_than_the_mean(self, obs):
        offset = fit_additive(obs)
        assert np.std(obs.values - offset.predict(obs.coords)) <= np.std(obs.values) * (1 + 1e-9)

    @settings(max_examples=20, deadline=None)
    @given(shape=shapes(max_entries=400), number=st.floats(-1e300, 1e300))
    def test_data_that_is_the_same_everywhere_is_its_mean(self, shape, number):
        offset = fit_additive(Observations.from_dense(np.full(shape, number)))
        assert offset.mean == number
        assert not any(effect.any() for effect in offset.effects)

    def test_dense_sparse_and_float32_observations_give_the_same(self):
        rng = np.random.default_rng(0)
        coords = random_entries((6, 7, 8), 200, rng)
        sparse = Observations(coords, rng.standard_normal(200), (6, 7, 8))
        offset = fit_additive(sparse)
        same(fit_additive(Observations.from_dense(sparse.to_dense())), offset, 1e-12)
        same(fit_additive(sparse.astype(np.float32)), offset, 1e-6)
        assert fit_additive(sparse.astype(np.float32)).effects[0].dtype == np.float64

    def test_the_data_is_left_as_it_was(self):
        obs = Observations.from_dense(np.arange(12.0).reshape(3, 4))
        before = obs.values.copy()
        fit_additive(obs)
        np.testing.assert_array_equal(obs.values, before)

    # What it finds

    @settings(max_examples=30, deadline=None)
    @given(data=st.data(), rng=generators)
    def test_an_additive_tensor_seen_whole_is_found_exactly(self, data, rng):
        shape = tuple(data.draw(st.lists(st.integers(3, 8), min_size=2, max_size=4)))
        truth = random_offset(shape, rng)
        offset = fit_additive(Observations.from_dense(dense(truth)))
        np.testing.assert_allclose(dense(offset), dense(truth), atol=1e-8)
        centred = [effect - effect.mean() for effect in truth.effects]
        same(offset, Additive(truth.mean + sum(effect.mean() for effect in truth.effects), centred), 1e-8)

    def test_an_additive_tensor_of_which_a_tenth_was_seen_is_found_too(self):
        rng = np.random.default_rng(0)
        shape = (30, 20, 25)
        truth = random_offset(shape, rng)
        coords = random_entries(shape, 1500, rng)
        offset = fit_additive(Observations(coords, truth.predict(coords), shape))
        np.testing.assert_allclose(dense(offset), dense(truth), atol=1e-6)

    @pytest.mark.parametrize("sizes", [(1.0, 0.5, 0.2), (0.3, 1.0, 0.1), (1.0, 1.0, 1.0)])
    @pytest.mark.parametrize(("shape", "count"), [((400, 20, 5), 1000), ((60, 50, 40), 3000), ((40, 30, 2), 2400)])
    def test_it_predicts_as_well_as_with_the_true_variances(self, shape, count, sizes):
        scores = []
        for seed in range(5):
            rng = np.random.default_rng(seed)
            truth = Additive(3.0, [size * rng.standard_normal(n) for size, n in zip(sizes, shape, strict=True)])
            coords = random_entries(shape, count, rng)
            obs = Observations(coords, truth.predict(coords) + rng.standard_normal(count), shape)
            answers = fit_additive(obs), ridge(obs, [size**-2 for size in sizes])
            scores.append([np.sqrt(np.mean((dense(answer) - dense(truth)) ** 2)) for answer in answers])
        found, best = np.mean(scores, axis=0)
        assert found <= 1.08 * best

    @settings(max_examples=20, deadline=None)
    @given(rng=generators)
    def test_the_effects_of_noise_are_next_to_nothing(self, rng):
        obs = Observations.from_dense(rng.standard_normal((30, 20, 10)))
        offset = fit_additive(obs)
        plain = np.sqrt((30 + 20 + 10 - 2) / 6000)  # the error of the effects without any shrinkage
        assert np.std(dense(offset)) < 0.8 * plain

    def test_the_formula_for_one_mode_with_effects(self):
        rng = np.random.default_rng(0)
        groups = [[4.0, 5.0, 6.0], [10.0, 11.0], [0.0, 1.0, 2.0, 3.0]]
        counts = np.array([3, 2, 4])
        # Each group is a row, and every entry has a column of its own, which can have no effect.
        coords = [[row, column] for column, row in enumerate(np.repeat(np.arange(3), counts))]
        order = rng.permutation(9)
        values = np.concatenate(groups)
        offset = fit_additive(Observations(np.array(coords)[order], values[order], (3, 9)))
        means = np.array([np.mean(group) for group in groups])
        noise = sum(((np.array(group) - mean) ** 2).sum() for group, mean in zip(groups, means, strict=True)) / (9 - 3)
        between = (counts * (means - values.mean()) ** 2).sum()
        variance = (between - 2 * noise) / (9 - (counts**2).sum() / 9)
        shares = counts / (counts + noise / variance)
        mean = (shares * means).sum() / shares.sum()
        same(offset, Additive(mean, [shares * (means - mean), np.zeros(9)]), 1e-12)

    def test_an_index_with_few_entries_is_shrunk_more(self):
        rng = np.random.default_rng(0)
        array = np.where(np.arange(20)[:, None] < 10, 1.0, -1.0) + rng.standard_normal((20, 50))
        array[0, :40] = np.nan
        array[0, 40:] = 2.0
        array[1] = np.where(np.arange(50) < 25, 1.0, 3.0)
        effects = fit_additive(Observations.from_dense(array)).effects[0]
        assert 0 < effects[0] < effects[1]

    @pytest.mark.parametrize(
        "coords", [[[0, 0]], [[0, 0], [1, 1]], [[0, 0], [0, 1]], [[i, i] for i in range(10)]], ids=str
    )
    def test_where_effects_and_noise_cannot_be_told_apart_there_are_none(self, coords):
        values = np.arange(len(coords), dtype=float)
        offset = fit_additive(Observations(coords, values, (10, 10)))
        assert math.isclose(offset.mean, values.mean())
        assert not any(effect.any() for effect in offset.effects)

    # What it takes

    def test_memory_grows_with_the_entries_only(self):
        rng = np.random.default_rng(0)
        shape = (10**6, 10**5, 10**5, 50)
        coords = rng.integers(0, shape, size=(10**5, 4))
        obs = Observations(coords, rng.standard_normal(10**5), shape, duplicates="mean")
        tracemalloc.start()
        try:
            offset = fit_additive(obs)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 64 * (len(obs) + sum(shape))
        assert offset.shape == shape

    def test_bad_sweeps_get_one_sentence(self):
        obs = Observations.from_dense(np.eye(3))
        refuses(ValueError, ["sweeps", "at least 1", "0 was given"], lambda: fit_additive(obs, sweeps=0))
        refuses(TypeError, ["sweeps", "whole number"], lambda: fit_additive(obs, sweeps=1.5))

    def test_more_sweeps_change_little(self):
        rng = np.random.default_rng(0)
        shape = (100, 80, 30)
        coords = random_entries(shape, 2000, rng)
        values = random_offset(shape, rng).predict(coords) + rng.standard_normal(2000)
        obs = Observations(coords, values, shape)
        same(fit_additive(obs), fit_additive(obs, sweeps=100), 1e-2)


def ridge(obs, shrinkage):
    """Return the minimiser of the regression that `fit_additive` documents, for known k, by dense linear algebra."""
    sizes = np.array(obs.shape)
    starts = 1 + np.concatenate([[0], np.cumsum(sizes)[:-1]])
    design = np.zeros((len(obs), 1 + sizes.sum()))
    design[:, 0] = 1
    design[np.arange(len(obs))[:, None], obs.coords + starts] = 1
    penalty = np.diag(np.concatenate([[0.0], np.repeat(shrinkage, sizes)]))
    answer = np.linalg.solve(design.T @ design + penalty, design.T @ obs.values)
    return Additive(answer[0], np.split(answer[1:], np.cumsum(sizes)[:-1]))
