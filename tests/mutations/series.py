"""Mistakes in the methods with an autoregression."""

from __future__ import annotations

from . import Mutant

AUTOREGRESSION = "baselines/series/autoregression.py"
LATC = "baselines/series/latc.py"
TRMF = "baselines/series/trmf.py"
PANEL = "baselines/series/panel.py"
OF_LATC = "baselines/series/test_latc.py"
OF_TRMF = "baselines/series/test_trmf.py"
DIRECTLY = (f"{OF_LATC}::test_iterations_are_those_of_a_direct_implementation",)
MINIMUM = f"{OF_TRMF}::test_the_end_is_a_minimum_over_all_unknowns_and_the_objective_is_as_documented"

MUTANTS = (
    Mutant(
        "coefficients have no ridge",
        AUTOREGRESSION,
        "damping = ridge + np.where",
        "damping = np.where",
        ("baselines/series/test_autoregression.py",),
    ),
    Mutant(
        "a gap has a ridge of one",
        TRMF,
        "least + SMALLEST)",
        "np.where(least > 0, least, 1.0))",
        (f"{OF_TRMF}::test_a_gap_of_all_series_is_filled_by_time_alone",),
    ),
    Mutant(
        "lengths are stretched the wrong way",
        TRMF,
        "series / scale, time * scale",
        "series * scale, time / scale",
        (OF_TRMF,),
    ),
    Mutant("lengths follow the ridge alone", TRMF, " + self._lam_time * np.sum(left**2, axis=0)", "", (MINIMUM,)),
    Mutant(
        "series without entries are zero",
        PANEL,
        "np.tile(series.mean(axis=0), (count, 1))",
        "np.zeros((count, series.shape[1]))",
        (f"{OF_TRMF}::TestForms::test_a_series_without_entries_is_the_mean_of_the_others",),
    ),
    Mutant("multipliers have the wrong sign", LATC, "multiplier + zeta * low", "multiplier - zeta * low", DIRECTLY),
    Mutant("the threshold is that of one mode", LATC, "weight / zeta)", "1 / zeta)", DIRECTLY),
    Mutant("observed entries have a part in the system", LATC, "image *= self._missing", "pass", DIRECTLY),
    Mutant("zeta stays", LATC, "min(self._growth * zeta, self._most)", "zeta", DIRECTLY),
)
