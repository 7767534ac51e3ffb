"""Tucker by gradient steps: a core and a factor for each mode, fitted to the observed entries with any smooth loss.

    minimise  f(X) + ridge/2 (|core|_F^2 + sum_d |A_d|_F^2),    X = core x_1 A_1 x_2 A_2 .. x_M A_M,

over the core and all factors at once, by L-BFGS. f has the losses at the observed entries and, with graphs, the
roughness of X, computed from small matrices such as A_d^T A_d (`tensorfill.algebra.factored_roughness`).

The loops visit the entries in C order. What depends on the first coordinates only is computed once for all entries that
share them, on the way down for the values and on the way up for the gradient. With rank r in each of three modes that
is a few r for an entry, a few r^2 for a fibre with entries and a few r^3 for a slice.

The problem is not convex, so the starting point matters. Directions of the residuals, the leading singular vectors of
their unfoldings, are appended to the factors, and the core is then fitted by least squares. For a loss other than the
square loss, the residual of an entry is the gradient step of its loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np

from ..._support.clock import Clock
from ..._support.types import Floats
from ...algebra.factored_roughness import roughness_of_tucker
from ...algebra.tucker_entries import FactorRows, gradients, values_at
from ...algebra.unfolding import smallest_index_type, times, unfold
from ...methods.base import Callback, Method, Progress, Result
from ...methods.cp import FIRST_RIDGE, STRONGER, WEAKER, usable_curvature
from ...methods.lbfgs import LBFGS
from ...methods.problem import Problem
from ...methods.settings import auto_or, one_axis, ranks, real, setting, weight_path
from ...methods.tucker_als import growing_ranks, possible_ranks, with_directions
from ...methods.tucker_least_squares import LeastSquares
from ...models import Model, Tucker
from ...observations import Observations
from .growing import through_smaller_ranks

BALANCING_SWEEPS = 5
"""How often the lengths of columns are balanced with those of the core at first."""

MOST_TO_CHOOSE = 2**12
"""The size of the largest core that is tried if the rank is chosen."""

LEAST_CURVATURE = 1e-3
"""The least curvature of a coordinate, relative to the mean, because it changes along the way."""


@dataclass(frozen=True, kw_only=True)
class TuckerDescent(Method):
    """Tucker by gradient steps (L-BFGS) over the observed entries, for any smooth loss, with Laplacians.

    For the square loss without graphs, `TuckerAls` needs fewer iterations. Use this one for binary data and counts,
    for graphs, for a ridge, and for cores too large for least squares. See Filipovic and Jukic, "Tucker factorization
    with missing data with application to low-n-rank tensor completion" (2015), who use nonlinear conjugate gradients,
    the square loss and no ridge.

    Parameters
    ----------
    rank
        The rank of every mode (at most its size), one for each mode, or ``"auto"`` to choose it on held-out entries. A
        model of larger ranks to start from keeps its ranks.
    ridge
        The weight of the squared core and factors, or ``"auto"`` to choose it on held-out entries.
    max_iter, tol
        As in `Method`.

    Examples
    --------
    >>> from tensorfill.datasets import synthetic
    >>> from tensorfill.losses import Square
    >>> data = synthetic((30, 30, 30), rank=2, noise=0, rng=0)
    >>> method = TuckerDescent(rank=2, ridge=0, tol=1e-6)
    >>> model = method.solve(Problem(data.observations, Square()), rng=0).model
    >>> bool(abs(model.predict(data.test.coords) - data.test.values).max() < 1e-3)
    True
    """

    name: ClassVar[str] = "tucker"
    takes_roughness: ClassVar[bool] = True

    rank: int | Sequence[int] | str = setting(
        "auto",
        check=ranks(1),
        path=one_axis("rank", lambda method, problem: growing_ranks(problem.observations, MOST_TO_CHOOSE)),
    )
    ridge: float | str = setting(
        "auto",
        check=auto_or(real(at_least=0)),
        # A factor has the unit to the power 1 / (M + 1).
        power=lambda loss, order: loss - 2 / (order + 1),
        path=weight_path("ridge", FIRST_RIDGE, STRONGER, WEAKER, unit=lambda problem: ridge_unit(problem)),
    )

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` is a Tucker model of the shape of the data."""
        return isinstance(model, Tucker) and model.shape == problem.observations.shape

    def approach(
        self, problem: Problem, *, rng: np.random.Generator, callback: Callback | None, clock: Clock
    ) -> Result | None:
        """Return the answer of smaller ranks, reached through all smaller ones, or None if there are none."""
        ranks = possible_ranks(problem.observations.shape, self.rank)  # type: ignore[arg-type]
        return through_smaller_ranks(
            self,
            ranks,
            problem,
            steps=growing_ranks(problem.observations, MOST_TO_CHOOSE),
            max_iter=self.max_iter,
            rng=rng,
            callback=callback,
            clock=clock,
        )

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> TuckerSolver:
        """Return a solver that starts at `start`, with directions of the residuals appended up to the ranks."""
        if start is not None and not self.can_start_from(start, problem):
            raise ValueError(
                f"start must be a Tucker model of shape {problem.observations.shape} for method '{self.name}', "
                f"but it is {start!r}."
            )
        ranks = possible_ranks(problem.observations.shape, self.rank)  # type: ignore[arg-type]
        known = start if isinstance(start, Tucker) else None
        if known is None or any(old < new for old, new in zip(known.ranks, ranks, strict=True)):
            known = grown(problem, known, ranks, rng)
        return TuckerSolver(TuckerObjective(problem, known.ranks, float(self.ridge)), rotated(known))


