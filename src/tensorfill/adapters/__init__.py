"""Data in the form people have it, with its labels: taken in here, and given back in the same form.

Nothing optional is imported until data of its kind comes in.
"""

from .kinds import MISSING
from .registry import ADAPTERS, Adapter, take_in

__all__ = ["ADAPTERS", "MISSING", "Adapter", "take_in"]
