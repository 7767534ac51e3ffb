"""Alternating least squares on the Tucker form: a method, and a polish for the answers of other methods.

    minimise  sum over observed p of (X_p - O_p)^2,    X = core x_1 A_1 x_2 A_2 .. x_M A_M,

is linear in the core and linear in each row of each factor. So a sweep solves for every row of a factor from its own
entries, factor by factor, and then for the core from all entries. Each solution starts from the previous one and
changes only what the entries determine; a small ridge on the change fixes the rest:

    minimise over z  |K z - o|^2 + eps |z - z_before|^2,    eps = ridge * mean diagonal of K^T K,

so the sum of squares never increases.

NORT finds the subspaces early and then spends its iterations on the last digits. From its answer, a few sweeps
converge. The modes that NORT does not regularise have no subspace: their factors stay the identity, and the core is
free along these modes. Its entries for one combination of their indices, a block, depend only on the observed entries
of that combination, so each block is a separate problem.

As a method, it starts from zero and appends directions to the factors: the leading left singular vectors of
the unfolded residuals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
import scipy.sparse

from .._support.checks import whole_number
from .._support.parallel import one_blas_thread
from .._support.types import Floats, Integers
from ..algebra.unfolding import column_index, columns
from ..models import FoldedLowRank, Model, Tucker
from ..observations import Observations
from .base import Method
from .problem import Problem
from .settings import one_axis, ranks, real, setting
from .sweeps import SweepSolver
from .tucker_least_squares import RIDGE, LeastSquares

LEAST_RIDGE = 1e-12
"""The least ridge; below it, rounding determines what the entries do not."""

RANKS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20)
"""The ranks to try."""

EXTRA_DIRECTIONS = 5
DIRECTION_SWEEPS = 6
"""The extra columns of the subspace iteration, and its sweeps."""

FEW_COLUMNS = 4
"""Up to this many columns per entry, an unfolding keeps its empty columns, because finding them costs more."""

MOST_TO_CHOOSE = 1_000
"""The size of the largest core that is tried if the rank is chosen, because a sweep solves for all of it at once."""

MOST_IN_BLOCK = 4_000
"""The largest size of a block of the core, whose normal matrix has the square of this size."""

MOST_IN_CORE = 2**20
"""The largest size of the core."""

MOST_IN_IDENTITY = 2**23
"""The largest size of the factor of a mode that is not regularised."""

MOST_IN_ROWS = 2**27
"""The largest total size of the normal matrices of all rows of a factor."""


@dataclass(frozen=True, kw_only=True)
class TuckerAls(Method):
    """Tucker completion by alternating least squares, for the square loss.

    Parameters
    ----------
    rank
        The rank of every mode (at most its size), one for each mode, or ``"auto"`` to choose it on held-out entries. An
        answer of NORT to start from keeps its ranks.
    ridge
        The strength with which a solution is tied to the previous one, relative to the mean diagonal of its normal
        matrix. It determines only what the entries do not, such as a row with few entries.
    max_iter, tol
        As in `Method`; an iteration is a sweep over all factors and the core.

    Examples
    --------
    >>> from tensorfill.datasets import synthetic
    >>> from tensorfill.losses import Square
    >>> data = synthetic((30, 30, 30), rank=2, noise=0, rng=0)
    >>> model = TuckerAls(rank=2).solve(Problem(data.observations, Square()), rng=0).model
    >>> bool(abs(model.predict(data.test.coords) - data.test.values).max() < 1e-3)
    True
    """

    name: ClassVar[str] = "tucker_als"
    square_only: ClassVar[bool] = True
    trial_iterations: ClassVar[int | None] = 10

    max_iter: int = 50
    rank: int | Sequence[int] | str = setting(
        "auto", check=ranks(0), path=one_axis("rank", lambda method, problem: growing_ranks(problem.observations))
    )
    ridge: float = setting(RIDGE, check=real(at_least=LEAST_RIDGE))

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` is a Tucker model, or one of NORT that is small enough, for this problem."""
        if not isinstance(model, Tucker | FoldedLowRank) or model.shape != problem.observations.shape:
            return False
        try:
            _check_size(model.shape, _free_ranks(model))
        except ValueError:
            return False
        return True

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> SweepSolver:
        """Return a solver that starts at `start`, with directions of the residuals appended up to the ranks."""
        observations = problem.observations
        if start is not None and start.shape != observations.shape:
            raise ValueError(
                f"start must have the shape {observations.shape} of the observations, but its shape is {start.shape}."
            )
        if isinstance(start, FoldedLowRank):
            free = _free_ranks(start)
            _check_size(start.shape, free)
            return _solver(observations, Tucker.from_folded(start), sorted(free), self.ridge)
        if start is not None and not isinstance(start, Tucker):
            raise ValueError(f"start must be a Tucker model or an answer of NORT, but it is {start!r}.")
        ranks = possible_ranks(observations.shape, self.rank)  # type: ignore[arg-type]
        _check_size(observations.shape, dict(enumerate(ranks)))
        grown = with_directions(observations, start, ranks, rng)
        return _solver(observations, grown, range(len(ranks)), self.ridge)


