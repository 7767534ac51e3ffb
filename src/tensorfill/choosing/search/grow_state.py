"""The state of the growing search: its models, their residuals, and tests of richer models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...methods.grow import Grow
from ...methods.grow.growth import MOST_IN_BLOCK, SWEEPS, Growth
from ...methods.tucker_least_squares import MOST_DIRECT
from ...models import CPModel, Model, Tucker
from .base import Trial
from .slope import Slope, slope_of
from .trials import Trials

MOST_SWEEPS = 8
SWEEP_TOLERANCE = 1e-2
"""A model that has grown is swept at most this often, or until the sum of squares falls by less than this share."""

FEW_UNKNOWNS, MOST_UNKNOWNS = 0.1, 0.7
"""With more unknowns per entry than the first, residuals are too small to show what is left in them; a model does not
grow beyond the second."""

MORE_THAN_NOISE = 1.5
"""Errors at held-out entries that are this many times what noise makes of those at fitted ones are more than noise."""

EXACT = 1e-5
"""A held-out error below this share of the data counts as exact."""


class GrowState:
    """The best models so far, one for each split.

    Parameters
    ----------
    settings
        The method with its open settings.
    """

    _trials: Trials
    _growths: list[Growth]
    _kept: Trial

    def __init__(self, settings: Grow) -> None:
        self._settings = settings

    def _tried(self, models: Sequence[Model], sweeps: int = MOST_SWEEPS, tol: float = SWEEP_TOLERANCE) -> Trial:
        """Return the trial of sweeps from these models."""
        ranks = models[0].ranks
        if isinstance(models[0], CPModel):
            method = replace(self._settings, rank=ranks[0], form="cp")
        else:
            method = replace(self._settings, rank=ranks, form="tucker")
            if math.prod(ranks[mode] for mode in self._free) > MOST_DIRECT:
                sweeps = min(sweeps, SWEEPS)
        return self._trials.run(method, models, tried={"rank": max(ranks)}, max_iter=sweeps, tol=tol)

    def _keep(self, trial: Trial) -> None:
        self._kept = trial
        self._trials.prefer(trial)

    def _kept_if_worth_it(self, trial: Trial, certainty: float) -> bool:
        if not self._is_worth_it(trial.models, self._kept.models, certainty):
            return False
        self._keep(trial)
        return True

    @property
    def _is_cp(self) -> bool:
        return isinstance(self._kept.models[0], CPModel)

    @property
    def _models(self) -> list[Tucker]:
        """The model in Tucker form on each split."""
        return [model for model in self._kept.models if isinstance(model, Tucker)]

    @property
    def _ranks(self) -> tuple[int, ...]:
        return self._models[0].ranks

    @property
    def _free(self) -> tuple[int, ...]:
        return self._growths[0].free

    @property
    def _empty(self) -> bool:
        return not self._is_cp and self._models[0].core.size == 0

    def _slope(self, rich: Sequence[Model], simple: Sequence[Model]) -> Slope:
        """Return the slope of what a richer model adds."""
        below = self._trials.predictions(simple)
        difference, left = self._trials.predictions(rich) - below, self._trials.held_out_values - below
        return slope_of(difference, left)

    def _is_worth_it(self, rich: Sequence[Model], simple: Sequence[Model], certainty: float) -> bool:
        slope = self._slope(rich, simple)
        return slope.certainty >= certainty and slope.value > 0.5

    def _has_room_for(self, more: Mapping[int, int]) -> bool:
        """Return whether there are enough entries and memory for this many more directions."""
        shape, ranks = self._models[0].shape, self._ranks
        grown = [rank + more.get(mode, 0) for mode, rank in enumerate(ranks)]
        block = math.prod(grown[mode] for mode in self._free)
        unknowns = math.prod(grown) + sum(shape[mode] * grown[mode] for mode in self._free)
        return block <= MOST_IN_BLOCK and unknowns <= MOST_UNKNOWNS * len(self._growths[0].observations)

    @property
    def _has_room_for_a_term(self) -> bool:
        """Whether there are enough entries for one more term."""
        terms = self._kept.models[0].ranks[0] + 1 if self._is_cp else 1
        observations = self._growths[0].observations
        return terms * sum(observations.shape) <= MOST_UNKNOWNS * len(observations)

    def _count_left(self) -> int:
        """Return the number of directions of the residuals above the noise, in the mode that has most."""
        found = self._growths[0].directions(self._kept.models[0])
        return max(int(columns.shape[1]) for columns in found.values())

    def _is_left(self, margin: float) -> bool:
        """Return whether a mode of the residuals has a direction above the noise by the factor `margin`."""
        found = self._growths[0].directions(self._kept.models[0], margin)
        return not self._empty and any(columns.shape[1] for columns in found.values())

    @property
    def _is_exact(self) -> bool:
        """Whether only rounding errors are left."""
        size = float(np.sqrt(np.mean(self._trials.held_out_values**2)))
        return self._kept.point.held_out < EXACT * size

    @property
    def _unknowns(self) -> float:
        """The number of unknowns as a share of the number of fitted entries."""
        count = sum(array.size for array in self._kept.models[0].to_arrays().values())
        return count / len(self._growths[0].observations)

    @property
    def _few_unknowns(self) -> bool:
        """Whether residuals are large enough to show what is left in them."""
        return self._unknowns <= FEW_UNKNOWNS

    @property
    def _predicts_as_it_fits(self) -> bool:
        """Whether the errors at held-out entries are what noise makes of them, given those at the fitted ones.

        With p unknowns and n fitted entries, noise alone makes the mean squares differ by (n + p) / (n - p). More than
        that is something that the model does not know, even if its residuals do not show it.
        """
        share, point = self._unknowns, self._kept.point
        return share < 1 and point.held_out <= MORE_THAN_NOISE * point.training * math.sqrt((1 + share) / (1 - share))
