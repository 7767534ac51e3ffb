"""Linear interpolation along a mode, as a method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..._support.types import Floats
from ...models import Dense, Model
from ..effects.additive import fit_additive
from ..problem import Problem
from ..settings import setting, whole
from .base import Simple


@dataclass(frozen=True, kw_only=True)
class Interpolation(Simple):
    """Linear interpolation along a mode; fibres without any observed entry get the mean and the effects of each index.

    The answer has all entries of the tensor, and takes as much memory.

    Parameters
    ----------
    along
        The mode.
    max_iter, tol
        As in `Method`; nothing depends on them.

    Examples
    --------
    >>> import tensorfill
    >>> lines = np.outer(np.arange(1.0, 9.0), np.arange(6.0))
    >>> lines[2, 3] = np.nan
    >>> fit = tensorfill.complete(lines, method=Interpolation(along=1), centre=False, smooth=None, rng=0)
    >>> float(fit.filled()[2, 3])
    9.0
    """

    square_only: ClassVar[bool] = True
    whole_tensors: ClassVar[int] = 4

    along: int = setting(0, check=whole(0))

    def check(self, problem: Problem) -> None:
        """Refuse a mode that the tensor does not have."""
        super().check(problem)
        order = problem.observations.ndim
        if self.along >= order:
            raise ValueError(f"along must be a mode from 0 to {order - 1}, but {self.along} was given.")

    def answer(self, problem: Problem) -> Model:
        """Return the interpolated tensor."""
        observations = problem.observations
        dense = np.full(observations.shape, np.nan)
        dense.ravel()[observations.positions] = observations.values
        filled = interpolated(dense, self.along)
        empty = np.isnan(filled)
        if empty.any():
            effects = np.zeros(observations.shape)
            fit_additive(observations).add_to(effects)
            filled[empty] = effects[empty]
        return Dense(filled.astype(observations.dtype, copy=False))


def interpolated(dense: Floats, mode: int) -> Floats:
    """Return an array whose NaN are interpolated linearly between the nearest known entries of their fibre.

    Before the first and after the last known entry of a fibre, the value of that entry is used. Fibres without any
    known entry stay NaN.

    Parameters
    ----------
    dense
        The array.
    mode
        The mode along which to interpolate.

    Examples
    --------
    >>> nan = np.nan
    >>> interpolated(np.array([[1.0, nan, nan, nan, 5.0, nan], [nan] * 6]), 1).tolist()
    [[1.0, 2.0, 3.0, 4.0, 5.0, 5.0], [nan, nan, nan, nan, nan, nan]]
    """
    moved = np.moveaxis(dense, mode, -1)
    rows = moved.reshape(-1, moved.shape[-1])
    size = rows.shape[1]
    known, places = np.isfinite(rows), np.arange(size, dtype=np.int32)
    before = np.maximum.accumulate(np.where(known, places, -1), axis=1)
    after = np.minimum.accumulate(np.where(known, places, size)[:, ::-1], axis=1)[:, ::-1]
    # At the ends of a fibre both neighbours are the same.
    before, after = np.where(before < 0, after, before), np.where(after >= size, before, after)
    # A fibre without any known entry has neighbours outside of it; any place in it is NaN.
    before, after = (np.clip(each, 0, size - 1) for each in (before, after))
    low, high = np.take_along_axis(rows, before, axis=1), np.take_along_axis(rows, after, axis=1)
    share = (places - before) / np.maximum(after - before, 1)
    return np.moveaxis((low + share * (high - low)).reshape(moved.shape), -1, mode)
