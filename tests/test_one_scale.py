"""Everything a fit returns is on the scale of the data: probabilities and expected counts; scores have a name."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import xarray
from scipy.special import expit

from tensorfill import Choice, Observations, complete, load
from tensorfill.losses import Huber, Logistic, Poisson, Square

from .refusal import refuses

SHAPE = (12, 10, 8)


@pytest.fixture(scope="module")
def score():
    rng = np.random.default_rng(0)
    return 3 * np.einsum("i,j,k->ijk", *(rng.choice([-1.0, 1.0], size) * rng.uniform(0.7, 1.3, size) for size in SHAPE))


def observed(values):
    kept = np.random.default_rng(1).random(SHAPE) < 0.6
    return Observations.from_dense(values, kept), np.argwhere(~kept)


def fitted(values, loss, lam=0.5):
    """Return a fit, which is made once, and the coordinates of what is missing."""
    return _fitted(values.tobytes(), loss, lam)


@functools.cache
def _fitted(content, loss, lam):
    data, missing = observed(np.frombuffer(content).reshape(SHAPE))
    return complete(data, loss=loss, lam=lam, rng=0), missing


def signs(score):
    rng = np.random.default_rng(2)
    return np.where(rng.random(SHAPE) < expit(score), 1.0, -1.0)


class Own:
    """A square loss by another name."""

    curvature = 1.0

    def value(self, prediction, observed):
        return Square().value(prediction, observed)

    def derivative(self, prediction, observed):
        return Square().derivative(prediction, observed)


@pytest.mark.parametrize("loss", ["logistic", Logistic()], ids=["name", "object"])
def test_probabilities_of_the_logistic_loss(score, loss, tmp_path):
    fit, missing = fitted(signs(score), loss)
    probability = fit.predict_proba(missing)
    np.testing.assert_allclose(probability, expit(fit.scores(missing)))
    np.testing.assert_allclose(fit.predict(missing), 2 * probability - 1)
    likely = score[tuple(missing.T)] > 0
    assert np.mean((probability > 0.5) == likely) > 0.9
    fit.save(tmp_path / "fit.npz")
    np.testing.assert_array_equal(load(tmp_path / "fit.npz").predict_proba(missing), probability)


def test_no_and_yes_may_be_given_as_0_and_1(score):
    values = signs(score)
    one, missing = fitted(values, "logistic")
    other, _ = fitted((values + 1) / 2, "logistic")
    np.testing.assert_allclose(one.predict_proba(missing), other.predict_proba(missing), atol=1e-14)
    np.testing.assert_array_equal(other.predict(missing), other.predict_proba(missing))
    np.testing.assert_array_equal(one.scores(missing), other.scores(missing))


class TestFilled:
    """What came in comes back, and the gaps get the expected observation."""

    def filled(self, values, loss, **options):
        kept = np.random.default_rng(1).random(SHAPE) < 0.6
        fit = complete(np.where(kept, values, np.nan), loss=loss, lam=0.5, rng=0, **options)
        filled = fit.filled()
        np.testing.assert_array_equal(filled[kept], values[kept])
        np.testing.assert_array_equal(fit.observations.values, values[kept])
        return fit, filled[~kept], np.argwhere(~kept)

    def test_zeros_and_ones_get_probabilities(self, score):
        values = (signs(score) + 1) / 2
        fit, gaps, missing = self.filled(values, "logistic")
        assert ((gaps > 0) & (gaps < 1)).all()
        np.testing.assert_allclose(gaps, fit.predict_proba(missing))
        assert np.mean((gaps > 0.5) == (values[tuple(missing.T)] == 1)) > 0.8

    def test_minus_and_plus_one_get_numbers_between_them(self, score):
        values = signs(score)
        fit, gaps, missing = self.filled(values, "logistic")
        assert ((gaps > -1) & (gaps < 1)).all()
        assert gaps.min() < -0.5
        np.testing.assert_allclose(gaps, 2 * fit.predict_proba(missing) - 1)

    def test_booleans_count_as_zeros_and_ones(self, score):
        values = signs(score) > 0
        kept = np.random.default_rng(1).random(SHAPE) < 0.6
        fit = complete(np.ma.MaskedArray(values, ~kept), loss="logistic", lam=0.5, rng=0)
        filled = fit.filled()
        np.testing.assert_array_equal(filled[kept], values[kept])
        np.testing.assert_allclose(filled[~kept], fit.predict_proba(np.argwhere(~kept)))
        assert ((filled[~kept] > 0) & (filled[~kept] < 1)).all()

    def test_counts_get_expected_counts(self, score):
        counts = np.random.default_rng(3).poisson(np.exp(score / 3)).astype(float)
        fit, gaps, missing = self.filled(counts, "poisson")
        assert (gaps >= 0).all()
        np.testing.assert_allclose(gaps, fit.predict(missing))

    def test_a_search_does_not_change_that(self, score):
        values = (signs(score) + 1) / 2
        _, gaps, _ = self.filled(values, "logistic", choose=Choice(splits=2))
        assert ((gaps > 0) & (gaps < 1)).all()


def test_bounds_are_on_the_scale_of_the_data_and_not_of_the_score(score):
    data, missing = observed((signs(score) + 1) / 2)
    fit = complete(data, loss="logistic", lam=0.5, bounds=(0.2, 0.9), rng=0)
    for probability in (fit.predict(missing), fit.predict_proba(missing), fit[...], fit.to_dense()):
        assert (probability.min(), probability.max()) == (0.2, 0.9)
    assert fit.scores(missing).min() < 0


@pytest.mark.parametrize("loss", ["poisson", Poisson(), Poisson(limit=6.0)], ids=["name", "object", "limit"])
def test_expected_counts_of_the_poisson_loss(score, loss, tmp_path):
    counts = np.random.default_rng(3).poisson(np.exp(score / 3)).astype(float)
    fit, missing = fitted(counts, loss)
    rate = fit.predict(missing)
    np.testing.assert_array_equal(rate, np.exp(fit.scores(missing)))
    fit.save(tmp_path / "fit.npz")
    np.testing.assert_array_equal(load(tmp_path / "fit.npz").predict(missing), rate)


def test_expected_counts_follow_the_true_rates(score):
    true = np.exp(score / 3)
    fit, missing = fitted(np.random.default_rng(3).poisson(true).astype(float), "poisson", lam="auto")
    assert np.corrcoef(fit.predict(missing), true[tuple(missing.T)])[0, 1] > 0.5


@pytest.mark.parametrize("loss", ["square", "huber", Square(), Huber(2.0), Own()], ids=lambda loss: str(loss)[:9])
def test_the_mean_of_other_losses_is_the_prediction(score, loss):
    fit, missing = fitted(score, loss)
    np.testing.assert_array_equal(fit.scores(missing), fit.predict(missing))
    refuses(ValueError, ["predict_proba is for loss='logistic'"], lambda: fit.predict_proba(missing))


def test_poisson_has_no_probability(score):
    fit, missing = fitted(np.round(np.exp(score / 3)), "poisson")
    refuses(ValueError, ["loss='logistic'", "Poisson("], lambda: fit.predict_proba(missing))


def test_intervals_of_signs_are_sets_on_the_scale_of_the_data(score):
    data, missing = observed(signs(score))
    fit = complete(data, loss="logistic", lam=0.5, choose=Choice(), rng=0)
    values, low, high = fit.predict(missing, interval=0.9)
    assert set(np.unique([low, high])) <= {-1.0, 1.0}
    np.testing.assert_allclose(values, 2 * fit.predict_proba(missing) - 1)
    assert (low <= high).all()


def test_nothing_dense_is_built_and_coords_are_checked(score):
    fit, _ = fitted(signs(score), "logistic")
    assert fit.predict_proba(np.empty((0, 3), dtype=int)).shape == (0,)
    refuses(ValueError, ["mode 0"], lambda: fit.predict_proba([[12, 0, 0]]))


KINDS = ("logistic", "poisson")


def data_of(kind, score):
    if kind == "logistic":
        return (signs(score) + 1) / 2
    return np.random.default_rng(3).poisson(np.exp(score / 3)).astype(float)


@pytest.fixture(scope="class")
def example(kind, score):
    """Return data with gaps, its fit, the expected observations and the data with its gaps filled."""
    values = data_of(kind, score)
    kept = np.random.default_rng(1).random(SHAPE) < 0.6
    coords = {"user": list("abcdefghijkl"), "item": np.arange(10), "month": np.arange(1, 9)}
    cube = xarray.DataArray(np.where(kept, values, np.nan), coords, name="hits")
    fit = complete(cube, loss=kind, lam=3.0, rng=0)
    expected = expit(fit.model.to_dense()) if kind == "logistic" else np.exp(fit.model.to_dense())
    return cube, fit, expected, np.where(kept, values, expected)


@pytest.mark.parametrize("kind", KINDS, scope="class")
class TestEveryDoor:
    """Whatever is asked for and in whatever way: the same numbers, on the scale of the data."""

    def test_of_a_fit(self, kind, example, tmp_path):
        _, fit, expected, filled = example
        everywhere = np.argwhere(np.ones(SHAPE, dtype=bool))
        np.testing.assert_allclose(fit.predict(everywhere).reshape(SHAPE), expected)
        np.testing.assert_allclose(fit[...], expected)
        np.testing.assert_allclose(fit[3, :, 2:5], expected[3, :, 2:5])
        np.testing.assert_allclose(fit.to_dense(), expected)
        np.testing.assert_allclose(fit.filled(), filled)
        np.testing.assert_allclose(np.asarray(fit), filled)
        np.testing.assert_allclose(xarray.DataArray(fit), filled)
        np.testing.assert_allclose(fit.at(user="c", month=[2, 4]), expected[2][:, [1, 3]])
        fit.save(tmp_path / "fit.npz")
        np.testing.assert_allclose(load(tmp_path / "fit.npz").to_dense(), expected)

    def test_of_the_accessor(self, kind, example):
        import tensorfill.xarray  # noqa: F401

        cube, _, _, filled = example
        np.testing.assert_allclose(cube.tensorfill.complete(loss=kind, lam=3.0, rng=0), filled)

    def test_of_tables(self, kind, example):
        cube, _, expected, filled = example
        table = cube.to_dataframe().dropna().reset_index()
        fit = complete(table, loss=kind, lam=3.0, rng=0)
        np.testing.assert_allclose(fit.filled()["hits"].to_numpy().reshape(SHAPE), filled, atol=1e-7)
        asked = fit.filled().drop(columns="hits").head(7)
        np.testing.assert_allclose(fit.predict(asked)["hits"], expected.ravel()[:7], atol=1e-7)
        np.testing.assert_allclose(fit.scores(asked)["hits"], fit.model.to_dense().ravel()[:7])

    def test_of_the_estimator(self, kind, example):
        from tensorfill.sklearn import TensorCompleter

        cube, _, _, _ = example
        completer = TensorCompleter(loss=kind, lam=3.0, random_state=0).fit(cube.values)
        kept = ~np.isnan(cube.values)
        np.testing.assert_array_equal(completer.filled_[kept], cube.values[kept])
        np.testing.assert_allclose(completer.filled_[~kept], completer.predict(np.argwhere(~kept)))
        assert completer.filled_.min() >= 0

    def test_of_the_command(self, kind, example, tmp_path, capsys):
        from tensorfill.cli import main

        cube, _, expected, filled = example
        np.save(tmp_path / "in.npy", cube.values)
        given = ["--loss", kind, "--lam", "3", "--no-smooth", "--quiet", "--model", str(tmp_path / "fit.npz")]
        path = str(tmp_path / "in.npy")
        assert main(["complete", path, "-o", str(tmp_path / "out.npy"), *given]) == 0
        np.testing.assert_allclose(np.load(tmp_path / "out.npy"), filled)
        assert main(["complete", path, "-o", str(tmp_path / "all.npy"), "--everywhere", *given]) == 0
        np.testing.assert_allclose(np.load(tmp_path / "all.npy"), expected)
        np.save(tmp_path / "coords.npy", np.array([[0, 0, 0], [3, 2, 1]]))
        assert main(["predict", str(tmp_path / "fit.npz"), str(tmp_path / "coords.npy"), "--quiet"]) == 0
        said = [float(line.rsplit(",", 1)[1]) for line in capsys.readouterr().out.splitlines()[1:]]
        np.testing.assert_allclose(said, [expected[0, 0, 0], expected[3, 2, 1]])

    def test_of_the_held_out_error(self, kind, example):
        cube, _, _, _ = example
        fit = complete(cube, loss=kind, lam=3.0, choose=Choice(), rng=0)
        entries = fit.held_out
        assert set(np.unique(entries.observed)) <= set(np.unique(cube.values))
        assert entries.predicted.min() >= 0
        assert fit.held_out_error == pytest.approx(np.sqrt(np.mean((entries.observed - entries.predicted) ** 2)))
        assert ("probability and observed 0 or 1" in str(fit)) is (kind == "logistic")
        assert "root mean square difference" in str(fit)


def test_outliers_of_counts_are_measured_in_counts(score):
    counts = data_of("poisson", score)
    fit, _ = fitted(counts, "poisson")
    coords, amounts = fit.outliers(beyond=1.5)
    np.testing.assert_allclose(amounts, counts[tuple(coords.T)] - fit.predict(coords))
