"""Merging modes: the method has a tensor in which some modes, such as day and hour, are one.

Data may be of low rank only if some of its modes are taken together: then every pair of a day and an hour has one row
of a factor. The method fits the merged tensor, which has fewer and longer modes, and its answer is looked up
there. A merged mode may have slices without any entry although no mode of the data has; as elsewhere, these get the
mean of the others.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..._support.checks import mode_number
from ..._support.clock import Clock
from ..._support.ordering import order_by_modes
from ..._support.types import Floats, Integers
from ...labels import Labels
from ...methods.problem import Problem
from ...models import Merged, Model
from ...models.merged import Grouping, Groups, checked_groups, parts_of
from ...observations import Observations
from ...times import TimeAxis
from .base import Before, Lift
from .rearranged import Rearranged, without_slices_of_others

FEWEST_MODES = 2
"""A merged tensor has at least this many modes, as every tensor has."""

FEWEST_PROPOSED = 3
"""Proposals leave at least this many modes."""


@dataclass(frozen=True)
class Merge(Before):
    """Treat some modes as one.

    Parameters
    ----------
    groups
        The modes that are treated as one: one or more groups, each of two or more modes, which need not be neighbours.

    Examples
    --------
    >>> Merge(((1, 2),)).in_words(Labels(("station", "day", "hour"), (None, None, None)))
    "the modes 'day' and 'hour' were treated as one"
    """

    name: ClassVar[str] = "merge"
    title: ClassVar[str] = "Merged modes"
    brief: ClassVar[str] = "merged"
    other_modes: ClassVar[bool] = True

    groups: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        groups = checked_groups(self.groups)
        if not groups:
            raise ValueError("groups must name one or more groups of modes, as in [(1, 2)], but there is none.")
        object.__setattr__(self, "groups", groups)

    def in_words(self, labels: Labels) -> str:
        """Return which modes were treated as one."""
        said = []
        for group in self.groups:
            *first, last = (repr(labels.called(mode)) for mode in group)
            said.append(f"the modes {', '.join(first)} and {last} were treated as one")
        return "; ".join(said)

    @property
    def modes(self) -> Iterable[int]:
        """The modes that are merged."""
        return [mode for group in self.groups for mode in group]

    @classmethod
    def proposed(
        cls, coords: Integers, residuals: Floats, shape: Sequence[int], axis: TimeAxis | None = None
    ) -> Sequence[Self]:
        """Return which modes to try as one: the two shortest, again and again, as long as three modes are left.

        A model has one row for each index, so that merging the shortest modes adds the fewest unknowns. A tensor of
        three modes of which two are one is an unfolding, which methods with a rank for each mode have anyway.

        >>> Merge.proposed(None, None, (13, 4, 8, 12))
        [Merge(groups=((1, 2),))]
        """
        parts: list[tuple[int, ...]] = [(mode,) for mode in range(len(shape))]
        found = []
        while len(parts) > FEWEST_PROPOSED:
            parts.sort(key=lambda part: math.prod(shape[mode] for mode in part))
            parts = [parts[0] + parts[1], *parts[2:]]
            found.append(cls(tuple(part for part in parts if len(part) > 1)))
        return found

    def grouping(self, shape: tuple[int, ...]) -> Grouping:
        """Return the way from a tensor of this shape to the merged one, or refuse it with one sentence."""
        grouping = Grouping(shape, self.groups)
        if len(grouping.parts) < FEWEST_MODES:
            raise ValueError(
                f"merge must leave {FEWEST_MODES} or more modes, but {self.groups!r} leaves {len(grouping.parts)} of "
                f"the {len(shape)} modes of the data; merge fewer."
            )
        return grouping

    def labels(self, labels: Labels) -> Labels:
        """Return the names of the modes of the merged tensor; the indices of a merged mode are counted."""
        parts = parts_of(self.groups, len(labels.names))
        names = tuple(" × ".join(labels.names[mode] for mode in part) for part in parts)
        keys = tuple(labels.keys[part[0]] if len(part) == 1 else None for part in parts)
        return Labels(names, keys, labels.value)

    def numbers(self, modes: Collection[int], ndim: int) -> frozenset[int]:
        """Return the modes of the merged tensor that some modes are part of."""
        parts = parts_of(self.groups, ndim)
        return frozenset(place for place, part in enumerate(parts) if not set(part).isdisjoint(modes))

    def reduce(self, problem: Problem, clock: Clock, beside: Model | None = None) -> tuple[Problem, Lift]:
        """Return the problem of the merged tensor."""
        if problem.roughness is not None:
            raise ValueError("merge does not go with graphs, but the problem has some; leave one of them out.")
        observations, offset = problem.observations, problem.offset
        grouping = self.grouping(observations.shape)
        merged = Joined({}, grouping).entries(observations)
        if offset is not None:
            offset = offset[order_by_modes(observations.coords, observations.shape, grouping.order)]
        return replace(problem, observations=merged, offset=offset), Joined(_present(merged, grouping), grouping)


@dataclass(frozen=True, eq=False)
class Joined(Rearranged):
    """Looks entries up in the merged tensor.

    Parameters
    ----------
    present
        The slices with entries of each merged mode that has others too.
    grouping
        Which modes are merged.
    """

    grouping: Grouping

    def core(self, model: Model) -> Model:
        """Return the same with those slices as the method has them."""
        return Merged(model, self.grouping.shape, self.grouping.groups)

    def start(self, core: Model) -> Model:
        """Return the model of the merged tensor, if the same modes are merged; else the method finds its own start."""
        if not isinstance(core, Merged) or core.grouping != self.grouping:
            return core
        return without_slices_of_others(core.model)

    def entries(self, entries: Observations) -> Observations:
        """Return entries by their places in the merged tensor, in the order that they have there."""
        shape, order = self.grouping.merged_shape, self.grouping.order
        if entries.is_dense:
            array, mask = (each.transpose(order).reshape(shape) for each in (entries.array, entries.mask))
            return Observations.from_dense(array, mask).astype(entries.dtype)
        rows = order_by_modes(entries.coords, entries.shape, order)
        coords = self.grouping.merged(entries.coords)[rows]
        return Observations(coords, entries.values[rows], shape).astype(entries.dtype)

    def back(self, entries: Observations) -> Observations:
        """Return entries by their places in the tensor."""
        return Observations(self.places(entries.coords), entries.values, self.grouping.shape).astype(entries.dtype)

    def places(self, coords: Integers) -> Integers:
        """Return coordinates in the tensor."""
        return self.grouping.apart(coords)


def _present(entries: Observations, grouping: Grouping) -> dict[int, Integers]:
    """Return the slices with entries of each merged mode that has others too."""
    found: dict[int, Integers] = {}
    for place, part in enumerate(grouping.parts):
        if len(part) > 1:
            slices = np.unique(entries.coords[:, place]).astype(np.int64)
            if len(slices) < entries.shape[place]:
                found[place] = slices
    return found


def merge_of(given: Any, labels: Labels, shape: tuple[int, ...]) -> Any:
    """Return a `Merge` with modes by number, from groups of modes by number or name; ``"auto"`` and None stay.

    Parameters
    ----------
    given
        What `tensorfill.complete` is given.
    labels, shape
        The names of the modes, and the shape of the tensor.

    Examples
    --------
    >>> merge_of([("day", "hour")], Labels(("station", "day", "hour"), (None, None, None)), (5, 30, 24))
    Merge(groups=((1, 2),))
    """
    if given is None or (isinstance(given, str) and given == "auto"):
        return given
    merge = given if isinstance(given, Merge) else Merge(_numbered(given, labels, len(shape)))
    merge.grouping(shape)
    return merge


def _numbered(given: Any, labels: Labels, ndim: int) -> Groups:
    """Return groups of modes by number."""
    if not isinstance(given, list | tuple) or not all(isinstance(group, list | tuple) for group in given):
        raise ValueError(
            "merge must be 'auto', None, a Merge or groups of modes, as in [(1, 2)] or [('day', 'hour')], but "
            f"{given!r} was given."
        )
    return tuple(tuple(mode_number(labels.mode(mode), "merge", ndim) for mode in group) for group in given)
