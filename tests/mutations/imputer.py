"""Mistakes in the imputer of tables."""

from __future__ import annotations

from . import Mutant

STACKING = "sklearn/stacking.py"
COMBINING = "sklearn/combining.py"
GAUSSIAN = "sklearn/gaussian.py"
MISSINGNESS = "sklearn/missingness.py"
RACING = "sklearn/test_racing.py"

MUTANTS = (
    Mutant(
        "few trees count as they are",
        STACKING,
        "return gram - np.diag(lost), weighted.T @ self.left",
        "return gram, weighted.T @ self.left",
        (RACING,),
    ),
    Mutant("models leave without caution", STACKING, "CAUTION = 2.0", "CAUTION = -2.0", (RACING,)),
    Mutant("no model leaves", STACKING, "if best_cases[place] >= WORTH:", "if best_cases[place] >= 0:", (RACING,)),
    Mutant(
        "the race never ends early",
        COMBINING,
        "if not self.racing or len(together.left) >= ENOUGH * len(self.held):",
        "if not self.racing:",
        (RACING,),
    ),
    Mutant(
        "trees do not depend on the weight",
        COMBINING,
        "(1 / FEW_TREES - 1 / TREES) * weights**2",
        "(1 / FEW_TREES - 1 / TREES) * weights**0",
        (RACING,),
    ),
    Mutant(
        "filled entries have no variance",
        GAUSSIAN,
        "weighted = counts[:, None, None] * variances",
        "weighted = 0 * counts[:, None, None] * variances",
        (RACING,),
    ),
    Mutant("a row predicts its own gap", MISSINGNESS, "(left / (1 - leverage)) ** 2", "left**2", (RACING,)),
)
