"""Mistakes in the joint seasonal autoregression, in forecasts, and in what fills times without any entry."""

from __future__ import annotations

from . import Mutant

PROCESS = "methods/seasonal_ar/process.py"
POSTERIOR = "methods/seasonal_ar/posterior.py"
SMOOTHER = "methods/seasonal_ar/smoother.py"
SEASONS = "methods/seasonal_ar/seasons.py"
FORECASTING = "forecasting.py"
WEIGHTED = "choosing/weighted.py"
OF_METHOD = "methods/test_seasonal_ar.py"
OF_FORECAST = "test_forecasting.py"
OF_WEIGHTED = "choosing/test_weighted.py"

MUTANTS = (
    Mutant(
        "the transpose leaves the first times out",
        POSTERIOR,
        "found[..., : time + 1] += row[::-1].T * innovations[..., time : time + 1]",
        "found[..., : time + 1] += 0 * innovations[..., time : time + 1]",
        (f"{OF_METHOD}::test_the_mean_is_that_of_the_joint_normal_law",),
    ),
    Mutant(
        "the first times have the spread of an innovation",
        PROCESS,
        "np.prod(1 - self.partial[lags:] ** 2, axis=0)",
        "np.prod(1 - 0 * self.partial[lags:] ** 2, axis=0)",
        (f"{OF_METHOD}::test_a_process_is_the_same_at_all_times",),
    ),
    Mutant(
        "the coefficients of a longer memory are those of a shorter one",
        PROCESS,
        "found.append(shorter - share * shorter[::-1])",
        "found.append(shorter - share * np.eye(len(shorter))[-1][:, None])",
        (f"{OF_METHOD}::test_a_process_is_the_same_at_all_times",),
    ),
    Mutant(
        "the preconditioner is that of another precision",
        POSTERIOR,
        "found = own * self.transposed(self.innovations(combs))",
        "found = own * self.innovations(combs)",
        (f"{OF_METHOD}::test_the_band_of_the_precision_is_that_within_each_series",),
    ),
    Mutant(
        "every series has the memory that chance gives it",
        PROCESS,
        "places - mean) ** 2 - 1 / weights",
        "places - mean) ** 2",
        (f"{OF_METHOD}::test_partial_correlations_are_told_apart_as_far_as_the_data_can",),
    ),
    Mutant(
        "a wandering level is not told from a short memory",
        PROCESS,
        "NEARBY = 7",
        "NEARBY = 1",
        (f"{OF_METHOD}::test_a_level_that_wanders_is_told_from_a_short_memory",),
    ),
    Mutant(
        "an end has chosen its own band",
        FORECASTING,
        "np.delete(errors, end, axis=1) if len(ends) > 1 else errors",
        "errors",
        (f"{OF_FORECAST}::test_no_end_chooses_its_own_band",),
    ),
    Mutant(
        "draws have no noise",
        POSTERIOR,
        "np.sqrt(self._weights) * rng.standard_normal(shape)",
        "0.0 * rng.standard_normal(shape)",
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
