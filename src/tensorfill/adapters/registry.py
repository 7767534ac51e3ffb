"""The list of adapters, and the function that reads data with the one that accepts it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from numpy.typing import NDArray

from .._support import table
from .._support.checks import choice
from .._support.conforming import conforms
from .._support.registry import Registry, imported
from ..labels import Labelled, Labels
from . import libraries
from .kinds import MISSING, Adapter
from .layouts import is_wide
from .restoring import Restorer
from .tables import answered, take_in_columns

__all__ = [
    "ADAPTERS", "RESTORERS", "Adapter", "answered_table", "columns_of", "columns_of_values", "is_table", "looks_wide",
    "rebuilt", "take_in", "take_in_columns",
]  # fmt: skip


ADAPTERS: list[Adapter] = [imported(home) for home in table.ADAPTERS.values()]
"""The adapters; the first that accepts the data reads it."""

RESTORERS: Registry[type[Restorer]] = Registry(table.RESTORERS)
"""The classes that turn an array back into the kind of object that was given, by their name in a file."""


def take_in(data: Any, *, missing: str | None = None, value: str | None = None, layout: str | None = None) -> Labelled:
    """Return the observations of any data, with its labels and a function that restores the input's kind.

    Parameters
    ----------
    data
        An array, nested lists, a masked array, `Observations` or `Labelled`; a `DataArray` or `Dataset` of xarray; a
        table of pandas or polars; a sparse array of scipy or of the package sparse.
    missing
        ``"nan"``: NaN is missing. This is the default, except that a sparse array whose unstored entries read as 0 has
        no default. ``"zero"``: zeros are missing too. ``"absent"``: entries that a sparse array does not store are
        missing, while stored zeros were observed. NaN and null are missing in all cases.
    value
        The column of a long table that holds the values; by default the last, if no other column can hold values.
    layout
        ``"long"`` for a table with a row for each entry, ``"wide"`` for one with a value in each cell; by default it is
        inferred from the table, and asked for if there are two ways to read it.

    Examples
    --------
    >>> import numpy as np
    >>> take_in([[0.0, 1.0], [np.nan, 2.0]]).observations
    Observations(shape=(2, 2), observed=3 of 4 (75%), dense)
    >>> take_in([[0.0, 1.0], [np.nan, 2.0]], missing="zero").observations
    Observations(shape=(2, 2), observed=2 of 4 (50%), dense)
    """
    if missing is not None:
        choice(missing, "missing, unless None,", MISSING)
    adapter = next(each for each in ADAPTERS if each.accepts(data))
    if value is not None and not adapter.has_columns:
        raise ValueError(
            f"value must be left out unless the data is a table, whose column of values it names, but value={value!r} "
            f"was given with a {type(data).__name__}."
        )
    if layout is not None and not adapter.has_columns:
        raise ValueError(
            f"layout must be left out unless the data is a table, but layout={layout!r} was given with a "
            f"{type(data).__name__}."
        )
    if adapter.has_array:
        return adapter.take_in(data, missing, lambda array, missing: take_in(array, missing=missing))
    columns = (value, layout) if adapter.has_columns else (value,)
    return adapter.take_in(data, missing, *columns)


def looks_wide(table: Any) -> bool:
    """Return whether a table is read as wide if no layout is given."""
    library = libraries.library_of(table)
    return library is not None and is_wide(table, library)


def columns_of_values(table: Any) -> list[Any]:
    """Return the columns of values of a table read as wide."""
    library = libraries.library_of(table)
    parts = None if library is None else library.wide(table)
    return [] if parts is None else list(parts.columns)


def columns_of(data: Any) -> list[str] | None:
    """Return the names of the columns of a table, with those of the levels of its index; None for other data."""
    library = libraries.library_of(data)
    return None if library is None else [str(column) for column in library.columns(library.opened(data)[0])]


def is_table(data: Any) -> bool:
    """Return whether `answered_table` treats this as a table of keys."""
    return libraries.library_of(data) is not None or libraries.unread_table(data) is not None


def answered_table(
    table: Any, labels: Labels, answer: Callable[[Any], Any], within: tuple[int, ...] | None = None
) -> Any:
    """Return a table of keys with columns of predictions; see `tables.answered`."""
    library = libraries.library_of(table)
    if library is None or not hasattr(table, "columns"):
        instead = libraries.unread_table(table) or "data.reset_index()"
        raise TypeError(
            f"keys must be columns of a DataFrame of pandas or polars, but a {type(table).__name__} was given; "
            f"give {instead}."
        )
    return answered(table, library, labels, answer, within)


def rebuilt(labels: Labels, words: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Restorer | None:
    """Return the restorer that a file describes, or None if its library is not installed.

    The file is not trusted: it names the kind and the library, and both must be known here before the library is
    imported.
    """
    kind = RESTORERS.get(str(words.get("kind")))
    library = words.get("library")
    if kind is None or library not in kind.libraries:
        raise ValueError(f"there is no {str(words.get('kind'))[:40]!r} of a library {str(library)[:40]!r}")
    for name, hint in kind.words.items():
        if name not in words or not conforms(words[name], hint):
            raise ValueError(f"{name!r} of the {kind.kind} is missing or of another type")
    return kind.rebuilt(labels, words, arrays) if find_spec(library) is not None else None
