"""The methods by name, for the front door, the command line, the benchmarks and the experiments."""

from __future__ import annotations

from .._support.checks import choice
from .base import Method
from .nort import Nort

METHODS: dict[str, type[Method]] = {"nort": Nort}
"""A new method is one file and one line here."""


def method_class(name: str) -> type[Method]:
    """Return the method of this name."""
    return METHODS[choice(name, "method", METHODS)]
