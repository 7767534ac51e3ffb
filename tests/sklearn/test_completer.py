"""The completer of tensors."""

from __future__ import annotations

import pickle
from importlib.metadata import version

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import tensorfill
from tensorfill import Choice, TuckerAls
from tensorfill.sklearn import TensorCompleter

from ..refusal import refuses


def cube(seed=0):
    """Return a tensor of low rank, with some entries missing, and all of it."""
    random = np.random.default_rng(seed)
    whole = np.einsum("ir,jr,kr->ijk", *(random.normal(size=(size, 2)) for size in (9, 8, 7)))
    return np.where(random.random(whole.shape) < 0.3, np.nan, whole), whole


# A method of few steps with every setting given: the checks are about the estimator.
QUICK = TensorCompleter(method="cp", settings={"rank": 1, "ridge": 0.1}, smooth=None, centre=False, max_iter=3)


# The random numbers of the checks have no low rank, and their coordinates leave slices empty.
@pytest.mark.filterwarnings("ignore::tensorfill.choosing.doubts.DoubtfulFitWarning")
@parametrize_with_checks([QUICK])
def test_scikit_learn_accepts_it(estimator, check):
    old = tuple(map(int, version("scikit-learn").split(".")[:2])) < (1, 8)
    if old and check.func.__name__ == "check_positive_only_tag_during_fit":
        pytest.skip("before 1.8 this check could not handle whole numbers itself")
    check(estimator)


TOO_FEW = "settings are chosen on held-out entries, and the check gives fewer than ten entries"

# The only checks that cannot apply, and only if a setting is left open.
EXPECTED_TO_FAIL = dict.fromkeys(
    [
        "check_estimators_nan_inf",
        "check_estimators_pickle",
        "check_fit2d_1sample",
        "check_fit_score_takes_y",
        "check_pipeline_consistency",
        "check_supervised_y_2d",
    ],
    TOO_FEW,
)


@pytest.mark.parametrize("name", EXPECTED_TO_FAIL)
def test_checks_with_few_entries_are_refused_if_settings_are_open(name):
    open_one = TensorCompleter(method="cp", smooth=None, centre=False, max_iter=3)
    found = [pair for pair in estimator_checks_generator(open_one) if pair[1].func.__name__ == name]
    assert found
    for estimator, check in found:
        with pytest.raises((ValueError, AssertionError), match="At least 10 observed entries are needed"):
            check(estimator)


