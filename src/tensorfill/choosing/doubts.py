"""Warnings of answers that should not be trusted."""

from __future__ import annotations

import warnings

import numpy as np

from ..labels import Labels
from ..losses import Huber, Square
from ..metrics import rmse
from .answer import Outcome
from .task import Task

NEAR_ZERO = 0.95
"""A fit with this share of the error of zero has hardly found anything."""

ENOUGH = 10_000
"""About this many observed entries show how large the error is."""


class DoubtfulFitWarning(UserWarning):
    """An answer that should not be trusted."""


def warn_of_a_fit_near_zero(outcome: Outcome, task: Task) -> None:
    """Warn of an answer that predicts hardly better than zero does, at held-out entries or at all if none were."""
    if not isinstance(task.loss, Square | Huber) or not outcome.result.status.is_finished:
        return
    if outcome.holdout is not None and outcome.holdout.is_slices:
        return
    if outcome.error_bars is None:
        some = slice(None, None, max(1, len(task.observations) // ENOUGH))
        values = task.observations.values[some]
        error = rmse(outcome.result.model.predict(task.observations.coords[some]), values)
        where, zero = "observed entries", rmse(np.zeros_like(values), values)
    else:
        where, zero, error = "held-out entries", outcome.error_of_zero, outcome.error_bars.rmse
    if error > NEAR_ZERO * zero > 0:
        warnings.warn(
            f"The answer is hardly better than 0 everywhere: its root mean square error on {where} is {error:.4g}, and "
            f"that of 0 is {zero:.4g}; the data may be noise, not of low rank, or too few entries.",
            DoubtfulFitWarning,
            stacklevel=3,
        )


def warn_of_empty_slices(outcome: Outcome, task: Task, labels: Labels) -> None:
    """Warn of slices without any observed entry, and say how they were filled."""
    for fill in outcome.fills:
        size, called = task.observations.shape[fill.mode], repr(labels.called(fill.mode))
        off = f", with an error of {fill.error:.4g} at slices that were held out" if np.isfinite(fill.error) else ""
        warnings.warn(
            f"{len(fill.slices):,} of the {size:,} slices of mode {called} have no observed entry; "
            f"they are filled from {fill}{off}; a graph may do better: laplacian={{{called}: graph}}.",
            DoubtfulFitWarning,
            stacklevel=3,
        )
