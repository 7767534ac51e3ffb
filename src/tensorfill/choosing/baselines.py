"""Simple answers at the held-out entries, which a fit should beat: the mean, effects of each index, interpolation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .._support.clock import Clock
from .._support.ordering import fibre_keys
from .._support.scaling import VALUE
from .._support.types import Floats, Integers
from ..labels import Labels
from ..losses import expected, restore
from ..methods.effects.additive import fit_additive
from ..models.folded import nothing
from ..observations import Observations
from .holdout.held_out import HeldOut
from .holdout.splits import Split
from .neighbours import ordered_modes
from .stages.centre import Offset, can_centre

MEAN, EFFECTS, INTERPOLATION = "mean", "effects", "interpolation"

ORDERED = "iufmM"
"""The kinds of labels that have an order: numbers, dates and durations."""

BEYOND_CHANCE, LEAST_GAIN = 2.0, 0.02
"""A simple answer is better if its squared errors are lower by this many standard errors of the difference, and by this
share of those of the fit."""


@dataclass(frozen=True)
class Baseline:
    """A simple answer at the same held-out entries as the fit.

    Parameters
    ----------
    kind
        ``"mean"``, the mean of all other entries; ``"effects"``, a mean plus an effect of each index of each mode; or
        ``"interpolation"`` between the nearest observed entries before and after along a mode.
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
        if self.mode is None:
            return "the mean of all entries" if self.kind == MEAN else "the effects of each index"
        return f"interpolation along {labels.in_words(self.mode)}"


def baselines_of(splits: Sequence[Split], fit: HeldOut, labels: Labels) -> tuple[Baseline, ...]:
    """Return simple answers of every split, compared with a fit at the same held-out entries.

    Parameters
    ----------
    splits
        The splits, not centred.
    fit
        The held-out entries with the predictions of the fit.
    labels
        The labels of the data; a mode whose labels are strings has no order.
    """
    mean = np.concatenate([np.full(len(split.held_out), _values(split).mean(dtype=np.float64)) for split in splits])
    effects = [_effects(split) for split in splits]
    found = [_compared(MEAN, mean, fit), _compared(EFFECTS, np.concatenate(effects), fit)]
    for mode in _ordered(splits[0], labels):
        pairs = zip(splits, effects, strict=True)
        between = [
            interpolated(_fitted(split), _values(split), split.held_out.coords, mode, known) for split, known in pairs
        ]
        found.append(_compared(INTERPOLATION, np.concatenate(between), fit, mode))
    return tuple(found)


def interpolated(observations: Observations, values: Floats, coords: Integers, mode: int, otherwise: Floats) -> Floats:
    """Return entries by linear interpolation between the nearest observed ones of their fibre along a mode.

    Before the first and after the last observed entry of a fibre, the value of that entry is used.

    Parameters
    ----------
    observations
        The observed entries.
    values
        Their values.
    coords
        The entries to interpolate.
    mode
        The mode.
    otherwise
        The answer for entries of fibres without any observed entry.

    Examples
    --------
    >>> seen = Observations([[0, 0], [0, 4]], [1.0, 5.0], (2, 6))
    >>> interpolated(seen, seen.values, np.array([[0, 1], [0, 5], [1, 2]]), 1, np.zeros(3)).tolist()
    [2.0, 5.0, 0.0]
    """
    size = observations.shape[mode]
    own, asked = fibre_keys(observations.shape, mode, observations.coords, coords)
    order = np.argsort(own, kind="stable")
    own, values = own[order], values[order].astype(np.float64)
    after = np.searchsorted(own, asked)
    before = (after - 1).clip(min=0)
    after = after.clip(max=len(own) - 1)
    fibre = asked // size
    has_before = (own[before] // size == fibre) & (own[before] <= asked)
    has_after = (own[after] // size == fibre) & (own[after] >= asked)
    gap = np.maximum(own[after] - own[before], 1)
    line = values[before] + (values[after] - values[before]) * (asked - own[before]) / gap
    one_side = np.where(has_before, values[before], np.where(has_after, values[after], otherwise))
    return np.where(has_before & has_after, line, one_side)


def _fitted(split: Split) -> Observations:
    return split.problem.observations


def _values(split: Split) -> Floats:
    """Return the values of the fitted entries, on the scale of the data."""
    return restore(split.problem.loss, _fitted(split).values)


def _effects(split: Split) -> Floats:
    """Return the mean and the effects of each index at the held-out entries, on the scale of the data."""
    zero = nothing(_fitted(split).shape, _fitted(split).dtype)
    if can_centre(split.problem.loss):
        return expected(split.problem.loss, split.centred(Clock()).predict(zero))
    return replace(split, lifts=(*split.lifts, Offset(fit_additive(_fitted(split))))).predict(zero)


def _ordered(split: Split, labels: Labels) -> list[int]:
    """Return the modes with an order along which neighbours are alike; none if slices without entries are left out."""
    if split.unseen is None:
        return []
    # A separate generator, so that no other random choice depends on the comparison.
    alike = ordered_modes(_fitted(split), np.random.default_rng(0))
    unordered = {mode for mode, keys in enumerate(labels.keys) if keys is not None and keys.dtype.kind not in ORDERED}
    return [mode for mode in alike if mode not in unordered]


def _compared(kind: str, predicted: Floats, fit: HeldOut, mode: int | None = None) -> Baseline:
    squares = (predicted - fit.observed) ** 2
    gain = fit.residuals**2 - squares
    chance = BEYOND_CHANCE * float(gain.std(dtype=np.float64)) / math.sqrt(len(gain))
    least = LEAST_GAIN * float(np.mean(fit.residuals**2, dtype=np.float64))
    error = float(np.sqrt(np.mean(squares, dtype=np.float64)))
    # Constant values equal their mean exactly, while any fit differs from them by its tolerance.
    varied = float(np.ptp(fit.observed)) > 0
    return Baseline(kind, error, varied and bool(gain.mean(dtype=np.float64) > max(chance, least)), mode)
