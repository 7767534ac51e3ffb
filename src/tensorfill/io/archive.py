"""Arrays in numpy's files, read without pickle and only if the file has the size that its header states."""

from __future__ import annotations

import math
import os
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

END, COUNT, MANY = b"PK\x05\x06", 10, 0xFFFF
"""The mark of the end of a zip archive, where it has the number of entries, and the number that stands for more."""

LONGEST_END = 22 + 0xFFFF
"""The largest length of the end of a zip archive, with its comment."""

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
        if len(self._members) < len(file.infolist()):
            raise ValueError("two of its arrays have the same name")
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


def _check_directory(stream: IO[bytes], file: zipfile.ZipFile) -> None:
    """Raise an error if the directory of an archive has another number of entries than its end says.

    A damaged length in one entry hides the others, which `zipfile` does not notice.
    """
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(size - LONGEST_END, 0))
    tail = stream.read()
    end = tail.rfind(END)
    promised = int.from_bytes(tail[end + COUNT : end + COUNT + 2], "little")
    if promised not in (MANY, len(file.infolist())):
        raise ValueError(f"its directory has {len(file.infolist())} of {promised} entries")


@contextmanager
def opened_archive(source: Source) -> Iterator[Archive]:
    """Open an .npz file."""
    with source.path.open("rb") as stream:
        with source.read_as("an .npz file"):
            if stream.read(6) == b"\x93NUMPY":
                raise ValueError("it holds a single array, as .npy files do")
            file = zipfile.ZipFile(stream)
            _check_directory(stream, file)
            archive = Archive(source, file)
        with file:
            yield archive
