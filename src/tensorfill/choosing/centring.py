"""Centring: a mean and an effect of each index are fitted first, and the method fits what they leave.

For the square loss they are subtracted from the values. For a loss whose prediction is a score, they are scores too,
and the method adds to them: without them a score of zero would say that yes is as likely as no, or that a count is one.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._support.clock import Clock
from .._support.types import Floats
from ..losses import Huber, Loss, Square, is_score
from ..methods.search import are_better
from ..models import Model
from .smooth_field import nothing
from .splits import Split, effects_of
from .trials import error_of, losses_of

WORTH_CENTRING = 1.5
"""Centring is tried if the mean and the effects alone have at most this many times the best error without it."""

UNEVEN = 0.2
"""Scores need a mean if the slopes of one sign outweigh the others by more than this share of all: 60 yes to 40 no."""


def is_of_differences(loss: Loss) -> bool:
    """Return whether a loss depends on differences only, so that the same offset can be subtracted from both sides."""
    return isinstance(loss, Square | Huber)


def are_balanced(splits: Sequence[Split]) -> bool:
    """Return whether predictions are scores, and zero is about right: slopes cancel, as for as many yes as no."""
    for split in splits:
        observed, loss = split.problem.observations.values, split.problem.loss
        slopes = loss.derivative(0.0 * observed, observed)
        if not is_score(loss) or abs(slopes.sum()) > UNEVEN * abs(slopes).sum():
            return False
    return True


def can_centre(loss: Loss) -> bool:
    """Return whether a mean and effects can be fitted first."""
    return is_of_differences(loss) or is_score(loss)


def may_help(splits: Sequence[Split], error: float) -> bool:
    """Return whether the mean and the effects alone explain something, and come near to an error on held-out entries.

    Among much noise, zero comes near to any error too.
    """
    centred = [centred_split(split) for split in splits]
    alone, of_zero = (error_of(_losses_of_nothing(each)) for each in (centred, splits))
    return alone < of_zero and alone <= WORTH_CENTRING * error


def are_needed(splits: Sequence[Split], clock: Clock) -> bool:
    """Return whether the mean and the effects alone are better than scores of zero on the held-out entries."""
    centred = [centred_split(split, clock) for split in splits]
    return are_better(_losses_of_nothing(centred), _losses_of_nothing(splits), clipped=False)


def _losses_of_nothing(splits: Sequence[Split]) -> Floats:
    """Return the loss at each held-out entry if the method adds nothing."""
    return losses_of(splits, [nothing(split.problem.observations) for split in splits])


def centred_split(split: Split, clock: Clock | None = None) -> Split:
    """Return the split of what the mean and the effects leave; see `Split.effects`."""
    return split.beyond(split.effects(clock))


def centred_beside(split: Split, model: Model, clock: Clock | None = None) -> Split:
    """Return the split of what the mean and the effects leave, fitted beside a model of the rest.

    Parameters
    ----------
    split
        The split as it is, not centred.
    model
        A model of what an earlier mean and earlier effects left.
    clock
        Ends the fit of the effects when it expires.
    """
    problem = split.problem
    return split.beyond(effects_of(problem.beyond(model.predict(problem.observations.coords)), clock))