class TestTensorCompleter:
    @pytest.fixture(scope="class")
    @classmethod
    def completer(cls):
        return TensorCompleter(lam=0.05, max_rank=3, random_state=0).fit(cube()[0])

    def test_it_completes(self, completer):
        holed, whole = cube()
        missing = np.argwhere(np.isnan(holed))
        values = whole[tuple(missing.T)]
        assert completer.score(missing, values) > 0.99
        np.testing.assert_allclose(completer.filled_[tuple(missing.T)], completer.predict(missing))
        np.testing.assert_array_equal(completer.filled_[~np.isnan(holed)], holed[~np.isnan(holed)])

    def test_it_is_what_complete_returns(self, completer):
        assert isinstance(completer.fit_, tensorfill.Fit)
        assert completer.n_iter_ == completer.fit_.history[-1].iteration
        again = clone(completer).fit(cube()[0])
        np.testing.assert_array_equal(again.filled_, completer.filled_)

    def test_the_score_is_the_share_of_the_variance(self, completer):
        coords, values = np.array([[0, 0, 0], [1, 2, 3], [8, 7, 6]]), np.array([1.0, -2.0, 4.0])
        left = np.sum((completer.predict(coords) - values) ** 2)
        assert completer.score(coords, values) == pytest.approx(1 - left / np.sum((values - values.mean()) ** 2))

    def test_other_methods_and_their_settings(self):
        holed, whole = cube()
        missing = np.argwhere(np.isnan(holed))
        completer = TensorCompleter(method="tucker_als", settings={"rank": 2}, max_iter=40, random_state=0).fit(holed)
        assert completer.fit_.method == TuckerAls(rank=2, max_iter=40)
        assert completer.score(missing, whole[tuple(missing.T)]) > 0.99
        chosen = TensorCompleter(method=["nort", TuckerAls(rank=2)], choose=Choice(splits=2), random_state=0).fit(holed)
        assert {point.method.name for point in chosen.fit_.path} == {"nort", "tucker_als"}
        refuses(ValueError, ["no setting 'lam'"], lambda: TensorCompleter(method="tucker_als", lam=1.0).fit(holed))
        refuses(
            ValueError, ["'tol' was given as both"], lambda: TensorCompleter(tol=0.1, settings={"tol": 1}).fit(holed)
        )

    # With the larger lambda the answer is zero, which a warning says.
    @pytest.mark.filterwarnings("ignore:The answer is hardly better than 0")
    def test_settings_are_searched(self):
        holed, _ = cube()
        coords = np.argwhere(~np.isnan(holed))
        completer = TensorCompleter(shape=holed.shape, max_rank=2, random_state=0)
        search = GridSearchCV(completer, {"lam": [0.05, 50.0]}, cv=KFold(2, shuffle=True, random_state=0))
        search.fit(coords, holed[tuple(coords.T)])
        assert search.best_params_ == {"lam": 0.05}

    def test_parameters_are_read_set_and_cloned(self):
        completer = TensorCompleter(max_rank=3, laplacian={0: np.eye(3)})
        assert completer.get_params()["max_rank"] == 3
        copy = clone(completer.set_params(max_rank=(1, 2, 3), penalty="mcp"))
        assert (copy.max_rank, copy.penalty) == ((1, 2, 3), "mcp")
        assert not hasattr(copy, "fit_")

    def test_entries_can_be_cross_validated_and_pickled(self):
        holed, _ = cube()
        coords = np.argwhere(~np.isnan(holed))
        values = holed[tuple(coords.T)]
        completer = TensorCompleter(shape=holed.shape, lam=0.1, max_rank=3, random_state=0)
        assert cross_val_score(completer, coords, values, cv=KFold(2, shuffle=True, random_state=0)).min() > 0.5
        completer.fit(coords, values)
        back = pickle.loads(pickle.dumps(completer))
        np.testing.assert_array_equal(back.predict(coords), completer.predict(coords))

    def test_the_shape_is_as_large_as_the_coordinates_need(self):
        coords = np.argwhere(np.ones((4, 5)))
        completer = TensorCompleter(lam=0.1, random_state=0).fit(coords, np.arange(20.0))
        assert completer.fit_.shape == (4, 5)

    def test_coordinates_may_be_floats_and_repeated(self):
        coords = np.argwhere(np.ones((4, 5)))
        values = np.random.default_rng(0).random(20)
        completer = TensorCompleter(lam=0.1, smooth=None, random_state=0)
        once = completer.fit(coords, values).predict(coords)
        again = completer.fit(np.repeat(coords, 2, axis=0).astype(float), np.repeat(values, 2) + np.tile([-1, 1], 20))
        np.testing.assert_allclose(again.predict(coords.astype(float)), once)

    def test_bad_coordinates_are_refused(self):
        with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
            TensorCompleter().fit([1, 2, 3], [1.0, 2.0, 3.0])
        refuses(ValueError, ["whole numbers"], lambda: TensorCompleter().fit([[0.5, 1], [1, 1]], [1.0, 2.0]))
        refuses(ValueError, ["count from 0", "-1"], lambda: TensorCompleter().fit([[0, -1], [1, 1]], [1.0, 2.0]))

    def test_it_must_be_fitted_first(self):
        with pytest.raises(ValueError, match="not fitted"):
            TensorCompleter().predict([[0, 0]])
