"""Arrays, nested lists, masked arrays, and data that is already `Labelled` or `Observations`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._support.checks import real_array
from ..labels import Labelled, Labels
from ..observations import Observations
from .kinds import Adapter

MOST_SHOWN = 60
"""The largest number of letters of an object in a message."""


def is_taken_in(data: Any) -> bool:
    """Return whether the data is `Observations` or `Labelled`, which hold the observed entries already."""
    return isinstance(data, Labelled | Observations)


def take_in_again(data: Labelled | Observations, missing: str | None, value: str | None) -> Labelled:
    """Return `Labelled` data unchanged, and observations with plain labels."""
    if missing is not None:
        raise ValueError(
            "missing must be left out for Observations and Labelled, which list the observed entries themselves, "
            f"but missing={missing!r} was given."
        )
    return data if isinstance(data, Labelled) else Labelled(data, Labels.plain(data.ndim))


def take_in_array(data: Any, missing: str | None, value: str | None) -> Labelled:
    """Return the observations of an array; NaN is missing, and with ``missing="zero"`` so are zeros."""
    if not isinstance(data, Sequence | np.ndarray) and np.asarray(data).dtype == object and np.ndim(data) == 0:
        raise TypeError(
            "data must be an array with NaN for missing entries, Observations, a table of pandas or polars, an object "
            f"of xarray or a sparse array, but {_short(data)} ({type(data).__name__}) was given."
        )
    if missing == "absent":
        raise ValueError(
            "missing='absent' is for sparse arrays and tables, but an array that stores every entry was given; "
            "give missing='zero' if zeros are missing, or leave missing out and set missing entries to NaN."
        )
    if missing == "zero":
        array = real_array(data, "array")
        observations = Observations.from_dense(array, array != 0)
    else:
        observations = Observations.from_dense(data)
    return Labelled(observations, Labels.plain(observations.ndim))


def _short(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


OBSERVATIONS = Adapter(is_taken_in, take_in_again)
ARRAY = Adapter(lambda data: True, take_in_array)
