"""Penalties on singular values: what makes a completed tensor low-rank.

A penalty is a function kappa of one singular value, zero at zero and never falling, summed over the singular
values of an unfolding: phi(X) = sum_i kappa(s_i). The nuclear norm is kappa(s) = s. The others grow less and
less, so that they hold small singular values down and leave the large ones, which carry the data, nearly
alone.

A method needs two things of a penalty, its value and its proximal step, and takes any object with these two
(see `Penalty`). To write your own from the formula of kappa alone, derive from `Elementwise`.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .._support.checks import choice, listed, real_number, whole_number
from .._support.types import Floats

__all__ = [
    "LSP",
    "MCP",
    "PENALTIES",
    "SCAD",
    "TNN",
    "CappedL1",
    "Elementwise",
    "Nuclear",
    "Penalty",
    "cut",
    "make_penalty",
    "weight_for_cut",
]


@runtime_checkable
class Penalty(Protocol):
    """What a method asks of a penalty.

    The singular values `s` come as a 1-D array of numbers of at least 0, sorted from large to small.

    An optional attribute `free` says how many leading singular values are never penalised (0 if absent).
    """

    def value(self, s: Floats) -> float:
        """Return sum_i kappa(s_i)."""
        ...

    def prox(self, s: Floats, weight: float) -> Floats:
        """Return argmin over y >= 0 of 1/2 (y - s)^2 + weight * kappa(y), for each entry of s.

        The result has the dtype of `s` and is sorted from large to small too.
        """
        ...


class Elementwise(ABC):
    """A penalty that treats every singular value alike.

    A subclass gives kappa and, from its smooth pieces, the points where the proximal objective may be least;
    the base class compares them.

    Examples
    --------
    The rank itself, kappa(s) = 1 for s > 0, whose proximal step keeps s or drops it:

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

    @property
    @abstractmethod
    def slope_at_zero(self) -> float:
        """The derivative of kappa at 0 from the right, kappa_0 in the paper."""

    @abstractmethod
    def kappa(self, s: Floats) -> Floats:
        """Return kappa of each entry of s."""

    @abstractmethod
    def candidates(self, s: Floats, weight: float) -> Iterable[Floats]:
        """Return the points, in rising order, of which one is the proximal step if 0 is not.

        They are the stationary points of 1/2 (y - s)^2 + weight * kappa(y) on each smooth piece of kappa,
        clipped to the piece. They need not lie between 0 and s, where the base class clips them to, and one
        that is not stationary does no harm, for it is never the best.
        """

    def value(self, s: Floats) -> float:
        """Return sum_i kappa(s_i)."""
        return float(np.sum(self.kappa(np.asarray(s, dtype=np.float64))))

    def prox(self, s: Floats, weight: float) -> Floats:
        """Return argmin over y >= 0 of 1/2 (y - s)^2 + weight * kappa(y), for each entry of s.

        The global minimum; the smaller of two equally good ones.
        """
        weight = real_number(weight, "weight", at_least=0)
        s = np.asarray(s)
        dtype = np.result_type(s.dtype, np.float32)
        # Squares of float32 overflow early, so the comparison is made in float64 throughout.
        s = np.maximum(s.astype(np.float64), 0.0)
        if weight == 0:
            return s.astype(dtype)
        # Zero; but a NaN stays a NaN, so that a diverged iteration shows.
        best: Floats = np.minimum(s, 0.0)
        kappa_best = self.kappa(best)
        for candidate in self.candidates(s, weight):
            y = np.clip(candidate, 0.0, s)
            kappa_y = self.kappa(y)
            # The difference of two objectives, factored: the squares themselves would cancel both near 0,
            # where |y - s| is hardly less than s, and near s, where a large s drowns everything else.
            gain = 0.5 * (y - best) * ((y - s) + (best - s)) + weight * (kappa_y - kappa_best)
            better = gain < 0
            best = np.where(better, y, best)
            kappa_best = np.where(better, kappa_y, kappa_best)
        return _rising_with(s, best).astype(dtype)


