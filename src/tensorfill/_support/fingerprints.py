"""Fingerprints of objects: short strings that are equal for equal inputs, in any process."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Iterator, Mapping, Sequence, Set
from enum import Enum
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

OURS = ("tensorfill", "numpy", "scipy", "builtins")
"""Libraries whose classes and functions are identified by name, because a version is recorded beside each
fingerprint."""


def fingerprint(*things: Any) -> str:
    """Return a string that identifies numbers, arrays, models and settings by their content.

    An object of another class is identified by its class, the code of that class and its attributes. An object with an
    attribute `fingerprint` provides its own.

    Examples
    --------
    >>> fingerprint(1, [2.0, "three"]) == fingerprint(1, [2.0, "three"])
    True
    >>> fingerprint(np.arange(3)) == fingerprint(np.arange(3.0))
    False
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in _parts(things, ()):
        # Each part is preceded by its length, so that different sequences of parts never have the same bytes.
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def _parts(thing: Any, within: tuple[int, ...]) -> Iterator[bytes | memoryview]:
    """Yield the bytes that identify an object; `within` has the ids of the objects that contain it."""
    kind = type(thing)
    yield f"{kind.__module__}.{kind.__qualname__}".encode()
    if thing is None or kind in (bool, int, float, complex, str):
        yield repr(thing).encode("utf-8", "surrogatepass")
    elif isinstance(thing, bytes):
        yield thing
    elif isinstance(thing, np.ndarray | np.generic) and thing.dtype.kind != "O":
        yield f"{thing.dtype.str} {thing.shape}".encode()
        yield np.ascontiguousarray(thing).reshape(-1).view(np.uint8).data
    elif id(thing) in within:
        yield f"within {within.index(id(thing))}".encode()
    else:
        for part in _inside(thing):
            yield from _parts(part, (*within, id(thing)))


def _inside(thing: Any) -> Sequence[Any]:
    """Return the parts of an object; its class is handled elsewhere."""
    if isinstance(own := getattr(thing, "fingerprint", None), str):
        return [own]
    if isinstance(thing, np.ndarray):
        return [thing.shape, *thing.ravel().tolist()]
    if isinstance(thing, Mapping):
        return sorted(fingerprint(*pair) for pair in thing.items())
    if isinstance(thing, Set):
        return sorted(fingerprint(each) for each in thing)
    if isinstance(thing, Sequence):
        return [len(thing), *thing]
    if isinstance(thing, Enum):
        return [thing.name]
    if isinstance(thing, np.random.Generator):
        return [dict(thing.bit_generator.state)]
    if isinstance(thing, type | FunctionType | BuiltinFunctionType | MethodType | functools.partial | CodeType):
        return _inside_code(thing)
    if hasattr(thing, "tocoo"):
        sparse = thing.tocoo()
        return [sparse.shape, np.asarray(sparse.row), np.asarray(sparse.col), np.asarray(sparse.data)]
    return [_class_of(thing), *_attributes(thing)]


def _inside_code(thing: Any) -> Sequence[Any]:
    """Return what identifies a class, a function or its code."""
    if isinstance(thing, functools.partial):
        return [thing.func, thing.args, thing.keywords]
    if isinstance(thing, MethodType):
        return [thing.__func__, thing.__self__]
    if isinstance(thing, CodeType):
        return [thing.co_code, thing.co_names, thing.co_consts]
    name = f"{thing.__module__}.{thing.__qualname__}"
    if not isinstance(thing, FunctionType) or _is_ours(thing):
        return [name]
    cells = [cell.cell_contents for cell in thing.__closure__ or ()]
    return [name, thing.__code__, thing.__defaults__, thing.__kwdefaults__, *cells]


def _is_ours(thing: Any) -> bool:
    return str(thing.__module__).partition(".")[0] in OURS


def _class_of(thing: Any) -> Sequence[Any]:
    """Return the code of a user-defined class, and nothing for a class from `OURS`."""
    kind = type(thing)
    if _is_ours(kind):
        return []
    return [member for member in vars(kind).values() if isinstance(member, FunctionType)]


def _attributes(thing: Any) -> Sequence[Any]:
    """Return the names and values of the attributes that define an object."""
    if dataclasses.is_dataclass(thing):
        names = [each.name for each in dataclasses.fields(thing) if each.init]
    elif hasattr(thing, "__dict__"):
        kind = type(thing)
        # Cached properties may or may not have been computed.
        names = [name for name in vars(thing) if not isinstance(getattr(kind, name, None), functools.cached_property)]
    else:
        raise TypeError(
            f"a checkpoint needs settings that can be told from others, but {type(thing).__name__} has no attributes; "
            "give it an attribute `fingerprint`, a text, or leave checkpoint out."
        )
    return [item for name in sorted(names) for item in (name, getattr(thing, name))]
