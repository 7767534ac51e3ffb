"""What is done to data to get an answer, as typed objects: a recipe can be saved, compared, printed and run again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..losses import Loss, Square
from ..losses.robust import Robust
from ..methods.base import Method
from .holdout.kinds import Holdout
from .stages.base import After, Before, Stage

S = TypeVar("S", bound=Stage)

KEPT = ("loss", "bounds", "dtype", "missing", "value", "layout")
"""The arguments of `tensorfill.complete` that a repetition has too, beside the stages and the method."""


@dataclass(frozen=True)
class Recipe:
    """What is done to a problem: stages, a method, and stages again; `tensorfill.choosing.run` does it.

    Parameters
    ----------
    before
        The stages before the method, in order.
    method
        The method with all its settings, given or chosen.
    after
        The stages after the method, in order.
    loss
        The loss that the entries were fitted with.
    holdout
        How entries were held out to choose all this; None if none were.
    seed
        The seed of everything that was random.
    asked
        The arguments of `tensorfill.complete` that the caller gave, by name; ``"data"`` if it was a path.
    """

    before: tuple[Before, ...] = ()
    method: Method = field(kw_only=True)
    after: tuple[After, ...] = ()
    loss: Loss | Robust = field(default_factory=Square)
    holdout: Holdout | None = field(default=None, compare=False)
    seed: int = field(default=0, compare=False)
    asked: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        """Return what is done, in order.

        >>> from tensorfill import Centre, Grow
        >>> print(Recipe((Centre(rounds=1),), method=Grow(rank=2, form="cp")))
        Centre(rounds=1), Grow(max_iter=50, tol=1e-06, rank=2, form='cp')
        """
        return ", ".join(map(repr, (*self.before, self.method, *self.after)))

    @property
    def stages(self) -> tuple[Stage, ...]:
        """All stages, in order."""
        return (*self.before, *self.after)

    def stage(self, kind: type[S]) -> S | None:
        """Return the stage of a kind; None if there is none."""
        return next((each for each in self.stages if isinstance(each, kind)), None)

    @property
    def rounds(self) -> int:
        """How often the stages before the method are done again beside its answer."""
        return max((stage.rounds for stage in self.before), default=0)

    def arguments(self) -> dict[str, Any]:
        """Return arguments of `tensorfill.complete` that take over what was chosen, with nothing left to search.

        Nothing is held out then, so a fit with these arguments has no intervals; give ``choose=Choice()`` too for that.
        """
        given = {each.name: each for each in self.stages if each.chosen}
        said = {name: self.asked[name] for name in KEPT if name in self.asked}
        return {**said, "method": self.method, **given, "rng": self.seed}
