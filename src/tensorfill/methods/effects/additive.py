"""The mean and the effect of each index, estimated from the observed entries by ridge regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._support.checks import whole_number
from ..._support.types import Integers
from ...models.additive import Additive
from ...observations import Observations

SETTLED = 1e-10
"""Sweeps end when none changes an effect by more than this share of the largest distance from the mean."""

LEAST_SPARE = 0.5
"""With fewer degrees of freedom left, the variance of the residuals cannot be estimated, and all effects are zero."""


def fit_additive(observations: Observations, *, sweeps: int = 10) -> Additive:
    """Fit a mean and an effect of each index of each mode to the observed entries.

    The fit minimises the ridge regression

        sum over observed p of (O_p - mean - sum_d b_d[i_d])^2 + sum_d k_d |b_d|^2

    by sweeps over the modes. The step of mode d solves for the mean and b_d while the other effects stay fixed. With R
    the data minus the other effects, R_i the mean of R over the n_i entries of index i, and s_i = n_i / (n_i + k_d),

        mean = sum_i s_i R_i / sum_i s_i,    b_d[i] = s_i (R_i - mean).

    So the effects of a mode sum to zero, and the effect of an index without any entry is zero.

    The ridge is k_d = v / v_d, the variance of the residuals over the variance of the effects. Both are estimated by
    moments, as in an analysis of variance with unequal groups. With n entries, g indices of the mode that have entries,
    R_bar the mean of R, and f the degrees of freedom used by the other modes, sum_i s_i - 1 for each of them,

        v   = sum_i sum over p of i of (R_p - R_i)^2 / (n - g - f)
        v_d = [ sum_i n_i (R_i - R_bar)^2 - (g - 1) v ] / (n - sum_i n_i^2 / n)

    If v_d is not positive, the effects are no larger than chance explains: k_d is infinite and all effects are zero.
    The same holds if n - g - f is below one half, for example if every index has a single entry: noise and effects
    then look alike.

    Parameters
    ----------
    observations
        The observed entries.
    sweeps
        The largest number of sweeps over the modes. They end earlier when nothing changes any more.

    Returns
    -------
    Additive
        The estimate is equivariant: data multiplied by c and shifted by a give c times the tensor, shifted by a.

    Examples
    --------
    >>> rows, columns = np.array([0.0, 1.0, 5.0]), np.array([3.0, 5.0])
    >>> offset = fit_additive(Observations.from_dense(rows[:, None] + columns))
    >>> round(offset.mean, 6), offset.effects[0].round(6).tolist(), offset.effects[1].round(6).tolist()
    (6.0, [-2.0, -1.0, 3.0], [-1.0, 1.0])
    """
    whole_number(sweeps, "sweeps", at_least=1)
    # Squares of numbers of about one neither overflow nor underflow.
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
        The index of each entry in this mode.
    counts
        The number n_i of entries of each index.
    effects
        The current estimate of the effects.
    parameters
        The degrees of freedom that the effects use, sum_i s_i - 1.
    """

    index: Integers
    counts: NDArray[np.float64]
    effects: NDArray[np.float64]
    parameters: float = 0.0

    @classmethod
    def of(cls, index: Integers, size: int) -> _Mode:
        return cls(index, np.bincount(index, minlength=size).astype(np.float64), np.zeros(size))

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of the values of each index, zero for an index without values."""
        sums = np.bincount(self.index, weights=values, minlength=len(self.counts))
        return sums / np.maximum(self.counts, 1.0)

    def shrinkage(self, group_means: NDArray[np.float64], within: float, used: float) -> NDArray[np.float64]:
        """Return s_i = n_i / (n_i + k), zero for an infinite k.

        Parameters
        ----------
        group_means
            The mean R_i of each index.
        within
            The sum of the squared distances from these means.
        used
            The degrees of freedom that the other modes use.
        """
        counts = self.counts
        entries, groups = counts.sum(), np.count_nonzero(counts)
        spare = entries - groups - used
        if groups < 2 or spare < LEAST_SPARE:
            return np.zeros_like(counts)
        noise = within / spare
        between = float(counts @ (group_means - counts @ group_means / entries) ** 2)
        variance = (between - (groups - 1) * noise) / (entries - counts @ counts / entries)
        if variance <= 0:
            return np.zeros_like(counts)
        factors: NDArray[np.float64] = counts / np.where(counts > 0, counts + noise / variance, 1.0)
        return factors


def _descend(residuals: NDArray[np.float64], modes: Sequence[_Mode], sweeps: int) -> float:
    """Fit the effects of all modes, subtract the fit from `residuals` in place, and return the mean."""
    centre = 0.0
    for _ in range(sweeps):
        change = 0.0
        for mode in modes:
            unfitted = mode.means(residuals)
            within = max(float(residuals @ residuals - mode.counts @ unfitted**2), 0.0)
            group_means = centre + mode.effects + unfitted
            used = sum(other.parameters for other in modes if other is not mode)
            shrinkage = mode.shrinkage(group_means, within, used)
            weights = shrinkage if shrinkage.any() else mode.counts
            mean = float(weights @ group_means / weights.sum())
            effects = shrinkage * (group_means - mean)
            step = mean - centre + effects - mode.effects
            residuals -= step[mode.index]
            change = max(change, float(np.abs(step[mode.counts > 0]).max()))
            centre, mode.effects, mode.parameters = mean, effects, max(float(shrinkage.sum()) - 1.0, 0.0)
        if change <= SETTLED:
            break
    return centre
