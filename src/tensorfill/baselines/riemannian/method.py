"""Riemannian preconditioned conjugate gradients on the Tucker manifold (Kasai and Mishra 2016).

    minimise  1/2 sum over observed p of (X_p - O_p)^2,    X = G x_1 U_1 .. x_M U_M,    U_d^T U_d = I.

A step follows a conjugate direction on the quotient manifold, with a preconditioning metric; see `tucker_manifold`.
The first step length is the best one if X were linear along the direction, and is halved if necessary. The gradients of
the core and of all factors take one pass over the observed entries, and so do the entries along the direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..._support.types import Floats
from ...algebra.tucker_entries import FactorRows, changes_at, gradients, values_at
from ...methods.base import Method, Progress
from ...methods.problem import Problem
from ...methods.settings import one_axis, ranks, setting
from ...methods.tucker_als import growing_ranks, possible_ranks, with_directions
from ...methods.tucker_least_squares import LeastSquares
from ...models import Model, Tucker
from ...observations import Observations
from .tucker_manifold import Direction, TuckerPoint

SUFFICIENT = 1e-4
"""A step must lower the objective by this share of the decrease that the gradient predicts."""

MOST_HALVINGS = 25
"""After this many halvings without a decrease of the objective, the point is not changed."""


@dataclass(frozen=True, kw_only=True)
class RP(Method):
    """Tucker completion by Riemannian preconditioned conjugate gradients, for the square loss.

    An iteration is three passes over the observed entries, each of about one rank per entry, and small matrices
    of the size of the ranks. Nothing of the size of the tensor is allocated, and the answer is a Tucker model. Use it
    for sparse data of low multilinear rank with little noise: it has no penalty, so too large a rank overfits.

    Parameters
    ----------
    rank
        The rank of every mode (at most its size), one for each mode, or ``"auto"`` to choose it on held-out entries,
        from small ranks to larger ones.
    max_iter, tol
        As in `Method`.

    Notes
    -----
    The published method starts at random. Here the factors start with the leading directions of the observed entries
    (for a larger rank, of the residuals of the smaller one), and the core with its least-squares fit.

    References
    ----------
    H. Kasai and B. Mishra, Low-rank tensor completion: a Riemannian manifold preconditioning approach, ICML 2016.

    Examples
    --------
    >>> from tensorfill.datasets import synthetic
    >>> from tensorfill.losses import Square
    >>> data = synthetic((30, 30, 30), rank=2, noise=0, rng=0)
    >>> model = RP(rank=2).solve(Problem(data.observations, Square()), rng=0).model
    >>> bool(abs(model.predict(data.test.coords) - data.test.values).max() < 1e-3)
    True
    """

    name: ClassVar[str] = "rp"
    square_only: ClassVar[bool] = True
    trial_iterations: ClassVar[int | None] = 30

    rank: int | Sequence[int] | str = setting(
        "auto", check=ranks(1), path=one_axis("rank", lambda method, problem: growing_ranks(problem.observations))
    )
    tol: float = 1e-5

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` is a Tucker model of the shape of the data."""
        return isinstance(model, Tucker) and model.shape == problem.observations.shape

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> RPSolver:
        """Return a solver that starts at `start`, with directions of the residuals appended up to the ranks."""
        observations = problem.observations
        if start is not None and not self.can_start_from(start, problem):
            raise ValueError(
                f"start must be a Tucker model of shape {observations.shape} for method '{self.name}', "
                f"but it is {start!r}."
            )
        ranks = possible_ranks(observations.shape, self.rank)  # type: ignore[arg-type]
        if not isinstance(start, Tucker) or any(now < most for now, most in zip(start.ranks, ranks, strict=True)):
            grown = with_directions(observations, start, ranks, rng)  # type: ignore[arg-type]
            squares = LeastSquares(observations, grown, range(len(ranks)))
            squares.fit_core()
            start = squares.model()
        return RPSolver(observations, start.orthonormal())


class RPSolver:
    """Conjugate gradients on the Tucker manifold, for one problem.

    Parameters
    ----------
    observations
        The entries to fit.
    start
        The starting point, with orthonormal factors.
    """

    def __init__(self, observations: Observations, start: Tucker) -> None:
        self._shape, self._dtype = observations.shape, observations.dtype
        self._coords = np.ascontiguousarray(observations.coords, dtype=np.int64)
        self._alone = np.zeros(len(observations), dtype=np.int32)
        self._values = observations.values.astype(np.float64)
        factors = tuple(factor.astype(np.float64) for factor in start.factors)
        self._point = TuckerPoint(factors, start.core.astype(np.float64))
        self._residuals = self._residuals_at(self._point)
        self._gradient = self._gradient_at(self._point, self._residuals)
        self._along = self._gradient.times(-1.0)

    def progress(self) -> Progress:
        """Return the current state; the objective decreases at every step."""
        value = _half_square(self._residuals)
        return Progress(value, value, self._point.core.shape)

    def model(self) -> Tucker:
        """Return the answer so far, in the precision of the observations."""
        point = self._point
        return Tucker(
            self._shape, point.core.astype(self._dtype), [factor.astype(self._dtype) for factor in point.factors]
        )

    def step(self) -> None:
        """Go along the conjugate direction, or along the gradient if that is not a descent direction."""
        found = self._searched(self._along)
        if found is None:
            found = self._searched(self._gradient.times(-1.0))
        if found is None:
            return
        point, along, residuals = found
        gradient = self._gradient_at(point, residuals)
        before, onward = (point.horizontal(point.tangent(each)) for each in (self._gradient, along))
        change = gradient.plus(-1.0, before)
        # The Hestenes-Stiefel rule; a negative value restarts the method.
        curvature = point.inner(onward, change)
        share = max(0.0, point.inner(gradient, change) / curvature) if curvature else 0.0
        self._point, self._residuals, self._gradient = point, residuals, gradient
        self._along = onward.times(share).plus(-1.0, gradient)

    def _searched(self, along: Direction) -> tuple[TuckerPoint, Direction, Floats] | None:
        """Return the point along a direction at which the objective has decreased enough, or None if there is none."""
        point, now = self._point, _half_square(self._residuals)
        changes = changes_at(self._coords, point.core, FactorRows(point.factors), along.core, FactorRows(along.factors))
        slope, curvature = float(self._residuals @ changes), float(changes @ changes)
        if not slope < 0:
            return None
        length = -slope / curvature
        for _ in range(MOST_HALVINGS):
            there = point.retracted(along, length)
            residuals = self._residuals_at(there)
            if _half_square(residuals) < now + SUFFICIENT * length * slope:
                return there, along, residuals
            length /= 2
        return None

    def _residuals_at(self, point: TuckerPoint) -> Floats:
        core = np.ascontiguousarray(point.core).reshape(1, -1)
        return values_at(self._coords, self._alone, core, FactorRows(point.factors)) - self._values

    def _gradient_at(self, point: TuckerPoint, residuals: Floats) -> Direction:
        rows = FactorRows(point.factors)
        to_core, to_rows = gradients(self._coords, residuals, point.core.ravel(), rows)
        return point.gradient(rows.split(to_rows), to_core.reshape(point.core.shape))


def _half_square(residuals: Floats) -> float:
    return 0.5 * float(residuals @ residuals)
