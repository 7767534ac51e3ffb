"""Which storage fits in memory, and which is faster."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .._support.memory import physical_bytes
from ..algebra.columns import observed_columns
from ..algebra.entries import Entries
from ..algebra.unfolding import column_index, columns
from ..observations import Observations

ALWAYS_DENSE_SIZE = 2**16
DENSE_SIZE, DENSE_DENSITY = 2**21, 0.1
ALWAYS_DENSE_DENSITY = 0.8
"""Up to the first size dense storage is about as fast, and has no loops to compile. Up to the second size it is faster
from the density beside it on, and for larger tensors from the last density on. Measured by
``benchmarks/storage.py``."""

DENSE_COPIES = 6
"""The peak number of arrays of the size of the tensor in dense storage."""

FEWEST_COLUMNS = 16
"""The peak number of columns of an unfolding's length in sparse storage, for an answer of rank one."""


def dense_is_faster(observations: Entries) -> bool:
    """Return whether dense storage is faster for this size and density, and fits."""
    size = math.prod(observations.shape)
    if size * observations.dtype.itemsize * DENSE_COPIES > physical_bytes() / 2:
        return False
    if size <= ALWAYS_DENSE_SIZE or observations.density > ALWAYS_DENSE_DENSITY:
        return True
    return size <= DENSE_SIZE and observations.density > DENSE_DENSITY


MANY_COLUMNS = 2**19
"""Components of shorter unfoldings are stored at all columns, for any entries, because they take little memory."""

OBSERVED_COST = 4
"""The cost of an observed column, in columns of a component that is stored at all of them.

Components at all columns are multiplied piece by piece in the cache; those at observed columns are gathered for every
pair of modes. Measured on nine tensors with 60,000 to 1,000,000 entries, an observed column took 2.1 to 3.9 times as
long as one of all columns."""


def observed_columns_are_cheaper(observations: Observations, modes: Sequence[int]) -> bool:
    """Return whether components cost less at the columns with an entry than at all columns.

    Both costs are sums over the modes, because every pair of components is multiplied. Where entries share columns,
    there are fewer observed columns than entries.

    Parameters
    ----------
    observations
        The entries.
    modes
        The regularised modes.

    Examples
    --------
    >>> observed_columns_are_cheaper(Observations(np.eye(3, dtype=int), np.ones(3), (10**6, 10**6, 1000)), (0, 1))
    True
    """
    shape, count = observations.shape, len(observations)
    if len(shape) == 2:
        # A column of a matrix without any entry is a slice without any, which is filled from the others.
        return False
    sizes = [columns(shape, mode) for mode in modes]
    most = sum(sizes) / OBSERVED_COST
    # An observed column has an entry, and none has more than one for each row. This often decides without a count.
    if max(sizes) < MANY_COLUMNS or sum(count / shape[mode] for mode in modes) >= most:
        return False
    if sum(min(count, size) for size in sizes) < most:
        return True
    return sum(len(observed_columns(observations.coords, shape, mode)) for mode in modes) < most


FEWEST_TOGETHER = 0.02
"""If at most this share of the entries has another entry in its column, low rank relates hardly any rows."""


def are_alone(observations: Observations, modes: Sequence[int]) -> bool:
    """Return whether hardly any entry shares its column with another, along all of these modes.

    >>> are_alone(Observations(np.eye(3, dtype=int), np.ones(3), (9, 9, 9)), (0, 1))
    True
    """
    for mode in modes:
        counts = np.unique(column_index(observations.coords, observations.shape, mode), return_counts=True)[1]
        if np.count_nonzero(counts == 1) < (1 - FEWEST_TOGETHER) * len(observations):
            return False
    return True


def check_factors_fit(observations: Entries, modes: Sequence[int]) -> None:
    """Raise an error that names the first mode whose unfolding is too long even for an answer of rank one."""
    for mode in modes:
        needed = columns(observations.shape, mode) * observations.dtype.itemsize * FEWEST_COLUMNS
        if needed > physical_bytes():
            raise MemoryError(
                f"Regularising mode {mode} of a tensor of shape {observations.shape} takes {needed:,} bytes even at "
                f"rank one, more than this machine's {physical_bytes():,.0f}; leave mode {mode} out of modes, or "
                "give storage='columns' without graphs."
            )
