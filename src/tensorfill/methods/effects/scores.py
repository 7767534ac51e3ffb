"""The mean and the effect of each index for a loss whose prediction is a score: a logistic or Poisson regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._support.clock import Clock
from ..._support.types import Floats, Integers
from ...models.additive import Additive
from ..problem import Problem

SWEEPS = 20
"""The largest number of sweeps over the modes."""

FEWEST_SWEEPS = 2
"""The number of sweeps after which a run that is stopped has usable effects."""

SETTLED = 1e-3
"""Sweeps end when none changes a score by more than this: a thousandth of the odds, or of the rate."""

RIDGE_OF_THE_MEAN = 1e-3
"""Keeps the mean finite if all values are alike: a score of 30 is one standard deviation from 0."""

LEAST_VARIANCE = 1e-6
"""Effects with a smaller variance than this are zero."""

STEP = 1e-3
"""The distance of the slopes whose difference is the second derivative."""

HALVINGS = 6
"""A Newton step that raises the objective is halved at most this often, and then left out."""


def fit_score_effects(problem: Problem, *, sweeps: int = SWEEPS, clock: Clock | None = None) -> Additive:
    """Fit a mean and an effect of each index of each mode, as scores, under the loss of a problem.

    The fit minimises

        sum over observed p of loss(mean + sum_d b_d[i_d], O_p) + 1/2 sum_d k_d |b_d|^2

    by sweeps over the modes. The effects of a mode do not depend on each other while the others stay fixed, so each
    takes a separate Newton step: with g_i the sum of the slopes of the entries of index i, and w_i that of their
    second derivatives, ``b_i - (g_i + k_d b_i) / (w_i + k_d)``.

    The loss is taken as minus a log-likelihood. Then effects with variance v_d ask for the ridge k_d = 1 / v_d, and the
    data says which (the evidence of a Gaussian approximation): v_d = sum_i b_i^2 / sum_i w_i / (w_i + k_d), the effects
    over the degrees of freedom that they use. The effects of a mode sum to zero, and an index without any entry has the
    effect zero.

    Parameters
    ----------
    problem
        The observed entries and the loss. If the problem has an offset, the effects are added to it.
    sweeps
        The largest number of sweeps. They end earlier when nothing changes any more.
    clock
        Ends the sweeps when it expires, after a few at the earliest.

    Examples
    --------
    >>> from tensorfill import Observations
    >>> from tensorfill.losses import Logistic
    >>> table = np.full((40, 50), -1.0)
    >>> table[:, :5] = 1.0
    >>> offset = fit_score_effects(Problem(Observations.from_dense(table), Logistic()))
    >>> offset.predict([[0, 0], [0, 9]]).round() > 0
    array([ True, False])
    """
    observations = problem.observations
    state = _State(problem)
    nowhere = np.zeros(len(observations), dtype=np.intp)
    overall = _Effects.of(nowhere, 1, ridge=RIDGE_OF_THE_MEAN)
    modes = [_Effects.of(column, size) for column, size in zip(observations.coords.T, observations.shape, strict=True)]
    for sweep in range(sweeps):
        if clock is not None and clock.expired and sweep >= FEWEST_SWEEPS:
            break
        change = state.newton(overall)
        for mode in modes:
            change = max(change, state.newton(mode))
            overall.values += mode.centred()
            mode.update_ridge()
        if change <= SETTLED:
            break
    return Additive(float(overall.values[0]), tuple(mode.values for mode in modes))


@dataclass(eq=False)
class _Effects:
    """The effects of one mode while they are fitted.

    Parameters
    ----------
    index
        The index of each entry.
    present
        Which indices have entries.
    values
        The current estimate.
    ridge
        The weight of half their squares.
    weights
        The sum of the second derivatives of each index at the last step.
    """

    index: Integers
    present: NDArray[np.bool_]
    values: NDArray[np.float64]
    ridge: float
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, index: Integers, size: int, *, ridge: float = 1.0) -> _Effects:
        return cls(index, np.bincount(index, minlength=size) > 0, np.zeros(size), ridge, np.zeros(size))

    def sums(self, of_entries: Floats) -> NDArray[np.float64]:
        """Return the sum over the entries of each index."""
        return np.bincount(self.index, weights=of_entries, minlength=len(self.values)).astype(np.float64, copy=False)

    def centred(self) -> float:
        """Subtract their mean from the effects, and return it."""
        mean = float(self.values[self.present].mean())
        self.values[self.present] -= mean
        return mean

    def update_ridge(self) -> None:
        """Set the ridge to one over the variance that the data suggests."""
        # One of them is used by the mean.
        used = max(float((self.weights / (self.weights + self.ridge)).sum()) - 1.0, 0.5)
        self.ridge = 1 / max(float(self.values @ self.values) / used, LEAST_VARIANCE)


class _State:
    """The scores of all entries while effects are fitted."""

    def __init__(self, problem: Problem) -> None:
        self._loss, self._observed = problem.loss, problem.observations.values.astype(np.float64)
        offset = problem.offset
        self._scores = np.zeros_like(self._observed) if offset is None else offset.astype(np.float64)

    def newton(self, effects: _Effects) -> float:
        """Take a Newton step of each effect, and return the largest."""
        above = self._loss.derivative(self._scores + STEP, self._observed)
        below = self._loss.derivative(self._scores - STEP, self._observed)
        effects.weights = effects.sums((above - below) / (2 * STEP))
        slopes = effects.sums((above + below) / 2) + effects.ridge * effects.values
        steps = -slopes / (effects.weights + effects.ridge)
        before = self._objective(effects, np.zeros_like(steps))
        for _ in range(HALVINGS):
            rises = self._objective(effects, steps) > before + 1e-9 * np.abs(before)
            if not rises.any():
                break
            steps[rises] /= 2
        else:
            steps[rises] = 0.0
        self._scores += steps[effects.index]
        effects.values += steps
        return float(np.abs(steps).max())

    def _objective(self, effects: _Effects, steps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the objective of each index after these steps."""
        losses = effects.sums(self._loss.value(self._scores + steps[effects.index], self._observed))
        return losses + 0.5 * effects.ridge * (effects.values + steps) ** 2
