"""The data term of ADMM: the proximal operator of the loss over the observed entries.

Each returns the minimum of f(X) + weight / 2 |X - A|^2, which is A itself where nothing was observed, and a scalar
problem at each observed entry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..._support.types import Floats
from ...losses import Square
from ...losses.robust import Robust
from ...methods.problem import Problem

MOST_STEPS = 50
"""Newton steps for a loss without a closed form; bisection is used where a step would leave the bracket."""

ACCURATE = 1e-9
"""Steps end when they are below this share of the first bracket."""


class Fidelity(Protocol):
    """The interface of a data term."""

    def closest(self, near: Floats, weight: float) -> Floats:
        """Return the minimum of f(X) + weight / 2 |X - near|^2; `near` may be overwritten."""

    def value(self, full: Floats) -> float:
        """Return f(X)."""

    def first_step(self) -> Floats:
        """Return a tensor on the scale of the answer: the observed entries, or a gradient step towards them."""


@dataclass(frozen=True, eq=False)
class AtEntries(ABC):
    """What these have in common: the problem, and where its entries are."""

    problem: Problem

    def closest(self, near: Floats, weight: float) -> Floats:
        """Return the minimum of f(X) + weight / 2 |X - near|^2."""
        positions = self.problem.observations.positions
        flat = near.reshape(-1)
        flat[positions] = self._entries(flat[positions], weight)
        return near

    def value(self, full: Floats) -> float:
        """Return f(X)."""
        return self.problem.value(full.reshape(-1)[self.problem.observations.positions])

    def first_step(self) -> Floats:
        """Return the observed values, and zeros elsewhere."""
        return self._placed(self.problem.observations.values)

    def _placed(self, values: Floats) -> Floats:
        observations = self.problem.observations
        full = np.zeros(observations.shape, observations.dtype)
        full.reshape(-1)[observations.positions] = values
        return full

    @abstractmethod
    def _entries(self, near: Floats, weight: float) -> Floats:
        """Return the entries of `closest` that are observed, from those of `near`."""


class Fixed(AtEntries):
    """Observed entries are fixed."""

    def value(self, full: Floats) -> float:
        """Return zero: they fit exactly."""
        return 0.0

    def _entries(self, near: Floats, weight: float) -> Floats:
        return self.problem.observations.values


class SquaredFidelity(AtEntries):
    """The square loss: the weighted mean of the observed value and the other."""

    def _entries(self, near: Floats, weight: float) -> Floats:
        mean: Floats = (self.problem.observations.values + weight * near) / (1 + weight)
        return mean


class Absolute(AtEntries):
    """A `Robust` loss, with its kink, by its proximal operator.

    For the absolute difference, E = O - X is (O - A) shrunk by 1 / weight.
    """

    def _entries(self, near: Floats, weight: float) -> Floats:
        values = self.problem.observations.values
        away = values - near
        robust: Robust = self.problem.loss  # type: ignore[assignment]
        errors = robust.penalty.prox(np.abs(away), 1 / weight)
        found: Floats = values - np.sign(away) * errors.astype(values.dtype, copy=False)
        return found


class Smoothly(AtEntries):
    """Any other loss: Newton's method for loss'(x) + weight (x - a) = 0 at each entry, in float64.

    For a convex loss the root lies between a and a - loss'(a) / weight, and every evaluation narrows this bracket. The
    second derivative is a difference of slopes, because a loss need not provide it.
    """

    def first_step(self) -> Floats:
        """Return a gradient step from zero."""
        zero = np.zeros_like(self.problem.observations.values)
        return self._placed(self.problem.gradient(zero, -1 / float(self.problem.loss.curvature)))

    def _entries(self, near: Floats, weight: float) -> Floats:
        problem, a = self.problem, near.astype(np.float64)
        slope = problem.slopes(a)
        reach = np.abs(slope) / weight
        low, high = a - np.where(slope > 0, reach, 0), a + np.where(slope < 0, reach, 0)
        steepest = float(problem.loss.curvature)
        apart = 1e-4 * np.abs(slope) / steepest + 1e-8 * np.abs(a) + np.finfo(np.float64).tiny
        x, last = a, reach
        for _ in range(MOST_STEPS):
            slope = problem.slopes(x) + weight * (x - a)
            low, high = np.where(slope < 0, x, low), np.where(slope > 0, x, high)
            bend = (problem.slopes(x + apart) - problem.slopes(x - apart)) / (2 * apart)
            after = x - slope / (np.clip(bend, 0, steepest) + weight)
            # Between two flat ends of a loss, Newton steps could oscillate without getting shorter.
            astray = (after < low) | (after > high) | (np.abs(after - x) > last / 2)
            after = np.where(astray, (low + high) / 2, after)
            last, x = np.abs(after - x), after
            if last.max(initial=0) <= ACCURATE * reach.max(initial=0):
                break
        found: Floats = x.astype(near.dtype)
        return found


def fidelity_to(problem: Problem) -> AtEntries:
    """Return the data term for the loss of a problem."""
    return SquaredFidelity(problem) if isinstance(problem.loss, Square) else Smoothly(problem)
