"""The imputer of tables."""

from __future__ import annotations

import builtins
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import tensorfill
from tensorfill import Nort
from tensorfill.models import CPModel, Dense, FoldedLowRank, Model, Tucker
from tensorfill.penalties import LSP, Nuclear
from tensorfill.sklearn import MatrixImputer
from tensorfill.sklearn.projection import Projection

from ..refusal import refuses


# The settings are given, because each of these checks fits many times and a search is slow.
@parametrize_with_checks([MatrixImputer(lam=1.0, penalty="nuclear", max_iter=50, candidates=["low_rank"])])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


SEARCHED = ["check_dict_unchanged", "check_fit_idempotent", "check_estimators_pickle", "check_transformer_n_iter"]


@pytest.mark.parametrize("name", SEARCHED)
def test_scikit_learn_accepts_it_when_it_chooses_its_settings(name):
    checks = [
        (estimator, check)
        for estimator, check in estimator_checks_generator(MatrixImputer())
        if check.func.__name__ == name
    ]
    assert checks
    estimator, check = checks[0]
    check(estimator)


def low_rank(rows=90, columns=12, rank=3, noise=0.05, seed=0):
    """Return a table of low rank, with features of different units, and which of its entries are missing."""
    random = np.random.default_rng(seed)
    table = random.normal(size=(rows, rank)) @ random.normal(size=(rank, columns))
    table += noise * random.normal(size=table.shape)
    units = 10.0 ** random.integers(-3, 4, columns)
    return units * (table + random.normal(0, 5, columns)), random.random(table.shape) < 0.3


def error(filled, table, missing):
    """Return the root mean square error at the missing entries, each feature in terms of its standard deviation."""
    return float(np.sqrt(np.mean((((filled - table) / table.std(axis=0))[missing]) ** 2)))


@pytest.fixture(scope="module")
def example():
    """A table, what is missing of it, and an imputer that has seen its first 60 rows."""
    table, missing = low_rank()
    holed = np.where(missing, np.nan, table)
    # Trees are left out, because they need most of the time.
    candidates = ["low_rank", "gaussian", "neighbours", "kernel"]
    return table, missing, holed, MatrixImputer(candidates=candidates, random_state=0).fit(holed[:60])


class TestRowsAreFilled:
    def test_new_rows_of_a_low_rank_table_are_recovered(self, example):
        table, missing, holed, imputer = example
        ours = error(imputer.transform(holed[60:]), table[60:], missing[60:])
        means = error(SimpleImputer().fit(holed[:60]).transform(holed[60:]), table[60:], missing[60:])
        assert ours < 0.1 < 0.9 < means

    @pytest.mark.filterwarnings("ignore:.*Early stopping")
    def test_it_beats_the_imputers_of_scikit_learn_on_a_low_rank_table(self, example):
        table, missing, holed, imputer = example
        for rows in (slice(60), slice(60, None)):
            ours = error(imputer.transform(holed[rows]), table[rows], missing[rows])
            for other in (KNNImputer(), IterativeImputer(max_iter=20, tol=1e-2, random_state=0)):
                other.fit(holed[:60])
                assert ours < 0.8 * error(other.transform(holed[rows]), table[rows], missing[rows])

    def test_observed_entries_stay_and_the_input_too(self, example):
        _, missing, holed, imputer = example
        before = holed.copy()
        filled = imputer.transform(holed)
        np.testing.assert_array_equal(filled[~missing], holed[~missing])
        np.testing.assert_array_equal(before, holed)
        assert np.isfinite(filled).all()

    def test_a_row_with_nothing_observed_is_the_mean(self, example):
        table, _, _, imputer = example
        filled = imputer.transform(np.full((1, 12), np.nan))
        assert np.all(np.abs(filled - table.mean(axis=0)) < table.std(axis=0))
        np.testing.assert_allclose(filled[0], imputer.projection_.mean * imputer.scale_ + imputer.mean_)

    def test_units_do_not_matter(self, example):
        _, _, holed, imputer = example
        units = np.logspace(-6, 6, 12)
        other = clone(imputer).fit(holed[:60] * units)
        np.testing.assert_allclose(
            other.transform(holed[60:] * units) / units, imputer.transform(holed[60:]), rtol=1e-5
        )

    def test_an_exact_low_rank_table_is_recovered_nearly_exactly(self):
        table, missing = low_rank(40, 10, 2, noise=0.0, seed=3)
        filled = MatrixImputer(penalty="lsp", max_rank=3, candidates=["low_rank"], random_state=0).fit_transform(
            np.where(missing, np.nan, table)
        )
        assert error(filled, table, missing) < 1e-2


