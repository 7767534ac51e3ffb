"""Reading and writing files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .formats import read, write

__all__ = ["read", "write"]


def __getattr__(name: str) -> Any:
    """Import the formats on first use: fits are saved and facts are read without them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import formats

    return getattr(formats, name)
