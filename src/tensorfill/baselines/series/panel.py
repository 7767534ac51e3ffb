"""The observed entries of a tensor as a sparse matrix of series and steps of time, and a factored model back.

All modes but that of time together are the series. Only series with entries have a row, so that nothing has the length
of all combinations of the other modes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, cast

import numpy as np

from ..._support.types import Floats, Integers
from ...models import CPModel, Merged, Model, Placed
from ...models.merged import Grouping
from ...models.slices import Slices
from ...observations import Observations
from .lags import time_mode


def grouping_of(shape: tuple[int, ...], along: int) -> Grouping:
    """Return the way to a matrix: all modes but that of time are merged.

    >>> grouping_of((4, 90, 5), 1).merged_shape
    (20, 90)
    """
    others = tuple(mode for mode in range(len(shape)) if mode != along)
    return Grouping(shape, (others,) if len(others) > 1 else ())


@dataclass(frozen=True, eq=False)
class Panel:
    """Series with entries, and their entries.

    Parameters
    ----------
    grouping
        The way from the tensor to a matrix.
    place
        The mode of the matrix that is time.
    kept
        The series with entries, in increasing order.
    entries
        Their entries, by series and step.
    """

    grouping: Grouping
    place: int
    kept: Integers
    entries: Observations

    @classmethod
    def of(cls, observations: Observations, along: int | None) -> Self:
        """Return the series of a tensor."""
        mode = time_mode(along, observations.shape)
        grouping = grouping_of(observations.shape, mode)
        place, coords = grouping.places[mode], grouping.merged(observations.coords)
        kept, rows = np.unique(coords[:, 1 - place], return_inverse=True)
        coords = np.stack([rows.ravel(), coords[:, place]], axis=1)
        shape = (len(kept), observations.shape[mode])
        return cls(grouping, place, kept, Observations(coords, observations.values, shape).astype(np.float64))

    def model(self, series: Floats, time: Floats) -> Model:
        """Return the sum of the outer products of the columns; a series without entries is the mean of the others."""
        count, merged = self.grouping.merged_shape[1 - self.place], bool(self.grouping.groups)
        empty = len(self.kept) < count
        if empty and not merged:
            known, series = series, np.tile(series.mean(axis=0), (count, 1))
            series[self.kept] = known
        pair = (series, time) if self.place else (time, series)
        model: Model = CPModel([len(each) for each in pair], np.ones(series.shape[1], series.dtype), pair)
        if empty and merged:
            slices = [None if mode == self.place else Slices(count, self.kept) for mode in range(2)]
            model = Placed(model, slices)
        return Merged(model, self.grouping.shape, self.grouping.groups) if merged else model

    def is_model(self, model: Model) -> bool:
        """Return whether a model is one of these series."""
        if model.shape != self.grouping.shape:
            return False
        parts = _taken_apart(model)
        return parts is not None and (parts.merged is None or parts.merged.grouping == self.grouping)

    def factors(self, model: Model) -> tuple[Floats, Floats]:
        """Return the factors of a model of these series, with the weights shared by both."""
        table = model.model if isinstance(model, Merged) else model
        rows: list[Integers] = [np.arange(size) for size in table.shape]
        rows[1 - self.place] = self.kept
        part = table.part(rows) if isinstance(table, Placed) else table.restrict(rows)
        pair = shared(cast(CPModel, part))
        return pair[1 - self.place], pair[self.place]


def shared(model: CPModel) -> tuple[Floats, Floats]:
    """Return the two factors of a matrix in double precision, with the root of each weight in both."""
    roots = np.sqrt(np.abs(model.weights.astype(np.float64)))
    first, second = (factor * roots for factor in model.factors)
    return first * np.where(model.weights < 0, -1.0, 1.0), second


@dataclass(frozen=True)
class _Parts:
    """A sum of outer products, and what there is around it."""

    core: CPModel
    placed: Placed | None
    merged: Merged | None


def _taken_apart(model: Model) -> _Parts | None:
    """Return the parts of a model of some series, or None for another kind of model."""
    merged = model if isinstance(model, Merged) else None
    table = model if merged is None else merged.model
    placed = table if isinstance(table, Placed) else None
    core = table if placed is None else placed.model
    return _Parts(core, placed, merged) if isinstance(core, CPModel) and core.ndim == 2 else None


def with_time(model: Model, along: int | None, change: Callable[[Floats], Floats]) -> Model:
    """Return a model of some series with another factor of time, which a function makes of the one that it has.

    Parameters
    ----------
    model
        A model that `Panel` made.
    along
        The mode of time, by default the longest.
    change
        Returns the factor for the model that is returned, with a row for each of its steps.
    """
    parts = _taken_apart(model)
    mode = time_mode(along, model.shape)
    grouping = grouping_of(model.shape, mode)
    if parts is None or (parts.merged is not None and parts.merged.grouping != grouping):
        raise ValueError(
            f"model must be an answer of 'trmf' with time along mode {mode}, but {model!r} was given; fit it by "
            "Trmf(..).solve, or with centre=False and smooth=None."
        )
    place = grouping.places[mode]
    pair = list(shared(parts.core))
    pair[place] = change(pair[place])
    pair = [each.astype(model.dtype) for each in pair]
    found: Model = CPModel([len(each) for each in pair], np.ones(pair[0].shape[1], model.dtype), pair)
    if parts.placed is not None:
        found = Placed(found, parts.placed.slices)
    if parts.merged is None:
        return found
    shape = [len(pair[place]) if other == mode else size for other, size in enumerate(model.shape)]
    return Merged(found, shape, grouping.groups)