class TuckerSolver:
    """L-BFGS on the core and the factors, for one problem.

    Every coordinate is scaled by the root of its curvature at the start.

    Parameters
    ----------
    objective
        The function to minimise.
    start
        The starting point.
    """

    def __init__(self, objective: TuckerObjective, start: Tucker) -> None:
        self._objective = objective
        point = np.concatenate([part.ravel() for part in (start.core, *start.factors)]).astype(np.float64)
        curvature = objective.curvature(point)
        self._units = 1 / np.sqrt(curvature + (LEAST_CURVATURE * float(curvature.mean()) or 1.0))
        self._descent = LBFGS(self._in_units, point / self._units)

    def _in_units(self, point: Floats) -> tuple[float, Floats]:
        value, gradient = self._objective(point * self._units)
        return value, gradient * self._units

    def progress(self) -> Progress:
        """Return the current state; the objective decreases at every step."""
        value = self._descent.value
        return Progress(value, value, self._objective.ranks)

    def step(self) -> None:
        """Make one step of L-BFGS."""
        self._descent.step()

    def model(self) -> Tucker:
        """Return the answer so far."""
        return self._objective.model(self._descent.point * self._units)


class TuckerObjective:
    """f(X) + ridge/2 (|core|_F^2 + sum_d |A_d|_F^2) as a function of the core and all factors in one vector.

    Parameters
    ----------
    problem
        The observations, the loss and the roughness of graphs.
    ranks
        The shape of the core.
    ridge
        The weight of the squares.
    """

    def __init__(self, problem: Problem, ranks: Sequence[int], ridge: float) -> None:
        self._problem, self._ridge = problem, ridge
        self.ranks, self._shape = tuple(ranks), problem.observations.shape
        sizes = [math.prod(self.ranks), *(size * rank for size, rank in zip(self._shape, self.ranks, strict=True))]
        self._ends = np.cumsum(sizes)[:-1]
        coords = problem.observations.coords
        self._coords = np.array(coords, dtype=smallest_index_type(max(self._shape)), order="C")
        self._groups = np.zeros(len(coords), dtype=np.int32)

    def parts(self, point: Floats) -> tuple[Floats, list[Floats]]:
        """Return the core and the factors that a vector holds, as views."""
        core, *factors = np.split(point, self._ends)
        sizes = zip(self._shape, self.ranks, strict=True)
        return core.reshape(self.ranks), [part.reshape(size) for part, size in zip(factors, sizes, strict=True)]

    def model(self, point: Floats) -> Tucker:
        """Return the tensor of a vector, in the precision of the observations."""
        core, factors = self.parts(point)
        dtype = self._problem.observations.dtype
        return Tucker(self._shape, core.astype(dtype), [factor.astype(dtype) for factor in factors])

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        """Return the value and the gradient."""
        core, factors = self.parts(point)
        rows = FactorRows(factors)
        seen = values_at(self._coords, self._groups, core.reshape(1, -1), rows)
        value = self._problem.value(seen) + 0.5 * self._ridge * float(np.vdot(point, point))
        to_core, to_rows = gradients(self._coords, self._problem.gradient(seen), core.ravel(), rows)
        gradient = np.concatenate([to_core, to_rows])
        gradient += self._ridge * point
        if self._problem.roughness is not None:
            rough, to_rough_core, to_factors = roughness_of_tucker(self._problem.roughness, core, factors)
            value += rough
            gradient += np.concatenate([part.ravel() for part in (to_rough_core, *to_factors)])
        return value, gradient

    def curvature(self, point: Floats) -> Floats:
        """Return the approximate second derivative in each coordinate, as if entries were observed at random.

        For a number in row i of a factor it is the number of entries in that row, times the mean square of the number's
        multiplier; and likewise for the core.
        """
        core, factors = self.parts(point)
        grams = [factor.T @ factor / len(factor) for factor in factors]
        counts = [np.bincount(self._coords[:, mode], minlength=size) for mode, size in enumerate(self._shape)]
        squares = reduce(np.multiply.outer, [np.diagonal(gram) for gram in grams])
        found = [len(self._coords) * squares.ravel()]
        for mode, count in enumerate(counts):
            around = core
            for other, gram in enumerate(grams):
                if other != mode:
                    around = times(gram, around, other)
            found.append(np.outer(count, np.einsum("kx,kx->k", unfold(around, mode), unfold(core, mode))).ravel())
        return usable_curvature(self._problem.loss) * np.concatenate(found) + self._ridge


