"""Which loss suits the data, if the caller gives none.

Values of two kinds suggest the logistic loss, and small counts that of Poisson; least squares are a contender there
too, as calibrated scores. For all others least squares comes first. If a few of its errors are out of all proportion,
entries that are judged corrupt are left out, as with ``loss="l1"``, and that answer is kept if it is better at the same
held-out entries. Settings are chosen again without corrupt entries only if those at hand predict better without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._support.ordering import joint_keys
from .._support.types import Booleans, Floats
from ..losses.robust import noise_scale
from ..models import Model
from ..observations import Observations
from .search.base import BEYOND_DOUBT, are_better

if TYPE_CHECKING:
    from .completing import Answer
    from .holdout.held_out import HeldOut

LEAVING_OUT = "l1"
"""The loss with which corrupt entries are left out."""

FAR = 6.0
"""Errors of more than this many times the standard deviation of most others are out of all proportion."""

MOST = 0.5
"""Corrupt entries are looked for if errors out of all proportion have more than this share of the squared error."""

WELL_KNOWN = 0.5
"""They are looked for only if the size of most errors is below this share of that of most values: where little is
predicted, the largest values have the largest errors."""

MOST_ENTRIES = 1_000_000
"""With more observed entries, to look for corrupt ones takes long, and loss='l1' must be asked for."""

FEWEST = 5
"""Entries are left out unasked only if at least this many of them were held out: a few may be large and right, and what
a search finds without them may be better by chance."""

LARGEST_MEAN = 1.0
"""Counts with a larger mean are spread nearly as measurements are, for which least squares do as well."""


def loss_of_values(values: Floats) -> str | None:
    """Return the loss that the values alone suggest; None if no other than squares.

    >>> loss_of_values(np.array([0.0, 1.0, 1.0])), loss_of_values(np.array([0.0, 1.0, 2.0]))
    ('logistic', 'poisson')
    >>> loss_of_values(np.array([1.2, 3.4, 2.0])) is None
    True
    """
    if _are_of_two_kinds(values):
        return "logistic"
    return "poisson" if _are_small_counts(values) else None


def are_out_of_proportion(errors: Floats, values: Floats) -> bool:
    """Return whether a few errors of least squares, at held-out entries, have most of the squared error.

    >>> bool(are_out_of_proportion(np.array([0.1, -0.2, 88.0]), np.array([1.2, 3.4, 5.6, 90.0])))
    True
    >>> bool(are_out_of_proportion(np.array([0.1, -0.2, 0.3]), np.array([1.2, 3.4, 2.0])))
    False
    """
    largest = max(float(np.abs(errors).max(initial=0.0)), float(np.abs(values).max(initial=0.0))) or 1.0
    errors, values = errors / largest, values / largest
    usual = noise_scale(errors)
    if len(values) > MOST_ENTRIES or usual > WELL_KNOWN * noise_scale(values - np.median(values)):
        return False
    far = np.abs(errors) > FAR * usual
    return bool(np.sum(errors[far] ** 2) > MOST * np.sum(errors**2))


def _are_of_two_kinds(values: Floats) -> bool:
    """Return whether values are all 0 or 1, or all -1 or 1, and not all alike."""
    upper = values == 1
    return bool(upper.any() and not upper.all() and (np.all(values[~upper] == 0) or np.all(values[~upper] == -1)))


def _are_small_counts(values: Floats) -> bool:
    """Return whether values are whole numbers from 0 on with a small mean, and not all alike."""
    counts = bool(values.min() == 0 < values.max() and np.all(values == np.floor(values)))
    return counts and float(values.mean()) <= LARGEST_MEAN


def is_better(other: Answer, usual: Answer, observations: Observations) -> bool:
    """Return whether an answer that leaves corrupt entries out is better than that of least squares, beyond doubt.

    The score is the mean absolute error at the same held-out entries. What the other answer left out is predicted by
    its last fit, which has not seen it either.
    """
    if other.error_bars is None or usual.error_bars is None or other.corrupt is None:
        return False
    mine, theirs = other.error_bars.held_out, usual.error_bars.held_out
    if mine is None or theirs is None:
        return False
    missed = corrupt_among(theirs, other.corrupt, observations)
    errors = np.empty(len(theirs))
    errors[~missed] = mine.residuals
    errors[missed] = np.abs(theirs.observed[missed] - other.result.model.predict(theirs.coords[missed]))
    # Not clipped: the largest errors are those in question.
    return are_better(errors, theirs.residuals, clipped=False, by=BEYOND_DOUBT)


def are_enough(corrupt: Booleans, observations: Observations, held_out: HeldOut) -> bool:
    """Return whether enough of the held-out entries were judged corrupt to tell whether they had better be left out."""
    return int(np.count_nonzero(corrupt_among(held_out, corrupt, observations))) >= FEWEST


def gains_without(model: Model, held_out: HeldOut) -> bool:
    """Return whether a fit without corrupt entries predicts all that was held out better beyond doubt."""
    errors = np.abs(model.predict(held_out.coords) - held_out.observed)
    return are_better(errors, held_out.residuals, clipped=False, by=BEYOND_DOUBT)


def corrupt_among(held_out: HeldOut, corrupt: Booleans, observations: Observations) -> Booleans:
    """Return which held-out entries are among the observed entries that were judged corrupt."""
    if not corrupt.any():
        return np.zeros(len(held_out), dtype=np.bool_)
    keys, left_out = joint_keys(observations.shape, held_out.coords, observations.select(corrupt).coords)
    return np.isin(keys, left_out)
