"""Compiled quantiles of predictions of entries from others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled

AT_ONCE = 256
"""The number of places whose predictions are sorted together, while they are in the cache."""


@compiled()
def quantiles_of_predictions(
    padded: NDArray[Any], places: NDArray[Any], steps: NDArray[Any], shares: NDArray[Any], out: NDArray[Any]
) -> NDArray[np.int64]:
    """Set `out` to quantiles of the predictions of each place, and return how many predictions it has.

    Parameters
    ----------
    padded
        Values, with NaN for unknown ones.
    places
        The positions of the entries that are predicted.
    steps
        A row for each kind of prediction: the value at the first of these distances, plus that at the second, less that
        at the third. The last two are equal if they take no part. What depends on an unknown value is no prediction.
    shares
        Which quantiles, without interpolation.
    out
        A row for each of them and a column for each place; NaN where there is no prediction.
    """
    found, row = np.empty((len(steps), AT_ONCE), padded.dtype), np.empty(len(steps), padded.dtype)
    counts = np.empty(len(places), np.int64)
    for first in range(0, len(places), AT_ONCE):
        length = min(AT_ONCE, len(places) - first)
        # The values of one kind are near each other in memory, those of one place are not.
        for k in range(len(steps)):
            one, two, three = steps[k, 0], steps[k, 1], steps[k, 2]
            for n in range(length):
                found[k, n] = padded[places[first + n] + one]
            if two != three:
                for n in range(length):
                    found[k, n] += padded[places[first + n] + two] - padded[places[first + n] + three]
        for n in range(length):
            count = 0
            for k in range(len(steps)):
                value = found[k, n]
                if np.isnan(value):
                    continue
                # There are at most some forty, which are kept in order.
                at = count
                while at > 0 and row[at - 1] > value:
                    row[at] = row[at - 1]
                    at -= 1
                row[at] = value
                count += 1
            counts[first + n] = count
            for q in range(len(shares)):
                out[q, first + n] = row[min(int(shares[q] * count), count - 1)] if count > 0 else np.nan
    return counts
