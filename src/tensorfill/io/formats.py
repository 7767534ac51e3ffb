"""Every file format by name, and the functions that choose the format of a path."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .._support.checks import choice, listed
from .._support.optional import need
from .._support.progress import Display
from .._support.registry import imported
from .._support.table import FORMATS, Format
from .._support.types import Floats
from ..adapters.registry import take_in
from ..labels import Labelled, Labels
from ..observations import Observations
from .common import Content
from .source import Source

__all__ = ["FORMATS", "Format", "format_of", "read", "write"]


def read(
    path: str | PathLike[str],
    *,
    missing: str | None = None,
    format: str | None = None,
    max_bytes: float | None = None,
    progress: bool = False,
    **options: Any,
) -> Labelled:
    """Read a tensor with its labels from a file.

    An untrusted file cannot run code, open other files, or take more memory than `max_bytes`. A damaged file is refused
    with a ValueError, or a TypeError for labels and values of the wrong type, that names the file.

    Parameters
    ----------
    path
        The file.
    missing
        What is missing: ``"nan"`` for NaN, ``"zero"`` for NaN and zeros, ``"absent"`` for entries that are not listed,
        ``"alpha"`` for transparent pixels. By default NaN is missing in a file that holds every entry, and absent
        entries are missing in one that lists entries; a zero is missing only if you say so.
    format
        The name of the format; by default it is inferred from the extension.
    max_bytes
        The largest size of the unpacked content, in bytes; by default half of the machine's memory. A small file may
        claim, or unpack to, any size.
    progress
        Whether to show the progress of reading a large text file.
    **options
        Options of some formats: `name` of the array in .npz, .mat and .nc files; `mask`, an array or a path, nonzero
        where entries were observed, for formats that hold every entry; `value`, the column of a table with the values;
        `layout`, ``"long"`` or ``"wide"``, of a table that could be either; `base` (0 or 1), `shape` and `duplicates`
        of a .tns file.

    Returns
    -------
    Labelled
        The observations, their labels, and a function that restores the kind of object that the file holds.

    Examples
    --------
    >>> import tempfile, tensorfill
    >>> path = Path(tempfile.mkdtemp()) / "table.npy"
    >>> tensorfill.io.write(path, np.array([[1.0, np.nan], [0.0, 4.0]]))
    >>> tensorfill.io.read(path).observations
    Observations(shape=(2, 2), observed=3 of 4 (75%), dense)
    >>> tensorfill.io.read(path, missing="zero").observations
    Observations(shape=(2, 2), observed=2 of 4 (50%), dense)
    """
    name = format_of(Path(path), format)
    reader = imported(FORMATS[name].read)
    _check_options(name, "read", reader, options)
    with Display(progress) as display:
        display.begin(f"reading {Path(path).name}", None)
        source = Source(path, max_bytes, display.share)
        source.check_it_is_there()
        if isinstance(options.get("mask"), str | PathLike):
            options = options | {"mask": _read_mask(Path(options["mask"]), max_bytes)}
        with source.named(f"a file of {name}"):
            data: Labelled = reader(source, missing=missing, **options)
            # Whatever is done with a tensor takes a number for each index of each mode.
            source.need(8 * sum(data.observations.shape))
    return data


def _read_mask(path: Path, max_bytes: float | None) -> Floats:
    """Return the mask stored in a file: nonzero where entries were observed."""
    if path.suffix.lower() in (".jpg", ".jpeg"):
        raise ValueError(
            f"mask must say exactly what was observed, but {path} is a JPEG, which changes values; save it as PNG."
        )
    return read(path, max_bytes=max_bytes).observations.to_dense(fill=0.0)


def write(
    path: str | PathLike[str],
    data: Any,
    *,
    labels: Labels | None = None,
    format: str | None = None,
    **options: Any,
) -> None:
    """Write a tensor to a file; an error leaves an existing file unchanged.

    Parameters
    ----------
    path
        The file.
    data
        `Labelled` or plain `Observations`, an array with NaN for missing entries, or another object that
        `tensorfill.complete` takes.
    labels
        The names of the modes and of their indices, for observations and arrays without labels.
    format
        The name of the format; by default it is inferred from the extension.
    **options
        Options of some formats: `base` (0 or 1) of a .tns file, `name` of the variable in .mat and .nc files, `value`
        for the column of a table, `rate` in frames per second of a movie; `safe` for a .csv or .tsv file
        in which no text is a formula for a spreadsheet.
    """
    where = Path(path)
    name = format_of(where, format)
    writer = imported(FORMATS[name].write)
    _check_options(name, "write", writer, options)
    content = _content(data, labels)
    _check_content(name, where, content)
    writer(where, content, **options)


def check_installed(path: str | PathLike[str], *, format: str | None = None) -> str:
    """Return the name of the format of a file, or raise an error if a module that it needs is not installed."""
    name = format_of(Path(path), format)
    for module in FORMATS[name].modules:
        need(module, FORMATS[name].extra)
    return name


def check_holds(
    path: str | PathLike[str], data: Any, *, labels: Labels | None = None, format: str | None = None
) -> None:
    """Raise an error if `write` would refuse a tensor of this form, regardless of its values.

    Parameters
    ----------
    path, data, labels, format
        As in `write`.
    """
    _check_content(check_installed(path, format=format), Path(path), _content(data, labels))


def _check_content(name: str, path: Path, content: Content) -> None:
    check = FORMATS[name].check
    if check is not None:
        imported(check)(path, content)


def format_of(path: Path, format: str | None = None) -> str:
    """Return the name of a file's format, from its extension unless it is given."""
    if format is not None:
        return choice(format, "format", FORMATS)
    ending = path.name.lower()
    for name, each in FORMATS.items():
        if ending.endswith(each.extensions):
            return name
    known = ", ".join(ending for each in FORMATS.values() for ending in each.extensions)
    raise ValueError(
        f"the ending of {str(path)!r} is not that of a format; endings are {known}; rename it, or give format, one of "
        f"{listed(FORMATS)}."
    )


def _check_options(name: str, verb: str, function: Callable[..., Any], options: dict[str, Any]) -> None:
    """Raise an error for an option that the format does not have."""
    known = [
        each.name
        for each in inspect.signature(function).parameters.values()
        if each.kind is inspect.Parameter.KEYWORD_ONLY and each.name != "missing"
    ]
    for option in options:
        if option not in known:
            takes = f"it takes {listed(known)}" if known else "it takes none"
            raise TypeError(f"to {verb} {name} there is no option {option!r}; {takes}.")


def _content(data: Any, labels: Labels | None) -> Content:
    if isinstance(data, Labelled):
        return Content(labels or data.labels, data, data.observations)
    if isinstance(data, Observations) or (isinstance(data, np.ndarray) and not isinstance(data, np.ma.MaskedArray)):
        return Content(labels or Labels.plain(data.ndim), data, data)
    if labels is not None:
        return Content(labels, data)
    taken = take_in(data)
    return Content(taken.labels, data, taken.observations)
