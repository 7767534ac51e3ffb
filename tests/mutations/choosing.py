"""Mistakes in how settings are chosen, what is held out, and error bars."""

from __future__ import annotations

from . import Mutant

BARS, SCALE = "choosing/error_bars.py", "choosing/error_scale.py"
HELD_OUT, KINDS, GAPS = (f"choosing/holdout/{name}.py" for name in ("held_out", "kinds", "gaps"))
RESEMBLANCE = "choosing/holdout/resemblance.py"
NORT, PATHS, CUTS = (f"choosing/search/{name}.py" for name in ("nort", "nort_paths", "cuts"))
CANDIDATES, BASE, TRIALS, WALK = (f"choosing/search/{name}.py" for name in ("candidates", "base", "trials", "walk"))
COMPLETING, CHOOSE, RUN = (f"choosing/{name}.py" for name in ("completing", "choose", "run"))
JUDGING, POLISH, FIELD = "choosing/judging.py", "choosing/stages/polish.py", "choosing/stages/smooth_field.py"

OF_SCALE, OF_RESEMBLANCE, OF_GAPS = (
    f"choosing/test_{name}.py" for name in ("error_scale", "resemblance", "gaps")
)  # fmt: skip
LAST, TOGETHER = "choosing/test_last_fit.py", "choosing/test_missing_together.py"
CHOOSING, ROUTES = "choosing/test_choosing.py", "methods/nort/test_paths.py"

