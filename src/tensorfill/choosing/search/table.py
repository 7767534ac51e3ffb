"""How the open settings of each method are chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...methods.base import Method
from .calibrated import CalibratedSearch
from .cuts import CutSearch
from .grow import GrowSearch
from .nort import NortSearch
from .trials import Search
from .walk import Walk

SEARCHES: dict[str, Callable[[Any], Search]] = {
    "walk": Walk,
    "cuts": CutSearch,
    "nort": NortSearch,
    "grow": GrowSearch,
    "calibrated": CalibratedSearch,
}
"""The searches, by the name that `Method.searched_by` gives."""


def search_for(method: Method) -> Search:
    """Return the search for the open settings of a method; a method without any is tried unchanged."""
    return SEARCHES[method.searched_by](method) if method.open_settings else Walk(method)
