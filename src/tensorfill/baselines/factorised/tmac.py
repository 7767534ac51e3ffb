"""TMac: a low-rank factorisation of each unfolding of the completed tensor.

    minimise  sum_d w_d/2 |A_d B_d^T - unfold_d Z|_F^2    over all A_d, B_d and Z,    Z = O at the observed entries,

in turn: A_d, then B_d, then Z = X = sum_d w_d fold_d(A_d B_d^T) at all other entries. The product A_d B_d^T depends on
A_d only through its columns' span, so with an orthonormal basis A_d of the span of unfold_d(Z) B_d, the best B_d is
unfold_d(Z)^T A_d. After substitution of Z, this function is

    1/2 sum over observed p of (X_p - O_p)^2 + 1/2 (sum_d w_d |B_d|_F^2 - |X|_F^2),

which decreases at every step: the error, plus the disagreement of the unfoldings. Z is X with a change at the observed
entries, sparse plus low-rank, so it uses the products of NORT without building Z.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from ..._support.clock import Clock
from ..._support.types import Floats
from ...algebra.component import Component
from ...algebra.storage import LocalPoint, LocalStorage
from ...algebra.svd import Unfolding, orthonormal
from ...algebra.unfolding import columns
from ...methods.base import Callback, Method, Progress, Result
from ...methods.memory import check_factors_fit, dense_is_faster
from ...methods.nort.modes import regularised_modes
from ...methods.problem import Problem
from ...methods.settings import one_axis, ranks, setting
from ...models import FoldedLowRank, Model
from .growing import RANKS, ranks_of, through_smaller_ranks


def _growing(method: Tmac, problem: Problem) -> Sequence[int]:
    """Return growing ranks, below that of the fullest unfolding."""
    shape = problem.observations.shape
    most = max(min(shape[mode], columns(shape, mode)) for mode in regularised_modes(method.modes, shape))
    return [rank for rank in RANKS if rank < most] or [1]


@dataclass(frozen=True, kw_only=True)
class Tmac(Method):
    """TMac: parallel low-rank factorisations of all unfoldings (Xu, Hao, Yin and Su 2013), for the square loss.

    An iteration takes two products of each unfolding with as many vectors as its rank, like one of NORT. Use it if
    you know the ranks of the unfoldings and want no penalty on singular values. The unfolding along a mode has as many
    unknowns as the other modes have combinations of indices, so it follows noise more than a Tucker or CP model does.

    It differs from the original in three ways: the weights are equal and fixed; ranks increase to a limit chosen on
    held-out entries, not by the decay of the singular values; and the answer is X, which need not equal the data at the
    observed entries.

    Parameters
    ----------
    rank
        The rank of every unfolding (at most the full rank), one for each of the modes, or ``"auto"`` to choose it
        on held-out entries.
    modes
        The modes to unfold along; by default those of at least eight indices, and always the two largest. A matrix
        needs one.
    grow
        Whether a given rank is reached through smaller ones, which leads to better answers.
    max_iter, tol
        As in `Method`.

    Examples
    --------
    >>> from tensorfill.datasets import synthetic
    >>> from tensorfill.losses import Square
    >>> data = synthetic((20, 20, 20), rank=2, noise=0, observed=3000, rng=0)
    >>> model = Tmac(rank=2, tol=1e-7).solve(Problem(data.observations, Square()), rng=0).model
    >>> bool(abs(model.predict(data.test.coords) - data.test.values).max() < 1e-2)
    True
    """

    name: ClassVar[str] = "tmac"
    square_only: ClassVar[bool] = True
    trial_iterations: ClassVar[int | None] = 60

    rank: int | Sequence[int] | str = setting("auto", check=ranks(1), path=one_axis("rank", _growing))
    modes: Sequence[int] | None = None
    grow: bool = True

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` is a sum of folded low-rank matrices of the shape and along the modes of this fit."""
        shape = problem.observations.shape
        return (
            isinstance(model, FoldedLowRank)
            and model.shape == shape
            and model.modes == regularised_modes(self.modes, shape)
        )

    def approach(
        self, problem: Problem, *, rng: np.random.Generator, callback: Callback | None, clock: Clock
    ) -> Result | None:
        """Return the answer of smaller ranks, reached through all smaller ones, if the ranks are to grow."""
        if not self.grow:
            return None
        ranks = ranks_of(self.rank, len(regularised_modes(self.modes, problem.observations.shape)), "modes")
        return through_smaller_ranks(self, ranks, problem, rng=rng, callback=callback, clock=clock)

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> TmacSolver:
        """Return a solver that starts at `start`, or at zero."""
        observations = problem.observations
        modes = regularised_modes(self.modes, observations.shape)
        ranks = ranks_of(self.rank, len(modes), "modes")
        parts = [Component.zero(observations.shape, mode, observations.dtype) for mode in modes]
        if isinstance(start, FoldedLowRank) and self.can_start_from(start, problem):
            parts = [part.astype(observations.dtype) for part in start.components]
        elif start is not None:
            raise ValueError(
                f"start must be an answer of method '{self.name}' for a tensor of shape {observations.shape} and the "
                f"modes {modes}, but it is {start!r}."
            )
        if dense_is_faster(observations):
            storage: LocalStorage = problem.dense_storage()
        else:
            check_factors_fit(observations, modes)
            storage = problem.sparse_storage(modes)
        return TmacSolver(problem, storage, parts, ranks, rng)


