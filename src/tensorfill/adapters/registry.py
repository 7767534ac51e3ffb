"""The list of adapters, and the function that reads data with the one that accepts it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from numpy.typing import NDArray

from .._support.checks import choice
from .._support.conforming import conforms
from ..labels import Labelled, Labels
from . import arrays, libraries, sparse_arrays, xarrays
from .kinds import MISSING
from .restoring import Restorer
from .tables import ToTable, answered, take_in_columns, take_in_table
from .wide_tables import LAYOUTS, ToWideTable, is_wide, take_in_wide

__all__ = [
    "ADAPTERS", "RESTORERS", "Adapter", "answered_table", "columns_of_values", "is_table", "looks_wide", "rebuilt",
    "take_in", "take_in_columns",
]  # fmt: skip


@dataclass(frozen=True)
class Adapter:
    """An adapter for one kind of data.

    Parameters
    ----------
    accepts
        Returns whether an object is of this kind.
    take_in
        Returns the observations and labels of the object, given `missing` and `value` as in the function `take_in`, and
        for data with columns also `layout`.
    has_columns
        Whether the data has columns that `value` can name.
    """

    accepts: Callable[[Any], bool]
    take_in: Callable[..., Labelled]
    has_columns: bool = False


def _array_within(data: Any, missing: str | None) -> Labelled:
    return take_in(data, missing=missing)


def _table(data: Any, missing: str | None, value: str | None, layout: str | None) -> Labelled:
    library = libraries.library_of(data)
    if library is None:
        raise TypeError(f"a table must be a DataFrame of pandas or polars, but a {type(data).__name__} was given.")
    if layout is not None:
        choice(layout, "layout, unless None,", LAYOUTS)
    if value is not None and layout == "wide":
        raise ValueError(f"value must be left out for a wide table, all of whose columns hold values, not {value!r}.")
    if layout == "wide" or (layout is None and value is None and is_wide(data, library)):
        return take_in_wide(data, missing, library)
    return take_in_table(data, missing, value, library)


def _unread_table(data: Any, missing: str | None, value: str | None, layout: str | None) -> Labelled:
    raise TypeError(
        f"a table must be a DataFrame of pandas or polars, but a {type(data).__name__} was given; "
        f"give {libraries.unread_table(data)}."
    )


ADAPTERS: list[Adapter] = [
    Adapter(arrays.is_taken_in, arrays.take_in_again),
    Adapter(xarrays.is_data_array, lambda data, missing, _: xarrays.take_in_data_array(data, missing, _array_within)),
    Adapter(xarrays.is_dataset, lambda data, missing, _: xarrays.take_in_dataset(data, missing, _array_within)),
    Adapter(lambda data: libraries.library_of(data) is not None, _table, has_columns=True),
    Adapter(lambda data: libraries.unread_table(data) is not None, _unread_table, has_columns=True),
    Adapter(sparse_arrays.is_scipy, sparse_arrays.take_in_scipy),
    Adapter(sparse_arrays.is_sparse, sparse_arrays.take_in_sparse),
    # numpy converts anything else to an array, or refuses it.
    Adapter(lambda data: True, arrays.take_in_array),
]
"""The adapters; the first that accepts the data reads it."""

RESTORERS: dict[str, type[Restorer]] = {
    each.kind: each for each in (xarrays.ToDataArray, xarrays.ToDataset, ToTable, ToWideTable)
}
"""The classes that turn an array back into an object of the input's kind, by their name in a file."""


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
        The column of a long table that holds the values; by default the last.
    layout
        ``"long"`` for a table with a row for each entry, ``"wide"`` for one with a value in each cell; by default it is
        inferred from the table.

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


def is_table(data: Any) -> bool:
    """Return whether `answered_table` treats this as a table of keys."""
    return libraries.library_of(data) is not None or libraries.unread_table(data) is not None


def answered_table(table: Any, labels: Labels, answer: Callable[[Any], Any]) -> Any:
    """Return a table of keys with columns of predictions; see `tables.answered`."""
    library = libraries.library_of(table)
    if library is None or not hasattr(table, "columns"):
        instead = libraries.unread_table(table) or "data.reset_index()"
        raise TypeError(
            f"keys must be columns of a DataFrame of pandas or polars, but a {type(table).__name__} was given; "
            f"give {instead}."
        )
    return answered(table, library, labels, answer)


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
