"""Simple answers on held-out entries: the mean, effects of each index, interpolation. A fit must not be worse."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from .._support.clock import Clock
from ..losses import Square
from ..methods.base import Method
from ..methods.simple import Effects, Interpolation, Mean
from ..models import Model
from .context import Context
from .holdout.splits import Split, losses_of
from .neighbours import ordered_modes
from .scored import Scored
from .search.trials import Trials
from .search.walk import Walk
from .stages.base import After, Before
from .stages.centre import Centre, can_centre


def simple_answers(splits: Sequence[Split], clock: Clock, unordered: Collection[int] = ()) -> list[Scored]:
    """Return the answers that take a moment, whether the clock has expired or not.

    Parameters
    ----------
    splits
        The splits, as they are before any stage.
    clock
        The clock of the run; effects on scores are those so far if it has expired.
    unordered
        Modes without an order, along which nothing is interpolated.
    """
    found = [_scored(Mean(), splits)]
    if can_centre(splits[0].problem.loss):
        found.append(effects_alone(splits, clock))
    return found + [_scored(Interpolation(along=mode), splits) for mode in _ordered(splits[0], unordered)]


def effects_alone(splits: Sequence[Split], clock: Clock) -> Scored:
    """Return the mean and the effects as an answer on every split; zero for a loss that they cannot be fitted for."""
    if not can_centre(splits[0].problem.loss):
        return _scored(Effects(), splits)
    return _scored(Effects(), [split.centred(clock) for split in splits], (Centre(),))


def stage_alone(splits: Sequence[Split], stage: After, models: Sequence[Model]) -> Scored:
    """Return what a stage after the method makes of zero on every split, as an answer."""
    zero = _scored(Effects(), splits)
    return replace(zero, recipe=replace(zero.recipe, after=(stage,)), models=models, losses=losses_of(splits, models))


def _scored(method: Method, splits: Sequence[Split], before: tuple[Before, ...] = ()) -> Scored:
    # Its own clock and generator: the time may be up, and nothing else must depend on the moment.
    trials = Trials(splits, Context(np.random.default_rng(0)), tuple(stage.brief for stage in before))
    return Scored.of(trials, Walk(method), trials.run(method, None, tried={}), before)


def _ordered(split: Split, unordered: Collection[int]) -> list[int]:
    """Return the modes along which neighbours are alike; none if slices without entries are left out."""
    if split.unseen is None or not isinstance(split.problem.loss, Square):
        return []
    # A separate generator, so that no other random choice depends on the comparison.
    alike = ordered_modes(split.problem.observations, np.random.default_rng(0))
    return [mode for mode in alike if mode not in unordered]
