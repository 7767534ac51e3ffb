"""Sparse arrays of scipy and of the package sparse; the user must say whether unstored entries are missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._support.checks import real_array
from .._support.types import Floats, Integers
from ..labels import Labelled, Labels
from ..observations import Observations
from .kinds import Adapter, is_a


def is_scipy(data: Any) -> bool:
    """Return whether this is a sparse matrix or array of scipy."""
    return is_a(data, "scipy", "_spbase", "spmatrix", "sparray")


def is_sparse(data: Any) -> bool:
    """Return whether this is an array of the package sparse."""
    return is_a(data, "sparse", "SparseArray")


def take_in_scipy(data: Any, missing: str | None, value: str | None) -> Labelled:
    """Return the observations of a scipy.sparse matrix or array, of any order."""
    _refuse_unless_missing(missing, "data.toarray()")
    entries = data.tocoo()
    # Older versions of scipy only have matrices, without `coords`.
    coords = getattr(entries, "coords", None) or (entries.row, entries.col)
    return _observed(np.stack(coords, axis=1), entries.data, entries.shape, missing)


def take_in_sparse(data: Any, missing: str | None, value: str | None) -> Labelled:
    """Return the observations of an array of the package sparse; with the fill value NaN, unstored entries are missing.

    With any other fill value, the user must say what is missing.
    """
    entries = data.asformat("coo")
    fill = entries.fill_value
    if not np.isnan(fill):
        if fill == 0:
            _refuse_unless_missing(missing, "data.todense()")
        elif missing != "absent":
            raise ValueError(
                f"missing must be 'absent' for a sparse array with the fill value {fill:g}, but missing={missing!r} "
                "was given; if the unstored entries were observed, give data.todense()."
            )
    return _observed(entries.coords.T, entries.data, entries.shape, missing)


def _refuse_unless_missing(missing: str | None, dense: str) -> None:
    """Raise an error unless `missing` says that unstored entries, which read as 0, are missing."""
    if missing not in ("absent", "zero"):
        raise ValueError(
            "missing must be 'absent' for a sparse array whose unstored entries are missing, or 'zero' if stored "
            f"zeros are missing too, but missing={missing!r} was given; if the unstored entries are true zeros, give "
            f"{dense}."
        )


def _observed(coords: Integers, stored: Any, shape: tuple[int, ...], missing: str | None) -> Labelled:
    values: Floats = real_array(stored, "the stored values")
    there = ~np.isnan(values)
    # Entries stored twice are summed first, as in scipy, because the sum may be zero.
    observations = Observations(coords[there], values[there], shape, duplicates="sum")
    if missing == "zero":
        if not observations.values.any():
            raise ValueError("at least one entry must not be zero with missing='zero', but all are zero.")
        observations = observations.select(observations.values != 0)
    return Labelled(observations, Labels.plain(len(shape)))


SCIPY = Adapter(is_scipy, take_in_scipy)
SPARSE = Adapter(is_sparse, take_in_sparse)
