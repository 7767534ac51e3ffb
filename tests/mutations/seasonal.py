"""Mistakes in the joint seasonal autoregression, in forecasts, and in what fills times without any entry."""

from __future__ import annotations

from . import Mutant

PROCESS = "methods/seasonal_ar/process.py"
SMOOTHER = "methods/seasonal_ar/smoother.py"
SEASONS = "methods/seasonal_ar/seasons.py"
FORECASTING = "forecasting.py"
WEIGHTED = "choosing/weighted.py"
OF_METHOD = "methods/test_seasonal_ar.py"
OF_FORECAST = "test_forecasting.py"
OF_WEIGHTED = "choosing/test_weighted.py"

MUTANTS = (
    Mutant(
        "innovations have the wrong sign in the transpose",
        PROCESS,
        "found[..., :-1] -= self.persistence * innovations[..., 1:]",
        "found[..., :-1] += self.persistence * innovations[..., 1:]",
        (f"{OF_METHOD}::test_the_mean_is_that_of_the_joint_normal_law",),
    ),
    Mutant(
        "the first time has the spread of an innovation",
        PROCESS,
        "return math.sqrt(1 - self.persistence**2)",
        "return 1.0",
        (f"{OF_METHOD}::test_the_mean_is_that_of_the_joint_normal_law",),
    ),
    Mutant(
        "draws have no noise",
        PROCESS,
        "np.sqrt(self._weights) * rng.standard_normal(near.shape)",
        "0.0 * rng.standard_normal(near.shape)",
        (f"{OF_METHOD}::test_draws_have_the_mean_and_the_covariance_of_the_joint_normal_law",),
    ),
    Mutant(
        "correlations are not shrunk",
        PROCESS,
        "correlation *= 1 - weight",
        "correlation *= 1",
        (f"{OF_METHOD}::test_series_that_have_nothing_to_do_with_each_other_have_hardly_any_correlation",),
    ),
    Mutant(
        "there are no trends",
        SMOOTHER,
        "slope = steps.mean(axis=0)",
        "slope = 0 * steps.mean(axis=0)",
        (f"{OF_METHOD}::test_a_trend_goes_on_where_nothing_is_observed",),
    ),
    Mutant(
        "seasons never change",
        SEASONS,
        "PACES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)",
        "PACES = (0.0,)",
        (f"{OF_METHOD}::test_a_season_may_change_slowly",),
    ),
    Mutant(
        "bands do not become wider",
        FORECASTING,
        "by_step = np.sqrt(np.maximum.accumulate(_mean(squares, (0, 1))))",
        "by_step = np.sqrt(np.full(squares.shape[-1], np.nanmean(squares)))",
        (f"{OF_FORECAST}::test_bands_become_wider_with_the_horizon",),
    ),
    Mutant(
        "parts without an answer count at times without entries",
        WEIGHTED,
        "1 / share if reaches else 0.0",
        "1.0",
        (f"{OF_WEIGHTED}::test_only_parts_that_have_an_answer_count_at_a_time_without_entries",),
    ),
)