def ridge_unit(problem: Problem) -> float:
    """Return a ridge that scales like the loss, if the core and the factors share the scale of X.

    As in `cp`, with one more part: if the data is multiplied by c, so is X, and the core and each factor by
    c^(1/(M + 1)).
    """
    slopes = problem.gradient(np.zeros_like(problem.observations.values)).astype(np.float64, copy=False)
    slope = math.sqrt(float(np.mean(slopes * slopes)))
    change = slope / usable_curvature(problem.loss)
    return slope * change ** (1 - 2 / (problem.observations.ndim + 1)) if change > 0 else 0.0


def grown(problem: Problem, start: Tucker | None, ranks: Sequence[int], rng: np.random.Generator) -> Tucker:
    """Return a model with directions of its residuals appended, and the best-fitting core, balanced."""
    target = asked_for(problem, start)
    squares = LeastSquares(target, with_directions(target, start, ranks, rng), range(len(ranks)))
    squares.fit_core()
    model = squares.model()
    return balanced(model.truncated(dict(enumerate(model.ranks))))


def asked_for(problem: Problem, start: Tucker | None) -> Observations:
    """Return the entries with the targets of a gradient step of the loss: their values, for the square loss."""
    observations = problem.observations
    seen = np.zeros_like(observations.values) if start is None else start.predict(observations.coords)
    return observations.with_values(seen - problem.gradient(seen) / usable_curvature(problem.loss))


def balanced(model: Tucker) -> Tucker:
    """Return the same tensor with columns as long as their slices of the core, which minimises the ridge."""
    core: Floats = model.core.astype(np.float64)
    factors: list[Floats] = [factor.astype(np.float64) for factor in model.factors]
    for _ in range(BALANCING_SWEEPS):
        for mode, factor in enumerate(factors):
            inside, outside = (np.linalg.norm(part, axis=1) for part in (unfold(core, mode), factor.T))
            scale = np.sqrt(np.where(inside * outside > 0, inside, 1.0) / np.where(inside * outside > 0, outside, 1.0))
            factors[mode] = factor * scale
            core = times(np.diag(1 / scale), core, mode)
    return Tucker(model.shape, core, factors)


def rotated(model: Tucker) -> Tucker:
    """Return the same tensor with orthogonal columns in each factor, with the same ridge."""
    core: Floats = model.core.astype(np.float64)
    factors: list[Floats] = [factor.astype(np.float64) for factor in model.factors]
    for mode, factor in enumerate(factors):
        turn = np.linalg.eigh(factor.T @ factor)[1]
        factors[mode], core = factor @ turn, times(turn.T, core, mode)
    return Tucker(model.shape, core, factors)
