"""The held-out entries with the predictions of a fit without them, on the scale of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..._support.scaling import VALUE
from ..._support.types import Booleans, Floats, Integers
from ...losses import Loss, expected, restore
from ...models import Model
from ...observations import Observations
from ..error_scale import Groups
from ..stages.base import Lift
from .resemblance import distances
from .splits import Split

BINS = 20
"""The number of groups of predictions, each with equally many held-out entries; fewer if there are few entries."""

DISTANCES = 8
"""The number of groups of distances to the nearest observed entry: 1, 2, 3 to 4, 5 to 8, and so on."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The held-out entries of every split, the predictions of a fit without them, and what its errors may depend on.

    Parameters
    ----------
    coords
        The coordinates of the entries, of shape (n, ndim).
    observed, predicted
        Their values and the predictions, both on the scale of the data.
    distances
        The distance along each mode to the nearest fitted entry, of the shape of `coords`; None if distances are not
        used.
    around
        All observed entries, from which distances of other entries are measured.
    """

    coords: Integers
    observed: Floats = field(metadata=VALUE)
    predicted: Floats = field(metadata=VALUE)
    distances: Integers | None
    around: Observations

    @classmethod
    def of(cls, splits: Sequence[Split], models: Sequence[Model], around: Observations) -> HeldOut:
        """Return the held-out entries of splits with the predictions of a model for each split.

        `around` has all observed entries.
        """
        far = None
        # With graphs, a split has only some slices, and distances within these are not informative.
        if not splits[0].graphs:
            far = np.concatenate([distances_to(each.held_out.coords, each.placed) for each in splits])
        return cls(
            np.concatenate([split.held_out.coords for split in splits]),
            observed_values(splits),
            predicted_values(splits, models),
            far,
            around,
        )

    @classmethod
    def at(cls, entries: Observations, loss: Loss, model: Model, fitted: Observations, around: Observations) -> HeldOut:
        """Return entries that were not fitted with their predictions; values are encoded as the loss takes them."""
        predicted = expected(loss, model.predict(entries.coords))
        far = distances_to(entries.coords, fitted)
        return cls(entries.coords, restore(loss, entries.values), predicted, far, around)

    def __len__(self) -> int:
        return len(self.observed)

    def placed(self, lift: Lift) -> HeldOut:
        """Return the entries as those of the problem before a stage; distances within only some slices are dropped."""
        around = lift.back(self.around)
        if around is self.around:
            return self
        return replace(self, coords=lift.places(self.coords), distances=None, around=around)

    def joined(self, other: HeldOut) -> HeldOut:
        """Return these entries and others, with distances from the observed entries of the others."""
        return HeldOut(
            np.concatenate([self.coords, other.coords]),
            np.concatenate([self.observed, other.observed]),
            np.concatenate([self.predicted, other.predicted]),
            None
            if self.distances is None or other.distances is None
            else np.concatenate([self.distances, other.distances]),
            other.around,
        )

    @property
    def errors(self) -> Floats:
        """Observation minus prediction."""
        return self.observed - self.predicted

    @property
    def residuals(self) -> Floats:
        """The absolute error at each entry."""
        return np.abs(self.errors)

    @cached_property
    def are_counts(self) -> bool:
        """Whether all values are non-negative whole numbers."""
        return bool(np.all((self.observed >= 0) & (self.observed == np.round(self.observed))))

    @cached_property
    def edges(self) -> Floats:
        """The edges between groups of predictions."""
        count = max(min(BINS, len(self.predicted) // 50), 1)
        return np.unique(np.quantile(self.predicted, np.linspace(0, 1, count + 1)[1:-1]))

    @cached_property
    def _indices(self) -> list[Integers]:
        """The indices of each mode that have a held-out entry beside fitted ones, in increasing order."""
        return [np.unique(column[self._beside_fitted(mode)]) for mode, column in enumerate(self.coords.T)]

    def _beside_fitted(self, mode: int) -> Booleans:
        """Return which entries have a fitted one in a fibre along another mode.

        Where a split leaves nothing at an index, such as a time, errors of all entries there are alike. They say
        nothing of other indices at which nothing is observed.
        """
        shape = self.around.shape
        others = [other for other, size in enumerate(shape) if other != mode and size > 1]
        if self.distances is None or not others:
            return np.ones(len(self), dtype=np.bool_)
        found: Booleans = np.any([self.distances[:, other] < shape[other] for other in others], axis=0)
        return found

    def groups(self) -> Groups:
        """Return the groups of the held-out entries."""
        return self._grouped(self.coords, self.predicted, self.distances)

    def groups_at(self, coords: Integers, predictions: Floats, names: Sequence[str]) -> Groups:
        """Return the groups of other entries; groups of distances only if they are in `names`."""
        far = None if self.distances is None else np.ones_like(coords)
        for mode in range(coords.shape[1]):
            if far is not None and f"distance {mode}" in names:
                far[:, mode] = distances(coords, self.around, mode)
        return self._grouped(coords, predictions, far)

    def _grouped(self, coords: Integers, predictions: Floats, far: Integers | None) -> Groups:
        of: dict[str, Integers] = {"prediction": np.searchsorted(self.edges, predictions, side="right")}
        sizes = {"prediction": len(self.edges) + 1}
        for mode, known in enumerate(self._indices):
            # Indices of no held-out entry are one group.
            place = np.searchsorted(known, coords[:, mode]).clip(max=len(known) - 1)
            of[f"index {mode}"] = np.where(known[place] == coords[:, mode], place, len(known))
            sizes[f"index {mode}"] = len(known) + 1
            if far is not None:
                bins = np.ceil(np.log2(np.maximum(far[:, mode], 1))).astype(np.int64)
                of[f"distance {mode}"], sizes[f"distance {mode}"] = np.minimum(bins, DISTANCES - 1), DISTANCES
        return Groups(of, sizes)


def observed_values(splits: Sequence[Split]) -> Floats:
    """Return the values of the held-out entries of every split, on the scale of the data."""
    return np.concatenate([restore(split.problem.loss, split.held_out.values) for split in splits])


def predicted_values(splits: Sequence[Split], models: Sequence[Model]) -> Floats:
    """Return the predictions of a model for each split at its held-out entries, on the scale of the data."""
    pairs = zip(splits, models, strict=True)
    return np.concatenate([expected(split.problem.loss, split.predict(model)) for split, model in pairs])


def distances_to(coords: Integers, fitted: Observations) -> Integers:
    """Return the distance along each mode from entries to the nearest fitted one, of the shape of `coords`."""
    return np.stack([distances(coords, fitted, mode) for mode in range(fitted.ndim)], axis=1)
