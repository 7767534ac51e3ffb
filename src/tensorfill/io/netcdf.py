"""NetCDF files, by xarray: dimensions are modes, and coordinates are labels."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

from .._support.optional import need
from ..adapters.registry import take_in
from ..labels import Labelled
from . import hdf5, netcdf3
from .atomic import named_beside
from .common import Content, chosen_array
from .source import Source

BYTES = 8
"""The bytes of a number."""

TEXTS_AT_ONCE = 1000
"""The number of labels that are checked at a time."""

PATIENCE = 20
"""The time limit for opening a file, in seconds; a valid file takes milliseconds."""

OPENING = """
import sys, netCDF4
with netCDF4.Dataset(sys.argv[1]) as file:
    for each in file.variables.values():
        each.shape, each.dtype, [each.getncattr(name) for name in each.ncattrs()]
"""
"""The code of the process that tries to open a file."""

VARIABLE = "value"
"""The default name of the variable."""


def read(source: Source, *, missing: str | None = None, name: str | None = None) -> Labelled:
    """Read a variable of a NetCDF file; its fill value and NaN are missing.

    Parameters
    ----------
    source
        The file.
    missing
        ``"nan"``, the default; ``"zero"`` if zeros are missing too.
    name
        The variable, if several can be a tensor.
    """
    xarray = need("xarray", "files")
    path = source.path
    with source.read_as("NetCDF"):
        _check_file(source)
        _check_labels(source)
        opened = xarray.open_dataset(path, engine="netcdf4")
    with opened as file:
        sizes = {str(each): data.shape for each, data in file.data_vars.items() if data.dtype.kind in "biuf"}
        chosen = chosen_array(path, sizes, name, [each for each, shape in sizes.items() if len(shape) > 1])
        with source.read_as("NetCDF"):
            array = file[chosen]
            source.spend(BYTES * array.size + sum(BYTES * each.size for each in array.coords.values()))
            loaded = array.load()
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


def _check_file(source: Source) -> None:
    """Refuse files that the library would accept: truncated ones, those that use other files, and other formats."""
    with source.path.open("rb") as file:
        start = file.read(8)
    if start == hdf5.SIGNATURE:
        hdf5.check_no_other_files(source)
        _check_it_opens(source)
    elif start[:4] in netcdf3.SIGNATURES:
        netcdf3.check_all_there(source.path)
    else:
        raise ValueError("it begins like no NetCDF file")


def _check_it_opens(source: Source) -> None:
    """Refuse a file that makes the library crash or hang, by opening it in a separate process.

    Some damaged files make the HDF5 library crash, or loop forever.
    """
    if not sys.executable:
        return
    # Without -P, Python would import modules from the current folder.
    command = [sys.executable, "-P", "-c", OPENING, str(source.path)]
    try:
        code = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE).returncode
    except subprocess.TimeoutExpired:
        raise ValueError(f"its library does not come to an end in {PATIENCE} seconds") from None
    # If the library raises an error, the message is better when the file is opened here.
    if code < 0:
        raise ValueError("its library ends the process")


def _check_labels(source: Source) -> None:
    """Check the size of the labels of dimensions, which are read when a file is opened."""
    with need("netCDF4", "files").Dataset(source.path) as file:
        for name, variable in file.variables.items():
            if variable.dimensions[:1] != (name,):
                continue
            source.spend(BYTES * math.prod(variable.shape))
            if variable.dtype is str:
                # A text that is stored once can be repeated any number of times.
                for start in range(0, len(variable), TEXTS_AT_ONCE):
                    source.spend(sum(map(len, variable[start : start + TEXTS_AT_ONCE])))


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
    """Write an xarray.Dataset, with a checksum for every block of numbers, verified on reading."""
    need("netCDF4", "files")
    summed = dataset.copy(deep=False)
    for each in summed.variables.values():
        # HDF5 has no checksums for texts of variable length or for scalars.
        if each.ndim and each.size and each.dtype.kind in "biufmM":
            each.encoding = {**each.encoding, "fletcher32": True, "contiguous": False}
    with named_beside(path) as beside:
        try:
            summed.to_netcdf(beside, engine="netcdf4")
        except RuntimeError as error:
            # netCDF4 raises this error if the disk is full.
            raise OSError(str(error)) from error
