"""A reader of arrays in MATLAB files, versions 4 to 7, that checks every tag and length.

The format is that of "MAT-File Format" by The MathWorks. Other readers trust the lengths in a file, and a single wrong
bit can crash the process.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .source import Source

TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""The storage types of numbers, by the number in a tag."""

MATRIX, COMPRESSED = 14, 15

CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
"""The types of numbers, by the class of their array."""

SPARSE = 5

COMPLEX, LOGICAL = 8, 2
"""Flags of an array."""

MOST_MODES = 32
LONGEST_HEAD = 2**16
"""The largest part of a variable that holds its class, sizes and name, in bytes."""

OLD_TYPES = {0: "f8", 1: "f4", 2: "i4", 3: "i2", 4: "u2", 5: "u1"}
"""The storage types of numbers in version 4."""


@dataclass(frozen=True)
class Variable:
    """A variable of a file.

    Parameters
    ----------
    name
        Its name.
    shape
        Its sizes.
    kind
        The class of its array: a key of `CLASSES`, `SPARSE`, or another class, which is not read.
    flags
        Its flags.
    place
        The offset of its element in the file, and the number of bytes after the tag.
    compressed
        Whether it is compressed.
    """

    name: str
    shape: tuple[int, ...]
    kind: int
    flags: int
    place: tuple[int, int]
    compressed: bool

    @property
    def is_numeric(self) -> bool:
        """Whether it is an array of real numbers."""
        return (self.kind in CLASSES or self.kind == SPARSE) and not self.flags & COMPLEX


class MatlabFile:
    """A file of version 5 to 7.

    Parameters
    ----------
    source
        The file.
    file
        The same, open.
    """

    def __init__(self, source: Source, file: IO[bytes]) -> None:
        self._source, self._file, self._size = source, file, source.size
        head = _exactly(file, 128)
        self._order = {b"IM": "<", b"MI": ">"}.get(head[126:128], "")
        if not self._order:
            raise ValueError("it begins like no .mat file")
        version = head[125] if self._order == "<" else head[124]
        if version == 2:
            raise ValueError(
                f"{source.path} is a MATLAB v7.3 file, which cannot be read; save it again with save(..., '-v7')."
            )
        if version != 1:
            raise ValueError("its version is unknown")

    def variables(self) -> Iterator[Variable]:
        """Yield the variables."""
        place = 128
        while place < self._size:
            self._file.seek(place)
            kind, count = self._tag(_exactly(self._file, 8))
            if kind not in (MATRIX, COMPRESSED) or count > self._size - place - 8:
                raise ValueError(f"at byte {place:,} there is no variable, or it is cut off")
            start = _exactly(self._file, min(count, LONGEST_HEAD))
            compressed = kind == COMPRESSED
            if compressed:
                inside = zlib.decompressobj().decompress(start, LONGEST_HEAD)
                if self._tag(inside[:8])[0] != MATRIX:
                    raise ValueError(f"at byte {place:,} there is no variable")
                start = inside[8:]
            yield self._variable(_Elements(start, self._order), (place + 8, count), compressed)
            place += 8 + count

    def _tag(self, content: bytes) -> tuple[int, int]:
        if len(content) < 8:
            raise ValueError("a variable is cut off")
        kind, count = np.frombuffer(content, f"{self._order}u4", 2)
        return int(kind), int(count)

    def _variable(self, elements: _Elements, place: tuple[int, int], compressed: bool) -> Variable:
        flags = elements.numbers("u4", 2)
        kind = int(flags[0]) & 0xFF
        # Objects of some classes have no sizes; they are not read anyway.
        if kind not in CLASSES and kind != SPARSE:
            return Variable("", (), kind, 0, place, compressed)
        sizes = elements.numbers("i4")
        if not 2 <= len(sizes) <= MOST_MODES or sizes.min() < 0:
            raise ValueError(f"a variable has sizes {sizes.tolist()[:MOST_MODES]}")
        name = bytes(elements.next()[1]).decode("latin-1").strip("\x00")
        return Variable(name, tuple(map(int, sizes)), kind, int(flags[0]) >> 8 & 0xFF, place, compressed)

    def read(self, variable: Variable) -> Any:
        """Return an array, or a sparse matrix of scipy."""
        start, count = variable.place
        self._source.spend(8 * math.prod(variable.shape) if variable.kind != SPARSE else 0)
        self._file.seek(start)
        content = _exactly(self._file, count)
        if variable.compressed:
            content = self._inflated(content)
        elements = _Elements(content, self._order)
        for _ in range(3):
            elements.next()
        if variable.kind == SPARSE:
            return _sparse(variable, *(elements.numbers() for _ in range(3)))
        numbers = elements.numbers()
        if len(numbers) != math.prod(variable.shape):
            raise ValueError(f"{variable.name!r} has {len(numbers):,} numbers, but its shape is {variable.shape}")
        kind = np.dtype(bool if variable.flags & LOGICAL else CLASSES[variable.kind])
        with np.errstate(invalid="ignore", over="ignore"):
            return numbers.astype(kind).reshape(variable.shape, order="F")

    def _inflated(self, content: bytes) -> bytes:
        """Return a decompressed element without its tag; it must be complete."""
        packed = zlib.decompressobj()
        _, count = self._tag(packed.decompress(content, 8))
        self._source.spend(count)
        # A checksum follows the last byte.
        inside = packed.decompress(packed.unconsumed_tail, count) if count else b""
        rest = packed.decompress(packed.unconsumed_tail, 1)
        if len(inside) != count or rest or not packed.eof:
            raise ValueError("a compressed variable is damaged")
        return inside


