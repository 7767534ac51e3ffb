"""The penalty protocol that methods rely on, and a base class for penalties given by a formula."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .._support.checks import real_number
from .._support.types import Floats

__all__ = ["Elementwise", "Penalty"]


@runtime_checkable
class Penalty(Protocol):
    """The interface of a penalty.

    The singular values `s` are a 1-D array of nonnegative numbers, sorted from large to small.

    A penalty may have an attribute `free`, the number of leading singular values that it never penalises. Without
    the attribute, every singular value is penalised.
    """

    def value(self, s: Floats) -> float:
        """Return the penalty of the singular values, sum_i kappa(s_i)."""
        ...

    def prox(self, s: Floats, weight: float) -> Floats:
        """Return the proximal operator at s: the y >= 0 that minimises 1/2 |y - s|^2 + weight * value(y).

        The result has the dtype of `s` and is sorted from large to small.
        """
        ...


class Elementwise(ABC):
    """Base class of penalties that apply one function kappa to every singular value.

    A subclass defines `slope_at_zero`, `kappa` and `candidates`, and inherits `value` and `prox`. To make a smoothed
    robust loss (`tensorfill.losses.robust.SmoothedRobust`) it also needs `slope`, and may define `largest_bend` and
    `reach`.

    A subclass that replaces the kappa of its parent does not inherit the parent's `slope`, `largest_bend` and `reach`,
    which describe the other kappa; it may define new ones.

    Examples
    --------
    The rank itself, kappa(s) = 1 for s > 0. Its proximal operator is hard thresholding:

    >>> class Rank(Elementwise):
    ...     slope_at_zero = float("inf")
    ...
    ...     def kappa(self, s):
    ...         return np.where(s > 0, 1.0, 0.0)
    ...
    ...     def candidates(self, s, weight):
    ...         return [s]
    >>> Rank().prox(np.array([3.0, 2.5, 1.5]), weight=2.0)
    array([3. , 2.5, 0. ])
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Drop inherited derivatives that belong to another kappa than that of the class."""
        super().__init_subclass__(**kwargs)
        for name in ("slope", "largest_bend", "reach"):
            owner = next(base for base in cls.__mro__ if name in vars(base))
            described = getattr(owner, "kappa", Elementwise.kappa)
            # Code written before any kappa is defined, such as a slope by finite differences, fits every kappa.
            if described is not Elementwise.kappa and described is not cls.kappa:
                setattr(cls, name, vars(Elementwise)[name])

    @property
    @abstractmethod
    def slope_at_zero(self) -> float:
        """The derivative of kappa at 0 from the right, kappa_0 in the paper."""

    @abstractmethod
    def kappa(self, s: Floats) -> Floats:
        """Return kappa of each entry of s."""

    @abstractmethod
    def candidates(self, s: Floats, weight: float) -> Iterable[Floats]:
        """Return the points, in increasing order, where the proximal objective may have its minimum besides 0.

        These are the stationary points of 1/2 (y - s)^2 + weight * kappa(y) on each smooth piece of kappa, clipped to
        the piece. `prox` clips them to [0, s] and takes the best. Extra points are harmless, because `prox` compares
        objectives.
        """

    def slope(self, s: Floats) -> Floats:
        """Return the derivative of kappa at each entry of s; at a kink, the derivative from the right."""
        raise TypeError(
            f"the derivative of kappa is not known for the penalty {self!r}; give its class a method slope(s), "
            "or use the envelope of the loss, which needs none."
        )

    @property
    def largest_bend(self) -> float:
        """How fast the slope of kappa falls at most, max -kappa''; infinite if kappa has a kink, 0 if unknown."""
        return 0.0

    @property
    def reach(self) -> float:
        """The size at which kappa has bent away from its tangent at 0 or become flat; infinite if there is none."""
        return float("inf")

    def value(self, s: Floats) -> float:
        """Return sum_i kappa(s_i)."""
        return float(np.sum(self.kappa(np.asarray(s, dtype=np.float64))))

    def prox(self, s: Floats, weight: float) -> Floats:
        """Return the global minimiser over y >= 0 of 1/2 (y - s)^2 + weight * kappa(y), for each entry of s.

        Of two equally good minimisers, the smaller is returned.
        """
        weight = real_number(weight, "weight", at_least=0)
        s = np.asarray(s)
        dtype = np.result_type(s.dtype, np.float32)
        # Squares of float32 overflow early, so objectives are compared in float64.
        s = np.maximum(s.astype(np.float64), 0.0)
        if weight == 0:
            return s.astype(dtype)
        # Zero, but a NaN stays a NaN, to show that an iteration diverged.
        best: Floats = np.minimum(s, 0.0)
        kappa_best = self.kappa(best)
        for candidate in self.candidates(s, weight):
            y = np.clip(candidate, 0.0, s)
            kappa_y = self.kappa(y)
            # The difference of two objectives, factored. Subtracting the squares would lose digits near 0, where
            # |y - s| is nearly s, and near a large s, where the squares are much larger than their difference.
            gain = 0.5 * (y - best) * ((y - s) + (best - s)) + weight * (kappa_y - kappa_best)
            better = gain < 0
            best = np.where(better, y, best)
            kappa_best = np.where(better, kappa_y, kappa_best)
        return _nondecreasing_in(s, best).astype(dtype)


def _nondecreasing_in(s: Floats, y: Floats) -> Floats:
    """Return y made nondecreasing in s.

    An exact proximal operator is nondecreasing. Near the cut, rounding can break the order of two nearly equal s.
    """
    order = np.argsort(s)
    result = np.empty_like(y)
    result[order] = np.maximum.accumulate(y[order])
    return result
