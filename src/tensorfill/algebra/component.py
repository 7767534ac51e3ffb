"""One low-rank unfolding, folded back: the piece of which NORT's answers are made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._support.types import Floats
from .unfolding import Shape, columns


@dataclass(frozen=True, eq=False)
class Component:
    """The tensor ``fold_d(u diag(s) v^T)``; `u` and `v` are orthonormal, but for a part cut out of a larger one.

    Parameters
    ----------
    mode
        The mode d along which it is unfolded.
    u
        Left singular vectors, of shape (I_d, rank).
    s
        Singular values, from large to small.
    v
        Right singular vectors, of shape (N_d, rank).
    """

    mode: int
    u: Floats
    s: Floats
    v: Floats

    @classmethod
    def zero(cls, shape: Shape, mode: int, dtype: np.dtype[np.floating]) -> Component:
        """Return the component of rank zero."""
        return cls(
            mode,
            np.zeros((shape[mode], 0), dtype),
            np.zeros(0, dtype),
            np.zeros((columns(shape, mode), 0), dtype),
        )

    @property
    def rank(self) -> int:
        """How many singular values it has."""
        return len(self.s)

    @property
    def nbytes(self) -> int:
        """Bytes held by its three arrays."""
        return self.u.nbytes + self.s.nbytes + self.v.nbytes

    def astype(self, dtype: np.dtype[np.floating]) -> Component:
        """Return the component in another precision."""
        if self.u.dtype == dtype:
            return self
        return Component(self.mode, self.u.astype(dtype), self.s.astype(dtype), self.v.astype(dtype))


WeightedComponent = tuple[float, Component]
"""A component and its weight in a sum."""


def scaled(component: Component, weight: float) -> Floats:
    """Return the left vectors times the singular values and a weight, in C order, as compiled loops take them."""
    return np.ascontiguousarray(component.u * (weight * component.s).astype(component.u.dtype))
