"""Mistakes in what is held out, how settings are chosen, and the stages around a method."""

from __future__ import annotations

from . import Mutant

KINDS = "choosing/holdout/kinds.py"
GAPS = "choosing/holdout/gaps.py"
JUDGE = "choosing/holdout/judge.py"
LIKENESS = "choosing/holdout/likeness.py"
SPLITS = "choosing/holdout/splits.py"
NORT = "choosing/search/nort.py"
PATHS = "choosing/search/nort_paths.py"
CUTS = "choosing/search/cuts.py"
CANDIDATES = "choosing/search/candidates.py"
BASE = "choosing/search/base.py"
TRIALS = "choosing/search/trials.py"
WALK = "choosing/search/walk.py"
FINISHING = "choosing/finishing.py"
RUN = "choosing/run.py"
JUDGING = "choosing/judging.py"
POLISH = "choosing/stages/polish.py"
WHITEN = "choosing/stages/whiten.py"
WHITENED = "choosing/test_whiten.py"
FIELD = "choosing/stages/smooth_field.py"
OF_GAPS = "choosing/test_gaps.py"
OF_SPLITS = "choosing/test_splits.py"
LAST = "choosing/test_last_fit.py"
TOGETHER = "choosing/test_missing_together.py"
CHOOSING = "choosing/test_choosing.py"
OF_TRIALS = "choosing/test_trials.py"
ROUTES = "methods/nort/test_paths.py"

