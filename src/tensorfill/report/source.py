"""Objects as Python source: the expression that recreates an object, and the imports that it needs."""

from __future__ import annotations

import dataclasses
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..io.typed import Unsaved

WIDEST = 88
"""A longer line is split, with one argument on each line."""

MOST_NUMBERS = 64
"""A larger array is not written out."""

INDENT = "    "


@dataclass(frozen=True)
class SourceText:
    """A Python expression.

    Parameters
    ----------
    text
        The expression in one line.
    imports
        The import lines that it needs.
    own
        The placeholders in it for user-defined objects, which cannot be written as source.
    opening, parts, closing
        The same expression split over several lines; no parts if it cannot be split.
    """

    text: str
    imports: frozenset[str] = frozenset()
    own: tuple[str, ...] = ()
    opening: str = ""
    parts: tuple[SourceText, ...] = ()
    closing: str = ""

    def lines(self, indent: int = 0, room: int = WIDEST) -> str:
        """Return the expression, split over several lines if it is longer than `room`.

        Parameters
        ----------
        indent
            The indentation of its first line, in steps of four spaces.
        room
            The largest length of a single line.
        """
        if len(self.text) <= room or not self.parts:
            return self.text
        inner = INDENT * (indent + 1)
        each = [f"{inner}{part.lines(indent + 1, WIDEST - len(inner) - 1)},\n" for part in self.parts]
        return f"{self.opening}\n{''.join(each)}{INDENT * indent}{self.closing}"

    def after(self, prefix: str) -> SourceText:
        """Return the expression with a prefix, such as ``lam=``."""
        return dataclasses.replace(self, text=prefix + self.text, opening=prefix + self.opening)


def source_of(thing: Any) -> SourceText:
    r"""Return the expression that recreates an object.

    Numbers, texts, lists and other built-in types are written literally, and a dataclass of tensorfill as a call with
    the fields that differ from their default. Anything else becomes a name, listed in `Source.own`.

    Examples
    --------
    >>> from tensorfill import Nort
    >>> from tensorfill.penalties import SCAD
    >>> made = source_of(Nort(lam=(0.5, 0.5), penalty=SCAD(theta=3.7, unit=0.8)))
    >>> print(made.text)
    Nort(lam=(0.5, 0.5), penalty=SCAD(theta=3.7, unit=0.8))
    >>> print(*sorted(made.imports), sep="\n")
    from tensorfill import Nort
    from tensorfill.penalties import SCAD
    """
    if isinstance(thing, np.generic):
        return source_of(thing.item())
    if thing is None or isinstance(thing, bool | int | str):
        return SourceText(_quoted(thing) if isinstance(thing, str) else repr(thing))
    if isinstance(thing, float):
        return _number(thing)
    if isinstance(thing, np.ndarray) and thing.ndim == 1 and thing.size <= MOST_NUMBERS and thing.dtype.kind in "biuf":
        return source_of(thing.tolist())
    if type(thing) in (list, tuple):
        return _sequence(thing)
    if isinstance(thing, Mapping):
        return _mapping(thing)
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type | Unsaved):
        home = _home(type(thing))
        made = None if home is None else _called(thing, f"from {home} import {type(thing).__name__}")
        if made is not None:
            return made
    name = _name_for(thing)
    return SourceText(name, own=(name,))


def unusual_fields(thing: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from their default.

    >>> from tensorfill import Nort
    >>> unusual_fields(Nort(lam=0.5, tau=2.0))
    {'lam': 0.5, 'tau': 2.0}
    """
    values = ((field, getattr(thing, field.name)) for field in dataclasses.fields(thing) if field.init)
    return {field.name: value for field, value in values if not _is_default(value, field)}


def _called(thing: Any, line: str) -> SourceText | None:
    """Return the call that creates a dataclass; None if a field cannot be written, such as a large array."""
    arguments = []
    for name, value in unusual_fields(thing).items():
        made = source_of(value)
        if (isinstance(value, np.ndarray) and made.own) or _count(value) > MOST_NUMBERS:
            return None
        arguments.append(made.after(f"{name}="))
    call = _joined(f"{type(thing).__name__}(", arguments, ")")
    return dataclasses.replace(call, imports=call.imports | {line})


def _count(value: Any) -> int:
    """Return how many numbers there are in nested tuples."""
    return sum(map(_count, value)) if isinstance(value, tuple) else 1


def _is_default(value: Any, field: dataclasses.Field[Any]) -> bool:
    default = field.default
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    if default is dataclasses.MISSING or isinstance(value, np.ndarray):
        return False
    return value is default or (type(value) is type(default) and bool(value == default))


def _home(kind: type[Any]) -> str | None:
    """Return the shortest module path of a class of tensorfill; None for any other class."""
    path = kind.__module__.split(".")
    if path[0] != __name__.partition(".")[0]:
        return None
    addresses = (".".join(path[:length]) for length in range(1, len(path) + 1))
    return next((each for each in addresses if getattr(sys.modules[each], kind.__name__, None) is kind), None)


def _sequence(things: Sequence[Any]) -> SourceText:
    opening, closing = "[]" if isinstance(things, list) else "()"
    made = _joined(opening, [source_of(each) for each in things], closing)
    return dataclasses.replace(made, text=f"({made.parts[0].text},)") if opening == "(" and len(things) == 1 else made


def _mapping(things: Mapping[Any, Any]) -> SourceText:
    pairs = [(source_of(key), source_of(value)) for key, value in things.items()]
    parts = [
        dataclasses.replace(value.after(f"{key.text}: "), imports=value.imports | key.imports, own=key.own + value.own)
        for key, value in pairs
    ]
    return _joined("{", parts, "}")


def _joined(opening: str, parts: Sequence[SourceText], closing: str) -> SourceText:
    return SourceText(
        f"{opening}{', '.join(part.text for part in parts)}{closing}",
        frozenset().union(*(part.imports for part in parts)),
        tuple(name for part in parts for name in part.own),
        opening,
        tuple(parts),
        closing,
    )


def _number(value: float) -> SourceText:
    if math.isfinite(value):
        return SourceText(repr(value))
    name = "math.nan" if math.isnan(value) else "math.inf" if value > 0 else "-math.inf"
    return SourceText(name, frozenset({"import math"}))


def _quoted(text: str) -> str:
    """Return a text in double quotes, or its repr if it contains such quotes."""
    plain = repr(text)
    return f'"{plain[1:-1]}"' if plain[0] == "'" and '"' not in text else plain


def _name_for(thing: Any) -> str:
    """Return a name for a user-defined object: its class in lower case."""
    kind = thing.name if isinstance(thing, Unsaved) else type(thing).__name__
    letters = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind).lower()
    name = re.sub(r"\W+", "_", letters).strip("_")
    return f"your_{name}" if name else "yours"
