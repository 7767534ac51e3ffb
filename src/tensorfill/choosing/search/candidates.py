"""The points on a path of NORT's search, and the rules that end a path."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...methods.nort.descent import RATIO
from .base import BEYOND_DOUBT, Trial

PATIENCE = 4
"""A path ends after this many points without a better score."""

CLEARLY_PAST = 2
"""It also ends after this many points that are significantly worse than its best, or after one that is worse beyond
doubt, unless the best is among the first few, where the score may still rise before it falls."""

HARDLY = 1e-3
"""A point that is worse by less than this share of the score is not informative: where no singular value lies between
two cuts, the second changes almost nothing, and even that may be significant."""

MANY_RANKS, LESS_PATIENCE = 50, 2
"""A path with more ranks than that ends after fewer points without a better score, because they are slow and their
scores change smoothly."""

CLEARLY_WORSE = 1.1
"""A path ends at once if the score is this much worse than the best."""

WEAKER = 0.3
"""The factor by which the weight of a mode is lowered."""

LEAST_WEIGHT = 0.02
"""A mode with less than this share of the total weight is left out."""


@dataclass(frozen=True)
class Candidate:
    """A regularisation.

    Parameters
    ----------
    cut, q
        The singular value threshold, and theta / cut.
    weights
        The weight of each mode that may be regularised; they add up to one, and 0 leaves the mode out.
    mu
        The weight of the graph Laplacians, relative to the mean degree.
    free
        Whether it may admit noise that the first penalty excluded.
    tau
        How many times the default the inverse step length is. Lambda and the penalty do not depend on it, so the cut is
        the threshold at the default.
    """

    cut: float
    q: float
    weights: tuple[float, ...]
    mu: float = 0.0
    free: bool = False
    tau: float = 1.0

    @property
    def noise(self) -> float | None:
        """The key of the noise that bounds it: its q if it is free, else None for that of the other paths."""
        return self.q if self.free else None

    def lower(self, steps: float) -> Candidate:
        """Return the candidate this many steps further down a path."""
        return replace(self, cut=self.cut * RATIO**steps)

    def weaker(self, place: int, *, to_zero: bool) -> Candidate | None:
        """Return the candidate with less weight on one mode, or zero weight if little is left; None if impossible.

        Parameters
        ----------
        place
            The position of the mode.
        to_zero
            Whether the mode may be left out.
        """
        others = sum(weight for at, weight in enumerate(self.weights) if at != place)
        lowered = WEAKER * self.weights[place]
        if lowered < LEAST_WEIGHT * others:
            lowered = 0.0
        if others == 0 or self.weights[place] == 0 or not (lowered or to_zero):
            return None
        weights = [lowered if at == place else weight for at, weight in enumerate(self.weights)]
        return replace(self, weights=tuple(weight / sum(weights) for weight in weights))


@dataclass(frozen=True)
class NoiseEdge:
    """Where noise enters: below a cut, ranks jump to their limits.

    Parameters
    ----------
    cut
        The first cut with noise.
    ranks
        The ranks without noise, which are the limits from there on.
    """

    cut: float
    ranks: tuple[int, ...]


def is_past(since_best: Sequence[Trial], under_way: bool) -> bool:
    """Return whether a path is unlikely to improve further, given its best trial and those after it.

    `under_way` is True after the first points of a path.
    """
    best, *after = since_best
    if not after:
        return False
    lost = len(after) >= CLEARLY_PAST and all(
        is_worse(trial, best) and best.beats(trial) for trial in after[-CLEARLY_PAST:]
    )
    lost_for_sure = under_way and is_worse(after[-1], best) and best.beats(after[-1], by=BEYOND_DOUBT)
    worse = after[-1].point.held_out > CLEARLY_WORSE * best.point.held_out
    patience = LESS_PATIENCE if has_many_ranks(after[-1]) else PATIENCE
    return lost or lost_for_sure or worse or len(after) >= patience


def is_worse(trial: Trial, other: Trial) -> bool:
    """Return whether the error of a trial is higher than that of another by more than a trifle."""
    return trial.point.held_out > (1 + HARDLY) * other.point.held_out


def cannot_pass(trials: Sequence[Trial], error: float) -> bool:
    """Return whether a path will not reach an error, if its gains keep decreasing at the same rate.

    Gains g, g r, g r^2 .. sum to g / (1 - r).
    """
    if len(trials) < 3:
        return False
    before, middle, last = (trial.point.held_out for trial in trials[-3:])
    gain, ratio = middle - last, (middle - last) / (before - middle) if before > middle else math.inf
    if gain <= 0:
        return before <= middle and last > error
    return ratio < 1 and last - gain * ratio / (1 - ratio) > error


def has_many_ranks(trial: Trial) -> bool:
    """Return whether every mode has many ranks."""
    return min(trial.point.ranks, default=0) > MANY_RANKS