class TestProjection:
    @settings(max_examples=40)
    @given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(0, 4), st.sampled_from([1e-3, 0.3, 5.0]))
    def test_it_is_the_mean_of_a_gaussian_given_what_is_observed(self, seed, columns, rank, noise):
        random = np.random.default_rng(seed)
        mean, loadings = random.normal(size=columns), random.normal(size=(columns, rank))
        rows = random.normal(size=(9, columns))
        rows[random.random(rows.shape) < 0.5] = np.nan
        filled = Projection(mean, loadings, noise).fill(rows)
        covariance = loadings @ loadings.T + noise * np.eye(columns)
        for row, answer in zip(rows, filled, strict=True):
            seen = ~np.isnan(row)
            gain = np.linalg.solve(covariance[np.ix_(seen, seen)], (row - mean)[seen])
            expected = np.where(seen, row, mean + covariance[:, seen] @ gain)
            np.testing.assert_allclose(answer, expected, rtol=1e-6, atol=1e-8)

    def test_few_rows_at_a_time_give_the_same(self, monkeypatch):
        random = np.random.default_rng(0)
        rows = np.where(random.random((50, 6)) < 0.4, np.nan, random.normal(size=(50, 6)))
        projection = Projection(np.zeros(6), random.normal(size=(6, 2)), 0.1)
        at_once = projection.fill(rows)
        monkeypatch.setattr("tensorfill.sklearn.projection.BUDGET", 50)
        np.testing.assert_allclose(projection.fill(rows), at_once)

    def test_it_takes_the_directions_of_a_completed_table(self):
        random = np.random.default_rng(0)
        table = random.normal(size=(30, 2)) @ random.normal(size=(2, 6)) + 3
        fit = tensorfill.complete(table, lam=0.5, penalty="nuclear", modes=[0, 1], rng=0)
        projection = Projection.of_model(fit.model)
        dense = fit.to_dense()
        np.testing.assert_allclose(projection.mean, dense.mean(axis=0))
        np.testing.assert_allclose(projection.loadings @ projection.loadings.T, np.cov(dense.T, bias=True), atol=1e-8)

    def test_without_noise_it_can_still_be_solved(self):
        projection = Projection(np.zeros(3), np.array([[1.0, 0], [0, 1], [1, 1]]), 0.0).with_noise(0.0)
        assert projection.noise > 0
        np.testing.assert_allclose(projection.fill(np.array([[1.0, 2.0, np.nan]])), [[1.0, 2.0, 3.0]], rtol=1e-6)


class TestSmallTables:
    @pytest.mark.parametrize(
        ("table", "expected"),
        [
            ([[1.0], [np.nan], [3.0]], [[1.0], [2.0], [3.0]]),
            ([[1.0, 5.0], [np.nan, 5.0]], [[1.0, 5.0], [1.0, 5.0]]),
            ([[2.0, np.nan], [np.nan, 7.0]], [[2.0, 7.0], [2.0, 7.0]]),
            (np.where(np.eye(5) > 0, np.nan, 3.0), np.full((5, 5), 3.0)),
        ],
        ids=["one feature", "two rows", "one entry each", "all the same"],
    )
    def test_means_where_there_is_nothing_to_learn_from(self, table, expected):
        imputer = MatrixImputer()
        np.testing.assert_allclose(imputer.fit_transform(table), expected)
        assert (imputer.fit_, imputer.rank_, imputer.n_iter_) == (None, 0, 0)

    def test_a_constant_feature_is_filled_with_its_value(self):
        table, _ = low_rank(20, 4)
        table[:, 1] = 0.1
        table[3, :2] = np.nan
        assert MatrixImputer(penalty="nuclear", random_state=0).fit_transform(table)[3, 1] == pytest.approx(0.1)

    @pytest.mark.parametrize("size", [1e-200, 1e200])
    def test_very_small_and_very_large_numbers(self, size):
        table, missing = low_rank(20, 4)
        plain = MatrixImputer(lam=0.5, penalty="nuclear", candidates=["low_rank"], random_state=0)
        expected = plain.fit_transform(np.where(missing, np.nan, table))
        filled = clone(plain).fit_transform(np.where(missing, np.nan, table * size))
        np.testing.assert_allclose(filled / size, expected, rtol=1e-6)


