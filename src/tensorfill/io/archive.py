"""Arrays in numpy's files, read without pickle and only if the file has the size that its header states."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .source import Source

KINDS = "biufcmMUS"
"""The kinds of arrays that are read: numbers, dates and texts, but not objects, which are pickles."""

LAST_LETTER = 0x10FFFF
"""The last code point of Unicode."""


@dataclass(frozen=True)
class ArrayHeader:
    """The header of an array in a file.

    Parameters
    ----------
    shape, dtype
        As in numpy.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """The number of bytes of the array."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(file: IO[bytes]) -> ArrayHeader | None:
    """Return the header of an array, or None for an array of another kind than `KINDS`."""
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        return None
    shape, _, dtype = readers[version](file)
    if dtype.kind not in KINDS or dtype.names is not None:
        return None
    if any(size < 0 for size in shape):
        raise ValueError(f"its shape is {shape}")
    return ArrayHeader(tuple(shape), dtype)


def read_array(file: IO[bytes], size: int) -> NDArray[Any]:
    """Return an array from a file of `size` bytes, which must match the header."""
    start = file.tell()
    header = read_header(file)
    if header is None:
        raise ValueError("it holds objects, which could run code, and no plain numbers")
    left = size - (file.tell() - start)
    if header.nbytes > left:
        raise ValueError(f"its header promises {header.nbytes:,} bytes, but {left:,} follow")
    file.seek(start)
    array = np.lib.format.read_array(file, allow_pickle=False)
    # Later code expects native byte order.
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind == "U" and array.size:
        letters = np.ascontiguousarray(array).reshape(-1).view(np.uint32)
        if letters.max() > LAST_LETTER or np.any((letters >= 0xD800) & (letters < 0xE000)):
            raise ValueError("its texts are not Unicode")
    return array


class Archive:
    """The arrays of an .npz file by name, each read on request.

    Parameters
    ----------
    source
        The file.
    file
        The same, open as a zip archive.
    """

    def __init__(self, source: Source, file: zipfile.ZipFile) -> None:
        self._source, self._file = source, file
        self._members = {each.filename.removesuffix(".npy"): each for each in file.infolist()}
        self.headers: dict[str, ArrayHeader] = {}
        for name, member in self._members.items():
            with file.open(member) as stream:
                header = read_header(stream)
            # Objects beside the arrays are skipped; the file is still valid.
            if header is not None:
                self.headers[name] = header

    def __contains__(self, name: str) -> bool:
        return name in self.headers

    def read(self, name: str) -> NDArray[Any]:
        """Return an array."""
        with self._source.read_as("an .npz file"):
            member = self._members[name]
            self._source.spend(member.file_size)
            with self._file.open(member) as stream:
                return read_array(stream, member.file_size)


def names_of_arrays(path: Path) -> list[str]:
    """Return the names of the arrays in an .npz file; none for any other file."""
    try:
        with zipfile.ZipFile(path) as file:
            return [name.removesuffix(".npy") for name in file.namelist()]
    except Exception:
        # A damaged archive raises errors of many kinds; the reader of the file reports them better.
        return []


@contextmanager
def opened_archive(source: Source) -> Iterator[Archive]:
    """Open an .npz file."""
    with source.path.open("rb") as stream:
        with source.read_as("an .npz file"):
            if stream.read(6) == b"\x93NUMPY":
                raise ValueError("it holds a single array, as .npy files do")
            file = zipfile.ZipFile(stream)
            archive = Archive(source, file)
        with file:
            yield archive
