"""FaLRTC: smoothed nuclear norms of several unfoldings by Nesterov's method, with observed entries fixed.

A nuclear norm is smoothed to max over |Y| <= 1 of <M, Y> - mu/2 |Y|^2: a parabola s^2 / (2 mu) for singular values s
below mu, and s - mu / 2 above. Its gradient is U diag(min(s / mu, 1)) V^T, of Lipschitz constant 1 / mu.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from ..._support.types import Floats
from ...algebra.spectral import rescaled_unfolding, singular_values
from ...methods.base import Progress, Solver
from ...methods.nort.proximal_average import ProximalAverage
from ...methods.problem import Problem
from ...methods.settings import real, setting
from ...models import Dense, Model
from .fidelity import Fixed
from .interpolating import Interpolating
from .tensors import mode_by_mode

FIRST_MU = 0.3
"""The first mu, as a share of the largest singular value."""

FALL = 0.8
"""The ratio of consecutive values of mu, down to the final one."""

SHORTEN, LENGTHEN = 2.0, 0.9
"""Factors of the inverse step length if the parabola of the step does not lie above the function, and if it does."""


@dataclass(frozen=True, kw_only=True)
class Falrtc(Interpolating):
    """FaLRTC: smoothed nuclear norms of several unfoldings, with observed entries fixed (Liu et al. 2013).

    It minimises sum_d w_d |unfold_d X|_* over all X with the given observed entries, like `Halrtc`, by accelerated
    gradient steps on the other entries. It holds no copies of the tensor for the modes, so it needs less memory than
    `Halrtc`, and more iterations. An iteration decomposes the Gram matrix of each unfolding once for the gradient and
    once for each step length that it tries: for a tensor of I entries about 5 I I_d operations for mode d.

    Parameters
    ----------
    weights
        The weight of the norm of each mode: one number for all, one for each, or ``"auto"`` to choose them on held-out
        entries: equal ones, one mode alone, or one with less weight than the others.
    modes
        The regularised modes; by default those of `Nort`.
    mu
        The final smoothing: singular values below this share of the largest are penalised by their squares. A smaller
        one is nearer to the nuclear norm and takes more iterations.
    max_iter, tol
        As in `Method`.

    Notes
    -----
    As in the original, mu decreases to its final value over the iterations, and steps backtrack from the Lipschitz
    constant sum_d w_d / mu. In addition the momentum restarts when the smoothed norm increases.

    References
    ----------
    J. Liu, P. Musialski, P. Wonka and J. Ye. Tensor completion for estimating missing values in visual data. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 35, 2013.
    """

    whole_tensors: ClassVar[int] = 10

    mu: float = setting(1e-3, check=real(above=0))
    tol: float = 1e-5

    def prepare(self, problem: Problem, start: Model | None, rng: np.random.Generator) -> Solver:
        """Return a solver that starts at `start`, or at zeros beside the observed entries."""
        return FalrtcSolver(problem, self.regulariser(problem), self.mu, start)


@dataclass(frozen=True, eq=False)
class SmoothedIterate:
    """A tensor with the singular values of its unfoldings."""

    full: Floats
    values: tuple[Floats, ...]


class FalrtcSolver:
    """Nesterov's method on the entries that were not observed.

    Parameters
    ----------
    problem, regulariser
        The observed entries, and the weights of the modes.
    mu
        The final smoothing, relative to the largest singular value.
    start
        All entries, or None for zeros.
    """

    def __init__(self, problem: Problem, regulariser: ProximalAverage, mu: float, start: Model | None) -> None:
        self._regulariser, self._positions = regulariser, problem.observations.positions
        observations = problem.observations
        given = np.zeros(observations.shape, observations.dtype) if start is None else start.to_dense(max_bytes=np.inf)
        full = Fixed(problem).closest(np.array(given, dtype=observations.dtype), 0.0)
        self._before = self._now = self._iterate(full)
        scale = max((float(s[0]) for s in self._now.values), default=0.0) or 1.0
        self._mu, self._last_mu = max(mu, FIRST_MU if start is None else mu) * scale, mu * scale
        self._steepest = sum(regulariser.lam) / self._mu
        self._t = 1.0

    def progress(self) -> Progress:
        """Return the current state."""
        ranks = tuple(int(np.count_nonzero(s > self._mu)) for s in self._now.values)
        return Progress(self._regulariser.penalty(self._now.values), math.nan, ranks, self._t > 1)

    def model(self) -> Dense:
        """Return the answer so far."""
        return Dense(self._now.full, self.progress().ranks)

    def step(self) -> None:
        """Make one accelerated gradient step; mu decreases first."""
        now, mu = self._now, max(FALL * self._mu, self._last_mu)
        t = (1 + math.sqrt(1 + 4 * self._t**2)) / 2
        point = now.full + (self._t - 1) / t * (now.full - self._before.full)
        values, gradient = self._gradient(point, mu)
        value, square = self._smoothed(values, mu), float(np.vdot(gradient, gradient))
        # The bound grows as mu decreases; below it a step may still be short enough.
        most = sum(self._regulariser.lam) / mu
        steepest = min(self._steepest * self._mu / mu * LENGTHEN, most)
        while True:
            after = self._iterate(point - gradient / steepest)
            reached = self._smoothed(after.values, mu)
            if steepest >= most or reached <= value - square / (2 * steepest):
                break
            steepest = min(SHORTEN * steepest, most)
        if reached > self._smoothed(now.values, mu):
            t = 1.0
        self._before, self._now, self._t, self._mu, self._steepest = now, after, t, mu, steepest

    def _gradient(self, point: Floats, mu: float) -> tuple[tuple[Floats, ...], Floats]:
        """Return the singular values of the unfoldings of a point, and the gradient at the entries not observed."""
        tasks = [
            partial(rescaled_unfolding, point, mode, lambda s: 1 / np.maximum(s, mu))
            for mode in self._regulariser.modes
        ]
        parts = mode_by_mode(tasks, point.size)
        gradient = np.zeros_like(point)
        for weight, (part, _) in zip(self._regulariser.lam, parts, strict=True):
            gradient += weight * part
        gradient.reshape(-1)[self._positions] = 0
        return tuple(s for _, s in parts), gradient

    def _iterate(self, full: Floats) -> SmoothedIterate:
        tasks = [partial(singular_values, full, mode) for mode in self._regulariser.modes]
        return SmoothedIterate(full, mode_by_mode(tasks, full.size))

    def _smoothed(self, values: tuple[Floats, ...], mu: float) -> float:
        """Return the smoothed norms of a tensor with these singular values."""
        small = [np.minimum(s, mu) for s in values]
        norms = (float(np.sum(each * (s - each / 2)) / mu) for s, each in zip(values, small, strict=True))
        return sum(weight * norm for weight, norm in zip(self._regulariser.lam, norms, strict=True))
