"""Products of the cores of a tensor ring, of shape (r_d, I_d, r_{d+1}); a train is a ring whose first rank is one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np

from .._support.types import Floats


def joined(first: Floats, second: Floats) -> Floats:
    """Return the core of two neighbouring modes as one: (r, I, s) and (s, J, t) make (r, I J, t)."""
    (before, rows, inner), (_, columns, after) = first.shape, second.shape
    product = first.reshape(before * rows, inner) @ second.reshape(inner, columns * after)
    return product.reshape(before, rows * columns, after)


def merged(cores: Sequence[Floats]) -> Floats:
    """Return the core of several neighbouring modes as one, with the last of them running fastest."""
    return reduce(joined, cores)


def ring_of(cores: Sequence[Floats]) -> Floats:
    """Return the tensor of a ring: one matrix product, of which each side has about half of the modes."""
    shape = [core.shape[1] for core in cores]
    sizes = [math.prod(shape[:cut]) + math.prod(shape[cut:]) for cut in range(1, len(shape))]
    cut = 1 + int(np.argmin(sizes))
    left, right = merged(cores[:cut]), merged(cores[cut:])
    # Rows are the indices of the first modes and columns those of the others; between them run both ranks.
    around = left.shape[0] * left.shape[2]
    rows = left.transpose(1, 0, 2).reshape(left.shape[1], around)
    columns = right.transpose(2, 0, 1).reshape(around, right.shape[1])
    return (rows @ columns).reshape(shape)


def transfer(pairs: Iterable[tuple[Floats, Floats]]) -> Floats:
    """Return the product over the modes of ``sum_i G[i] (x) H[i]``, as an array (r, s, R, S) for each pair (G, H).

    Axes 0 and 2 are those of the first ring, at its start and at its end, and axes 1 and 3 those of the second.
    """
    product: Floats | None = None
    for first, second in pairs:
        (a, size, b), (c, _, d) = first.shape, second.shape
        own = np.tensordot(first, second, axes=(1, 1)).transpose(0, 2, 1, 3)
        if product is None:
            product = own
            continue
        # In the wide middle, one core is multiplied after the other, which costs less than the product of both.
        start = product.shape[:2]
        many = start[0] * start[1]
        state = product.reshape(many, a, c).transpose(0, 2, 1).reshape(many * c, a) @ first.reshape(a, size * b)
        state = state.reshape(many, c, size, b).transpose(0, 3, 1, 2).reshape(many * b, c * size)
        product = (state @ second.reshape(c * size, d)).reshape(*start, b, d)
    if product is None:
        raise ValueError("a product of transfer matrices needs at least one pair of cores.")
    return product