class TestFeaturesWithoutEntries:
    table = np.array([[1.0, np.nan, 2.0], [3.0, np.nan, np.nan]])

    def test_they_are_dropped_with_a_warning(self):
        with pytest.warns(UserWarning, match="'x1' have no observed entry and are dropped"):
            imputer = MatrixImputer().fit(self.table)
        assert imputer.transform(self.table).tolist() == [[1.0, 2.0], [3.0, 2.0]]
        assert imputer.get_feature_names_out().tolist() == ["x0", "x2"]

    def test_or_kept_as_zeros(self):
        imputer = MatrixImputer(keep_empty_features=True, bounds="observed").fit(self.table)
        assert imputer.transform(self.table).tolist() == [[1.0, 0.0, 2.0], [3.0, 0.0, 2.0]]

    def test_a_table_without_any_is_refused(self):
        refuses(ValueError, ["observed entry", "all 4"], lambda: MatrixImputer().fit(np.full((2, 2), np.nan)))


class TestSettings:
    def test_bounds(self):
        table, missing = low_rank(30, 5, noise=2.0)
        holed = np.where(missing, np.nan, table)
        low, high = np.nanmin(holed, axis=0), np.nanmax(holed, axis=0)
        far = np.where(np.arange(5) == 0, np.nan, holed[:3] * 100)
        imputer = MatrixImputer(lam=0.5, penalty="nuclear", candidates=["low_rank"], random_state=0)
        free = imputer.fit(holed).transform(far)[:, 0]
        assert ((free < low[0]) | (free > high[0])).any()
        for bounds in ("observed", (low, high), (low[0], high[0])):
            filled = imputer.set_params(bounds=bounds).fit(holed).transform(far)
            np.testing.assert_allclose(filled[:, 0], np.clip(free, low[0], high[0]))
            np.testing.assert_array_equal(filled[~np.isnan(far)], far[~np.isnan(far)])

    def test_another_value_may_stand_for_missing(self):
        table, missing = low_rank(20, 4)
        options = {"lam": 0.5, "penalty": "nuclear", "candidates": ["low_rank"], "random_state": 0}
        expected = MatrixImputer(**options).fit_transform(np.where(missing, np.nan, table))
        filled = MatrixImputer(missing_values=-1, **options).fit_transform(np.where(missing, -1, table))
        np.testing.assert_allclose(filled, expected)
        with pytest.raises(ValueError, match="NaN"):
            MatrixImputer(missing_values=-1).fit(np.where(missing, np.nan, table))

    def test_indicators_and_names_in_pandas(self):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame({"a": [1.0, np.nan, 3.0], "b": [4.0, 5.0, 6.0]}, index=list("xyz"))
        imputer = MatrixImputer(add_indicator=True).set_output(transform="pandas")
        filled = imputer.fit_transform(frame)
        assert filled.columns.tolist() == ["a", "b", "missingindicator_a"]
        assert filled.index.tolist() == list("xyz")
        assert filled["missingindicator_a"].tolist() == [0.0, 1.0, 0.0]

    def test_the_seed_decides_everything(self, example):
        _, _, holed, imputer = example
        again = clone(imputer).fit(holed[:60])
        np.testing.assert_array_equal(again.transform(holed), imputer.transform(holed))

    def test_what_was_chosen_is_kept(self, example):
        imputer = example[-1]
        assert isinstance(imputer.penalty_, Nuclear | LSP)
        assert imputer.method_ == imputer.fit_.method
        assert imputer.method_.penalty == imputer.penalty_
        assert imputer.rank_ >= 3
        assert imputer.projection_.noise > 0
        assert len(imputer.path_) > 0

    @pytest.mark.parametrize(
        ("kind", "words", "options"),
        [
            (ValueError, ["penalty", "'lps'"], {"penalty": "lps"}),
            (ValueError, ["lam", "-1"], {"lam": -1}),
            (ValueError, ["max_rank", "0"], {"max_rank": 0}),
            (ValueError, ["method", "'nor'"], {"method": "nor"}),
            (ValueError, ["'tucker_als' has no setting 'lam'"], {"method": "tucker_als", "lam": 1.0}),
            (ValueError, ["'tucker_als' has no setting 'penalty'"], {"method": "tucker_als", "penalty": "lsp"}),
            (ValueError, ["'nort' has no setting 'rang'"], {"settings": {"rang": 1}}),
            (ValueError, ["settings", "'lam' was given as both"], {"lam": 1.0, "settings": {"lam": 2.0}}),
            (TypeError, ["settings", "dict"], {"settings": 3}),
            (ValueError, ["brings its own settings", "'lam'"], {"method": Nort(), "lam": 1.0}),
            (TypeError, ["centre", "'yes'"], {"centre": "yes"}),
            (ValueError, ["candidates", "'tree'"], {"candidates": ["low_rank", "tree"]}),
            (ValueError, ["candidates", "at least one of 'low_rank', 'gaussian'"], {"candidates": ["trees"]}),
            (ValueError, ["candidates", "'low_rank'"], {"candidates": "low_rank"}),
            (ValueError, ["time_limit", "0"], {"time_limit": 0}),
            (ValueError, ["bounds", "3"], {"bounds": 3}),
            (ValueError, ["bounds", "low at most high"], {"bounds": (2, 1)}),
        ],
    )
    def test_bad_settings_are_refused(self, kind, words, options):
        refuses(kind, words, lambda: MatrixImputer(**options).fit(low_rank(20, 4)[0]))