def _rising_with(s: Floats, y: Floats) -> Floats:
    """Return y made nondecreasing in s.

    An exact proximal step is; rounding can break it for two s that differ in their last digits, near the cut.
    """
    order = np.argsort(s)
    result = np.empty_like(y)
    result[order] = np.maximum.accumulate(y[order])
    return result


def _stationary_on_parabola(s: Floats, weight: float, end: float, width: float) -> Floats:
    """Return where y - s + weight * (end - y) / width is zero, for a piece whose slope falls to 0 at `end`.

    For weight >= width the objective is concave on the piece and least at one of its ends; s then stands in.
    """
    if weight >= width:
        return s
    return (s - weight * (end / width)) * (width / (width - weight))


@dataclass(frozen=True)
class Nuclear(Elementwise):
    """The nuclear norm, kappa(s) = s: convex, and it shrinks every singular value by the same amount.

    >>> Nuclear().prox(np.array([3.0, 1.5, 0.5]), weight=1.0)
    array([2. , 0.5, 0. ])
    """

    @property
    def slope_at_zero(self) -> float:
        """The derivative of kappa at 0: 1."""
        return 1.0

    def kappa(self, s: Floats) -> Floats:
        """Return s."""
        return s

    def candidates(self, s: Floats, weight: float) -> Iterable[Floats]:
        """Return the one stationary point, s - weight."""
        return [s - weight]


@dataclass(frozen=True)
class CappedL1(Elementwise):
    """The capped l1 penalty, kappa(s) = min(s, theta): what passes theta is penalised no further.

    Parameters
    ----------
    theta : float
        Where kappa becomes flat; above 0.

    Examples
    --------
    >>> CappedL1(theta=2.0).prox(np.array([4.0, 2.0, 0.5]), weight=1.0)
    array([4., 1., 0.])
    """

    theta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", real_number(self.theta, "theta of 'capped_l1'", above=0))

    @property
    def slope_at_zero(self) -> float:
        """The derivative of kappa at 0: 1."""
        return 1.0

    def kappa(self, s: Floats) -> Floats:
        """Return min(s, theta)."""
        return np.minimum(s, self.theta)

    def candidates(self, s: Floats, weight: float) -> Iterable[Floats]:
        """Return the stationary points of [0, theta] and of [theta, inf)."""
        return [np.minimum(s - weight, self.theta), s]


@dataclass(frozen=True)
class LSP(Elementwise):
    """The log-sum penalty, kappa(s) = log(1 + s / theta).

    Parameters
    ----------
    theta : float
        The scale of s; above 0. The smaller, the nearer to counting the singular values.

    Examples
    --------
    >>> LSP(theta=1.0).prox(np.array([5.0, 3.0, 1.0]), weight=1.0).round(4)
    array([4.8284, 2.7321, 0.    ])
    """

    theta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", real_number(self.theta, "theta of 'lsp'", above=0))

    @property
    def slope_at_zero(self) -> float:
        """The derivative of kappa at 0: 1 / theta."""
        return 1.0 / self.theta

    def kappa(self, s: Floats) -> Floats:
        """Return log(1 + s / theta)."""
        logarithm: Floats = np.log1p(s / self.theta)
        return logarithm

    def candidates(self, s: Floats, weight: float) -> Iterable[Floats]:
        """Return the larger root of (y - s)(y + theta) + weight = 0; the smaller is a maximum."""
        theta = self.theta
        turn = 2.0 * math.sqrt(weight)
        # The square root of (s + theta)^2 - 4 weight, or 0 where there is no root and 0 is the answer.
        spread = np.sqrt(np.maximum(s + theta - turn, 0.0)) * np.sqrt(s + theta + turn)
        # The root of larger size comes from a sum; below theta that is the negative one, and the other is
        # had from their product, weight - s theta, where a difference would lose its digits.
        larger = 0.5 * (np.abs(s - theta) + spread)
        return [np.divide(s * theta - weight, larger, out=larger, where=s < theta)]


