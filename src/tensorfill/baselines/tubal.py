"""TenNN: the tubal nuclear norm, with observed entries fixed (Zhang and Aeron 2017).

A Fourier transform along one mode of a tensor of order three turns it into a stack of matrices, and the norm is the sum
of their nuclear norms. In higher orders all modes but two are transformed. The transform of real data is symmetric, so
half of the matrices are enough.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from .._support.checks import is_auto, mode_number
from .._support.types import Floats
from ..methods.base import Method, Solver
from ..methods.problem import Problem
from ..methods.settings import Power, none_or, one_axis, real, setting
from ..models import Dense, Model
from ..observations import Observations
from ..penalties import Nuclear
from .overlapped.fidelity import Fixed
from .overlapped.splitting import Copy, FixedSolver, Zeta, first_zeta

SMALLEST_BY_GRAM = 1e-5
"""The least kept singular value, relative to the largest, for which Gram matrices are used; otherwise the matrices
themselves are decomposed."""

Stack = NDArray[np.complexfloating[Any, Any]]
"""The matrices of the transformed tensor."""


def _choices(method: Tennn, problem: Problem) -> Sequence[tuple[int, ...]]:
    """Return every choice of all modes but two, the last modes first."""
    order = problem.observations.ndim
    return sorted(itertools.combinations(range(order), order - 2), reverse=True)


@dataclass(frozen=True, kw_only=True)
class Tennn(Method):
    """TenNN: the tubal nuclear norm by ADMM, with observed entries fixed (Zhang and Aeron 2017).

    It minimises the sum of the nuclear norms of all matrices of the tensor's Fourier transform, over all X with the
    given observed entries. Use it if the tensor is periodic or smooth along a mode, such as the frames of a video or
    the hours of a day, and has little noise, which it reproduces. It needs tensors of order three or higher. An
    iteration transforms the tensor three times and decomposes a matrix for half of the transformed indices, by its Gram
    matrix unless singular values would be lost that way: for a tensor of I entries, about 20 I times the shorter side
    of the matrices. The answer has all entries of the tensor, and takes as much memory.

    Parameters
    ----------
    along
        The modes to transform, all but two: a number in order three, and in higher orders a list. With ``"auto"``
        they are chosen on held-out entries, starting with all modes from the third on.
    zeta
        The weight of the agreement between the tensor and its low-rank copy, rho in the original. By default it starts
        at the scale of the data and follows the residuals, which changes the number of iterations but not the minimum;
        a number keeps it fixed.
    max_iter, tol
        As in `Method`.

    Notes
    -----
    The original keeps zeta fixed, and transforms the third mode.

    References
    ----------
    Z. Zhang and S. Aeron. Exact tensor completion using t-SVD. IEEE Transactions on Signal Processing 65, 2017.

    Examples
    --------
    >>> from tensorfill.datasets import synthetic
    >>> from tensorfill.losses import Square
    >>> data = synthetic((10, 9, 8), rank=1, noise=0.0, rng=0)
    >>> model = Tennn(along=2).solve(Problem(data.observations, Square()), rng=0).model
    >>> bool(np.abs(model.predict(data.test.coords) - data.test.values).max() < 1e-2)
    True
    """

    square_only: ClassVar[bool] = True
    descends: ClassVar[bool] = False
    fewest_modes: ClassVar[int] = 3
    whole_tensors: ClassVar[int] = 13
    trial_iterations: ClassVar[int | None] = 60

    other_powers: ClassVar[Mapping[str, Power]] = {"objective": 1}

    along: int | Sequence[int] | str = setting("auto", check=is_auto, path=one_axis("along", _choices, ordered=False))
    zeta: float | None = setting(None, check=none_or(real(above=0)), power=-1)
    tol: float = 1e-5

    def transformed(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the modes to transform by number, in increasing order."""
        given = self.along if isinstance(self.along, list | tuple) else [self.along]
        modes = {mode_number(mode, "along", len(shape)) for mode in given}
        if len(modes) != len(given) or len(modes) != len(shape) - 2 or min(given) < 0:
            raise ValueError(
                f"along must be {len(shape) - 2} of the modes 0 to {len(shape) - 1}, all but two of a tensor of order "
                f"{len(shape)}, but {self.along!r} was given."
            )
        return tuple(sorted(modes))

    def resolved(self, problem: Problem) -> Self:
        """Return the same settings with explicit modes."""
        return replace(self, along=self.transformed(problem.observations.shape))

    def can_start_from(self, model: Model, problem: Problem) -> bool:
        """Return whether `model` has all entries of a tensor of the shape of the data."""
        return isinstance(model, Dense) and model.shape == problem.observations.shape

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that starts at `start`, or at zeros beside the observed entries."""
        return TubalSolver(problem, self.transformed(problem.observations.shape), self.zeta, start)


@dataclass(frozen=True, eq=False)
class Tubal:
    """The tubal nuclear norm of a tensor whose last two modes are the rows and columns of the matrices."""

    shape: tuple[int, ...]

    def prox(self, target: Floats, zeta: float) -> Copy:
        """Return the tensor with the singular values of its matrices soft-thresholded by 1 / zeta."""
        shrunk, ranks = shrunk_stack(self.transform(target), 1 / zeta)
        return Copy(self.back(shrunk).astype(target.dtype, copy=False), int(ranks.max(initial=0)))

    def multiplier(self, copy: Copy) -> Floats:
        """Return zero: the multipliers of a warm start are not known."""
        return np.zeros_like(copy.full)

    def value(self, full: Floats) -> float:
        """Return the sum of all singular values; those of the other half of the transform are the same."""
        sums = stack_values(self.transform(full)).sum(axis=-1)
        size = self.shape[-3]
        twice = np.full(sums.shape[-1], 2.0)
        twice[0] = 1.0
        if size % 2 == 0:
            twice[-1] = 1.0
        return float(np.sum(sums * twice))

    def transform(self, full: Floats) -> Stack:
        """Return the matrices; the transform is unitary."""
        stack: Stack = scipy.fft.rfftn(full, axes=self._axes, norm="ortho")
        return stack

    def back(self, stack: Stack) -> Floats:
        """Return the tensor from its matrices."""
        full: Floats = scipy.fft.irfftn(stack, s=self.shape[:-2], axes=self._axes, norm="ortho")
        return full

    @property
    def _axes(self) -> tuple[int, ...]:
        return tuple(range(len(self.shape) - 2))


class TubalSolver(FixedSolver):
    """ADMM for the tubal nuclear norm, on a tensor with the rows and columns of its matrices last.

    Parameters
    ----------
    problem, along
        The observed entries, and the modes to transform.
    zeta
        The weight of the agreement of the copies, or None for one that follows the residuals.
    start
        All entries, or None for zeros beside the observed ones.
    """

    def __init__(self, problem: Problem, along: tuple[int, ...], zeta: float | None, start: Model | None) -> None:
        observations = problem.observations
        self._order = (*along, *(mode for mode in range(observations.ndim) if mode not in along))
        fixed = Fixed(replace(problem, observations=_permuted(observations, self._order)))
        norm = Tubal(fixed.problem.observations.shape)
        first = first_zeta(
            zeta, 1.0, Nuclear(), float(stack_values(norm.transform(fixed.first_step())).max(initial=0.0))
        )
        given = None if start is None else start.to_dense(max_bytes=np.inf).transpose(self._order)
        super().__init__(fixed, [norm], Zeta(first, "balances" if zeta is None else "stays"), given)

    def model(self) -> Dense:
        """Return the answer so far."""
        return Dense(np.ascontiguousarray(self._now.full.transpose(np.argsort(self._order))), self._now.ranks)


def _permuted(observations: Observations, order: Sequence[int]) -> Observations:
    """Return observations with their modes in another order."""
    shape = tuple(observations.shape[mode] for mode in order)
    permuted = Observations(observations.coords[:, list(order)], observations.values, shape)
    return permuted.astype(observations.dtype)


def stack_values(stack: Stack) -> Floats:
    """Return the singular values of each matrix, in increasing order, by Gram matrices."""
    roots: Floats = np.sqrt(np.maximum(np.linalg.eigvalsh(_grams(stack)), 0))
    return roots


def shrunk_stack(stack: Stack, weight: float) -> tuple[Stack, NDArray[np.integer[Any]]]:
    """Return matrices with singular values soft-thresholded by `weight`, and their ranks."""
    if weight < SMALLEST_BY_GRAM * np.sqrt(np.square(np.abs(stack)).sum(axis=(-2, -1)).max(initial=0.0)):
        u, s, vh = np.linalg.svd(stack, full_matrices=False)
        kept = np.maximum(s - weight, 0)
        return (u * kept[..., None, :]) @ vh, np.count_nonzero(kept, axis=-1)
    squares, vectors = np.linalg.eigh(_grams(stack))
    s = np.sqrt(np.maximum(squares, 0))
    factors = np.where(s > weight, 1 - weight / np.maximum(s, weight), 0)
    square = (vectors * factors[..., None, :]) @ vectors.conj().swapaxes(-1, -2)
    shrunk = square @ stack if _is_wide(stack) else stack @ square
    return shrunk.astype(stack.dtype, copy=False), np.count_nonzero(factors, axis=-1)


def _is_wide(stack: Stack) -> bool:
    return bool(stack.shape[-2] <= stack.shape[-1])


def _grams(stack: Stack) -> Stack:
    """Return the Gram matrix of the shorter side of each matrix, in double precision."""
    wide = stack.astype(np.complex128, copy=False)
    return wide @ wide.conj().swapaxes(-1, -2) if _is_wide(stack) else wide.conj().swapaxes(-1, -2) @ wide
