"""Polishing an answer by least squares on the ranks that were found, if held-out entries agree."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._support.checks import whole_number
from ..._support.clock import Clock
from ..._support.types import Floats
from ...labels import Labels
from ...methods.problem import Problem
from ...methods.tucker_als import TuckerAls
from ...models import FoldedLowRank, Model
from .base import After

MOST_SWEEPS = 4
"""The most sweeps of alternating least squares in a polish."""

GAP = 3.0
"""Signal singular values rarely fall by this factor from one to the next; from signal to noise they often do."""


@dataclass(frozen=True)
class Polish(After):
    """Least squares on the ranks that were found.

    Parameters
    ----------
    to_the_gap
        Whether ranks are first cut at the largest gap among the singular values. Noise beyond it would be fitted in
        full.
    sweeps
        The number of sweeps of alternating least squares.
    """

    name: ClassVar[str] = "refine"
    title: ClassVar[str] = "Polished"

    to_the_gap: bool = False
    sweeps: int = MOST_SWEEPS

    def __post_init__(self) -> None:
        whole_number(self.sweeps, "sweeps", at_least=1)

    def in_words(self, labels: Labels) -> str:
        """Return what it did."""
        return "by least squares on the ranks that were found"

    def improve(self, problem: Problem, model: Model, clock: Clock, near: Model | None = None) -> Model:
        """Return the polished model. A model of another kind, or with too many unknowns, is left as it is."""
        if not isinstance(model, FoldedLowRank):
            return model
        if self.to_the_gap:
            cut = to_the_gap(model)
            if cut.ranks == model.ranks:
                return model
            model = cut
        method = TuckerAls(rank=model.ranks, max_iter=self.sweeps, tol=0.0)
        if not method.can_start_from(model, problem) or not any(model.ranks):
            return model
        return method.solve(problem, start=model, rng=0, clock=clock).finished_or_stopped().model

    @classmethod
    def proposed(cls, problem: Problem, asked: Any, without: Collection[int]) -> Sequence[Sequence[After]]:
        """Return more and more sweeps, on all ranks and on those up to the gap."""
        if asked != "tucker":
            return ()
        return [[cls(gap, sweeps) for sweeps in range(1, MOST_SWEEPS + 1)] for gap in (False, True)]

    @classmethod
    def is_kept(cls, asked: Any, losses: Floats, before: Floats, *, is_better: bool) -> bool:
        """Return whether the held-out loss falls."""
        return bool(losses.sum() < before.sum())


def to_the_gap(model: FoldedLowRank) -> FoldedLowRank:
    """Return a model without the singular values beyond the largest gap among them."""
    return model.truncated([_before_the_gap(part.s) for part in model.components])


def _before_the_gap(s: Floats) -> int:
    """Return the number of singular values before the largest ratio of one to the next, if that is a gap.

    >>> _before_the_gap(np.array([9.0, 7.0, 0.5, 0.4])), _before_the_gap(np.array([9.0, 4.0, 2.0]))
    (2, 3)
    """
    ratios = s[:-1] / s[1:]
    return int(np.argmax(ratios)) + 1 if ratios.max(initial=0) > GAP else len(s)
