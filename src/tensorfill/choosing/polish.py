"""Polishing an answer by least squares on the ranks that were found, if held-out entries agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._support.clock import Clock
from .._support.types import Floats
from ..methods.problem import Problem
from ..methods.tucker_als import TuckerAls
from ..models import FoldedLowRank, Model
from .splits import Split
from .trials import losses_of

MOST_SWEEPS = 4
"""The most sweeps of alternating least squares in a polish."""

GAP = 3.0
"""Signal singular values rarely fall by this factor from one to the next; from signal to noise they often do."""


@dataclass(frozen=True)
class Polish:
    """Least squares on the ranks that were found.

    Parameters
    ----------
    to_the_gap
        Whether ranks are first cut at the largest gap among the singular values.
    sweeps
        The number of sweeps of alternating least squares.
    """

    to_the_gap: bool = False
    sweeps: int = MOST_SWEEPS

    def __call__(self, problem: Problem, model: Model, clock: Clock) -> Model:
        """Return the polished model. A model of another kind, or with too many unknowns, is left as it is."""
        if not isinstance(model, FoldedLowRank):
            return model
        if self.to_the_gap:
            model = to_the_gap(model)
        method = TuckerAls(rank=model.ranks, max_iter=self.sweeps, tol=0.0)
        if not method.can_start_from(model, problem) or not any(model.ranks):
            return model
        return method.solve(problem, start=model, rng=0, clock=clock).finished_or_stopped().model


def polished_if_better(
    splits: Sequence[Split], models: Sequence[Model], clock: Clock
) -> tuple[Sequence[Model], Polish | None]:
    """Return the models, polished if that lowers the held-out loss, and how; a sweep that raises it is the last."""
    best, chosen, lowest = models, None, losses_of(splits, models).sum()
    # Noise beyond a gap among the singular values would be fitted in full.
    for how in (Polish(), Polish(to_the_gap=True)):
        if how.to_the_gap and not any(_has_gap(model) for model in models):
            break
        for sweeps in range(1, MOST_SWEEPS + 1):
            way = replace(how, sweeps=sweeps)
            polished = [way(split.problem, model, clock) for split, model in zip(splits, models, strict=True)]
            loss = losses_of(splits, polished).sum()
            if loss >= lowest:
                break
            best, chosen, lowest = polished, way, loss
    return best, chosen


def to_the_gap(model: FoldedLowRank) -> FoldedLowRank:
    """Return a model without the singular values beyond the largest gap among them."""
    return model.truncated([_before_the_gap(part.s) for part in model.components])


def _has_gap(model: Model) -> bool:
    return isinstance(model, FoldedLowRank) and to_the_gap(model).ranks != model.ranks


def _before_the_gap(s: Floats) -> int:
    """Return the number of singular values before the largest ratio of one to the next, if that is a gap.

    >>> _before_the_gap(np.array([9.0, 7.0, 0.5, 0.4])), _before_the_gap(np.array([9.0, 4.0, 2.0]))
    (2, 3)
    """
    ratios = s[:-1] / s[1:]
    return int(np.argmax(ratios)) + 1 if ratios.max(initial=0) > GAP else len(s)
