"""The judge of what to hold out: of several draws, the one whose entries are most like the missing ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np

from ..._support.types import Booleans, Floats, Integers
from ...observations import Observations
from .gaps import Outages, is_small, seen_and_missing, times_of, under_moved_gaps
from .likeness import SAMPLE, auc, features_among, features_in, sampled
from .resemblance import sample_of_missing


class Likeness:
    """The missing entries of some data, with which held-out entries are compared.

    Parameters
    ----------
    observations
        The observed entries.
    sample
        The largest number of held-out, and of missing entries that are looked at.
    over
        The modes of time, if some times have no entry.
    outages
        Whether the entries of such times count as missing.
    """

    def __init__(
        self, observations: Observations, sample: int = SAMPLE, over: tuple[int, ...] = (), *, outages: bool = True
    ) -> None:
        self.observations, self.sample, self.over = observations, sample, over
        # Its own generator, so that a comparison does not change the answer.
        rng = np.random.default_rng(0)
        self._missing = sample_of_missing(observations, sample, rng, over if outages else ())
        if over and not outages:
            silent = Outages.of(observations, over).silent
            self._missing = self._missing[~silent[times_of(self._missing, observations.shape, over)]]

    @cached_property
    def masks(self) -> tuple[Booleans, Booleans]:
        """The masks of observed and missing entries, of a tensor that is small enough."""
        return seen_and_missing(self.observations, self.over)

    @cached_property
    def features_of_missing(self) -> Floats:
        """The features of missing entries, beside all observed ones."""
        if is_small(self.observations.shape):
            return features_in(self._missing, self.masks[0])
        return features_among(self._missing, self.observations)

    def features(self, held_out: Booleans) -> Floats:
        """Return the features of held-out entries, beside the other observed ones."""
        coords = self.observations.coords[sampled(np.flatnonzero(held_out), self.sample)]
        if is_small(self.observations.shape):
            fitted = self.masks[0].copy()
            fitted.ravel()[self.observations.positions[held_out]] = False
            return features_in(coords, fitted)
        return features_among(coords, self.observations.select(~held_out))

    def auc(self, *held_out: Booleans, weighted: bool = False) -> float | None:
        """Return how alike missing entries and those that splits hold out are; None if there are too few."""
        if len(self._missing) == 0:
            return None
        features = np.vstack([self.features(each) for each in held_out])
        return auc(
            features[sampled(np.arange(len(features)), self.sample)], self.features_of_missing, weighted=weighted
        )

    def under_gaps(
        self, move: Sequence[str], fraction: float, rng: np.random.Generator, before: Integers | None = None
    ) -> Booleans:
        """Return which observed entries lie under gaps that are moved once, about a fraction of all or half of it.

        Gaps that take less from what is around them may be more like the missing ones.
        """
        seen, missing = self.masks
        fraction /= int(rng.integers(1, 3))
        positions, earlier = self.observations.positions, None
        if before is not None:
            earlier = np.zeros_like(seen)
            earlier.ravel()[positions[before > 0]] = True
        wanted = max(round(fraction * len(positions)), 1)
        held_out = under_moved_gaps(seen, missing, move, wanted, rng, earlier)
        return with_all_slices(self.observations, held_out.ravel()[positions])

    def best_move(
        self,
        move: Sequence[str],
        fraction: float,
        rng: np.random.Generator,
        tries: int,
        before: Integers | None = None,
    ) -> tuple[float, Booleans]:
        """Return the best of several draws, with its AUC plus the share of its entries that were held out before."""
        found = []
        for _ in range(tries):
            held_out = self.under_gaps(move, fraction, rng, before)
            alike = self.auc(held_out)
            again = 0.0 if before is None or not held_out.any() else float(np.mean(before[held_out] > 0))
            found.append((1.0 + again if alike is None else alike + again, held_out))
        return min(found, key=lambda pair: pair[0])


def with_all_slices(
    observations: Observations, held_out: Booleans, groups: Integers | None = None, over: Collection[int] = ()
) -> Booleans:
    """Return held-out entries without one of each slice that would have no fitted entry.

    If none would be left, which is the case where every slice of some mode has one entry, all stay.

    Parameters
    ----------
    observations, held_out
        The observed entries, and which of them are held out.
    groups
        The number of each entry's group, if groups are held out, or not, as a whole.
    over
        Modes along which a slice may have no fitted entry.
    """
    kept = held_out.copy()
    for mode in (mode for mode in range(observations.ndim) if mode not in over):
        column = observations.coords[:, mode]
        indices, first = np.unique(column[kept], return_index=True)
        if len(indices) == 0:
            break
        fitted = column[~kept]
        place = np.searchsorted(indices, fitted).clip(max=len(indices) - 1)
        full = np.zeros(len(indices), dtype=np.bool_)
        full[place[indices[place] == fitted]] = True
        needed = np.flatnonzero(kept)[first[~full]]
        if groups is None:
            kept[needed] = False
        elif len(needed):
            kept &= ~np.isin(groups, groups[needed])
    return kept if kept.any() else held_out
