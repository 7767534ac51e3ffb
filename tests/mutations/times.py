"""Mistakes in the mode of time, its periods and its labels, and in what is folded by them."""

from __future__ import annotations

from . import Mutant

AXIS = "times/axis.py"
MODE = "times/mode.py"
SEASONS = "times/seasons.py"
STEPS = "times/steps.py"
FOLD = "choosing/stages/fold.py"
UNFOLDED = "models/unfolded.py"
CHOOSE = "choosing/choose.py"
RECIPE = "choosing/recipe.py"
OF_TIMES = "test_times.py"
OF_FOLD = "choosing/test_fold.py"
OF_UNFOLDED = "models/test_unfolded.py"

MUTANTS = (
    Mutant(
        "a period needs one cycle only",
        AXIS,
        "if 2 * period <= mode.size",
        "if period <= mode.size",
        (f"{OF_TIMES}::test_labels_say_the_step_and_the_periods",),
    ),
    Mutant(
        "a week of business days has seven steps",
        AXIS,
        "YEAR, WEEK, BUSINESS_WEEK = 365, 7, 5",
        "YEAR, WEEK, BUSINESS_WEEK = 365, 7, 7",
        (f"{OF_TIMES}::test_business_days_are_equally_spaced",),
    ),
    Mutant(
        "any share of equal steps is enough",
        MODE,
        "NEARLY_ALL = 0.95",
        "NEARLY_ALL = 0.1",
        (f"{OF_TIMES}::test_auto_allows_a_few_missing_times_and_no_more",),
    ),
    Mutant(
        "names come before dates",
        MODE,
        'return 0 if self.instants is None else {"M": 2, "m": 1}.get(self.instants.kind, 0)',
        'return 3 if self.instants is None else {"M": 2, "m": 1}.get(self.instants.kind, 0)',
        (f"{OF_TIMES}::test_dates_come_before_names_and_then_the_longest",),
    ),
    Mutant(
        "months go on from their beginning only",
        STEPS,
        "    if from_end:",
        "    if False:",
        (f"{OF_TIMES}::test_dates_keep_their_type_and_go_on_by_their_frequency",),
    ),
    Mutant(
        "half a day is a period",
        SEASONS,
        "MULTIPLES = range(2, 7)",
        "MULTIPLES = range(0)",
        (f"{OF_TIMES}::test_two_peaks_a_day_are_a_day",),
    ),
    Mutant(
        "series keep their slow part",
        SEASONS,
        "rest = _without_running_mean(_without_parabola(values, seen), seen)",
        "rest = values",
        (
            f"{OF_TIMES}::test_a_planted_season_is_found_under_noise_gaps_and_a_trend",
            f"{OF_TIMES}::test_without_a_season_none_is_found",
        ),
    ),
    Mutant(
        "a week is a period whatever it says",
        SEASONS,
        "found[week] > found[period] + max(0.05, ERRORS * errors[week])",
        "True",
        (f"{OF_TIMES}::test_a_week_is_a_second_period_only_if_it_says_more_than_the_day",),
    ),
    Mutant(
        "the shortest period is tried first",
        FOLD,
        "sorted(axis.periods, reverse=True)",
        "sorted(axis.periods)",
        (f"{OF_FOLD}::test_the_periods_of_one_mode_of_time_are_proposed",),
    ),
    Mutant(
        "a period that gains nothing ends the trials",
        CHOOSE,
        "if contest.best.champion is earlier and not kind.every:",
        "if contest.best.champion is earlier:",
        (f"{OF_FOLD}::test_a_period_that_gains_nothing_does_not_end_the_trials",),
    ),
    Mutant(
        "steps without entries are filled from others although the model knows them",
        RECIPE,
        "return frozenset.union(*(part.reached_within for part in self.parts))",
        "return frozenset()",
        (f"{OF_FOLD}::test_steps_without_any_entry_are_known_from_their_row_and_slot",),
    ),
    Mutant(
        "the margin has the whole last row",
        UNFOLDED,
        "        size = self.shape[self.mode]\n        return scipy",
        "        size = self.rows * self.period\n        return scipy",
        (f"{OF_UNFOLDED}::test_what_is_selected_and_combined_is_that_of_the_array",),
    ),
)