class _Elements:
    """The elements of a variable, one after the other."""

    def __init__(self, content: bytes, order: str) -> None:
        self._content, self._order, self._place = memoryview(content), order, 0

    def next(self) -> tuple[int, memoryview]:
        """Return the type and the bytes of the next element."""
        place = self._place
        if place + 8 > len(self._content):
            raise ValueError("a part of a variable is cut off")
        kind, count = (int(each) for each in np.frombuffer(self._content, f"{self._order}u4", 2, place))
        small = kind >> 16
        if small:
            # Up to four bytes are stored in the tag itself.
            kind, count, start, end = kind & 0xFFFF, small, place + 4, place + 8
        else:
            start, end = place + 8, place + 8 + -(-count // 8) * 8
        if start + count > len(self._content) or (small and count > 4):
            raise ValueError("a part of a variable is cut off")
        self._place = min(end, len(self._content))
        return kind, self._content[start : start + count]

    def numbers(self, stored: str | None = None, count: int | None = None) -> NDArray[Any]:
        """Return the numbers of the next element, which must have this storage type and this count."""
        kind, content = self.next()
        if kind not in TYPES or (stored is not None and TYPES[kind] != stored):
            raise ValueError(f"a part of a variable is of type {kind}")
        dtype = np.dtype(self._order + TYPES[kind])
        if len(content) % dtype.itemsize or (count is not None and len(content) != count * dtype.itemsize):
            raise ValueError("a part of a variable has a length that it cannot have")
        return np.frombuffer(content, dtype)


def _sparse(variable: Variable, rows: NDArray[Any], starts: NDArray[Any], values: NDArray[Any]) -> Any:
    """Return a sparse matrix by columns, after checking every index."""
    from scipy import sparse

    height, width = variable.shape if len(variable.shape) == 2 else (0, 0)
    if starts.dtype.kind not in "iu" or rows.dtype.kind not in "iu" or starts.shape != (width + 1,):
        raise ValueError(f"{variable.name!r} is no sparse matrix of shape {variable.shape}")
    starts, rows = starts.astype(np.int64), rows.astype(np.int64)
    count = int(starts[-1])
    # MATLAB reserves space for more entries than there are.
    if starts[0] != 0 or np.any(np.diff(starts) < 0) or count > min(len(rows), len(values)):
        raise ValueError(f"the columns of {variable.name!r} do not follow one another")
    rows, values = rows[:count], values[:count].astype(np.float64)
    if count and not 0 <= rows.min() <= rows.max() < height:
        raise ValueError(f"{variable.name!r} has a row outside of its shape {variable.shape}")
    return sparse.csc_matrix((values, rows, starts), shape=(height, width))


def read_old(source: Source, file: IO[bytes]) -> dict[str, Any]:
    """Return the arrays of a file of version 4."""
    from scipy import sparse

    found: dict[str, Any] = {}
    place, size = 0, source.size
    while place < size:
        file.seek(place)
        head = _exactly(file, 20)
        order = "<" if 0 <= int.from_bytes(head[:4], "little") < 5000 else ">"
        kind, rows, columns, imaginary, length = (int(each) for each in np.frombuffer(head, f"{order}i4"))
        stored = OLD_TYPES.get(kind // 10 % 10)
        if stored is None or kind % 10 > 2 or kind // 100 % 10 or min(rows, columns) < 0 or not 0 < length <= 2**16:
            raise ValueError(f"at byte {place:,} there is no variable of version 4")
        dtype = np.dtype(order + stored)
        count = rows * columns * dtype.itemsize * (2 if imaginary else 1)
        if place + 20 + length + count > size:
            raise ValueError(f"the variable at byte {place:,} is cut off")
        name = _exactly(file, length).decode("latin-1").strip("\x00")
        source.spend(8 * rows * columns)
        numbers = np.frombuffer(_exactly(file, count), dtype).reshape((-1, columns), order="F")
        place += 20 + length + count
        if imaginary or kind % 10 == 1:
            continue
        found[name] = numbers if kind % 10 == 0 else _listed(numbers, sparse)
    return found


def _listed(numbers: NDArray[Any], sparse: Any) -> Any:
    """Return the sparse matrix that version 4 lists as rows, columns and values; the last row has its shape."""
    if numbers.shape[1] != 3 or len(numbers) == 0 or not np.isfinite(numbers[:, :2]).all():
        raise ValueError("a sparse matrix must be listed in three columns")
    places = numbers[:, :2].astype(np.int64)
    shape = tuple(int(each) for each in places[-1])
    if min(shape) < 0 or (len(places) > 1 and not np.all((places[:-1] >= 1) & (places[:-1] <= shape))):
        raise ValueError(f"a sparse matrix has an entry outside of its shape {shape}")
    return sparse.csc_matrix((numbers[:-1, 2], (places[:-1, 0] - 1, places[:-1, 1] - 1)), shape=shape)


def _exactly(file: IO[bytes], count: int) -> bytes:
    content = file.read(count)
    if len(content) < count:
        raise ValueError("it is cut off")
    return content
