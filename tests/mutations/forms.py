"""Mistakes in the forms of the data that are tried, in the cautious answer, and in the loss that the data suggests."""

from __future__ import annotations

from . import Mutant

CHOOSE = "choosing/choose.py"
CONTEST = "choosing/contest.py"
MERGE = "choosing/stages/merge.py"
WHITEN = "choosing/stages/whiten.py"
LOSS = "choosing/suggested_loss.py"
COMPLETING = "choosing/completing.py"
WALK = "choosing/search/walk.py"
BEFORE = "choosing/test_stages_before.py"
SUGGESTED = "choosing/test_suggested_loss.py"
CAUTIOUS = f"{BEFORE}::test_the_answer_that_says_least_is_one_that_held_out_entries_cannot_tell_from_the_best"
BEYOND = f"{BEFORE}::test_beyond_what_can_be_held_out_the_answer_that_says_least_is_taken"
GROSS = f"{SUGGESTED}::test_gross_errors_are_left_out_with_nothing_said"

MUTANTS = (
    Mutant(
        "the longest modes are merged",
        MERGE,
        "key=lambda part: math.prod(shape[mode] for mode in part)",
        "key=lambda part: -math.prod(shape[mode] for mode in part)",
        (f"{BEFORE}::test_the_shortest_modes_are_proposed_as_one",),
    ),
    Mutant(
        "a matrix is made of three modes",
        MERGE,
        "FEWEST_PROPOSED = 3",
        "FEWEST_PROPOSED = 2",
        (f"{BEFORE}::test_the_shortest_modes_are_proposed_as_one",),
    ),
    Mutant(
        "whitened residuals are of another size",
        WHITEN,
        "louder = 0.5 * math.log(after / before) / exponent",
        "louder = 0.0",
        (f"{BEFORE}::test_whitened_residuals_are_as_large_as_before",),
    ),
    Mutant(
        "much data is tried in other forms",
        CHOOSE,
        "if len(contest.problem.observations) > MOST_ENTRIES:",
        "if False:",
        (f"{BEFORE}::test_much_data_is_not_tried_behind_other_stages",),
    ),
    Mutant(
        "what the caller says of a stage is ignored",
        CHOOSE,
        'contest.asked.get(kind.name, "auto") != "auto"',
        "False",
        (
            f"{BEFORE}::test_modes_are_merged_where_held_out_entries_gain",
            f"{BEFORE}::test_slices_are_whitened_where_held_out_entries_gain",
        ),
    ),
    Mutant(
        "the answer that says most is taken",
        CONTEST,
        "return min(alike, key=lambda each: float(np.mean((each.whole_model",
        "return max(alike, key=lambda each: float(np.mean((each.whole_model",
        (CAUTIOUS,),
    ),
    Mutant(
        "an answer that is worse may say least",
        CONTEST,
        "alike = [best, *(each for each in self.finalists if not best.beats(each))]",
        "alike = [best, *self.finalists]",
        (CAUTIOUS,),
    ),
    Mutant(
        "the best is taken although nothing alike is held out",
        CHOOSE,
        "            return cautious\n",
        "            return scored\n",
        (BEYOND,),
    ),
    Mutant(
        "a walk is over before the last axis of its setting",
        WALK,
        "is_chosen = all(other.setting != axis.setting for other in axes[place + 1 :])",
        "is_chosen = True",
        ("choosing/test_walk.py::test_a_setting_is_chosen_along_all_its_axes_before_a_method_is_given_up",),
    ),
    Mutant(
        "entries are left out although few are seen",
        LOSS,
        "FEWEST = 5",
        "FEWEST = 4",
        (f"{SUGGESTED}::test_a_few_large_entries_are_not_left_out_unasked",),
    ),
    Mutant(
        "what is left out is not predicted",
        LOSS,
        "errors[missed] = np.abs(theirs.observed[missed] - other.result.model.predict(theirs.coords[missed]))",
        "errors[missed] = 0.0",
        (f"{SUGGESTED}::test_what_was_left_out_counts",),
    ),
    Mutant(
        "corrupt entries stay in the splits",
        COMPLETING,
        "if self._corrupt is not None and self._corrupt.any():",
        "if False:",
        (GROSS,),
    ),
    Mutant(
        "no loss is suggested",
        "completion.py",
        "        if undecided:",
        "        if False:",
        (GROSS,),
    ),
    Mutant(
        "answers that are worse than the mean have a part in a blend",
        CONTEST,
        "each.losses.mean() < plain",
        "True",
        ("choosing/test_blending.py::test_an_answer_that_is_no_better_than_the_mean_has_no_part",),
    ),
)