class TestMethods:
    @pytest.mark.parametrize(
        ("options", "kind"),
        [
            ({"method": "tucker_als"}, Tucker),
            ({"method": "tucker_als", "settings": {"rank": 3}, "max_iter": 50}, Tucker),
            ({"method": "cp", "penalty": None}, CPModel),
            ({"method": "softimpute", "lam": 1.0}, FoldedLowRank),
            ({"method": Nort(lam=1.0, penalty="nuclear")}, FoldedLowRank),
        ],
        ids=["tucker", "rank", "cp", "softimpute", "object"],
    )
    def test_any_method_gives_a_projection(self, options, kind, example):
        table, missing, holed, _ = example
        imputer = MatrixImputer(candidates=["low_rank"], random_state=0, **options).fit(holed[:60])
        assert isinstance(imputer.fit_.model, kind)
        assert error(imputer.transform(holed[60:]), table[60:], missing[60:]) < 0.3
        if options.get("settings"):
            assert imputer.method_.rank == 3
            assert imputer.method_.max_iter == 50
            assert imputer.path_ is None

    @pytest.mark.parametrize(
        "model",
        [
            Tucker((7, 5), np.array([[2.0, 1.0], [0.0, 3.0]]), [np.ones((7, 2)), np.ones((5, 2))]),
            CPModel((7, 5), np.array([2.0, -1.0]), [np.ones((7, 2)), np.ones((5, 2))]),
            Dense(np.ones((7, 5))),
        ],
        ids=["tucker", "cp", "dense"],
    )
    def test_the_directions_are_those_of_the_dense_table(self, model):
        random = np.random.default_rng(0)
        if isinstance(model, Dense):
            model = Dense(random.normal(size=(7, 5)))
        else:
            factors = [random.normal(size=factor.shape) for factor in model.factors]
            core = model.core if isinstance(model, Tucker) else model.weights
            model = type(model)((7, 5), core, factors)
        projection, dense = Projection.of_model(model), model.to_dense()
        np.testing.assert_allclose(projection.mean, dense.mean(axis=0))
        np.testing.assert_allclose(projection.loadings @ projection.loadings.T, np.cov(dense.T, bias=True), atol=1e-8)

    def test_nothing_dense_is_built_of_a_large_low_rank_table(self, monkeypatch):
        monkeypatch.setattr(Model, "to_dense", lambda *_, **__: pytest.fail("a dense table was built"))
        for model in (
            Tucker((70, 50), np.eye(2), [np.ones((70, 2)), np.ones((50, 2))]),
            CPModel((70, 50), np.ones(2), [np.ones((70, 2)), np.ones((50, 2))]),
        ):
            assert Projection.of_model(model).loadings.shape[0] == 50


class TestWithinScikitLearn:
    def test_pipeline_and_search(self):
        table, missing = low_rank(60, 6, noise=0.3)
        target = (table / table.std(axis=0)).sum(axis=1)
        model = make_pipeline(MatrixImputer(penalty="nuclear", candidates=["low_rank"], random_state=0), Ridge())
        search = GridSearchCV(model, {"matriximputer__max_rank": [1, 3]}, cv=2)
        search.fit(np.where(missing, np.nan, table / table.std(axis=0)), target)
        assert search.best_params_ == {"matriximputer__max_rank": 3}
        assert search.best_score_ > 0.5

    def test_pickle(self, example):
        _, _, holed, imputer = example
        back = pickle.loads(pickle.dumps(imputer))
        np.testing.assert_array_equal(back.transform(holed), imputer.transform(holed))

    def test_without_scikit_learn_the_extra_is_named(self, monkeypatch):
        real = builtins.__import__

        def absent(name, *rest):
            if name == "sklearn" or name.startswith("sklearn."):
                raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")
            return real(name, *rest)

        for name in [name for name in sys.modules if name.split(".")[0] == "sklearn" or "tensorfill.sklearn" in name]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "sklearn", None)
        monkeypatch.setattr(builtins, "__import__", absent)
        with pytest.raises(ImportError, match=r"pip install scikit-learn"):
            real("tensorfill.sklearn")
