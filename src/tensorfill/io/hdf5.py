"""Detect HDF5 files, which NetCDF-4 files are, that make the library open other files.

HDF5 can keep the numbers of a dataset in other files (external storage), combine other datasets into one (virtual
layout), and link to objects of other files (external links). A malicious file could thereby import any file of the
reader's machine into the data. The library cannot disable this, so the file is searched for the three records. They are
never compressed, with two exceptions, which are refused too: compressed lists of links, and saved caches.

The records are described in "HDF5 File Format Specification Version 3.0", sections III.C (local heap), III.E (global
heap), III.G (fractal heap), IV.A.2.g (links), IV.A.2.h (external files) and IV.A.2.i (layout).
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from typing import Any

from .source import Source

SIGNATURE = b"\x89HDF\r\n\x1a\n"

LONGEST_PATH = 4096
"""No system opens a longer path."""

_LINK = re.compile(rb"\x01[\x08-\x0f\x18-\x1f]\x40", re.DOTALL)
"""A link: version 1, flags that include "its type follows", and the type of external links."""

_VIRTUAL = re.compile(rb"[\x03-\x0f]\x03", re.DOTALL)
"""A layout: its version, and the class of virtual layouts."""


def check_no_other_files(source: Source) -> None:
    """Raise an error if a file makes the library open other files."""
    with source.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        width = _width_of_addresses(content)
        found = (
            "external storage" if _has_external_storage(content, width)
            else "a virtual dataset" if _has_virtual_layout(content, width)
            else "an external link" if any(_external_links(content))
            else "a compressed list of links" if _has_packed_links(content)
            else "a saved cache" if _at_any(content, b"MDCI\x00")
            else None
        )  # fmt: skip
    if found is not None:
        raise ValueError(
            f"{source.path} must hold all its data itself, but it has {found}, which may point to other files; copy "
            "the data into one plain file."
        )


def _width_of_addresses(content: Any) -> int:
    """Return the number of bytes of an address in the file."""
    version = content[8] if len(content) > 16 else 255
    width = int(content[13] if version in (0, 1) else content[9] if version in (2, 3) else 0)
    if width not in (2, 4, 8):
        raise ValueError("its superblock is none")
    return width


def _places(content: Any, wanted: bytes) -> Iterator[int]:
    place = content.find(wanted)
    while place >= 0:
        yield place
        place = content.find(wanted, place + 1)


def _at_any(content: Any, wanted: bytes) -> bool:
    return bool(content.find(wanted) >= 0)


def _has_external_storage(content: Any, width: int) -> bool:
    """Return whether there is a list of external files: version 1, the numbers of places, and the heap of names."""
    for heap in _places(content, b"HEAP"):
        if heap >= 2 ** (8 * width):
            continue
        for place in _places(content, heap.to_bytes(width, "little")):
            # Three bytes are reserved. At least one slot is used.
            if place >= 8 and content[place - 8] == 1 and any(content[place - 2 : place]):
                return True
    return False


def _has_virtual_layout(content: Any, width: int) -> bool:
    """Return whether there is a virtual layout, whose sources are in a global heap."""
    for match in _VIRTUAL.finditer(content):
        start = match.end()
        heap = int.from_bytes(content[start : start + width], "little")
        if content[heap : heap + 4] == b"GCOL":
            return True
    return False


def _external_links(content: Any) -> Iterator[bool]:
    """Yield True for each external link."""
    for match in _LINK.finditer(content):
        flags, place = content[match.start() + 1], match.end()
        # The order of creation, and the character set.
        place += (8 if flags & 4 else 0) + (1 if flags & 16 else 0)
        width = 1 << (flags & 3)
        place += width + int.from_bytes(content[place : place + width], "little")
        length = int.from_bytes(content[place : place + 2], "little")
        value = content[place + 2 : place + 2 + min(length, 2 * LONGEST_PATH)]
        # Version and flags, both 0, then the names of a file and of an object in it.
        if value[:1] == b"\x00" and _is_path(value[1:].partition(b"\x00")[0]):
            yield True


def _is_path(name: bytes) -> bool:
    """Return whether this is a valid file name, which is rare among random bytes."""
    if not 0 < len(name) <= LONGEST_PATH:
        return False
    try:
        return name.decode("utf-8").isprintable()
    except UnicodeDecodeError:
        return False


def _has_packed_links(content: Any) -> bool:
    """Return whether a fractal heap is filtered: version 0, the length of names in it, and that of its filters."""
    for place in _places(content, b"FRHP\x00"):
        names = int.from_bytes(content[place + 5 : place + 7], "little")
        filters = int.from_bytes(content[place + 7 : place + 9], "little")
        if 0 < names <= LONGEST_PATH and 0 < filters <= LONGEST_PATH:
            return True
    return False
