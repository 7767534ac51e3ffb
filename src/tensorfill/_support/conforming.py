"""Whether a value is what a field of a dataclass takes, by its type hint; files are checked so before anything is made.

Only what hints of tensorfill's own settings use is known here.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import types
import typing
from typing import Any

TOO_LONG = 2**1023
"""A whole number of this size is no float any more."""


@dataclasses.dataclass(frozen=True)
class StandIn:
    """What stands for a thing that a file does not hold.

    Parameters
    ----------
    kind
        Its class.
    hints
        The classes of such things; it is taken for a value of these only.
    """

    kind: type[Any]
    hints: tuple[Any, ...]


def conforms(value: Any, hint: Any, stand_in: StandIn | None = None) -> bool:
    """Return whether a value is of the type that a hint says, or stands for such a value.

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
        # A whole number stands for itself, as in the rest of Python, but not too long a one.
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
        What may stand for a thing that a file does not hold.
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
    """Return the hint of each field of a dataclass."""
    return typing.get_type_hints(kind)
