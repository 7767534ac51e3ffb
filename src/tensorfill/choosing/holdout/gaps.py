"""Gaps in the data: whether neighbours are missing together, and how to hold out entries in gaps of the same form.

Two neighbours along a mode are missing together more often than by chance if the correlation of their missingness,

    c = (P(both missing) - P(missing)^2) / (P(missing) - P(missing)^2),

is above zero. Entries are held out under the gaps of the data, moved to another place: along the modes without such a
correlation if there are any, which preserves the form of the gaps, and along all modes otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..._support.types import Booleans, Integers
from ...observations import Observations

MOST_MISSING = 0.5
"""The largest share of missing entries: with more, moved gaps would leave a held-out entry far fewer observed
neighbours than a missing one has."""

TOGETHER, ALWAYS = 0.3, 0.95
"""The correlations from which neighbours count as missing together, and whole fibres as missing."""

CHANCE = 5.0
"""A correlation counts if it is this many times larger than expected by chance."""

GAPS_IN_A_WINDOW = 4
"""Windows that are held out under moved gaps are about this many times as long as a gap."""

SMALLEST_MODE = 4
"""Along shorter modes, gaps cannot be moved far enough."""


@dataclass(frozen=True)
class Gaps:
    """The form of the gaps along one mode.

    Parameters
    ----------
    correlation
        The correlation of the missingness of two neighbours.
    length
        The mean length of a gap.
    """

    correlation: float
    length: float


def gaps_along(observations: Observations, mode: int) -> Gaps:
    """Return the form of the gaps along a mode.

    >>> seen = np.ones((30, 20), dtype=bool)
    >>> seen[5:10, 3:15] = False
    >>> data = Observations.from_dense(np.ones((30, 20)), seen)
    >>> round(gaps_along(data, 0).correlation, 2), round(gaps_along(data, 1).correlation, 2)
    (0.78, 0.91)
    """
    missing = _missing(observations)
    first, second = (np.moveaxis(missing, mode, 0)[part] for part in (slice(None, -1), slice(1, None)))
    both, share = float(np.mean(first & second)), (float(first.mean()) + float(second.mean())) / 2
    spread = share - share**2
    correlation = (both - share**2) / spread if spread > 0 else 0.0
    return Gaps(correlation, share / max(share - both, 1 / missing.size))


def window_of_gaps(observations: Observations, *, asked: bool = False) -> tuple[int, ...] | None:
    """Return the size of windows with several gaps; None if single entries, whole fibres or most entries are missing.

    Parameters
    ----------
    observations
        The observed entries.
    asked
        Whether the caller asks for gaps of any form.
    """
    density, shape = observations.density, observations.shape
    if density == 1 or (1 - density > MOST_MISSING and not asked):
        return None
    if asked and 1 - density > MOST_MISSING:
        raise ValueError(
            f"holdout='gaps' needs data with at most {MOST_MISSING:.0%} missing, but {1 - density:.0%} is; "
            "use 'auto' or give the sizes of a block."
        )
    found = [gaps_along(observations, mode) if size > 1 else Gaps(0.0, 1.0) for mode, size in enumerate(shape)]
    least = max(TOGETHER, CHANCE / math.sqrt(math.prod(shape) * (1 - density)))
    if not asked and not any(least < each.correlation < ALWAYS for each in found):
        return None
    windows = [math.ceil(GAPS_IN_A_WINDOW * each.length) if each.correlation > least else 1 for each in found]
    return tuple(min(window, size) for window, size in zip(windows, shape, strict=True))


def under_moved_gaps(
    observations: Observations, window: tuple[int, ...], fraction: float, rng: np.random.Generator
) -> Booleans:
    """Return which observed entries lie under moved gaps, in random windows with about a fraction of all entries.

    Parameters
    ----------
    observations
        The observed entries.
    window
        The size of a window; entries of a window are held out together.
    fraction
        The share of the observed entries to hold out, if there are enough gaps.
    rng
        The random generator for the shift of the gaps and the choice of windows.
    """
    missing = _missing(observations)
    apart = [mode for mode, size in enumerate(observations.shape) if window[mode] == 1 and size >= SMALLEST_MODE]
    moved = apart or [mode for mode, size in enumerate(observations.shape) if size >= SMALLEST_MODE]
    shifts = [int(rng.integers(1, observations.shape[mode])) for mode in moved]
    under = np.roll(missing, shifts, axis=moved).ravel()[observations.positions]
    places = observations.group_numbers("block", block=window)
    return under & _chosen(places, under, fraction, rng)


def _chosen(windows: Integers, under: Booleans, fraction: float, rng: np.random.Generator) -> Booleans:
    """Return which entries are in windows drawn at random until enough of their entries are under gaps."""
    counts = np.bincount(windows, weights=under)
    order = rng.permutation(len(counts))
    enough = int(np.searchsorted(np.cumsum(counts[order]), fraction * len(windows))) + 1
    taken = np.zeros(len(counts), dtype=bool)
    taken[order[:enough]] = True
    return taken[windows]


def _missing(observations: Observations) -> Booleans:
    """Return which entries are missing; slices without any entry are ignored and treated as observed."""
    missing = np.ones(observations.shape, dtype=bool)
    missing.ravel()[observations.positions] = False
    for mode, size in enumerate(observations.shape):
        empty = np.setdiff1d(np.arange(size), observations.coords[:, mode])
        np.moveaxis(missing, mode, 0)[empty] = False
    return missing
