"""NetCDF files, by xarray: the names of the modes are its dimensions, and the labels its coordinates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._support.optional import need
from ..adapters.registry import take_in
from ..labels import Labelled
from .atomic import named_beside
from .common import Content, chosen_array, read_as

VARIABLE = "value"
"""The name of the variable that is written, if the data has none."""


def read(path: Path, *, missing: str | None = None, name: str | None = None) -> Labelled:
    """Read a variable of a NetCDF file; its fill value and NaN are missing.

    Parameters
    ----------
    path
        The file.
    missing
        ``"nan"``, the default; ``"zero"`` if zeros are missing too.
    name
        The variable, if several can be a tensor.
    """
    xarray = need("xarray", "files")
    need("netCDF4", "files")
    with read_as(path, "NetCDF", ValueError, OSError):
        opened = xarray.open_dataset(path, engine="netcdf4")
    with opened as file:
        sizes = {str(each): data.shape for each, data in file.data_vars.items() if data.dtype.kind in "biuf"}
        chosen = chosen_array(path, sizes, name, [each for each, shape in sizes.items() if len(shape) > 1])
        loaded = file[chosen].load()
    return take_in(loaded, missing=missing)


def check(path: Path, content: Content) -> None:
    """Raise an error if a NetCDF file cannot hold such a tensor."""
    for name, keys in zip(content.labels.names, content.labels.keys, strict=True):
        if "/" in name:
            raise ValueError(f"names of modes must not contain a slash in a NetCDF file, but {name!r} does; rename it.")
        if keys is not None and keys.dtype.kind not in "biufUSMm" and not all(isinstance(key, str) for key in keys):
            raise ValueError(
                f"the labels of {name!r} must be all numbers, all texts or all dates to be written as NetCDF; "
                "write .csv."
            )


def write(path: Path, content: Content, *, name: str | None = None) -> None:
    """Write an array with its labels, and NaN for missing entries.

    Parameters
    ----------
    path
        The file.
    content
        What to write; an xarray.DataArray is written unchanged.
    name
        The variable; by default the name of the DataArray, else ``"value"``.
    """
    xarray = need("xarray", "files")
    need("netCDF4", "files")
    array: Any = content.given
    if not isinstance(array, xarray.DataArray):
        names, keys = content.labels.names, content.labels.keys
        coords = {each: key for each, key in zip(names, keys, strict=True) if key is not None}
        array = xarray.DataArray(content.dense(), dims=names, coords=coords)
    write_dataset(path, array.rename(name or array.name or VARIABLE).to_dataset())


def write_dataset(path: Path, dataset: Any) -> None:
    """Write an xarray.Dataset, with a checksum of every block of numbers, which reading compares."""
    need("netCDF4", "files")
    summed = dataset.copy(deep=False)
    for each in summed.variables.values():
        # HDF5 has no checksums for texts of any length, nor for single numbers.
        if each.ndim and each.size and each.dtype.kind in "biufmM":
            each.encoding = {**each.encoding, "fletcher32": True, "contiguous": False}
    with named_beside(path) as beside:
        try:
            summed.to_netcdf(beside, engine="netcdf4")
        except RuntimeError as error:
            # This is how netCDF4 says that the disk is full.
            raise OSError(str(error)) from error
