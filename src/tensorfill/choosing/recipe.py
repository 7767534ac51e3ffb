"""How an answer was made, as typed objects: enough to make it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..losses import Loss
from ..losses.robust import Robust
from ..methods.base import Method
from .empty_slices import SliceFill
from .holdout import Holdout
from .polish import Polish
from .smooth_field import Smoothing


@dataclass(frozen=True)
class Recipe:
    """How an answer was made.

    Parameters
    ----------
    method
        The method with all its settings, given or chosen.
    loss
        The loss that the entries were fitted with.
    holdout
        How entries were held out; None if none were.
    centred
        Whether the mean and the effect of each index were subtracted first.
    smoothing
        The smooth field that is part of the answer, if any.
    polish
        The polish by least squares, if any.
    fills
        How slices without any observed entry were filled, for each mode that has some.
    mu
        The weight of the graph Laplacians, relative to the mean degree.
    seed
        The seed of everything that was random.
    asked
        The arguments of `tensorfill.complete` that the caller gave, by name; ``"data"`` if it was a path.
    """

    method: Method
    loss: Loss | Robust
    holdout: Holdout | None = None
    centred: bool = False
    smoothing: Smoothing | None = None
    polish: Polish | None = None
    fills: Sequence[SliceFill] = ()
    mu: float = 0.0
    seed: int = 0
    asked: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """Return arguments of `tensorfill.complete` that take over what was chosen, with nothing left to search.

        Without stages around the method nothing is held out, so a fit with these arguments has no intervals; give
        ``choose=Choice()`` too for that.
        """
        kept = ["loss", "laplacian", "bounds", "dtype", "missing", "value", "layout"]
        stages: dict[str, Any] = {}
        if self.centred or self.smoothing or self.polish or "laplacian" in self.asked:
            # Entries are held out again, in the same way, and a stage that was not kept is not tried again.
            kept.append("choose")
            stages = {
                "centre": self.centred,
                "smooth": None if self.smoothing is None else list(self.smoothing.weights),
                "refine": None if self.polish is None else "tucker",
            }
        said = {name: self.asked[name] for name in kept if name in self.asked}
        return {**said, "method": self.method, **stages, "rng": self.seed}
