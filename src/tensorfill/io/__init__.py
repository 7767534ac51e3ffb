"""Reading and writing files."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .formats import read, write
    from .parquet_files import open_files as open

__all__ = ["open", "read", "write"]

_HOMES = {"open": ("parquet_files", "open_files"), "read": ("formats", "read"), "write": ("formats", "write")}


def __getattr__(name: str) -> Any:
    """Import the formats on first use; saving fits and reading facts do not need them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, function = _HOMES[name]
    return getattr(import_module(f".{module}", __name__), function)
