"""FROSTT's text format for sparse tensors: a line for each entry, with its indices and then its value."""

from __future__ import annotations

import gzip
import re
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._support.checks import choice, tensor_shape, whole_number
from .._support.ordering import labels_of
from .._support.types import Floats, Integers
from ..labels import Labelled, Labels
from ..observations import Observations
from .atomic import written_beside
from .common import Content, warn_of_lost_labels
from .source import Source

LINES_AT_ONCE = 100_000
"""Lines that are joined before they are written."""

MOST_COLUMNS = 65
"""The largest number of columns: numpy's arrays have at most 64 modes, and there is a value."""

_SAID = re.compile(rb"#\s*(shape|base):\s*([\d\s]{1,1300})$")


def read(
    source: Source,
    *,
    missing: str | None = None,
    base: int | None = None,
    shape: Sequence[int] | None = None,
    duplicates: str = "error",
) -> Labelled:
    """Read a .tns file, gzipped or not; NaN and entries that are not listed are missing, but not zeros.

    Parameters
    ----------
    source
        The file.
    missing
        ``"absent"``, the default; ``"zero"`` if zeros that are listed are missing too.
    base
        The number of the first index: 1 as in FROSTT, or 0. By default it is read from a line ``# base: 0``; without
        one it is 0 if an index 0 occurs, else 1.
    shape
        The sizes of the modes; by default read from a line ``# shape: 3 4 5``, else the largest indices.
    duplicates
        How to combine coordinates that are listed more than once, as in `Observations`.
    """
    kind = choice("absent" if missing is None else missing, "missing for a .tns file", ("absent", "zero"))
    coords, values, stated = _entries(source, base)
    if shape is None:
        shape = (coords.max(axis=0) + 1).tolist() if stated is None else stated
    kept = ~np.isnan(values) & ((values != 0) | (kind != "zero"))
    if not kept.all():
        coords, values = coords[kept], values[kept]
    observations = Observations(coords, values, shape, duplicates=duplicates)
    return Labelled(observations, Labels.plain(observations.ndim))


def _entries(source: Source, base: int | None) -> tuple[Integers, Floats, tuple[int, ...] | None]:
    """Return the coordinates, counted from 0, and the values of all lines, and the shape if a comment states it."""
    path = source.path
    columns, said = _head(source)
    if columns == 0:
        raise ValueError(f"a .tns file must list at least one entry, but {path} has none.")
    if not 3 <= columns <= MOST_COLUMNS:
        raise ValueError(
            f"each line must be two or more indices and a value, but the first of {path} has {columns:,} columns."
        )
    table = _table(source, columns)
    coords, values = table["coords"], table["value"]
    first = _first_index(coords, said["base"][0] if base is None and said.get("base") else base)
    stated = tensor_shape(said["shape"]) if "shape" in said else None
    return coords - first if first else coords, values, stated


def _first_index(coords: Integers, base: int | None) -> int:
    least = int(coords.min())
    if base is None:
        base = 0 if least == 0 else 1
    if whole_number(base, "base") not in (0, 1):
        raise ValueError(f"base must be 0 or 1, the number of the first index, but {base} was given.")
    if least < base:
        raise ValueError(f"indices must be at least {base}, but {least} occurs; give base=0 if they count from 0.")
    return base


def _head(source: Source) -> tuple[int, dict[str, list[int]]]:
    """Return the number of columns of the first entry, 0 if there is none, and the settings in comments before it."""
    said: dict[str, list[int]] = {}
    with source.read_as("a .tns file"), source.opened() as file:
        for line in source.lines(file):
            comment = _SAID.match(line.strip())
            if comment is not None:
                said[comment[1].decode()] = [int(number) for number in comment[2].split()[:MOST_COLUMNS]]
            fields = line.partition(b"#")[0].split()
            if fields:
                return len(fields), said
    return 0, said


def _table(source: Source, columns: int) -> Any:
    kind = np.dtype([("coords", np.int64, (columns - 1,)), ("value", np.float64)])
    try:
        with source.opened() as file, warnings.catch_warnings():
            # numpy before 2.3 reads 1.5 as the index 1, with only this warning.
            warnings.simplefilter("error", DeprecationWarning)
            return np.loadtxt(source.lines(file), dtype=kind, comments="#", ndmin=1, encoding="utf-8")
    except ValueError as error:
        # numpy's row numbers skip comments and blank lines, so they are not those of an editor.
        with source.opened() as file:
            found = _first_bad_line(source.lines(file), columns)
        if found is None:
            raise
        number, line = found
        raise ValueError(
            f"each line must be {columns - 1} whole numbers and a value, as in the first, but line {number} of "
            f"{source.path} is {line!r}; correct or remove it."
        ) from error


def _first_bad_line(lines: Iterable[bytes], columns: int) -> tuple[int, str] | None:
    for number, line in enumerate(lines, start=1):
        fields = line.partition(b"#")[0].split()
        if fields and not (len(fields) == columns and _are_numbers(fields)):
            text = line.decode("utf-8", "replace").strip()
            return number, text if len(text) <= 60 else f"{text[:60]}..."
    return None


def _are_numbers(fields: Sequence[bytes]) -> bool:
    try:
        float(fields[-1])
        return all(-(2**63) <= int(field) < 2**63 for field in fields[:-1])
    except ValueError:
        return False


def write(path: Path, content: Content, *, base: int = 1) -> None:
    """Write a .tns file, gzipped if its name ends in .gz, with a first line that states the shape.

    Parameters
    ----------
    path
        The file.
    content
        What to write; missing entries are left out.
    base
        The number of the first index: 1 as in FROSTT, or 0.
    """
    if whole_number(base, "base") not in (0, 1):
        raise ValueError(f"base must be 0 or 1, the number of the first index, but {base} was given.")
    warn_of_lost_labels(content.labels, "a .tns file")
    coords, values = content.entries()
    with written_beside(path) as file:
        if path.suffix.lower() == ".gz":
            with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as zipped:
                _write_lines(zipped, coords, values, content.shape, base)
        else:
            _write_lines(file, coords, values, content.shape, base)


def _write_lines(
    file: IO[bytes] | gzip.GzipFile, coords: Integers, values: Floats, shape: tuple[int, ...], base: int
) -> None:
    file.write(f"# shape: {' '.join(map(str, shape))}\n".encode())
    if base == 0:
        file.write(b"# base: 0\n")
    # Whole numbers are written without a decimal point.
    whole = bool(np.all((values == np.round(values)) & (np.abs(values) < 2**53)))
    for start in range(0, len(values), LINES_AT_ONCE):
        part = slice(start, start + LINES_AT_ONCE)
        numbers = values[part].astype(np.int64) if whole else values[part]
        columns = [*(coords[part] + base).T.tolist(), numbers.tolist()]
        file.write("".join(" ".join(map(str, row)) + "\n" for row in zip(*columns, strict=True)).encode())


def repeats(path: Path, base: int | None = None, max_bytes: float | None = None) -> int:
    """Return how many lines of a .tns file list an entry that an earlier line lists."""
    coords, _, _ = _entries(Source(path, max_bytes), base)
    shape = tuple((coords.max(axis=0) + 1).tolist())
    return len(coords) - 1 - int(labels_of(coords, shape).max())
