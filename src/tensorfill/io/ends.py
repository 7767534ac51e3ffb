"""Filled data with the ends of intervals, as tables and NetCDF files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._support.optional import need
from ..labels import Labels
from .netcdf import write_dataset
from .table_writing import write_table


def write_with_ends(path: Path, kind: str, filled: Any, labels: Labels, *, safe: bool = False) -> None:
    """Write filled data beside the ends of its intervals.

    Parameters
    ----------
    path
        The file.
    kind
        Its format: ``"csv"``, ``"tsv"``, ``"parquet"`` or ``"netcdf"``.
    filled
        What `Fit.filled` returns if asked for intervals: a table, a Dataset, or three arrays.
    labels
        The labels of arrays.
    safe
        As in `write_csv`.
    """
    if isinstance(filled, tuple):
        filled = _dataset(filled, labels) if kind == "netcdf" else table_of(filled, labels)
    if kind == "netcdf":
        write_dataset(path, filled)
        return
    write_table(path, kind, filled, safe=safe)


def names_with_ends(labels: Labels) -> tuple[str, str, str]:
    """Return the names of the values and of the ends of their intervals."""
    return labels.value, f"{labels.value}_low", f"{labels.value}_high"


def _named(parts: Sequence[Any], labels: Labels) -> dict[str, Any]:
    return dict(zip(names_with_ends(labels)[: len(parts)], parts, strict=True))


def table_of(parts: Sequence[Any], labels: Labels) -> Any:
    """Return a pandas table of values, or of values and the ends of their intervals, with a column for each mode.

    Parameters
    ----------
    parts
        One array, or three.
    labels
        The labels of the arrays.
    """
    shape = parts[0].shape
    places = [each.ravel() for each in np.indices(shape)]
    columns = {
        name: place if keys is None else np.asarray(keys)[place]
        for name, keys, place in zip(labels.names, labels.keys, places, strict=True)
    }
    values = {name: part.ravel() for name, part in _named(parts, labels).items()}
    return need("pandas", "files").DataFrame(columns | values)


def _dataset(parts: Sequence[Any], labels: Labels) -> Any:
    coords = {name: keys for name, keys in zip(labels.names, labels.keys, strict=True) if keys is not None}
    named = {name: (labels.names, part) for name, part in _named(parts, labels).items()}
    return need("xarray", "files").Dataset(named, coords=coords)
