"""Errors of predictions, and the lowest error that can be expected."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._support.checks import real_number, whole_number
from ._support.types import Floats, Integers

__all__ = ["Reliability", "accuracy_limit", "mae", "psnr", "relative_error", "reliability", "rmse"]

FEWEST_IN_A_BIN = 10
"""With fewer entries in a bin, its observed share says little, so there are fewer bins."""


def rmse(prediction: ArrayLike, truth: ArrayLike) -> float:
    """Return the root mean square error, sqrt(mean((prediction - truth)^2)).

    >>> rmse([1.0, 2.0, 4.0, 4.0], [1.0, 2.0, 3.0, 5.0])
    0.7071067811865476
    """
    prediction, truth = _pair(prediction, truth)
    return math.sqrt(np.mean(np.square(prediction - truth)))


def mae(prediction: ArrayLike, truth: ArrayLike) -> float:
    """Return the mean absolute error, mean(|prediction - truth|).

    >>> mae([1.0, 2.0, 4.0, 4.0], [1.0, 2.0, 3.0, 5.0])
    0.5
    """
    prediction, truth = _pair(prediction, truth)
    return float(np.mean(np.abs(prediction - truth)))


def relative_error(prediction: ArrayLike, truth: ArrayLike) -> float:
    """Return the error relative to the truth, |prediction - truth|_F / |truth|_F.

    >>> relative_error([3.0, 0.0], [3.0, 4.0])
    0.8
    """
    prediction, truth = _pair(prediction, truth)
    size = float(np.linalg.norm(truth.ravel()))
    if size == 0:
        raise ValueError("truth must not be zero everywhere for a relative error; use rmse or mae.")
    return float(np.linalg.norm((prediction - truth).ravel())) / size


def psnr(prediction: ArrayLike, truth: ArrayLike, peak: float) -> float:
    """Return the peak signal-to-noise ratio in decibels, 20 log10(peak / rmse); infinite if there is no error.

    Parameters
    ----------
    prediction, truth : array_like
        Arrays of the same shape.
    peak : float
        The largest possible value of the signal, such as 255 for 8-bit images and 1 for images in [0, 1].

    Examples
    --------
    >>> round(psnr([0.4, 0.6], [0.5, 0.5], peak=1.0), 9)
    20.0
    """
    peak = real_number(peak, "peak", above=0)
    error = rmse(prediction, truth)
    return 20.0 * (math.log10(peak) - math.log10(error)) if error > 0 else math.inf


def accuracy_limit(noise: float, free_parameters: int, observed: int) -> float:
    """Return the lowest RMSE that can be expected, noise * sqrt(free_parameters / observed).

    A least-squares fit of p parameters to s entries turns noise of standard deviation sigma into an error of
    sigma * sqrt(p / s), even if it finds the best model: p of the s directions of the noise cannot be told from the
    model. A fit near this number has nothing left to gain.

    Parameters
    ----------
    noise : float
        The standard deviation sigma of the noise of an observed entry.
    free_parameters : int
        The number p of free parameters of the model, such as R * (I_1 + I_2 + I_3) for rank R.
    observed : int
        The number s of observed entries.

    Examples
    --------
    The 200 x 200 x 200 problem of rank 5 in the paper:

    >>> round(accuracy_limit(0.01, 5 * 600, 381_479), 6)
    0.000887
    """
    noise = real_number(noise, "noise", at_least=0)
    free_parameters = whole_number(free_parameters, "free_parameters", at_least=0)
    observed = whole_number(observed, "observed", at_least=1)
    return noise * math.sqrt(free_parameters / observed)


@dataclass(frozen=True, eq=False)
class Reliability:
    """How often something happens, by its predicted probability, with one element for each bin of predictions.

    Parameters
    ----------
    predicted
        The mean predicted probability, in increasing order.
    observed
        The share of entries where it happened.
    low, high
        The ends of the Wilson interval of that share.
    counts
        The number of entries.
    """

    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    counts: Integers

    def __len__(self) -> int:
        return len(self.counts)


def reliability(prediction: ArrayLike, truth: ArrayLike, *, bins: int = 10, share: float = 0.9) -> Reliability:
    """Return how often something happens where it is predicted with about the same probability.

    Probabilities are calibrated if the observed share is the predicted one in every bin: of the entries that are
    predicted with 0.3, three in ten are 1.

    Parameters
    ----------
    prediction : array_like
        Probabilities, from 0 to 1, of entries that the model did not see.
    truth : array_like
        What was observed, 0 or 1, of the same shape.
    bins : int
        The largest number of bins. They have equally many entries, except that equal predictions share a bin, and at
        least 10 on average, so that there are fewer bins if there are few entries.
    share : float
        The coverage of the Wilson intervals of the observed shares.

    Examples
    --------
    >>> found = reliability(np.repeat([0.1, 0.9], 20), np.repeat([0, 1, 0, 1], [18, 2, 5, 15]))
    >>> found.predicted.round(3).tolist(), found.observed.tolist(), found.counts.tolist()
    ([0.1, 0.9], [0.1, 0.75], [20, 20])
    >>> found.low.round(2).tolist(), found.high.round(2).tolist()
    ([0.03, 0.57], [0.26, 0.87])
    """
    bins = whole_number(bins, "bins", at_least=1)
    share = real_number(share, "share", above=0, below=1)
    prediction, truth = (each.ravel() for each in _pair(prediction, truth))
    if prediction.min() < 0 or prediction.max() > 1:
        raise ValueError(
            f"prediction must be probabilities from 0 to 1, but there are values from {prediction.min():g} to "
            f"{prediction.max():g}."
        )
    if not np.isin(truth, (0, 1)).all():
        raise ValueError("truth must be 0 or 1 everywhere; say which of its values counts as 1, as in truth == 2.")
    bins = min(bins, max(len(truth) // FEWEST_IN_A_BIN, 1))
    _, group, sizes = np.unique(prediction, return_inverse=True, return_counts=True)
    # The middle of the places that equal predictions take in the order of all.
    middle = (np.cumsum(sizes) - sizes / 2)[group]
    own = np.floor(bins * middle / len(truth)).astype(np.int64)
    counts = np.bincount(own)
    full = counts > 0
    counts = counts[full]
    predicted, observed = (np.bincount(own, each)[full] / counts for each in (prediction, truth))
    low, high = _wilson(observed, counts, share)
    return Reliability(predicted, observed, low, high, counts)


def _wilson(observed: Floats, counts: Integers, share: float) -> tuple[Floats, Floats]:
    """Return the Wilson score interval of observed shares: the true shares that they do not reject.

    These are the p with (observed - p)^2 <= z^2 p (1 - p) / n, where z is a quantile of the normal distribution.
    """
    z = NormalDist().inv_cdf((1 + share) / 2)
    slack = z**2 / counts
    middle = (observed + slack / 2) / (1 + slack)
    half = np.sqrt(slack * (observed * (1 - observed) + slack / 4)) / (1 + slack)
    # At a share of 0 or 1 one end is that share, which rounding may miss.
    return np.minimum(np.maximum(middle - half, 0.0), observed), np.maximum(np.minimum(middle + half, 1.0), observed)


def _pair(prediction: ArrayLike, truth: ArrayLike) -> tuple[Floats, Floats]:
    """Return both as float64 arrays of the same shape, nonempty and without missing entries."""
    given = _numbers(prediction, "prediction"), _numbers(truth, "truth")
    shapes = given[0].shape, given[1].shape
    if shapes[0] != shapes[1]:
        raise ValueError(f"prediction and truth must have the same shape, but {shapes[0]} and {shapes[1]} were given.")
    if given[0].size == 0:
        raise ValueError(f"prediction and truth must have at least one entry, but the shape is {shapes[0]}.")
    return given


def _numbers(values: Any, name: str) -> Floats:
    """Return `values` as a float64 array without missing entries."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be an array of numbers, but a {type(values).__name__} was given.") from None
    # np.asarray of a masked array includes the values under the mask.
    mask = values.mask if isinstance(values, np.ma.MaskedArray) else False
    missing = int(np.count_nonzero(mask | ~np.isfinite(array)))
    if missing:
        raise ValueError(
            f"{name} must have no missing entries (NaN, infinite or masked), but {missing} of {array.size} are; "
            "select the entries to compare first."
        )
    return array
