"""Mistakes in error bars: the usual size of errors, and how held-out entries resemble missing ones."""

from __future__ import annotations

from . import Mutant

BARS = "choosing/error_bars.py"
SCALE = "choosing/error_scale.py"
HELD_OUT = "choosing/holdout/held_out.py"
RESEMBLANCE = "choosing/holdout/resemblance.py"
COMPLETING = "choosing/completing.py"
OF_SCALE = "choosing/test_error_scale.py"
OF_RESEMBLANCE = "choosing/test_resemblance.py"
BY_VALUE, KINDS, METRICS = "choosing/holdout/by_value.py", "choosing/holdout/kinds.py", "metrics.py"
OF_VALUE, OF_METRICS = "choosing/test_by_value.py", "test_metrics.py"

MUTANTS = (
    # Error bars
    Mutant(
        "an error is scaled by its own half",
        BARS,
        "np.where(self._half == 0, second, first)",
        "np.where(self._half == 0, first, second)",
        (f"{OF_SCALE}::test_no_error_is_scaled_by_a_fit_to_its_own_half",),
    ),
    Mutant(
        "weights are not used",
        BARS,
        "np.ones(len(self.residuals)) if self.weights is None else self.weights",
        "np.ones(len(self.residuals))",
        (OF_RESEMBLANCE,),
    ),
    Mutant(
        "scales are fitted without weights",
        BARS,
        "self._weights[half], rng)",
        "np.ones(len(half)), rng)",
        (f"{OF_SCALE}::test_weights_count_in_scales_and_in_widths",),
    ),
    Mutant(
        "resemblance is not passed to the error bars",
        COMPLETING,
        "resemblance(contest, scored.whole_model, missing), held_out=held_out",
        "None, held_out=held_out",
        (f"{OF_SCALE}::test_the_error_bars_of_a_fit_have_the_weights_of_missing_entries",),
    ),
    Mutant(
        "the new entry does not count",
        BARS,
        "(weights.sum() + weights.mean())",
        "weights.sum()",
        (
            f"{OF_SCALE}::test_a_new_entry_counts_with_the_mean_weight",
            f"{OF_RESEMBLANCE}::test_equal_weights_are_no_weights",
        ),
    ),
    Mutant(
        "the new slice does not count",
        BARS,
        "math.ceil((self.slices + 1) * share)",
        "math.ceil(self.slices * share)",
        (f"{OF_SCALE}::test_a_new_slice_is_one_more_slice",),
    ),
    Mutant(
        "widths of one half for both",
        BARS,
        "np.where(self._half == 0, scaled, math.exp(step) * scaled)",
        "scaled",
        ("choosing/test_error_bars.py::test_the_two_scales_give_the_quantile_of_errors_moved_to_the_entry",),
    ),
    Mutant(
        "draws have one scale",
        BARS,
        "[number] * np.sqrt(first * second)",
        "[number]",
        (f"{OF_SCALE}::test_errors_are_moved_by_the_scale_that_they_were_divided_by",),
    ),
    Mutant(
        "entries in two empty slices have an interval",
        BARS,
        "widths[empty > 1] = math.inf",
        "pass",
        ("choosing/test_empty_slices.py", f"{OF_SCALE}::test_an_entry_in_two_empty_slices_has_no_interval"),
    ),
    # The usual size of errors
    Mutant(
        "groups need no significance",
        SCALE,
        "STANDARD_ERRORS = 2.0",
        "STANDARD_ERRORS = 0.0",
        (f"{OF_SCALE}::test_groups_that_do_not_matter_are_rarely_used",),
    ),
    Mutant(
        "groups need much significance",
        SCALE,
        "STANDARD_ERRORS = 2.0",
        "STANDARD_ERRORS = 20.0",
        (f"{OF_SCALE}::test_a_group_that_matters_is_used",),
    ),
    Mutant(
        "groups are judged by the errors they were fitted to",
        SCALE,
        "for seen, other in (parts, parts[::-1]):",
        "for seen, other in ((part, part) for part in parts):",
        (f"{OF_SCALE}::test_groups_of_single_errors_are_not_used",),
    ),
    Mutant(
        "factors are not shrunk",
        SCALE,
        "SHRINKAGE = 10.0",
        "SHRINKAGE = 1.0",
        (f"{OF_SCALE}::test_a_factor_is_the_weighted_mean_shrunk_half_way_to_one_by_ten_errors",),
    ),
    Mutant(
        "factors have no limit",
        SCALE,
        "LARGEST_FACTOR = 30.0",
        "LARGEST_FACTOR = 1e9",
        (f"{OF_SCALE}::test_no_factor_exceeds_thirty_nor_its_inverse",),
    ),
    Mutant(
        "one sweep over several groupings",
        SCALE,
        "SWEEPS if len(names) > 1 else 1",
        "1",
        (
            "choosing/test_error_bars.py::test_a_scale_is_a_product_of_factors",
            f"{OF_SCALE}::test_groupings_that_overlap_share_what_they_explain",
        ),
    ),
    Mutant(
        "few errors have groups",
        SCALE,
        "FEWEST = 100",
        "FEWEST = 20",
        (f"{OF_SCALE}::test_with_fewer_than_a_hundred_errors_there_is_one_scale",),
    ),
    Mutant(
        "distances are grouped singly",
        HELD_OUT,
        "np.ceil(np.log2(np.maximum(far[:, mode], 1)))",
        "(far[:, mode] - 1)",
        (f"{OF_SCALE}::test_distances_are_grouped_by_powers_of_two",),
    ),
    Mutant(
        "groups of few predictions",
        HELD_OUT,
        "len(self.predicted) // 50",
        "len(self.predicted) // 5",
        (f"{OF_SCALE}::test_predictions_are_grouped_with_fifty_entries_or_more_in_each",),
    ),
    # Resemblance
    Mutant(
        "the odds have no cap",
        RESEMBLANCE,
        "LARGEST_ODDS = 20.0",
        "LARGEST_ODDS = 1e9",
        (f"{OF_RESEMBLANCE}::test_no_weight_exceeds_twenty_times_the_mean",),
    ),
    Mutant(
        "the odds are capped once",
        RESEMBLANCE,
        "for _ in range(STEPS):\n        weights =",
        "for _ in range(1):\n        weights =",
        (f"{OF_RESEMBLANCE}::test_no_weight_exceeds_twenty_times_the_mean",),
    ),
    Mutant(
        "distances do not count",
        RESEMBLANCE,
        "[np.log(distances(coords, fitted, mode)), ",
        "[",
        (f"{OF_RESEMBLANCE}::test_entries_far_from_fitted_ones_count_more_where_gaps_are_long",),
    ),
    Mutant(
        "the entries of a slice do not count",
        RESEMBLANCE,
        "np.log1p(counts), above,",
        "above,",
        (f"{OF_RESEMBLANCE}::test_entries_of_slices_with_few_entries_count_more_where_those_have_most_holes",),
    ),
    Mutant(
        "values within a slice do not count",
        RESEMBLANCE,
        ", above, above**2]",
        "]",
        (f"{OF_RESEMBLANCE}::test_entries_that_are_large_for_their_own_slice_resemble_each_other",),
    ),
    Mutant(
        "empty slices are sampled",
        RESEMBLANCE,
        "np.arange(observed.shape[mode]) if mode in over else np.unique(column)",
        "np.arange(observed.shape[mode])",
        (f"{OF_RESEMBLANCE}::test_missing_entries_are_missing_and_none_is_in_an_empty_slice",),
    ),
    Mutant(
        "few entries have weights",
        RESEMBLANCE,
        "FEWEST = 50",
        "FEWEST = 5",
        (f"{OF_RESEMBLANCE}::test_too_few_entries_count_alike",),
    ),
    # Gaps that depend on the value
    Mutant(
        "entries of a slice are independent evidence",
        BY_VALUE,
        "max(sum(variances) - (len(shape) - 1) * alone, *variances, alone)",
        "alone",
        (f"{OF_VALUE}::test_entries_of_one_slice_count_together",),
    ),
    Mutant(
        "equal predictions are in order",
        BY_VALUE,
        'at, side="left") + np.searchsorted(ordered, at, side="right")',
        'at, side="left") * 2',
        (f"{OF_VALUE}::test_the_auc_is_the_share_of_pairs_in_order",),
    ),
    Mutant(
        "two standard errors name values",
        KINDS,
        "ERRORS_BY_VALUE = 3.0",
        "ERRORS_BY_VALUE = 2.0",
        (f"{OF_VALUE}::test_it_takes_three_errors_and_a_clear_difference",),
    ),
    Mutant(
        "a small dependence is named",
        KINDS,
        "CLEARLY_BY_VALUE = 0.05",
        "CLEARLY_BY_VALUE = 0.04",
        (f"{OF_VALUE}::test_it_takes_three_errors_and_a_clear_difference",),
    ),
    Mutant(
        "the small are the large",
        KINDS,
        'return "large" if beyond > 0',
        'return "large" if beyond < 0',
        (f"{OF_VALUE}::test_it_takes_three_errors_and_a_clear_difference",),
    ),
    # Reliability
    Mutant(
        "a share has the interval of Wald",
        METRICS,
        "middle = (observed + slack / 2) / (1 + slack)",
        "middle = observed",
        (f"{OF_METRICS}::test_the_interval_of_a_share_is_that_of_wilson",),
    ),
    Mutant(
        "equal predictions are in several bins",
        METRICS,
        "middle = (np.cumsum(sizes) - sizes / 2)[group]",
        "middle = np.argsort(np.argsort(prediction)) + 0.5",
        (f"{OF_METRICS}::test_the_order_of_entries_does_not_matter_for_reliability",),
    ),
)
