"""Mistakes in what keeps answers honest: simple answers, corrected errors, doubts, rounding and the clock."""

from __future__ import annotations

from . import Mutant

CHOOSE = "choosing/choose.py"
CONTEST = "choosing/contest.py"
COMPLETING = "choosing/completing.py"
OPTIMISM = "choosing/optimism.py"
DOUBTS = "choosing/doubts.py"
SCALE = "choosing/stages/scale.py"
CLOCK = "_support/clock.py"
UNFOLDINGS = "algebra/sparse_unfoldings.py"
INTERPOLATION = "methods/simple/interpolation.py"
SIMPLE = ("choosing/test_simple.py",)
CORRECTED = ("choosing/test_optimism.py",)
DOUBTFUL = ("test_doubtful_fits.py",)
DEADLINES = ("choosing/test_deadlines.py",)

BLENDING = "choosing/blending.py"
BLEND_TESTS = ("choosing/test_blending.py",)

MUTANTS = (
    # Blends
    Mutant(
        "a blend goes all the way",
        BLENDING,
        "weights[best] += 1 - way",
        "weights /= max(way, 1e-300)",
        BLEND_TESTS,
    ),
    Mutant(
        "a blend is kept without a gain",
        BLENDING,
        "if np.mean((alone - way * step) ** 2) > (1 - LEAST_PART) * np.mean(alone**2):",
        "if way == 0:",
        BLEND_TESTS,
    ),
    Mutant(
        "weights are judged by the entries that chose them",
        BLENDING,
        "others = np.delete(errors, fold, axis=1)",
        "others = errors",
        BLEND_TESTS,
    ),
    Mutant("small parts of a blend stay", BLENDING, "weights[weights < LEAST] = 0.0", "pass", BLEND_TESTS),
    Mutant(
        "held-out errors above noise leave growing conclusive",
        "choosing/search/grow.py",
        "and self._predicts_as_it_fits",
        "",
        ("methods/grow/test_search.py",),
    ),
    # Simple answers
    Mutant(
        "a simple answer never wins",
        CHOOSE,
        "scored = contest.or_simpler(best.working) if simple else best.working",
        "scored = best.working",
        SIMPLE,
    ),
    Mutant(
        "the worst simple answer is taken",
        CONTEST,
        "best = min(self.simple, key=lambda each: float(each.losses.mean()))",
        "best = max(self.simple, key=lambda each: float(each.losses.mean()))",
        SIMPLE,
    ),
    Mutant(
        "a given method loses to simple answers",
        "completion.py",
        "simple = not every and not settings",
        "simple = True",
        SIMPLE,
    ),
    Mutant(
        "a stopped run keeps the simple answer of the fitted entries only",
        COMPLETING,
        "if scored in contest.quick:",
        "if False:",
        SIMPLE,
    ),
    Mutant(
        "interpolation extrapolates by zero",
        INTERPOLATION,
        "before, after = np.where(before < 0, after, before), np.where(after >= size, before, after)",
        "before, after = np.where(before < 0, 0, before), np.where(after >= size, before, after)",
        ("test_first_minutes.py",),
    ),
    # Errors corrected for the choice
    Mutant(
        "the fold that judges takes part in the choice",
        OPTIMISM,
        "losses @ ~inside.T",
        "losses @ np.ones_like(inside.T)",
        CORRECTED,
    ),
    Mutant(
        "the correction is of the loss, not of its root",
        OPTIMISM,
        "return float(np.sqrt(1 + max(",
        "return float(np.square(1 + max(",
        CORRECTED,
    ),
    Mutant(
        "the correction is not applied",
        COMPLETING,
        "residuals = contest.inflation(scored) * held_out.residuals",
        "residuals = held_out.residuals",
        CORRECTED,
    ),
    Mutant(
        "scores are corrected too",
        CONTEST,
        "inflation(self.judged, scored.losses) if is_of_differences(self.problem.loss) else 1.0",
        "inflation(self.judged, scored.losses)",
        CORRECTED,
    ),
    # Doubts and rounding
    Mutant("small variation is not said", DOUBTS, "LEAST_VARIATION = 0.3", "LEAST_VARIATION = 0.0", DOUBTFUL),
    Mutant("ordinary variation is said", DOUBTS, "LEAST_VARIATION = 0.3", "LEAST_VARIATION = 0.4", DOUBTFUL),
    Mutant("rounding is never refused", SCALE, "MOST_LOST = 0.01", "MOST_LOST = 1e9", DOUBTFUL),
    Mutant("constants cannot be rounded", SCALE, "> MOST_LOST * spread > 0:", "> MOST_LOST * spread:", DOUBTFUL),
    # The clock
    Mutant("no grace for the first step", CLOCK, "GRACE = 0.5", "GRACE = 0.0", DEADLINES),
    Mutant("long steps go on", CLOCK, "clock.overdue > GRACE", "clock.overdue > 1e9 + GRACE", DEADLINES),
    Mutant(
        "the search for directions goes on after the end",
        UNFOLDINGS,
        "            self.clock.check()\n",
        "",
        DEADLINES,
    ),
    Mutant(
        "more directions than columns are asked for",
        UNFOLDINGS,
        "min(count, len(self._columns[mode].starts) - 1)",
        "count",
        DEADLINES,
    ),
    Mutant("terms are appended after the end", "methods/cp.py", "if count and time_is_up():", "if False:", DEADLINES),
    Mutant("any number of terms is taken", "methods/terms.py", "int(rank) > most", "int(rank) > 10**9", DEADLINES),
)