class TmacSolver:
    """TMac, for one problem.

    Parameters
    ----------
    problem
        The observations.
    storage
        The storage of the iterates.
    components
        The starting point, one for each mode, with orthonormal vectors.
    ranks
        The rank of each; random columns are appended up to it.
    rng
        Draws the random columns.
    """

    def __init__(
        self,
        problem: Problem,
        storage: LocalStorage,
        components: Sequence[Component],
        ranks: Sequence[int],
        rng: np.random.Generator,
    ) -> None:
        self._problem, self._storage, self._ranks, self._rng = problem, storage, ranks, rng
        self._weights = [1 / len(components)] * len(components)
        self._stand(storage.point(components, self._weights))

    def _stand(self, point: LocalPoint) -> None:
        """Take a point as the current one."""
        squares = [weight * float(np.vdot(part.s, part.s)) for weight, part in point.terms]
        error = self._problem.value(point.seen)
        disagreement = 0.5 * (sum(squares) - self._storage.square(point))
        self._point, self._progress = point, Progress(error, error + disagreement, point.ranks)

    def progress(self) -> Progress:
        """Return the current state: the error, and the function that decreases at every step."""
        return self._progress

    def model(self) -> FoldedLowRank:
        """Return the answer so far."""
        return FoldedLowRank(self._problem.observations.shape, self._point.components, self._weights)

    def step(self) -> None:
        """Update A_d and B_d of every mode, and then Z."""
        change = self._problem.gradient(self._point.seen, -1.0)
        parts = list(zip(self._point.components, self._ranks, strict=True))
        with self._storage.unfoldings(self._point, change) as unfolding:
            tasks = [
                partial(self._refitted, x.mode, unfolding(x.mode), grown_to(x.v, rank, x.u.shape[0], self._rng))
                for x, rank in parts
            ]
            components = self._storage.each(tasks)
        self._stand(self._storage.point(components, self._weights))

    def _refitted(self, mode: int, matrix: Unfolding[Floats], right: Floats) -> Component:
        return Component(mode, *refitted(matrix, right))


def grown_to(vectors: Floats, rank: int, most: int, rng: np.random.Generator) -> Floats:
    """Return columns with random ones appended up to a rank, which is at most `most` and their length."""
    missing = max(min(rank, most, len(vectors)) - vectors.shape[1], 0)
    if not missing:
        return vectors
    fresh = rng.standard_normal((len(vectors), missing)).astype(vectors.dtype)
    return np.hstack([vectors, fresh])


def refitted(matrix: Unfolding[Floats], right: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the projection of a matrix M onto the span of ``M @ right``, as singular vectors and values.

    This is one update of A, then B, in the fit of A B^T to M.
    """
    a = orthonormal(matrix.right(right))
    b = matrix.left(a)
    squares, turn = np.linalg.eigh(b.T @ b)
    order = np.argsort(-squares)
    order = order[squares[order] > np.finfo(b.dtype).eps * max(float(squares.max(initial=0.0)), 0.0)]
    s = np.sqrt(squares[order])
    return np.ascontiguousarray(a @ turn[:, order]), s, np.ascontiguousarray(b @ (turn[:, order] / s))
