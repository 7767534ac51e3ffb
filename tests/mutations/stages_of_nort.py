"""Mistakes in what NORT does in stages: Algorithm 3 and the polish; and in the iteration loop."""

from __future__ import annotations

from . import Mutant

SMOOTHING = "methods/nort/smoothing.py"
POLISHING = "methods/nort/polishing.py"
LOOP = "methods/loop.py"
THREE = "methods/nort/test_algorithm_3.py"
NORT = "methods/nort/test_nort.py"
POLISH = "methods/nort/test_polishing.py"

MUTANTS = (
    # Algorithm 3
    Mutant(
        "the first delta is the size of the residuals",
        SMOOTHING,
        "WIDEST = 3.0",
        "WIDEST = 1.0",
        (f"{THREE}::test_the_first_delta_is_nearly_three_times_the_size_of_the_residuals",),
    ),
    Mutant(
        "delta falls faster",
        SMOOTHING,
        "FASTEST = 0.5",
        "FASTEST = 0.1",
        (f"{THREE}::test_delta_falls_by_shrink_or_to_three_times_the_residuals_but_at_most_to_half",),
    ),
    Mutant(
        "the floor does not end the stages",
        SMOOTHING,
        "(steady and delta <= self.floor * size) or",
        "",
        (f"{THREE}::test_noise_ends_the_stages_at_the_floor",),
    ),
    Mutant(
        "residuals that shrink end the stages",
        SMOOTHING,
        "(steady and delta <= self.floor * size)",
        "(delta <= self.floor * size)",
        (f"{THREE}::test_residuals_that_still_shrink_do_not_end_the_stages",),
    ),
    Mutant(
        "any size of the residuals is steady",
        SMOOTHING,
        "STEADY = 0.97",
        "STEADY = 0.5",
        (f"{THREE}::test_residuals_that_still_shrink_do_not_end_the_stages",),
    ),
    Mutant(
        "a tiny delta does not end the stages",
        SMOOTHING,
        "or delta <= SMALLEST * first",
        "",
        (f"{THREE}::test_data_that_is_fitted_exactly_ends_the_stages_at_a_share_of_the_first_delta",),
    ),
    Mutant(
        "another tiny delta ends the stages",
        SMOOTHING,
        "SMALLEST = 1e-4",
        "SMALLEST = 1e-2",
        (f"{THREE}::test_data_that_is_fitted_exactly_ends_the_stages_at_a_share_of_the_first_delta",),
    ),
    Mutant(
        "no change of the objective does not end the stages",
        SMOOTHING,
        "and change <= self.tol:",
        "and change < 0:",
        (f"{THREE}::test_an_objective_that_no_longer_changes_ends_the_stages",),
    ),
    Mutant(
        "no change ends the stages at any delta",
        SMOOTHING,
        "stage.delta <= min(size, theta) and",
        "",
        (f"{THREE}::test_no_change_ends_stages_whose_delta_is_above_the_residuals",),
    ),
    Mutant(
        "a stage ends by another tolerance",
        SMOOTHING,
        "self._settings.stage_tol * abs(after)",
        "self._settings.tol * abs(after)",
        (f"{THREE}::test_a_stage_ends_when_f_tau_changes_little_and_not_before",),
    ),
    Mutant(
        "a run converges before its last stage",
        SMOOTHING,
        "return self.f_tau if self.last else math.nan",
        "return self.f_tau",
        (f"{THREE}::test_a_run_converges_in_its_last_stage_only",),
    ),
    Mutant(
        "the last delta is above theta",
        SMOOTHING,
        "delta = min(delta, theta)\n",
        "pass\n",
        (f"{THREE}::test_the_last_stage_has_the_loss_itself_within_its_reach",),
    ),
    # The polish
    Mutant(
        "a polish that gains less than a step is kept",
        POLISHING,
        "> self._last_gain:",
        "> 0:",
        (f"{POLISH}::test_a_polish_must_gain_more_than_an_ordinary_step",),
    ),
    Mutant(
        "a polish does not wait for steady ranks",
        POLISHING,
        "self._wait <= 0 and self._steady >= STEADY",
        "self._wait <= 0",
        (f"{POLISH}::test_a_polish_waits_until_ranks_were_the_same_three_times",),
    ),
    Mutant(
        "no polish tries the strong directions alone",
        POLISHING,
        "lean=self._distance > FIRST_POLISH",
        "lean=False",
        (f"{POLISH}::test_later_polishes_keep_the_fit_that_lowers_f_tau_most",),
    ),
    Mutant(
        "every direction is strong",
        POLISHING,
        "DOUBTFUL = 20.0",
        "DOUBTFUL = 0.0",
        (f"{POLISH}::test_a_lean_polish_leaves_out_the_directions_that_fit_noise",),
    ),
    Mutant(
        "no fresh directions",
        POLISHING,
        "if not any(missing.values()):",
        "if True:",
        (f"{POLISH}::test_a_polish_finds_a_direction_that_the_strong_ones_hid",),
    ),
    # The loop
    Mutant(
        "one small change is enough",
        LOOP,
        "self._small_changes >= 2",
        "self._small_changes >= 1",
        ("methods/test_loop.py",),
    ),
    Mutant(
        "small changes need not be consecutive",
        LOOP,
        "self._small_changes + 1 if is_small else 0",
        "self._small_changes + is_small",
        ("methods/test_loop.py",),
    ),
    Mutant(
        "it may converge too early",
        LOOP,
        "and iteration >= limits.at_least",
        "",
        (f"{NORT}::test_it_does_not_count_as_converged_before_it_may",),
    ),
)
