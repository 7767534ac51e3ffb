"""The mean and the effects of each index alone, as a method: what centring leaves is predicted as zero."""

from __future__ import annotations

from dataclasses import dataclass

from ...models import Model
from ...models.folded import nothing
from ..problem import Problem
from .base import Simple


@dataclass(frozen=True, kw_only=True)
class Effects(Simple):
    """The mean and the effects alone: what centring leaves is predicted as zero.

    Parameters
    ----------
    max_iter, tol
        As in `Method`; nothing depends on them.

    Examples
    --------
    >>> import numpy as np, tensorfill
    >>> sums = np.add.outer(np.arange(8.0), 10 * np.arange(6.0))
    >>> sums[2, 3] = np.nan
    >>> fit = tensorfill.complete(sums, method=Effects(), centre=True, smooth=None, rng=0)
    >>> round(float(fit.filled()[2, 3]), 1)
    32.0
    """

    def answer(self, problem: Problem) -> Model:
        """Return zero."""
        return nothing(problem.observations.shape, problem.observations.dtype)
