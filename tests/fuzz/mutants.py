"""Mutants of files: bits that flip, parts that are cut, moved or repeated, and fields with values nobody expects."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

EXTREMES = [0, 1, 2, 7, 127, 128, 255, 2**15 - 1, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1]
"""Numbers that a field of a binary file may hold."""

FIELDS = [
    b"", b"0", b"-1", b"1e308", b"1e999", b"nan", b"inf", b"99999999999", b"99999999999999999999", b"0.5", b"x",
    b"\xff", b'"', b"#", b"\t", b",", b"\n", b"\x00", b"2024-13-45", b"<b>", b"=1+1", b"\xf0\x9f\x98\x80", b"00501",
]  # fmt: skip
"""Texts that a field of a text file may hold."""

THINGS: list[Any] = [
    None, True, -1, 0, 1, 2, 1e308, float("nan"), float("inf"), 2**70, "", "x", "os", "NaN", "9" * 30, [], [[]], {},
    [1, 2, 3], {"class": "LSP"}, {"class": "Nort"}, {"class": "os"}, {"tuple": [1]}, {"tuple": 5}, {"mapping": [1]},
    {"mapping": [[[], 1]]}, {"status": "NO"}, {"class": "Unsaved", "text": 5}, {"class": "Unsaved", "text": "<b>x"},
]  # fmt: skip
"""Things that a field of a header may hold."""


def mutant(sample: bytes, rng: np.random.Generator) -> bytes:
    """Return a damaged or forged copy of a file.

    A packed file is changed as it is, or inside, so that its checksums hold.
    """
    inside = _ways_in(sample)
    if inside and rng.random() < 0.6:
        return inside[rng.integers(len(inside))](sample, rng)
    return _damaged(sample, rng)


def _damaged(content: bytes, rng: np.random.Generator) -> bytes:
    ways: list[Callable[[bytearray, np.random.Generator], bytes]] = [
        _flipped, _flipped, _flipped, _cut, _set, _set, _moved, _removed, _repeated, _field,
    ]  # fmt: skip
    for _ in range(1 + int(rng.random() < 0.2)):
        if content:
            content = ways[rng.integers(len(ways))](bytearray(content), rng)
    return content


def _flipped(content: bytearray, rng: np.random.Generator) -> bytes:
    for place in rng.integers(len(content), size=rng.choice([1, 1, 1, 2, 8])):
        content[place] ^= 1 << int(rng.integers(8))
    return bytes(content)


def _cut(content: bytearray, rng: np.random.Generator) -> bytes:
    return bytes(content[: rng.integers(len(content))])


def _set(content: bytearray, rng: np.random.Generator) -> bytes:
    """Set a field of 1, 2, 4 or 8 bytes, of either order."""
    width = int(rng.choice([1, 2, 4, 8]))
    number = int(rng.choice(np.array(EXTREMES, dtype=object))) % 2 ** (8 * width)
    place = int(rng.integers(max(len(content) - width, 1)))
    content[place : place + width] = number.to_bytes(width, "little" if rng.random() < 0.6 else "big")
    return bytes(content)


def _part(content: bytearray, rng: np.random.Generator) -> slice:
    start = int(rng.integers(len(content)))
    return slice(start, start + int(rng.choice([1, 4, 16, 64, 256])))


def _moved(content: bytearray, rng: np.random.Generator) -> bytes:
    one, other = _part(content, rng), _part(content, rng)
    content[one], content[other] = content[other], content[one]
    return bytes(content)


def _removed(content: bytearray, rng: np.random.Generator) -> bytes:
    del content[_part(content, rng)]
    return bytes(content)


def _repeated(content: bytearray, rng: np.random.Generator) -> bytes:
    part = _part(content, rng)
    content[part] = content[part] * int(rng.choice([2, 3, 50]))
    return bytes(content)


def _field(content: bytearray, rng: np.random.Generator) -> bytes:
    """Put a text in the place of a word or number."""
    words = list(re.finditer(rb"[\w.+-]+", content))
    if not words:
        return _flipped(content, rng)
    word = words[rng.integers(len(words))]
    content[word.start() : word.end()] = FIELDS[rng.integers(len(FIELDS))]
    return bytes(content)


# Changes inside a packed file


def _ways_in(sample: bytes) -> list[Callable[[bytes, np.random.Generator], bytes]]:
    if sample.startswith(b"\x1f\x8b"):
        return [_inside_gzip]
    if sample.startswith(b"PK"):
        with_header = b"header.npy" in sample[:100_000]
        return [_inside_zip, _array_header, *([_header, _header, _header] if with_header else [])]
    if sample.startswith(b"MATLAB 5.0"):
        return [_inside_mat]
    if sample.startswith(b"\x89PNG"):
        return [_inside_png]
    return []


def _inside_gzip(sample: bytes, rng: np.random.Generator) -> bytes:
    return gzip.compress(_damaged(gzip.decompress(sample), rng), mtime=0)


def _zipped(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            # Without the time of day, the same mutant is the same file.
            file.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _members(sample: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(sample)) as file:
        return {name: file.read(name) for name in file.namelist()}


def _inside_zip(sample: bytes, rng: np.random.Generator) -> bytes:
    members = _members(sample)
    names = list(members)
    name, other = (names[rng.integers(len(names))] for _ in range(2))
    way = rng.integers(4)
    if way == 0:
        del members[name]
    elif way == 1:
        members[name], members[other] = members[other], members[name]
    else:
        members[name] = _damaged(members[name], rng)
    return _zipped(members)


def _array_header(sample: bytes, rng: np.random.Generator) -> bytes:
    """Change the shape, the type or the numbers of an array, and leave the rest right."""
    members = _members(sample)
    names = list(members)
    name = names[rng.integers(len(names))]
    array = np.load(io.BytesIO(members[name]), allow_pickle=False)
    way = rng.integers(5)
    if way == 0:
        array = array.reshape(-1)[: rng.integers(array.size + 1)]
    elif way == 1 and array.dtype.kind in "biuf":
        kinds = [np.float32, np.complex128, np.bool_, np.int8, "U3"]
        with np.errstate(all="ignore"):
            array = array.astype(kinds[rng.integers(len(kinds))], casting="unsafe")
    elif way == 2 and array.size:
        array = array.copy()
        odd = {"f": [np.nan, np.inf, 1e308, -1e308], "i": [-1, 2**31 - 1, -(2**31)], "U": ["", "é", "01"]}
        choices = odd.get(array.dtype.kind, [0])
        array.flat[rng.integers(array.size)] = choices[rng.integers(len(choices))]
    elif way == 3:
        array = array[None]
    else:
        array = np.zeros((0, *array.shape[1:]), array.dtype)
    made = io.BytesIO()
    np.save(made, array, allow_pickle=False)
    return _zipped(members | {name: made.getvalue()})


def _header(sample: bytes, rng: np.random.Generator) -> bytes:
    """Change one place of the header of a saved fit."""
    members = _members(sample)
    header = json.loads(str(np.load(io.BytesIO(members["header.npy"]))))
    places = list(_places(header))
    parent, key = places[rng.integers(len(places))]
    way = rng.integers(4)
    if way == 0 and isinstance(parent, dict):
        del parent[key]
    elif way == 1 and isinstance(parent, dict):
        parent["more"] = THINGS[rng.integers(len(THINGS))]
    elif way == 2:
        other, its = places[rng.integers(len(places))]
        parent[key] = other[its]
        if not _ends(header):
            parent[key] = None
    else:
        parent[key] = THINGS[rng.integers(len(THINGS))]
    made = io.BytesIO()
    np.save(made, np.array(json.dumps(header)))
    return _zipped(members | {"header.npy": made.getvalue()})


def _places(thing: Any) -> Any:
    """Yield each container in a header, with each of its keys."""
    inside = thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, list) else ()
    for key, value in list(inside):
        yield thing, key
        yield from _places(value)


def _ends(thing: Any) -> bool:
    try:
        json.dumps(thing)
    except ValueError:
        # A part was put into itself.
        return False
    return True


def _inside_mat(sample: bytes, rng: np.random.Generator) -> bytes:
    """Change a compressed element of a MATLAB file, and pack it again."""
    elements, place = [], 128
    while place + 8 <= len(sample):
        size = int.from_bytes(sample[place + 4 : place + 8], "little")
        elements.append((int.from_bytes(sample[place : place + 4], "little"), sample[place + 8 : place + 8 + size]))
        place += 8 + size
    packed = [number for number, (kind, _) in enumerate(elements) if kind == 15]
    if not packed:
        return _damaged(sample, rng)
    chosen = packed[rng.integers(len(packed))]
    changed = zlib.compress(_damaged(zlib.decompress(elements[chosen][1]), rng))
    elements[chosen] = (15, changed)
    parts = [kind.to_bytes(4, "little") + len(body).to_bytes(4, "little") + body for kind, body in elements]
    return sample[:128] + b"".join(parts)


def _inside_png(sample: bytes, rng: np.random.Generator) -> bytes:
    """Change a chunk of a picture, with a checksum that holds."""
    chunks, place = [], 8
    while place + 12 <= len(sample):
        size = int.from_bytes(sample[place : place + 4], "big")
        chunks.append((sample[place + 4 : place + 8], sample[place + 8 : place + 8 + size]))
        place += 12 + size
    number = int(rng.integers(len(chunks)))
    kind, body = chunks[number]
    chunks[number] = (kind, _damaged(body, rng) if body else b"\x00" * int(rng.integers(9)))
    return sample[:8] + b"".join(
        len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big") for kind, body in chunks
    )
