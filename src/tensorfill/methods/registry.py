"""The methods by name, for `complete`, the command line, the benchmarks and the experiments."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from .._support.checks import choice, listed
from .._support.registry import Registry
from .._support.table import ALIASES, AUTOMATIC, AUTOMATIC_FOR_SCORES, COMPARED, FURTHER
from .._support.table import METHODS as TABLE
from .base import Method

__all__ = [
    "ALIASES",
    "AUTOMATIC",
    "AUTOMATIC_FOR_SCORES",
    "COMPARED",
    "FURTHER",
    "METHODS",
    "make_method",
    "method_named",
    "setting_names",
]

METHODS: Registry[type[Method]] = Registry({name: home for name, (home, _) in TABLE.items()})
"""The class of each method, by its name."""


def make_method(method: str | Method, settings: Mapping[str, Any] | None = None) -> Method:
    """Return a method from its name and settings; a method object is returned unchanged.

    >>> make_method("nort", {"lam": 0.5}).lam
    0.5
    >>> make_method("tucker_als", {"rang": 3})
    Traceback (most recent call last):
        ...
    ValueError: method 'tucker_als' has no setting 'rang'; its settings are 'rank', 'ridge', 'max_iter', 'tol'.
    """
    given = dict(settings or {})
    if isinstance(method, Method):
        if given:
            raise ValueError(
                f"A method object brings its own settings, so {listed(given)} must be left out; "
                f"set them in {type(method).__name__}(...)."
            )
        return method
    if not isinstance(method, str):
        raise TypeError(
            f"method must be one of {listed(METHODS)}, 'auto', a list of these, or a method object, "
            f"but {method!r} ({type(method).__name__}) was given."
        )
    kind = method_named(method, "method")
    known = setting_names(kind)
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ValueError(f"method '{method}' has no setting {listed(unknown)}; its settings are {listed(known)}.")
    return kind(**given)


def method_named(name: str, what: str) -> type[Method]:
    """Return the method with a name, or with an alias; `what` is its name in error messages.

    >>> method_named("cp_wopt", "method").name
    'cp'
    """
    return METHODS[choice(ALIASES.get(name, name), what, METHODS)]


def setting_names(kind: type[Method]) -> list[str]:
    """Return the names of the settings of a method, its own first."""
    names = [field.name for field in dataclasses.fields(kind)]
    shared = [field.name for field in dataclasses.fields(Method)]
    return [name for name in names if name not in shared] + shared
