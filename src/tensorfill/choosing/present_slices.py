"""Slices without any observed entry, left out of a run where they are most of a long mode.

Such a slice has no part in a fit, but every factor would have a row for it: a mode of a million indices, of which a
tenth is observed, takes ten times the memory and time that it needs. So the run has the present slices only, and its
answer is put back in place, where `empty_slices` fills the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from .._support.types import Integers
from ..methods.base import Callback, Record
from ..models import FoldedColumns, FoldedLowRank, Model
from ..observations import Observations
from .held_out import HeldOut
from .task import Task

LONG = 2**16
"""Modes with fewer indices take little memory, and are left as they are."""

MOST_PRESENT = 0.5
"""A long mode is thinned out if at most this share of its slices has an entry."""


@dataclass(frozen=True, eq=False)
class PresentSlices:
    """The slices that take part in a run.

    Parameters
    ----------
    shape
        The shape of the whole tensor.
    kept
        The slices of each mode that is thinned out, in increasing order.
    """

    shape: tuple[int, ...]
    kept: Mapping[int, Integers]

    @classmethod
    def of(cls, task: Task) -> PresentSlices:
        """Return the slices that a task needs: all, except in long modes that are mostly empty.

        Modes stay as they are if they have a graph, if their neighbours count, or if two are the same entities; and all
        do if the caller gives entries to choose by, which may lie in any slice.
        """
        observations = task.observations
        fixed = {*task.graphs, *(task.same or ()), *(() if isinstance(task.smooth, str) else task.smooth or ())}
        if isinstance(task.choice.validation, Observations):
            fixed = set(range(observations.ndim))
        kept = {}
        for mode, size in enumerate(observations.shape):
            if mode not in fixed and size >= LONG:
                present = np.unique(observations.coords[:, mode])
                if len(present) <= MOST_PRESENT * size:
                    kept[mode] = present.astype(np.int64)
        return cls(observations.shape, kept)

    def reduced(self, task: Task) -> Task:
        """Return the task on these slices."""
        if not self.kept:
            return task
        start = task.start
        if start is not None and start.shape == self.shape:
            start = start.restrict([self.kept.get(mode, np.arange(size)) for mode, size in enumerate(self.shape)])
            start = start.orthonormal() if isinstance(start, FoldedLowRank | FoldedColumns) else start
        return replace(task, observations=self._renumbered(task.observations), start=start)

    def _renumbered(self, observations: Observations) -> Observations:
        coords, shape = observations.coords.copy(), list(observations.shape)
        for mode, kept in self.kept.items():
            coords[:, mode], shape[mode] = np.searchsorted(kept, coords[:, mode]), len(kept)
        return Observations(coords, observations.values, shape)

    def entries(self, observations: Observations) -> Observations:
        """Return entries of the run as those of the whole tensor."""
        if not self.kept:
            return observations
        return Observations(self._places(observations.coords), observations.values, self.shape)

    def model(self, model: Model) -> Model:
        """Return a model of the whole tensor; what it has in slices that are left out is not to be used."""
        if not self.kept:
            return model
        rows = []
        for mode, size in enumerate(self.shape):
            kept = self.kept.get(mode, np.arange(size))
            rows.append(np.searchsorted(kept, np.arange(size)).clip(max=len(kept) - 1))
        return model.restrict(rows)

    def held_out(self, held_out: HeldOut | None) -> HeldOut | None:
        """Return held-out entries as those of the whole tensor; distances among present slices say little."""
        if not self.kept or held_out is None:
            return held_out
        places, around = self._places(held_out.coords), self.entries(held_out.around)
        return replace(held_out, coords=places, distances=None, around=around)

    def callback(self, callback: Callback | None) -> Callback | None:
        """Return a callback that sees models of the whole tensor."""
        if not self.kept or callback is None:
            return callback

        def called(record: Record, model: Model) -> object:
            return callback(record, self.model(model))

        return called

    def _places(self, coords: Integers) -> Integers:
        places = coords.astype(np.int64)
        for mode, kept in self.kept.items():
            places[:, mode] = kept[places[:, mode]]
        return places
