"""How many terms a sum of outer products can use."""

from __future__ import annotations

import math

from .._support.checks import is_auto
from ..observations import Observations


def most_terms(observations: Observations) -> int:
    """Return the most terms that can be told apart.

    A sum with a term for each observed entry reproduces all of them, and a sum with a term for each fibre along the
    longest mode is any tensor.

    >>> most_terms(Observations.from_dense([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    2
    """
    shape = observations.shape
    return max(1, min(len(observations), math.prod(shape) // max(shape)))


def check_terms(rank: int | str, observations: Observations) -> None:
    """Refuse a rank, the number of terms, above what the data can hold."""
    most = most_terms(observations)
    if not is_auto(rank, "rank") and int(rank) > most:
        raise ValueError(
            f"rank must be at most {most:,} for shape {observations.shape} with {len(observations):,} observed "
            f"entries, but {rank:,} was given; more terms cannot be told apart."
        )
