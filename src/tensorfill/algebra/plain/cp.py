"""`compiled.cp` in NumPy, for few entries."""

from __future__ import annotations

from functools import reduce

import numpy as np

from ..._support.types import Floats, Integers
from .grouping import add_by_group, factor_rows, grams_by_group


def normal_equations(
    places: Integers,
    coords: Integers,
    values: Floats,
    mode: int,
    flat: Floats,
    starts: Integers,
    terms: int,
    together: int,
    separate: bool,
    first: int,
    last: int,
    sums: Floats,
) -> None:
    """Add ``w_p w_p^T`` and ``o_p w_p`` of every entry p, or ``w_p^2`` and ``o_p w_p``, to the sums of its index."""
    index, w = coords[first:last, mode], _product_of_rows(coords[first:last], flat[0], starts, terms, without=mode)
    own = sums.reshape(-1, 2 if separate else terms + 1, sums.shape[1])[..., : terms + 1]
    if separate:
        add_by_group(index, np.ones(len(w)), w * w, own[:, 0, :terms])
        add_by_group(index, values[first:last], w, own[:, 1, :terms])
    else:
        own += grams_by_group(index, np.column_stack([w, values[first:last]]), len(own))


def values_at(coords: Integers, flat: Floats, starts: Integers, terms: int, first: int, last: int, out: Floats) -> None:
    """Set ``out[p]`` to the sum over the terms of the product of the rows of entry p."""
    _product_of_rows(coords[first:last], flat, starts, terms).sum(axis=1, out=out[first:last])


def add_gradients(
    coords: Integers,
    slopes: Floats,
    flat: Floats,
    starts: Integers,
    terms: int,
    first: int,
    last: int,
    out: Floats,
) -> None:
    """Add the gradient of ``sum_p slopes[p] * X_p`` for all rows of all factors."""
    for mode, rows in enumerate(np.split(out, starts[1:]) if terms else ()):
        add_contracted(coords, slopes, mode, flat, starts, first, last, rows.reshape(-1, terms))


def add_contracted(
    coords: Integers,
    values: Floats,
    mode: int,
    flat: Floats,
    starts: Integers,
    first: int,
    last: int,
    out: Floats,
) -> None:
    """Add ``values[p]`` times the product of the rows in all other factors to the row of entry p in `mode`."""
    w = _product_of_rows(coords[first:last], flat, starts, out.shape[1], without=mode)
    add_by_group(coords[first:last, mode], values[first:last], w, out)


def _product_of_rows(
    coords: Integers, flat: Floats, starts: Integers, terms: int, without: int | None = None
) -> Floats:
    """Return the product of the rows of every entry in all factors, or in all but one, term by term."""
    rows = (factor_rows(flat, starts[m], terms, coords[:, m]) for m in range(coords.shape[1]) if m != without)
    product: Floats = reduce(np.multiply, rows)
    return product
