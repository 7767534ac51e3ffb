"""Centring: the mean and the effect of each index are subtracted first and added again at the end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..losses import Huber, Loss, Square
from ..methods.problem import Problem
from ..models.additive import Additive
from ..observations import Observations
from .additive_effects import fit_additive
from .splits import Split
from .trials import error_of

WORTH_CENTRING = 1.5
"""Centring is tried if the mean and the effects alone have at most this many times the best error without it."""


def can_centre(loss: Loss) -> bool:
    """Return whether a loss depends on differences only, so that the same offset can be subtracted from both sides."""
    return isinstance(loss, Square | Huber)


def may_help(splits: Sequence[Split], error: float) -> bool:
    """Return whether the mean and the effects alone come near to an error on the held-out entries."""
    losses = []
    for split in splits:
        prediction = extended(offset_of(split), split).predict(split.held_out.coords)
        losses.append(split.problem.loss.value(prediction, split.held_out.values))
    return error_of(np.concatenate(losses)) <= WORTH_CENTRING * error


def offset_of(split: Split) -> Additive:
    """Return the mean and the effects of the entries to fit."""
    return fit_additive(split.problem.observations)


def centred_split(split: Split) -> Split:
    """Return a split with the mean and the effects of its entries to fit subtracted from all entries."""
    offset = offset_of(split)
    problem = Problem(_without(split.problem.observations, offset), split.problem.loss)
    return Split(problem, _without(split.held_out, extended(offset, split)), split.reduced)


def extended(offset: Additive, split: Split) -> Additive:
    """Return the mean and the effects for all slices, from those of the slices that are fitted."""
    effects = list(offset.effects)
    for extension in () if split.reduced is None else split.reduced.extensions:
        effects[extension.mode] = extension.matrix @ effects[extension.mode]
    return Additive(offset.mean, tuple(effects))


def _without(observations: Observations, offset: Additive) -> Observations:
    return observations.with_values(observations.values - offset.predict(observations.coords))
