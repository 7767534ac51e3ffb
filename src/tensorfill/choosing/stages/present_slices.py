"""Slices without any observed entry, left out of a run where they are most of a long mode.

Such a slice has no part in a fit, but every factor would have a row for it: a mode of a million indices, of which a
tenth is observed, takes ten times the memory and time that it needs. So the run has the present slices only, and its
answer is put back in place, where `empty_slices` fills the others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ..._support.clock import Clock
from ..._support.types import Integers
from ...methods.problem import Problem
from ...models import Model, Placed
from ...models.slices import Slices
from ...observations import Observations
from .base import Before, Lift

LONG = 2**16
"""Modes with fewer indices take little memory, and are left as they are."""

MOST_PRESENT = 0.5
"""A long mode is thinned out if at most this share of its slices has an entry."""


@dataclass(frozen=True)
class PresentSlices(Before):
    """Leave out the empty slices of long modes that are mostly empty.

    Parameters
    ----------
    without
        Modes that stay as they are.
    """

    name: ClassVar[str] = "present"
    title: ClassVar[str] = "Slices left out"
    chosen: ClassVar[bool] = False

    without: Collection[int] = field(default=())

    def reduce(self, problem: Problem, clock: Clock, beside: Model | None = None) -> tuple[Problem, Lift]:
        """Return the problem of the slices that take part."""
        observations, kept = problem.observations, {}
        for mode, size in enumerate(observations.shape):
            if mode not in self.without and size >= LONG:
                present = np.unique(observations.coords[:, mode])
                if len(present) <= MOST_PRESENT * size:
                    kept[mode] = present.astype(np.int64)
        if not kept:
            return problem, Lift()
        lift = Places(observations.shape, kept)
        return Problem(lift.entries(observations), problem.loss), lift


@dataclass(frozen=True, eq=False)
class Places(Lift):
    """Where the slices that take part are in the whole tensor.

    Parameters
    ----------
    shape
        The shape of the whole tensor.
    kept
        The slices of each mode that is thinned out, in increasing order.
    """

    shape: tuple[int, ...]
    kept: Mapping[int, Integers]

    def model(self, model: Model) -> Model:
        """Return a model of the whole tensor; a slice that is left out is the mean of the others."""
        slices = [Slices(size, self.kept[mode]) if mode in self.kept else None for mode, size in enumerate(self.shape)]
        return Placed(model, slices)

    def start(self, core: Model) -> Model:
        """Return the model of the slices that take part."""
        if core.shape != self.shape:
            return core
        rows = [self.kept[mode] if mode in self.kept else np.arange(size) for mode, size in enumerate(self.shape)]
        return core.restrict(rows).orthonormal()

    def entries(self, entries: Observations) -> Observations:
        """Return entries by the numbers of the slices that take part."""
        coords, shape = entries.coords.copy(), list(entries.shape)
        for mode, kept in self.kept.items():
            coords[:, mode], shape[mode] = np.searchsorted(kept, coords[:, mode]), len(kept)
        return Observations(coords, entries.values, shape)

    def back(self, entries: Observations) -> Observations:
        """Return entries by their numbers in the whole tensor."""
        return Observations(self.places(entries.coords), entries.values, self.shape)

    def places(self, coords: Integers) -> Integers:
        """Return coordinates in the whole tensor."""
        places = coords.astype(np.int64)
        for mode, kept in self.kept.items():
            places[:, mode] = kept[places[:, mode]]
        return places
