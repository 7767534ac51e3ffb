"""A compiled sort of entries by column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled


@compiled()
def by_column(
    rows: NDArray[Any], cols: NDArray[Any], values: NDArray[Any], starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the rows and the values of entries, one column after the other, by counting.

    Column c gets the places ``starts[c]`` to ``starts[c + 1]``.
    """
    free = starts.copy()
    sorted_rows, sorted_values = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
    for p in range(len(rows)):
        place = free[cols[p]]
        free[cols[p]] += 1
        sorted_rows[place], sorted_values[place] = rows[p], values[p]
    return sorted_rows, sorted_values
