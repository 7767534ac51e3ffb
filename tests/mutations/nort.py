"""Mistakes in NORT and in the iteration loop."""

from __future__ import annotations

from . import Mutant

MOMENTUM, SOLVER, DESCENT = (f"methods/nort/{name}.py" for name in ("momentum", "solver", "descent"))
SMOOTHING, METHOD, POLISHING = (f"methods/nort/{name}.py" for name in ("smoothing", "method", "polishing"))
AVERAGE, MODES, UNITS = (f"methods/nort/{name}.py" for name in ("proximal_average", "modes", "units"))
LOOP = "methods/loop.py"

TWO, THREE = (f"methods/nort/test_algorithm_{number}.py" for number in (2, 3))
NORT, POLISH = "methods/nort/test_nort.py", "methods/nort/test_polishing.py"
STEPS = (f"{TWO}::test_every_iteration_is_that_of_algorithm_2",)
SEQUENCE = (f"{TWO}::test_the_sequence_of_extrapolations",)

MUTANTS = (
    # Momentum
    Mutant("the restart rule has another denominator", MOMENTUM, "(self._steps + 2)", "(self._steps + 3)", SEQUENCE),
    Mutant("the restart rule has another numerator", MOMENTUM, "(self._steps - 1)", "self._steps", SEQUENCE),
    Mutant("the first step of the restart rule is the second", MOMENTUM, "self._steps = 1\n", "self._steps = 2\n", STEPS),
    Mutant("a restart begins one step late", MOMENTUM, "if accepted else 2", "if accepted else 1", STEPS),
    Mutant("no restart", MOMENTUM, "self._steps + 1 if accepted else 2", "self._steps + 1", STEPS),
    Mutant("gamma_1 of Algorithm 2", MOMENTUM, "gamma: float = 0.1", "gamma: float = 0.2", STEPS),
    Mutant("p of Algorithm 2", MOMENTUM, "p: float = 0.5", "p: float = 0.4", STEPS),
    Mutant("gamma may exceed one", MOMENTUM, "min(self.gamma / self._p, 1.0)", "self.gamma / self._p", SEQUENCE),
    Mutant("gamma does not fall", MOMENTUM, "else self.gamma * self._p", "else self.gamma", STEPS),
    Mutant("True is the adaptive rule", MOMENTUM, '"restart" if momentum is True', '"adaptive" if momentum is True', SEQUENCE),
    # The iteration
    Mutant("every extrapolated step is accepted", SOLVER, "gamma > 0 and after.progress.f_tau <= self._now.progress.f_tau", "gamma > 0", STEPS),
    Mutant("a rejected step is kept", SOLVER, "after = self._stepped(0.0)", "after = self._stepped(gamma)", STEPS),
    Mutant("the gradient is too long", SOLVER, "self._problem.gradient(point.seen, -1 / self._regulariser.tau)", "self._problem.gradient(point.seen, -1.0)", STEPS),
    Mutant("the step along a graph is too long", SOLVER, "(roughness, 1 / self._regulariser.tau)", "(roughness, 1.0)", STEPS),
    Mutant("the energy of a graph is halved in F_tau", SOLVER, "+ energy / 2 +", "+ energy / 4 +", (f"{TWO}::test_the_energy_of_a_graph_is_a_part_of_the_objective",)),
    Mutant("F_tau is the objective", SOLVER, "f_tau = objective + self._regulariser.disagreement(values, square)", "f_tau = objective", STEPS),
    Mutant("no extra directions", SOLVER, "EXTRA_DIRECTIONS = 3", "EXTRA_DIRECTIONS = 0", (f"{TWO}::test_three_directions_beyond_the_rank_are_followed",)),
    Mutant("no extra directions beyond a rank limit", SOLVER, "self._regulariser.max_ranks[d] + EXTRA_DIRECTIONS", "self._regulariser.max_ranks[d]", (f"{TWO}::test_a_rank_limit_leaves_room_for_extra_directions",)),
    Mutant("a full block does not double", SOLVER, "(max(rank, EXTRA_DIRECTIONS) if rank == basis.shape[1] > 0 else EXTRA_DIRECTIONS)", "EXTRA_DIRECTIONS", (f"{TWO}::test_a_rank_that_fills_its_block_may_double",)),
    Mutant("the first block is small", SOLVER, "FIRST_RANK = 5", "FIRST_RANK = 1", (f"{TWO}::test_a_rank_that_fills_its_block_may_double",)),
    Mutant("the first directions have not converged", SOLVER, "FIRST_SWEEPS = 20", "FIRST_SWEEPS = 1", (f"{TWO}::test_the_first_directions_have_converged",)),
    Mutant("a resumed run has no step before", SOLVER, 'self._now if state["before"] is None else self._standing(state["before"])', "self._now", ("methods/nort/test_resuming.py",)),
    # The regulariser
    Mutant("the threshold of each mode has its own lambda", AVERAGE, "self.total / self.tau)", "self.lam[d] / self.tau)", STEPS),
    Mutant("all modes weigh the same", AVERAGE, "value / total if total else", "", STEPS),
    Mutant("components that disagree cost nothing", AVERAGE, "self.tau / 2 * (squares - square)", "0.0 * (squares - square)", STEPS),
    Mutant("ranks have no limit", AVERAGE, "s[: self.max_ranks[d]]", "s", (f"{NORT}::test_one_lambda_theta_and_rank_per_mode",)),
    # Settings
    Mutant("the default theta of LSP is its weight", METHOD, "(math.sqrt(weight) if penalty == \"lsp\" else weight) or 1.0", "weight or 1.0", (f"{TWO}::test_a_penalty_without_a_theta_bends_at_its_threshold",)),
    Mutant("tau is twice the curvature", METHOD, "STEP_MARGIN = 1.01", "STEP_MARGIN = 2.0", (f"{TWO}::test_tau_is_just_above_the_curvature",)),
    Mutant("a tau below the curvature is taken", METHOD, "if tau < curvature * (1 - ROUNDING):", "if tau < 0:", ("methods/test_units.py",)),
    Mutant("a polish of any loss", METHOD, "may_polish = is_large and _is_least_squares(problem)", "may_polish = is_large", (f"{POLISH}::test_it_is_automatic_for_sparse_least_squares_with_a_nonconvex_penalty_only",)),
    Mutant("modes with hardly two entries in a column", MODES, "entries >= FEWEST_IN_COLUMN * columns(shape, mode)", "entries >= 0", (f"{NORT}::test_modes_with_hardly_two_entries_in_a_column_are_left_out_by_default",)),
    Mutant("lambda keeps its number in another unit", UNITS, "-exponent * (loss - power_of_penalty(penalty))", "0", ("methods/test_units.py",)),
    # The way down to a lambda
    Mutant("thresholds fall by a half", DESCENT, "RATIO = 0.75", "RATIO = 0.5", (f"{TWO}::test_a_lambda_is_reached_through_thresholds_that_fall_by_a_quarter",)),
    Mutant("the way down goes too far", DESCENT, "while now * RATIO > last:", "while now > RATIO * last:", (f"{TWO}::test_a_lambda_is_reached_through_thresholds_that_fall_by_a_quarter",)),
    Mutant("no warm start on the way down", DESCENT, "start = None if result is None else result.model", "start = None", (f"{TWO}::test_a_lambda_is_reached_through_thresholds_that_fall_by_a_quarter",)),
    Mutant("room does not double", DESCENT, "2 * rank + SPARE_RANK", "rank + SPARE_RANK", (f"{TWO}::test_room_doubles_and_some_is_spare",)),
    Mutant("no spare room", DESCENT, "SPARE_RANK = 5", "SPARE_RANK = 1", (f"{TWO}::test_room_doubles_and_some_is_spare",)),
    Mutant("the largest threshold forgets tau", DESCENT, "problem.gradient(zero.seen, -1 / regulariser.tau)", "problem.gradient(zero.seen, -1.0)", (f"{TWO}::test_the_threshold_of_a_whole_answer_is_that_of_its_step",)),
    Mutant("ranks may run away", DESCENT, "> len(observations):\n            raise", "> 1000 * len(observations):\n            raise", (f"{POLISH}::test_a_threshold_below_the_noise_is_refused_in_one_sentence",)),
    # Algorithm 3
    Mutant("the first delta is the size of the residuals", SMOOTHING, "WIDEST = 3.0", "WIDEST = 1.0", (f"{THREE}::test_the_first_delta_is_nearly_three_times_the_size_of_the_residuals",)),
    Mutant("delta falls faster", SMOOTHING, "FASTEST = 0.5", "FASTEST = 0.1", (f"{THREE}::test_delta_falls_by_shrink_or_to_three_times_the_residuals_but_at_most_to_half",)),
    Mutant("the floor does not end the stages", SMOOTHING, "(steady and delta <= self.floor * size) or", "", (f"{THREE}::test_noise_ends_the_stages_at_the_floor",)),
    Mutant("residuals that shrink end the stages", SMOOTHING, "(steady and delta <= self.floor * size)", "(delta <= self.floor * size)", (f"{THREE}::test_residuals_that_still_shrink_do_not_end_the_stages",)),
    Mutant("any size of the residuals is steady", SMOOTHING, "STEADY = 0.97", "STEADY = 0.5", (f"{THREE}::test_residuals_that_still_shrink_do_not_end_the_stages",)),
    Mutant("a tiny delta does not end the stages", SMOOTHING, "or delta <= SMALLEST * first", "", (f"{THREE}::test_data_that_is_fitted_exactly_ends_the_stages_at_a_share_of_the_first_delta",)),
    Mutant("another tiny delta ends the stages", SMOOTHING, "SMALLEST = 1e-4", "SMALLEST = 1e-2", (f"{THREE}::test_data_that_is_fitted_exactly_ends_the_stages_at_a_share_of_the_first_delta",)),
    Mutant("no change of the objective does not end the stages", SMOOTHING, "and change <= self.tol:", "and change < 0:", (f"{THREE}::test_an_objective_that_no_longer_changes_ends_the_stages",)),
    Mutant("no change ends the stages at any delta", SMOOTHING, "stage.delta <= min(size, theta) and", "", (f"{THREE}::test_no_change_ends_stages_whose_delta_is_above_the_residuals",)),
    Mutant("a stage ends by another tolerance", SMOOTHING, "self._settings.stage_tol * abs(after)", "self._settings.tol * abs(after)", (f"{THREE}::test_a_stage_ends_when_f_tau_changes_little_and_not_before",)),
    Mutant("a run converges before its last stage", SMOOTHING, "return self.f_tau if self.last else math.nan", "return self.f_tau", (f"{THREE}::test_a_run_converges_in_its_last_stage_only",)),
    Mutant("the last delta is above theta", SMOOTHING, "delta = min(delta, theta)\n", "pass\n", (f"{THREE}::test_the_last_stage_has_the_loss_itself_within_its_reach",)),
    # The polish
    Mutant("a polish that gains less than a step is kept", POLISHING, "> self._last_gain:", "> 0:", (f"{POLISH}::test_a_polish_must_gain_more_than_an_ordinary_step",)),
    Mutant("a polish does not wait for steady ranks", POLISHING, "self._wait <= 0 and self._steady >= STEADY", "self._wait <= 0", (f"{POLISH}::test_a_polish_waits_until_ranks_were_the_same_three_times",)),
    Mutant("no polish tries the strong directions alone", POLISHING, "lean=self._distance > FIRST_POLISH", "lean=False", (f"{POLISH}::test_later_polishes_keep_the_fit_that_lowers_f_tau_most",)),
    Mutant("every direction is strong", POLISHING, "DOUBTFUL = 20.0", "DOUBTFUL = 0.0", (f"{POLISH}::test_a_lean_polish_leaves_out_the_directions_that_fit_noise",)),
    Mutant("no fresh directions", POLISHING, "if not any(missing.values()):", "if True:", (f"{POLISH}::test_a_polish_finds_a_direction_that_the_strong_ones_hid",)),
    # The loop
    Mutant("one small change is enough", LOOP, "self._small_changes >= 2", "self._small_changes >= 1", ("methods/test_loop.py",)),
    Mutant("small changes need not be consecutive", LOOP, "self._small_changes + 1 if is_small else 0", "self._small_changes + is_small", ("methods/test_loop.py",)),
    Mutant("it may converge too early", LOOP, "and iteration >= limits.at_least", "", (f"{NORT}::test_it_does_not_count_as_converged_before_it_may",)),
)  # fmt: skip
