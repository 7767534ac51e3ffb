"""Models, results and arrays as JSON beside named arrays, and back; never a pickle."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .._support.fingerprints import fingerprint
from ..methods.base import History, Record, Result, Status
from ..models import MODELS, Model
from .archive import read_array as read_plain_array
from .source import Source
from .typed import decoded, encoded

ARRAY, MODEL, RESULT, ITEMS, PAIRS = "array", "model", "result", "items", "pairs"
"""The keys that mark objects beyond those of `typed`."""


def stored(thing: Any, arrays: dict[str, NDArray[Any]], prefix: str = "") -> Any:
    """Return models, results, arrays and typed objects, or lists and dictionaries of these, as JSON values.

    Parameters
    ----------
    thing
        The object.
    arrays
        The dictionary that receives its arrays, by names that begin with the prefix.
    prefix
        The prefix of these names.

    Examples
    --------
    >>> arrays = {}
    >>> stored({"size": 2, "values": np.arange(2.0)}, arrays)
    {'pairs': [['size', 2], ['values', {'array': '0'}]]}
    >>> restored(stored({"size": 2, "values": np.arange(2.0)}, arrays), arrays.__getitem__)
    {'size': 2, 'values': array([0., 1.])}
    """
    if isinstance(thing, np.ndarray):
        name = f"{prefix}{len(arrays)}"
        arrays[name] = thing
        return {ARRAY: name}
    if isinstance(thing, Model):
        parts = stored(dict(thing.to_arrays()), arrays, prefix)
        return {MODEL: [thing.kind, list(thing.shape), parts]}
    if isinstance(thing, Result):
        return {RESULT: [stored(thing.model, arrays, prefix), encoded(thing.status), encoded(list(thing.history))]}
    if isinstance(thing, list | tuple):
        return {ITEMS: [stored(each, arrays, prefix) for each in thing], "tuple": isinstance(thing, tuple)}
    if isinstance(thing, dict):
        return {PAIRS: [[encoded(key), stored(each, arrays, prefix)] for key, each in thing.items()]}
    return encoded(thing)


def restored(words: Any, array: Callable[[str], NDArray[Any]]) -> Any:
    """Return the object from the result of `stored`; `array` returns an array by its name."""
    if not isinstance(words, Mapping):
        return words
    if ARRAY in words:
        return array(words[ARRAY])
    if MODEL in words:
        kind, shape, parts = words[MODEL]
        return MODELS[kind].from_arrays(tuple(shape), restored(parts, array))
    if RESULT in words:
        model, status, history = words[RESULT]
        return _result(restored(model, array), decoded(status), decoded(history))
    if ITEMS in words:
        several = [restored(each, array) for each in words[ITEMS]]
        return tuple(several) if words["tuple"] else several
    if PAIRS in words:
        return {decoded(key): restored(each, array) for key, each in words[PAIRS]}
    return decoded(words)


def _result(model: Any, status: Any, history: Any) -> Result:
    """Return a result, if each of its parts is one."""
    records = isinstance(history, list) and history and all(isinstance(each, Record) for each in history)
    if not isinstance(model, Model) or not isinstance(status, Status) or not records:
        raise ValueError("a result needs a model, a status and iterations")
    return Result(model, status, History(history))


@dataclass(frozen=True, eq=False)
class Entry:
    """A piece of work, or a draft of one, in its stored form.

    Parameters
    ----------
    words
        Its JSON value.
    arrays
        Its arrays by name.
    """

    words: str
    arrays: Mapping[str, NDArray[Any]]

    @classmethod
    def of(cls, name: str, content: Mapping[str, Any]) -> Entry:
        """Return a dictionary of models, results, arrays and numbers as an entry with this name."""
        arrays: dict[str, NDArray[Any]] = {}
        return cls(json.dumps(stored(dict(content), arrays, f"{name}.")), arrays)

    @property
    def nbytes(self) -> int:
        """Its approximate size in bytes."""
        return len(self.words) + sum(array.nbytes for array in self.arrays.values())

    @property
    def digest(self) -> str:
        """A string that any change of the entry changes."""
        return fingerprint(self.words, dict(self.arrays))

    def content(self) -> Any:
        """Return the dictionary."""
        return restored(json.loads(self.words), self.arrays.__getitem__)

    def write(self, name: str, file: zipfile.ZipFile) -> None:
        """Write it to a file."""
        file.writestr(f"{name}.json", self.words)
        for part, array in self.arrays.items():
            write_array(file, f"{part}.npy", array)


def read_entry(name: str, file: zipfile.ZipFile, digest: str, source: Source) -> Any:
    """Return the content of the entry with this name, or raise a ValueError if it is not what was written.

    Parameters
    ----------
    name, digest
        The name of the entry, and its digest when it was written.
    file, source
        The file, and what limits the bytes that are read of it.
    """
    with opened_member(file, f"{name}.json", source) as stream:
        words = stream.read().decode()
    parts = [each.filename.removesuffix(".npy") for each in file.infolist() if each.filename.endswith(".npy")]
    arrays = {part: read_array(file, f"{part}.npy", source) for part in parts if part.partition(".")[0] == name}
    entry = Entry(words, arrays)
    if entry.digest != digest:
        raise ValueError("it was changed after it was written")
    return entry.content()


def write_array(file: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    """Write an array to a zip file, in the form of npz files."""
    with file.open(name, "w", force_zip64=True) as stream:
        np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=False)


def read_array(file: zipfile.ZipFile, name: str, source: Source) -> NDArray[Any]:
    """Read an array from a zip file, of which `source` limits the bytes."""
    with opened_member(file, name, source) as stream:
        return read_plain_array(stream, file.getinfo(name).file_size)


@contextmanager
def opened_member(file: zipfile.ZipFile, name: str, source: Source) -> Iterator[IO[bytes]]:
    """Open a part of a zip file that `write_array` or `Entry.write` wrote, which pack nothing."""
    member = file.getinfo(name)
    if member.compress_type != zipfile.ZIP_STORED or member.file_size > source.size:
        raise ValueError(f"{name!r} is packed or longer than the file")
    source.spend(member.file_size)
    with file.open(member) as stream:
        yield stream
