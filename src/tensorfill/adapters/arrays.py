"""Arrays, nested lists, masked arrays, and what has been taken in already."""

from __future__ import annotations

from typing import Any

from .._support.checks import real_array
from ..labels import Labelled, Labels
from ..observations import Observations


def is_taken_in(data: Any) -> bool:
    """Return whether the data says itself what was observed."""
    return isinstance(data, Labelled | Observations)


def take_in_again(data: Labelled | Observations, missing: str | None, value: str | None) -> Labelled:
    """Return what has been taken in already, with plain labels where it has none."""
    if missing is not None:
        raise ValueError(
            f"Observations and Labelled say themselves what was observed, but missing={missing!r} was given; "
            "leave it out."
        )
    return data if isinstance(data, Labelled) else Labelled(data, Labels.plain(data.ndim))


def take_in_array(data: Any, missing: str | None, value: str | None) -> Labelled:
    """Return the observations of an array in which NaN, or with ``missing="zero"`` zero too, is missing."""
    if missing == "absent":
        raise ValueError(
            "missing='absent' is for sparse arrays and tables, but an array that stores every entry was given; "
            "give missing='zero' if zeros are missing, or NaN where an entry is and leave missing out."
        )
    if missing == "zero":
        array = real_array(data, "array")
        observations = Observations.from_dense(array, array != 0)
    else:
        observations = Observations.from_dense(data)
    return Labelled(observations, Labels.plain(observations.ndim))