@dataclass(frozen=True)
class TNN:
    """The truncated nuclear norm: kappa(s_i) = s_i for i > theta, and 0 for the theta largest.

    Parameters
    ----------
    theta : int
        How many singular values are free, at least 0; 0 is the nuclear norm.

    Examples
    --------
    >>> TNN(theta=1).prox(np.array([3.0, 1.5, 0.5]), weight=1.0)
    array([3. , 0.5, 0. ])
    """

    theta: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", whole_number(self.theta, "theta of 'tnn'", at_least=0))

    @property
    def free(self) -> int:
        """How many leading singular values are never penalised."""
        return self.theta

    @property
    def slope_at_zero(self) -> float:
        """The derivative of kappa at 0, of a singular value that is not free: 1."""
        return 1.0

    def value(self, s: Floats) -> float:
        """Return the sum of s_i over i > theta."""
        return Nuclear().value(s[self.theta :])

    def prox(self, s: Floats, weight: float) -> Floats:
        """Return s with all but the theta first entries shrunk by `weight`."""
        penalised = Nuclear().prox(s[self.theta :], weight)
        return np.concatenate([s[: self.theta], penalised], dtype=penalised.dtype)


@dataclass(frozen=True)
class SCAD(Elementwise):
    """The smoothly clipped absolute deviation: slope 1 up to s = unit, falling to 0 at s = theta * unit.

    With the unit 1, kappa(s) = s for s <= 1, (2 theta s - s^2 - 1) / (2 (theta - 1)) for s <= theta, and
    (theta + 1) / 2 above; with another it is unit * kappa(s / unit).

    Parameters
    ----------
    theta : float
        Where kappa becomes flat, in units; above 2.
    unit : float
        Where kappa begins to bend; above 0.

    Examples
    --------
    >>> SCAD(theta=4.0).prox(np.array([5.0, 3.0, 1.5]), weight=1.0)
    array([5. , 2.5, 0.5])
    """

    theta: float
    unit: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", real_number(self.theta, "theta of 'scad'", above=2))
        object.__setattr__(self, "unit", real_number(self.unit, "unit of 'scad'", above=0))

    @property
    def slope_at_zero(self) -> float:
        """The derivative of kappa at 0: 1."""
        return 1.0

    def kappa(self, s: Floats) -> Floats:
        """Return kappa of each entry of s.

        Written as a line plus a parabola of the clipped s, to be the very same number all over the flat part.
        """
        flat = self.theta * self.unit
        curved = np.clip(s, self.unit, flat)
        return np.minimum(s, self.unit) + (curved - self.unit) * (2 * flat - curved - self.unit) / (
            2 * (flat - self.unit)
        )

    def candidates(self, s: Floats, weight: float) -> Iterable[Floats]:
        """Return the stationary points of the line, of the parabola and of the flat part."""
        flat = self.theta * self.unit
        curved = _stationary_on_parabola(s, weight, end=flat, width=flat - self.unit)
        return [np.minimum(s - weight, self.unit), np.clip(curved, self.unit, flat), s]


@dataclass(frozen=True)
class MCP(Elementwise):
    """The minimax concave penalty: slope 1 at s = 0, falling to 0 at s = theta.

    kappa(s) = s - s^2 / (2 theta) for s <= theta, theta / 2 above.

    Parameters
    ----------
    theta : float
        Where kappa becomes flat; above 0.

    Examples
    --------
    >>> MCP(theta=4.0).prox(np.array([5.0, 2.5, 0.5]), weight=1.0)
    array([5., 2., 0.])
    """

    theta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", real_number(self.theta, "theta of 'mcp'", above=0))

    @property
    def slope_at_zero(self) -> float:
        """The derivative of kappa at 0: 1."""
        return 1.0

    def kappa(self, s: Floats) -> Floats:
        """Return kappa of each entry of s."""
        curved = np.minimum(s, self.theta)
        return curved * (1.0 - 0.5 * (curved / self.theta))

    def candidates(self, s: Floats, weight: float) -> Iterable[Floats]:
        """Return the stationary points of [0, theta] and of [theta, inf)."""
        curved = _stationary_on_parabola(s, weight, end=self.theta, width=self.theta)
        return [np.clip(curved, 0.0, self.theta), s]


PENALTIES: dict[str, type[Any]] = {
    "nuclear": Nuclear,
    "capped_l1": CappedL1,
    "lsp": LSP,
    "tnn": TNN,
    "scad": SCAD,
    "mcp": MCP,
}
"""The penalties that go by a name."""


