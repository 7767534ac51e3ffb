"""NORT with a polish: alternating least squares takes large steps between those of NORT.

NORT finds the leading singular vectors within a few iterations, and then spends most of its time on the last digits:
with a share p of the entries observed, a step closes about that share of the gap. Alternating least squares on the
Tucker model of the ranks found so far closes it in a few sweeps. So, from time to time, an iteration is

    X~ = least squares from X_t on its multilinear ranks,    X_{t+1} = a step of NORT from X~ instead of X_t.

NORT may step from any point (its momentum does so as well), so F_tau decides as for momentum: if X_{t+1} is not lower
than X_t, it is rejected, and the step is made from X_t. So F_tau decreases at every iteration, and the answer is a
critical point of the same objective as without a polish.

Least squares stalls at a direction that fits noise, where NORT is slow too: a weak direction of the data is hidden
until the strong ones have converged, so what appeared first in its place is random. So a polish has two parts: the
strong directions are fitted, on a sample of the entries; and then the leading directions of the residuals replace all
others. The fit to all entries comes last.

If NORT has not converged after the first polish, a direction that fits noise may be all that is left to improve. So
later polishes also try the strong directions alone. From there NORT admits only what lowers F_tau.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..._support.types import Floats
from ...algebra.sparse_unfoldings import SparseUnfoldings
from ...algebra.unfolding import unfold
from ...losses import Square
from ...models import FoldedLowRank, Model, Tucker
from ...observations import Observations
from ..base import Progress
from ..problem import Problem
from ..tucker_als import TuckerAls
from ..tucker_least_squares import LeastSquares
from .solver import NortSolver

FIRST_POLISH = 5
"""Iterations before the first polish; the subspaces are roughly known then."""

STEADY = 3
"""A polish waits until the ranks have been constant for this many iterations."""

AFTER_KEPT, AFTER_REFUSED = 4, 6
"""The interval to the next polish grows by this factor, so all polishes together are a small share of a long run."""

MOST_UNKNOWNS = 1_000
"""The size of the largest core; beyond that, a sweep costs as much as many steps of NORT."""

MOST_SWEEPS = 10
SETTLED, ROUGHLY_SETTLED = 1e-2, 1e-2
"""Sweeps end when the sum of squares falls by less than this share; on a sample, by less than the second."""

PER_UNKNOWN = 30
LARGEST_SAMPLE = 0.5
"""Strong directions are fitted on a sample with this many entries per unknown, if it is at most this share."""

DOUBTFUL = 20.0
"""A direction may be noise if it explains less than this many times what it would explain of noise."""


class TuckerPolish:
    """Alternating least squares from an answer of NORT.

    Parameters
    ----------
    observations
        The entries to fit.
    rng
        Draws the sample of entries and the starting vectors of new directions.
    """

    def __init__(self, observations: Observations, rng: np.random.Generator) -> None:
        self._observations, self._rng = observations, rng

    @cached_property
    def _unfoldings(self) -> SparseUnfoldings:
        shape = self._observations.shape
        return SparseUnfoldings(self._observations.coords, shape, range(len(shape)))

    def can_start_from(self, model: FoldedLowRank) -> bool:
        """Return whether there is something to fit, with a sufficiently small core."""
        if not all(model.ranks) or math.prod(model.ranks) > MOST_UNKNOWNS:
            return False
        return TuckerAls(rank=1).can_start_from(model, Problem(self._observations, Square()))

    def __call__(self, model: FoldedLowRank, *, lean: bool = False) -> Iterator[FoldedLowRank]:
        """Return the least-squares fit on the ranks of `model`, as equal components.

        With `lean`, the fit without the directions that may be noise is returned next, if there are any.
        """
        start = Tucker.from_folded(model)
        free = [mode for mode, rank in enumerate(start.ranks) if rank < start.shape[mode] or mode in model.modes]
        strong = self._strong(start, free)
        tried = [self._with_fresh_directions(strong, start.ranks, free)]
        if lean and strong.ranks != start.ranks:
            tried.append(strong)
        for each in tried:
            yield FoldedLowRank.from_tucker(self._fitted(each, free).model(), model.modes, model.weights)

    def _fitted(self, model: Tucker, free: Sequence[int], sample: Observations | None = None) -> LeastSquares:
        """Return least squares after sweeps, over all entries or over a sample of them."""
        squares = LeastSquares(self._observations if sample is None else sample, model, free)
        squares.fit_core()
        for _ in range(MOST_SWEEPS):
            before = squares.sum_of_squares
            squares.sweep()
            if before - squares.sum_of_squares <= (SETTLED if sample is None else ROUGHLY_SETTLED) * before:
                break
        return squares

    def _sample(self, unknowns: int) -> Observations:
        """Return a sample of entries that is large enough for the strong directions."""
        share = PER_UNKNOWN * unknowns / len(self._observations)
        if share > LARGEST_SAMPLE:
            return self._observations
        return self._observations.select(self._rng.random(len(self._observations)) < share)

    def _strong(self, model: Tucker, free: Sequence[int]) -> Tucker:
        """Return the fit without the directions that may be noise.

        A direction with singular value s explains about p s^2 of the sum of squares over a share p of the entries. Of
        noise with variance v, a term explains about v for each of its numbers.
        """
        sizes = {mode: model.shape[mode] for mode in free}
        sample = self._sample(model.core.size + sum(size * model.ranks[mode] for mode, size in sizes.items()))
        squares = self._fitted(model, free, sample)
        fitted, least = squares.model(), DOUBTFUL * squares.variance * sum(sizes.values())
        strong = {}
        for mode in free:
            explained = sample.density * np.linalg.svd(unfold(fitted.core, mode), compute_uv=False) ** 2
            strong[mode] = max(1, int(np.count_nonzero(explained > least)))
        return fitted.truncated(strong)

    def _with_fresh_directions(self, model: Tucker, ranks: Sequence[int], free: Sequence[int]) -> Tucker:
        """Return the model with leading directions of the residuals appended, up to these ranks."""
        missing = {mode: ranks[mode] - model.ranks[mode] for mode in free}
        if not any(missing.values()):
            return model
        residuals = self._observations.values - model.predict(self._observations.coords)
        return model.with_directions(
            {
                mode: self._unfoldings.leading(mode, residuals, count, self._rng)[1]
                for mode, count in missing.items()
                if count
            }
        )


LocalSolver = NortSolver[Floats, Floats]
"""NORT with its entries on this machine."""


class PolishingSolver:
    """NORT, for one problem, with an occasional polish.

    Parameters
    ----------
    solver
        NORT at its starting point.
    begin
        Returns NORT started from a model.
    polish
        The polish.
    """

    def __init__(
        self, solver: LocalSolver, begin: Callable[[FoldedLowRank], LocalSolver], polish: TuckerPolish
    ) -> None:
        self._solver, self._begin, self._polish = solver, begin, polish
        self._wait = self._distance = FIRST_POLISH
        self._steady = 0
        self._last_gain = 0.0

    def progress(self) -> Progress:
        """Return the current state."""
        return self._solver.progress()

    def model(self) -> Model:
        """Return the answer so far."""
        return self._solver.model()

    def state(self) -> dict[str, Any]:
        """Return the state of NORT, and when the next polish is due."""
        return {
            "nort": self._solver.state(),
            "wait": self._wait,
            "distance": self._distance,
            "steady": self._steady,
            "last_gain": self._last_gain,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the state of another solver."""
        self._solver.restore(state["nort"])
        self._wait, self._distance = state["wait"], state["distance"]
        self._steady, self._last_gain = state["steady"], state["last_gain"]

    def step(self) -> None:
        """Make one iteration of NORT, from the polished answer if a polish is due and lowers F_tau."""
        model = self.model()
        # Components that are known at some columns only are not those of a Tucker model.
        is_due = self._wait <= 0 and self._steady >= STEADY
        if not is_due or not isinstance(model, FoldedLowRank) or not self._polish.can_start_from(model):
            self._ordinary_step()
            return
        polished = self._polished(model)
        # An ordinary step lowers F_tau too, by about as much as the last one.
        if self.progress().f_tau - polished.progress().f_tau > self._last_gain:
            self._solver, growth = polished, AFTER_KEPT
        else:
            self._ordinary_step()
            growth = AFTER_REFUSED
        self._distance *= growth
        self._wait = self._distance

    def _polished(self, start: FoldedLowRank) -> LocalSolver:
        """Return NORT one iteration after the polish that lowers F_tau most."""
        best = None
        for model in self._polish(start, lean=self._distance > FIRST_POLISH):
            solver = self._begin(model)
            solver.step()
            if best is None or solver.progress().f_tau < best.progress().f_tau:
                best = solver
        if best is None:
            raise RuntimeError("a polish must return at least one fit, but it returned none.")
        return best

    def _ordinary_step(self) -> None:
        """Make one iteration of NORT from the current point."""
        before = self.progress()
        self._solver.step()
        after = self.progress()
        self._last_gain = before.f_tau - after.f_tau
        self._steady = self._steady + 1 if after.ranks == before.ranks else 0
        self._wait -= 1
