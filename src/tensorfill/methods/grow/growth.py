"""The steps by which a Tucker model grows on one set of entries.

Each step returns a new model; the search decides on held-out entries whether to keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ..._support.clock import Clock
from ..._support.types import Floats
from ...algebra.sparse_unfoldings import SparseUnfoldings
from ...algebra.unfolding import large_modes
from ...models import CPModel, Model, Tucker
from ...observations import Observations
from ..problem import Problem
from ..tucker_least_squares import LeastSquares
from .mixtures import Mixtures, mixtures_of
from .terms import best_terms, clip, starts_from_modes

T = TypeVar("T")

MOST_DIRECTIONS = 20
"""The largest number of directions that a mode may gain at a time."""

CLIPPED_AT = 1.0
"""Residuals are clipped at this multiple of their root mean square before the search for directions."""

MOST_IN_BLOCK = 2_000
"""The largest size of a block of the core; data that needs more does not have low rank."""

SWEEPS = 2
"""Sweeps of least squares after a model has grown."""

CENTRED = 5e-3
"""A term sums to zero along a mode if the squared cosine of its vector and that of ones is at most this. Two random
vectors of five numbers are both below it once in a hundred times."""


class Growth:
    """The steps on one set of entries.

    Small modes keep all their directions; the ranks of the others, `free`, grow.

    Parameters
    ----------
    problem
        The problem with the entries to fit.
    rng
        Draws random signs, to estimate the directions of noise.
    clock
        The work raises `TimeUp` when it expires; its journal keeps every step.
    unseen
        Entries that are not fitted. They only guide the search for the weakest terms.
    """

    def __init__(
        self,
        problem: Problem,
        rng: np.random.Generator,
        clock: Clock | None = None,
        unseen: Observations | None = None,
    ) -> None:
        self.observations, self._rng, self._clock = problem.observations, rng, clock or Clock()
        self.free = large_modes(self.observations.shape)
        # Trials on the same problem share them too.
        self._by_index, self._in_blocks = problem.entries_by_index(), problem.entries_in_blocks(self.free)
        self._searched = [self.observations] if unseen is None else [self.observations, unseen]

    @cached_property
    def _unfoldings(self) -> SparseUnfoldings:
        return SparseUnfoldings(self.observations.coords, self.observations.shape, self.free, self._clock)

    @cached_property
    def _mixtures(self) -> Mixtures | None:
        coords = np.concatenate([each.coords for each in self._searched])
        return mixtures_of(coords, self.observations.shape, self.free, self._clock)

    @property
    def has_mixtures(self) -> bool:
        """Whether there are small modes, so that a thorough search for terms is possible."""
        return self._mixtures is not None

    def _kept(self, asked: tuple[Any, ...], compute: Callable[[], T]) -> T:
        """Return the result of a step, from the journal if it is there."""
        self._clock.check()
        with self._clock.at_work():
            return self._clock.journal.recall((*asked, self.observations), lambda _: compute(), rng=self._rng)

    def zero(self) -> Tucker:
        """Return the zero model, without any direction in the modes that may grow."""
        shape, dtype = self.observations.shape, self.observations.dtype
        factors = [
            np.zeros((size, 0), dtype) if mode in self.free else np.eye(size, dtype=dtype)
            for mode, size in enumerate(shape)
        ]
        return Tucker(shape, np.zeros([factor.shape[1] for factor in factors], dtype), factors)

    def residuals(self, model: Model) -> Floats:
        """Return the residuals of a model."""
        return _left(self.observations, model)

    def _clipped_residuals(self, model: Model) -> Floats:
        """Return the residuals of a model, among which no few may make a direction."""
        return clip(self.residuals(model), CLIPPED_AT)

    def directions(self, model: Model, margin: float = 1.0) -> dict[int, Floats]:
        """Return the directions of the residuals in each mode that exceed the noise, strongest first.

        `margin` is the factor by which they must exceed the noise.
        """
        return self._kept(("directions", model, margin), lambda: self._directions(model, margin))

    def _directions(self, model: Model, margin: float) -> dict[int, Floats]:
        residuals = self._clipped_residuals(model)
        # A model without any direction first needs one in every mode.
        least = int(isinstance(model, Tucker) and model.core.size == 0)
        found = {}
        for mode in self.free:
            strength, vectors = self._unfoldings.leading(mode, residuals, MOST_DIRECTIONS, self._rng)
            above = int(np.sum(strength > margin * self._unfoldings.edge(mode, residuals, self._rng)))
            found[mode] = vectors[:, : max(above, least)]
        return found

    def hidden_share(self, model: Model) -> float:
        """Return the largest share of the squares of the residuals that a term can have and show in no mode."""
        residuals = self._clipped_residuals(model)
        return min(self._unfoldings.visible_share(mode, residuals, self._rng) for mode in self.free)

    def terms(self, model: Model, *, thoroughly: bool = True) -> tuple[list[CPModel], bool]:
        """Return rank-one terms of the residuals, the best first, and whether they may hide others.

        With `thoroughly`, the search starts from mixtures of slices along small modes, if there are any. That takes
        longer.
        """
        searched = self._searched if thoroughly and self._mixtures is not None else []
        return self._kept(("terms", model, *searched), lambda: self._terms(model, searched))

    def _terms(self, model: Model, searched: Sequence[Observations]) -> tuple[list[CPModel], bool]:
        residuals, may_hide_others = self.residuals(model), True
        if self._mixtures is not None and searched:
            left = np.concatenate([_left(each, model) for each in searched])
            starts, may_hide_others = self._mixtures.starts(left, self._rng, centred_modes(model))
        else:
            starts = starts_from_modes(self._unfoldings, residuals, self._rng)
        return best_terms(self._by_index, residuals, starts), may_hide_others

    def directions_of(self, term: CPModel) -> dict[int, Floats]:
        """Return the directions of a term in the modes that may grow."""
        return {mode: term.factors[mode] for mode in self.free}

    def appended(self, model: Tucker, directions: Mapping[int, Floats]) -> Tucker:
        """Return the model with more directions, and the best-fitting core."""
        return self.with_core_fitted(model.with_directions(directions))

    def cut(self, model: Tucker, mode: int) -> Tucker:
        """Return the model without its weakest direction in a mode, if it is not the only one, with a new core."""
        strongest = {each: max(model.ranks[each] - (each == mode), 1) for each in self.free}
        return self.with_core_fitted(model.truncated(strongest))

    def with_core_fitted(self, model: Tucker) -> Tucker:
        """Return the model with the best-fitting core."""
        return self._kept(("core", model), lambda: self._with_core_fitted(model))

    def _squares(self, model: Tucker) -> LeastSquares:
        return LeastSquares(self.observations, model, self.free, shrink=True, entries=self._in_blocks)

    def _with_core_fitted(self, model: Tucker) -> Tucker:
        squares = self._squares(model)
        squares.fit_core()
        return squares.model()

    def swept(self, model: Tucker, sweeps: int = SWEEPS) -> Tucker:
        """Return the model after sweeps of least squares."""
        squares = self._squares(model)
        with self._clock.at_work():
            for _ in range(sweeps):
                squares.sweep()
        return squares.model()

    def grown(self, ranks: Mapping[int, int]) -> Tucker:
        """Return a model with these ranks: directions above the noise while there are any, then single terms."""
        model = self.zero()
        if not all(ranks.values()):
            # Without any direction in one mode, the tensor is zero.
            return model
        while any(model.ranks[mode] < rank for mode, rank in ranks.items()):
            room = {mode: rank - model.ranks[mode] for mode, rank in ranks.items()}
            found = self.directions(model)
            if not any(room[mode] and found[mode].shape[1] for mode in ranks):
                terms, _ = self.terms(model)
                if not terms:
                    break
                found = self.directions_of(terms[0])
            chosen = {mode: columns[:, : room[mode]] for mode, columns in found.items()}
            larger = self.appended(model, chosen)
            if larger.ranks == model.ranks:
                break
            model = self.swept(larger)
        return model


def _left(observations: Observations, model: Model) -> Floats:
    left: Floats = observations.values - model.predict(observations.coords)
    return left


def centred_modes(model: Model) -> list[int]:
    """Return the modes along which all terms of a sum, two or more, sum to zero, so that others probably do too.

    This holds for data from which the means along a mode were subtracted.
    """
    if not isinstance(model, CPModel) or len(model.weights) < 2:
        return []
    return [
        mode
        for mode, factor in enumerate(model.factors)
        if np.all(np.sum(factor, axis=0) ** 2 <= CENTRED * len(factor) * np.sum(factor**2, axis=0))
    ]
