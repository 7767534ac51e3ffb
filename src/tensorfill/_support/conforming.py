"""Check values against the type hints of dataclass fields, before an object is made from a file.

Only the types that occur in the hints of tensorfill's settings are supported.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import types
import typing
from typing import Any

TOO_LONG = 2**1023
"""Whole numbers from this size on are refused where a float is expected."""


@dataclasses.dataclass(frozen=True)
class StandIn:
    """A placeholder for an object that cannot be stored in a file.

    Parameters
    ----------
    kind
        The class of the placeholder.
    hints
        The classes whose values it may replace.
    """

    kind: type[Any]
    hints: tuple[Any, ...]


def conforms(value: Any, hint: Any, stand_in: StandIn | None = None) -> bool:
    """Return whether a value has the type of a hint, or is a placeholder for such a value.

    Examples
    --------
    >>> conforms(3, float | str), conforms((1, "2"), tuple[int, ...]), conforms({"a": 1.0}, dict[str, float])
    (True, False, True)
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(conforms(value, each, stand_in) for each in inner)
    if origin is typing.Literal:
        return value in inner
    if hint is None or hint is type(None):
        return value is None
    if hint is float:
        # An int is accepted for a float, as elsewhere in Python, unless it is too large.
        return isinstance(value, float) or (
            isinstance(value, int) and not isinstance(value, bool) and abs(value) < TOO_LONG
        )
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    if origin is None:
        stands = stand_in is not None and isinstance(value, stand_in.kind) and hint in stand_in.hints
        return stands or isinstance(value, hint)
    return _of_container(value, origin, inner, stand_in)


def _is_whole(value: Any, below: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < below


def _of_container(value: Any, origin: Any, inner: tuple[Any, ...], stand_in: StandIn | None) -> bool:
    if origin is tuple and not (len(inner) == 2 and inner[1] is Ellipsis):
        return (
            isinstance(value, tuple)
            and len(value) == len(inner)
            and all(conforms(each, hint, stand_in) for each, hint in zip(value, inner, strict=True))
        )
    if issubclass(origin, collections.abc.Mapping):
        return isinstance(value, dict) and all(
            conforms(key, inner[0], stand_in) and conforms(each, inner[1], stand_in) for key, each in value.items()
        )
    kinds = {tuple: tuple, list: list}.get(origin, (tuple, list))
    return isinstance(value, kinds) and all(conforms(each, inner[0], stand_in) for each in value)


def misfit(kind: Any, fields: dict[str, Any], stand_in: StandIn | None = None) -> str | None:
    """Return what is wrong with the fields of a dataclass, in a few words; None if they fit.

    Parameters
    ----------
    kind
        The dataclass.
    fields
        The fields by name.
    stand_in
        The placeholder for objects that cannot be stored in a file.
    """
    taken = {each.name: each for each in dataclasses.fields(kind) if each.init}
    hints = hints_of(kind)
    for name in fields:
        if name not in taken:
            return f"{kind.__name__} has no {str(name)[:40]!r}"
    for name, each in taken.items():
        if name in fields:
            if not conforms(fields[name], hints[name], stand_in):
                return f"{name} of {kind.__name__} is {_short(fields[name])}"
        elif each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING:
            return f"{kind.__name__} has no {name}"
    return None


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:60]}..."


@functools.cache
def hints_of(kind: Any) -> dict[str, Any]:
    """Return the type hint of each field of a dataclass."""
    return typing.get_type_hints(kind)
