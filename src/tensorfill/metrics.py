"""Errors of predictions, and the lowest error that can be expected."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._support.checks import real_number, whole_number
from ._support.types import Floats

__all__ = ["accuracy_limit", "mae", "psnr", "relative_error", "rmse"]


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
