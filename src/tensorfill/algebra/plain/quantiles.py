"""`compiled.quantiles` in NumPy, for few entries."""

from __future__ import annotations

import numpy as np

from ..._support.types import Floats, Integers


def predictions(padded: Floats, places: Integers, steps: Integers) -> Floats:
    """Return the predictions of each place, with a column for each kind; see `compiled.quantiles`."""
    found = np.empty((len(places), len(steps)), dtype=padded.dtype)
    for column, (first, second, third) in enumerate(steps):
        found[:, column] = padded[places + first]
        if second != third:
            found[:, column] += padded[places + second] - padded[places + third]
    return found


def quantiles_of_predictions(
    padded: Floats, places: Integers, steps: Integers, shares: Floats, out: Floats
) -> Integers:
    """Set `out` to quantiles of the predictions of each place, and return how many predictions it has."""
    rows = predictions(padded, places, steps)
    rows.sort(axis=1)
    count: Integers = rows.shape[1] - np.count_nonzero(np.isnan(rows), axis=1)
    out[...] = np.nan
    for number, share in enumerate(shares if rows.shape[1] else ()):
        place = np.minimum((share * count).astype(np.int64), np.maximum(count - 1, 0))
        out[number] = np.take_along_axis(rows, place[:, None], axis=1)[:, 0]
    return count
