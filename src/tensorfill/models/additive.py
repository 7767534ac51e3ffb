"""The additive tensor: a mean, plus an effect of each index of each mode.

A rating is high because the film is good, a count because the station is large or the hour is busy everywhere. In many
tensors most of the variation comes from these effects. An additive tensor needs one number for each index, while a
low-rank model would need additional ranks for them, which regularisation shrinks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._support.checks import coordinates, real_array, real_number
from .._support.types import Floats, Integers
from .cp import CPModel


@dataclass(frozen=True, eq=False, repr=False)
class Additive:
    """The tensor ``A[i_1, .., i_M] = mean + effects[1][i_1] + .. + effects[M][i_M]``.

    Parameters
    ----------
    mean
        The constant part of all entries.
    effects
        One vector for each mode, with one number for each of its indices.

    Examples
    --------
    >>> offset = Additive(10.0, ([1.0, -1.0], [0.0, 2.0, -2.0]))
    >>> offset
    Additive(shape=(2, 3), mean=10)
    >>> offset.predict([[0, 0], [1, 2]])
    array([11.,  7.])
    """

    mean: float
    effects: tuple[Floats, ...]

    def __post_init__(self) -> None:
        effects = tuple(real_array(effect, f"effects[{mode}]") for mode, effect in enumerate(self.effects))
        for mode, effect in enumerate(effects):
            if effect.ndim != 1 or not np.isfinite(effect).all():
                found = f"shape {effect.shape}" if effect.ndim != 1 else "a NaN or infinite number"
                raise ValueError(f"effects[{mode}] must be a vector of finite numbers, but {found} was given.")
        object.__setattr__(self, "mean", real_number(self.mean, "mean"))
        object.__setattr__(self, "effects", effects)

    def __repr__(self) -> str:
        return f"Additive(shape={self.shape}, mean={self.mean:.6g})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor."""
        return tuple(len(effect) for effect in self.effects)

    @property
    def nbytes(self) -> int:
        """Bytes held by the effects."""
        return sum(effect.nbytes for effect in self.effects)

    def predict(self, coords: ArrayLike) -> Floats:
        """Return the entries at `coords`, of shape (n, ndim)."""
        return self.values_at(coordinates(coords, self.shape))

    def values_at(self, coords: Integers) -> Floats:
        """Return the entries at coordinates that are known to be valid."""
        out = np.full(len(coords), self.mean)
        for mode, effect in enumerate(self.effects):
            out += effect[coords[:, mode]]
        return out

    def restrict(self, indices: Sequence[Integers]) -> Additive:
        """Return the sub-tensor with these indices of each mode."""
        return Additive(self.mean, tuple(effect[index] for effect, index in zip(self.effects, indices, strict=True)))

    def scaled(self, factor: float) -> Additive:
        """Return the tensor times a number, exactly for a power of two."""
        return Additive(self.mean * factor, tuple(effect * factor for effect in self.effects))

    def add_to(self, dense: Floats) -> None:
        """Add the tensor to a dense one of the same shape, in place."""
        dense += self.mean
        for mode, effect in enumerate(self.effects):
            dense += effect.reshape([-1 if axis == mode else 1 for axis in range(dense.ndim)])

    def in_cp_form(self, dtype: np.dtype[np.floating]) -> CPModel:
        """Return the same tensor as a CP model: term m has the effects of mode m, and ones in all other modes."""
        factors = [np.ones((size, len(self.shape)), dtype) for size in self.shape]
        for mode, effect in enumerate(self.effects):
            factors[mode][:, mode] = effect + (self.mean if mode == 0 else 0.0)
        return CPModel(self.shape, np.ones(len(self.shape), dtype), factors)

    def margin(self, mode: int) -> Floats:
        """Return the sum of each slice along `mode`."""
        sizes = {other: size for other, size in enumerate(self.shape) if other != mode}
        out = math.prod(sizes.values()) * (self.mean + self.effects[mode])
        for other in sizes:
            out += math.prod(sizes[m] for m in sizes if m != other) * self.effects[other].sum()
        return out

    def inner(self, margins: Sequence[Floats]) -> float:
        """Return the inner product with the tensor X that has these margins, one for each mode.

        It is ``mean * sum(X) + sum_d <effects[d], margin_d(X)>``, so the margins of X are enough.

        Examples
        --------
        >>> offset = Additive(10.0, ([1.0, -1.0], [0.0, 2.0, -2.0]))
        >>> offset.inner([offset.margin(0), offset.margin(1)])
        622.0
        """
        products = sum(float(effect @ margin) for effect, margin in zip(self.effects, margins, strict=True))
        return self.mean * float(margins[0].sum()) + products
