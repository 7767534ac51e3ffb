"""The truncated nuclear norm, which leaves the leading singular values free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._support.checks import whole_number
from .._support.types import Floats
from .elementwise import Nuclear

__all__ = ["TNN"]


@dataclass(frozen=True)
class TNN:
    """The truncated nuclear norm: the sum of all singular values but the theta largest.

    Parameters
    ----------
    theta : int
        The number of free singular values, at least 0; with 0 this is the nuclear norm.

    Examples
    --------
    >>> TNN(theta=1).prox(np.array([3.0, 1.5, 0.5]), weight=1.0)
    array([3. , 0.5, 0. ])
    """

    power: ClassVar[int] = 1
    lengths: ClassVar[tuple[str, ...]] = ()

    theta: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", whole_number(self.theta, "theta of 'tnn'", at_least=0))

    @property
    def free(self) -> int:
        """The number of leading singular values that are never penalised: theta."""
        return self.theta

    @property
    def slope_at_zero(self) -> float:
        """The derivative at 0 for a singular value that is not free: 1."""
        return 1.0

    def value(self, s: Floats) -> float:
        """Return the sum of s_i over i > theta."""
        return Nuclear().value(s[self.theta :])

    def prox(self, s: Floats, weight: float) -> Floats:
        """Return s with all entries after the first theta reduced by `weight`, to no less than 0."""
        penalised = Nuclear().prox(s[self.theta :], weight)
        return np.concatenate([s[: self.theta], penalised], dtype=penalised.dtype)
