"""Things by name, imported when they are first asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, TypeVar

T = TypeVar("T")


class Registry(MutableMapping[str, T]):
    """A mapping from names to things that are imported when they are first asked for.

    Parameters
    ----------
    homes
        Where each is, as ``"module:attribute"`` within tensorfill.

    Examples
    --------
    >>> losses = Registry({"square": "losses.smooth:Square"})
    >>> list(losses), losses["square"]()
    (['square'], Square())
    """

    def __init__(self, homes: Mapping[str, str]) -> None:
        self._homes: dict[str, str | None] = dict(homes)
        self._found: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        home = self._homes[name]
        if name not in self._found and home is not None:
            self._found[name] = imported(home)
        return self._found[name]

    def __setitem__(self, name: str, thing: T) -> None:
        self._homes.setdefault(name, None)
        self._found[name] = thing

    def __delitem__(self, name: str) -> None:
        del self._homes[name]
        self._found.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self)})"


def imported(home: str) -> Any:
    """Return what is at ``"module:attribute"`` within tensorfill."""
    module, _, attribute = home.partition(":")
    return getattr(importlib.import_module(f"{__package__.partition('.')[0]}.{module}"), attribute)