def _solver(observations: Observations, start: Tucker, free: Sequence[int], ridge: float) -> SweepSolver:
    """Return a solver that starts at `start`, with the best-fitting core."""
    squares = LeastSquares(observations, start, free, ridge)
    if any(start.ranks):
        squares.fit_core()
    return SweepSolver(squares, falls=True)


def refine(problem: Problem, model: FoldedLowRank, *, sweeps: int = 2, ridge: float = RIDGE) -> Tucker:
    """Return the least-squares fit of the observed entries on the multilinear ranks of an answer of NORT.

    Nothing of the size of the tensor is allocated, and the sum of squares over the observed entries never increases.
    That over other entries can, if there are too few entries for the ranks: compare both on held-out entries.

    Parameters
    ----------
    problem
        The observations; the loss must be the square loss.
    model
        The starting point, such as the answer of NORT after a few iterations.
    sweeps
        The number of sweeps over every factor and the core, after a first fit of the core.
    ridge
        As in `TuckerAls`.

    Returns
    -------
    Tucker
        With orthonormal factors, and identities for the modes that are not regularised. If every component has rank
        zero there is nothing to fit, and the zero tensor is returned.

    Examples
    --------
    >>> import tensorfill
    >>> from tensorfill.datasets import synthetic
    >>> from tensorfill.losses import Square
    >>> data = synthetic((30, 30, 30), rank=2, noise=0, rng=0)
    >>> problem = Problem(data.observations, Square())
    >>> early = tensorfill.Nort(lam=0.1, max_rank=2, max_iter=5, tol=0).solve(problem, rng=0).model
    >>> bool(abs(refine(problem, early, sweeps=5).predict(data.test.coords) - data.test.values).max() < 1e-3)
    True
    """
    sweeps = whole_number(sweeps, "sweeps")
    method = TuckerAls(rank=0, ridge=ridge)
    method.check(problem)
    with one_blas_thread:
        solver = method.prepare(problem, model, np.random.default_rng(0))
        if not any(model.ranks):
            return Tucker.from_folded(model)
        for _ in range(sweeps):
            solver.step()
    return cast(Tucker, solver.model())


def possible_ranks(shape: Sequence[int], rank: int | Sequence[int]) -> tuple[int, ...]:
    """Return a rank for each mode, limited by its size and the other ranks.

    >>> possible_ranks((30, 20, 3), 5), possible_ranks((30, 20, 3), (4, 2, 1))
    ((5, 5, 3), (2, 2, 1))
    """
    given = tuple(rank) if isinstance(rank, Sequence) else (rank,) * len(shape)
    if len(given) != len(shape):
        raise ValueError(f"rank must be one number or one for each of the {len(shape)} modes, but {rank!r} was given.")
    ranks = [min(each, size) for each, size in zip(given, shape, strict=True)]
    for mode in range(len(ranks)):
        ranks[mode] = min(ranks[mode], math.prod(ranks[:mode] + ranks[mode + 1 :]))
    return tuple(ranks)


