"""RESCAL: two modes of a tensor are the same entities and share a factor (Nickel, Tresp and Kriegel 2011).

    minimise  f(X) + ridge/2 (|A|_F^2 + sum_k |R_k|_F^2),    X_k = A R_k A^T,

over the factor A of the entities and a small matrix R_k for each index k of the third mode, all at once, by L-BFGS.
What is learnt about an entity as a head helps where it is a tail. R_k need not be symmetric, so relations have a
direction.

With G_k the sparse matrix of the slopes of the loss at the observed entries of relation k, the gradients are

    ridge * A + sum_k (G_k A R_k^T + G_k^T A R_k)    and    ridge * R_k + A^T G_k A,

so a step costs about rank multiplications per entry, and nothing of the size of the tensor is allocated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from .._support.checks import mode_number
from .._support.types import Floats
from ..losses import is_score
from ..models import Model, Tucker
from .base import Method, Progress, Unsuited
from .lbfgs import LBFGS
from .problem import Problem
from .settings import auto_or, loss_less, one_axis, real, setting, weight_path, whole

RANKS = (2, 5, 10, 20, 40)
"""The ranks to try."""

FIRST_RIDGE = 1.0
RIDGES = (0.3, 3.0, 0.1, 10.0)
"""The ridge while ranks are tried, and those to try afterwards, relative to `ridge_unit`."""

START = 0.3
"""The size of the initial random numbers, relative to those that would give the data."""


def _two_modes(value: Any, name: str) -> None:
    if isinstance(value, str) or len(value) != 2 or value[0] == value[1]:
        raise ValueError(f"{name} must be two modes, such as (0, 1), but {value!r} was given.")


@dataclass(frozen=True, kw_only=True)
class Rescal(Method):
    """RESCAL, X_k = A R_k A^T, by L-BFGS over the observed entries, for any smooth loss.

    Parameters
    ----------
    same
        The two modes that are the same entities, such as heads and tails, of a tensor of three modes.
    rank
        The number of columns of A, or ``"auto"`` to choose it on held-out entries.
    ridge
        The weight of the squared factors, or ``"auto"`` to choose it on held-out entries.
    max_iter, tol
        As in `Method`.

    Examples
    --------
    >>> from tensorfill import Observations, Problem
    >>> from tensorfill.losses import Square
    >>> rng = np.random.default_rng(0)
    >>> a, r = rng.standard_normal((12, 2)), rng.standard_normal((4, 2, 2))
    >>> tensor = np.einsum("ip,kpq,jq->ijk", a, r, a)
    >>> seen = rng.random(tensor.shape) < 0.5
    >>> method = Rescal(rank=2, ridge=1e-4, tol=1e-9)
    >>> model = method.solve(Problem(Observations.from_dense(tensor, seen), Square()), rng=0).model
    >>> bool(abs(model.to_dense() - tensor).max() < 0.1)
    True
    """

    name: ClassVar[str] = "rescal"

    same: Sequence[int] = setting((0, 1), check=_two_modes)
    rank: int | str = setting(
        "auto", check=auto_or(whole(1)), path=one_axis("rank", lambda method, problem: method.possible_ranks(problem))
    )
    ridge: float | str = setting(
        "auto",
        check=auto_or(real(at_least=0)),
        # A factor has the unit to the power 1 / 3.
        power=loss_less(2 / 3),
        path=weight_path("ridge", FIRST_RIDGE, RIDGES, unit=lambda problem: ridge_unit(problem)),
    )
    max_iter: int = 200

    def possible_ranks(self, problem: Problem) -> list[int]:
        """Return increasing ranks, at most the number of entities."""
        entities = problem.observations.shape[self.ordered_modes(problem)[0]]
        return [rank for rank in RANKS if rank <= entities] or [1]

    def ordered_modes(self, problem: Problem) -> tuple[int, int, int]:
        """Return the two modes that are the same, and the third."""
        ndim = problem.observations.ndim
        first, second = (mode_number(mode, "same", ndim) for mode in self.same)
        return first, second, next(mode for mode in range(ndim) if mode not in (first, second))

    def check(self, problem: Problem) -> None:
        """Raise an error unless the tensor has three modes, two of them of the same size."""
        super().check(problem)
        shape = problem.observations.shape
        if len(shape) != 3:
            raise Unsuited(f"method '{self.name}' takes tensors of three modes, but the shape is {shape}.")
        first, second, _ = self.ordered_modes(problem)
        if shape[first] != shape[second]:
            raise Unsuited(
                f"same must be two modes of the same size, but mode {first} has {shape[first]:,} indices and mode "
                f"{second} has {shape[second]:,}; leave method '{self.name}' out."
            )

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` is an answer of this method, of the same rank, for the shape of the data."""
        if not isinstance(model, Tucker) or model.shape != problem.observations.shape or model.ndim != 3:
            return False
        first, second, third = self.ordered_modes(problem)
        rank, other = model.core.shape[first], model.core.shape[third]
        return (
            rank == self.rank
            and other == model.shape[third]
            and np.array_equal(model.factors[first], model.factors[second])
        )

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> RescalSolver:
        """Return a solver that starts at `start`, or at small random numbers."""
        modes, shape = self.ordered_modes(problem), problem.observations.shape
        rank = int(self.rank)
        objective = RescalObjective(problem, modes, rank, float(self.ridge))
        if isinstance(start, Tucker) and self.can_start_from(start, problem):
            cores = np.moveaxis(start.core, modes, (1, 2, 0))
            point = np.concatenate([start.factors[modes[0]].ravel(), cores.ravel()])
        elif start is not None:
            raise ValueError(f"start must be an answer of method '{self.name}' of rank {rank}, but it is {start!r}.")
        else:
            size = START * _scale(problem) ** (1 / 3)
            point = size * rng.standard_normal(shape[modes[0]] * rank + shape[modes[2]] * rank * rank)
        return RescalSolver(objective, point.astype(problem.observations.dtype, copy=False))


