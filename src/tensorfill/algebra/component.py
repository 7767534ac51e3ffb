"""A low-rank matrix, folded into a tensor along one mode; NORT's answers are sums of these components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

import numpy as np

from .._support.types import Floats
from .tall import V
from .unfolding import Shape, columns


@dataclass(frozen=True, eq=False)
class LowRank(Generic[V]):
    """The tensor ``fold_d(u diag(s) v^T)``.

    The columns of `u` and of `v` are orthonormal, unless the component is a part of a larger one or an
    intermediate result.

    Parameters
    ----------
    mode
        The mode d along which it is unfolded.
    u
        The left singular vectors, of shape (I_d, rank).
    s
        The singular values, in decreasing order.
    v
        The right singular vectors, of shape (N_d, rank): an array, or another tall matrix.
    """

    mode: int
    u: Floats
    s: Floats
    v: V

    @staticmethod
    def zero(shape: Shape, mode: int, dtype: np.dtype[np.floating]) -> Component:
        """Return the component of rank zero."""
        return Component(
            mode,
            np.zeros((shape[mode], 0), dtype),
            np.zeros(0, dtype),
            np.zeros((columns(shape, mode), 0), dtype),
        )

    @property
    def rank(self) -> int:
        """The number of singular values."""
        return len(self.s)

    @property
    def nbytes(self) -> int:
        """The number of bytes of the three arrays."""
        return self.u.nbytes + self.s.nbytes + self.v.nbytes

    def orthonormal(self: Component) -> Component:
        """Return the same tensor with orthonormal singular vectors."""
        left, small = np.linalg.qr(self.u * self.s)
        right, other = np.linalg.qr(self.v)
        u, s, v = np.linalg.svd(small @ other.T, full_matrices=False)
        return Component(self.mode, left @ u, s, right @ v.T)

    def astype(self: Component, dtype: np.dtype[np.floating]) -> Component:
        """Return the component in another precision."""
        if self.u.dtype == dtype:
            return self
        return Component(self.mode, self.u.astype(dtype), self.s.astype(dtype), self.v.astype(dtype))


if TYPE_CHECKING:
    Component = LowRank[Floats]
else:
    # The same class when it runs, so that making one costs no more than that.
    Component = LowRank
"""A low-rank matrix whose factors are arrays on this machine."""

WeightedComponent = tuple[float, Component]
"""A component and its weight in a sum."""


def scaled(component: Component, weight: float) -> Floats:
    """Return the left vectors times the singular values and a weight, in C order, as compiled loops require."""
    return np.ascontiguousarray(component.u * (weight * component.s).astype(component.u.dtype))
