"""Adapters for the data structures that people use: read with their labels, and restored in the same form.

An optional library is imported only when data of its kind comes in.
"""

from .kinds import MISSING
from .registry import ADAPTERS, Adapter, take_in

__all__ = ["ADAPTERS", "MISSING", "Adapter", "take_in"]
