"""The seasonal autoregression: its posterior, what it finds of a planted law, seasons, and what fills gaps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag

from tensorfill import Observations, Problem, SeasonalAR
from tensorfill.losses import Square
from tensorfill.methods.base import Unsuited
from tensorfill.methods.seasonal_ar.posterior import Posterior, ProcessProducts
from tensorfill.methods.seasonal_ar.process import Law, Memory, Process, apart, parts_of
from tensorfill.methods.seasonal_ar.seasons import season, seasons
from tensorfill.methods.seasonal_ar.smoother import Smoother
from tests.strategies import generators

SHORT = Memory(1, own=False)


def a_covariance(rng, series):
    root = rng.standard_normal((series, series + 2))
    return root @ root.T / (series + 2)


def a_law(rng, series, persistence=0.8):
    """Return a law around fixed levels, with correlated innovations."""
    partial = np.full((1, series), persistence)
    return Law((Process(SHORT, partial, a_covariance(rng, series)),), rng.uniform(0.05, 0.5, series))


def a_law_that_wanders(rng, series):
    """Return a law of two parts, of which the second is other for each series."""
    slow = Process(SHORT, np.full((1, series), 0.95), a_covariance(rng, series))
    partial = np.stack([rng.uniform(0.2, 0.8, series), rng.uniform(-0.6, 0.6, series)])
    return Law((slow, Process(Memory(2, own=True), partial, a_covariance(rng, series))), np.full(series, 0.3))


def planted(law, times, rng):
    """Return series that follow a law, without noise and with noise."""
    x = np.zeros((len(law.noise), times))
    for part in law.parts:
        root = np.linalg.cholesky(part.covariance)
        moves = (root @ rng.standard_normal((len(root), times + 200))).T
        own = np.zeros_like(moves)
        for t in range(2, times + 200):
            own[t] = (coefficients(part) * own[t - 2 : t][::-1]).sum(axis=0) + moves[t]
        x += own[200:].T
    return x, x + np.sqrt(law.noise)[:, None] * rng.standard_normal(x.shape)


def coefficients(part):
    """Return what the values one and two steps before are multiplied by, for each series."""
    first, second = (*part.partial, np.zeros(part.partial.shape[1]))[:2]
    return np.array([first * (1 - second), second])


def conditioned(law, y, seen):
    """Return the mean and the covariance of the parts given what is observed, from their joint normal law."""
    series, times = y.shape
    joint = block_diag(*(dense_covariance(part, times) for part in law.parts))
    total = np.hstack([np.eye(series * times)] * len(law.parts))[seen.ravel()]
    noisy = total @ joint @ total.T + np.diag(np.repeat(law.noise, times)[seen.ravel()])
    gain = np.linalg.solve(noisy, total @ joint).T
    return (gain @ y[seen]).reshape(len(law.parts), *y.shape), joint - gain @ total @ joint


def dense_covariance(part, times):
    """Return the covariance of a part: of AR(1) by its formula if all series have it in common, else from B."""
    series = part.partial.shape[1]
    if len(part.partial) == 1:
        a = part.partial[0, 0]
        apart = np.abs(np.subtract.outer(np.arange(times), np.arange(times)))
        return np.kron(part.covariance, a**apart / (1 - a**2))
    back = np.zeros((series, times, series, times))
    for one, (first, second) in enumerate(part.partial.T):
        own = np.eye(times) - np.eye(times, k=-1) * first * (1 - second) - np.eye(times, k=-2) * second
        own[0, 0] = np.sqrt((1 - first**2) * (1 - second**2))
        own[1, :2] = np.sqrt(1 - second**2) * np.array([-first, 1])
        back[one, :, one] = np.linalg.inv(own)
    back = back.reshape(series * times, -1)
    return back @ np.kron(part.covariance, np.eye(times)) @ back.T


def holes(rng, shape, share=0.3, blocks=2, length=20):
    """Return where entries are observed: not at random places, and not in some blocks of each series."""
    seen = rng.random(shape) > share
    for row in seen:
        for start in rng.integers(0, shape[1] - length, blocks):
            row[start : start + length] = False
    return seen


def solved(table, *, level="fixed", **given):
    """Return the answer of the method for a table."""
    problem = Problem(Observations.from_dense(table), Square())
    return SeasonalAR(along=1, level=level, **given).solve(problem, rng=0).model.to_dense()


# The posterior


@settings(max_examples=30, deadline=None)
@given(data=st.data(), rng=generators)
def test_the_mean_is_that_of_the_joint_normal_law(data, rng):
    series, times = data.draw(st.integers(1, 4)), data.draw(st.integers(3, 12))
    seen = np.array(data.draw(st.lists(st.booleans(), min_size=series * times, max_size=series * times)))
    seen = seen.reshape(series, times)
    persistence = data.draw(st.sampled_from([0.0, 0.5, 0.95, None]))
    law = a_law_that_wanders(rng, series) if persistence is None else a_law(rng, series, persistence)
    _, y = planted(law, times, rng)
    mean, _ = conditioned(law, y, seen)
    found = Posterior(law, np.where(seen, y, 0.0), seen).mean(np.zeros_like(mean), 1e-5)
    spread = np.sqrt(np.diag(dense_covariance(law.parts[-1], times)))
    assert np.abs(found - mean).max() < 1e-3 * spread.max()


@pytest.mark.parametrize("law_of", [a_law, a_law_that_wanders])
def test_draws_have_the_mean_and_the_covariance_of_the_joint_normal_law(law_of):
    rng = np.random.default_rng(0)
    law = law_of(rng, 3)
    _, y = planted(law, 8, rng)
    seen = rng.random(y.shape) > 0.4
    mean, covariance = conditioned(law, y, seen)
    count = 40_000
    draws = Posterior(law, np.where(seen, y, 0.0), seen).draws(np.zeros((count, *mean.shape)), 1e-3, rng)
    flat = draws.reshape(count, -1)
    spread = np.sqrt(np.diag(covariance))
    assert np.abs((flat.mean(axis=0) - mean.ravel()) / spread).max() < 5 / np.sqrt(count)
    assert np.abs((np.cov(flat.T) - covariance) / np.outer(spread, spread)).max() < 7 / np.sqrt(count)


@given(
    first=st.floats(-0.95, 0.95),
    second=st.floats(-0.95, 0.95),
)
def test_a_process_is_the_same_at_all_times(first, second):
    part = Process(Memory(2, own=True), np.array([[first], [second]]), np.eye(1))
    own = ProcessProducts(part)
    back = np.linalg.inv(own.innovations(np.eye(30)[:, None]).reshape(30, 30).T)
    covariance = back @ back.T
    for lag in range(4):
        np.testing.assert_allclose(np.diag(covariance, lag), covariance[0, lag], rtol=1e-6, atol=1e-6)
    assert covariance[0, 1] / covariance[0, 0] == pytest.approx(first, abs=1e-6)


def test_the_band_of_the_precision_is_that_within_each_series():
    rng = np.random.default_rng(0)
    for process in (*a_law(rng, 3).parts, *a_law_that_wanders(rng, 3).parts):
        dense = np.linalg.inv(dense_covariance(process, 9)).reshape(3, 9, 3, 9)
        for step, band in enumerate(ProcessProducts(process).bands(9)):
            for one in range(3):
                np.testing.assert_allclose(band[one], np.diag(dense[one, :, one], step), atol=1e-9)


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
    (found,), (true,) = smoother.law.parts, law.parts
    np.testing.assert_allclose(found.partial, 0.9, atol=0.05)
    wrong = correlation(found.covariance) - correlation(true.covariance)
    assert np.sqrt(np.mean(wrong[np.triu_indices(8, 1)] ** 2)) < 0.15
    assert (smoother.law.noise * smoother._scale[:, 0] ** 2).mean() == pytest.approx(law.noise.mean(), rel=0.5)
    level = np.nanmean(np.where(seen, y, np.nan), axis=1, keepdims=True)
    best = level + Posterior(law, np.where(seen, y - level, 0.0), seen).mean(np.zeros((1, *y.shape)), 1e-3)[0]
    error, least = (np.sqrt(np.mean((each - truth)[~seen] ** 2)) for each in (smoother.mean(), best))
    # Some of the difference is what so few entries say of 28 correlations.
    assert error < 1.09 * least


def test_series_that_have_nothing_to_do_with_each_other_have_hardly_any_correlation():
    rng = np.random.default_rng(0)
    _, y = planted(Law((Process(SHORT, np.full((1, 10), 0.8), np.eye(10)),), np.full(10, 0.1)), 400, rng)
    smoother = Smoother(np.where(rng.random(y.shape) > 0.3, y, np.nan), (), rng)
    for _ in range(10):
        smoother.step()
    off = correlation(smoother.law.parts[0].covariance)[~np.eye(10, dtype=bool)]
    # Without shrinkage it is 0.07.
    assert np.sqrt(np.mean(off**2)) < 0.03


def test_partial_correlations_are_told_apart_as_far_as_the_data_can():
    rng = np.random.default_rng(0)
    partial = np.array([[0.9, 0.6, 0.3], [-0.5, 0.0, 0.4]])
    law = Law((Process(Memory(2, own=True), partial, np.eye(3)),), np.full(3, 1e-9))
    draws, _ = planted(law, 5000, rng)
    found = Process.of(draws[None], np.full(3, 5000), Memory(2, own=True))
    np.testing.assert_allclose(found.partial, partial, atol=0.04)
    np.testing.assert_allclose(found.own, 1.0, atol=0.1)
    common = Process.of(draws[None], np.full(3, 5000), SHORT)
    assert np.ptp(common.partial) == 0
    assert 0.3 < common.partial[0, 0] < 0.9
    noise = np.random.default_rng(1).standard_normal((1, 200, 400))
    unlike = Process.of(noise, np.full(200, 400), Memory(2, own=True)).partial
    # Each by itself would have 0.05.
    assert np.sqrt(np.mean(unlike**2)) < 0.025


def test_a_level_that_wanders_is_told_from_a_short_memory():
    """Series have a slow level in common and fast moves of their own: in a gap of one, others tell of the level."""
    rng = np.random.default_rng(0)
    slow = Process(SHORT, np.full((1, 6), 0.995), 0.05 * (0.05 * np.eye(6) + 0.95))
    law = Law((slow, Process(SHORT, np.full((1, 6), 0.4), np.eye(6))), np.full(6, 0.01))
    _, y = planted(law, 2000, rng)
    gaps = np.zeros(y.shape, dtype=bool)
    for row in range(6):
        gaps[row, 100 + 300 * row : 250 + 300 * row] = True
    level = y.mean(axis=1, keepdims=True)
    best = level + Posterior(law, np.where(gaps, 0.0, y - level), ~gaps).mean(np.zeros((2, *y.shape)), 1e-3).sum(axis=0)
    table = np.where(gaps, np.nan, y)
    answers = [best, *(solved(table, periods=(), level=level) for level in ("wandering", "fixed"))]
    least, wandering, fixed = (np.sqrt(np.mean((each - y)[gaps] ** 2)) for each in answers)
    assert wandering < 1.05 * least
    assert fixed > 1.15 * least
    slow_part, fast_part = parts_of(apart(y[None], 2), np.full(6, 2000), (SHORT, SHORT))
    assert slow_part.partial[0, 0] > fast_part.partial[0, 0]


def correlation(covariance):
    spread = np.sqrt(np.diag(covariance))
    return covariance / np.outer(spread, spread)


def test_another_series_fills_a_long_gap():
    rng = np.random.default_rng(0)
    law = Law((Process(SHORT, np.full((1, 2), 0.9), np.array([[1.0, 0.95], [0.95, 1.0]])),), np.full(2, 0.02))
    _, y = planted(law, 400, rng)
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
    found = SeasonalAR(along=(1, 2), periods=(24,), level="fixed").solve(by_day, rng=0).model.to_dense()
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
        SeasonalAR(along=along, periods=(), level="fixed").solve(problem, rng=0)


@pytest.mark.parametrize(
    "given", [{"periods": 24}, {"periods": (1,)}, {"along": (0, 1, 2)}, {"along": 1.5}, {"level": "moving"}]
)
def test_settings_that_make_no_sense_are_refused(given):
    with pytest.raises((ValueError, TypeError), match="must be"):
        SeasonalAR(**given)
