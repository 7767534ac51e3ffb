"""CP by gradient steps: a sum of outer products, fitted to the observed entries with any smooth loss.

    minimise  f(X) + ridge/2 sum_d |A_d|_F^2,    X = sum_r a_r o b_r o c_r .. (columns r of A_1, A_2, A_3 ..),

over all factors at once, by L-BFGS. With g_p the derivative of the loss at the observed entry p = (i_1, .., i_M), the
gradient of row i of A_d is

    ridge * row i  +  sum over the entries p with i_d = i of g_p * (product of the rows i_e of all other factors A_e),

so a step costs about M * R multiplications per entry, and nothing of the size of the tensor is allocated. With graphs,
f has the roughness of X too, computed from small matrices such as A_d^T A_d (`tensorfill.algebra.factored_roughness`).

At the best factors with the same X, the lengths of a_r, b_r, c_r .. are equal. So the ridge penalises each term by its
length to the power 2 / M: terms that the data does not support vanish, and terms that grow while they cancel each other
are too expensive.

The problem is not convex, so the starting point matters. Random factors often end in a bad critical point. So terms are
appended one by one, each of them a rank-one approximation of the residuals of the previous terms. For a loss of scores,
least squares find the terms (`tensorfill.methods.squares_first`), and the true loss finishes from there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from .._support.clock import Clock, time_is_up
from .._support.types import Floats
from ..algebra.entry_products import TermEntries
from ..algebra.factored_roughness import roughness_of_cp
from ..losses import Loss, is_score
from ..models import CPModel, Model
from ..observations import Observations
from .base import Callback, Method, Progress, Result
from .lbfgs import LBFGS
from .problem import Problem
from .settings import auto_or, one_axis, real, setting, weight_path, whole
from .squares_first import scores_by_least_squares
from .terms import check_terms, most_terms

RANKS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30)
"""The ranks to try."""

FIRST_RIDGE = 0.1
"""The ridge while ranks are tried, relative to `ridge_unit`."""

STRONGER = (0.3, 1.0, 3.0, 10.0)
WEAKER = (0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)
"""The ridges to try afterwards, in the same unit."""

CANDIDATES = 5
POWER_SWEEPS = 6
"""A new term is the best of this many rank-one approximations, each after this many sweeps of the power method."""

LEAST_CURVATURE = 0.1
"""The least curvature of a coordinate, relative to the mean, because it changes along the way."""


@dataclass(frozen=True, kw_only=True)
class CP(Method):
    """CP, also called PARAFAC, by gradient steps (L-BFGS) over the observed entries, for any smooth loss.

    This is CP-WOPT (Acar, Dunlavy, Kolda and Morup, "Scalable tensor factorizations for incomplete data", 2011), also
    known by the name ``"cp_wopt"``, with the losses of generalised CP (Hong, Kolda and Duersch 2020). It differs from
    both in the ridge, in its starting point, and in the Laplacians on factors.

    Parameters
    ----------
    rank
        The number of terms, or ``"auto"`` to choose it on held-out entries. A model of larger rank to start from keeps
        its rank.
    ridge
        The weight of the squared factors, or ``"auto"`` to choose it on held-out entries.
    max_iter, tol
        As in `Method`.

    Examples
    --------
    >>> from tensorfill.datasets import synthetic
    >>> from tensorfill.losses import Square
    >>> data = synthetic((30, 30, 30), rank=2, noise=0, rng=0)
    >>> model = CP(rank=2, ridge=0).solve(Problem(data.observations, Square()), rng=0).model
    >>> bool(abs(model.predict(data.test.coords) - data.test.values).max() < 1e-3)
    True
    """

    name: ClassVar[str] = "cp"
    takes_roughness: ClassVar[bool] = True

    rank: int | str = setting(
        "auto",
        check=auto_or(whole(1)),
        path=one_axis("rank", lambda method, problem: possible_ranks(problem.observations)),
    )
    ridge: float | str = setting(
        "auto",
        check=auto_or(real(at_least=0)),
        # A factor has the unit to the power 1 / M.
        power=lambda loss, order: loss - 2 / order,
        path=weight_path("ridge", FIRST_RIDGE, STRONGER, WEAKER, unit=lambda problem: ridge_unit(problem)),
    )

    def with_rank_of(self, other: Method) -> Self:
        """Return the method with as many terms as another one's sum of outer products has, unless it has a rank."""
        known = self.rank == "auto" and getattr(other, "form", "") == "cp"
        return replace(self, rank=other.rank) if known else self  # type: ignore[attr-defined]

    def check(self, problem: Problem) -> None:
        """Refuse more terms than the data can hold."""
        super().check(problem)
        check_terms(self.rank, problem.observations)

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` is a CP model of the shape of the data.

        For a loss of scores it must have all terms, because least squares find those that are missing better.
        """
        enough = isinstance(model, CPModel) and (not is_score(problem.loss) or model.ranks[0] >= int(self.rank))
        return enough and model.shape == problem.observations.shape

    def approach(
        self, problem: Problem, *, rng: np.random.Generator, callback: Callback | None, clock: Clock
    ) -> Result | None:
        """Return the answer of a smaller rank, reached through all smaller ones, or None for rank one.

        Fitting the terms before the next one is appended leads to better minima than all terms at once. For a loss of
        scores, it is the calibrated answer of least squares.
        """
        if is_score(problem.loss):
            if int(self.rank) == 1:
                return None
            return scores_by_least_squares(problem, int(self.rank), rng=rng, callback=callback, clock=clock)
        result = None
        for rank in RANKS:
            if rank >= int(self.rank):
                break
            start = None if result is None else result.model
            smaller = replace(self, rank=rank)
            result = smaller.solve(problem, start=start, rng=rng, callback=callback, clock=clock)
            if not result.finished:
                break
        return result

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> CPSolver:
        """Return a solver that starts at `start`, with terms of the residuals appended up to the rank."""
        if start is not None and not self.can_start_from(start, problem):
            raise ValueError(
                f"start must be a CP model of shape {problem.observations.shape} for method '{self.name}', "
                f"but it is {start!r}."
            )
        observations = problem.observations
        entries = TermEntries(observations.coords, observations.shape)
        factors = with_terms(problem, entries, start, int(self.rank), rng)
        return CPSolver(CPObjective(problem, entries, factors[0].shape[1], float(self.ridge)), factors)


class CPSolver:
    """L-BFGS on the factors, for one problem.

    Every coordinate is scaled by the root of its curvature at the start. With many entries this saves half of the
    iterations or more.

    Parameters
    ----------
    objective
        The function to minimise.
    factors
        The starting point, one matrix for each mode.
    """

    def __init__(self, objective: CPObjective, factors: Sequence[Floats]) -> None:
        self._objective, self._rank = objective, factors[0].shape[1]
        start = _joined(factors)
        curvature = objective.curvature(start)
        least = LEAST_CURVATURE * float(curvature.mean()) or 1.0
        self._units = 1 / np.sqrt(curvature + curvature.dtype.type(least))
        self._descent = LBFGS(self._in_units, start / self._units)

    def _in_units(self, point: Floats) -> tuple[float, Floats]:
        value, gradient = self._objective(point * self._units)
        return value, gradient * self._units

    def progress(self) -> Progress:
        """Return the current state; the objective decreases at every step."""
        value = self._descent.value
        return Progress(value, value, (self._rank,))

    def step(self) -> None:
        """Make one step of L-BFGS."""
        self._descent.step()

    def model(self) -> CPModel:
        """Return the answer so far."""
        return CPModel.normalised(self._objective.factors(self._descent.point * self._units))


class CPObjective:
    """f(X) + ridge/2 sum_d |A_d|_F^2 as a function of all factors in one vector.

    Parameters
    ----------
    problem
        The observations, the loss and the roughness of graphs.
    entries
        The observed entries.
    rank
        The number of columns of every factor.
    ridge
        The weight of the squared factors.
    """

    def __init__(self, problem: Problem, entries: TermEntries, rank: int, ridge: float) -> None:
        self._problem = problem
        self._entries, self._rank, self._ridge = entries, rank, ridge
        self._shape = problem.observations.shape
        self._ends = np.cumsum([size * rank for size in self._shape])[:-1]

    def factors(self, point: Floats) -> list[Floats]:
        """Return the factors that a vector holds, as views."""
        parts = np.split(point, self._ends)
        return [part.reshape(size, self._rank) for part, size in zip(parts, self._shape, strict=True)]

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        """Return the value and the gradient."""
        seen = self._entries.values(point, self._rank)
        value = self._problem.value(seen) + 0.5 * self._ridge * float(np.vdot(point, point))
        gradient = self._entries.gradient(self._problem.gradient(seen), point, self._rank)
        gradient += point.dtype.type(self._ridge) * point
        if self._problem.roughness is not None:
            rough, to_factors = roughness_of_cp(self._problem.roughness, self.factors(point))
            value += rough
            gradient += np.concatenate([part.ravel() for part in to_factors])
        return value, gradient

    def curvature(self, point: Floats) -> Floats:
        """Return the approximate second derivative of the objective in each coordinate: a bound for a convex loss."""
        ones = np.ones(len(self._problem.observations), point.dtype)
        squares = self._entries.gradient(ones, point * point, self._rank)
        return squares * point.dtype.type(usable_curvature(self._problem.loss)) + point.dtype.type(self._ridge)


def possible_ranks(observations: Observations) -> list[int]:
    """Return the ranks to try: those with fewer parameters than entries, and always the first."""
    most = min(len(observations) / sum(observations.shape), most_terms(observations))
    return [rank for rank in RANKS if rank <= most] or [RANKS[0]]


def ridge_unit(problem: Problem) -> float:
    """Return the ridge that weighs about as much as one more entry in every row of every factor.

    If the data is multiplied by c, so is X, and each factor by c^(1/M). The square loss is multiplied by c^2, and the
    squared factors by c^(2/M). The unit is multiplied by c^(2 - 2/M), so the choice does not depend on the units of the
    data.
    """
    derivatives = problem.gradient(np.zeros_like(problem.observations.values)).astype(np.float64, copy=False)
    slope = math.sqrt(float(np.mean(derivatives * derivatives)))
    change = slope / usable_curvature(problem.loss)
    return slope * change ** (1 - 2 / problem.observations.ndim) if change > 0 else 0.0


def usable_curvature(loss: Loss) -> float:
    """Return the curvature of a loss; 1 for a loss with unbounded curvature."""
    curvature = float(loss.curvature)
    return curvature if math.isfinite(curvature) else 1.0


def with_terms(
    problem: Problem, entries: TermEntries, start: Model | None, rank: int, rng: np.random.Generator
) -> list[Floats]:
    """Return the factors of `start`, with terms of the residuals appended up to the rank while there is time."""
    observations = problem.observations
    factors = [np.zeros((size, 0), observations.dtype) for size in observations.shape]
    seen = np.zeros_like(observations.values)
    if isinstance(start, CPModel):
        factors = [factor.astype(observations.dtype) for factor in start.balanced_factors()]
        seen = entries.values(_joined(factors), factors[0].shape[1])
    # The gradient step of the loss at each entry: the residual, for the square loss.
    residuals = -problem.gradient(seen) / usable_curvature(problem.loss)
    for count in range(factors[0].shape[1], rank):
        if count and time_is_up():
            break
        term = leading_term(entries, residuals, observations.shape, rng)
        seen = entries.values(_joined(term.factors), 1)
        term.weights[0] *= _best_multiple(seen, residuals)
        residuals = residuals - term.weights[0] * seen
        pairs = zip(factors, term.balanced_factors(), strict=True)
        factors = [np.hstack([factor, column]) for factor, column in pairs]
    return factors


def leading_term(entries: TermEntries, values: Floats, shape: Sequence[int], rng: np.random.Generator) -> CPModel:
    """Return a rank-one tensor near a sparse one, with columns of length one, by the power method.

    The vector of a mode becomes the product of the sparse tensor with the vectors of all other modes, mode after mode.
    This depends on the starting point, so the largest product of several starts is taken.
    """
    factors = [rng.standard_normal((size, CANDIDATES)).astype(values.dtype) for size in shape]
    lengths = np.zeros(CANDIDATES)
    for _ in range(POWER_SWEEPS):
        for mode in range(len(shape)):
            product = entries.contracted(values, factors, mode)
            lengths = np.linalg.norm(product, axis=0)
            factors[mode] = product / np.where(lengths > 0, lengths, 1)
    best = int(np.argmax(lengths))
    return CPModel(shape, np.ones(1, values.dtype), [factor[:, [best]] for factor in factors])


def _best_multiple(direction: Floats, values: Floats) -> float:
    """Return the number t with the least ``|t direction - values|``."""
    square = float(np.vdot(direction, direction))
    return float(np.vdot(direction, values)) / square if square > 0 else 0.0


def _joined(factors: Sequence[Floats]) -> Floats:
    """Return all factors in one vector."""
    return np.concatenate([factor.ravel() for factor in factors])
