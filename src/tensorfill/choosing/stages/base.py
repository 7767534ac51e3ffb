"""The contract of a stage: what is done to a problem before a method solves it, or to the answer after.

A stage is a frozen dataclass of settings in a file of this folder, and a line in `tensorfill._support.table`. One that
comes before the method makes another problem, and returns the way back,

    reduce(problem) -> (problem, lift)

and one that comes after it makes another model of the same problem,

    improve(problem, model) -> model
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from ..._support.clock import Clock
from ..._support.types import Floats, Integers
from ...graphs.reduction import Graph
from ...labels import Labels
from ...methods.problem import Problem
from ...models import Model
from ...observations import Observations
from ...times import TimeAxis


class Lift:
    """The way back from the problem that a stage made; as it is here, both problems are about the same tensor."""

    adds: ClassVar[bool] = False
    """Whether the stage adds something to the answer, so that a model of zeros is an answer too."""

    graphs: Mapping[int, Graph] = {}
    """The graphs on the slices of the problem that the stage made, by mode."""

    def model(self, model: Model) -> Model:
        """Return the answer to the problem before the stage, from an answer to the one after it."""
        return model

    def core(self, model: Model) -> Model:
        """Return the same without what the stage adds: what a method can start from."""
        return self.model(model)

    def start(self, core: Model) -> Model:
        """Return a starting point for the problem after the stage, from one for the problem before it."""
        return core

    def entries(self, entries: Observations) -> Observations | None:
        """Return other entries as the problem after the stage has them; None if it may not have them."""
        return entries

    def back(self, entries: Observations) -> Observations:
        """Return entries of the problem after the stage as the one before it has them."""
        return entries

    def places(self, coords: Integers) -> Integers:
        """Return coordinates in the problem after the stage as those in the one before it."""
        return coords


@dataclass(frozen=True)
class Stage(ABC):
    """What is done around a method."""

    name: ClassVar[str]
    """What `tensorfill.complete` calls it."""

    title: ClassVar[str]
    """The heading of what a report says about it."""

    brief: ClassVar[str] = ""
    """What one line about a fit says of it; nothing if it is not worth a word there."""

    chosen: ClassVar[bool] = True
    """Whether it is given or chosen; if not, it follows from the data alone."""

    def in_words(self, labels: Labels) -> str:
        """Return what it did, for a report."""
        return repr(self)

    @property
    def modes(self) -> Iterable[int]:
        """The modes that its settings speak of."""
        return ()


class Before(Stage):
    """A stage before the method."""

    rounds: int = 0
    """How often it is done again beside the answer, after which the method goes on from its answer."""

    other_modes: ClassVar[bool] = False
    """Whether the tensor of the problem that it makes has other modes, of which the settings of the method speak."""

    every: ClassVar[bool] = False
    """Whether all settings that are proposed are tried; if not, one after the other while held-out entries gain."""

    @property
    def reached(self) -> Collection[int]:
        """The modes whose slices without any entry the method has an answer for, because other modes have some."""
        return ()

    @classmethod
    def proposed(
        cls, coords: Integers, residuals: Floats, shape: Sequence[int], axis: TimeAxis | None = None
    ) -> Sequence[Self]:
        """Return the settings to try for the best method so far, in order.

        Parameters
        ----------
        coords, residuals
            Entries that were held out, and what an answer without them leaves of their values.
        shape
            The shape of the tensor.
        axis
            The mode of time; None if none is known.
        """
        return ()

    def labels(self, labels: Labels) -> Labels:
        """Return the labels of the tensor of the problem that it makes, from those of the one before it."""
        return labels

    def numbers(self, modes: Collection[int], ndim: int) -> frozenset[int]:
        """Return which modes of the problem that it makes some modes of the one before it, of this order, belong to."""
        return frozenset(modes)

    @abstractmethod
    def reduce(self, problem: Problem, clock: Clock, beside: Model | None = None) -> tuple[Problem, Lift]:
        """Return another problem, and the way back.

        Parameters
        ----------
        problem
            The problem.
        clock
            Ends long work.
        beside
            An earlier answer to the problem that this stage made, if the stage is done again.
        """


def merging(stages: Iterable[Before]) -> list[Before]:
    """Return those stages that give the method a tensor with other modes."""
    return [stage for stage in stages if stage.other_modes]


def labels_behind(stages: Iterable[Before], labels: Labels) -> Labels:
    """Return the labels of the tensor that the method has, from those of the data."""
    for stage in stages:
        labels = stage.labels(labels)
    return labels


class After(Stage):
    """A stage after the method.

    Which settings it is tried with on held-out entries, and when it is kept, is said by its class; see
    `tensorfill.choosing.choose`.
    """

    gain: ClassVar[float] = 1.0
    """Of settings that are tried one after the other, each must have less than this share of the last one's loss."""

    first_must_gain: ClassVar[bool] = True
    """Whether the first of them must have less than that share of the loss without the stage."""

    @property
    def reached(self) -> Collection[int]:
        """The modes along which it predicts slices without any entry."""
        return ()

    @property
    def alone(self) -> bool:
        """Whether it does without the answer of the method."""
        return False

    @abstractmethod
    def improve(self, problem: Problem, model: Model, clock: Clock, near: Model | None = None) -> Model:
        """Return another model of the problem.

        Parameters
        ----------
        problem, model
            The problem, and the answer of the method and of the stages before this one.
        clock
            Ends long work with `TimeUp`.
        near
            The answer of this stage with the settings that were tried before, which may save work.
        """

    @classmethod
    def proposed(cls, problem: Problem, asked: Any, without: Collection[int]) -> Sequence[Sequence[After]]:
        """Return the settings to try, in groups; each is tried in order while held-out entries gain.

        Parameters
        ----------
        problem
            All entries.
        asked
            What the caller says of this stage; ``"auto"`` for nothing.
        without
            The modes with a graph and, if the caller says nothing, those whose labels have no order.
        """
        return ()

    @classmethod
    def rivals(cls, proposed: Sequence[Sequence[After]]) -> Sequence[After]:
        """Return settings that show how good the stage is without any method; none if it is nothing alone."""
        return ()

    @classmethod
    def is_kept(cls, asked: Any, losses: Floats, before: Floats, *, is_better: bool) -> bool:
        """Return whether the best settings are kept.

        Parameters
        ----------
        asked
            What the caller says of this stage.
        losses, before
            The losses at held-out entries with these settings, and without the stage.
        is_better
            Whether the former are lower by more than chance.
        """
        return is_better or asked != "auto"


