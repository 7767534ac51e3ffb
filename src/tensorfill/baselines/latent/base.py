"""The base class of the methods in this folder: the modes of their unfoldings, and their starting points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from ..._support.types import Floats
from ...algebra.component import Component
from ...methods.base import Method, Unsuited
from ...methods.memory import check_factors_fit
from ...methods.nort.modes import regularised_modes
from ...methods.problem import Problem
from ...models import FoldedLowRank, Model


@dataclass(frozen=True, kw_only=True)
class LatentMethod(Method):
    """A method for the square loss whose answer is a sum of folded low-rank matrices.

    Parameters
    ----------
    modes
        The modes of the unfoldings; by default those of `Nort`.
    max_iter, tol
        As in `Method`.
    """

    square_only: ClassVar[bool] = True

    modes: Sequence[int] | None = None

    def check(self, problem: Problem) -> None:
        """Raise a ValueError of one sentence if the method does not take this problem."""
        super().check(problem)
        try:
            check_factors_fit(problem.observations, self.unfolded_modes(problem))
        except MemoryError as error:
            raise Unsuited(f"method '{self.name}' stores numbers for every column of its unfoldings. {error}") from None

    def resolved(self, problem: Problem) -> Self:
        """Return the same settings with explicit modes."""
        return replace(self, modes=self.unfolded_modes(problem))

    def unfolded_modes(self, problem: Problem) -> tuple[int, ...]:
        """Return the modes of the unfoldings."""
        return regularised_modes(self.modes, problem.observations.shape)

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` is a sum of folded low-rank matrices of the shape and modes of the problem."""
        return (
            isinstance(model, FoldedLowRank)
            and model.shape == problem.observations.shape
            and model.modes == self.unfolded_modes(problem)
        )

    def blocks_of(self, start: Model | None, problem: Problem) -> tuple[Component, ...]:
        """Return the components to start from, with their weights in the singular values; zero without a start."""
        shape, modes = problem.observations.shape, self.unfolded_modes(problem)
        if start is None:
            return tuple(Component.zero(shape, mode, np.dtype(np.float64)) for mode in modes)
        if not isinstance(start, FoldedLowRank) or not self.can_start_from(start, problem):
            raise ValueError(
                f"start must be a sum of folded low-rank matrices of shape {shape} with the modes {modes} for method "
                f"'{self.name}', but it is {start!r}."
            )
        return tuple(_weighted(weight, part.astype(np.dtype(np.float64))) for weight, part in start.terms)


def _weighted(weight: float, part: Component) -> Component:
    return Component(part.mode, part.u, weight * part.s, part.v)


def answer(shape: Sequence[int], blocks: Sequence[Component], dtype: np.dtype[np.floating]) -> FoldedLowRank:
    """Return a sum of components as a model with orthonormal vectors, without rounding errors."""
    parts = []
    for block in blocks:
        part = block.orthonormal()
        kept = int(np.count_nonzero(part.s > len(part.s) * np.finfo(np.float64).eps * part.s.max(initial=0)))
        parts.append(Component(part.mode, part.u[:, :kept], part.s[:kept], part.v[:, :kept]).astype(dtype))
    return FoldedLowRank(shape, parts, [1.0] * len(parts))


def leading_start(rows: int, width: int, rng: np.random.Generator, last: Floats | None = None) -> Floats:
    """Return a starting block for subspace iteration: the previous result, and random columns."""
    fresh = rng.standard_normal((rows, min(width, rows)))
    if last is None:
        return fresh
    kept = last[:, : fresh.shape[1]]
    return np.hstack([kept, fresh[:, kept.shape[1] :]])
