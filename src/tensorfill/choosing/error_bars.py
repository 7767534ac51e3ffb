"""The basis of prediction intervals: the errors at held-out entries and slices.

Intervals are conformal: their half width is a quantile of the held-out errors, so the coverage holds for any
noise. Errors are first divided by their usual size at such an entry (see `tensorfill.choosing.error_scale`), and the
quantile is multiplied by that size again, so intervals are wide where errors are large. To keep the guarantee, no error
is divided by a scale that was fitted to it: the held-out entries are divided into halves, and each half is scaled by
the fit to the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .._support.scaling import VALUE
from .._support.types import Floats, Integers
from ..models.slices import Empty
from .error_scale import FEWEST, ErrorScale
from .holdout.held_out import HeldOut

RATIOS = 33
"""The number of ratios of the two scales for which quantiles are computed; others are interpolated."""


@dataclass(frozen=True, eq=False)
class SliceErrors:
    """The errors at held-out slices of a mode that has empty ones.

    Parameters
    ----------
    mode
        The mode.
    empty
        Its slices without any observed entry, those between others or those at either end.
    residuals
        The absolute errors at entries of held-out slices.
    slices
        The number of these slices.
    """

    mode: int
    empty: Empty
    residuals: Floats = field(metadata=VALUE)
    slices: int

    def half_width(self, share: float) -> float:
        """Return the half width that covers this share of the entries of a new slice; infinite with too few slices.

        The errors in a slice are correlated, so the sample size is the number of slices, not of entries.
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
        The absolute error at each held-out entry of a fit without it, times the `inflation`.
    weights
        The weight of each held-out entry, with a mean of one; None if all are equal.
    slices
        The errors at held-out slices, for each mode that has empty ones.
    held_out
        The held-out entries, for intervals of adaptive width; None for intervals of one width.
    """

    residuals: Floats = field(metadata=VALUE)
    weights: Floats | None = None
    slices: Sequence[SliceErrors] = ()
    held_out: HeldOut | None = None

    @property
    def rmse(self) -> float:
        """The root mean square error at the held-out entries."""
        return float(np.sqrt(np.mean(self.residuals**2)))

    @property
    def inflation(self) -> float:
        """By how much errors are larger than at the held-out entries; see `tensorfill.choosing.optimism`."""
        own = 0.0 if self.held_out is None else float(np.sum(self.held_out.residuals))
        return float(np.sum(self.residuals)) / own if own > 0 else 1.0

    @property
    def _weights(self) -> Floats:
        return np.ones(len(self.residuals)) if self.weights is None else self.weights

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The groupings that the width of an interval depends on."""
        return tuple(dict.fromkeys(name for scale in self._scales for name in scale.names))

    def half_widths(self, coords: Integers, share: float, predictions: Floats | None = None) -> Floats:
        """Return half the width of the prediction interval of each entry, infinite if nothing similar was held out.

        Parameters
        ----------
        coords
            The entries.
        share
            The coverage.
        predictions
            The predictions at these entries, on the scale of the data; None for intervals of one width.
        """
        if predictions is None or not self.depends_on:
            widths = np.full(len(coords), self.half_width(share))
        else:
            widths = self._scaled_widths(coords, predictions, share)
        empty = np.zeros(len(coords), dtype=int)
        for each in self.slices:
            inside = each.empty.has(coords[:, each.mode])
            widths[inside] = each.half_width(share)
            empty += inside
        widths[empty > 1] = math.inf
        return widths

    def half_width(self, share: float) -> float:
        """Return half the width of intervals of one width, for entries distributed like the missing ones."""
        self._check(share)
        return _quantile(self.residuals, self._weights, share)

    def drawn(self, coords: Integers, predictions: Floats, rng: np.random.Generator) -> Floats:
        """Return errors at entries, drawn from the scaled errors at the held-out entries."""
        if self.held_out is None:
            raise ValueError("Draws rest on held-out entries, which this fit does not have; fit the data again.")
        chance = self._weights / self._weights.sum()
        number = rng.choice(len(self.residuals), size=len(coords), p=chance)
        first, second = self._scales_at(coords, predictions)
        signed = np.copysign(self.residuals, self.held_out.errors)
        drawn: Floats = (signed / self._own_scale)[number] * np.sqrt(first * second)
        return drawn

    def _check(self, share: float) -> None:
        weights = self._weights
        # The effective sample size: this many entries of equal weight carry the same information.
        count = float(weights.sum() ** 2 / (weights @ weights))
        like = "" if count > 0.9 * len(self.residuals) else f", worth {count:.0f} that lie as the missing ones do"
        check_share(share, count, f"{len(self.residuals)} held-out entries{like}")

    # The two scales, each fitted to a half of the held-out entries

    @cached_property
    def _half(self) -> Integers:
        """The half, 0 or 1, of each held-out entry."""
        return np.random.default_rng(0).permutation(len(self.residuals)) % 2

    @cached_property
    def _scales(self) -> tuple[ErrorScale, ...]:
        """The scale fitted to each half; empty without held-out entries."""
        if self.held_out is None or len(self.residuals) < 2 * FEWEST:
            return ()
        groups, rng = self.held_out.groups(), np.random.default_rng(0)
        halves = [np.flatnonzero(self._half == number) for number in (0, 1)]
        return tuple(
            ErrorScale.chosen(groups.select(half), self.residuals[half], self._weights[half], rng) for half in halves
        )

    def _scales_at(self, coords: Integers, predictions: Floats) -> tuple[Floats, Floats]:
        """Return the two scales at entries; both are one if none was fitted."""
        if self.held_out is None or not self._scales:
            return np.ones(len(coords)), np.ones(len(coords))
        groups = self.held_out.groups_at(coords, predictions, self.depends_on)
        first, second = (scale.at(groups, len(coords)) for scale in self._scales)
        return first, second

    @cached_property
    def _own_scale(self) -> Floats:
        """The scale at each held-out entry, fitted to the other half."""
        if self.held_out is None or not self._scales:
            return np.ones(len(self.residuals))
        groups = self.held_out.groups()
        first, second = (scale.at(groups, len(self.residuals)) for scale in self._scales)
        return np.where(self._half == 0, second, first)

    def _scaled_widths(self, coords: Integers, predictions: Floats, share: float) -> Floats:
        """Return the smallest t that enough of the errors r_i are below, each scaled from its own entry to this one.

        Errors of the first half are scaled by the fit to the second, s2(x) / s2(x_i), and those of the second
        by s1(x) / s1(x_i). So t / s2(x) is a quantile of the scaled errors of both halves, those of the second times
        s1(x) / s2(x).
        """
        self._check(share)
        first, second = self._scales_at(coords, predictions)
        scaled, weights = self.residuals / self._own_scale, self._weights
        log_ratio = np.log(first / second)
        grid = np.linspace(log_ratio.min(initial=0.0), log_ratio.max(initial=0.0), RATIOS)
        quantiles = [
            _quantile(np.where(self._half == 0, scaled, math.exp(step) * scaled), weights, share) for step in grid
        ]
        widths: Floats = second * np.interp(log_ratio, grid, quantiles)
        return widths


def check_share(
    share: float, count: float, held_out: str, *, interval: str = "interval", validation: str = "validation"
) -> None:
    """Raise an error if intervals need more held-out entries than there are.

    Parameters
    ----------
    share
        The coverage.
    count
        The number of held-out entries of equal weight.
    held_out
        What the message calls them.
    interval, validation
        What the message calls the two settings.
    """
    most = count / (count + 1)
    # An exact share, such as 0.9 with 9 entries, may be a rounding error above the limit.
    if share > most * (1 + 1e-12):
        raise ValueError(
            f"{interval} must be at most {math.floor(1000 * most) / 1000:.3f} with {held_out}, but {share} was given; "
            f"hold out more by raising {validation}."
        )


def _quantile(errors: Floats, weights: Floats, share: float) -> float:
    """Return the error below which this share of the weight lies, including the weight of a new entry."""
    order = np.argsort(errors)
    # The new entry, whose error is not known, has the mean weight.
    reached = np.cumsum(weights[order]) / (weights.sum() + weights.mean())
    return float(errors[order][np.searchsorted(reached, share * (1 - 1e-12)).clip(max=len(errors) - 1)])
