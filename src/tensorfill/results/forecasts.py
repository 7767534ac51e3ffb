"""A forecast in words: where it begins, its errors at earlier ends, and the weights of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._support.words import label_in_words, written
from ..labels import Labels

if TYPE_CHECKING:
    from ..fit import Fit
    from ..forecasting import Forecast

BLEND, LAST = "blend", "last value"
"""The names, among the errors of a forecast, of the whole and of the simplest part."""


def forecast_in_words(fit: Fit) -> str:
    """Return where the forecast of a fit begins and how large its errors were; nothing if the fit has none."""
    found = fit.ahead
    if found is None:
        return ""
    begin = beginning_in_words(fit, found)
    if BLEND not in found.errors:
        return f"{begin}; too few times to know its errors"
    beside = f" ({LAST} {written(found.errors[LAST])})" if LAST in found.errors else ""
    return f"{begin}; mean absolute error at earlier ends {written(found.errors[BLEND])}{beside}"


def beginning_in_words(fit: Fit, forecast: Forecast) -> str:
    """Return how many steps a forecast has, and after which time."""
    steps = f"{forecast.horizon:,} step{'s' if forecast.horizon > 1 else ''}"
    return f"{steps} beyond {end_in_words(fit, forecast)}"


def errors_in_words(forecast: Forecast) -> str:
    """Return the mean absolute error at earlier ends of the blend and of each of its parts, the smallest first.

    >>> from types import SimpleNamespace
    >>> errors_in_words(SimpleNamespace(errors={"last value": 0.9, "autoregression": 0.6, "blend": 0.5}))
    'blend: 0.5; autoregression: 0.6; last value: 0.9'
    """
    ordered = sorted(forecast.errors.items(), key=lambda each: (each[0] != BLEND, each[1]))
    return "; ".join(f"{name}: {written(error)}" for name, error in ordered)


def weights_in_words(forecast: Forecast) -> str:
    """Return the weight of each part, the largest first.

    >>> from types import SimpleNamespace
    >>> weights_in_words(SimpleNamespace(weights={"last value": 0.25, "autoregression": 0.75}))
    '0.75 autoregression; 0.25 last value'
    """
    ordered = sorted(forecast.weights.items(), key=lambda each: -each[1])
    return "; ".join(f"{weight:.2f} {name}" for name, weight in ordered)


def end_in_words(fit: Fit, forecast: Forecast) -> str:
    """Return the last time of the data of a fit."""
    return time_in_words(fit.labels, forecast.axis.modes, [fit.shape[mode] - 1 for mode in forecast.axis.modes])


def time_in_words(labels: Labels, modes: Sequence[int], places: Sequence[int]) -> str:
    """Return a time by its labels, with the names of the modes where labels are only numbers.

    >>> import numpy as np
    >>> labels = Labels(("day", "hour"), (np.array(["2024-03-01", "2024-03-02"], dtype="M8[D]"), None))
    >>> time_in_words(labels, (0, 1), (1, 23))
    '2024-03-02, hour 23'
    """
    return ", ".join(_part(labels, mode, place) for mode, place in zip(modes, places, strict=True))


def _part(labels: Labels, mode: int, place: int) -> str:
    keys = labels.keys[mode]
    if keys is None and not isinstance(labels.called(mode), str):
        return f"index {place:,} of {labels.in_words(mode)}"
    text = str(place) if keys is None else label_in_words(keys[place])
    return f"{labels.names[mode]} {text}" if keys is None or keys.dtype.kind in "iuf" else text
