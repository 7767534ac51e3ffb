"""The seasonal autoregression: its posterior, what it finds of a planted law, seasons, and what fills gaps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorfill import Observations, Problem, SeasonalAR
from tensorfill.losses import Square
from tensorfill.methods.base import Unsuited
from tensorfill.methods.seasonal_ar.process import Posterior, Process
from tensorfill.methods.seasonal_ar.seasons import season, seasons
from tensorfill.methods.seasonal_ar.smoother import Smoother
from tests.strategies import generators


def a_law(rng, series, persistence=0.8):
    """Return a law with correlated innovations."""
    root = rng.standard_normal((series, series + 2))
    return Process(persistence, root @ root.T / (series + 2), rng.uniform(0.05, 0.5, series))


def planted(law, times, rng):
    """Return series that follow a law, without noise and with noise."""
    root = np.linalg.cholesky(law.covariance)
    moves = root @ rng.standard_normal((len(root), times))
    x = np.empty_like(moves)
    x[:, 0] = moves[:, 0] / np.sqrt(1 - law.persistence**2)
    for t in range(1, times):
        x[:, t] = law.persistence * x[:, t - 1] + moves[:, t]
    return x, x + np.sqrt(law.noise)[:, None] * rng.standard_normal(x.shape)


def conditioned(law, y, seen):
    """Return the mean and the covariance of the series given what is observed, from their joint normal law."""
    times = y.shape[1]
    apart = np.abs(np.subtract.outer(np.arange(times), np.arange(times)))
    joint = np.kron(law.covariance, law.persistence**apart / (1 - law.persistence**2))
    kept = seen.ravel()
    noisy = joint[np.ix_(kept, kept)] + np.diag(np.repeat(law.noise, times)[kept])
    gain = np.linalg.solve(noisy, joint[kept]).T
    return (gain @ y.ravel()[kept]).reshape(y.shape), joint - gain @ joint[kept]


def holes(rng, shape, share=0.3, blocks=2, length=20):
    """Return where entries are observed: not at random places, and not in some blocks of each series."""
    seen = rng.random(shape) > share
    for row in seen:
        for start in rng.integers(0, shape[1] - length, blocks):
            row[start : start + length] = False
    return seen


def solved(table, **given):
    """Return the answer of the method for a table."""
    problem = Problem(Observations.from_dense(table), Square())
    return SeasonalAR(along=1, **given).solve(problem, rng=0).model.to_dense()


# The posterior


@settings(max_examples=30, deadline=None)
@given(data=st.data(), rng=generators)
def test_the_mean_is_that_of_the_joint_normal_law(data, rng):
    series, times = data.draw(st.integers(1, 4)), data.draw(st.integers(2, 12))
    seen = np.array(data.draw(st.lists(st.booleans(), min_size=series * times, max_size=series * times)))
    seen = seen.reshape(series, times)
    law = a_law(rng, series, data.draw(st.sampled_from([0.0, 0.5, 0.95])))
    _, y = planted(law, times, rng)
    mean, _ = conditioned(law, y, seen)
    found = Posterior(law, np.where(seen, y, 0.0), seen).mean(np.zeros(y.shape), 1e-4)
    spread = np.sqrt(np.diag(law.covariance) / (1 - law.persistence**2))[:, None]
    assert np.abs((found - mean) / spread).max() < 1e-3


def test_draws_have_the_mean_and_the_covariance_of_the_joint_normal_law():
    rng = np.random.default_rng(0)
    law = a_law(rng, 3)
    _, y = planted(law, 8, rng)
    seen = rng.random(y.shape) > 0.4
    mean, covariance = conditioned(law, y, seen)
    count = 40_000
    draws = Posterior(law, np.where(seen, y, 0.0), seen).draws(np.zeros((count, *y.shape)), 1e-3, rng)
    flat = draws.reshape(count, -1)
    spread = np.sqrt(np.diag(covariance))
    assert np.abs((flat.mean(axis=0) - mean.ravel()) / spread).max() < 5 / np.sqrt(count)
    assert np.abs((np.cov(flat.T) - covariance) / np.outer(spread, spread)).max() < 7 / np.sqrt(count)


# What it finds of a planted law


@pytest.mark.parametrize("seed", range(3))
def test_a_planted_law_is_found_and_gaps_are_filled_as_well_as_with_the_true_one(seed):
    rng = np.random.default_rng(seed)
    law = a_law(rng, 8, 0.9)
    truth, y = planted(law, 600, rng)
    seen = holes(rng, y.shape)
    smoother = Smoother(np.where(seen, y, np.nan), (), rng)
    for _ in range(16):
        smoother.step()
    assert smoother.law.persistence == pytest.approx(0.9, abs=0.05)
    wrong = correlation(smoother.law.covariance) - correlation(law.covariance)
    assert np.sqrt(np.mean(wrong[np.triu_indices(8, 1)] ** 2)) < 0.15
    assert (smoother.law.noise * smoother._scale[:, 0] ** 2).mean() == pytest.approx(law.noise.mean(), rel=0.5)
    level = np.nanmean(np.where(seen, y, np.nan), axis=1, keepdims=True)
    best = level + Posterior(law, np.where(seen, y - level, 0.0), seen).mean(np.zeros(y.shape), 1e-3)
    error, least = (np.sqrt(np.mean((each - truth)[~seen] ** 2)) for each in (smoother.mean(), best))
    # Some of the difference is what so few entries say of 28 correlations.
    assert error < 1.09 * least


def test_series_that_have_nothing_to_do_with_each_other_have_hardly_any_correlation():
    rng = np.random.default_rng(0)
    _, y = planted(Process(0.8, np.eye(10), np.full(10, 0.1)), 400, rng)
    smoother = Smoother(np.where(rng.random(y.shape) > 0.3, y, np.nan), (), rng)
    for _ in range(10):
        smoother.step()
    off = correlation(smoother.law.covariance)[~np.eye(10, dtype=bool)]
    # Without shrinkage it is 0.07.
    assert np.sqrt(np.mean(off**2)) < 0.03


def correlation(covariance):
    spread = np.sqrt(np.diag(covariance))
    return covariance / np.outer(spread, spread)


def test_another_series_fills_a_long_gap():
    rng = np.random.default_rng(0)
    _, y = planted(Process(0.9, np.array([[1.0, 0.95], [0.95, 1.0]]), np.full(2, 0.02)), 400, rng)
    table = y.copy()
    table[0, 200:260] = np.nan
    wrong = solved(table, periods=()) - y
    assert np.sqrt(np.mean(wrong[0, 200:260] ** 2)) < 0.5 * y[0].std()


# Seasons


@pytest.mark.parametrize("period", [12, 12.3])
def test_a_planted_season_is_found(period):
    rng = np.random.default_rng(0)
    phase = np.arange(400) * 2 * np.pi / period
    wave = np.array([[1.0], [3.0]]) * (np.sin(phase) + 0.5 * np.cos(2 * phase))
    values = wave + 0.5 * rng.standard_normal(wave.shape)
    found = season(values, np.zeros_like(wave), period)
    # With 12.3 times in a period, values at the same place are up to half a step apart.
    assert np.sqrt(np.mean((found - wave) ** 2)) < 0.2 * wave.std()
    # Another period finds next to nothing of it.
    assert season(wave, np.zeros_like(wave), 7).std() < 0.2 * wave.std()


def test_there_is_no_season_in_noise():
    noise = np.random.default_rng(0).standard_normal((5, 600))
    assert np.abs(season(noise, np.zeros_like(noise), 12)).max() < 0.3
    assert np.sqrt(np.mean(season(noise, np.zeros_like(noise), 12) ** 2)) < 0.1


def test_series_that_do_not_vary_have_no_season():
    still = np.zeros((2, 60))
    np.testing.assert_allclose(seasons(still, still, np.ones(60, dtype=bool), (7,)), 0.0, atol=1e-12)


def test_a_season_may_change_slowly():
    times = np.arange(1200)
    wave = (1 + times / 600) * np.sin(times * 2 * np.pi / 12)
    values = wave[None] + 0.2 * np.random.default_rng(0).standard_normal((1, 1200))
    found = season(values, np.zeros_like(values), 12)[0]
    assert np.sqrt(np.mean((found - wave) ** 2)) < 0.15


def test_times_that_nothing_is_observed_at_have_the_season():
    rng = np.random.default_rng(0)
    times = np.arange(360)
    truth = np.array([[1.0], [2.0], [4.0]]) * np.sin(times * 2 * np.pi / 12) + [[0.0], [10.0], [20.0]]
    table = truth + 0.1 * rng.standard_normal(truth.shape)
    table[:, 150:186] = np.nan
    table[:, 350:] = np.nan
    wrong = solved(table, periods=(12,)) - truth
    assert np.abs(wrong[:, 150:186]).max() < 0.3
    assert np.abs(wrong[:, 350:]).max() < 0.3


def test_a_trend_goes_on_where_nothing_is_observed():
    rng = np.random.default_rng(0)
    truth = np.array([[0.05], [-0.02]]) * np.arange(300.0)
    table = truth + 0.2 * rng.standard_normal(truth.shape)
    table[:, 280:] = np.nan
    wrong = solved(table, periods=()) - truth
    assert np.abs(wrong[:, 280:]).max() < 0.5


# Odd tables


def test_two_modes_of_time_are_one():
    rng = np.random.default_rng(0)
    table = np.sin(np.arange(240) * 2 * np.pi / 24) + rng.standard_normal((3, 1)) + 0.1 * rng.standard_normal((3, 240))
    table[rng.random(table.shape) < 0.2] = np.nan
    by_day = Problem(Observations.from_dense(table.reshape(3, 10, 24)), Square())
    found = SeasonalAR(along=(1, 2), periods=(24,)).solve(by_day, rng=0).model.to_dense()
    np.testing.assert_allclose(found.reshape(3, 240), solved(table, periods=(24,)))


def test_a_series_with_one_value_is_filled_with_about_this_value():
    rng = np.random.default_rng(0)
    table = rng.standard_normal((4, 80))
    table[2] = np.nan
    table[2, 5] = 30.0
    assert np.abs(solved(table, periods=())[2] - 30).max() < 5


@pytest.mark.parametrize(("shape", "along"), [((2, 2), 1), ((2001, 4), 1)])
def test_too_few_times_and_too_many_series_are_refused(shape, along):
    problem = Problem(Observations.from_dense(np.ones(shape)), Square())
    with pytest.raises(Unsuited, match=r"3 or more times|2,000 series"):
        SeasonalAR(along=along, periods=()).solve(problem, rng=0)


@pytest.mark.parametrize("given", [{"periods": 24}, {"periods": (1,)}, {"along": (0, 1, 2)}, {"along": 1.5}])
def test_settings_that_make_no_sense_are_refused(given):
    with pytest.raises((ValueError, TypeError), match="must be"):
        SeasonalAR(**given)