class RescalSolver:
    """L-BFGS on A and all R_k, for one problem.

    Parameters
    ----------
    objective
        The function to minimise.
    start
        The starting point.
    """

    def __init__(self, objective: RescalObjective, start: Floats) -> None:
        self._objective = objective
        self._descent = LBFGS(objective, start, scale=1 / max(float(np.abs(objective(start)[1]).max()), 1e-30))

    def progress(self) -> Progress:
        """Return the current state; the objective decreases at every step."""
        value = self._descent.value
        return Progress(value, value, (self._objective.rank,))

    def step(self) -> None:
        """Make one step of L-BFGS."""
        self._descent.step()

    def model(self) -> Tucker:
        """Return the answer so far."""
        return self._objective.model(self._descent.point)


class RescalObjective:
    """f(X) + ridge/2 (|A|^2 + sum_k |R_k|^2) as a function of A and all R_k in one vector.

    Parameters
    ----------
    problem
        The observations and the loss.
    modes
        The modes of heads, tails and relations.
    rank
        The number of columns of A.
    ridge
        The weight of the squared factors.
    """

    def __init__(self, problem: Problem, modes: tuple[int, int, int], rank: int, ridge: float) -> None:
        self._problem, self._modes, self.rank, self._ridge = problem, modes, rank, ridge
        coords, shape = problem.observations.coords, problem.observations.shape
        self._shape, self._entities, self._relations = shape, shape[modes[0]], shape[modes[2]]
        order = np.argsort(coords[:, modes[2]], kind="stable")
        ends = np.searchsorted(coords[order, modes[2]], np.arange(self._relations + 1))
        parts = [order[first:last] for first, last in pairwise(ends)]
        self._parts = [(part, coords[part, modes[0]], coords[part, modes[1]]) for part in parts]

    def parts(self, point: Floats) -> tuple[Floats, Floats]:
        """Return A and all R_k that a vector holds, as views."""
        end = self._entities * self.rank
        return point[:end].reshape(self._entities, -1), point[end:].reshape(self._relations, self.rank, self.rank)

    def model(self, point: Floats) -> Tucker:
        """Return the tensor of a vector."""
        factor, cores = self.parts(point)
        first, second, third = self._modes
        factors: dict[int, Floats] = {first: factor, second: factor, third: np.eye(self._relations, dtype=point.dtype)}
        core = np.moveaxis(cores, (1, 2, 0), self._modes)
        return Tucker(self._shape, np.ascontiguousarray(core), [factors[mode].copy() for mode in range(3)])

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        """Return the value and the gradient."""
        value = 0.5 * self._ridge * float(np.vdot(point, point))
        gradient = point.dtype.type(self._ridge) * point
        (factor, cores), (to_factor, to_cores) = self.parts(point), self.parts(gradient)
        for number, (where, heads, tails) in enumerate(self._parts):
            if not len(where):
                continue
            left = factor @ cores[number]
            seen = np.einsum("pr,pr->p", left[heads], factor[tails])
            slopes = scipy.sparse.csr_array(
                (self._problem.slopes(seen, where), (heads, tails)), shape=(self._entities, self._entities)
            )
            onward, back = slopes @ factor, slopes.T @ factor
            to_factor += onward @ cores[number].T
            to_factor += back @ cores[number]
            to_cores[number] += factor.T @ onward
            value += float(self._problem.losses(seen, where).sum())
        return value, gradient


def ridge_unit(problem: Problem) -> float:
    """Return the ridge for factors of the size that would give the data.

    Data multiplied by c has factors multiplied by c^(1/3), and a square loss by c^2, so the unit is c^(4/3). Scores
    do not depend on the unit: the loss is minus a log-likelihood, and a ridge of 1 is for factors of about 1.
    """
    return math.pow(_scale(problem), 4 / 3)


def _scale(problem: Problem) -> float:
    """Return the size of the predictions."""
    if is_score(problem.loss):
        return 1.0
    values = problem.observations.values
    return math.sqrt(float(np.mean(values * values, dtype=np.float64))) or 1.0
