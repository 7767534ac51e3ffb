"""The command ``tensorfill``."""

from .main import main

__all__ = ["main"]
