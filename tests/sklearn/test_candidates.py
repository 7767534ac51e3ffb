"""What the imputer of tables tries, and how it chooses."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfill import Clock
from tensorfill._support.clock import TimeUp
from tensorfill.sklearn import MatrixImputer
from tensorfill.sklearn.bases import RIDGES, Normal, choose_base
from tensorfill.sklearn.combining import FEWEST_ROWS, Corrections, learn_corrections
from tensorfill.sklearn.corrections import CORRECTIONS, Kernel, NearestRows, OfTheColumn
from tensorfill.sklearn.gaussian import Gaussian
from tensorfill.sklearn.left_out import LeftOut
from tensorfill.sklearn.missingness import LARGEST, missing_odds
from tensorfill.sklearn.projection import Projection


def correlated(rows=150, columns=5, missing=0.3, seed=0):
    """Return rows of a normal distribution, their covariance, and the rows with gaps."""
    random = np.random.default_rng(seed)
    mixing = random.normal(size=(columns, columns))
    table = random.normal(size=(rows, columns)) @ mixing.T
    table /= np.sqrt(np.sum(mixing**2, axis=1))
    return table, np.corrcoef(table.T), np.where(random.random(table.shape) < missing, np.nan, table)


def curved(rows=200, seed=0):
    """Return a table with the square of its first column, and the same with some squares missing."""
    random = np.random.default_rng(seed)
    x = random.uniform(-2, 2, rows)
    table = np.column_stack([x, random.normal(size=rows), x**2 + 0.05 * random.normal(size=rows)])
    holed = table.copy()
    holed[random.random(rows) < 0.3, 2] = np.nan
    return table, holed


class TestMissingOdds:
    def test_gaps_that_depend_on_nothing_count_evenly(self):
        _, _, holed = correlated(200)
        odds = missing_odds(holed, np.random.default_rng(0))
        assert odds[~np.isnan(holed)].mean() == pytest.approx(1.0)
        # Columns differ, since they lack more or fewer entries.
        assert odds.std(axis=0).max() < 0.3

    def test_they_are_those_of_the_gaps(self):
        random = np.random.default_rng(0)
        cause = random.normal(size=4000)
        chance = 1 / (1 + np.exp(1 - cause))
        holed = np.column_stack([cause, np.where(random.random(4000) < chance, np.nan, random.normal(size=4000))])
        odds = missing_odds(holed, np.random.default_rng(0))[:, 1]
        true = chance / (1 - chance)
        some = (true > true.mean() / 5) & (true < true.mean() * 5)
        assert np.std(np.log(odds / true)[some]) < 0.1

    def test_weighted_rows_look_like_those_with_gaps(self):
        random = np.random.default_rng(1)
        cause = random.normal(size=1000)
        gaps = random.random(1000) < 1 / (1 + np.exp(-cause))
        holed = np.column_stack([cause, np.where(gaps, np.nan, 1.0 * np.arange(1000))])
        odds = missing_odds(holed, np.random.default_rng(0))[:, 1]
        assert np.average(cause[~gaps], weights=odds[~gaps]) == pytest.approx(cause[gaps].mean(), abs=0.1)
        assert cause[~gaps].mean() < cause[gaps].mean() - 0.5
        assert odds.max() / odds.min() <= LARGEST**2 + 1e-9

    def test_columns_count_by_what_they_lack(self):
        table = np.random.default_rng(0).normal(size=(100, 2))
        table[:50, 1] = np.nan
        odds = missing_odds(table, np.random.default_rng(0))
        assert 0 < odds[:, 0].max() < 0.05 * odds[60, 1]


class TestGaussian:
    def test_without_gaps_it_is_the_covariance_drawn_to_the_identity(self):
        table, _, _ = correlated()
        found = Gaussian.independent(table).fitted(table, ridge=10.0, steps=2)
        expected = (len(table) * np.cov(table.T, bias=True) + 10 * np.eye(5)) / (len(table) + 10)
        np.testing.assert_allclose(found.mean, table.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(found.covariance, expected, atol=1e-12)

    def test_with_gaps_it_is_nearly_the_truth(self):
        _, covariance, holed = correlated(2000)
        found = Gaussian.independent(holed).fitted(holed, ridge=1.0, steps=60)
        np.testing.assert_allclose(found.covariance, covariance, atol=0.12)

    def test_few_patterns_at_a_time_give_the_same(self, monkeypatch):
        _, _, holed = correlated()
        at_once = Gaussian.independent(holed).fitted(holed, 3.0, 4)
        monkeypatch.setattr("tensorfill.sklearn.gaussian.BUDGET", 80)
        some = Gaussian.independent(holed).fitted(holed, 3.0, 4)
        np.testing.assert_allclose(some.covariance, at_once.covariance)

    def test_its_projection_is_the_conditional_mean(self):
        _, covariance, holed = correlated(20)
        mean = np.arange(5.0)
        filled = Projection.of_gaussian(Gaussian(mean, covariance)).fill(holed)
        for row, answer in zip(holed, filled, strict=True):
            seen = ~np.isnan(row)
            gain = np.linalg.solve(covariance[np.ix_(seen, seen)], (row - mean)[seen])
            np.testing.assert_allclose(answer[~seen], (mean + covariance[:, seen] @ gain)[~seen], atol=1e-8)


class TestLeftOut:
    def test_it_is_the_fill_of_rows_without_the_entry(self):
        random = np.random.default_rng(0)
        _, _, holed = correlated(40)
        projection = Projection(random.normal(size=5), random.normal(size=(5, 2)), 0.3)
        left_out = LeftOut(projection, holed)
        for column in range(5):
            bare = holed.copy()
            bare[:, column] = np.nan
            np.testing.assert_allclose(left_out.without(column), projection.fill(bare), atol=1e-8)
            seen = ~np.isnan(holed[:, column])
            expected = (holed - projection.fill(bare))[seen, column]
            np.testing.assert_allclose(left_out.errors()[seen, column], expected, atol=1e-8)


class TestCorrections:
    @pytest.mark.parametrize("make", [NearestRows, lambda: Kernel(0.1), *(CORRECTIONS["trees"])])
    def test_each_learns_a_curve(self, make):
        model = make() if make is NearestRows or make not in CORRECTIONS["trees"] else make(0, 1, 50)
        random = np.random.default_rng(0)
        features = np.column_stack([random.uniform(-2, 2, 300), np.zeros(300)])
        target = features[:, 0] ** 2 - 4 / 3
        model.fit(features[:200], target[:200])
        assert np.std(model.predict(features[200:]) - target[200:]) < 0.3 * target.std()

    def test_a_model_of_the_column_does_not_see_the_projection(self):
        random = np.random.default_rng(0)
        features, target = random.normal(size=(60, 3)), random.normal(size=60)
        model = OfTheColumn(Kernel(0.5), 1).fit(features, target)
        plain = Kernel(0.5).fit(features[:, [0, 2]], features[:, 1] + target)
        np.testing.assert_allclose(model.predict(features) + features[:, 1], plain.predict(features[:, [0, 2]]))

    def test_nothing_is_added_where_all_is_linear(self):
        table, _, holed = correlated(300)
        normal = Normal(1.0)
        odds = np.ones(holed.shape)
        found = learn_corrections(holed, normal.fit(holed), normal.fit, ["kernel"], odds, np.random.default_rng(0))
        plain, corrected = normal.fit(holed).fill(holed), found.fill(normal.fit(holed), holed)
        gaps = np.isnan(holed)
        assert np.mean((corrected - table)[gaps] ** 2) < 1.03 * np.mean((plain - table)[gaps] ** 2)

    def test_rows_with_nothing_observed_are_not_corrected(self):
        _, holed = curved()
        imputer = MatrixImputer(candidates=["gaussian", "kernel"], random_state=0).fit(holed)
        assert imputer.corrections_.columns
        filled = imputer.transform(np.full((1, 3), np.nan))[0]
        np.testing.assert_allclose(filled, imputer.projection_.mean * imputer.scale_ + imputer.mean_)

    def test_few_rows_are_not_corrected(self):
        _, holed = curved(FEWEST_ROWS - 1)
        assert not MatrixImputer(random_state=0).fit(holed).corrections_.columns

    def test_few_rows_at_a_time_give_the_same(self, monkeypatch):
        _, holed = curved()
        imputer = MatrixImputer(candidates=["gaussian", "neighbours", "kernel"], random_state=0).fit(holed)
        at_once = imputer.transform(holed)
        monkeypatch.setattr("tensorfill.sklearn.combining.BUDGET", 3 * 1500 * 7)
        np.testing.assert_allclose(imputer.transform(holed), at_once)

    def test_no_column_is_begun_after_the_time(self):
        _, _, holed = correlated()
        normal, over = Normal(1.0), Clock()
        over.end()
        found = learn_corrections(
            holed, normal.fit(holed), normal.fit, ["kernel"], np.ones(holed.shape), np.random.default_rng(0), clock=over
        )
        assert isinstance(found, Corrections)
        assert not found.columns

    @pytest.mark.parametrize("names", [["low_rank"], ["gaussian"], "auto"])
    def test_a_fit_without_any_time_is_still_a_fit(self, names):
        _, _, holed = correlated()
        imputer = MatrixImputer(candidates=names, time_limit=1e-9, random_state=0)
        filled = imputer.fit_transform(holed)
        assert np.isfinite(filled).all()
        assert not imputer.corrections_.columns

    def test_every_step_looks_at_the_clock(self):
        """Each step is given a clock that is over, and ends with the least that it can do."""
        _, _, holed = correlated()
        over = Clock()
        over.end()
        odds = missing_odds(holed, np.random.default_rng(0), over)
        assert all(len(np.unique(column)) == 1 for column in odds.T)
        with pytest.raises(TimeUp):
            Normal(1.0).fit(holed, over)
        base, _ = choose_base(holed, None, True, np.ones(holed.shape), np.random.default_rng(0), over)
        assert base.ridge == RIDGES[0]


class TestChoice:
    def test_a_curve_is_found(self):
        table, holed = curved()
        gaps = np.isnan(holed)
        errors = [
            np.std((MatrixImputer(candidates=names, random_state=0).fit_transform(holed) - table)[gaps])
            for names in (["low_rank"], "auto")
        ]
        assert errors[1] < 0.15 * errors[0]

    def test_new_rows_are_filled_as_well(self):
        table, holed = curved(300)
        imputer = MatrixImputer(candidates=["gaussian", "kernel"], random_state=0).fit(holed[:200])
        bare = table[200:].copy()
        bare[:, 2] = np.nan
        assert np.std(imputer.transform(bare)[:, 2] - table[200:, 2]) < 0.15 * table[:, 2].std()

    def test_a_table_without_gaps_teaches_to_fill_new_rows(self):
        table, _ = curved(300)
        imputer = MatrixImputer(candidates=["gaussian", "kernel"], random_state=0).fit(table[:200])
        bare = table[200:].copy()
        bare[:, 2] = np.nan
        assert np.std(imputer.transform(bare)[:, 2] - table[200:, 2]) < 0.15 * table[:, 2].std()

    def test_columns_without_gaps_are_corrected_too(self):
        table, holed = curved(300)
        square = table[:, [1]] ** 2
        imputer = MatrixImputer(candidates=["gaussian", "kernel"], random_state=0)
        imputer.fit(np.column_stack([holed, square])[:200])
        bare = np.column_stack([table, np.full(300, np.nan)])[200:]
        assert np.std(imputer.transform(bare)[:, 3] - square[200:, 0]) < 0.5 * square.std()

    def test_the_order_of_rows_does_not_matter(self):
        table, holed = curved(300)
        order = np.random.default_rng(5).permutation(len(holed))
        gaps = np.isnan(holed)
        settings = {"candidates": ["low_rank", "gaussian", "kernel"], "random_state": 0}
        plain = MatrixImputer(**settings).fit_transform(holed)
        mixed = np.empty_like(plain)
        mixed[order] = MatrixImputer(**settings).fit_transform(holed[order])
        assert np.std((plain - mixed)[gaps]) < 0.1 * table[:, 2].std()

    def test_rows_that_look_like_those_with_gaps_decide(self):
        # Where the first column is large, the second is its negative, and most of it is missing. Elsewhere they are
        # equal, as in most observed rows.
        random = np.random.default_rng(0)
        cause = random.normal(size=800)
        second = np.where(cause > 0.5, -cause, cause) + 0.1 * random.normal(size=800)
        gaps = random.random(800) < 0.8 / (1 + np.exp(-6 * (cause - 0.5)))
        holed = np.column_stack([cause, np.where(gaps, np.nan, second)])

        class Opposite:
            name = "low_rank"

            def fit(self, rows, clock=None):
                return Projection.of_gaussian(Gaussian(np.zeros(2), np.array([[1.0, -0.9], [-0.9, 1.0]])))

            def projection(self):
                return self.fit(None)

        chosen = [
            choose_base(holed, Opposite(), True, odds, np.random.default_rng(0))[0].name
            for odds in (np.ones(holed.shape), missing_odds(holed, np.random.default_rng(0)))
        ]
        assert chosen == ["gaussian", "low_rank"]

    def test_a_normal_distribution_is_chosen_where_it_is_better(self):
        _, _, holed = correlated(300)
        base, projection = choose_base(holed, None, True, np.ones(holed.shape), np.random.default_rng(0))
        assert base.name == "gaussian"
        assert projection.loadings.shape[0] == 5


class TestDegenerateTables:
    @pytest.mark.parametrize("rows", [1, 2, 5, 25, 60])
    def test_few_rows_and_constant_columns(self, rows):
        random = np.random.default_rng(rows)
        table = np.column_stack([random.normal(size=(rows, 3)), np.full(rows, 2.0)])
        table[random.random(table.shape) < 0.3] = np.nan
        table[0] = [1.0, 2.0, 3.0, 2.0]
        filled = MatrixImputer(random_state=0).fit_transform(table)
        assert np.isfinite(filled).all()
        np.testing.assert_allclose(filled[:, 3], 2.0)

    def test_a_column_with_few_entries(self):
        table, holed = curved()
        rare = np.where(np.arange(len(table)) < 2, table[:, 0], np.nan)
        filled = MatrixImputer(candidates=["low_rank", "gaussian", "kernel"], random_state=0).fit_transform(
            np.column_stack([holed, rare])
        )
        assert np.isfinite(filled).all()

    def test_only_a_normal_distribution_on_a_small_table(self):
        filled = MatrixImputer(candidates=["gaussian"], random_state=0).fit_transform(
            [[1.0, 2.0], [2.0, np.nan], [3.0, 6.0], [4.0, 8.0], [5.0, 10.0], [6.0, 12.0]]
        )
        assert np.isfinite(filled).all()

    def test_identical_rows(self):
        table = np.repeat([[1.0, 2.0, 3.0], [2.0, 1.0, 5.0]], 40, axis=0)
        table[3, 1] = np.nan
        filled = MatrixImputer(
            candidates=["low_rank", "gaussian", "neighbours", "kernel"], random_state=0
        ).fit_transform(table)
        assert filled[3, 1] == pytest.approx(2.0, abs=0.1)
