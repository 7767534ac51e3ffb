"""Mistakes in NORT: Algorithm 2, its settings, and the way down to a lambda."""

from __future__ import annotations

from . import Mutant

MOMENTUM = "methods/nort/momentum.py"
SOLVER = "methods/nort/solver.py"
DESCENT = "methods/nort/descent.py"
METHOD = "methods/nort/method.py"
AVERAGE = "methods/nort/proximal_average.py"
MODES = "methods/nort/modes.py"
UNITS = "methods/nort/units.py"
TWO = "methods/nort/test_algorithm_2.py"
NORT = "methods/nort/test_nort.py"
POLISH = "methods/nort/test_polishing.py"
COLUMNS = "methods/nort/test_columns.py::TestWhichColumnsAreKept"
STEPS = ("methods/nort/test_algorithm_2.py::test_every_iteration_is_that_of_algorithm_2",)
SEQUENCE = ("methods/nort/test_algorithm_2.py::test_the_sequence_of_extrapolations",)

MUTANTS = (
    # Momentum
    Mutant("the restart rule has another denominator", MOMENTUM, "(self._steps + 2)", "(self._steps + 3)", SEQUENCE),
    Mutant("the restart rule has another numerator", MOMENTUM, "(self._steps - 1)", "self._steps", SEQUENCE),
    Mutant(
        "the first step of the restart rule is the second", MOMENTUM, "self._steps = 1\n", "self._steps = 2\n", STEPS
    ),
    Mutant("a restart begins one step late", MOMENTUM, "if accepted else 2", "if accepted else 1", STEPS),
    Mutant("no restart", MOMENTUM, "self._steps + 1 if accepted else 2", "self._steps + 1", STEPS),
    Mutant("gamma_1 of Algorithm 2", MOMENTUM, "gamma: float = 0.1", "gamma: float = 0.2", STEPS),
    Mutant("p of Algorithm 2", MOMENTUM, "p: float = 0.5", "p: float = 0.4", STEPS),
    Mutant("gamma may exceed one", MOMENTUM, "min(self.gamma / self._p, 1.0)", "self.gamma / self._p", SEQUENCE),
    Mutant("gamma does not fall", MOMENTUM, "else self.gamma * self._p", "else self.gamma", STEPS),
    Mutant(
        "True is the adaptive rule",
        MOMENTUM,
        '"restart" if momentum is True',
        '"adaptive" if momentum is True',
        SEQUENCE,
    ),
    # The iteration
    Mutant(
        "every extrapolated step is accepted",
        SOLVER,
        "gamma > 0 and after.progress.f_tau <= self._now.progress.f_tau",
        "gamma > 0",
        STEPS,
    ),
    Mutant("a rejected step is kept", SOLVER, "after = self._stepped(0.0)", "after = self._stepped(gamma)", STEPS),
    Mutant(
        "the gradient is too long",
        SOLVER,
        "problem.gradient(point.seen, -step, ",
        "problem.gradient(point.seen, -1.0, ",
        STEPS,
    ),
    Mutant(
        "the step along a graph is too long",
        SOLVER,
        "(problem.roughness, step)",
        "(problem.roughness, 1.0)",
        STEPS,
    ),
    Mutant(
        "the energy of a graph is halved in F_tau",
        SOLVER,
        "+ energy / 2 +",
        "+ energy / 4 +",
        (f"{TWO}::test_the_energy_of_a_graph_is_a_part_of_the_objective",),
    ),
    Mutant(
        "F_tau is the objective",
        SOLVER,
        "f_tau = objective + self._regulariser.disagreement(values, square)",
        "f_tau = objective",
        STEPS,
    ),
    Mutant(
        "no extra directions",
        SOLVER,
        "EXTRA_DIRECTIONS = 3",
        "EXTRA_DIRECTIONS = 0",
        (f"{TWO}::test_three_directions_beyond_the_rank_are_followed",),
    ),
    Mutant(
        "no extra directions beyond a rank limit",
        SOLVER,
        "self._regulariser.max_ranks[d] + EXTRA_DIRECTIONS",
        "self._regulariser.max_ranks[d]",
        (f"{TWO}::test_a_rank_limit_leaves_room_for_extra_directions",),
    ),
    Mutant(
        "a full block does not double",
        SOLVER,
        "(max(rank, EXTRA_DIRECTIONS) if rank == basis.shape[1] > 0 else EXTRA_DIRECTIONS)",
        "EXTRA_DIRECTIONS",
        (f"{TWO}::test_a_rank_that_fills_its_block_may_double",),
    ),
    Mutant(
        "the first block is small",
        SOLVER,
        "FIRST_RANK = 5",
        "FIRST_RANK = 1",
        (f"{TWO}::test_a_rank_that_fills_its_block_may_double",),
    ),
    Mutant(
        "the first directions have not converged",
        SOLVER,
        "FIRST_SWEEPS = 20",
        "FIRST_SWEEPS = 1",
        (f"{TWO}::test_the_first_directions_have_converged",),
    ),
    Mutant(
        "a resumed run has no step before",
        SOLVER,
        'self._now if state["before"] is None else self._standing(state["before"])',
        "self._now",
        ("methods/nort/test_resuming.py",),
    ),
    # The regulariser
    Mutant(
        "the threshold of each mode has its own lambda",
        AVERAGE,
        "self.total / self.tau)",
        "self.lam[d] / self.tau)",
        STEPS,
    ),
    Mutant("all modes weigh the same", AVERAGE, "value / total if total else", "", STEPS),
    Mutant(
        "components that disagree cost nothing",
        AVERAGE,
        "self.tau / 2 * (squares - square)",
        "0.0 * (squares - square)",
        STEPS,
    ),
    Mutant(
        "ranks have no limit",
        AVERAGE,
        "s[: self.max_ranks[d]]",
        "s",
        (f"{NORT}::test_one_lambda_theta_and_rank_per_mode",),
    ),
    # Settings
    Mutant(
        "the default theta of LSP is its weight",
        METHOD,
        '(math.sqrt(weight) if penalty == "lsp" else weight) or 1.0',
        "weight or 1.0",
        (f"{TWO}::test_a_penalty_without_a_theta_bends_at_its_threshold",),
    ),
    Mutant(
        "tau is twice the curvature",
        METHOD,
        "STEP_MARGIN = 1.01",
        "STEP_MARGIN = 2.0",
        (f"{TWO}::test_tau_is_just_above_the_curvature",),
    ),
    Mutant(
        "a tau below the curvature is taken",
        METHOD,
        "if tau < curvature * (1 - ROUNDING):",
        "if tau < 0:",
        ("methods/test_units.py",),
    ),
    Mutant(
        "a polish of any loss",
        METHOD,
        "may_polish = is_large and _is_least_squares(problem)",
        "may_polish = is_large",
        (f"{POLISH}::test_it_is_automatic_for_sparse_least_squares_with_a_nonconvex_penalty_only",),
    ),
    Mutant(
        "modes with hardly two entries in a column",
        MODES,
        "entries >= FEWEST_IN_COLUMN * columns(shape, mode)",
        "entries >= 0",
        (f"{NORT}::test_modes_with_hardly_two_entries_in_a_column_are_left_out_by_default",),
    ),
    Mutant(
        "entries are counted in place of observed columns",
        "methods/memory.py",
        "sum(len(observed_columns(observations.coords, shape, mode)) for mode in modes) < most",
        "False",
        (f"{COLUMNS}::test_columns_are_counted_and_not_entries",),
    ),
    Mutant(
        "an observed column costs as much as another",
        "methods/memory.py",
        "OBSERVED_COST = 4",
        "OBSERVED_COST = 1",
        (f"{COLUMNS}::test_columns_are_counted_and_not_entries",),
    ),
    Mutant(
        "the columns of one component decide",
        "methods/memory.py",
        "sum(len(observed_columns(observations.coords, shape, mode)) for mode in modes) < most",
        "max(len(observed_columns(observations.coords, shape, mode)) for mode in modes) < most",
        (f"{COLUMNS}::test_the_columns_of_all_components_are_counted_together",),
    ),
    Mutant(
        "lambda keeps its number in another unit",
        UNITS,
        "-exponent * (loss - power_of_penalty(penalty))",
        "0",
        ("methods/test_units.py",),
    ),
    # The way down to a lambda
    Mutant(
        "thresholds fall by a half",
        DESCENT,
        "RATIO = 0.75",
        "RATIO = 0.5",
        (f"{TWO}::test_a_lambda_is_reached_through_thresholds_that_fall_by_a_quarter",),
    ),
    Mutant(
        "the way down goes too far",
        DESCENT,
        "while now * RATIO > last:",
        "while now > RATIO * last:",
        (f"{TWO}::test_a_lambda_is_reached_through_thresholds_that_fall_by_a_quarter",),
    ),
    Mutant(
        "no warm start on the way down",
        DESCENT,
        "start = None if result is None else result.model",
        "start = None",
        (f"{TWO}::test_a_lambda_is_reached_through_thresholds_that_fall_by_a_quarter",),
    ),
    Mutant(
        "room does not double",
        DESCENT,
        "2 * rank + SPARE_RANK",
        "rank + SPARE_RANK",
        (f"{TWO}::test_room_doubles_and_some_is_spare",),
    ),
    Mutant(
        "no spare room", DESCENT, "SPARE_RANK = 5", "SPARE_RANK = 1", (f"{TWO}::test_room_doubles_and_some_is_spare",)
    ),
    Mutant(
        "the largest threshold forgets tau",
        DESCENT,
        "problem.gradient(zero.seen, -1 / regulariser.tau)",
        "problem.gradient(zero.seen, -1.0)",
        (f"{TWO}::test_the_threshold_of_a_whole_answer_is_that_of_its_step",),
    ),
    Mutant(
        "ranks may run away",
        DESCENT,
        "> len(observations):\n            raise",
        "> 1000 * len(observations):\n            raise",
        (f"{POLISH}::test_a_threshold_below_the_noise_is_refused_in_one_sentence",),
    ),
)
