"""Loops over long arrays, piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from .._support.parallel import side_by_side

T = TypeVar("T")

PIECE = 2**15
"""The length of a piece, small enough for intermediate results to stay in the cache."""


def in_pieces(count: int, work: Callable[[slice], T], *, width: int = 1) -> tuple[T, ...]:
    """Return the results of some work on each piece of an array of `count` rows of `width` numbers, done in parallel.

    >>> in_pieces(5, lambda piece: sum(range(5)[piece]))
    (10,)
    """
    rows = max(1, PIECE // width)
    return side_by_side([partial(work, slice(first, first + rows)) for first in range(0, count, rows)])
