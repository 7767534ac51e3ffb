"""Simple answers beside a fit, at the same held-out entries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .._support.scaling import VALUE
from .._support.types import Floats
from ..labels import Labels
from .holdout.held_out import HeldOut, predicted_values
from .scored import Scored

MEAN, EFFECTS, INTERPOLATION, FIELD = "mean", "effects", "interpolation", "smooth"

BEYOND_CHANCE, LEAST_GAIN = 2.0, 0.02
"""A simple answer is better if its squared errors are lower by this many standard errors of the difference, and by this
share of those of the fit."""


@dataclass(frozen=True)
class Baseline:
    """A simple answer at the same held-out entries as the fit.

    Parameters
    ----------
    kind
        ``"mean"``, the mean of all other entries; ``"effects"``, a mean plus an effect of each index of each mode;
        ``"interpolation"`` between the nearest observed entries before and after along a mode; or ``"smooth"``, a
        smooth field without low rank.
    error
        Its root mean square error, on the scale of the data.
    is_better
        Whether it is significantly better than the fit.
    mode
        The mode of an interpolation.
    """

    kind: str
    error: float = field(metadata=VALUE)
    is_better: bool = False
    mode: int | None = None

    def in_words(self, labels: Labels) -> str:
        """Return a description.

        >>> Baseline("interpolation", 1.5, mode=1).in_words(Labels(("station", "hour"), (None, None)))
        'interpolation along hour'
        """
        if self.mode is not None:
            return f"interpolation along {labels.in_words(self.mode)}"
        return {MEAN: "the mean of all entries", FIELD: "a smooth field alone"}.get(
            self.kind, "the effects of each index"
        )


def baselines_of(simple: Sequence[Scored], fit: HeldOut) -> tuple[Baseline, ...]:
    """Return simple answers on every split, compared with a fit at the same held-out entries; of fields, the best."""
    fields = [each for each in simple if each.recipe.after]
    shown = [each for each in simple if not each.recipe.after]
    if fields:
        shown.append(min(fields, key=lambda each: float(each.losses.mean())))
    return tuple(_compared(each, fit) for each in shown)


def _compared(simple: Scored, fit: HeldOut) -> Baseline:
    squares = (predicted_values(simple.splits, simple.models) - fit.observed) ** 2
    gain = fit.residuals**2 - squares
    chance = BEYOND_CHANCE * float(gain.std(dtype=np.float64)) / math.sqrt(len(gain))
    least = LEAST_GAIN * float(np.mean(fit.residuals**2, dtype=np.float64))
    # Constant values equal their mean exactly, while any fit differs from them by its tolerance.
    varied = float(np.ptp(fit.observed)) > 0
    is_better = varied and bool(gain.mean(dtype=np.float64) > max(chance, least))
    method = simple.recipe.method
    kind = FIELD if simple.recipe.after else method.name
    return Baseline(kind, _root_mean(squares), is_better, getattr(method, "along", None))


def _root_mean(squares: Floats) -> float:
    return float(np.sqrt(np.mean(squares, dtype=np.float64)))