MUTANTS = (
    # What is held out
    Mutant(
        "no fibre counts as a whole",
        KINDS,
        "TOGETHER = 0.5",
        "TOGETHER = 2.0",
        (f"{TOGETHER}::test_fibres_count_as_a_whole_from_half_of_the_way_to_always",),
    ),
    Mutant(
        "fibres count as a whole too soon",
        KINDS,
        "TOGETHER = 0.5",
        "TOGETHER = 0.3",
        (f"{TOGETHER}::test_fibres_count_as_a_whole_from_half_of_the_way_to_always",),
    ),
    Mutant(
        "chance leaves fibres without an entry",
        KINDS,
        "size * density / -np.expm1(size * np.log1p(-density))",
        "size * density",
        (TOGETHER,),
    ),
    Mutant(
        "short runs are blocks",
        KINDS,
        "length > LONG_RUN else 1",
        "length > 1 else 1",
        (f"{TOGETHER}::test_blocks_have_the_length_of_gaps_and_short_ones_are_chance",),
    ),
    Mutant(
        "empty slices count",
        KINDS,
        "present = _without_empty_slices(observations)",
        "present = observations",
        (
            f"{CHOOSING}::test_an_empty_slice_says_nothing_of_how_other_entries_go_missing",
            f"{TOGETHER}::test_empty_slices_do_not_make_whole_fibres",
        ),
    ),
    Mutant(
        "what is simpler is not kept",
        KINDS,
        "CLEARLY = 0.1",
        "CLEARLY = -0.5",
        (f"{CHOOSING}::test_single_entries_are_held_out_where_chance_explains_the_holes", OF_GAPS),
    ),
    Mutant(
        "gaps are not moved",
        KINDS,
        "for ways in _ways_to_move(shape, rng):",
        "for ways in ():",
        (f"{OF_GAPS}::test_what_is_held_out_looks_like_what_is_missing",),
    ),
    Mutant(
        "windows of one gap",
        GAPS,
        "GAPS_IN_A_WINDOW = 4",
        "GAPS_IN_A_WINDOW = 1",
        (f"{OF_GAPS}::test_windows_hold_several_gaps_along_the_series_and_one_series_across",),
    ),
    Mutant(
        "a small gap is moved once",
        GAPS,
        "MOST_COPIES = 40",
        "MOST_COPIES = 0",
        (f"{OF_GAPS}::test_a_gap_that_is_too_small_is_moved_to_several_places",),
    ),
    Mutant(
        "gaps are laid upon others",
        LIKENESS,
        "np.log2(np.maximum(counts, 0.5) * size / max(total, 1))",
        "np.zeros(len(far))",
        (f"{OF_SPLITS}::test_features_are_distances_and_shares",),
    ),
    Mutant(
        "a slice loses all its entries",
        JUDGE,
        "return kept if kept.any() else held_out",
        "return held_out",
        (f"{OF_GAPS}::test_slices_of_one_entry_are_not_held_out_unless_all_are",),
    ),
    Mutant(
        "splits hold out the same entries",
        SPLITS,
        "np.sum(held_out, axis=0)",
        "None",
        (f"{OF_SPLITS}::test_splits_hold_out_different_entries",),
    ),
    Mutant(
        "small data has one split",
        SPLITS,
        "ENOUGH_HELD_OUT, MOST_SPLITS = 300, 5",
        "ENOUGH_HELD_OUT, MOST_SPLITS = 300, 1",
        (f"{OF_SPLITS}::test_there_are_as_many_splits_as_hold_out_three_hundred_entries",),
    ),
    Mutant(
        "no doubt about entries that are unlike",
        KINDS,
        "UNLIKE = 0.75",
        "UNLIKE = 1.0",
        (f"{OF_SPLITS}::test_from_three_quarters_on_there_is_a_doubt",),
    ),
    # The search of NORT
    Mutant(
        "the last cut is that of the trials",
        NORT,
        "cut=best.candidate.cut * root)",
        "cut=best.candidate.cut)",
        (f"{LAST}::test_the_cut_of_the_last_fit_grows_with_the_root_of_the_entries",),
    ),
    Mutant(
        "the last cut grows with the entries",
        NORT,
        "root = math.sqrt(entries / ",
        "root = (entries / ",
        (f"{LAST}::test_the_cut_of_the_last_fit_grows_with_the_root_of_the_entries",),
    ),
    Mutant(
        "the last cut of dense methods is that of the trials",
        CUTS,
        "cut=best.cut * root",
        "cut=best.cut",
        (f"{LAST}::test_the_cut_of_dense_methods_grows_with_the_root_of_the_entries_too",),
    ),
    Mutant(
        "the cut is not refined",
        NORT,
        "            self._refine()\n",
        "",
        (f"{LAST}::test_the_cuts_half_a_step_beside_the_best_are_tried",),
    ),
    Mutant(
        "the smallest of equal cuts is kept",
        NORT,
        "kept = best if best.beats(higher) else higher",
        "kept = best",
        (f"{CHOOSING}::test_of_cuts_that_are_equally_good_the_largest_is_kept",),
    ),
    Mutant(
        "answers do not settle",
        NORT,
        "if trial.beats(best):\n",
        "if best is None:\n",
        (f"{CHOOSING}::test_of_answers_that_differ_by_chance_all_are_solved_further",),
    ),
    Mutant(
        "an answer that is solved further replaces what it was",
        NORT,
        "kept = trial.as_stopped() if trial.beats(again) else again",
        "kept = again",
        (f"{CHOOSING}::test_an_answer_that_is_solved_further_must_not_be_worse_than_what_it_was",),
    ),
    Mutant(
        "the last fit does not stop early",
        NORT,
        "return best.stopped(method) if best.early else method",
        "return method",
        (f"{LAST}::test_a_last_fit_stops_early_if_the_best_trial_did",),
    ),
    Mutant(
        "lambda grows with tau",
        PATHS,
        "total = weight_for_cut(penalty, candidate.cut) * tau\n",
        "total = weight_for_cut(penalty, candidate.cut) * tau * candidate.tau\n",
        (f"{LAST}::test_a_larger_tau_keeps_lambda_and_the_penalty",),
    ),
    Mutant(
        "tau rises by itself",
        NORT,
        "if self._trials.leader is before:\n                break\n\n    def _try_beside",
        "if False:\n                break\n\n    def _try_beside",
        (f"{CHOOSING}::test_tau_rises_while_held_out_entries_gain",),
    ),
    Mutant(
        "modes that are named may be left out",
        NORT,
        "self._settings.modes is None and len(self.modes) > 1",
        "len(self.modes) > 1",
        (f"{CHOOSING}::test_a_search_keeps_all_modes_that_the_caller_names",),
    ),
    Mutant(
        "noise bounds free paths",
        PATHS,
        "self._edges.get(candidate.noise, ",
        "self._edges.get(None, ",
        (f"{CHOOSING}::test_a_more_convex_path_that_is_free_is_not_bound_by_the_noise_of_the_first",),
    ),
    Mutant(
        "a path ends at its first worse point",
        CANDIDATES,
        "CLEARLY_PAST = 2",
        "CLEARLY_PAST = 1",
        (f"{ROUTES}::test_a_path_ends_after_one_point_that_is_beyond_doubt_but_not_at_its_beginning",),
    ),
    Mutant(
        "any difference ends a path",
        CANDIDATES,
        "HARDLY = 1e-3",
        "HARDLY = 0.0",
        (f"{ROUTES}::test_a_point_that_hardly_differs_does_not_end_a_path",),
    ),
    Mutant(
        "gains do not fall",
        CANDIDATES,
        "last - gain * ratio / (1 - ratio) >",
        "last - gain * ratio >",
        (f"{ROUTES}::test_a_path_whose_gains_do_not_lead_past_the_rival_is_left",),
    ),
    Mutant(
        "only what wins matters",
        TRIALS,
        "weight = min(max(slope, 0.0) / curvature, 1.0) if curvature else 0.0",
        "weight = 1.0",
        (f"{OF_TRIALS}::test_a_trial_matters_if_a_mean_with_the_best_of_others_is_clearly_better",),
    ),
    Mutant(
        "a search goes on that cannot matter",
        "choosing/race.py",
        "and self._trials.may_matter(leader)",
        "and True",
        ("choosing/test_race.py::test_a_search_stops_where_it_cannot_matter_beside_other_methods",),
    ),
    Mutant(
        "a search that is worse beyond doubt goes on",
        "choosing/race.py",
        "by=BEYOND_DOUBT) for other",
        "by=1e9) for other",
        ("choosing/test_race.py::test_a_search_that_is_worse_beyond_doubt_at_a_pause_stops",),
    ),
    Mutant(
        "weak terms are always looked for",
        "choosing/search/grow.py",
        "MOST_HIDDEN = 0.1",
        "MOST_HIDDEN = 0.0",
        (
            "methods/grow/test_search.py::test_mixtures_are_looked_at_only_to_finish_and_where_small_modes_may_hide_a_term",
        ),
    ),
    Mutant(
        "a mode loses its weight at once",
        CANDIDATES,
        "lowered = WEAKER * self.weights[place]",
        "lowered = 0.0",
        (f"{CHOOSING}::test_a_weight_falls_to_three_tenths_and_a_fiftieth_of_the_others_is_none",),
    ),
    Mutant(
        "chance decides between trials",
        BASE,
        "STANDARD_ERRORS = 1.0",
        "STANDARD_ERRORS = -9.0",
        ("choosing/test_trials.py::test_one_standard_error_is_needed_to_be_better",),
    ),
    Mutant(
        "any gain counts",
        BASE,
        "LEAST_GAIN = 2e-4",
        "LEAST_GAIN = 0.0",
        ("choosing/test_trials.py::test_a_gain_that_hardly_matters_is_none_however_certain",),
    ),
    Mutant(
        "large losses decide",
        BASE,
        "np.quantile(others, CLIPPED_FROM) if clipped else np.inf",
        "np.inf",
        ("choosing/test_trials.py::test_few_large_losses_do_not_decide",),
    ),
    Mutant(
        "a variation is never given up",
        TRIALS,
        "self._given_up = record.iteration >= FIRST_CHECK and",
        "self._given_up = False and",
        ("choosing/test_trials.py::test_a_variation_that_loses_is_given_up_and_counts_as_finished",),
    ),
    Mutant(
        "an axis starts from its first value",
        WALK,
        "chosen[axis.setting] = getattr(trials.leader.method, axis.setting)",
        "pass",
        ("choosing/test_walk.py::test_each_axis_is_walked_from_the_best_of_the_last",),
    ),
    # Stages
    Mutant(
        "a recipe has no rounds",
        RUN,
        "for _ in range(recipe.rounds):",
        "for _ in range(0):",
        (f"{LAST}::test_a_recipe_fits_the_effects_again_beside_the_answer_as_often_as_it_says",),
    ),
    Mutant(
        "a recipe has one round",
        RUN,
        "for _ in range(recipe.rounds):",
        "for _ in range(min(recipe.rounds, 1)):",
        (f"{LAST}::test_a_recipe_fits_the_effects_again_beside_the_answer_as_often_as_it_says",),
    ),
    Mutant(
        "rounds are not searched for",
        FINISHING,
        "MOST_ROUNDS = 2",
        "MOST_ROUNDS = 0",
        (f"{LAST}::test_rounds_are_searched_for_where_the_effects_and_the_answer_overlap",),
    ),
    Mutant(
        "the last fit has no stages after the method",
        RUN,
        "for stage in recipe.after:",
        "for stage in ():",
        (f"{LAST}::test_a_polish_is_done_to_the_answer_of_all_entries",),
    ),
    Mutant(
        "no polish is kept",
        POLISH,
        "bool(losses.sum() < before.sum())",
        "False",
        (f"{LAST}::test_a_polish_is_done_to_the_answer_of_all_entries",),
    ),
    Mutant(
        "a polish keeps what is beyond the gap",
        POLISH,
        "ratios.max(initial=0) > GAP",
        "ratios.max(initial=0) > 1e9",
        (f"{CHOOSING}::test_a_polish_lets_noise_go_in_some_modes_where_others_have_none",),
    ),
    Mutant(
        "every mode is smooth",
        FIELD,
        "ratio < ALIKE and _has_order(observations, mode, differences)",
        "True",
        ("choosing/test_smooth_field.py",),
    ),
    Mutant(
        "corrupt entries are judged once",
        JUDGING,
        "for number in range(judge.rounds):",
        "for number in range(1):",
        ("choosing/test_judging.py",),
    ),
    Mutant(
        "a path that is behind goes on",
        PATHS,
        "behind >= PATIENCE",
        "behind >= 99",
        ("methods/nort/test_paths.py::test_a_path_that_is_clearly_behind_another_at_the_same_cuts_ends",),
    ),
    Mutant(
        "what was left out of other data is left out",
        "choosing/recipe.py",
        "self.of == observations.fingerprint",
        "self.of",
        ("choosing/test_repeating.py::test_what_was_left_out_is_left_out_again_unless_the_data_is_other",),
    ),
    Mutant(
        "a fold is judged by a fit that saw it",
        JUDGING,
        "self._folds != number",
        "self._folds == self._folds",
        ("choosing/test_judging.py::test_a_fold_is_not_seen_in_later_rounds_either",),
    ),
    Mutant(
        "spreads are not halved",
        WHITEN,
        "np.clip(0.5 * np.log(",
        "np.clip(np.log(",
        (f"{WHITENED}::TestSpreads::test_planted_spreads_are_found_among_many_residuals",),
    ),
    Mutant(
        "few residuals are believed",
        WHITEN,
        "found *= counts[mode] / (counts[mode] + SHRINKAGE)",
        "found *= counts[mode] > 0",
        (f"{WHITENED}::TestSpreads::test_few_residuals_say_little",),
    ),
    Mutant(
        "one residual counts for any amount",
        WHITEN,
        "CLIP = 9.0",
        "CLIP = 1e12",
        (f"{WHITENED}::TestSpreads::test_one_huge_residual_moves_its_slice_a_little_and_no_other",),
    ),
    Mutant(
        "large slices are cut off",
        WHITEN,
        "clipped / clipped.mean() * np.exp(2 * logs[mode][index])",
        "np.minimum(squares / usual, CLIP)",
        (f"{WHITENED}::TestSpreads::test_a_slice_of_truly_large_residuals_is_not_cut_off",),
    ),
    Mutant(
        "whitened data is of another size",
        WHITEN,
        "logs[mode] = found - middle",
        "logs[mode] = found",
        (f"{WHITENED}::TestSpreads::test_the_mean_over_the_entries_is_zero",),
    ),
    Mutant(
        "chance is something to gain",
        WHITEN,
        "- 2 * _chance(",
        "- 0 * _chance(",
        (f"{WHITENED}::TestSpreads::test_even_residuals_are_seldom_taken_for_uneven",),
    ),
    Mutant(
        "long modes are whitened",
        WHITEN,
        "if size <= LONGEST}",
        "if size <= LONGEST + 1}",
        (f"{WHITENED}::TestSpreads::test_long_modes_are_left_alone_and_cost_nothing",),
    ),
    Mutant(
        "the exponent does not matter",
        WHITEN,
        "np.exp(self.exponent * np.array(self.spreads[mode]))",
        "np.exp(np.array(self.spreads[mode]))",
        (f"{WHITENED}::TestTheStage::test_the_values_are_divided",),
    ),
    Mutant(
        "a start is not divided",
        WHITEN,
        "{mode: 1 / own for mode, own in self.sizes.items()}",
        "self.sizes",
        ("choosing/test_stages.py::test_what_is_reduced_comes_back",),
    ),
    Mutant(
        "the core of a whitened and centred fit has its effects",
        "choosing/run.py",
        "core is model and (not part.adds or isinstance(answer, Centred))",
        "core is model",
        (f"{WHITENED}::TestTheFrontDoor::test_a_file_keeps_it_and_a_fit_repeats_to_the_bit",),
    ),
    Mutant(
        "new slices are compared with whitened entries as they are",
        "choosing/updating.py",
        "part.core(_folded_in(part.start(start), data, part.problem.observations))",
        "_folded_in(start, data, part.problem.observations)",
        (f"{WHITENED}::TestTheFrontDoor::test_new_slices_start_on_the_scale_of_the_data",),
    ),
    Mutant(
        "outages are not held out",
        KINDS,
        "held_out = outages.moved(fraction * outages.share, rng, before)",
        "held_out = 0 < outages.times * 0",
        ("choosing/test_gaps.py::test_outages_are_held_out_as_outages_and_in_proportion",),
    ),
    Mutant(
        "a part of an outage is held out",
        "choosing/holdout/gaps.py",
        "run = slice(begin, begin + length)",
        "run = slice(begin, begin + (length + 2) // 3)",
        ("choosing/test_gaps.py::test_outages_are_held_out_as_outages_and_in_proportion",),
    ),
    Mutant(
        "times at which all is held out have a scale of their own",
        "choosing/holdout/held_out.py",
        "self.distances[:, other] < shape[other]",
        "self.distances[:, other] <= shape[other]",
        ("choosing/test_gaps.py::test_a_time_at_which_all_is_held_out_has_no_scale_of_its_own",),
    ),
)
