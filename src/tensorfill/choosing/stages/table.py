"""The stages by name; a new one is one file here and one line in `tensorfill._support.table`."""

from __future__ import annotations

from collections.abc import Iterable

from ..._support.registry import Registry
from ..._support.table import STAGES as TABLE
from .base import After, Before, Stage

STAGES: Registry[type[Stage]] = Registry(TABLE)
"""All stages, in the order in which they are done."""


def stages_after() -> list[type[After]]:
    """Return the stages after a method, in the order in which held-out entries decide on them."""
    return [kind for kind in STAGES.values() if issubclass(kind, After)]


def stages_before() -> list[type[Before]]:
    """Return the stages before a method, in the order in which they are done."""
    return [kind for kind in STAGES.values() if issubclass(kind, Before)]


def in_order(stages: Iterable[Before]) -> tuple[Before, ...]:
    """Return some stages in the order in which they are done."""
    names = list(STAGES)
    return tuple(sorted(stages, key=lambda stage: names.index(stage.name)))
