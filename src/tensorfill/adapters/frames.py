"""Tables of pandas and polars, in either layout."""

from __future__ import annotations

from typing import Any

from .._support.checks import choice
from ..labels import Labelled
from . import libraries
from .kinds import Adapter
from .layouts import LAYOUTS, is_wide
from .tables import take_in_table
from .wide_tables import take_in_wide


def take_in_frame(data: Any, missing: str | None, value: str | None, layout: str | None) -> Labelled:
    """Return the observations of a table, long or wide."""
    library = libraries.library_of(data)
    if library is None:
        raise TypeError(f"a table must be a DataFrame of pandas or polars, but a {type(data).__name__} was given.")
    if layout is not None:
        choice(layout, "layout, unless None,", LAYOUTS)
    if value is not None and layout == "wide":
        raise ValueError(f"value must be left out for a wide table, all of whose columns hold values, not {value!r}.")
    if layout == "wide" or (layout is None and value is None and is_wide(data, library)):
        return take_in_wide(data, missing, library)
    return take_in_table(data, missing, value, layout, library)


def refuse(data: Any, missing: str | None, value: str | None, layout: str | None) -> Labelled:
    """Refuse a table of another library, and say how to convert it."""
    raise TypeError(
        f"a table must be a DataFrame of pandas or polars, but a {type(data).__name__} was given; "
        f"give {libraries.unread_table(data)}."
    )


TABLE = Adapter(lambda data: libraries.library_of(data) is not None, take_in_frame, has_columns=True)
OTHER_TABLE = Adapter(lambda data: libraries.unread_table(data) is not None, refuse, has_columns=True)
