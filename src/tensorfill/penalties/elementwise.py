"""The penalties that apply one function kappa to every singular value, with closed-form proximal operators."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._support.checks import real_number
from .._support.types import Floats
from .base import Elementwise

__all__ = ["LSP", "MCP", "SCAD", "CappedL1", "Nuclear"]


@dataclass(frozen=True)
class Nuclear(Elementwise):
    """The nuclear norm, kappa(s) = s: convex, and shrinks every singular value by the same amount.

    Examples
    --------
    >>> Nuclear().prox(np.array([3.0, 1.5, 0.5]), weight=1.0)
    array([2. , 0.5, 0. ])
    """

    power: ClassVar[int] = 1
    lengths: ClassVar[tuple[str, ...]] = ()

    @property
    def slope_at_zero(self) -> float:
        """The derivative of kappa at 0: 1."""
        return 1.0

    def kappa(self, s: Floats) -> Floats:
        """Return s."""
        return s

    def slope(self, s: Floats) -> Floats:
        """Return 1 for each entry."""
        return np.ones_like(s)

    def candidates(self, s: Floats, weight: float) -> Iterable[Floats]:
        """Return the one stationary point, s - weight."""
        return [s - weight]


@dataclass(frozen=True)
class CappedL1(Elementwise):
    """The capped l1 penalty, kappa(s) = min(s, theta): the part of s above theta costs nothing.

    Parameters
    ----------
    theta : float
        The singular value from which kappa is flat; above 0.

    Examples
    --------
    >>> CappedL1(theta=2.0).prox(np.array([4.0, 2.0, 0.5]), weight=1.0)
    array([4., 1., 0.])
    """

    power: ClassVar[int] = 1
    lengths: ClassVar[tuple[str, ...]] = ("theta",)

    theta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", real_number(self.theta, "theta of 'capped_l1'", above=0))

    @property
    def slope_at_zero(self) -> float:
        """The derivative of kappa at 0: 1."""
        return 1.0

    @property
    def largest_bend(self) -> float:
        """Infinite, because of the kink at theta."""
        return math.inf

    @property
    def reach(self) -> float:
        """Where kappa becomes flat: theta."""
        return self.theta

    def kappa(self, s: Floats) -> Floats:
        """Return min(s, theta)."""
        return np.minimum(s, self.theta)

    def slope(self, s: Floats) -> Floats:
        """Return 1 below theta and 0 from theta on."""
        return np.less(s, self.theta).astype(s.dtype)

    def candidates(self, s: Floats, weight: float) -> Iterable[Floats]:
        """Return the stationary points on [0, theta] and on [theta, inf)."""
        return [np.minimum(s - weight, self.theta), s]


@dataclass(frozen=True)
class LSP(Elementwise):
    """The log-sum penalty, kappa(s) = log(1 + s / theta).

    Parameters
    ----------
    theta : float
        The scale of s; above 0. The smaller theta, the closer the penalty is to the rank.

    Examples
    --------
    >>> LSP(theta=1.0).prox(np.array([5.0, 3.0, 1.0]), weight=1.0).round(4)
    array([4.8284, 2.7321, 0.    ])
    """

    power: ClassVar[int] = 0
    lengths: ClassVar[tuple[str, ...]] = ("theta",)

    theta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", real_number(self.theta, "theta of 'lsp'", above=0))

    @property
    def slope_at_zero(self) -> float:
        """The derivative of kappa at 0: 1 / theta."""
        return 1.0 / self.theta

    @property
    def largest_bend(self) -> float:
        """The fall of the slope at 0, where it is fastest: 1 / theta^2."""
        return self.slope_at_zero * self.slope_at_zero

    @property
    def reach(self) -> float:
        """Where the slope is half of that at 0: theta."""
        return self.theta

    def kappa(self, s: Floats) -> Floats:
        """Return log(1 + s / theta)."""
        logarithm: Floats = np.log1p(s / self.theta)
        return logarithm

    def slope(self, s: Floats) -> Floats:
        """Return 1 / (s + theta)."""
        return 1.0 / (s + self.theta)

    def candidates(self, s: Floats, weight: float) -> Iterable[Floats]:
        """Return the larger root of (y - s)(y + theta) + weight = 0; the smaller root is a maximum."""
        theta = self.theta
        turn = 2.0 * math.sqrt(weight)
        # The square root of (s + theta)^2 - 4 weight; 0 where there is no root, and `prox` returns 0 there.
        spread = np.sqrt(np.maximum(s + theta - turn, 0.0)) * np.sqrt(s + theta + turn)
        # A sum gives the root of larger magnitude. For s < theta this is the negative root, and the wanted one follows
        # from the product of both, weight - s theta; a difference would lose digits.
        larger = 0.5 * (np.abs(s - theta) + spread)
        return [np.divide(s * theta - weight, larger, out=larger, where=s < theta)]


@dataclass(frozen=True)
class SCAD(Elementwise):
    """The smoothly clipped absolute deviation: slope 1 up to s = unit, then falling to 0 at s = theta * unit.

    For unit = 1, kappa(s) = s for s <= 1, (2 theta s - s^2 - 1) / (2 (theta - 1)) for s <= theta, and (theta + 1) / 2
    above. For another unit it is unit * kappa(s / unit).

    Parameters
    ----------
    theta : float
        The singular value from which kappa is flat, in units; above 2.
    unit : float
        The singular value at which kappa begins to bend; above 0.

    Examples
    --------
    >>> SCAD(theta=4.0).prox(np.array([5.0, 3.0, 1.5]), weight=1.0)
    array([5. , 2.5, 0.5])
    """

    power: ClassVar[int] = 1
    lengths: ClassVar[tuple[str, ...]] = ("unit",)

    theta: float
    unit: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", real_number(self.theta, "theta of 'scad'", above=2))
        object.__setattr__(self, "unit", real_number(self.unit, "unit of 'scad'", above=0))

    @property
    def slope_at_zero(self) -> float:
        """The derivative of kappa at 0: 1."""
        return 1.0

    @property
    def largest_bend(self) -> float:
        """The fall of the slope between unit and theta * unit: 1 / ((theta - 1) unit)."""
        return 1.0 / ((self.theta - 1.0) * self.unit)

    @property
    def reach(self) -> float:
        """Where kappa becomes flat: theta * unit."""
        return self.theta * self.unit

    def kappa(self, s: Floats) -> Floats:
        """Return kappa of each entry of s.

        It is computed as a line plus a parabola in the clipped s, which gives exactly the same number all over the flat
        part.
        """
        flat = self.reach
        curved = np.clip(s, self.unit, flat)
        return np.minimum(s, self.unit) + (curved - self.unit) * (2 * flat - curved - self.unit) / (
            2 * (flat - self.unit)
        )

    def slope(self, s: Floats) -> Floats:
        """Return (theta - s / unit) / (theta - 1), clipped to [0, 1]."""
        slope: Floats = np.clip((self.theta - s / self.unit) / (self.theta - 1.0), 0.0, 1.0)
        return slope

    def candidates(self, s: Floats, weight: float) -> Iterable[Floats]:
        """Return the stationary points on the line, on the parabola and on the flat part."""
        flat = self.reach
        curved = _stationary_on_parabola(s, weight, end=flat, width=flat - self.unit)
        return [np.minimum(s - weight, self.unit), np.clip(curved, self.unit, flat), s]


@dataclass(frozen=True)
class MCP(Elementwise):
    """The minimax concave penalty: slope 1 at s = 0, falling to 0 at s = theta.

    kappa(s) = s - s^2 / (2 theta) for s <= theta, and theta / 2 above.

    Parameters
    ----------
    theta : float
        The singular value from which kappa is flat; above 0.

    Examples
    --------
    >>> MCP(theta=4.0).prox(np.array([5.0, 2.5, 0.5]), weight=1.0)
    array([5., 2., 0.])
    """

    power: ClassVar[int] = 1
    lengths: ClassVar[tuple[str, ...]] = ("theta",)

    theta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", real_number(self.theta, "theta of 'mcp'", above=0))

    @property
    def slope_at_zero(self) -> float:
        """The derivative of kappa at 0: 1."""
        return 1.0

    @property
    def largest_bend(self) -> float:
        """The fall of the slope between 0 and theta: 1 / theta."""
        return 1.0 / self.theta

    @property
    def reach(self) -> float:
        """Where kappa becomes flat: theta."""
        return self.theta

    def kappa(self, s: Floats) -> Floats:
        """Return kappa of each entry of s."""
        curved = np.minimum(s, self.theta)
        return curved * (1.0 - 0.5 * (curved / self.theta))

    def slope(self, s: Floats) -> Floats:
        """Return 1 - s / theta, or 0 above theta."""
        slope: Floats = np.maximum(1.0 - s / self.theta, 0.0)
        return slope

    def candidates(self, s: Floats, weight: float) -> Iterable[Floats]:
        """Return the stationary points on [0, theta] and on [theta, inf)."""
        curved = _stationary_on_parabola(s, weight, end=self.theta, width=self.theta)
        return [np.clip(curved, 0.0, self.theta), s]


def _stationary_on_parabola(s: Floats, weight: float, end: float, width: float) -> Floats:
    """Return where y - s + weight * (end - y) / width is zero, for a piece whose slope falls to 0 at `end`.

    For weight >= width the objective is concave on the piece, and its minimum is at one of the ends. Then s is
    returned, a harmless candidate.
    """
    if weight >= width:
        return s
    return (s - weight * (end / width)) * (width / (width - weight))