def growing_ranks(observations: Observations, most_in_core: int = MOST_TO_CHOOSE) -> tuple[int, ...]:
    """Return the ranks to try, the same for every mode, while there are fewer unknowns than entries."""
    values: list[int] = []
    for rank in RANKS:
        ranks = possible_ranks(observations.shape, rank)
        unknowns = math.prod(ranks) + sum(size * each for size, each in zip(observations.shape, ranks, strict=True))
        too_many = math.prod(ranks) > most_in_core or unknowns > len(observations)
        if values and (too_many or ranks == possible_ranks(observations.shape, values[-1])):
            break
        values.append(rank)
    return tuple(values)


def with_directions(
    observations: Observations, start: Tucker | None, ranks: Sequence[int], rng: np.random.Generator
) -> Tucker:
    """Return a Tucker model with directions of its residuals appended to its factors, and zeros to its core."""
    shape, dtype = observations.shape, observations.dtype
    if start is None:
        start = Tucker(shape, np.zeros((0,) * len(shape), dtype), [np.zeros((size, 0), dtype) for size in shape])
    residuals = observations.values - (start.predict(observations.coords) if start.core.size else 0.0)
    factors = []
    for mode, (factor, rank) in enumerate(zip(start.factors, ranks, strict=True)):
        wanted = max(rank, factor.shape[1]) - factor.shape[1]
        more = _leading_directions(observations, residuals, mode, wanted, rng)
        factors.append(np.hstack([factor, more]))
    core = np.pad(start.core, [(0, each.shape[1] - old) for each, old in zip(factors, start.ranks, strict=True)])
    return Tucker(shape, core, factors).orthonormal()


def _leading_directions(
    observations: Observations, values: Floats, mode: int, count: int, rng: np.random.Generator
) -> Floats:
    """Return the leading left singular vectors of the unfolding of a sparse tensor with these values."""
    size = observations.shape[mode]
    if count == 0:
        return np.zeros((size, 0), dtype=observations.dtype)
    places = (observations.coords[:, mode], _columns(observations, mode))
    matrix = scipy.sparse.csr_array((values.astype(np.float64), places), shape=(size, int(places[1].max()) + 1))
    block = rng.standard_normal((size, min(size, count + EXTRA_DIRECTIONS)))
    for _ in range(DIRECTION_SWEEPS):
        block = np.linalg.qr(matrix @ (matrix.T @ block))[0]
    u = np.linalg.svd(matrix.T @ block, full_matrices=False)[2]
    return np.asarray(block @ u.T)[:, :count].astype(observations.dtype)


def _columns(observations: Observations, mode: int) -> Integers:
    """Return the column of each entry in an unfolding, leaving out empty columns if there are many."""
    if columns(observations.shape, mode) <= FEW_COLUMNS * len(observations):
        return column_index(observations.coords, observations.shape, mode)
    return np.unique(observations.group_numbers("fibre", mode), return_inverse=True)[1]


def _free_ranks(model: Tucker | FoldedLowRank) -> dict[int, int]:
    """Return the modes whose factors are fitted, with their ranks; the other modes keep the identity."""
    if isinstance(model, Tucker):
        return dict(enumerate(model.ranks))
    ranks = {part.mode: max(1, part.rank) for part in model.components}
    if model.ndim == 2 and len(ranks) == 1:
        ranks[1 - model.modes[0]] = max(1, model.ranks[0])
    return ranks


def _check_size(shape: tuple[int, ...], ranks: Mapping[int, int]) -> None:
    """Raise an error if these ranks have too many parameters."""
    fixed = [size for mode, size in enumerate(shape) if mode not in ranks]
    block = math.prod(ranks.values())
    for numbers, most, what in (
        (block, MOST_IN_BLOCK, "unknowns solved for at once"),
        (block * math.prod(fixed), MOST_IN_CORE, "numbers in the core"),
        (max(fixed, default=0) ** 2, MOST_IN_IDENTITY, "numbers in the factor of a mode that is not regularised"),
        (max(shape[mode] * rank**2 for mode, rank in ranks.items()), MOST_IN_ROWS, "numbers in the normal matrices"),
    ):
        if numbers > most:
            raise ValueError(
                f"Alternating least squares takes at most {most:,} {what}, but the ranks {tuple(ranks.values())} in "
                f"the modes {tuple(ranks)} of a tensor of shape {shape} make {numbers:,}; lower max_rank or regularise "
                "more modes."
            )
