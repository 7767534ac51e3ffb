"""What is done to data to get an answer, as typed objects: a recipe can be saved, compared, printed and run again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from .._support.checks import real_number
from .._support.types import Booleans
from ..labels import Labels
from ..losses import Loss, Square
from ..losses.robust import Robust
from ..methods.base import Method
from ..models.base import Model
from ..observations import Observations
from .holdout.kinds import Holdout
from .stages.base import After, Before, Stage, labels_behind, merging

S = TypeVar("S", bound=Stage)

KEPT = ("loss", "bounds", "dtype", "missing", "value", "layout", "time", "horizon")
"""The arguments of `tensorfill.complete` that a repetition has too, beside the stages and the method."""


@dataclass(frozen=True)
class Portion:
    """A recipe that has a part in a blend.

    Parameters
    ----------
    weight
        The weight of its answer, above 0 and below 1.
    recipe
        What is done for it.
    """

    weight: float
    recipe: Recipe

    def __post_init__(self) -> None:
        real_number(self.weight, "weight", above=0, below=1)
        if self.recipe.beside:
            raise ValueError(f"a part of a blend must not be a blend itself, but {self.recipe!r} was given.")


@dataclass(frozen=True, eq=False)
class Omitted:
    """Which entries were judged corrupt and left out, for a repetition with the same data.

    Parameters
    ----------
    entries
        Whether each entry was left out.
    of
        The fingerprint of all entries. Those of other data are judged anew.
    """

    entries: Booleans
    of: str

    def are_of(self, observations: Observations) -> bool:
        """Return whether they are of these entries; a file may say so and have another number of them."""
        return len(self.entries) == len(observations) and self.of == observations.fingerprint


@dataclass(frozen=True)
class Start:
    """How a fit of all entries began, so that a repetition begins in the same way and has the same answer.

    Parameters
    ----------
    model
        The answer that the method started from; None if it found its own starting point.
    thoroughly
        Whether it took the steps that it needs before it can tell that it has converged.
    left_out
        The corrupt entries that were left out before; None if none were judged.
    """

    model: Model | None = field(default=None, repr=False)
    thoroughly: bool = False
    left_out: Omitted | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Recipe:
    """What is done to a problem: stages, a method, and stages again; `tensorfill.choosing.run` does it.

    The answer of a blend is a weighted sum of that and of what the recipes beside it give for the same problem.

    Parameters
    ----------
    before
        The stages before the method, in order.
    method
        The method with all its settings, given or chosen.
    after
        The stages after the method, in order.
    beside
        The other recipes of a blend with their weights, which sum to less than 1; the rest is the weight of this one.
    loss
        The loss that the entries were fitted with.
    start
        How the method began.
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
    beside: tuple[Portion, ...] = ()
    loss: Loss | Robust = field(default_factory=Square)
    start: Start = field(default_factory=Start, compare=False, repr=False)
    holdout: Holdout | None = field(default=None, compare=False)
    seed: int = field(default=0, compare=False)
    asked: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if not sum(each.weight for each in self.beside) < 1:
            raise ValueError(f"the weights of what is beside a recipe must sum to less than 1: {self.beside!r}.")

    def __str__(self) -> str:
        """Return what is done, in order, and what is blended with it.

        >>> from tensorfill import Centre, Grow
        >>> print(Recipe((Centre(rounds=1),), method=Grow(rank=2, form="cp")))
        Centre(rounds=1), Grow(max_iter=50, tol=1e-06, rank=2, form='cp')
        """
        words = ", ".join(map(repr, (*self.before, self.method, *self.after)))
        others = "".join(f"; {each.weight:.2f} of {each.recipe}" for each in self.beside)
        return f"{self.weights[0]:.2f} of {words}{others}" if others else words

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of this recipe in the answer, and those of what is beside it."""
        others = tuple(each.weight for each in self.beside)
        return (1 - math.fsum(others), *others)

    @property
    def parts(self) -> tuple[Recipe, ...]:
        """Each recipe of the blend by itself, this one first."""
        return (replace(self, beside=()), *(each.recipe for each in self.beside))

    @property
    def stages(self) -> tuple[Stage, ...]:
        """All stages, in order."""
        return (*self.before, *self.after)

    def stage(self, kind: type[S]) -> S | None:
        """Return the stage of a kind; None if there is none."""
        return next((each for each in self.stages if isinstance(each, kind)), None)

    def rescaled(self, growth: float) -> Recipe:
        """Return the recipe for this many times the entries that its settings were chosen for."""
        beside = tuple(replace(each, recipe=each.recipe.rescaled(growth)) for each in self.beside)
        return replace(self, method=self.method.rescaled(growth), beside=beside)

    def labels_within(self, labels: Labels) -> Labels:
        """Return the labels of the tensor that the method has, from those of the data; modes may be merged there."""
        return labels_behind(self.before, labels)

    def modes_within(self, mode: int, ndim: int) -> list[int]:
        """Return the modes of that tensor that a mode of the data, of this order, belongs to."""
        modes = [mode]
        for stage in merging(self.before):
            modes = sorted(stage.numbers(modes, ndim))
        return modes

    @property
    def reached(self) -> frozenset[int]:
        """The modes whose slices without any entry it has an answer for: in a blend, that of the parts that do."""
        return frozenset.union(*(part.reached_within for part in self.parts))

    @property
    def reached_within(self) -> frozenset[int]:
        """The modes whose slices without any entry the method has an answer for, in the tensor that it is given."""
        own = () if merging(self.before) else self.method.reached
        return frozenset(mode for stage in self.before for mode in stage.reached).union(own)

    @property
    def reached_after(self) -> frozenset[int]:
        """The same of the stages after the method."""
        return frozenset(mode for stage in self.after for mode in stage.reached)

    def started(self, change: Callable[[Model], Model | None]) -> Recipe:
        """Return the recipe with a change to each model that a method starts from."""
        model = None if self.start.model is None else change(self.start.model)
        beside = tuple(replace(each, recipe=each.recipe.started(change)) for each in self.beside)
        return replace(self, start=replace(self.start, model=model), beside=beside)

    @property
    def anew(self) -> Recipe:
        """The recipe that knows nothing of the fit that it comes from."""
        recipe = self.started(lambda model: None)
        return replace(recipe, start=replace(recipe.start, left_out=None))

    def starting_from(self, models: Sequence[Model | None]) -> Recipe:
        """Return the recipe whose parts start from these models."""
        parts = zip(self.beside, models[1:], strict=True)
        beside = tuple(replace(each, recipe=each.recipe.starting_from([model])) for each, model in parts)
        return replace(self, start=replace(self.start, model=models[0]), beside=beside)

    @property
    def rounds(self) -> int:
        """How often the stages before the method are done again beside its answer."""
        return max((stage.rounds for stage in self.before), default=0)

    def arguments(self) -> dict[str, Any]:
        """Return arguments of `tensorfill.complete` that take over what was chosen, with nothing left to search.

        The same data has the same answer then. Nothing is held out, so a fit with these arguments has no intervals;
        give ``choose=Choice()`` too for that.
        """
        given = {each.name: each for each in self.stages if each.chosen}
        said = {name: self.asked[name] for name in KEPT if name in self.asked}
        blend = {"blend": self.beside} if self.beside else {}
        start = {} if self.start == Start() else {"start": self.start}
        return {**said, "method": self.method, **given, **blend, **start, "rng": self.seed}
