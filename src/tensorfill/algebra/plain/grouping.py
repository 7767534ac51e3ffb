"""Rows of factors, and sums over the entries of each group, in NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse

from ..._support.types import Floats, Integers

SHORT = 2**16
"""NumPy sorts integers below this number by counting."""


def factor_rows(flat: Floats, start: int, rank: int, index: Integers) -> Floats:
    """Return some rows of the factor that starts at `start` of a flat array."""
    size = int(index.max(initial=-1)) + 1
    # This is faster than an index in brackets.
    return np.take(flat[start : start + size * rank].reshape(size, rank), index, axis=0, mode="clip")


def add_by_group(groups: Integers, weights: Floats, numbers: Floats, out: Floats) -> None:
    """Add ``weights[p] * numbers[p]`` to ``out[groups[p]]``, for every row p."""
    count = len(groups)
    out += scipy.sparse.csc_array((weights, groups, np.arange(count + 1)), shape=(len(out), count)) @ numbers


def grams_by_group(groups: Integers, numbers: Floats, count: int) -> Floats:
    """Return the Gram matrix of the rows of each of the groups 0, 1, .., `count` - 1."""
    order = np.argsort(groups.astype(np.uint16) if count <= SHORT else groups, kind="stable")
    numbers = np.take(numbers, order, axis=0)
    return products_by_run(numbers, numbers, np.cumsum([0, *np.bincount(groups, minlength=count)]))


def products_by_run(a: Floats, b: Floats, edges: Integers) -> Floats:
    """Return ``a[run].T @ b[run]`` for the runs of rows between neighbouring edges."""
    out = np.zeros((len(edges) - 1, a.shape[1], b.shape[1]))
    for total, (first, last) in zip(out, itertools.pairwise(edges.tolist()), strict=True):
        if first < last:
            np.dot(a[first:last].T, b[first:last], out=total)
    return out
