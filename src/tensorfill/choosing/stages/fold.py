"""Folding a mode: the method has a tensor in which one long mode, such as time, is two, such as day and hour.

A matrix of series by time says nothing of days. With a mode of days and one of hours, what is missing for a while is
known from the same hours of other days. It is the inverse of merging: the method fits the folded tensor, and its answer
is looked up there. A last row that is not complete has missing entries, which the answer has no place for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..._support.checks import mode_number, whole_number
from ..._support.clock import Clock
from ..._support.types import Floats, Integers
from ...labels import Labels
from ...methods.problem import Problem
from ...models import Model, Unfolded
from ...models.unfolded import Folding
from ...observations import Observations
from ...times import TimeAxis
from .base import Before, Lift
from .rearranged import Rearranged, without_slices_of_others

FEWEST_ROWS = 2
"""A folded mode has at least this many rows."""


@dataclass(frozen=True)
class Fold(Before):
    """Treat one mode as two: rows of `period` steps each, and the steps of a row.

    Parameters
    ----------
    mode
        The mode, such as that of time.
    period
        The number of steps of a row, such as 24 for days of hours.

    Examples
    --------
    >>> Fold(1, 24).in_words(Labels(("station", "time"), (None, None)))
    "the mode 'time' was folded into rows of 24"
    """

    name: ClassVar[str] = "fold"
    title: ClassVar[str] = "Folded mode"
    brief: ClassVar[str] = "folded"
    other_modes: ClassVar[bool] = True
    every: ClassVar[bool] = True

    mode: int
    period: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", whole_number(self.mode, "mode"))
        object.__setattr__(self, "period", whole_number(self.period, "period", at_least=2))

    def in_words(self, labels: Labels) -> str:
        """Return which mode was folded."""
        return f"the mode {labels.called(self.mode)!r} was folded into rows of {self.period:,}"

    @property
    def modes(self) -> Iterable[int]:
        """The mode that is folded."""
        return [self.mode]

    @property
    def reached(self) -> Collection[int]:
        """The mode that is folded: an index without entries has those of its row and of its slot."""
        return [self.mode]

    @classmethod
    def proposed(
        cls, coords: Integers, residuals: Floats, shape: Sequence[int], axis: TimeAxis | None = None
    ) -> Sequence[Self]:
        """Return the periods to try along one mode of time, the longest first.

        >>> Fold.proposed(None, None, (30, 400), TimeAxis((1,), (24, 168), "1 hour"))
        [Fold(mode=1, period=168), Fold(mode=1, period=24)]
        """
        if axis is None or len(axis.modes) > 1:
            return []
        (mode,) = axis.modes
        return [cls(mode, period) for period in sorted(axis.periods, reverse=True) if 2 <= period < shape[mode]]

    def folding(self, shape: tuple[int, ...]) -> Folding:
        """Return the way from a tensor of this shape to the folded one, or refuse it with one sentence."""
        mode_number(self.mode, "fold", len(shape))
        if self.period >= shape[self.mode]:
            raise ValueError(
                f"fold must leave {FEWEST_ROWS} or more rows, but a period of {self.period:,} leaves one of the "
                f"{shape[self.mode]:,} indices of mode {self.mode}; give a shorter period."
            )
        return Folding(shape, self.mode, self.period)

    def labels(self, labels: Labels) -> Labels:
        """Return the names of the modes of the folded tensor; a row has the label of its first index."""
        name, keys, at = labels.names[self.mode], labels.keys[self.mode], self.mode
        both = (f"{name} ÷ {self.period}", f"{name} mod {self.period}")
        firsts = None if keys is None else keys[:: self.period]
        return Labels(
            (*labels.names[:at], *both, *labels.names[at + 1 :]),
            (*labels.keys[:at], firsts, None, *labels.keys[at + 1 :]),
            labels.value,
        )

    def numbers(self, modes: Collection[int], ndim: int) -> frozenset[int]:
        """Return the modes of the folded tensor that some modes become."""
        later = {mode + 1 for mode in modes if mode >= self.mode}
        return frozenset({mode for mode in modes if mode <= self.mode} | later)

    def reduce(self, problem: Problem, clock: Clock, beside: Model | None = None) -> tuple[Problem, Lift]:
        """Return the problem of the folded tensor, whose entries are in the same order."""
        if problem.roughness is not None:
            raise ValueError("fold does not go with graphs, but the problem has some; leave one of them out.")
        folding = self.folding(problem.observations.shape)
        folded = FoldedRows({}, folding).entries(problem.observations)
        return replace(problem, observations=folded), FoldedRows(_present(folded, folding.mode), folding)


@dataclass(frozen=True, eq=False)
class FoldedRows(Rearranged):
    """Looks entries up in the folded tensor.

    Parameters
    ----------
    present
        The rows with entries, and the slots, if others have none; by their mode in the folded tensor.
    folding
        Which mode is folded.
    """

    folding: Folding

    def core(self, model: Model) -> Model:
        """Return the same with those rows and slots as the method has them."""
        return Unfolded(model, self.folding.mode, self.folding.size)

    def start(self, core: Model) -> Model:
        """Return the model of the folded tensor, if the same mode is folded; else the method finds its own start."""
        if not isinstance(core, Unfolded) or core.weights is not None or core.mode != self.folding.mode:
            return core
        inner = core.model
        if core.shape != self.folding.shape or inner.shape != self.folding.folded_shape:
            return core
        return without_slices_of_others(inner)

    def entries(self, entries: Observations) -> Observations:
        """Return entries by their places in the folded tensor, in the same order."""
        shape = self.folding.folded_shape
        if not entries.is_dense:
            return Observations(self.folding.folded(entries.coords), entries.values, shape).astype(entries.dtype)
        whole = [slice(size) for size in entries.shape]
        mode, period = self.folding.mode, self.folding.period
        padded = list(entries.shape)
        padded[mode] = shape[mode] * period
        array, mask = np.zeros(padded, dtype=entries.dtype), np.zeros(padded, dtype=np.bool_)
        array[tuple(whole)], mask[tuple(whole)] = entries.array, entries.mask
        return Observations.from_dense(array.reshape(shape), mask.reshape(shape)).astype(entries.dtype)

    def back(self, entries: Observations) -> Observations:
        """Return entries by their places in the tensor."""
        return Observations(self.places(entries.coords), entries.values, self.folding.shape).astype(entries.dtype)

    def places(self, coords: Integers) -> Integers:
        """Return coordinates in the tensor."""
        return self.folding.unfolded(coords)


def _present(entries: Observations, mode: int) -> dict[int, Integers]:
    """Return the rows and the slots with entries, where others have none."""
    found = {each: np.unique(entries.coords[:, each]).astype(np.int64) for each in (mode, mode + 1)}
    return {each: slices for each, slices in found.items() if len(slices) < entries.shape[each]}


def fold_of(given: Any, labels: Labels, shape: tuple[int, ...]) -> Any:
    """Return a `Fold` with a mode by number, from the period of a mode; ``"auto"`` and None stay.

    Parameters
    ----------
    given
        What `tensorfill.complete` is given.
    labels, shape
        The names of the modes, and the shape of the tensor.

    Examples
    --------
    >>> fold_of({"time": 24}, Labels(("station", "time"), (None, None)), (5, 720))
    Fold(mode=1, period=24)
    """
    if given is None or (isinstance(given, str) and given == "auto"):
        return given
    if isinstance(given, Fold):
        fold = given
    elif isinstance(given, Mapping) and len(given) == 1:
        ((mode, period),) = given.items()
        number = mode_number(labels.mode(mode), "fold", len(shape))
        fold = Fold(number, whole_number(period, "fold, for its mode,", at_least=2))
    else:
        raise ValueError(
            "fold must be 'auto', None, a Fold or the period of one mode, as in {1: 24} or {'time': 24}, but "
            f"{given!r} was given."
        )
    fold.folding(shape)
    return fold
