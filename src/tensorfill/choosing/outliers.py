"""Which observed entries are outliers, judged by the answer of a robust fit."""

from __future__ import annotations

import math

import numpy as np

from .._support.checks import real_number
from .._support.types import Booleans, Floats, Integers
from ..losses.robust import largest_noise, noise_scale
from ..models import Model
from ..observations import Observations

__all__ = ["are_outliers", "outliers", "predicted_at", "without_outliers"]


def outliers(
    observations: Observations, predicted: Floats, *, beyond: float | None = None, corrupt: Booleans | None = None
) -> tuple[Integers, Floats]:
    """Return the observed entries that are judged corrupt, and their errors.

    Parameters
    ----------
    observations
        The data.
    predicted
        The predictions of a robust fit at the observed entries, on the scale of the data.
    beyond
        Entries that differ from their prediction by more than this are corrupt. The default is sqrt(2 log n) standard
        deviations of the noise, for n entries, which normal noise rarely exceeds (see
        `tensorfill.losses.robust.largest_noise`).
    corrupt
        Which entries are corrupt, if that is known and `beyond` is not given.

    Returns
    -------
    coords, amounts
        The coordinates of the k corrupt entries, of shape (k, ndim), and observation minus prediction at each.

    Examples
    --------
    >>> table = np.array([[1.0, 2.1], [3.0, 70.0]])
    >>> outliers(Observations.from_dense(table), np.array([1.1, 2.0, 3.1, 4.0]))
    (array([[1, 1]]), array([66.]))
    """
    if corrupt is None or beyond is not None:
        differences, corrupt = _judged(observations, predicted, beyond)
    else:
        differences = observations.values - predicted
    positions = np.unravel_index(observations.positions[corrupt], observations.shape)
    return np.stack(positions, axis=1), differences[corrupt]


def are_outliers(observations: Observations, model: Model, residuals: Floats | None = None) -> Booleans:
    """Return whether each observed entry is judged corrupt; see `outliers`.

    Parameters
    ----------
    observations, model
        The data, and the answer of a robust fit.
    residuals
        Residuals of held-out entries, from which the noise is estimated; by default those of all entries.
    """
    beyond = None if residuals is None else largest_noise(noise_scale(residuals), len(observations))
    return _judged(observations, predicted_at(observations, model), beyond)[1]


def without_outliers(observations: Observations, model: Model, *, beyond: float | None = None) -> Observations:
    """Return the data without the entries that are judged corrupt; for the parameters see `outliers`."""
    _, corrupt = _judged(observations, predicted_at(observations, model), beyond)
    return observations.select(~corrupt)


def _judged(observations: Observations, predicted: Floats, beyond: float | None) -> tuple[Floats, Booleans]:
    """Return observation minus prediction at each entry, and whether the entry is judged corrupt."""
    differences = observations.values - predicted
    if beyond is None:
        limit = largest_noise(noise_scale(differences), len(differences))
    else:
        limit = real_number(beyond, "beyond", at_least=0)
    corrupt: Booleans = np.asarray(np.abs(differences) > limit)
    return differences, corrupt


def predicted_at(observations: Observations, model: Model) -> Floats:
    """Return the prediction of each observed entry."""
    if observations.is_dense:
        predicted: Floats = model.to_dense(max_bytes=math.inf).reshape(-1)[observations.positions]
        return predicted
    return model.predict(observations.coords)
