"""The part of a tensor that is a mean and an effect of each index of each mode, before anything of low rank.

A rating is high because the film is good, a station counts much because it is large, an hour is busy for all
stations. Such effects make up most of many tensors and need one number for each index, where a low-rank model spends
on them ranks that it has to shrink.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.checks import coordinates, real_array, real_number, whole_number
from .._support.types import Floats, Integers
from ..observations import Observations

__all__ = ["Additive", "fit_additive"]

SETTLED = 1e-10
"""Sweeps end when none changes an effect by more than this share of the largest distance from the mean."""

LEAST_SPARE = 0.5
"""With fewer degrees of freedom left, the variance of the residuals is not known, and effects are taken for noise."""


@dataclass(frozen=True, eq=False, repr=False)
class Additive:
    """The tensor ``A[i_1, .., i_M] = mean + effects[1][i_1] + .. + effects[M][i_M]``.

    Parameters
    ----------
    mean
        What all entries share.
    effects
        For each mode a vector, with one number for each of its indices.

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
                found = f"shape {effect.shape}" if effect.ndim != 1 else "one that is not"
                raise ValueError(f"effects[{mode}] must be one vector of finite numbers, but {found} was given.")
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
        """Return the entries at coordinates that are known to be good."""
        out = np.full(len(coords), self.mean)
        for mode, effect in enumerate(self.effects):
            out += effect[coords[:, mode]]
        return out

    def restrict(self, indices: Sequence[Integers]) -> Additive:
        """Return the sub-tensor with these indices of each mode."""
        return Additive(self.mean, tuple(effect[index] for effect, index in zip(self.effects, indices, strict=True)))

    def add_to(self, dense: Floats) -> None:
        """Add the tensor to a dense one of the same shape, in place."""
        dense += self.mean
        for mode, effect in enumerate(self.effects):
            dense += effect.reshape([-1 if axis == mode else 1 for axis in range(dense.ndim)])

    def margin(self, mode: int) -> Floats:
        """Return for each index of `mode` the sum of all entries that have it."""
        sizes = {other: size for other, size in enumerate(self.shape) if other != mode}
        out = math.prod(sizes.values()) * (self.mean + self.effects[mode])
        for other in sizes:
            out += math.prod(sizes[m] for m in sizes if m != other) * self.effects[other].sum()
        return out

    def inner(self, margins: Sequence[Floats]) -> float:
        """Return the inner product with the tensor X that has these margins, one for each mode.

        It is ``mean * sum(X) + sum_d <effects[d], margin_d(X)>``, so that nothing else need be known of X.

        Examples
        --------
        >>> offset = Additive(10.0, ([1.0, -1.0], [0.0, 2.0, -2.0]))
        >>> offset.inner([offset.margin(0), offset.margin(1)])
        622.0
        """
        products = sum(float(effect @ margin) for effect, margin in zip(self.effects, margins, strict=True))
        return self.mean * float(margins[0].sum()) + products


