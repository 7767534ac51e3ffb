"""The headers of NetCDF-3 files, read to detect truncated files, whose missing numbers the library reads as 0."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import IO

SIGNATURES = {b"CDF\x01": (4, 4), b"CDF\x02": (4, 8), b"CDF\x05": (8, 8)}
"""The bytes of a count and of an offset, by the signature of the file: classic, large offsets, large sizes."""

WIDTHS = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}
"""The bytes of a number, by its type code."""

DIMENSION, VARIABLE, ATTRIBUTE = 10, 11, 12
"""The codes that begin a list."""

MOST = 2**20
"""The largest number of dimensions, attributes or variables, and the largest length of a name."""


@dataclass(frozen=True)
class _Variable:
    dims: tuple[int, ...]
    width: int
    begin: int


def check_all_there(path: Path) -> None:
    """Raise a ValueError if the file is shorter than its header states."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = _Header(file, size)
        records, dims = header.numbers_of_records(), header.dims()
        header.attributes()
        variables = header.variables(len(dims))
    end = _end(variables, dims, records)
    if end > size:
        raise ValueError(f"it is cut off: its numbers end after {end:,} bytes, but it has {size:,}")


def _end(variables: list[_Variable], dims: list[int], records: int) -> int:
    """Return the offset of the end of the last number."""
    along = [each for each in variables if each.dims and dims[each.dims[0]] == 0]
    sizes = [math.prod(dims[dim] for dim in each.dims[1:]) * each.width for each in along]
    # A record begins at a multiple of four bytes, unless it consists of small numbers of a single variable.
    record = sizes[0] if len(sizes) == 1 else sum(-(-size // 4) * 4 for size in sizes)
    ends = [
        each.begin + math.prod(dims[dim] for dim in each.dims) * each.width for each in variables if each not in along
    ]
    if records:
        ends += [each.begin + (records - 1) * record + size for each, size in zip(along, sizes, strict=True)]
    return max(ends, default=0)


class _Header:
    """Reads a header sequentially."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._size = file, size
        self._count, self._place = SIGNATURES[file.read(4)]

    def _number(self, width: int = 4) -> int:
        content = self._file.read(width)
        if len(content) < width:
            raise ValueError("its header is cut off")
        return int.from_bytes(content, "big")

    def _several(self) -> int:
        """Return a count."""
        count = self._number(self._count)
        if count > min(MOST, self._size):
            raise ValueError(f"its header says that {count:,} parts follow")
        return count

    def _name(self) -> None:
        length = self._several()
        self._file.seek(-(-length // 4) * 4, 1)

    def _begin_list(self, wanted: int) -> int:
        """Return the length of a list."""
        kind, length = self._number(), self._several()
        if kind != wanted and (kind, length) != (0, 0):
            raise ValueError("a list of its header is of another kind")
        return length

    def numbers_of_records(self) -> int:
        """Return the length of the unlimited dimension; 0 if it is not known."""
        count = self._number(self._count)
        return 0 if count == 2 ** (8 * self._count) - 1 else count

    def dims(self) -> list[int]:
        """Return the length of each dimension."""
        lengths = []
        for _ in range(self._begin_list(DIMENSION)):
            self._name()
            lengths.append(self._number(self._count))
        return lengths

    def attributes(self) -> None:
        """Skip attributes."""
        for _ in range(self._begin_list(ATTRIBUTE)):
            self._name()
            width = self._width()
            self._file.seek(-(-self._several() * width // 4) * 4, 1)

    def _width(self) -> int:
        kind = self._number()
        if kind not in WIDTHS:
            raise ValueError(f"its header has a type {kind}")
        return WIDTHS[kind]

    def variables(self, dims: int) -> list[_Variable]:
        """Return the variables, in a file with `dims` dimensions."""
        found = []
        for _ in range(self._begin_list(VARIABLE)):
            self._name()
            own = tuple(self._number(self._count) for _ in range(self._several()))
            if own and max(own) >= dims:
                raise ValueError("a variable has a dimension that is not there")
            self.attributes()
            width = self._width()
            self._number(self._count)
            found.append(_Variable(own, width, self._number(self._place)))
        return found
