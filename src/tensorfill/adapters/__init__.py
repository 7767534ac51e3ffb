"""Adapters for common data structures: read with their labels, and restored in the same form.

An optional library is imported only when data of its kind is given.
"""

from .kinds import MISSING
from .registry import ADAPTERS, Adapter, take_in

__all__ = ["ADAPTERS", "MISSING", "Adapter", "take_in"]
