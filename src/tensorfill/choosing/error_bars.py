"""What prediction intervals rest on: the errors at entries and slices that a fit did not see."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._support.types import Floats, Integers


@dataclass(frozen=True, eq=False)
class SliceErrors:
    """The errors at held-out slices of a mode that has empty ones.

    Parameters
    ----------
    mode
        The mode.
    empty
        Its slices without any observed entry.
    residuals
        The absolute errors at entries of slices that were held out.
    slices
        The number of these slices.
    """

    mode: int
    empty: Integers
    residuals: Floats
    slices: int

    def half_width(self, share: float) -> float:
        """Return the half width that holds this share of the entries of a new slice; infinite with too few slices.

        Entries of a slice err together, so the number of slices counts, not that of entries.
        """
        level = math.ceil((self.slices + 1) * share) / max(self.slices, 1)
        if level > 1 or not len(self.residuals):
            return math.inf
        return float(np.quantile(self.residuals, level, method="higher"))


@dataclass(frozen=True, eq=False)
class ErrorBars:
    """The errors at held-out entries, and at held-out slices if some slices are empty.

    Parameters
    ----------
    residuals
        The absolute error at each held-out entry of a fit without it.
    weights
        How many missing entries each of them stands for, with a mean of one; None if all count alike.
    slices
        The errors at held-out slices, for each mode that has empty ones.
    """

    residuals: Floats
    weights: Floats | None = None
    slices: Sequence[SliceErrors] = ()

    @property
    def rmse(self) -> float:
        """The root mean square error at the held-out entries."""
        return float(np.sqrt(np.mean(self.residuals**2)))

    def half_widths(self, coords: Integers, share: float) -> Floats:
        """Return half the width of the prediction interval of each entry, infinite where nothing like it was held out.

        Parameters
        ----------
        coords
            The entries.
        share
            The coverage.
        """
        widths = np.full(len(coords), self.half_width(share))
        empty = np.zeros(len(coords), dtype=int)
        for each in self.slices:
            inside = np.isin(coords[:, each.mode], each.empty)
            widths[inside] = each.half_width(share)
            empty += inside
        widths[empty > 1] = math.inf
        return widths

    def half_width(self, share: float) -> float:
        """Return half the width of the interval of an entry that lies as the missing ones do."""
        weights = np.ones(len(self.residuals)) if self.weights is None else self.weights
        # Entries of unequal weight are worth as much as this many of equal weight.
        count = float(weights.sum() ** 2 / (weights @ weights))
        if math.ceil((count + 1) * share) > count + 0.5:
            held_out = f"{len(self.residuals)} held-out entries"
            like = "" if count > 0.9 * len(self.residuals) else f", worth {count:.0f} that lie as the missing ones do"
            raise ValueError(
                f"interval must be at most {count / (count + 1):.3f} with {held_out}{like}, "
                f"but {share} was given; hold out more by raising validation."
            )
        order = np.argsort(self.residuals)
        # The entry itself, whose error is not known, has the weight of one.
        reached = np.cumsum(weights[order]) / (weights.sum() + weights.mean())
        return float(self.residuals[order][np.searchsorted(reached, share * (1 - 1e-12))])
