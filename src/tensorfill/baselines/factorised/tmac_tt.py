"""TMac-TT: low-rank factorisations of the unfoldings of a tensor train.

    minimise  sum_k w_k/2 |A_k B_k^T - Z_[k]|_F^2    over all A_k, B_k and Z,    Z = O at the observed entries,

as TMac does, where Z_[k] has the first k modes as rows and all others as columns, k = 1 .. M - 1. These matrices are
nearer to square than the unfoldings along single modes, so low rank is a stronger assumption. The weights are
proportional to the smaller side of each.

Ket augmentation makes a tensor of high order from a picture: the blocks of a coarse grid, the blocks within each of
these, and so on down to pixels. A train of low rank then captures structure at all scales.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..._support.clock import Clock
from ..._support.types import Floats, Integers
from ...algebra.component import Component
from ...algebra.operators import DenseUnfolding, add_dense
from ...algebra.svd import gram_svd
from ...methods.base import Callback, Method, Progress, Result
from ...methods.problem import Problem
from ...methods.settings import one_axis, ranks, setting
from ...models import Dense, Model
from .growing import RANKS, ranks_of, through_smaller_ranks
from .tmac import grown_to, refitted


def _growing(method: TmacTT, problem: Problem) -> Sequence[int]:
    """Return growing ranks, below that of the fullest unfolding."""
    most = max(min(sides) for sides in method.blocks(problem).sides)
    return [rank for rank in RANKS if rank < most] or [1]


@dataclass(frozen=True, kw_only=True)
class TmacTT(Method):
    """TMac-TT: low-rank factorisations of all unfoldings of a tensor train (Bengua, Phien, Tuan and Do 2017).

    It is dense and takes the square loss. An iteration takes three products of each of the M - 1 unfoldings with as
    many vectors as its rank. Use it for tensors of order four and more, and for pictures with `ket`.

    It differs from the original in how ranks are chosen: there, from the singular values of a first guess; here on
    held-out entries, one rank for all unfoldings. The answer is X, which need not equal the data at the observed
    entries.

    Parameters
    ----------
    rank
        The rank of every unfolding (at most the full rank), one for each, or ``"auto"`` to choose it on held-out
        entries.
    ket
        Whether the first two modes are the rows and columns of a picture, to be divided into blocks within blocks.
        Powers of two give the most levels.
    grow
        Whether a given rank is reached through smaller ones, which leads to better answers.
    max_iter, tol
        As in `Method`.

    Examples
    --------
    >>> from tensorfill.datasets import synthetic
    >>> from tensorfill.losses import Square
    >>> data = synthetic((20, 20, 20), rank=2, noise=0, observed=4000, rng=0)
    >>> model = TmacTT(rank=2, tol=1e-7).solve(Problem(data.observations, Square()), rng=0).model
    >>> bool(abs(model.predict(data.test.coords) - data.test.values).max() < 1e-2)
    True
    """

    name: ClassVar[str] = "tmac_tt"
    square_only: ClassVar[bool] = True
    whole_tensors: ClassVar[int] = 6
    trial_iterations: ClassVar[int | None] = 60

    rank: int | Sequence[int] | str = setting("auto", check=ranks(1), path=one_axis("rank", _growing))
    ket: bool = False
    grow: bool = True

    def blocks(self, problem: Problem) -> Blocks:
        """Return how the tensor is divided before it is unfolded."""
        return Blocks.of_picture(problem.observations.shape) if self.ket else Blocks.plain(problem.observations.shape)

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` is a dense answer of the shape of the data."""
        return isinstance(model, Dense) and model.shape == problem.observations.shape

    def approach(
        self, problem: Problem, *, rng: np.random.Generator, callback: Callback | None, clock: Clock
    ) -> Result | None:
        """Return the answer of smaller ranks, reached through all smaller ones, if the ranks are to grow."""
        if not self.grow:
            return None
        ranks = self._ranks(self.blocks(problem))
        return through_smaller_ranks(self, ranks, problem, rng=rng, callback=callback, clock=clock)

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> TmacTTSolver:
        """Return a solver that starts at `start`, or at zero."""
        if start is not None and not self.can_start_from(start, problem):
            raise ValueError(
                f"start must be a dense model of shape {problem.observations.shape} for method '{self.name}', "
                f"but it is {start!r}."
            )
        blocks = self.blocks(problem)
        known = start.array if isinstance(start, Dense) else None
        return TmacTTSolver(problem, blocks, known, self._ranks(blocks), rng)

    def _ranks(self, blocks: Blocks) -> tuple[int, ...]:
        """Return a rank for each unfolding."""
        given = ranks_of(self.rank, len(blocks.sides), "unfoldings")
        return tuple(min(rank, *sides) for rank, sides in zip(given, blocks.sides, strict=True))


