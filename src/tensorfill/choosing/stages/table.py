"""The stages by name; a new one is one file here and one line in `tensorfill._support.table`."""

from __future__ import annotations

from ..._support.registry import Registry
from ..._support.table import STAGES as TABLE
from .base import After, Stage

STAGES: Registry[type[Stage]] = Registry(TABLE)
"""All stages, in the order in which they are done."""


def stages_after() -> list[type[After]]:
    """Return the stages after a method, in the order in which held-out entries decide on them."""
    return [kind for kind in STAGES.values() if issubclass(kind, After)]
