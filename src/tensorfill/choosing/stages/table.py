"""The stages by name; a new one is one file and one line here."""

from __future__ import annotations

from .base import After, Stage
from .centre import Centre
from .empty_slices import EmptySlices
from .graphs import Graphs
from .polish import Polish
from .present_slices import PresentSlices
from .scale import Scale
from .smooth_field import SmoothField

STAGES: dict[str, type[Stage]] = {
    kind.name: kind for kind in (Scale, PresentSlices, Graphs, Centre, Polish, SmoothField, EmptySlices)
}
"""All stages, in the order in which they are done."""

AFTER: tuple[type[After], ...] = tuple(kind for kind in STAGES.values() if issubclass(kind, After))
"""The stages after a method, in the order in which held-out entries decide on them."""