class TmacTTSolver:
    """TMac-TT, for one problem.

    Parameters
    ----------
    problem
        The observations.
    blocks
        How the tensor is divided.
    start
        All entries of an answer to start from, or None for zero.
    ranks
        The rank of each unfolding.
    rng
        Draws the columns to start from.
    """

    def __init__(
        self, problem: Problem, blocks: Blocks, start: Floats | None, ranks: Sequence[int], rng: np.random.Generator
    ) -> None:
        self._problem, self._blocks, self._ranks, self._rng = problem, blocks, ranks, rng
        smaller = [min(sides) for sides in blocks.sides]
        self._weights = [side / sum(smaller) for side in smaller]
        self._positions = blocks.positions(problem.observations.positions)
        self._values = problem.observations.values
        dtype = problem.observations.dtype
        full = np.zeros(blocks.shape, dtype) if start is None else np.array(blocks.divided(start), dtype)
        self._answer, self._z = full, self._completed(full)
        self._right = [np.zeros((columns, 0), dtype) for _, columns in blocks.sides]
        squares = [0.0] * len(blocks.sides)
        if start is not None:
            found = [gram_svd(matrix) for matrix in self._matrices()]
            self._right = [each.v(rank) for each, rank in zip(found, ranks, strict=True)]
            squares = [float(np.vdot(each.s[:rank], each.s[:rank])) for each, rank in zip(found, ranks, strict=True)]
        # The function at Z and at the factors fitted to it, before Z is updated.
        whole = float(np.vdot(self._z, self._z))
        falls = 0.5 * sum(weight * (whole - square) for weight, square in zip(self._weights, squares, strict=True))
        self._progress = Progress(self._error(full), falls, tuple(block.shape[1] for block in self._right))

    def _completed(self, full: Floats) -> Floats:
        """Return Z: the answer, with the data at the observed entries."""
        z = full.copy()
        z.reshape(-1)[self._positions] = self._values
        return z

    def _matrices(self) -> list[Floats]:
        """Return the unfoldings of Z, all of them views."""
        return [self._z.reshape(sides) for sides in self._blocks.sides]

    def _error(self, full: Floats) -> float:
        """Return the loss over the observed entries."""
        return self._problem.value(full.reshape(-1)[self._positions])

    def progress(self) -> Progress:
        """Return the current state: the error, and the function that decreases at every step."""
        return self._progress

    def model(self) -> Dense:
        """Return the answer so far."""
        return Dense(self._blocks.joined(self._answer), self._progress.ranks)

    def step(self) -> None:
        """Update A_k and B_k of every unfolding, and then Z."""
        full = np.zeros_like(self._z)
        blocks, squares = [], 0.0
        for weight, matrix, right, rank in zip(self._weights, self._matrices(), self._right, self._ranks, strict=True):
            u, s, v = refitted(DenseUnfolding(matrix, 0), grown_to(right, rank, len(matrix), self._rng))
            add_dense(Component(0, u, s, v), weight, full.reshape(matrix.shape))
            blocks.append(v)
            squares += weight * float(np.vdot(s, s))
        error = self._error(full)
        falls = error + 0.5 * (squares - float(np.vdot(full, full)))
        now = Progress(error, falls, tuple(block.shape[1] for block in blocks))
        # All at once, so that an interruption leaves the state before or the state after.
        self._answer, self._z, self._right, self._progress = full, self._completed(full), blocks, now


@dataclass(frozen=True)
class Blocks:
    """A reshaping to a tensor of higher order: modes are split, reordered and merged.

    Parameters
    ----------
    original
        The shape of the tensor.
    split
        Its shape after splitting, with the coarsest part of each mode first.
    order
        The order of these parts.
    shape
        The shape after merging neighbouring parts.
    """

    original: tuple[int, ...]
    split: tuple[int, ...]
    order: tuple[int, ...]
    shape: tuple[int, ...]

    @classmethod
    def plain(cls, shape: tuple[int, ...]) -> Blocks:
        """Return the reshaping that leaves the tensor unchanged."""
        return cls(shape, shape, tuple(range(len(shape))), shape)

    @classmethod
    def of_picture(cls, shape: tuple[int, ...]) -> Blocks:
        """Return blocks within blocks of the first two modes; all other modes are unchanged.

        >>> Blocks.of_picture((8, 8, 3)).shape, Blocks.of_picture((6, 4)).shape
        ((4, 4, 4, 3), (6, 4))
        """
        rows, columns = prime_factors(shape[0]), prime_factors(shape[1])
        levels = max(len(rows), len(columns))
        rows, columns = (each + [1] * (levels - len(each)) for each in (rows, columns))
        order = [side * levels + level for level in range(levels) for side in (0, 1)]
        others = range(2 * levels, 2 * levels + len(shape) - 2)
        merged = [row * column for row, column in zip(rows, columns, strict=True)]
        return cls(shape, (*rows, *columns, *shape[2:]), (*order, *others), (*merged, *shape[2:]))

    @property
    def sides(self) -> list[tuple[int, int]]:
        """The numbers of rows and columns of every unfolding of a train."""
        cuts = range(1, len(self.shape))
        return [(math.prod(self.shape[:cut]), math.prod(self.shape[cut:])) for cut in cuts] or [(self.shape[0], 1)]

    def divided(self, tensor: Floats) -> Floats:
        """Return the tensor of higher order."""
        return np.ascontiguousarray(tensor.reshape(self.split).transpose(self.order)).reshape(self.shape)

    def joined(self, tensor: Floats) -> Floats:
        """Return the original tensor."""
        parts = tensor.reshape([self.split[part] for part in self.order])
        return np.ascontiguousarray(parts.transpose(np.argsort(self.order))).reshape(self.original)

    def positions(self, positions: Integers) -> Integers:
        """Return the flat positions of entries in the tensor of higher order, from those in the original."""
        parts = np.unravel_index(positions, self.split)
        sizes = tuple(self.split[part] for part in self.order)
        return np.asarray(np.ravel_multi_index([parts[part] for part in self.order], sizes))


def prime_factors(number: int) -> list[int]:
    """Return the prime factors of a number, the largest first.

    >>> prime_factors(60), prime_factors(1)
    ([5, 3, 2, 2], [1])
    """
    found, factor = [], 2
    while factor * factor <= number:
        while number % factor == 0:
            found.append(factor)
            number //= factor
        factor += 1
    return sorted([*found, number] if number > 1 or not found else found, reverse=True)