MUTANTS = (
    # Error bars
    Mutant("an error is scaled by its own half", BARS, "np.where(self._half == 0, second, first)", "np.where(self._half == 0, first, second)", (f"{OF_SCALE}::test_no_error_is_scaled_by_a_fit_to_its_own_half",)),
    Mutant("weights are not used", BARS, "np.ones(len(self.residuals)) if self.weights is None else self.weights", "np.ones(len(self.residuals))", (OF_RESEMBLANCE,)),
    Mutant("scales are fitted without weights", BARS, "self._weights[half], rng)", "np.ones(len(half)), rng)", (f"{OF_SCALE}::test_weights_count_in_scales_and_in_widths",)),
    Mutant("resemblance is not passed to the error bars", COMPLETING, "resemblance(contest, scored.whole_model), held_out=held_out", "None, held_out=held_out", (f"{OF_SCALE}::test_the_error_bars_of_a_fit_have_the_weights_of_missing_entries",)),
    Mutant("the new entry does not count", BARS, "(weights.sum() + weights.mean())", "weights.sum()", (f"{OF_SCALE}::test_a_new_entry_counts_with_the_mean_weight", f"{OF_RESEMBLANCE}::test_equal_weights_are_no_weights")),
    Mutant("the new slice does not count", BARS, "math.ceil((self.slices + 1) * share)", "math.ceil(self.slices * share)", (f"{OF_SCALE}::test_a_new_slice_is_one_more_slice",)),
    Mutant("widths of one half for both", BARS, "np.where(self._half == 0, scaled, math.exp(step) * scaled)", "scaled", ("choosing/test_error_bars.py::test_the_two_scales_give_the_quantile_of_errors_moved_to_the_entry",)),
    Mutant("draws have one scale", BARS, "[number] * np.sqrt(first * second)", "[number]", (f"{OF_SCALE}::test_errors_are_moved_by_the_scale_that_they_were_divided_by",)),
    Mutant("entries in two empty slices have an interval", BARS, "widths[empty > 1] = math.inf", "pass", ("choosing/test_empty_slices.py", f"{OF_SCALE}::test_an_entry_in_two_empty_slices_has_no_interval")),
    # The usual size of errors
    Mutant("groups need no significance", SCALE, "STANDARD_ERRORS = 2.0", "STANDARD_ERRORS = 0.0", (f"{OF_SCALE}::test_groups_that_do_not_matter_are_rarely_used",)),
    Mutant("groups need much significance", SCALE, "STANDARD_ERRORS = 2.0", "STANDARD_ERRORS = 20.0", (f"{OF_SCALE}::test_a_group_that_matters_is_used",)),
    Mutant("groups are judged by the errors they were fitted to", SCALE, "sigma = scale.at(groups.select(other), len(other))\n                found.append(np.log(sigma) + errors[other] / sigma)", "sigma = scale.at(groups.select(seen), len(seen))\n                found.append(np.log(sigma) + errors[seen] / sigma)", (f"{OF_SCALE}::test_groups_of_single_errors_are_not_used",)),
    Mutant("factors are not shrunk", SCALE, "SHRINKAGE = 10.0", "SHRINKAGE = 1.0", (f"{OF_SCALE}::test_a_factor_is_the_weighted_mean_shrunk_half_way_to_one_by_ten_errors",)),
    Mutant("factors have no limit", SCALE, "LARGEST_FACTOR = 30.0", "LARGEST_FACTOR = 1e9", (f"{OF_SCALE}::test_no_factor_exceeds_thirty_nor_its_inverse",)),
    Mutant("one sweep over several groupings", SCALE, "SWEEPS if len(names) > 1 else 1", "1", ("choosing/test_error_bars.py::test_a_scale_is_a_product_of_factors", f"{OF_SCALE}::test_groupings_that_overlap_share_what_they_explain")),
    Mutant("few errors have groups", SCALE, "FEWEST = 100", "FEWEST = 20", (f"{OF_SCALE}::test_with_fewer_than_a_hundred_errors_there_is_one_scale",)),
    Mutant("distances are grouped singly", HELD_OUT, "np.ceil(np.log2(np.maximum(far[:, mode], 1)))", "(far[:, mode] - 1)", (f"{OF_SCALE}::test_distances_are_grouped_by_powers_of_two",)),
    Mutant("groups of few predictions", HELD_OUT, "len(self.predicted) // 50", "len(self.predicted) // 5", (f"{OF_SCALE}::test_predictions_are_grouped_with_fifty_entries_or_more_in_each",)),
    # Resemblance
    Mutant("the odds have no cap", RESEMBLANCE, "LARGEST_ODDS = 20.0", "LARGEST_ODDS = 1e9", (f"{OF_RESEMBLANCE}::test_no_weight_exceeds_twenty_times_the_mean",)),
    Mutant("the odds are capped once", RESEMBLANCE, "for _ in range(STEPS):\n        weights =", "for _ in range(1):\n        weights =", (f"{OF_RESEMBLANCE}::test_no_weight_exceeds_twenty_times_the_mean",)),
    Mutant("distances do not count", RESEMBLANCE, "[np.log(distances(coords, fitted, mode)), ", "[", (f"{OF_RESEMBLANCE}::test_entries_far_from_fitted_ones_count_more_where_gaps_are_long",)),
    Mutant("the entries of a slice do not count", RESEMBLANCE, "np.log1p(counts), above,", "above,", (f"{OF_RESEMBLANCE}::test_entries_of_slices_with_few_entries_count_more_where_those_have_most_holes",)),
    Mutant("values within a slice do not count", RESEMBLANCE, ", above, above**2]", "]", (f"{OF_RESEMBLANCE}::test_entries_that_are_large_for_their_own_slice_resemble_each_other",)),
    Mutant("empty slices are sampled", RESEMBLANCE, "present = [np.unique(column) for column in observed.coords.T]", "present = [np.arange(size) for size in observed.shape]", (f"{OF_RESEMBLANCE}::test_missing_entries_are_missing_and_none_is_in_an_empty_slice",)),
    Mutant("few entries have weights", RESEMBLANCE, "FEWEST = 50", "FEWEST = 5", (f"{OF_RESEMBLANCE}::test_too_few_entries_count_alike",)),
    # What is held out
    Mutant("no fibre counts as a whole", KINDS, "TOGETHER = 0.5", "TOGETHER = 2.0", (f"{TOGETHER}::test_fibres_count_as_a_whole_from_half_of_the_way_to_always",)),
    Mutant("fibres count as a whole too soon", KINDS, "TOGETHER = 0.5", "TOGETHER = 0.3", (f"{TOGETHER}::test_fibres_count_as_a_whole_from_half_of_the_way_to_always",)),
    Mutant("chance leaves fibres without an entry", KINDS, "size * density / -np.expm1(size * np.log1p(-density))", "size * density", (TOGETHER,)),
    Mutant("short runs are blocks", KINDS, "length > LONG_RUN else 1", "length > 1 else 1", (f"{TOGETHER}::test_blocks_have_the_length_of_gaps_and_short_ones_are_chance",)),
    Mutant("empty slices count", KINDS, "present = _without_empty_slices(observations)", "present = observations", (f"{CHOOSING}::test_an_empty_slice_says_nothing_of_how_other_entries_go_missing", f"{TOGETHER}::test_empty_slices_do_not_make_whole_fibres")),
    Mutant("whole fibres are gaps", GAPS, "TOGETHER, ALWAYS = 0.3, 0.95", "TOGETHER, ALWAYS = 0.3, 2.0", (f"{OF_GAPS}::test_whole_fibres_are_left_to_the_rule_for_fibres",)),
    Mutant("neighbours that hardly hang together are gaps", GAPS, "TOGETHER, ALWAYS = 0.3, 0.95", "TOGETHER, ALWAYS = 0.1, 0.95", (f"{OF_GAPS}::test_neighbours_hang_together_from_a_correlation_of_three_tenths_on",)),
    Mutant("windows of one gap", GAPS, "GAPS_IN_A_WINDOW = 4", "GAPS_IN_A_WINDOW = 1", (f"{OF_GAPS}::test_windows_are_four_times_as_long_as_gaps",)),
    Mutant("gaps are moved along all modes", GAPS, "moved = apart or ", "moved = ", (f"{OF_GAPS}::test_gaps_are_moved_along_modes_in_which_they_do_not_hang_together",)),
    Mutant("gaps are moved where most is missing", GAPS, "MOST_MISSING = 0.5", "MOST_MISSING = 0.9", (f"{OF_GAPS}::test_where_more_than_half_is_missing_gaps_are_not_moved",)),
    # The search of NORT
    Mutant("the last cut is that of the trials", NORT, "cut=best.candidate.cut * root)", "cut=best.candidate.cut)", (f"{LAST}::test_the_cut_of_the_last_fit_grows_with_the_root_of_the_entries",)),
    Mutant("the last cut grows with the entries", NORT, "root = math.sqrt(entries / ", "root = (entries / ", (f"{LAST}::test_the_cut_of_the_last_fit_grows_with_the_root_of_the_entries",)),
    Mutant("the last cut of dense methods is that of the trials", CUTS, "cut=best.cut * root", "cut=best.cut", (f"{LAST}::test_the_cut_of_dense_methods_grows_with_the_root_of_the_entries_too",)),
    Mutant("the cut is not refined", NORT, "            self._refine()\n", "", (f"{LAST}::test_the_cuts_half_a_step_beside_the_best_are_tried",)),
    Mutant("the smallest of equal cuts is kept", NORT, "kept = best if best.beats(higher) else higher", "kept = best", (f"{CHOOSING}::test_of_cuts_that_are_equally_good_the_largest_is_kept",)),
    Mutant("answers do not settle", NORT, "if trial.beats(settled):\n", "if settled is None:\n", (f"{CHOOSING}::test_an_answer_that_gets_worse_when_it_settles_gives_way_to_the_next",)),
    Mutant("modes that are named may be left out", NORT, "self._settings.modes is None and len(self.modes) > 1", "len(self.modes) > 1", (f"{CHOOSING}::test_a_mode_that_the_caller_names_is_never_left_out",)),
    Mutant("noise bounds free paths", PATHS, "self._edges.get(candidate.noise, ", "self._edges.get(None, ", (f"{CHOOSING}::test_a_more_convex_path_that_is_free_is_not_bound_by_the_noise_of_the_first",)),
    Mutant("a path ends at its first worse point", CANDIDATES, "CLEARLY_PAST = 2", "CLEARLY_PAST = 1", (f"{ROUTES}::test_a_path_ends_after_one_point_that_is_beyond_doubt_but_not_at_its_beginning",)),
    Mutant("any difference ends a path", CANDIDATES, "HARDLY = 1e-3", "HARDLY = 0.0", (f"{ROUTES}::test_a_point_that_hardly_differs_does_not_end_a_path",)),
    Mutant("gains do not fall", CANDIDATES, "last - gain * ratio / (1 - ratio) >", "last - gain * ratio >", (f"{ROUTES}::test_a_path_whose_gains_do_not_lead_past_the_rival_is_left",)),
    Mutant("a mode loses its weight at once", CANDIDATES, "lowered = WEAKER * self.weights[place]", "lowered = 0.0", (f"{CHOOSING}::test_weakening_goes_down_to_nothing_and_leaves_one_mode_at_least",)),
    Mutant("chance decides between trials", BASE, "STANDARD_ERRORS = 1.0", "STANDARD_ERRORS = -9.0", (f"{CHOOSING}::test_a_tie_goes_to_the_earlier_trial", "choosing/test_trials.py")),
    Mutant("a variation is never given up", TRIALS, "self._given_up = record.iteration >= FIRST_CHECK and", "self._given_up = False and", ("choosing/test_trials.py::test_a_variation_that_loses_is_given_up_and_counts_as_finished",)),
    Mutant("an axis starts from its first value", WALK, "chosen[axis.setting] = getattr(trials.leader.method, axis.setting)", "pass", ("choosing/test_walk.py::test_each_axis_is_walked_from_the_best_of_the_last",)),
    # Stages
    Mutant("a recipe has no rounds", RUN, "for _ in range(recipe.rounds):", "for _ in range(0):", (f"{LAST}::test_a_recipe_fits_the_effects_again_beside_the_answer_as_often_as_it_says",)),
    Mutant("a recipe has one round", RUN, "for _ in range(recipe.rounds):", "for _ in range(min(recipe.rounds, 1)):", (f"{LAST}::test_a_recipe_fits_the_effects_again_beside_the_answer_as_often_as_it_says",)),
    Mutant("rounds are not searched for", CHOOSE, "MOST_ROUNDS = 2", "MOST_ROUNDS = 0", (f"{LAST}::test_rounds_are_searched_for_where_the_effects_and_the_answer_overlap",)),
    Mutant("the last fit has no stages after the method", RUN, "for stage in recipe.after:", "for stage in ():", (f"{LAST}::test_a_polish_is_done_to_the_answer_of_all_entries",)),
    Mutant("no polish is kept", POLISH, "bool(losses.sum() < before.sum())", "False", (f"{LAST}::test_a_polish_is_done_to_the_answer_of_all_entries",)),
    Mutant("a polish keeps what is beyond the gap", POLISH, "ratios.max(initial=0) > GAP", "ratios.max(initial=0) > 1e9", (f"{CHOOSING}::test_a_polish_lets_noise_go_in_some_modes_where_others_have_none",)),
    Mutant("every mode is smooth", FIELD, "ratio < ALIKE and _has_order(observations, mode, differences)", "True", ("choosing/test_smooth_field.py",)),
    Mutant("corrupt entries are judged once", JUDGING, "for _ in range(judge.rounds):", "for _ in range(1):", ("choosing/test_judging.py",)),
    Mutant("neighbours see the entry itself", JUDGING, "self._folds != number", "self._folds == self._folds", ("choosing/test_judging.py::test_a_fold_is_predicted_by_a_fit_that_did_not_see_it",)),
)  # fmt: skip