@dataclass(frozen=True, eq=False)
class Reduced:
    """A problem that stages have made, and the way back to the one that it was made of.

    Parameters
    ----------
    problem
        The problem.
    lifts
        The way back from each stage, the last one first to go.
    """

    problem: Problem
    lifts: tuple[Lift, ...] = ()

    def by(self, stages: Sequence[Before], clock: Clock, beside: Model | None = None) -> Self:
        """Return the problem that further stages make; see `Before.reduce`."""
        reduced = self
        for stage in stages:
            problem, lift = stage.reduce(reduced.problem, clock, beside)
            reduced = replace(reduced, problem=problem, lifts=(*reduced.lifts, lift))
        return reduced

    def whole(self, model: Model) -> Model:
        """Return the answer to the first problem, from an answer to this one."""
        for lift in reversed(self.lifts):
            model = lift.model(model)
        return model

    def core(self, model: Model) -> Model:
        """Return the same without what the stages add."""
        for lift in reversed(self.lifts):
            model = lift.core(model)
        return model

    def start(self, core: Model) -> Model:
        """Return a starting point for this problem, from one for the first."""
        for lift in self.lifts:
            core = lift.start(core)
        return core

    def entries(self, entries: Observations) -> Observations | None:
        """Return other entries of the first problem as this one has them; None if it may not have them."""
        found: Observations | None = entries
        for lift in self.lifts:
            found = None if found is None else lift.entries(found)
        return found

    @property
    def placed(self) -> Observations:
        """The entries of this problem, with its values, at their places in the first one."""
        entries = first = self.problem.observations
        coords = entries.coords
        for lift in reversed(self.lifts):
            coords, first = lift.places(coords), lift.back(first)
        return entries if coords is entries.coords else Observations(coords, entries.values, first.shape)

    @property
    def adds(self) -> bool:
        """Whether the stages add something to the answer."""
        return any(lift.adds for lift in self.lifts)

    @property
    def graphs(self) -> Mapping[int, Graph]:
        """The graphs on the slices of this problem, by mode."""
        return {mode: graph for lift in self.lifts for mode, graph in lift.graphs.items()}
