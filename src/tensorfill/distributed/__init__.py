"""NORT on several machines with Dask, for tables that do not fit in the memory of one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {"SpreadFit": "answer", "SpreadTable": "table", "complete": "completion", "load": "answer"}

__all__ = ["SpreadFit", "SpreadTable", "complete", "load"]


def __getattr__(name: str) -> Any:
    """Import a name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