def fit_additive(observations: Observations, *, sweeps: int = 10) -> Additive:
    r"""Fit a mean and an effect of each index of each mode to the observed entries.

    The answer minimises the ridge regression

        sum over observed p of (O_p - mean - sum_d b_d[i_d])^2 + sum_d k_d |b_d|^2

    by sweeps over the modes. The step of mode d solves for the mean and b_d, the other effects held: with R what
    these leave of the data, R_i the mean of R over the n_i entries of index i, and s_i = n_i / (n_i + k_d),

        mean = sum_i s_i R_i / sum_i s_i,    b_d[i] = s_i (R_i - mean).

    So the effects of a mode add up to zero, and that of an index without any entry is zero.

    The shrinkage is k_d = v / v_d: the variance of the residuals by that of the effects, both found by moments as in an
    analysis of variance with unequal groups. With n entries, g indices of the mode that have any, R_bar the mean of R,
    and f the parameters in use for the other modes, each mode counted as sum_i s_i - 1,

        v   = sum_i sum over p of i of (R_p - R_i)^2 / (n - g - f)
        v_d = [ sum_i n_i (R_i - R_bar)^2 - (g - 1) v ] / (n - sum_i n_i^2 / n)

    Where v_d is not above zero, the effects are no larger than chance explains, k_d is infinite, and all are zero; so
    too where n - g - f is below one half, as when every index has a single entry: noise and effects then look alike.

    Parameters
    ----------
    observations
        What was seen.
    sweeps
        How often to go over the modes, at most; fewer if nothing changes any more.

    Returns
    -------
    Additive
        Data times c, plus a, gives the answer times c, plus a.

    Examples
    --------
    >>> rows, columns = np.array([0.0, 1.0, 5.0]), np.array([3.0, 5.0])
    >>> offset = fit_additive(Observations.from_dense(rows[:, None] + columns))
    >>> round(offset.mean, 6), offset.effects[0].round(6).tolist(), offset.effects[1].round(6).tolist()
    (6.0, [-2.0, -1.0, 3.0], [-1.0, 1.0])
    """
    whole_number(sweeps, "sweeps", at_least=1)
    # Numbers of about one neither overflow nor vanish when squared.
    values = observations.values.astype(np.float64)
    largest = float(np.abs(values).max()) or 1.0
    values /= largest
    mean = float(values.mean())
    values -= mean
    spread = float(np.abs(values).max())
    if spread == 0.0:
        return Additive(largest * mean, tuple(np.zeros(size) for size in observations.shape))
    values /= spread
    modes = [_Mode.of(column, size) for column, size in zip(observations.coords.T, observations.shape, strict=True)]
    centre = _descend(values, modes, sweeps)
    return Additive(largest * (mean + spread * centre), tuple(largest * spread * mode.effects for mode in modes))


@dataclass(eq=False)
class _Mode:
    """One mode while its effects are fitted.

    Parameters
    ----------
    index
        Its index at each entry.
    counts
        The number n_i of entries of each of its indices.
    effects
        What is known of them so far.
    parameters
        How many parameters the effects are worth, sum_i s_i - 1.
    """

    index: Integers
    counts: NDArray[np.float64]
    effects: NDArray[np.float64]
    parameters: float = 0.0

    @classmethod
    def of(cls, index: Integers, size: int) -> _Mode:
        return cls(index, np.bincount(index, minlength=size).astype(np.float64), np.zeros(size))

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of the values of each index, zero where there is none."""
        sums = np.bincount(self.index, weights=values, minlength=len(self.counts))
        return sums / np.maximum(self.counts, 1.0)

    def shares(self, left: NDArray[np.float64], within: float, used: float) -> NDArray[np.float64]:
        """Return s_i = n_i / (n_i + k), zero for an infinite k.

        Parameters
        ----------
        left
            The mean R_i of each index.
        within
            The sum of the squared distances from these means.
        used
            The parameters in use for the other modes.
        """
        counts = self.counts
        entries, groups = counts.sum(), np.count_nonzero(counts)
        spare = entries - groups - used
        if groups < 2 or spare < LEAST_SPARE:
            return np.zeros_like(counts)
        noise = within / spare
        between = float(counts @ (left - counts @ left / entries) ** 2)
        variance = (between - (groups - 1) * noise) / (entries - counts @ counts / entries)
        if variance <= 0:
            return np.zeros_like(counts)
        shares: NDArray[np.float64] = counts / np.where(counts > 0, counts + noise / variance, 1.0)
        return shares


def _descend(residuals: NDArray[np.float64], modes: Sequence[_Mode], sweeps: int) -> float:
    """Fit the effects to `residuals`, which become what is left of them, and return the mean."""
    centre = 0.0
    for _ in range(sweeps):
        change = 0.0
        for mode in modes:
            unfitted = mode.means(residuals)
            within = max(float(residuals @ residuals - mode.counts @ unfitted**2), 0.0)
            left = centre + mode.effects + unfitted
            used = sum(other.parameters for other in modes if other is not mode)
            shares = mode.shares(left, within, used)
            weights = shares if shares.any() else mode.counts
            mean = float(weights @ left / weights.sum())
            effects = shares * (left - mean)
            step = mean - centre + effects - mode.effects
            residuals -= step[mode.index]
            change = max(change, float(np.abs(step[mode.counts > 0]).max()))
            centre, mode.effects, mode.parameters = mean, effects, max(float(shares.sum()) - 1.0, 0.0)
        if change <= SETTLED:
            break
    return centre
