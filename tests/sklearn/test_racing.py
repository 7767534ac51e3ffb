"""The race of the models that correct a projection, and its weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from sklearn.ensemble import ExtraTreesRegressor

from tensorfill.sklearn.combining import FOLDS, _trees_needed, learn_corrections
from tensorfill.sklearn.corrections import CORRECTIONS, FEW_TREES, ROWS_OF_A_LEAF, TREES, Correction, Forest
from tensorfill.sklearn.gaussian import Gaussian
from tensorfill.sklearn.missingness import STRENGTHS, _may_depend
from tensorfill.sklearn.projection import Projection
from tensorfill.sklearn.stacking import PRIOR, WORTH, Held, still_of_use

SEEDS = st.integers(0, 2**32 - 1)


def held(left, *predicted, excess=0.0, odds=None):
    """Return held-out entries with the predictions of some models."""
    columns = np.column_stack(predicted)
    return Held(left, columns, np.full(columns.shape, excess), np.ones(len(left)) if odds is None else odds)


class TestWeights:
    @settings(max_examples=40)
    @given(SEEDS, st.booleans())
    def test_they_are_nonnegative_least_squares(self, seed, shrunk):
        random = np.random.default_rng(seed)
        matrix, odds = random.normal(size=(60, 4)), random.uniform(0.1, 3, 60)
        left = matrix @ random.normal(size=4) + random.normal(size=60)
        prior = random.uniform(0, 1, 4) if shrunk else None
        found = held(left, *matrix.T, odds=odds).stacked(prior)
        rows, right = matrix * np.sqrt(odds)[:, None], left * np.sqrt(odds)
        if prior is not None:
            pull = np.sqrt(PRIOR * np.mean(rows**2, axis=0))
            rows, right = np.vstack([rows, np.diag(pull)]), np.concatenate([right, pull * prior])
        np.testing.assert_allclose(found, nnls(rows, right)[0], atol=1e-7)

    def test_few_members_give_the_weights_of_the_whole_model(self):
        random = np.random.default_rng(0)
        signal, other = random.normal(size=(2, 20_000))
        left = 0.6 * signal + 0.3 * other + random.normal(size=20_000)
        members = signal + 3 * random.normal(size=(50, 20_000))
        few = members[:5]
        excess = few.var(axis=0, ddof=1) * (1 / 5 - 1 / 50)
        small = Held(left, np.column_stack([few.mean(axis=0), other]), np.column_stack([excess, 0 * excess]), left**0)
        whole = held(left, members.mean(axis=0), other)
        naive = held(left, few.mean(axis=0), other)
        np.testing.assert_allclose(small.stacked(), whole.stacked(), atol=0.03)
        assert naive.stacked()[0] < 0.6 * whole.stacked()[0]
        weights = whole.stacked()
        assert small.errors(weights).mean() == pytest.approx(whole.errors(weights).mean(), rel=0.02)

    def test_models_that_predict_nothing_have_no_weight(self):
        assert held(np.ones(5), np.zeros(5), np.zeros(5)).stacked().tolist() == [0.0, 0.0]

    def test_a_model_that_is_nothing_but_excess_has_no_negative_square(self):
        gram, _ = held(np.ones(5), np.ones(5), excess=7.0).products()
        assert gram.tolist() == [[0.0]]


class TestWhoRacesOn:
    @pytest.fixture
    def parts(self):
        return np.random.default_rng(0).normal(size=(4, 5000))

    def test_noise_leaves_and_what_helps_stays(self, parts):
        left = parts[0] + parts[1]
        assert still_of_use(held(left, parts[2], parts[0], parts[3]), [0, 1, 2]) == [1]

    def test_few_entries_send_nobody_away(self, parts):
        few = parts[:, :30]
        assert still_of_use(held(few[0] + few[1], few[2], few[0], few[3]), [0, 1, 2]) == [0, 1, 2]

    def test_what_makes_it_worse_leaves(self, parts):
        assert still_of_use(held(parts[0], -parts[0] + parts[1]), [0]) == []

    def test_of_two_that_are_alike_the_later_leaves(self, parts):
        left = parts[0] + parts[1]
        assert still_of_use(held(left, parts[0], parts[0]), [0, 1]) == [0]

    def test_models_that_have_left_do_not_return(self, parts):
        assert still_of_use(held(parts[0] + parts[1], parts[0], parts[1]), [1]) == [1]

    def test_the_gain_of_one_model_is_that_of_least_squares(self, parts):
        """A gain just above and just below what is worth it, known so well that caution does not matter."""
        random = np.random.default_rng(1)
        size = 4_000_000
        signal, noise = random.normal(size=(2, size))
        for gain, stays in ((0.3 * WORTH, False), (2.0 * WORTH, True)):
            left = np.sqrt(gain) * signal + np.sqrt(1 - gain) * noise
            assert bool(still_of_use(held(left, signal), [0])) == stays


class Counted(Correction):
    """A given function of the features that counts how often it was learnt."""

    def __init__(self, learnt, function):
        self.learnt, self.function = learnt, function

    def fit(self, X, y):
        self.learnt.append(len(X))
        return self

    def predict(self, X):
        return self.function(X)


def mean_of_the_others(features):
    """Predict a column of `TestRace`, for which the projection has zero."""
    return features.sum(axis=1) / 5


def its_opposite(features):
    """Predict the wrong sign, and something else."""
    return np.tanh(3 * features[:, 0]) - features.sum(axis=1)


class TestRace:
    """Six columns that are nearly equal, and a projection that does not know it: every gap gets zero."""

    @staticmethod
    def raced(monkeypatch, kinds):
        """Return how many rows each kind was learnt from, and the corrections."""
        random = np.random.default_rng(0)
        table = random.normal(size=(600, 1)) + 0.3 * random.normal(size=(600, 6))
        table[random.random(table.shape) < 0.2] = np.nan
        learnt = {name: [] for name in kinds}
        for name, function in kinds.items():
            makers = [lambda seed, column, trees, name=name, function=function: Counted(learnt[name], function)]
            monkeypatch.setitem(CORRECTIONS, name, makers)
        zero = Projection(np.zeros(6), np.zeros((6, 0)), 1.0)
        rng = np.random.default_rng(0)
        return learnt, learn_corrections(table, zero, lambda rows, clock: zero, list(kinds), np.ones(table.shape), rng)

    def test_a_race_without_anything_of_use_ends_after_a_round(self, monkeypatch):
        learnt, found = self.raced(monkeypatch, {"worse": its_opposite})
        assert len(learnt["worse"]) == 6
        assert not found.columns

    def test_what_is_of_use_stays_to_the_end_and_is_then_learnt_from_all_rows(self, monkeypatch):
        learnt, found = self.raced(monkeypatch, {"worse": its_opposite, "better": mean_of_the_others})
        assert len(learnt["worse"]) == 6
        assert len(learnt["better"]) == 6 * FOLDS + 6
        assert min(learnt["better"][-6:]) > max(learnt["better"][:-6])
        assert found.weights["worse"] == 0
        assert found.weights["better"] > 0.8
        assert len(found.columns) == 6

    def test_enough_entries_end_the_race(self, monkeypatch):
        # A round has 600 / 4 rows, of which four in five have an entry.
        monkeypatch.setattr("tensorfill.sklearn.combining.ENOUGH", 200)
        learnt, _ = self.raced(monkeypatch, {"better": mean_of_the_others})
        assert len(learnt["better"]) == 6 * 2 + 6


class TestForest:
    def test_it_is_the_mean_of_extremely_randomised_trees(self):
        random = np.random.default_rng(0)
        features, target = random.normal(size=(80, 3)), random.normal(size=80)
        ours = Forest(7, seed=3).fit(features, target)
        theirs = ExtraTreesRegressor(7, min_samples_leaf=ROWS_OF_A_LEAF, random_state=3).fit(features, target)
        new = random.normal(size=(9, 3))
        predicted, spread = ours.judged(new)
        each = np.stack([tree.predict(new) for tree in theirs.estimators_])
        np.testing.assert_allclose(ours.predict(new), theirs.predict(new))
        np.testing.assert_allclose(predicted, theirs.predict(new))
        np.testing.assert_allclose(spread, each.var(axis=0, ddof=1))

    def test_it_has_as_many_trees_as_its_weight_needs(self):
        random = np.random.default_rng(0)
        left, between = random.normal(size=1000), 0.8
        entries = held(left, np.zeros(1000), excess=between * (1 / FEW_TREES - 1 / TREES))
        numbers = []
        for weight in (0.0, 0.1, 0.2, 0.3, 1.0):
            (trees,) = _trees_needed(entries, np.array([weight]))
            added, allowed = weight**2 * between / trees, WORTH * entries.errors(np.array([weight])).mean()
            assert trees == TREES or added <= allowed
            assert trees == 1 or weight**2 * between / (trees - 1) > allowed
            numbers.append(trees)
        assert numbers == sorted(numbers)
        assert numbers[0] == 1
        assert 1 < numbers[1] < numbers[2] < TREES == numbers[-1]


class TestNormalDistribution:
    @settings(max_examples=30)
    @given(SEEDS, st.integers(2, 6), st.sampled_from([0.0, 0.2, 0.7]), st.sampled_from([0.5, 20.0]))
    def test_a_step_is_that_of_expectation_maximisation(self, seed, columns, share, ridge):
        random = np.random.default_rng(seed)
        table = random.normal(size=(25, columns)) @ random.normal(size=(columns, columns))
        table[random.random(table.shape) < share] = np.nan
        root = random.normal(size=(columns, columns))
        start = Gaussian(random.normal(size=columns), root @ root.T + np.eye(columns))
        found = start.fitted(table, ridge, steps=1)
        filled, left = np.zeros(table.shape), ridge * np.eye(columns)
        for row, values in enumerate(table):
            m, o = np.isnan(values), ~np.isnan(values)
            gain = start.covariance[np.ix_(m, o)] @ np.linalg.inv(start.covariance[np.ix_(o, o)])
            filled[row, o] = values[o] - start.mean[o]
            filled[row, m] = gain @ filled[row, o]
            left[np.ix_(m, m)] += start.covariance[np.ix_(m, m)] - gain @ start.covariance[np.ix_(o, m)]
        shift = filled.mean(axis=0)
        expected = ((filled - shift).T @ (filled - shift) + left) / (25 + ridge)
        np.testing.assert_allclose(found.mean, start.mean + shift, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(found.covariance, expected, rtol=1e-7, atol=1e-7)


class TestWhetherGapsDepend:
    @settings(max_examples=40)
    @given(SEEDS, st.sampled_from([0.0, 0.5, 2.0]))
    def test_each_row_is_predicted_from_all_others(self, seed, slope):
        random = np.random.default_rng(seed)
        features = random.normal(size=(30, 3))
        lacking = random.random(30) < 1 / (1 + np.exp(slope * features[:, 0]))
        lacking[:2] = True, False
        share = lacking.mean()
        design = np.column_stack([np.ones(30), features - features.mean(axis=0)])
        gains = []
        for strength in STRENGTHS:
            ridge = np.diag([0.0, *[1 / (strength * share * (1 - share))] * 3])
            hat = design @ np.linalg.inv(design.T @ design + ridge) @ design.T
            wrong = [
                lacking[row] - design[row] @ _ridge(np.delete(design, row, 0), np.delete(lacking, row), ridge)
                for row in range(30)
            ]
            np.testing.assert_allclose(wrong, (lacking - hat @ lacking) / (1 - np.diag(hat)))
            constant = [lacking[row] - np.delete(lacking, row).mean() for row in range(30)]
            gains.append(np.mean(np.square(constant)) - np.mean(np.square(wrong)))
        if abs(max(gains)) > 1e-9:
            assert _may_depend(features, lacking) == (max(gains) > 0)


def _ridge(design, target, ridge):
    return np.linalg.solve(design.T @ design + ridge, design.T @ target)