def make_penalty(penalty: str | Penalty, theta: float | None = None) -> Penalty:
    """Return a penalty from its name and theta, or an object of the user's own as it is.

    Parameters
    ----------
    penalty : str or Penalty
        A name in `PENALTIES`, or an object with the methods `value(s)` and `prox(s, weight)`.
    theta : float, optional
        The parameter of a named penalty; "nuclear" and an object take none.

    Examples
    --------
    >>> make_penalty("lsp", 0.5)
    LSP(theta=0.5)
    >>> make_penalty("scad")
    Traceback (most recent call last):
        ...
    TypeError: theta of 'scad' must be a number above 2, but None (NoneType) was given.
    """
    if isinstance(penalty, str):
        kind = PENALTIES[choice(penalty, "penalty", PENALTIES)]
        if dataclasses.fields(kind):
            made: Penalty = kind(theta)
            return made
        penalty = kind()
    # A class has the attributes of its instances, but its methods cannot be called.
    if isinstance(penalty, type) or not isinstance(penalty, Penalty):
        raise TypeError(
            f"penalty must be one of {listed(PENALTIES)}, or an object with the methods value(s) and "
            f"prox(s, weight), but {penalty!r} ({type(penalty).__name__}) was given."
        )
    if theta is not None:
        raise ValueError(f"theta must be left out for the penalty {penalty!r}, but {theta!r} was given.")
    return penalty


def cut(penalty: Penalty, weight: float, *, largest: float) -> float:
    """Return the largest singular value in [0, largest] that the proximal step sends to zero.

    Found by bisection on the proximal step, to a relative 1e-12, so it holds for any penalty. For a penalty
    with an attribute `free`, it is the cut of the first singular value that is penalised.

    Parameters
    ----------
    penalty : Penalty
        The penalty.
    weight : float
        The weight of the penalty in the proximal step, L / tau.
    largest : float
        Where to stop looking: the cut is `largest` if the step sends even that to zero.

    Examples
    --------
    >>> round(cut(Nuclear(), 0.5, largest=10.0), 9)
    0.5
    >>> round(cut(LSP(theta=2.0), 1.0, largest=10.0), 9)
    0.5
    """
    weight = real_number(weight, "weight", at_least=0)
    largest = real_number(largest, "largest", at_least=0)
    s = np.full(getattr(penalty, "free", 0) + 1, largest)

    def goes(singular_value: float) -> bool:
        s[-1] = singular_value
        return bool(penalty.prox(s.copy(), weight)[-1] == 0)

    if goes(largest):
        return largest
    gone, kept = 0.0, largest
    # After 100 halvings from `largest` the rest is far below the rounding of the singular values, and counts
    # as a cut of 0: a weight of 0 would otherwise be halved down to the smallest number there is.
    for _ in range(100):
        if kept - gone <= 1e-12 * kept:
            break
        middle = gone + 0.5 * (kept - gone)
        if goes(middle):
            gone = middle
        else:
            kept = middle
    return gone


def weight_for_cut(penalty: Penalty, cut: float) -> float:
    """Return the least weight with which the proximal step sends the singular value `cut` to zero.

    The inverse of the function `cut`, by bisection too; 60 halvings reach the last digits of the weight.

    Examples
    --------
    >>> round(weight_for_cut(LSP(theta=2.0), 0.5), 9)
    1.0
    """
    cut = real_number(cut, "cut", above=0)
    s = np.full(getattr(penalty, "free", 0) + 1, cut)

    def goes(weight: float) -> bool:
        return bool(penalty.prox(s, weight)[-1] == 0)

    enough = cut
    while not goes(enough):
        enough *= 2
        if not math.isfinite(enough):
            raise ValueError(f"no weight of the penalty {penalty!r} sends the singular value {cut:g} to zero.")
    too_little = enough
    while goes(too_little) and too_little > 0:
        enough, too_little = too_little, too_little / 2
    for _ in range(60):
        middle = 0.5 * (too_little + enough)
        if goes(middle):
            enough = middle
        else:
            too_little = middle
    return enough
