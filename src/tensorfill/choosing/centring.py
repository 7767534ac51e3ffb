"""When centring is worth a try: what the mean and the effects alone predict at held-out entries tells."""

from __future__ import annotations

from collections.abc import Sequence

from .._support.clock import Clock
from .._support.types import Floats
from ..losses import is_score
from ..models import Model
from ..models.folded import nothing
from .holdout.splits import Split, losses_of
from .search.base import are_better
from .search.trials import error_of

WORTH_CENTRING = 1.5
"""Centring is tried if the mean and the effects alone have at most this many times the best error without it."""

UNEVEN = 0.2
"""Scores need a mean if the slopes of one sign outweigh the others by more than this share of all: 60 yes to 40 no."""


def are_balanced(splits: Sequence[Split]) -> bool:
    """Return whether predictions are scores, and zero is about right: slopes cancel, as for as many yes as no."""
    for split in splits:
        observed, loss = split.problem.observations.values, split.problem.loss
        slopes = loss.derivative(0.0 * observed, observed)
        if not is_score(loss) or abs(slopes.sum()) > UNEVEN * abs(slopes).sum():
            return False
    return True


def may_help(splits: Sequence[Split], error: float, clock: Clock) -> bool:
    """Return whether the mean and the effects alone explain something, and come near to an error on held-out entries.

    Among much noise, zero comes near to any error too.
    """
    alone, of_zero = (error_of(each) for each in _losses_of_nothing(splits, clock))
    return alone < of_zero and alone <= WORTH_CENTRING * error


def are_needed(splits: Sequence[Split], clock: Clock) -> bool:
    """Return whether the mean and the effects alone are better than scores of zero on the held-out entries."""
    return are_better(*_losses_of_nothing(splits, clock), clipped=False)


def _losses_of_nothing(splits: Sequence[Split], clock: Clock) -> tuple[Floats, Floats]:
    """Return the loss at each held-out entry if a method adds nothing to centred data, and to data as it is."""
    centred = [split.centred(clock) for split in splits]
    with_effects, without = (losses_of(each, [zero_of(split) for split in each]) for each in (centred, splits))
    return with_effects, without


def zero_of(split: Split) -> Model:
    """Return the model of zeros for the problem of a split."""
    return nothing(split.problem.observations.shape, split.problem.observations.dtype)
